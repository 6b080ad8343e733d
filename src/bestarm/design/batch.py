"""Tie plans and expected errors for many beliefs at once: what a rolling plan needs before each of its stages."""

from functools import cache

import numpy as np
from scipy.special import ndtr, ndtri

from bestarm.models.belief import Belief
from bestarm.models.bernoulli import Bernoulli
from bestarm.models.best import normal_replicates
from bestarm.models.gaussian import Gaussian
from bestarm.validation import Array

__all__ = ["expected_errors", "gain_of", "tie_shares"]

_OUTCOMES = 4  # nodes for what evaluations may say, on each side of where the decision turns
_UNLIKELY = 1e-5  # chance of a turn that is not looked at

_DRAWS = 64  # four times as many draws and three times as many steps changed no error that could be measured
_STEPS = 8


def tie_shares(belief: Gaussian, budget: Array, costs: Array, start: Array | None = None) -> Array:
    """Shares of spend (R, K) of the tie plan of each belief for what is left of its budget (R,).

    start: shares to begin from. Weights of ties are exact for independent arms, and averages over 64 quasi-random
    draws, the same for all runs, otherwise; shares are within a few percent of optimal in the objective.
    """
    from bestarm.design import kernels  # Numba takes a second to import

    mean = np.ascontiguousarray(belief.arms.sign * belief.mean)
    runs, arms = mean.shape
    shares = np.full((runs, arms), 1 / arms) if start is None else start.copy()
    diag = np.ascontiguousarray(np.broadcast_to(belief.covariance.diag, (runs, arms)))
    noise_var = np.broadcast_to(belief.noise_var, (runs, arms))
    rank = belief.covariance.rank
    if rank == 0:
        kernels.tie_shares_independent(mean, diag, noise_var, costs, budget, shares, _STEPS)
        return shares
    factor = np.ascontiguousarray(np.broadcast_to(belief.covariance.factor, (runs, arms, rank)))
    normals = _normals(_DRAWS, 2 * rank + arms)
    kernels.tie_shares_structured(mean, factor, diag, noise_var, costs, budget, shares, _STEPS, normals)
    return shares


@cache
def _normals(points: int, dim: int) -> Array:
    return next(normal_replicates(points, dim, np.random.default_rng(0), 1))


def expected_errors(belief: Gaussian, counts: Array, points: int = 256) -> Array:
    """Chance that a decision after `counts` (R, K) is wrong, given each of the same few data sets, (R, points).

    Unbiased for the expected error when averaged, and smooth in the counts: differences between counts are far more
    certain than either average.
    """
    from bestarm.design import kernels

    mean = np.ascontiguousarray(belief.arms.sign * belief.mean)
    runs, arms = mean.shape
    rank = belief.covariance.rank
    diag = np.ascontiguousarray(np.broadcast_to(belief.covariance.diag, (runs, arms)))
    factor = np.ascontiguousarray(np.broadcast_to(belief.covariance.factor, (runs, arms, rank)))
    normals = _normals(points, 2 * rank + arms + 1)
    noise_var = np.broadcast_to(belief.noise_var, (runs, arms))
    out: Array = kernels.error_given_counts(mean, factor, diag, noise_var, counts, normals, False)
    return out


def gain_of(number: float, belief: Belief) -> Array:
    """How much so many evaluations of one arm lower the expected error of deciding right after them, (R, K).

    For independent arms, on their Gaussian view; a single yes/no reward has its two outcomes. 0 where no outcome
    changes the decision: the error is then the same on average.
    """
    from bestarm.error import kernels

    view = belief.gaussian()
    if view.num_arms == 1:
        return np.zeros(view.mean.shape)
    level = view.arms.sign * view.mean
    if isinstance(belief, Bernoulli) and number == 1:
        level = belief.upright[0] / (belief.upright[0] + belief.upright[1])  # of failures when minimising, not −p
    mean, var, noise = np.broadcast_arrays(level, view.covariance.diag, view.noise_var / number)
    ranked = np.sort(mean, axis=1)
    rival = np.where(mean == ranked[:, -1:], ranked[:, -2:-1], ranked[:, -1:])
    weight, new_mean, new_var = _outcomes(belief if number == 1 else view, mean, var, noise, rival)
    now = mean > rival
    ahead = (weight * ((new_mean > rival[:, :, None]) | (now[:, :, None] & (new_mean == rival[:, :, None])))).sum(
        axis=2
    )
    turns = np.where(now, 1 - ahead, ahead) > _UNLIKELY
    gain: Array = kernels.gains_independent(mean, np.sqrt(var), weight, new_mean, np.sqrt(new_var), turns)
    return gain


def _outcomes(belief: Belief, mean: Array, var: Array, noise: Array, rival: Array) -> tuple[Array, Array, Array]:
    """What evaluating each arm may lead to: chances, and its mean and variance then, (R, K, Z) each.

    Of Gaussian rewards, Gauss-Legendre nodes in probability on both sides of where the arm passes its rival.
    """
    if isinstance(belief, Bernoulli):
        a, b = (part[:, :, None] for part in belief.upright)
        worth = a + b
        after = (a + np.array([1.0, 0.0])) / (worth + 1)
        return np.concatenate([a, b], axis=2) / worth, after, after * (1 - after) / (worth + 2)
    node, weight = np.polynomial.legendre.leggauss(_OUTCOMES)
    node, weight = (1 + node) / 2, weight / 2
    shift, left = var / np.sqrt(var + noise), var * noise / (var + noise)
    with np.errstate(divide="ignore", invalid="ignore"):
        below = ndtr(np.where(shift > 0, (rival - mean) / shift, np.where(rival >= mean, np.inf, -np.inf)))[:, :, None]
    chance = np.concatenate([below * weight, (1 - below) * weight], axis=2)
    u = np.concatenate([below * node, below + (1 - below) * node], axis=2)
    after = mean[:, :, None] + shift[:, :, None] * ndtri(np.clip(u, 1e-12, 1 - 1e-12))
    return chance, after, np.broadcast_to(left[:, :, None], after.shape)
