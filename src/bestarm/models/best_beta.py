"""Which of independent arms with Beta beliefs is best: the two integrals of best.py, on the scale of the logit.

With x = 1/(1 + e^−u) every Beta(a, b) has the log-concave density g(u) = x^a (1 − x)^b / B(a, b): smooth however small
a and b are, where the density of x itself is infinite at 0 or 1.
"""

from collections.abc import Iterator

import numpy as np
from scipy.special import betainc, betaincinv, betaln, digamma, expit, log_expit, polygamma

from bestarm.models.best import Rule, cells
from bestarm.validation import Array, IntArray

__all__ = ["FINE", "density_and_cdf", "independent", "raised", "shared_nodes"]

FINE = Rule(cell=2.0, order=16, reach=40.0, error=1e-10)  # tails are exponential: a longer reach than a normal's
_LOGISTIC = 2.0  # the logit turns exponentials into constants over about this much of u, whatever a and b
_TAIL = 1e-12
_FAR = 30.0  # beyond this logit, powers of x or of 1 − x alone are left to 1e-13
_BLOCK = 1_000_000


def independent(a: Array, b: Array, rule: Rule = FINE, margin: float = 0.0) -> tuple[Array, Array]:
    """Chance to be best and expected regret of each arm, for a batch of independent Beta beliefs, (R, K) each.

    margin: the chance not to be more than this below the best instead.
    """
    runs, arms = a.shape
    if arms == 1:
        return np.ones((runs, 1)), np.zeros((runs, 1))
    prob, excess = np.zeros((runs, arms)), np.zeros(runs)
    rows = max(1, _BLOCK // (40 * rule.order * arms))
    low, _ = _range(a, b)
    for start in range(0, runs, rows):
        part = slice(start, start + rows)
        _add_integrals(a[part], b[part], rule, margin, prob[part], excess[part])
    top = expit(low) + excess
    if margin == 0:
        prob /= prob.sum(axis=1, keepdims=True)
    return prob, np.maximum(top[:, None] - a / (a + b), 0.0)


def _add_integrals(a: Array, b: Array, rule: Rule, margin: float, prob: Array, excess: Array) -> None:
    """Add ∫ g_j ∏_{k≠j} F_k du to prob and ∫ (1 − ∏ F_k) dx to excess, cell by cell."""
    for owner, u, weight in _cells(a, b, rule):
        left, right = a[owner][:, None, :], b[owner][:, None, :]
        density, cdf = density_and_cdf(u[:, :, None], left, right)
        bar = cdf if margin == 0 else density_and_cdf(raised(u, margin)[:, :, None], left, right)[1]
        others = np.ones_like(bar)  # product over the arms before k, times that over those behind it
        np.cumprod(bar[:, :, :-1], axis=2, out=others[:, :, 1:])
        others[:, :, :-1] *= np.cumprod(bar[:, :, :0:-1], axis=2)[:, :, ::-1]
        np.add.at(prob, owner, np.einsum("cg,cgk->ck", weight, density * others))
        slope = expit(u) * expit(-u)
        np.add.at(excess, owner, (weight * slope * (1 - cdf.prod(axis=2))).sum(axis=1))


def raised(u: Array, margin: float) -> Array:
    """The logit of x + margin; far out where that is 1 or more."""
    if margin == 0:
        return u
    left = expit(-u) - margin
    return np.where(left > 0, np.log((expit(u) + margin) / np.where(left > 0, left, 1.0)), 1e300)


def shared_nodes(a: Array, b: Array, finer: Array | float = 1.0, rule: Rule = FINE) -> tuple[Array, Array]:
    """Logits and weights (du) on which every integral over the best of these arms (K,) may be taken.

    finer: how much narrower than the beliefs themselves what is integrated may be.
    """
    parts = [(u.ravel(), weight.ravel()) for _, u, weight in _cells(a[None], b[None], rule, finer)]
    return np.concatenate([u for u, _ in parts]), np.concatenate([weight for _, weight in parts])


def _cells(a: Array, b: Array, rule: Rule, finer: Array | float = 1.0) -> Iterator[tuple[IntArray, Array, Array]]:
    low, high = _range(a, b)
    middle = digamma(a) - digamma(b)
    spread = np.sqrt(polygamma(1, a) + polygamma(1, b)) / finer
    edge = np.zeros((len(a), 1)), np.full((len(a), 1), _LOGISTIC)
    return cells(low, high, np.hstack([middle, edge[0]]), np.hstack([spread, edge[1]]), rule)


def _range(a: Array, b: Array) -> tuple[Array, Array]:
    """Below the first logit some arm almost surely is not, above the second no arm almost surely is."""
    return _lower(a, b).max(axis=-1), -_lower(b, a).min(axis=-1)


def _lower(a: Array, b: Array) -> Array:
    """The logit below which Beta(a, b) has 1e-12 of its mass."""
    x = betaincinv(a, b, _TAIL)
    tiny = x < 1e-280
    inside = np.where(tiny, 0.5, x)
    return np.where(tiny, (np.log(_TAIL * a) + betaln(a, b)) / a, np.log(inside) - np.log1p(-inside))


def density_and_cdf(u: Array, a: Array, b: Array) -> tuple[Array, Array]:
    """g(u) and F(u); arrays broadcast."""
    log_b = betaln(a, b)
    density = np.exp(a * log_expit(u) + b * log_expit(-u) - log_b)
    with np.errstate(over="ignore", under="ignore"):
        left = np.where(u < -_FAR, np.exp(a * np.minimum(u, 0.0) - np.log(a) - log_b), betainc(a, b, expit(u)))
        right = np.where(u > _FAR, np.exp(-b * np.maximum(u, 0.0) - np.log(b) - log_b), betainc(b, a, expit(-u)))
    return density, np.where(u < 0, np.minimum(left, 1.0), np.maximum(1.0 - right, 0.0))
