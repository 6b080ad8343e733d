"""From a budget to an error and back: the curve, and the smallest budget that reaches a target."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bestarm.design.plans import Method, Plan, checked_budget, checked_costs, plan
from bestarm.errors import InputError
from bestarm.models.belief import Belief
from bestarm.validation import positive, vector

__all__ = ["budget_for", "error_curve"]

_LARGEST = 1e9
_RESOLUTION = 0.002


def error_curve(
    model: Belief, budgets: ArrayLike | Iterator[float], method: Method = "auto", costs: ArrayLike | None = None
) -> NDArray[Any]:
    """The error of the plan for each budget: a table with columns budget, error, stderr, regret, regret_stderr.

    A NumPy structured array: `curve["error"]` is a column, and pandas.DataFrame(curve) a frame.
    """
    given = vector(list(budgets) if isinstance(budgets, Iterator) else budgets, "budgets")
    price, rows = checked_costs(model, costs), []
    checked = [checked_budget(b, f"budgets[{i}]", price, costs is None) for i, b in enumerate(given)]
    for budget in checked:
        made = plan(model, budget, method, costs).evaluation
        rows.append((budget, made.error.value, made.error.stderr, made.regret.value, made.regret.stderr))
    names = ("budget", "error", "stderr", "regret", "regret_stderr")
    return np.array(rows, dtype=[(name, np.float64) for name in names])


def budget_for(model: Belief, target_error: float, method: Method = "auto", costs: ArrayLike | None = None) -> Plan:
    """The plan with the smallest budget whose exact error is at most `target_error`.

    Found by doubling and bisection, to one evaluation or 0.2 %, whichever is more; the errors compared are computed
    on the same draws, so that what remains is their common standard error. A target that 10⁹ evaluations (or
    their cost) do not reach is refused with the error that they leave.
    """
    target = float(positive(target_error, "target_error", ndim=0))
    if target >= 1:
        raise InputError(f"target_error is {target:g}; expected a probability below 1")
    unit = float(checked_costs(model, costs).min())

    def made(budget: float) -> Plan:
        return plan(model, budget, method, costs)

    def reaches(candidate: Plan) -> bool:
        return float(candidate.evaluation.error.value) <= target

    high = made(0)
    if reaches(high):
        return high
    low, step = 0.0, unit * model.num_arms
    while not reaches(high := made(step)):
        if step >= _LARGEST * unit:
            left = high.evaluation.error
            raise InputError(f"target_error is {target:g}; expected at least what {step:.0e} evaluations leave, {left}")
        low, step = step, min(4 * step, _LARGEST * unit)
    while high.budget - low > max(unit, _RESOLUTION * high.budget):
        middle = (low + high.budget) / 2
        middle = float(np.floor(middle / unit) * unit) if costs is None else middle
        candidate = made(middle)
        if reaches(candidate):
            high = candidate
        else:
            low = middle
    return high
