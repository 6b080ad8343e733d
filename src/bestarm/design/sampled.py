"""Objectives that are averages over draws: the decision-anchored bound and the exact error, and how to descend them.

Neither is convex. Both are nearly the tie objective when counts are large, so a plan starts at the tie plan and
steps along quadratic models with the tie objective's second derivatives and its own gradient, on common draws.
"""

from typing import Protocol

import numpy as np
from scipy.special import ndtr

from bestarm.design.objectives import PairSum, all_diff_var
from bestarm.design.simplex import Solution, quadratic_minimiser
from bestarm.error.exact import Integrator
from bestarm.error.outcomes import Outcomes
from bestarm.models.best import normal_replicates
from bestarm.models.gaussian import Gaussian
from bestarm.validation import Array

__all__ = ["Anchored", "ExactError", "descend"]


class _Sampled(Protocol):
    def value(self, counts: Array) -> float: ...


class Anchored:
    """E Σ_{i≠J} Φ(−(m̂_J − m̂_i)/√V_iJ) over fixed quasi-random outcomes: an upper bound on the error."""

    def __init__(self, model: Gaussian, points: int = 4096) -> None:
        self.model = model
        size = Outcomes(model, np.ones(model.num_arms), every_arm=True).size
        self._normals = next(normal_replicates(points, size, np.random.default_rng(0), 1))

    def value(self, counts: Array) -> float:
        outcomes = Outcomes(self.model, counts, every_arm=True)
        mean, _ = outcomes.posterior_means(self._normals)
        picked = np.argmax(mean, axis=1)
        gap = mean[np.arange(len(mean)), picked][:, None] - mean
        sd = np.sqrt(all_diff_var(outcomes.left))[picked]
        return float(np.where(sd > 0, ndtr(-gap / np.where(sd > 0, sd, 1.0)), 0.0).sum() / len(mean))


class ExactError:
    """The expected probability of error itself, on fixed quasi-random points."""

    def __init__(self, model: Gaussian, points: int = 16384) -> None:
        self.model = model
        size = sum(Integrator(model, np.ones(model.num_arms), every_arm=True).sizes)
        self._normals = next(normal_replicates(points, size, np.random.default_rng(0), 1))

    def value(self, counts: Array) -> float:
        integrator = Integrator(self.model, counts, every_arm=True)
        blocks = np.array_split(self._normals, max(1, self._normals.size // 200_000))
        return float(sum(integrator.given(block)[0].sum() for block in blocks) / len(self._normals))


def descend(objective: _Sampled, guide: PairSum, costs: Array, budget: float, start: Array, steps: int = 6) -> Solution:
    """From `start` (shares), as long as a step lowers the objective. No certificate: the gap is NaN."""
    per_share = budget / costs
    w, value = start, objective.value(start * per_share)
    taken = 0
    for _ in range(steps):
        slope = _slope(objective, w, value, per_share, guide)
        target = _target(guide, w, slope, per_share)
        step, found = 1.0, False
        for _halving in range(5):
            trial = w + step * (target - w)
            trial_value = objective.value(trial * per_share)
            if trial_value < value * (1 - 1e-7):
                found = True
                break
            step /= 2
        if not found:
            break
        taken += 1
        gained = 1 - trial_value / value
        w, value = trial, trial_value
        if gained < 1e-5:
            break
    status = f"descended from the tie plan in {taken} steps; not convex, so there is no certificate"
    return Solution(w, value, float("nan"), status)


def _slope(objective: _Sampled, w: Array, value: float, per_share: Array, guide: PairSum) -> Array:
    """Derivatives in shares by differences wide enough to average over the draws' small jumps.

    Arms that the tie objective wants nothing of, and that have nothing, are left out.
    """
    _, g = guide.gradient(w * per_share)
    g = g * per_share
    level = float(w @ g)
    wanted = np.flatnonzero((w > 0) | (g < 0.5 * level))
    slope = np.full(len(w), np.inf)
    width = 0.02 / max(1, len(wanted)) ** 0.5
    for k in wanted:
        shifted = w.copy()
        shifted[k] += width
        down = min(width, w[k])
        lower = w.copy()
        lower[k] -= down
        low_value = objective.value(lower * per_share) if down > 0 else value
        slope[k] = (objective.value(shifted * per_share) - low_value) / (width + down)
    return slope


def _target(guide: PairSum, w: Array, slope: Array, per_share: Array) -> Array:
    free = np.flatnonzero(np.isfinite(slope))
    hessian = np.sqrt(2 / np.pi) * guide.hessian(w * per_share, free) * np.outer(per_share[free], per_share[free])
    inside = np.maximum(w[free], 1e-6)
    target = np.zeros_like(w)
    target[free] = quadratic_minimiser(hessian, slope[free] - hessian @ w[free], inside)
    return target
