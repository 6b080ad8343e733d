"""Reward families of generalized linear bandits: how a linear score η becomes a mean reward, and what rewards say of η.

A reward y of an arm with score η has log-likelihood y ψ(η) − A(η) + const, with natural parameter ψ and log-partition
A; ψ(η) = η under the canonical link. What `logistic.py` does with them is the same for all.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import erfcx, expit, log_expit, log_ndtr, ndtr

from bestarm.validation import Array

__all__ = ["FAMILIES", "GLM", "LOGISTIC", "POISSON", "PROBIT"]

_ROOT2, _TAIL = np.sqrt(2.0), np.sqrt(2 / np.pi)


@dataclass(frozen=True)
class GLM:
    """A family with its link; every function works on arrays.

    mean: φ(η). natural, partition: ψ(η), A(η). slopes: ψ′, A′, ψ″, A″ at η. predicted: E φ(η) for η ~ N(m, s²), given
    m and s². information: Fisher's, of one reward on η. draw: the sum of n rewards of mean φ, given (means, counts,
    rng). binary: rewards are 0 or 1; otherwise 0, 1, 2, ….
    """

    name: str
    mean: Callable[[Array], Array]
    natural: Callable[[Array], Array]
    partition: Callable[[Array], Array]
    slopes: Callable[[Array], tuple[Array, Array, Array, Array]]
    predicted: Callable[[Array, Array], Array]
    information: Callable[[Array], Array]
    draw: Callable[[Array, Array, np.random.Generator], Array]
    binary: bool

    def __reduce__(self) -> tuple[Callable[[str], "GLM"], tuple[str]]:
        """Functions do not travel between processes; names do."""
        return _named, (self.name,)

    def log_likelihood(self, score: Array, counts: Array, sums: Array) -> Array:
        """Σ_k s_k ψ(η_k) − n_k A(η_k), up to what does not depend on η."""
        seen = counts > 0
        with np.errstate(over="ignore", invalid="ignore"):
            terms = sums * self.natural(score) - counts * self.partition(score)
        return np.asarray(np.where(seen, terms, 0.0).sum(axis=-1))

    def score_and_weight(self, score: Array, counts: Array, sums: Array) -> tuple[Array, Array]:
        """First derivative of the log-likelihood in each η, and minus the second: ≥ 0 for every family here."""
        natural, partition, bent_natural, bent_partition = self.slopes(score)
        return sums * natural - counts * partition, np.maximum(counts * bent_partition - sums * bent_natural, 0.0)


def _canonical(
    mean: Callable[[Array], Array], slope: Callable[[Array], Array]
) -> Callable[[Array], tuple[Array, Array, Array, Array]]:
    def slopes(score: Array) -> tuple[Array, Array, Array, Array]:
        return np.ones_like(score), mean(score), np.zeros_like(score), slope(score)

    return slopes


def _identity(score: Array) -> Array:
    return score


def _bell(score: Array) -> Array:
    return np.asarray(expit(score) * expit(-score))


def _exp(score: Array) -> Array:
    return np.exp(np.minimum(score, 700.0))


def _mills(score: Array) -> Array:
    """φ(η)/Φ(−η) of the normal distribution."""
    return np.asarray(_TAIL / erfcx(score / _ROOT2))


def _probit_slopes(score: Array) -> tuple[Array, Array, Array, Array]:
    up, down = _mills(score), _mills(-score)
    bent_up, bent_down = up * (up - score), down * (down + score)
    return up + down, up, bent_up - bent_down, bent_up


def _trials(means: Array, counts: Array, rng: np.random.Generator) -> Array:
    return rng.binomial(counts.astype(np.int64), means, means.shape).astype(np.float64)


LOGISTIC = GLM(
    "logistic",
    mean=expit,
    natural=_identity,
    partition=lambda score: -log_expit(-score),
    slopes=_canonical(expit, _bell),
    # Spiegelhalter and Lauritzen (1990): the root belongs inside the link (docs/errata.md)
    predicted=lambda m, s2: expit(m / np.sqrt(1 + np.pi * s2 / 8)),
    information=_bell,
    draw=_trials,
    binary=True,
)
PROBIT = GLM(
    "probit",
    mean=ndtr,
    natural=lambda score: log_ndtr(score) - log_ndtr(-score),
    partition=lambda score: -log_ndtr(-score),
    slopes=_probit_slopes,
    predicted=lambda m, s2: ndtr(m / np.sqrt(1 + s2)),
    information=lambda score: _mills(score) * _mills(-score),
    draw=_trials,
    binary=True,
)
POISSON = GLM(
    "poisson",
    mean=_exp,
    natural=_identity,
    partition=_exp,
    slopes=_canonical(_exp, _exp),
    predicted=lambda m, s2: _exp(m + s2 / 2),
    information=_exp,
    draw=lambda means, counts, rng: rng.poisson(counts * means, means.shape).astype(np.float64),
    binary=False,
)

FAMILIES = {family.name: family for family in (LOGISTIC, PROBIT, POISSON)}


def _named(name: str) -> GLM:
    return FAMILIES[name]
