"""Two arms at a time: how their true gap D = r_i − r_j and the gap M = m̃_i − m̃_j that decides go together.

Before the evaluations D and M are jointly Gaussian, for any fixed counts and any assumed model (docs/errata.md): with
z, η independent standard normals the residuals of the true model are ρ = n∘Fz + √(n(nD + v))∘η, and both posterior
means are affine in ρ. Nothing here forms a K×K matrix.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, owens_t

from bestarm.models.covariance import Update
from bestarm.models.gaussian import Gaussian
from bestarm.validation import Array, IntArray

__all__ = ["GapLaw", "gap_law", "normal_quadrant", "residual_sd", "wrong_sign"]


@dataclass(frozen=True)
class GapLaw:
    """The joint Gaussian law of the true gap D and the deciding gap M, for arrays of pairs.

    mean_d, mean_m: means; var_d, var_m: variances; cov: Cov(D, M); var_given: Var(D | M)·Var(M)/Var(D), that is
    var_m − cov²/var_d, or None where M is the posterior mean of D (then cov = var_m and D's posterior variance
    is var_d − var_m, given as `left`).
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


def gap_law(model: Gaussian, counts: Array, assumed: Gaussian | None, i: IntArray, j: IntArray) -> GapLaw:
    """The law of (D, M) for arms i and j, larger rewards being better."""
    sign = model.arms.sign
    mean_d = sign * (model.mean[i] - model.mean[j])
    var_d = model.covariance.diff_var(i, j)
    if assumed is None:
        left = model.covariance.after(counts, model.noise_var).covariance.diff_var(i, j)
        gone = np.maximum(var_d - left, 0.0)
        # an arm pair that nothing was learned about has M exactly at its mean
        return GapLaw(mean_d, mean_d, var_d, gone, gone, np.minimum(left, var_d))

    update = assumed.covariance.after(counts, assumed.noise_var)
    known = assumed.mean + update.shift(counts * (model.mean - assumed.mean))
    from_z, own, from_eta = _influences(model, counts, update)
    post = update.covariance.factor
    step_z = from_z[i] - from_z[j]
    var_m = np.einsum("...q,...q->...", step_z, step_z)
    var_m = var_m + own[i] ** 2 + own[j] ** 2
    apart = post[i] - post[j]
    gram = from_eta.T @ from_eta
    var_m = var_m + np.einsum("...q,qp,...p->...", apart, gram, apart)
    cross = own[i][..., None] * from_eta[i] - own[j][..., None] * from_eta[j]
    var_m = np.maximum(var_m + 2 * np.einsum("...q,...q->...", apart, cross), 0.0)

    # Cov(D, M): through z, and through the share τ of each arm's η that is the arm's own deviation from F z
    spread = residual_sd(model, counts)
    share = np.divide(counts * model.covariance.diag, spread, out=np.zeros_like(spread), where=spread > 0)
    step_f = model.covariance.factor[i] - model.covariance.factor[j]
    cov = np.einsum("...q,...q->...", step_f, step_z) + share[i] * own[i] + share[j] * own[j]
    mixed = share[i][..., None] * from_eta[i] - share[j][..., None] * from_eta[j]
    cov = cov + np.einsum("...q,...q->...", apart, mixed)
    same = i == j
    return GapLaw(
        mean_d,
        sign * (known[i] - known[j]),
        var_d,
        np.where(same, 0.0, var_m),
        np.where(same, 0.0, cov),
        None,
    )


def _influences(model: Gaussian, counts: Array, update: Update) -> tuple[Array, Array, Array]:
    """How the assumed posterior mean depends on z and η: m̃ = … + from_z z + own∘η + F̃' from_etaᵀ η."""
    spread = residual_sd(model, counts)
    from_z = update.shift((counts[:, None] * model.covariance.factor).T).T
    own = update.own * spread
    if update.gain is None:
        return from_z, own, np.zeros((len(counts), 0))
    return from_z, own, update.gain * spread[:, None]


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

    i_loses = np.where(known_d, law.mean_d < -margin, ndtr(low))
    j_loses = np.where(known_d, law.mean_d > margin, ndtr(-high))
    picks_i = np.where(law.mean_m == 0, np.asarray(first_wins_ties, dtype=float), law.mean_m > 0)
    chance_i = np.where(known_m, picks_i, ndtr(-cut))
    apart = chance_i * i_loses + (1 - chance_i) * j_loses
    return np.where(known_d | known_m, apart, both)
