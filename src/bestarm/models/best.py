"""Which arm is best, given what is believed: the chance of each, and what choosing it would cost.

Larger is better here; the models turn signs. Given the low-rank part the arms are independent, and for
independent arms both questions are one-dimensional integrals:

    P(j best)      = ∫ f_j(x) ∏_{k≠j} F_k(x) dx
    E[max r − r_b] = ∫ F_b(x) (1 − ∏_{k≠b} F_k(x)) dx

Deterministic arms (sd 0) have no density: they cut the range of x and keep the mass that lies on them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from bestarm.models.covariance import Covariance
from bestarm.validation import Array, IntArray

__all__ = ["COARSE", "FINE", "Rule", "independent", "normal_replicates", "structured"]

_BLOCK = 2_000_000  # nodes × arms held at a time
_DENSITY = 1 / np.sqrt(2 * np.pi)
REPLICATES = 16


@dataclass(frozen=True)
class Rule:
    """A composite Gauss-Legendre rule: cells at most `cell` standard deviations of the narrowest arm that
    varies there (within `reach` standard deviations of its mean), `order` nodes in each.
    """

    cell: float
    order: int
    reach: float


FINE = Rule(cell=2.0, order=16, reach=8.0)  # absolute error below 1e-10
COARSE = Rule(cell=3.0, order=6, reach=5.5)  # below 1e-5: for averages over thousands of such integrals


def independent(mean: Array, sd: Array, rule: Rule = FINE) -> tuple[Array, Array]:
    """Chance to be best and expected regret of each arm, for a batch of independent beliefs.

    mean, sd: (R, K). Returns two (R, K) arrays. An argmax tie is split evenly.
    """
    runs, arms = mean.shape
    if arms == 1:
        return np.ones((runs, 1)), np.zeros((runs, 1))
    prob, regret = np.empty((runs, arms)), np.empty((runs, arms))
    rows = max(1, _BLOCK // (40 * rule.order * arms))
    for start in range(0, runs, rows):
        part = slice(start, start + rows)
        prob[part], regret[part] = _independent(mean[part], sd[part], rule)
    return prob, regret


def _independent(mean: Array, sd: Array, rule: Rule) -> tuple[Array, Array]:
    runs, arms = mean.shape
    fixed = sd == 0
    top_fixed = np.where(fixed, mean, -np.inf).max(axis=1)
    # below `low` some arm is almost surely above; above `high` none is
    low = np.maximum((mean - 7.5 * sd).max(axis=1), top_fixed)
    high = (mean + rule.reach * sd).max(axis=1)
    best = np.argmax(mean, axis=1)

    prob = np.zeros((runs, arms))
    excess = np.zeros(runs)  # E[max r − r_best]
    for owner, x, weight in _nodes(low, high, mean, sd, rule):
        m, s = mean[owner][:, None, :], sd[owner][:, None, :]
        still = s == 0
        z = (x[:, :, None] - m) / np.where(still, 1.0, s)
        cdf = np.where(still, 1.0, ndtr(z))
        density = np.where(still, 0.0, np.exp(-0.5 * z * z) * (_DENSITY / np.where(still, 1.0, s)))
        joint = cdf.prod(axis=2)
        np.add.at(prob, owner, np.einsum("cg,cgk->ck", weight * joint, density / cdf))

        chosen = np.arange(len(owner)), slice(None), best[owner]
        np.add.at(excess, owner, (weight * (cdf[chosen] - joint)).sum(axis=1))

    runs_index = np.arange(runs)
    m, s = mean[runs_index, best], sd[runs_index, best]
    z = (low - m) / np.where(s == 0, 1.0, s)
    below = np.where(s == 0, np.maximum(low - m, 0.0), s * (z * ndtr(z) + _DENSITY * np.exp(-0.5 * z * z)))
    regret = (excess + below)[:, None] + (m[:, None] - mean)

    if fixed.any():
        z = (top_fixed[:, None] - mean) / np.where(fixed, 1.0, sd)
        mass = np.where(fixed, 1.0, ndtr(z)).prod(axis=1)  # 0 where a row has no fixed arm
        winners = fixed & (mean == top_fixed[:, None])
        prob += winners * (mass / np.maximum(winners.sum(axis=1), 1))[:, None]
    return prob / prob.sum(axis=1, keepdims=True), regret


def _nodes(low: Array, high: Array, mean: Array, sd: Array, rule: Rule) -> Iterator[tuple[IntArray, Array, Array]]:
    """Nodes and weights on [low, high] of every row: (row of each cell, nodes (cells, order), weights)."""
    node, weight = np.polynomial.legendre.leggauss(rule.order)
    owner = np.flatnonzero(high > low)
    left, right = low[owner], high[owner]
    per_block = max(1, _BLOCK // (rule.order * mean.shape[1]))
    while owner.size:
        m, s = mean[owner], sd[owner]
        varies = (s > 0) & (m + rule.reach * s > left[:, None]) & (m - rule.reach * s < right[:, None])
        narrow = np.where(varies, s, np.inf).min(axis=1)
        done = right - left <= rule.cell * narrow
        for start in range(0, int(done.sum()), per_block):
            part = np.flatnonzero(done)[start : start + per_block]
            half = (right[part] - left[part])[:, None] / 2
            yield owner[part], left[part][:, None] + half * (1 + node), half * weight
        owner, left, right = owner[~done], left[~done], right[~done]
        middle = (left + right) / 2
        owner, left, right = (
            np.concatenate([owner, owner]),
            np.concatenate([left, middle]),
            np.concatenate([middle, right]),
        )


def normal_replicates(points: int, dim: int, rng: np.random.Generator, replicates: int) -> Iterator[Array]:
    """Independent randomisations of one quasi-Monte Carlo rule: each (points, dim), standard normal."""
    from scipy.stats import qmc  # slow to import, and not needed for independent arms

    for _ in range(replicates):
        uniform = qmc.Sobol(dim, rng=rng).random(points) + 2.0**-31  # never exactly 0
        yield np.asarray(ndtri(uniform))


def structured(mean: Array, covariance: Covariance, rng: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    """Chance to be best and expected regret where arms are correlated, each with its standard error, (K,).

    Given the q low-rank coordinates the arms are independent; those coordinates are Sobol points, scrambled
    afresh 16 times, and the spread of the 16 averages is the standard error.
    """
    arms, rank = covariance.factor.shape
    sd = np.sqrt(covariance.diag)
    # a fraction of a second for up to a thousand arms; never fewer than 32 points a replicate
    points = 1 << int(np.clip(np.log2(2e7 / (REPLICATES * 60 * arms)), 5, 9))
    means = np.empty((2, REPLICATES, arms))
    for b, z in enumerate(normal_replicates(points, rank, rng, REPLICATES)):
        given = mean + z @ covariance.factor.T
        prob, regret = independent(given, np.broadcast_to(sd, given.shape), COARSE)
        means[:, b] = prob.mean(axis=0), regret.mean(axis=0)
    value = means.mean(axis=1)
    stderr = means.std(axis=1, ddof=1) / np.sqrt(REPLICATES)
    return value[0], stderr[0], value[1], stderr[1]
