"""Plans: how many evaluations each arm gets, decided before the first one."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from bestarm.design.objectives import LogDet, Objective, PairSum, bound_weights
from bestarm.design.rounding import largest_remainder, polish
from bestarm.design.sampled import Anchored, ExactError, descend
from bestarm.design.simplex import Solution, minimise
from bestarm.design.tie import ManyTies, arms_that_matter, tie_weights
from bestarm.error.bounds import Bound, error_bound
from bestarm.error.evaluate import evaluate
from bestarm.error.evaluation import Evaluation
from bestarm.errors import InputError
from bestarm.models.arms import Arms
from bestarm.models.belief import Belief, checked_single
from bestarm.models.covariance import Covariance
from bestarm.models.gaussian import Gaussian
from bestarm.validation import Array, broadcast, choice, non_negative, positive

__all__ = ["METHODS", "Plan", "checked_budget", "checked_costs", "plan"]

Method = Literal["auto", "uniform", "heuristic", "g", "bound", "tie", "anchored", "exact"]
_MOST = 1e15  # evaluations
_AUTO_ARMS = 60  # up to here "auto" is "anchored"
_EXACT_ARMS = 50
_FEW_ARMS = 300  # up to here pairs of arms are looked at one by one, also where they need not be
_DENSE_ARMS = 3000  # up to here pairs are held as a K×K array
_MANY_ARMS = 200_000  # independent arms: no pair is looked at


@dataclass(frozen=True, eq=False)
class Plan:
    """Whole counts for every arm, and what is known of them.

    weights: shares of spend before rounding, (K,), sum 1. counts: evaluations of each arm, (K,) ints: they spend the
    budget, or with costs all but less than the cheapest evaluation. objective: what the method minimised, at the
    weights. gap: how far that may be above its least possible value, relative, for the continuous problem; NaN where
    there is no certificate. status: a sentence.
    """

    model: Any
    budget: float
    costs: Array
    method: str
    weights: Array
    counts: np.ndarray
    objective: float
    gap: float
    status: str

    @cached_property
    def evaluation(self) -> Evaluation:
        """Exact error and regret of deciding by posterior mean after this plan; computed when first asked for."""
        return evaluate(self.model, self.counts)

    @cached_property
    def bound(self) -> Bound:
        """The paper's upper bound for this plan."""
        return error_bound(self.model, self.counts)

    def __repr__(self) -> str:
        some = ", ".join(f"{name}: {n}" for name, n in zip(self.model.names[:6], self.counts[:6], strict=True))
        more = ", ..." if len(self.counts) > 6 else ""
        return f"Plan({self.method}, budget {self.budget:g}: {some}{more})"


def plan(
    model: Belief,
    budget: float,
    method: Method = "auto",
    costs: ArrayLike | None = None,
    mix: float | None = None,
) -> Plan:
    """Split `budget` over the arms of `model` so that the decision by posterior mean is rarely wrong.

    Made on the model's Gaussian view, `model.gaussian()`; `evaluation` is that of the model itself.

    method
        "uniform": every arm equally often. "heuristic": in proportion to μ·σ (the paper) where all prior means μ are
        positive, otherwise to (μ − min μ + average σ)·σ; σ are prior sds, μ negated when minimising. "g": Bayesian
        G/D-optimal design. "bound": least paper's bound. "tie": least uncertainty about ties for first place.
        "anchored": least decision-anchored bound, descended from the tie plan, or that plan if its exact error is
        smaller. "exact": descended in the exact error, up to 50 arms. "auto": anchored up to 60 arms; tie beyond.
    costs
        What one evaluation of each arm costs, one number or one per arm; the budget is then in the same unit.
    mix
        α blends the shares with the heuristic's, α·method + (1 − α)·heuristic: the paper's Opt is method "bound"
        with mix 0.5.
    """
    price = checked_costs(model, costs)
    total = checked_budget(budget, "budget", price, costs is None)
    name = choice(method, "method", ("auto", *METHODS))
    blend = None if mix is None else float(non_negative(mix, "mix", ndim=0))
    if blend is not None and blend > 1:
        raise InputError(f"mix is {blend:g}; expected a number from 0 to 1")
    view = model.gaussian()
    made = _auto(view, total, price) if name == "auto" else METHODS[name](view, total, price)
    if blend is not None:
        shares = blend * made.weights + (1 - blend) * _heuristic_shares(view, price)
        counts = largest_remainder(shares, price, total).astype(np.int64)
        status = f"{blend:g} of {made.method} and {1 - blend:g} of the heuristic"
        made = replace(made, weights=shares, counts=counts, objective=float("nan"), gap=float("nan"), status=status)
    return made if view is model else replace(made, model=model)


def checked_costs(model: Belief, costs: ArrayLike | None) -> Array:
    """What one evaluation of each arm of a single model costs, (K,)."""
    checked_single(model)
    return broadcast(positive(1.0 if costs is None else costs, "costs"), model.num_arms, "costs")


def checked_budget(budget: float, name: str, costs: Array, whole: bool) -> float:
    """A budget that can be counted out: at most 10¹⁵ evaluations, where every whole number is still exact."""
    total = float(non_negative(budget, name, ndim=0))
    if whole and total != np.floor(total):
        raise InputError(f"{name} is {total:g}; expected a whole number of evaluations (or give costs)")
    most = _MOST * float(costs.min())
    if total > most:
        raise InputError(f"{name} is {total:g}; expected at most {most:g}, {_MOST:.0e} of the cheapest evaluations")
    return total


def _plan(model: Gaussian, budget: float, costs: Array, method: str, solution: Solution, counts: Array) -> Plan:
    return Plan(
        model,
        budget,
        costs,
        method,
        solution.weights,
        counts.astype(np.int64),
        solution.objective,
        solution.gap,
        solution.status,
    )


def _fixed(method: str, shares: Callable[[Gaussian, Array], Array]) -> Callable[[Gaussian, float, Array], Plan]:
    def make(model: Gaussian, budget: float, costs: Array) -> Plan:
        weights = shares(model, costs)
        solution = Solution(weights, float("nan"), float("nan"), "a rule, not an optimum")
        return _plan(model, budget, costs, method, solution, largest_remainder(weights, costs, budget))

    return make


def _uniform_shares(model: Gaussian, costs: Array) -> Array:
    return np.asarray(costs / costs.sum())


def _heuristic_shares(model: Gaussian, costs: Array) -> Array:
    mean, sd = model.arms.sign * model.mean, np.sqrt(model.var)
    if not sd.any():
        return _uniform_shares(model, costs)
    pulls = (mean if (mean > 0).all() else mean - mean.min() + sd.mean()) * sd
    return np.asarray(costs * pulls / (costs @ pulls))


def _certified(method: str, objective: Objective, model: Gaussian, budget: float, costs: Array) -> Plan:
    """Solve, round, polish: the whole of every convex method."""
    solution = minimise(objective, costs, budget)
    counts = polish(objective, largest_remainder(solution.weights, costs, budget), costs, budget)
    return _plan(model, budget, costs, method, solution, counts)


def _g(model: Gaussian, budget: float, costs: Array) -> Plan:
    return _certified("g", LogDet(model), model, budget, costs)


def _bound(model: Gaussian, budget: float, costs: Array) -> Plan:
    if model.num_arms > _DENSE_ARMS:
        raise InputError(
            f"method is 'bound' and model has {model.num_arms} arms; expected at most {_DENSE_ARMS}: try 'tie' or 'g'"
        )
    made = _certified("bound", PairSum(model, bound_weights(model)), model, budget, costs)
    return replace(made, objective=2 * made.objective)  # the paper sums over ordered pairs


def _tie(model: Gaussian, budget: float, costs: Array) -> Plan:
    """Tie weights among the arms that matter; what the others could add goes into the gap."""
    independent = model.covariance.rank == 0
    keep, lost = arms_that_matter(model, _MANY_ARMS if independent else _DENSE_ARMS)
    part = _restrict(model, keep)
    objective: Objective
    if independent and len(keep) > _FEW_ARMS:
        smallest = float((1 / (1 / part.var[part.var > 0].max() + budget / (costs[keep] * part.noise_var))).min())
        objective = ManyTies(part, smallest)
    else:
        objective = PairSum(part, tie_weights(part))
    made = _certified("tie", objective, part, budget, costs[keep])
    if len(keep) == model.num_arms:
        return replace(made, model=model, costs=costs)
    weights, counts = np.zeros(model.num_arms), np.zeros(model.num_arms, dtype=np.int64)
    weights[keep], counts[keep] = made.weights, made.counts
    relative = lost / made.objective if made.objective > 0 else 0.0
    status = (
        f"{made.status}; {model.num_arms - len(keep)} arms that hardly matter get nothing: "
        f"they add at most {relative:.0e} of the objective"
    )
    return replace(
        made, model=model, costs=costs, weights=weights, counts=counts, gap=made.gap + relative, status=status
    )


def _restrict(model: Gaussian, keep: np.ndarray) -> Gaussian:
    """The same belief about some of the arms."""
    if len(keep) == model.num_arms:
        return model
    part = Covariance(model.covariance.factor[keep], model.covariance.diag[keep])
    return Gaussian(model.mean[keep], part, model.noise_var[keep], Arms.of(len(keep), None, model.direction))


def _anchored(model: Gaussian, budget: float, costs: Array) -> Plan:
    """Descended from the tie plan, which is kept where its exact error is smaller: the bound counts an error of
    which several arms are guilty several times, and may lead astray where arms are alike.
    """
    tie = _tie(model, budget, costs)
    made = _descended("anchored", Anchored(model), tie)
    if np.array_equal(made.counts, tie.counts):
        return made
    error = ExactError(model)
    if error.value(made.counts.astype(np.float64)) <= error.value(tie.counts.astype(np.float64)):
        return made
    status = "the tie plan: descending the anchored bound from it made the exact error larger"
    return replace(tie, method="anchored", gap=float("nan"), status=status)


def _exact(model: Gaussian, budget: float, costs: Array) -> Plan:
    if model.num_arms > _EXACT_ARMS:
        raise InputError(
            f"method is 'exact' and model has {model.num_arms} arms; expected at most {_EXACT_ARMS}: try 'anchored'"
        )
    objective = ExactError(model)
    starts = [_tie(model, budget, costs), _anchored(model, budget, costs)]
    start = min(starts, key=lambda made: objective.value(made.weights * budget / costs))
    return _descended("exact", objective, start)


def _descended(method: str, objective: Anchored | ExactError, start: Plan) -> Plan:
    """Descend from a plan; of its rounding and of the rounded result the better one, in the objective, is kept."""
    model, budget, costs = start.model, start.budget, start.costs
    if budget == 0 or model.num_arms == 1 or start.objective == 0 or model.num_arms > _DENSE_ARMS:
        return replace(start, method=method, gap=float("nan"))
    guide = PairSum(model, tie_weights(model))
    solution = descend(objective, guide, costs, budget, start.weights)
    rounded = largest_remainder(solution.weights, costs, budget)
    candidates = [rounded, polish(guide, rounded, costs, budget, moves=5), start.counts.astype(np.float64)]
    counts = min(candidates, key=objective.value)
    return _plan(model, budget, costs, method, solution, counts)


def _auto(model: Gaussian, budget: float, costs: Array) -> Plan:
    return (_anchored if 2 < model.num_arms <= _AUTO_ARMS else _tie)(model, budget, costs)


METHODS: dict[str, Callable[[Gaussian, float, Array], Plan]] = {
    "uniform": _fixed("uniform", _uniform_shares),
    "heuristic": _fixed("heuristic", _heuristic_shares),
    "g": _g,
    "bound": _bound,
    "tie": _tie,
    "anchored": _anchored,
    "exact": _exact,
}
