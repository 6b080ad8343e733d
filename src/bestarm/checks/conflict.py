"""Does the prior fit the data? Prior-predictive checks (Box, 1980), arm by arm and together, and how far to widen."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, gammaln, ndtri

from bestarm.errors import InputError
from bestarm.models.belief import checked_single
from bestarm.models.bernoulli import Bernoulli
from bestarm.models.gaussian import Gaussian
from bestarm.validation import Array, shown

__all__ = ["Conflict", "conflict", "noise_conflict"]

_FACTORS = np.exp(np.linspace(np.log(0.25), np.log(16), 61))
_SURPRISING = 0.01
_MANY = 1e6  # evaluations of a yes/no arm, beyond which outcomes are not listed


@dataclass(frozen=True, eq=False)
class Conflict:
    """How surprising data are under a prior.

    z: of each arm with data, how many predictive sds its average is above what was expected, (K,), NaN without data.
    p: chance of data at least as far out, all arms together. widen: the factor on prior sds that fits the data best,
    1 where the prior is wide enough. harmful: the prior is so far off that a flat one would do better. sentence: all of
    it in words.
    """

    z: Array
    p: float
    widen: float
    harmful: bool
    sentence: str

    def __str__(self) -> str:
        return self.sentence


def conflict(model: Any, counts: ArrayLike, sums: ArrayLike) -> Conflict:
    """Compare data (evaluations of each arm and their sums) with what the prior `model` expected of them.

    Gaussian arms: averages are N(m, S + diag(v/n)) before the data; p is that of their squared distance (χ²). Yes/no
    arms: beta-binomial, two-sided mid-p for each arm, combined in z. widen maximises the likelihood of the averages
    with prior sds multiplied by it (a Beta's worth divided by its square).
    """
    checked_single(model)
    for name, value in (("counts", counts), ("sums", sums)):
        if np.ndim(value) != 1:
            raise InputError(f"{name} has shape {np.shape(value)}; expected one number per arm ({model.num_arms})")
    if isinstance(model, Gaussian):
        n, s = model._checked_sums(counts, sums, "sums")
        z, distance, likelihood = _gaussian(model, n, s)
    elif isinstance(model, Bernoulli):
        n, s = model._checked_sums(counts, sums, "sums")
        model._check_totals(n, s)
        z, likelihood = _yes_no(model, n, s)
        distance = float(np.nansum(z**2))
    else:
        raise InputError(f"model is {shown(model)}; expected Gaussian arms of known noise, or yes/no arms")
    seen = int((n > 0).sum())
    if seen == 0:
        return Conflict(z, 1.0, 1.0, False, "no data yet: nothing speaks for or against the prior")
    from scipy.stats import chi2  # slow to import

    p = float(chi2.sf(distance, seen))
    values = np.array([likelihood(factor) for factor in _FACTORS])
    best = float(_FACTORS[int(np.argmax(values))])
    widen = best if p < _SURPRISING and best > 1 else 1.0
    harmful = bool(p < 1e-6 and best > 4)
    return Conflict(z, p, widen, harmful, _sentence(model, z, p, widen, harmful))


def noise_conflict(model: Gaussian, counts: ArrayLike, sums: ArrayLike, squares: ArrayLike) -> tuple[float, float]:
    """Do rewards scatter more than the model's noise? (p, how many times the sd). (1, NaN) where nothing tells.

    Squared distances from the averages over the noise variance are χ² with Σ(n_k − 1) degrees of freedom. squares: of
    rewards, summed for each arm, (K,). A scatter that is too small is no alarm: averages given as one reward have none.
    """
    n, s = model._checked_sums(counts, sums, "sums")
    squared = np.asarray(squares, dtype=np.float64)
    free = float(np.maximum(n - 1, 0.0).sum())
    if free == 0:
        return 1.0, float("nan")
    from scipy.stats import chi2

    average = np.divide(s, n, out=np.zeros(len(n)), where=n > 0)
    within = float((np.maximum(squared - n * average**2, 0.0) / model.noise_var).sum())
    return float(chi2.sf(within, free)), float(np.sqrt(within / free))


def _gaussian(model: Gaussian, n: Array, s: Array) -> tuple[Array, float, Any]:
    seen = np.flatnonzero(n > 0)
    miss = s[seen] / n[seen] - model.mean[seen]
    factor, own = model.covariance.factor[seen], model.covariance.diag[seen]
    noise = model.noise_var[seen] / n[seen]
    z = np.full(len(n), np.nan)
    z[seen] = miss / np.sqrt(model.var[seen] + noise)

    def parts(scale: float) -> tuple[float, float]:
        """Squared distance and log determinant with prior variances multiplied by scale², by the small matrix."""
        d = scale**2 * own + noise
        f = scale * factor / np.sqrt(d)[:, None]
        root = np.linalg.cholesky(np.eye(f.shape[1]) + f.T @ f)
        pulled = np.linalg.solve(root, f.T @ (miss / np.sqrt(d))) if f.shape[1] else np.zeros(0)
        size = np.log(d).sum() + 2 * np.log(np.diagonal(root)).sum()
        return float((miss**2 / d).sum() - pulled @ pulled), float(size)

    return z, parts(1.0)[0], lambda scale: -0.5 * sum(parts(scale))


def _yes_no(model: Bernoulli, n: Array, s: Array) -> tuple[Array, Any]:
    z = np.full(len(n), np.nan)
    for k in np.flatnonzero(n > 0):
        if n[k] > _MANY:  # the beta-binomial is nearly normal, but for the prior's own shape
            spread = np.sqrt(model.var[k] + model.mean[k] * (1 - model.mean[k]) / n[k])
            z[k] = (s[k] / n[k] - model.mean[k]) / spread
            continue
        successes = np.arange(n[k] + 1)
        ways = gammaln(n[k] + 1) - gammaln(successes + 1) - gammaln(n[k] - successes + 1)
        a, b = model.alpha[k], model.beta[k]
        chance = np.exp(ways + betaln(a + successes, b + n[k] - successes) - betaln(a, b))
        below = chance[: int(s[k])].sum() + chance[int(s[k])] / 2  # mid-p
        z[k] = float(ndtri(np.clip(below, 1e-15, 1 - 1e-15)))

    def likelihood(scale: float) -> float:
        a, b = model.alpha / scale**2, model.beta / scale**2
        return float((betaln(a + s, b + n - s) - betaln(a, b)).sum())

    return z, likelihood


def _sentence(model: Any, z: Array, p: float, widen: float, harmful: bool) -> str:
    worst = int(np.nanargmax(np.abs(z)))
    side = "above" if z[worst] > 0 else "below"
    if p >= 0.1:
        return f"the data are what the prior led to expect (p = {p:.2f})"
    far = f"arm {model.names[worst]!r} is {abs(z[worst]):.1f} predictive sds {side} what was expected"
    if p >= _SURPRISING:
        return f"the data are a little surprising under the prior (p = {p:.2f}): {far}"
    chance = f"p = {p:.1g}" if p > 1e-12 else "p < 1e-12"
    advice = f"multiply its sds by {widen:.1f}" if widen > 1 else "look at its means: wider sds would not explain it"
    harm = "; as it stands it does more harm than good" if harmful else ""
    return f"the data contradict the prior ({chance}): {far}; {advice}{harm}"
