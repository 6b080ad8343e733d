"""Two arms at a time: how their true gap D = r_i − r_j and the gap M = m̃_i − m̃_j that decides go together.

Before the evaluations D and M are jointly Gaussian, for any fixed counts and any assumed model (docs/errata.md): with
z, η independent standard normals the residuals of the true model are ρ = n∘Fz + √(n(nD + v))∘η, and both posterior
means are affine in ρ. Nothing here forms a K×K matrix.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, owens_t

from bestarm.models.gaussian import Gaussian
from bestarm.validation import Array, IntArray

__all__ = ["GapLaw", "GapLaws", "normal_quadrant", "residual_sd", "wrong_sign"]


@dataclass(frozen=True)
class GapLaw:
    """The joint Gaussian law of the true gap D and the deciding gap M, for arrays of pairs.

    mean_d, mean_m: means; var_d, var_m: variances; cov: Cov(D, M). left: the posterior variance of D where M is its
    posterior mean (then cov = var_m = var_d − left); None under an assumed model.
    """

    mean_d: Array
    mean_m: Array
    var_d: Array
    var_m: Array
    cov: Array
    left: Array | None


def residual_sd(model: Gaussian, counts: Array) -> Array:
    """Standard deviation of sums − counts·mean that is the arm's own: √(n(nD + v)), (K,)."""
    return np.sqrt(counts * (counts * model.covariance.diag + model.noise_var))


class GapLaws:
    """The laws of (D, M) for any arms i and j, larger rewards being better; what all pairs share is done once."""

    def __init__(self, model: Gaussian, counts: Array, assumed: Gaussian | None) -> None:
        self._model, self._mean = model, model.arms.sign * model.mean
        self._assumed = assumed
        if assumed is None:
            self._left = model.covariance.after(counts, model.noise_var).covariance
            return
        update = assumed.covariance.after(counts, assumed.noise_var)
        self._known = model.arms.sign * (assumed.mean + update.shift(counts * (model.mean - assumed.mean)))
        spread = residual_sd(model, counts)
        # m̃ = known + from_z z + own∘η + F̃' from_etaᵀ η
        self._from_z = update.shift((counts[:, None] * model.covariance.factor).T).T
        self._own = update.own * spread
        self._post = update.covariance.factor
        gain = np.zeros((len(counts), 0)) if update.gain is None else update.gain
        self._from_eta = gain * spread[:, None]
        self._gram = self._from_eta.T @ self._from_eta
        # the share of each arm's η that is the arm's own deviation from F z
        self._share = np.divide(counts * model.covariance.diag, spread, out=np.zeros_like(spread), where=spread > 0)

    def __call__(self, i: IntArray, j: IntArray) -> GapLaw:
        mean_d = self._mean[i] - self._mean[j]
        var_d = self._model.covariance.diff_var(i, j)
        if self._assumed is None:
            left = np.minimum(self._left.diff_var(i, j), var_d)
            return GapLaw(mean_d, mean_d, var_d, var_d - left, var_d - left, left)
        step_z, apart = self._from_z[i] - self._from_z[j], self._post[i] - self._post[j]
        own, eta, share = self._own, self._from_eta, self._share
        cross = own[i][..., None] * eta[i] - own[j][..., None] * eta[j]
        var_m = np.einsum("...q,...q->...", step_z, step_z) + own[i] ** 2 + own[j] ** 2
        var_m = var_m + np.einsum("...q,qp,...p->...", apart, self._gram, apart)
        var_m = np.maximum(var_m + 2 * np.einsum("...q,...q->...", apart, cross), 0.0)
        step_f = self._model.covariance.factor[i] - self._model.covariance.factor[j]
        mixed = share[i][..., None] * eta[i] - share[j][..., None] * eta[j]
        cov = np.einsum("...q,...q->...", step_f, step_z) + share[i] * own[i] + share[j] * own[j]
        cov = cov + np.einsum("...q,...q->...", apart, mixed)
        return GapLaw(mean_d, self._known[i] - self._known[j], var_d, var_m, cov, None)


def normal_quadrant(h: ArrayLike, k: ArrayLike, rho: ArrayLike, sine: ArrayLike) -> Array:
    """P(X ≤ h, Y > k) for standard normals with correlation rho; sine = √(1 − rho²), given apart for accuracy.

    Owen (1956): Φ₂(h, k) = ½Φ(h) + ½Φ(k) − T(h, a_h) − T(k, a_k) − β, a_h = (k − ρh)/(h√(1 − ρ²)).
    """
    # Φ(−40) is 0 to double precision, and the ratios below stay finite; + 0.0 turns −0.0 into 0.0
    x, y = (np.clip(np.asarray(entry, dtype=np.float64), -40, 40) + 0.0 for entry in (h, k))
    corr, sin = np.asarray(rho, dtype=np.float64), np.asarray(sine, dtype=np.float64)

    def slope(across: Array, along: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = (across - corr * along) / (along * sin)
        return np.where(np.isnan(ratio), 0.0, ratio)

    beta = np.where((x * y < 0) | ((x * y == 0) & (x + y < 0)), 0.5, 0.0)
    joint = (ndtr(x) + ndtr(y)) / 2 - owens_t(x, slope(y, x)) - owens_t(y, slope(x, y)) - beta
    joint = np.where((x == 0) & (y == 0), 0.25 + np.arctan2(corr, sin) / (2 * np.pi), joint)
    return np.asarray(np.clip(ndtr(x) - joint, 0.0, 1.0))


def wrong_sign(law: GapLaw, first_wins_ties: ArrayLike, margin: float = 0.0) -> Array:
    """P(the deciding gap picks the arm that is worse by more than `margin`), for each pair.

    i is picked when M > 0, or when M = 0 surely and `first_wins_ties`. Under the model itself and with no margin
    this is 2 T(μ/√V⁰, √(V/(V⁰ − V))) with Owen's T: for equal means arcsin(√(V/V⁰))/π, and nothing cancels.
    """
    sd_d, sd_m = np.sqrt(law.var_d), np.sqrt(law.var_m)
    if law.left is not None and margin == 0:
        with np.errstate(divide="ignore", invalid="ignore"):
            height = np.where(sd_d > 0, law.mean_d / sd_d, 0.0)
            slope = np.sqrt(np.where(sd_d > 0, law.left / law.var_m, 0.0))
        return np.where(sd_d > 0, 2 * owens_t(np.clip(height, -40, 40), np.where(np.isnan(slope), 0.0, slope)), 0.0)

    known_d, known_m = sd_d == 0, sd_m == 0
    safe_d, safe_m = np.where(known_d, 1.0, sd_d), np.where(known_m, 1.0, sd_m)
    rho = np.clip(law.cov / (safe_d * safe_m), -1.0, 1.0)
    if law.left is not None:
        sine = np.sqrt(np.where(known_d, 0.0, law.left / np.where(known_d, 1.0, law.var_d)))
    else:
        sine = np.sqrt(np.maximum((1 - rho) * (1 + rho), 0.0))
    low, high, cut = (-margin - law.mean_d) / safe_d, (margin - law.mean_d) / safe_d, -law.mean_m / safe_m
    both = normal_quadrant(low, cut, rho, sine) + normal_quadrant(-high, -cut, rho, sine)

    slack = margin * (1 + 1e-12)  # a gap that is the margin up to rounding is not beyond it
    i_loses = np.where(known_d, law.mean_d < -slack, ndtr(low))
    j_loses = np.where(known_d, law.mean_d > slack, ndtr(-high))
    picks_i = np.where(law.mean_m == 0, np.asarray(first_wins_ties, dtype=float), law.mean_m > 0)
    chance_i = np.where(known_m, picks_i, ndtr(-cut))
    apart = chance_i * i_loses + (1 - chance_i) * j_loses
    return np.where(known_d | known_m, apart, both)
