"""How likely a decision is wrong once the data are in: the exact conditional error, for many runs at once.

Averaging it over simulated runs instead of counting wrong decisions is Rao and Blackwell's improvement: the same mean,
a smaller spread.
"""

from collections.abc import Iterator

import numpy as np

from bestarm.models import best
from bestarm.models.belief import Belief
from bestarm.models.gaussian import Gaussian
from bestarm.validation import Array, IntArray

__all__ = ["chosen_errors", "error_given_data"]

_DRAWS = 16
_NARROW = 0.02  # arms narrower than this share of the widest are left to the adaptive quadrature


def error_given_data(posterior: Belief, picked: IntArray, rng: np.random.Generator) -> tuple[Array, Array]:
    """P(picked arm is not the best | data) and its expected regret, (R,) each, under posteriors of R runs.

    By quadrature for independent Gaussian arms; otherwise unbiased, from 16 draws a run (antithetic ones of Gaussians).
    """
    if posterior.num_arms == 1:
        return np.zeros(len(picked)), np.zeros(len(picked))
    if not isinstance(posterior, Gaussian):
        return _averaged((posterior._draw(rng) for _ in range(_DRAWS)), posterior.arms.sign, picked)
    shape = (len(picked), posterior.num_arms)
    mean = np.broadcast_to(posterior.arms.sign * posterior.mean, shape)
    if posterior.covariance.rank == 0:
        return chosen_errors(mean, np.sqrt(np.broadcast_to(posterior.covariance.diag, shape)), picked)
    return _averaged(_antithetic(posterior, mean, rng), 1.0, picked)


def _antithetic(posterior: Gaussian, mean: Array, rng: np.random.Generator) -> Iterator[Array]:
    factor, own = posterior.covariance.factor, np.sqrt(posterior.covariance.diag)
    for _ in range(_DRAWS // 2):
        z = rng.standard_normal((len(mean), factor.shape[-1]))
        away = z @ factor.T if factor.ndim == 2 else np.matmul(factor, z[:, :, None])[:, :, 0]
        if own.any():
            away += own * rng.standard_normal(mean.shape)
        yield mean + away
        yield mean - away


def _averaged(draws: Iterator[Array], sign: float, picked: IntArray) -> tuple[Array, Array]:
    """How often, and by how much on average, the picked arm is not the best of _DRAWS draws, (R,) each."""
    error, regret, rows = np.zeros(len(picked)), np.zeros(len(picked)), np.arange(len(picked))
    for draw in draws:
        upright = np.broadcast_to(sign * draw, (len(picked), draw.shape[-1]))
        short = upright.max(axis=1) - upright[rows, picked]
        error += short > 0
        regret += short
    return error / _DRAWS, regret / _DRAWS


def chosen_errors(mean: Array, sd: Array, picked: IntArray) -> tuple[Array, Array]:
    """P(picked arm is not the best) and its expected regret for independent Gaussian arms, (R,) each, by quadrature."""
    from bestarm.error.kernels import chosen_independent

    rows = np.arange(len(picked))
    plain = sd.min(axis=1) > _NARROW * sd.max(axis=1)
    error, regret = np.empty(len(picked)), np.empty(len(picked))
    if plain.any():
        part = np.ascontiguousarray(mean[plain]), np.ascontiguousarray(sd[plain]), np.ascontiguousarray(picked[plain])
        error[plain], regret[plain] = chosen_independent(*part)
    if not plain.all():
        rest = ~plain
        chance, short = best.independent(mean[rest], sd[rest], best.COARSE)
        error[rest] = 1 - chance[rows[: rest.sum()], picked[rest]]
        regret[rest] = short[rows[: rest.sum()], picked[rest]]
    return error, regret
