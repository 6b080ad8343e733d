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

from bestarm.models.covariance import Covariance, thin_product
from bestarm.validation import Array, IntArray

__all__ = [
    "COARSE",
    "FINE",
    "REPLICATES",
    "Rule",
    "cells",
    "envelope",
    "independent",
    "normal_replicates",
    "shared_nodes",
    "structured",
]

_BLOCK = 2_000_000  # nodes × arms held at a time
_DENSITY = 1 / np.sqrt(2 * np.pi)
REPLICATES = 16
EVEN = 32


@dataclass(frozen=True)
class Rule:
    """A composite Gauss-Legendre rule: cells at most `cell` standard deviations of the narrowest arm that
    varies there (within `reach` standard deviations of its mean), `order` nodes in each.
    """

    cell: float
    order: int
    reach: float
    error: float  # of a probability; of a regret, in units of the largest standard deviation


FINE = Rule(cell=2.0, order=16, reach=8.0, error=1e-10)
COARSE = Rule(cell=1.5, order=8, reach=6.5, error=1e-8)  # for averages over thousands of such integrals


def independent(mean: Array, sd: Array, rule: Rule = FINE, tie: float = 0.0) -> tuple[Array, Array]:
    """Chance to be best and expected regret of each arm, for a batch of independent beliefs.

    mean, sd: (R, K). Returns two (R, K) arrays. An argmax tie is split evenly; deterministic arms within `tie` of
    the highest one tie with it.
    """
    runs, arms = mean.shape
    if arms == 1:
        return np.ones((runs, 1)), np.zeros((runs, 1))
    prob, regret = np.empty((runs, arms)), np.empty((runs, arms))
    rows = max(1, _BLOCK // (40 * rule.order * arms))
    for start in range(0, runs, rows):
        part = slice(start, start + rows)
        prob[part], regret[part] = _independent(mean[part], sd[part], rule, tie)
    return prob, regret


def _independent(mean: Array, sd: Array, rule: Rule, tie: float) -> tuple[Array, Array]:
    best, every = np.argmax(mean, axis=1), np.arange(len(mean))
    fixed = sd == 0
    # positions are told from the best arm's mean, so that a common offset costs no digits
    at = mean - mean[every, best][:, None]
    low, high, top_fixed = _range(at, sd, rule)
    prob, excess = _integrals(at, sd, low, high, best, rule)

    # where an arm is so narrow that its position in that frame is rounded, every arm gets a frame of its own
    reached = (sd > 0) & (at + rule.reach * sd > low[:, None])
    narrow = np.where(reached, sd, np.inf).min(axis=1) < 1e-16 / rule.error * np.maximum(np.abs(low), np.abs(high))
    for j in np.flatnonzero((reached & narrow[:, None]).any(axis=0)):
        rows = np.flatnonzero(narrow & reached[:, j])
        own, own_sd = mean[rows] - mean[rows, j][:, None], sd[rows]
        left, right, _ = _range(own, own_sd, rule)
        reach = rule.reach * own_sd[:, j]
        chance, _ = _integrals(own, own_sd, np.maximum(left, -reach), np.minimum(right, reach), best[rows], rule)
        prob[rows, j] = chance[:, j]

    s = sd[every, best]
    z = low / np.where(s == 0, 1.0, s)
    below = np.where(s == 0, np.maximum(low, 0.0), s * (z * ndtr(z) + _DENSITY * np.exp(-0.5 * z * z)))
    if fixed.any():
        z = (top_fixed[:, None] - at) / np.where(fixed, 1.0, sd)
        mass = np.where(fixed, 1.0, ndtr(z)).prod(axis=1)  # 0 where a row has no fixed arm
        winners = fixed & (at >= top_fixed[:, None] - tie)
        prob += winners * (mass / np.maximum(winners.sum(axis=1), 1))[:, None]
    return prob / prob.sum(axis=1, keepdims=True), (excess + below)[:, None] - at


def _range(at: Array, sd: Array, rule: Rule) -> tuple[Array, Array, Array]:
    """Below `low` some arm is almost surely above, above `high` none is; and the highest deterministic arm."""
    top_fixed = np.where(sd == 0, at, -np.inf).max(axis=1)
    return np.maximum((at - 7.5 * sd).max(axis=1), top_fixed), (at + rule.reach * sd).max(axis=1), top_fixed


def _integrals(at: Array, sd: Array, low: Array, high: Array, best: IntArray, rule: Rule) -> tuple[Array, Array]:
    """∫ f_j ∏_{k≠j} F_k for every arm and ∫ (F_best − ∏ F_k), both from low to high, of each row."""
    prob, excess = np.zeros(at.shape), np.zeros(len(at))
    for owner, x, weight in cells(low, high, at, sd, rule):
        m, s = at[owner][:, None, :], sd[owner][:, None, :]
        still = s == 0
        unit = np.where(still, 1.0, s)
        z = np.clip((x[:, :, None] - m) / unit, -50, 50)
        cdf = np.where(still, 1.0, ndtr(z))
        density = np.where(still, 0.0, np.exp(-0.5 * z * z) * (_DENSITY / unit))
        joint = cdf.prod(axis=2)
        ratio = np.divide(density, cdf, out=np.zeros_like(cdf), where=cdf > 0)
        np.add.at(prob, owner, np.einsum("cg,cgk->ck", weight * joint, ratio))
        chosen = np.arange(len(owner)), slice(None), best[owner]
        np.add.at(excess, owner, (weight * (cdf[chosen] - joint)).sum(axis=1))
    return prob, excess


def shared_nodes(mean: Array, sd: Array, rule: Rule = FINE) -> tuple[Array, Array]:
    """Nodes and weights on which every integral over the best of independent arms (K,) may be taken."""
    at, spread = mean[None], sd[None]
    low, high, _ = _range(at, spread, rule)
    parts = [(x.ravel(), weight.ravel()) for _, x, weight in cells(low, high, at, spread, rule)]
    if not parts:
        return np.zeros(0), np.zeros(0)
    return np.concatenate([x for x, _ in parts]), np.concatenate([weight for _, weight in parts])


def cells(low: Array, high: Array, mean: Array, sd: Array, rule: Rule) -> Iterator[tuple[IntArray, Array, Array]]:
    """Nodes and weights on [low, high] of every row: (row of each cell, nodes (cells, order), weights)."""
    node, weight = np.polynomial.legendre.leggauss(rule.order)
    owner = np.flatnonzero(high > low)
    left, right = low[owner], high[owner]
    # an arm narrower than this is a step, and what a cell around it gets wrong is the cell's own mass
    finest = 1e-14 * (high - low)
    per_block = max(1, _BLOCK // (rule.order * mean.shape[1]))
    while owner.size:
        m, s = mean[owner], sd[owner]
        varies = (s > 0) & (m + rule.reach * s > left[:, None]) & (m - rule.reach * s < right[:, None])
        narrow = np.where(varies, s, np.inf).min(axis=1)
        done = right - left <= np.maximum(rule.cell * narrow, finest[owner])
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
    """Independent randomisations of one quasi-Monte Carlo rule: each (points, dim), standard normal.

    The first EVEN coordinates are scrambled Sobol points, so put first what matters most; the rest are plain
    random numbers, which beats more Sobol coordinates in accuracy per second.
    """
    from scipy.stats import qmc  # slow to import, and not needed for independent arms

    for _ in range(replicates):
        uniform = qmc.Sobol(min(dim, EVEN), rng=rng).random(points) + 2.0**-31  # never exactly 0
        normals = np.asarray(ndtri(uniform))
        if dim > EVEN:
            normals = np.concatenate([normals, rng.standard_normal((points, dim - EVEN))], axis=1)
        yield normals


def structured(mean: Array, covariance: Covariance, rng: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    """Chance to be best and expected regret where arms are correlated, each with its standard error, (K,).

    Given the q low-rank coordinates the arms are independent; those coordinates are Sobol points, scrambled
    afresh 16 times, and the spread of the 16 averages is the standard error. Where no arm has variance of its own,
    one coordinate is integrated too: along a line the best arm is the upper envelope of K straight lines.
    """
    arms = covariance.num_arms
    sd = np.sqrt(covariance.diag)
    lines = not sd.any()
    factor = covariance.factor
    tie = 1e-11 * float(np.abs(mean - mean.max()).max() + np.sqrt(covariance.var.max()))
    if lines:
        # turn the coordinates so that the arms differ most along the first
        _, _, turn = np.linalg.svd(factor - factor.mean(axis=0))
        factor = factor @ turn.T
        slope, factor = factor[:, 0], factor[:, 1:]
    # a fraction of a second for up to a thousand arms; never fewer than 32 points a replicate
    points = 1 << int(np.clip(np.log2(2e7 / (REPLICATES * 130 * arms)), 5, 9))
    dim = factor.shape[1]
    if dim == 0:
        prob, regret = _along_line(mean[None], slope)
        zero = np.zeros(arms)
        return _shared(prob[0], mean, covariance.factor, tie), zero, regret[0], zero
    means = np.empty((2, REPLICATES, arms))
    for b, z in enumerate(normal_replicates(points, dim, rng, REPLICATES)):
        given = mean + thin_product(z, factor.T)
        if lines:
            prob, regret = _along_line(given, slope)
        else:
            prob, regret = independent(given, np.broadcast_to(sd, given.shape), COARSE, tie)
        means[:, b] = prob.mean(axis=0), regret.mean(axis=0)
    means[0] = [_shared(row, mean, covariance.factor, tie) for row in means[0]] if lines else means[0]
    value = means.mean(axis=1)
    stderr = means.std(axis=1, ddof=1) / np.sqrt(REPLICATES)
    if not lines:
        # the quadrature inside is good to COARSE.error; and a deterministic arm that never won may still win
        unseen = np.where((sd == 0) & (value[0] < 1 / (points * REPLICATES)), 1 / (points * REPLICATES), 0.0)
        scale = np.sqrt(covariance.var.max())
        stderr = np.sqrt(stderr**2 + np.array([[COARSE.error], [COARSE.error * scale]]) ** 2)
        stderr[0] = np.maximum(stderr[0], unseen)
    return value[0], stderr[0], value[1], stderr[1]


def envelope(level: Array, slope: Array) -> Iterator[tuple[IntArray, IntArray, Array, IntArray, Array]]:
    """The upper envelopes of lines level_k + slope_k t, walked from t = −∞: (N, K) levels and slopes.

    Each step yields, for the rows not finished: rows, the arm on top, from where, the arm that crosses it next (the
    first of larger slope), and where: +∞ after the last.
    """
    rows = np.arange(len(level))
    lowest = slope == slope.min(axis=1, keepdims=True)
    now = np.argmax(np.where(lowest, level, -np.inf), axis=1)
    t = np.full(len(level), -np.inf)
    while rows.size:
        every = np.arange(len(rows))
        rise = slope[rows] - slope[rows, now][:, None]
        ahead = rise > 0
        fall = level[rows, now][:, None] - level[rows]
        crossing = np.where(ahead, fall / np.where(ahead, rise, 1.0), np.inf)
        crossing = np.maximum(crossing, t[:, None])  # rounding may put it a little behind
        following = np.argmin(crossing, axis=1)
        until = crossing[every, following]
        yield rows, now, t, following, until
        go = np.isfinite(until)
        rows, now, t = rows[go], following[go], until[go]


def _along_line(level: Array, slope: Array) -> tuple[Array, Array]:
    """P(j best) and E[max] − E[r_j] for arms level_k + slope_k t, t ~ N(0, 1): (N, K) levels, (K,) slopes."""
    prob, top = np.zeros(level.shape), np.zeros(len(level))
    slopes = np.broadcast_to(slope, level.shape)
    for rows, arm, start, _, until in envelope(level, slopes):
        share = ndtr(until) - ndtr(start)
        prob[rows, arm] += share
        change = _DENSITY * (np.exp(-0.5 * start * start) - np.exp(-0.5 * until * until))
        top[rows] += level[rows, arm] * share + slope[arm] * change
    return prob, np.maximum(top[:, None] - level, 0.0)


def _shared(prob: Array, mean: Array, factor: Array, tie: float) -> Array:
    """Arms that are copies of each other up to rounding get equal shares."""
    key = np.round(np.column_stack([mean - mean.max(), factor]) / (10 * tie or 1.0))
    _, group = np.unique(key, axis=0, return_inverse=True)
    size = np.bincount(group.ravel())
    return np.asarray((np.bincount(group.ravel(), weights=prob) / size)[group.ravel()])
