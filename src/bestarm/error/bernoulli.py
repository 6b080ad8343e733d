"""The expected error and regret of a decision after fixed counts, where rewards are yes or no: summed over outcomes.

With s_k successes of arm k, h_j(s, x) = P(s_j = s) · density of p_j at x given s, and H_k the same up to x:

    P(right) = Σ_j Σ_s ∫ h_j(s, x) ∏_{k≠j} Σ_{s_k: k loses to (j, s)} H_k(s_k, x) dx

For the mean rule the inner sums are running totals, so that no outcome of several arms is ever looked at. The Bayes
rule needs them one by one, up to ten million; beyond, outcomes are drawn, and what is left to chance given each of them
is integrated (Rao and Blackwell).
"""

import numpy as np
from scipy.special import betaln, gammaln

from bestarm.error.evaluation import Evaluation, averaged
from bestarm.estimate import Estimate
from bestarm.models import best_beta
from bestarm.models.bernoulli import Bernoulli
from bestarm.models.best import Rule
from bestarm.validation import Array, IntArray

__all__ = ["evaluate_bernoulli"]

_MOST_OUTCOMES = 10_000_000  # of all arms together, each looked at: the Bayes rule
_MOST_ENTRIES = 30_000_000  # outcomes of single arms × nodes: the mean rule
_BLOCK = 2_000_000
_DRAWS = 4096
_MOST_DRAWS = 2**22
_COARSE = Rule(cell=3.0, order=8, reach=20.0, error=1e-6)  # for averages over drawn outcomes


def evaluate_bernoulli(
    model: Bernoulli,
    counts: Array,
    rule: str,
    assumed: Bernoulli | None,
    margin: float,
    target: float | None,
    rng: np.random.Generator,
) -> Evaluation:
    """Error and regret; exact (stderr 0) where the outcomes can be summed, else with a standard error."""
    if model.num_arms == 1:
        return Evaluation(Estimate(0.0, 0.0), Estimate(0.0, 0.0))
    believed = model if assumed is None else assumed
    a, b = model.upright
    finer = np.sqrt((a + b + counts) / (a + b))
    u, weight = best_beta.shared_nodes(a, b, finer)
    outcomes = counts + 1
    if outcomes.sum() * len(u) > _MOST_ENTRIES or (rule == "bayes" and outcomes.prod() > _MOST_OUTCOMES):
        return _drawn(model, counts, rule, believed, margin, target, rng)
    truth = _Law(*model.upright, counts, u, margin)
    if rule == "mean":
        right, reward = _by_mean(truth, believed, counts, weight)
    else:
        same = assumed is None and margin == 0
        right, reward = _by_chance(truth, truth if same else _Law(*believed.upright, counts, u), weight)
    _, short = best_beta.independent(a[None], b[None])
    best = float(short[0, 0] + truth.prior_mean[0])
    error, regret = min(max(1 - right, 0.0), 1.0), max(best - reward, 0.0)
    return Evaluation(Estimate(error, 0.0), Estimate(regret, 0.0))


class _Law:
    """For each arm: pmf of its successes, (n + 1,), posterior means, and h and H at all nodes, (n + 1, nodes)."""

    def __init__(self, a: Array, b: Array, counts: Array, u: Array, margin: float = 0.0) -> None:
        self.prior_mean = a / (a + b)
        self.pmf, self.mean, self.density, self.below = [], [], [], []
        bar = best_beta.raised(u, margin)
        for alpha, beta, n in zip(a, b, counts, strict=True):
            s = np.arange(n + 1)
            ways = gammaln(n + 1) - gammaln(s + 1) - gammaln(n - s + 1)
            pmf = np.exp(ways + betaln(alpha + s, beta + n - s) - betaln(alpha, beta))
            left, right = (alpha + s)[:, None], (beta + n - s)[:, None]
            density, below = best_beta.density_and_cdf(u, left, right)
            if margin:
                _, below = best_beta.density_and_cdf(bar, left, right)
            self.pmf.append(pmf / pmf.sum())
            self.mean.append((alpha + s) / (alpha + beta + n))
            self.density.append(self.pmf[-1][:, None] * density)
            self.below.append(self.pmf[-1][:, None] * below)


def _by_mean(law: _Law, believed: Bernoulli, counts: Array, weight: Array) -> tuple[float, float]:
    """P(right) and E r_J of picking the largest posterior mean that `believed` gives, ties to the lowest index."""
    a, b = believed.upright
    score = [(a[k] + np.arange(n + 1)) / (a[k] + b[k] + n) for k, n in enumerate(counts)]
    nodes = len(weight)
    chance = [np.concatenate([[0.0], np.cumsum(pmf)]) for pmf in law.pmf]
    below = [np.concatenate([np.zeros((1, nodes)), np.cumsum(part, axis=0)]) for part in law.below]
    right, reward = 0.0, 0.0
    for j, own in enumerate(score):
        loses = [np.searchsorted(score[k], own, side="left" if k < j else "right") for k in range(len(score)) if k != j]
        others = [k for k in range(len(score)) if k != j]
        picked, joint = law.pmf[j].copy(), law.density[j].copy()
        for k, until in zip(others, loses, strict=True):
            picked *= chance[k][until]
            joint *= below[k][until]
        right += float((joint @ weight).sum())
        reward += float(picked @ law.mean[j])
    return right, reward


def _by_chance(truth: _Law, believed: _Law, weight: Array) -> tuple[float, float]:
    """P(right) and E r_J of picking the arm most likely to be best: all outcomes of the arms but the last in blocks,
    against all of the last one in a matrix product.
    """
    sizes = [len(pmf) for pmf in truth.pmf]
    last, combinations = len(sizes) - 1, int(np.prod(sizes[:-1]))
    rows = max(1, _BLOCK // (len(weight) * len(sizes)))
    right, reward = 0.0, 0.0
    for start in range(0, combinations, rows):
        which = np.unravel_index(np.arange(start, min(start + rows, combinations)), sizes[:-1])
        chance = _chances(believed, which, weight)
        picked = np.argmax(chance, axis=0)
        known = chance if truth is believed else _chances(truth, which, weight)
        right += float(np.take_along_axis(known, picked[None], axis=0).sum())
        pmf = np.prod([truth.pmf[k][which[k]] for k in range(last)], axis=0)[:, None] * truth.pmf[last]
        means = np.zeros(pmf.shape)
        for k in range(last):
            means += (picked == k) * truth.mean[k][which[k]][:, None]
        means += (picked == last) * truth.mean[last]
        reward += float((pmf * means).sum())
    return right, reward


def _chances(law: _Law, which: tuple[IntArray, ...], weight: Array) -> Array:
    """P(j is best, outcomes), (K, rows, outcomes of the last arm)."""
    last = len(which)
    below = [law.below[k][which[k]] for k in range(last)]
    chance = np.empty((last + 1, len(which[0]), len(law.pmf[last])))
    for j in range(last + 1):
        joint = np.broadcast_to(weight, below[0].shape).copy()
        for k in range(last):
            joint *= law.density[k][which[k]] if k == j else below[k]
        chance[j] = joint @ (law.density[last] if j == last else law.below[last]).T
    return chance


def _drawn(
    model: Bernoulli,
    counts: Array,
    rule: str,
    believed: Bernoulli,
    margin: float,
    target: float | None,
    rng: np.random.Generator,
) -> Evaluation:
    """Outcomes drawn, in batches until the standard error is small enough."""
    errors, regrets = np.zeros(0), np.zeros(0)
    while True:
        means = model.sample(_DRAWS, rng)
        sums = model.sample_sums(means, counts, rng)
        posterior, seen = model._conditioned(counts, sums), believed._conditioned(counts, sums)
        chance, short = best_beta.independent(*posterior.upright, _COARSE, margin)
        if rule == "mean":
            picked = np.argmax(seen.arms.sign * seen.mean, axis=1)
        elif believed is model and margin == 0:
            picked = np.argmax(chance, axis=1)
        else:
            picked = np.argmax(best_beta.independent(*seen.upright, _COARSE)[0], axis=1)
        rows = np.arange(len(picked))
        errors = np.concatenate([errors, 1 - chance[rows, picked]])
        regrets = np.concatenate([regrets, short[rows, picked]])
        error, regret = (averaged(part) for part in (errors, regrets))
        if target is None or error.stderr <= target or len(errors) >= _MOST_DRAWS:
            return Evaluation(error, regret)
