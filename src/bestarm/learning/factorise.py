"""A table of ratings with holes as a product of two thin matrices, and the belief over its items that they give."""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bestarm.errors import InputError
from bestarm.models.gaussian import Gaussian
from bestarm.validation import Array, IntArray, choice, non_negative, positive, read_only, shown, vector, whole

__all__ = ["Factors", "factorise", "low_rank_prior"]

_MOST_ROWS = 10**8  # users or items: beyond this, numbers that were not meant as indices
_BLOCK = 128  # ratings looked at together: fits the first-level cache, long enough for vector instructions


@dataclass(frozen=True, eq=False, repr=False)
class Factors:
    """M ≈ U Vᵀ. users: U, (m, d); items: V, (n, d); both zero where there are no ratings.

    UᵀU = VᵀV is diagonal, largest first, and no column of V has a negative mean. objective: what was minimised, at
    these factors. sweeps: over both sides. status: a sentence.
    """

    users: Array
    items: Array
    objective: float
    sweeps: int
    status: str

    def __repr__(self) -> str:
        (m, d), n = self.users.shape, len(self.items)
        return f"Factors({m} users, {n} items, rank {d}, objective {self.objective:.6g}; {self.status})"


@dataclass(frozen=True, eq=False)
class Grouped:
    """Ratings in the order of one side. starts: where each row's begin, (rows + 1,); across: the other side's index
    of each, (N,); ratings: (N,).
    """

    starts: IntArray
    across: NDArray[np.int32]
    ratings: Array


def factorise(
    users: ArrayLike,
    items: ArrayLike,
    ratings: ArrayLike,
    rank: int = 5,
    ridge: float = 0.1,
    tolerance: float = 1e-4,
    most_sweeps: int = 100,
    seed: int = 0,
    shape: tuple[int, int] | None = None,
) -> Factors:
    """U, V that minimise Σ (r_ui − U_u·V_i)² + ridge (|U|² + |V|²): alternating least squares, as in the paper.

    users, items: who rated what, indices from 0, (N,); ratings: (N,). rank: d. tolerance: stop once a sweep lowers the
    objective by less than this share of it. seed: of the start. shape: (m, n), where the last may have no ratings.

    The errors depend on U Vᵀ alone, which any invertible d × d matrix splits otherwise; for a given product the
    penalty is least, 2 ridge times the sum of its singular values, where UᵀU = VᵀV (Srebro, Rennie and Jaakkola 2005).
    Splitting it that way after each sweep lowers the objective too, which takes a fraction of the sweeps, and along
    the singular vectors the answer is unique up to signs where singular values differ. A prior with a diagonal
    covariance depends on this choice of axes.
    """
    r = vector(ratings, "ratings")
    m, n = (None, None) if shape is None else (_count(side, "shape", 1) for side in _pair(shape))
    u, i = _indices(users, "users", m), _indices(items, "items", n)
    if not len(u) == len(i) == len(r):
        raise InputError(
            f"users, items and ratings have {len(u)}, {len(i)} and {len(r)} entries; expected as many of each"
        )
    m, n = m or int(u.max()) + 1, n or int(i.max()) + 1
    d = _count(rank, "rank", 1)
    if d > min(m, n):
        raise InputError(f"rank is {d}; expected at most {min(m, n)}, with {m} users and {n} items")
    penalty, least = float(positive(ridge, "ridge", ndim=0)), float(non_negative(tolerance, "tolerance", ndim=0))
    limit, random = _count(most_sweeps, "most_sweeps", 1), np.random.default_rng(_count(seed, "seed", 0))

    by_user, by_item = grouped(u, i, r, m), grouped(i, u, r, n)
    total, objective, sweeps, fell = float(r @ r), math.inf, 0, math.inf
    left = random.standard_normal((m, d))
    while sweeps < limit and fell > least:
        right, _ = best_rows(by_item, left, penalty)
        left, explained = best_rows(by_user, right, penalty)
        errors = max(total - explained - penalty * float((left**2).sum()), 0.0)
        left, right, singular = _balanced(left, right)
        before, objective, sweeps = objective, errors + 2 * penalty * float(singular.sum()), sweeps + 1
        fell = (before - objective) / objective if objective > 0 else 0.0
    if fell <= least:
        status = f"converged: the last sweep lowered the objective by {max(fell, 0.0):.0e} of it"
    else:
        status = (
            f"stopped after {sweeps} sweeps, the last of which still lowered the objective by more than {least:g} of it"
        )

    sign = np.where(right.mean(axis=0) < 0, -1.0, 1.0)
    left[np.diff(by_user.starts) == 0] = 0.0  # not only to rounding
    right[np.diff(by_item.starts) == 0] = 0.0
    return Factors(read_only(left * sign), read_only(right * sign), objective, sweeps, status)


def low_rank_prior(
    factors: Factors,
    items: ArrayLike | None = None,
    noise: ArrayLike = 1.0,
    names: Sequence[str] | None = None,
    prior: str = "items",
) -> Gaussian:
    """A belief over some items, all where `items` is None: to a user nobody has seen, item j is worth V_j·θ.

    The features of an arm are its item's factors, so θ is the vector of a user. "items" is the paper's recipe
    (experiments, MovieLens): θ has the mean of the item factors and their variance along each axis, over all n items,
    rated or not; it takes items for users, which only the equal scale of both makes sensible, and depends on the axes.
    "users" is what the statistics ask for: mean and full covariance of the user factors, over users with ratings,
    which gives the same belief whatever the axes.

    noise: standard deviation of one rating around V_j·θ. names: one per chosen item.
    """
    chosen = factors.items if items is None else factors.items[_indices(items, "items", len(factors.items))]
    if choice(prior, "prior", ("items", "users")) == "items":
        return Gaussian.linear(chosen, factors.items.mean(axis=0), np.diag(factors.items.var(axis=0)), noise, names)
    seen = factors.users[factors.users.any(axis=1)]
    if len(seen) == 0:
        raise InputError("factors has no user with ratings; expected some for prior 'users'")
    away = seen - seen.mean(axis=0)
    return Gaussian.linear(chosen, seen.mean(axis=0), away.T @ away / len(seen), noise, names)


# ---------------------------------------------------------------------- one half of a sweep


def grouped(rows: IntArray, across: IntArray, ratings: Array, count: int) -> Grouped:
    """Ratings sorted by `rows`, of which there are `count`."""
    order = np.argsort(rows, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))])
    return Grouped(starts, across[order].astype(np.int32), ratings[order])


def best_rows(ratings: Grouped, other: Array, ridge: float) -> tuple[Array, float]:
    """Given one side, the other is a ridge regression a row: x = (Σ z zᵀ + ridge)⁻¹ Σ z r, over the z that row rated.

    Also Σ x·(Σ z r): what the rows take off Σ r² in errors and penalty together.
    """
    out = np.zeros((len(ratings.starts) - 1, other.shape[1]))
    return out, float(_compiled()(ratings.starts, ratings.across, ratings.ratings, other, ridge, out))


@functools.cache
def _compiled() -> Callable[..., float]:
    from numba import njit  # takes a second to import

    compiled: Callable[..., float] = njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})(_regress)
    return compiled


def _regress(starts, across, ratings, other, ridge, out):  # type: ignore[no-untyped-def]
    """Row by row: the Gram matrix of (z, r) in blocks, then a Cholesky factor whose last row is the right-hand side."""
    d = other.shape[1]
    gram, block = np.empty((d + 1, d + 1)), np.empty((d + 1, _BLOCK))
    explained = 0.0
    for row in range(len(starts) - 1):
        low, high = starts[row], starts[row + 1]
        if low == high:
            continue
        gram[:] = 0.0
        for at in range(low, high, _BLOCK):
            size = min(_BLOCK, high - at)
            for p in range(size):
                z = across[at + p]
                for a in range(d):
                    block[a, p] = other[z, a]
                block[d, p] = ratings[at + p]
            for a in range(d + 1):
                for b in range(a + 1):
                    inner = 0.0
                    for p in range(size):
                        inner += block[a, p] * block[b, p]
                    gram[a, b] += inner
        for a in range(d + 1):
            own = 0.0
            if a < d:
                gram[a, a] += ridge
                own = gram[a, a]
            for b in range(min(a + 1, d)):
                rest = gram[a, b]
                for c in range(b):
                    rest -= gram[a, c] * gram[b, c]
                if b < a:
                    gram[a, b] = rest * gram[b, b]
                else:  # the inverse of the root; a direction that rounding has eaten is left out
                    gram[a, a] = 1 / math.sqrt(rest) if rest > 1e-15 * own else 0.0
        for a in range(d - 1, -1, -1):
            explained += gram[d, a] ** 2
            rest = gram[d, a]
            for c in range(a + 1, d):
                rest -= gram[c, a] * out[row, c]
            out[row, a] = rest * gram[a, a]
    return explained


def _balanced(left: Array, right: Array) -> tuple[Array, Array, Array]:
    """The same product split evenly along its singular vectors, and its singular values: two QRs, then d × d."""
    q, r = np.linalg.qr(left)
    p, s = np.linalg.qr(right)
    a, singular, b = np.linalg.svd(r @ s.T)
    root = np.sqrt(singular)
    return q @ (a * root), p @ (b.T * root), singular


# ---------------------------------------------------------------------- checks


def _indices(value: ArrayLike, name: str, below: int | None) -> IntArray:
    """Indices from 0, fewer than `below` where that is known."""
    array = whole(value, name)
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"{name} has shape {array.shape}; expected a vector of indices, at least one")
    limit = _MOST_ROWS if below is None else below
    if array.max() >= limit:
        worst = int(np.argmax(array))
        raise InputError(f"{name}[{worst}] is {array[worst]:.0f}; expected an index from 0 to {limit - 1}")
    return array.astype(np.intp)


def _count(value: Any, name: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name} is {shown(value)}; expected a whole number of at least {least}")
    return int(value)


def _pair(shape: Any) -> tuple[Any, Any]:
    if not isinstance(shape, tuple | list) or len(shape) != 2:
        raise InputError(f"shape is {shown(shape)}; expected a pair, users and items")
    return shape[0], shape[1]
