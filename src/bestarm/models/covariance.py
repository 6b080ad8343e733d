"""The covariance of the arm means, as low rank plus diagonal, and what evaluations do to it.

Every Gaussian setting of the paper is S = F Fᵀ + diag(D) (docs/notation.md): F has no columns for independent
arms, D is zero for linear bandits, both are there for hierarchical ones. Conditioning keeps the form.
"""

import math
import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from bestarm.errors import InputError, PrecisionWarning
from bestarm.validation import Array, read_only, shown

__all__ = ["Covariance", "Update", "covariance_root", "thin_product"]

# A = I + FᵀWF has condition number at most 1 + trace(FᵀWF). Below this, normal equations lose at most
# q · 1e6 · 2e-16 of relative accuracy and are used; above it, the QR of the stacked square root.
_SAFE_TRACE = 1e6
_PRODUCT = 2**18  # multiplications in one call, beyond which BLAS wakes its threads
_PROMISED = 1e-6  # relative accuracy of posterior variances, beyond which a PrecisionWarning is due


@dataclass(frozen=True, eq=False)
class Update:
    """What counts do to a Gaussian belief: the covariance after them, and how to move the mean.

    With ρ = sums − counts·mean, the posterior mean is `mean + shift(ρ)`.
    """

    covariance: "Covariance"
    own: Array  # D/t: how far arm k moves for its own residual
    gain: Array | None  # U, (…, K, q): the low-rank part moves by F'Uᵀρ

    def shift(self, residual: Array) -> Array:
        own: Array = self.own * residual
        if self.gain is None:
            return own
        factor = self.covariance.factor
        if factor.ndim == 2:  # one plan, any number of outcomes: plain matrix products
            return np.asarray(own + thin_product(thin_product(residual, self.gain), factor.T))
        step = np.matmul(residual[..., None, :], self.gain)
        return np.asarray(own + np.matmul(step, np.swapaxes(factor, -1, -2))[..., 0, :])


@dataclass(frozen=True, eq=False)
class Covariance:
    """S = F Fᵀ + diag(D) over K arms, with optional leading batch axes that broadcast.

    Made by models (`model.covariance`, `model.after(counts)`), which have checked every number; `after` here is the
    inner loop of everything and checks nothing.

    factor: F, (…, K, q), in units of reward; diag: D ≥ 0, (…, K), variances.
    """

    factor: Array
    diag: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "factor", read_only(self.factor))
        object.__setattr__(self, "diag", read_only(self.diag))

    @property
    def num_arms(self) -> int:
        return int(self.diag.shape[-1])

    @property
    def rank(self) -> int:
        """q, the number of columns of F: 0 for independent arms."""
        return int(self.factor.shape[-1])

    @cached_property
    def var(self) -> Array:
        """Variance of each arm mean, (…, K)."""
        if self.rank == 0:
            return self.diag
        return read_only(self.diag + np.einsum("...kq,...kq->...k", self.factor, self.factor))

    def diff_var(self, i: ArrayLike, j: ArrayLike) -> Array:
        """Variance of r_i − r_j for arm indices i and j (arrays broadcast): ‖F_i − F_j‖² + D_i + D_j, 0 if i = j.

        Never as S_ii + S_jj − 2 S_ij, which cancels.
        """
        first, second = self._indices(i, "i"), self._indices(j, "j")
        try:
            np.broadcast_shapes(first.shape, second.shape)
        except ValueError:
            raise InputError(f"i has shape {first.shape} and j has shape {second.shape}; expected one shape") from None
        apart = self.diag[..., first] + self.diag[..., second]
        if self.rank:
            step = self.factor[..., first, :] - self.factor[..., second, :]
            apart = apart + np.einsum("...q,...q->...", step, step)
        return np.where(first == second, 0.0, apart)

    def _indices(self, arm: ArrayLike, name: str) -> NDArray[np.intp]:
        try:
            index = np.asarray(arm)
        except ValueError:
            index = np.empty(1, dtype=object)
        if index.dtype.kind not in "iu" or (index.size and (index.min() < 0 or index.max() >= self.num_arms)):
            raise InputError(f"{name} is {shown(arm)}; expected arm indices from 0 to {self.num_arms - 1}")
        return index.astype(np.intp)

    def dense(self) -> Array:
        """The K×K matrix itself. Everything else works without it."""
        low_rank = np.matmul(self.factor, np.swapaxes(self.factor, -1, -2))
        return np.asarray(low_rank + self.diag[..., None] * np.eye(self.num_arms))

    def root_times(self, z: Array, e: Array) -> Array:
        """F z + √D ∘ e: a draw of the arm means around their mean, from standard normals z (…, q) and e (…, K)."""
        own = np.sqrt(self.diag) * e
        return own if self.rank == 0 else own + np.matmul(self.factor, z[..., None])[..., 0]

    def after(self, counts: Array, noise_var: Array) -> Update:
        """Condition on `counts` evaluations per arm (whole or not) with noise variances `noise_var`.

        t = v + n∘D, a = v/t, A = I + Fᵀ diag(n/t) F = L Lᵀ:  F' = diag(a) F L⁻ᵀ,  D' = a∘D. O(K q² + q³).
        Where A may be ill-conditioned its factor comes from a QR of [√(n/t)∘F; I], with rows sorted and columns
        pivoted: that is accurate row by row (Cox and Higham, 1998), so that an arm measured a billion times does
        not blur what is known of the others. If even so a variance may be off by more than 1e-6 of itself, a
        PrecisionWarning says so.
        """
        t = noise_var + counts * self.diag
        keep, own = noise_var / t, self.diag / t
        if self.rank == 0:
            return Update(Covariance(self.factor, keep * self.diag), own, None)

        weight = counts / t
        squares = np.einsum("...kq,...kq->...k", self.factor, self.factor)
        unsafe = (weight * squares).sum(-1) > _SAFE_TRACE
        if unsafe.any():
            factor, gain = _orthogonal(self.factor, weight, counts * t, unsafe)
        else:
            factor, gain = _normal_equations(self.factor, weight)
            gain = gain / t[..., None]
        return Update(Covariance(keep[..., None] * factor, keep * self.diag), own, gain)

    def after_one(self, arm: NDArray[np.intp], noise_var: Array) -> tuple["Covariance", Array]:
        """One evaluation of arm[b] in batch entry b: the covariance after it, and C_{·k}/(v_k + C_kk), (…, K).

        `after` with a single count: A = I + f fᵀ/t has the symmetric root I − c f fᵀ to the power −1, in O(K q).
        Batch axes are one: factor (B, K, q), diag (B, K), arm (B,).
        """
        rows, v = np.arange(len(arm)), noise_var[arm]
        own = self.diag[rows, arm]
        t = v + own
        diag = self.diag.copy()
        diag[rows, arm] = own * v / t
        if self.rank == 0:
            gain = np.zeros_like(diag)
            gain[rows, arm] = own / t
            return Covariance(self.factor, diag), gain
        f = self.factor[rows, arm]
        size = np.einsum("bq,bq->b", f, f)
        along = np.matmul(self.factor, f[:, :, None])[:, :, 0]
        safe = np.where(size > 0, size, 1.0)
        # 1 − 1/√(1 + x), without its cancellation
        x = size / t
        c = x / (np.sqrt(1 + x) * (np.sqrt(1 + x) + 1)) / safe
        factor = self.factor - along[:, :, None] * (c[:, None] * f)[:, None, :]
        factor[rows, arm] *= (v / t)[:, None]
        along[rows, arm] += own
        return Covariance(factor, diag), along / (t + size)[:, None]


def thin_product(many: Array, few: Array) -> Array:
    """A tall matrix (or a batch of them) times a small one, in slices below BLAS's threshold for threads.

    Waking threads for products this thin, thousands of times, costs up to twenty times the products themselves.
    """
    tall = many.reshape(math.prod(many.shape[:-1]), many.shape[-1])
    rows = max(16, _PRODUCT // max(1, few.size))
    parts = [tall[start : start + rows] @ few for start in range(0, max(1, len(tall)), rows)]
    product = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return np.asarray(product.reshape(*many.shape[:-1], few.shape[1]))


def _normal_equations(factor: Array, weight: Array) -> tuple[Array, Array]:
    """F L⁻ᵀ from a Cholesky factor of A, for a batch at once."""
    q = factor.shape[-1]
    if factor.ndim == 2 and weight.ndim > 1:  # one F, many counts: a single matrix product
        outer = (factor[:, :, None] * factor[:, None, :]).reshape(-1, q * q)
        gram = np.matmul(weight, outer).reshape(*weight.shape[:-1], q, q)
    else:
        gram = np.matmul(np.swapaxes(factor * weight[..., None], -1, -2), factor)
    inverse = np.linalg.inv(np.linalg.cholesky(gram + np.eye(q)))
    new = np.matmul(factor, np.swapaxes(inverse, -1, -2))
    return new, new


def _orthogonal(factor: Array, weight: Array, scale: Array, unsafe: NDArray[np.bool_]) -> tuple[Array, Array]:
    """F R⁻¹ and its gain, one batch entry after the other; entries that are safe take the short way."""
    batch = np.broadcast_shapes(factor.shape[:-2], weight.shape[:-1])
    k, q = factor.shape[-2:]
    factors = np.broadcast_to(factor, (*batch, k, q)).reshape(-1, k, q)
    weights = np.broadcast_to(weight, (*batch, k)).reshape(-1, k)
    scales = np.broadcast_to(scale, (*batch, k)).reshape(-1, k)
    careful = np.broadcast_to(unsafe, batch).ravel()
    new, gain = np.empty_like(factors), np.empty_like(factors)
    worst = 0.0
    for b in range(len(factors)):
        seen = scales[b] > 0
        if careful[b]:
            new[b], root, doubt = _pivoted_qr(factors[b], weights[b])
            worst = max(worst, doubt)
        else:
            new[b], _ = _normal_equations(factors[b], weights[b])
            root = new[b] * np.sqrt(weights[b])[:, None]
        # U = Q/√(n t), with Q the rows of the orthogonal factor
        gain[b] = np.divide(root, np.sqrt(scales[b])[:, None], out=np.zeros((k, q)), where=seen[:, None])
    if worst > _PROMISED:
        warnings.warn(
            f"posterior variances may be off by up to {worst:.0e} of themselves: some features are too nearly "
            "collinear for double precision at these counts and this noise; drop or merge near-duplicates",
            PrecisionWarning,
            stacklevel=5,
        )
    return new.reshape(*batch, k, q), gain.reshape(*batch, k, q)


def _pivoted_qr(factor: Array, weight: Array) -> tuple[Array, Array, float]:
    """F R⁻¹, the orthogonal rows of the measured arms, and a bound on the relative error of the variances.

    The bound is first order: with every entry of the root known to a relative ε, z = R⁻ᵀ f and C = R⁻¹R⁻ᵀ, the
    variance V = ‖z‖² moves by at most 2ε (|z|ᵀ|R| + |f|ᵀ) |C f|.
    """
    k, q = factor.shape
    stacked = np.concatenate([np.sqrt(weight)[:, None] * factor, np.eye(q)])
    order = np.argsort(-np.abs(stacked).max(axis=1), kind="stable")
    orthogonal, triangle, pivots = linalg.qr(stacked[order], mode="economic", pivoting=True)
    rows = np.empty_like(orthogonal)
    rows[order] = orthogonal
    z = linalg.solve_triangular(triangle, factor[:, pivots].T, trans="T").T
    cf = linalg.solve_triangular(triangle, z.T).T
    var = np.einsum("kq,kq->k", z, z)
    slack = ((np.abs(z) @ np.abs(triangle) + np.abs(factor[:, pivots])) * np.abs(cf)).sum(axis=1)
    doubt = np.divide(slack, var, out=np.zeros(k), where=var > 0).max()
    return z, rows[:k], float(2 * np.finfo(float).eps * doubt)


def covariance_root(cov: ArrayLike, size: int, name: str) -> Array:
    """A root G (size × rank) with G Gᵀ = cov; refuses what is not symmetric positive semi-definite.

    Works on the correlation scale, so that entries in very different units are treated alike: diagonal roots are
    exact, then Cholesky, then an eigen-factor without its null directions where the matrix is singular.
    """
    matrix = np.array(cov, dtype=np.float64)
    if matrix.shape != (size, size):
        raise InputError(f"{name} has shape {matrix.shape}; expected ({size}, {size})")
    var = np.diagonal(matrix)
    if (var < 0).any():
        worst = int(np.argmin(var))
        raise InputError(f"{name}[{worst}, {worst}] is {var[worst]:g}; expected a variance of at least 0")
    sd = np.sqrt(var)
    for i in map(int, np.flatnonzero((sd == 0) & (matrix.any(axis=1) | matrix.any(axis=0)))):
        j = int(np.flatnonzero((matrix[i] != 0) | (matrix[:, i] != 0))[0])
        raise InputError(
            f"{name} is not positive semi-definite: [{i}, {i}] is 0 while [{i}, {j}] is {matrix[i, j]:g} and "
            f"[{j}, {i}] is {matrix[j, i]:g}; expected both 0"
        )
    if not (matrix - np.diag(var)).any():
        return np.diag(sd)[:, sd > 0]
    scale = np.where(sd > 0, sd, 1.0)
    with np.errstate(over="ignore"):  # an absurd covariance is refused below
        corr = matrix / scale[:, None] / scale[None, :]
    if not np.abs(corr).max() < 1e10:
        i, j = (int(index) for index in np.unravel_index(int(np.argmax(np.abs(corr))), corr.shape))
        raise InputError(
            f"{name} is not positive semi-definite: [{i}, {j}] is {matrix[i, j]:g}, beyond the product of the standard "
            f"deviations {sd[i]:g} and {sd[j]:g}"
        )
    skew = float(np.abs(corr - corr.T).max())
    if skew > 1e-10:
        i, j = (int(index) for index in np.unravel_index(int(np.argmax(np.abs(corr - corr.T))), corr.shape))
        raise InputError(f"{name} is not symmetric: [{i}, {j}] is {matrix[i, j]:g} and [{j}, {i}] is {matrix[j, i]:g}")
    corr = (corr + corr.T) / 2
    values, vectors = np.linalg.eigh(corr)
    if values[0] < -1e-10 * max(1.0, values[-1]):
        raise InputError(
            f"{name} is not positive semi-definite: on the correlation scale its smallest eigenvalue is "
            f"{values[0]:.3g}; expected at least 0"
        )
    kept = values > 1e-15 * size * values[-1]
    doubt = float(size * np.finfo(float).eps * values[-1] / values[kept][0])
    if doubt > _PROMISED:
        warnings.warn(
            f"{name} is nearly singular: the variance of some combination of its variables, and posterior variances "
            f"with it, may be off by up to {doubt:.0e} of themselves; choose features in which it is diagonal",
            PrecisionWarning,
            stacklevel=3,
        )
    try:
        root = np.linalg.cholesky(corr)
    except np.linalg.LinAlgError:
        root = None
    if root is None or np.diagonal(root).min() < 1e-7:
        root = vectors[:, kept] * np.sqrt(values[kept])
    return np.asarray(scale[:, None] * root)
