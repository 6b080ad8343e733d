"""Upper bounds on the expected probability of error of fixed counts, tighter and tighter.

pairwise  Σ_{i≠j} √(V_ij/V⁰_ij) exp(−(m_i − m_j)²/(2V⁰_ij)): the paper's three theorems as one expression. A quarter
          of it is still a bound; it is convex in the counts; it is far above 1 in most of the paper's experiments.
orthant   Σ_{i≠j} P(r_i > r_j, m̃_j ≥ m̃_i): a bivariate normal for each pair, exact for two arms, valid under any
          assumed model.
anchored  E Σ_{i≠J} Φ(−(m̂_J − m̂_i)/√V_iJ): only the pairs that the decision is part of.

A pair of arms whose difference is certain beforehand (V⁰ = 0) adds nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from bestarm.error.evaluation import checked_assumed, checked_counts
from bestarm.error.outcomes import Outcomes
from bestarm.error.pairs import GapLaws, wrong_sign
from bestarm.errors import InputError
from bestarm.estimate import Estimate
from bestarm.models.best import REPLICATES, normal_replicates
from bestarm.models.covariance import Covariance
from bestarm.models.gaussian import Gaussian
from bestarm.validation import Array, IntArray, choice, generator, shown

__all__ = ["Bound", "error_bound", "pairs"]

_BLOCK = 2_000_000  # pairs held at a time
_MOST_ARMS = 20_000  # 200 million pairs take about a minute
_WORK = 4_000_000  # anchored: replicates × points × arms


@dataclass(frozen=True, slots=True, repr=False)
class Bound(Estimate):
    """An upper bound on a probability. `value` is the bound itself; shown in any way, it stops at 1 and says so."""

    @property
    def vacuous(self) -> bool:
        """True where the bound says no more than that a probability is at most 1."""
        return bool(np.min(self.value) >= 1)

    def __str__(self) -> str:
        if self.vacuous and np.ndim(self.value) == 0:
            return f"1 (vacuous: the sum is {float(self.value):.3g})"
        return Estimate.__str__(self)

    def __format__(self, spec: str) -> str:
        return f"{format(1.0, spec)} (vacuous)" if spec and self.vacuous else Estimate.__format__(self, spec)


def error_bound(
    model: Gaussian,
    counts: ArrayLike,
    kind: Literal["pairwise", "orthant", "anchored"] = "pairwise",
    assumed: Gaussian | None = None,
    rng: Any = 0,
) -> Bound:
    """An upper bound on `error_probability(model, counts)`; see the top of this file for the kinds.

    counts may be fractions. assumed: what the decision maker believes, for kind "orthant" only. "anchored" is an
    average over quasi-random outcomes and carries a standard error; the others are exact.
    """
    n = checked_counts(model, counts)
    if not isinstance(model, Gaussian):
        raise InputError(f"model is {shown(model)}; expected Gaussian arms, for which bounds hold: try ba.evaluate")
    which = choice(kind, "kind", ("pairwise", "orthant", "anchored"))
    believed = checked_assumed(model, assumed)
    if believed is not None and which != "orthant":
        raise InputError(
            f"assumed is given and kind is '{which}'; expected kind 'orthant', which holds for any assumed"
        )
    random = generator(rng)
    if which != "anchored" and model.num_arms > _MOST_ARMS:
        raise InputError(
            f"model has {model.num_arms} arms; expected at most {_MOST_ARMS} for kind '{which}', which looks at every "
            "pair of them: try 'anchored'"
        )
    if which == "anchored":
        return _anchored(model, n, random)
    if which == "orthant":
        laws = GapLaws(model, n, believed)
        terms = (wrong_sign(laws(i, j), first_wins_ties=True).sum() for i, j in pairs(model.num_arms))
        return Bound(float(sum(terms)), 0.0)
    after = model.after(n)
    # each unordered pair stands for the two ordered ones of the paper's sum
    return Bound(float(2 * sum(_pairwise_terms(model, after, i, j).sum() for i, j in pairs(model.num_arms))), 0.0)


def pairs(count: int) -> Iterator[tuple[IntArray, IntArray]]:
    """All i < j, in blocks: rows i in a column against every j > the first of them."""
    rows = max(1, _BLOCK // (count * 20))
    for start in range(0, count, rows):
        i, j = np.meshgrid(np.arange(start, min(start + rows, count)), np.arange(start, count), indexing="ij")
        upper = i < j
        yield i[upper], j[upper]


def _pairwise_terms(model: Gaussian, after: Covariance, i: IntArray, j: IntArray) -> Array:
    """√(V/V⁰) exp(−(m_i − m_j)²/(2V⁰)) for each pair; 0 where V⁰ = 0."""
    before = model.covariance.diff_var(i, j)
    safe = np.where(before > 0, before, 1.0)
    gap = model.mean[i] - model.mean[j]
    kept = np.sqrt(np.minimum(after.diff_var(i, j) / safe, 1.0))
    return np.where(before > 0, kept * np.exp(-(gap**2) / (2 * safe)), 0.0)


def _anchored(model: Gaussian, counts: Array, rng: np.random.Generator) -> Bound:
    arms = model.num_arms
    if arms == 1:
        return Bound(0.0, 0.0)
    outcomes = Outcomes(model, counts)
    if outcomes.size == 0:
        return Bound(float(_anchored_at(outcomes, outcomes.mean[None])[0]), 0.0)
    points = 1 << int(np.clip(np.log2(_WORK / (REPLICATES * arms)), 5, 14))
    rows = max(1, _BLOCK // (10 * arms * max(1, outcomes.left.rank)))
    means = []
    for normals in normal_replicates(points, outcomes.size, rng, REPLICATES):
        parts = [outcomes.posterior_means(normals[start : start + rows])[0] for start in range(0, points, rows)]
        means.append(sum(float(_anchored_at(outcomes, part).sum()) for part in parts) / points)
    return Bound(float(np.mean(means)), float(np.std(means, ddof=1) / np.sqrt(REPLICATES)))


def _anchored_at(outcomes: Outcomes, mean: Array) -> Array:
    """Σ_{i≠J} P(r_i > r_J | m̂) for each outcome m̂, (points, K)."""
    picked = np.argmax(mean, axis=1)
    gap = mean[np.arange(len(mean)), picked][:, None] - mean
    sd = np.sqrt(outcomes.left.diff_var(picked[:, None], np.arange(mean.shape[1])))
    return np.asarray(np.where(sd > 0, ndtr(-gap / np.where(sd > 0, sd, 1.0)), 0.0).sum(axis=1))
