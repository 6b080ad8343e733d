"""What a plan loses if the prior is wrong: exact errors under other truths, through `assumed=`."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bestarm.design.plans import plan
from bestarm.error.evaluate import evaluate
from bestarm.error.exact import Integrator
from bestarm.errors import InputError
from bestarm.estimate import Estimate
from bestarm.models.belief import checked_single
from bestarm.models.covariance import Covariance
from bestarm.models.gaussian import Gaussian
from bestarm.validation import Array, positive, shown, vector, whole

__all__ = ["robustness", "robustness_sentence"]

_POINTS = 1024  # of each of the 16 randomisations
_DIRECTIONS = 6  # ways in which the means may be off, the same every time


def robustness(
    model: Gaussian, counts: ArrayLike, shifts: ArrayLike = (0.0, 0.5, 1.0, 2.0), factors: ArrayLike = (0.5, 1.0, 2.0)
) -> NDArray[Any]:
    """A table: if prior means are off by `shift` prior sds and true sds are `factor` times the prior's, how often the
    decision after `counts` is wrong, and how often it is after an even split, decided by averages alone.

    Columns shift, factor, error, stderr, even, even_stderr. Shifts average over six random directions, N(0, 1) for each
    arm. Exact, through evaluate(truth, counts, assumed=model).
    """
    checked_single(model)
    if not isinstance(model, Gaussian):
        raise InputError(f"model is {shown(model)}; expected Gaussian arms of known noise")
    n = whole(counts, "counts")
    if n.shape != (model.num_arms,):
        raise InputError(f"counts has shape {n.shape}; expected one number per arm ({model.num_arms})")
    each = np.maximum(n.sum() / model.num_arms, 1e-9) * np.ones(model.num_arms)
    wide = 100 * max(float(np.sqrt(model.var.max())), float(np.ptp(model.mean)), 1e-9)
    flat = Gaussian.low_rank(
        np.full(model.num_arms, model.mean.mean()), np.zeros((model.num_arms, 0)), wide**2, model.noise_var,
        direction=model.direction,
    )  # fmt: skip
    assumed = _unnamed(model, model.mean, 1.0)
    rng = np.random.default_rng(0)
    directions = rng.standard_normal((_DIRECTIONS, model.num_arms))
    rows = []
    for factor in positive(vector(factors, "factors"), "factors"):
        for shift in vector(shifts, "shifts"):
            found = []
            for direction in directions if shift else directions[:1]:
                truth = _unnamed(model, model.mean + shift * np.sqrt(model.var) * direction, float(factor))
                found.append([_error(truth, n, assumed), _error(truth, each, flat)])
            value = [[float(e.value) for e in pair] for pair in found]
            stderr = [[float(e.stderr) ** 2 for e in pair] for pair in found]
            mean, error = np.mean(value, axis=0), np.sqrt(np.sum(stderr, axis=0)) / len(found)
            rows.append((shift, factor, mean[0], error[0], mean[1], error[1]))
    columns = ("shift", "factor", "error", "stderr", "even", "even_stderr")
    return np.array(rows, dtype=[(column, np.float64) for column in columns])


def _error(truth: Gaussian, counts: Array, assumed: Gaussian) -> Estimate:
    """As `evaluate`, to three digits instead of five: the table has many cells."""
    if truth.num_arms <= 2:
        return evaluate(truth, counts, assumed=assumed).error
    return Integrator(truth, counts, assumed).estimate(_POINTS, np.random.default_rng(0)).error


def _unnamed(model: Gaussian, mean: Array, factor: float) -> Gaussian:
    """Other means, and prior sds times a factor."""
    own = Covariance(factor * model.covariance.factor, factor**2 * model.covariance.diag)
    return Gaussian(mean, own, model.noise_var, model.arms)


def robustness_sentence(model: Gaussian, counts: ArrayLike) -> str:
    """When the prior does more harm than good, and when an even split is as good, in words."""
    table = robustness(model, counts, (0.0, 0.5, 1.0, 2.0, 3.0, 4.0), (1.0,))
    good, even = float(table["error"][0]), float(plan(model, float(np.sum(counts)), "uniform").evaluation.error)
    harmful = table["shift"][table["error"] > table["even"]]
    if even - good < max(0.005, 0.03 * even):
        first = f"Uniform is as good here: wrong with probability {even:.3f}, with this plan {good:.3f}."
    else:
        first = f"If the prior is right this plan is wrong with probability {good:.3f}, an even split with {even:.3f}."
    if harmful.size == 0:
        return f"{first} The prior helps even if its means are off by {table['shift'].max():g} of its sds."
    return f"{first} If its means are off by {harmful.min():g} of its sds or more, it does more harm than good."
