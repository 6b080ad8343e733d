"""The paper's settings as data: prior and budgets of each; random parts drawn from default_rng(seed), in this order.

Where text, appendix and captions of the paper disagree, `CHOICES` says what is taken here, and so does the page that
`bestarm paper all` makes. Where the other reading can be computed it has a name, and `readings` takes it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from bestarm.errors import InputError
from bestarm.models.gaussian import Gaussian
from bestarm.models.logistic import GeneralizedLinear, Logistic
from bestarm.validation import Array, shown

__all__ = [
    "BUDGETS",
    "CHOICES",
    "READINGS",
    "Choice",
    "checked_readings",
    "logistic_settings",
    "prior",
    "sds",
    "settings",
]

BUDGETS = {
    "independent": list(range(20, 301, 40)),
    "linear": list(range(100, 1001, 100)),
    "hierarchical": list(range(150, 551, 50)),
    "logistic": list(range(100, 1001, 100)),
    "movielens": list(range(150, 1951, 100)),
}


@dataclass(frozen=True)
class Choice:
    """What the paper leaves open, or says in two ways, and what is taken here. reading: the name of the other reading,
    and other: what it takes instead; both empty where there is no other to compute.
    """

    what: str
    paper: str
    here: str
    reading: str = ""
    other: str = ""


CHOICES = (
    Choice(
        "prior sds",
        "standard deviations or variances evenly spaced",
        "standard deviations 0.1 … 0.5",
        "variances",
        "variances 0.1 … 0.5",
    ),
    Choice("linear features", "not given", "rows ~ N(1, I) divided by their 1-norm"),
    Choice(
        "linear and logistic prior mean, fixed",
        "flat (1, …, 1), or U[0, 1] in a caption",
        "(1, …, 1)",
        "linear-mean",
        "U[0, 1]^d, drawn once",
    ),
    Choice("linear prior mean, random", "U[0, 1]", "U[0, 1]^4"),
    Choice(
        "hierarchical ν, fixed",
        "evenly spaced in [−1, 1], or U[−1, 1] in a caption",
        "evenly spaced",
        "nu",
        "U[−1, 1], drawn once",
    ),
    Choice(
        "hierarchical arms", "K = 60, L = 10; the appendix adds d = 4, which the model does not have", "K = 60, L = 10"
    ),
    Choice(
        "mixing weights",
        "U[0, 1] summing to 1; [−1, 1] in one figure",
        "U[0, 1] rows divided by their sums",
        "mixing",
        "U[−1, 1] rows divided by their 1-norms: the sum itself where no weight is negative",
    ),
    Choice("movies", "3,883, or 3,952, the largest number in use", "3,883, as listed in movies.dat"),
    Choice("Opt", "optimised weights blended with the heuristic, α ≈ 0.5", "bound-mix, α = 0.5"),
    Choice("warm-up rewards", "not said; the code discards them", "kept", "warm-up", "discarded"),
    Choice("TTTS", "TS-TCI with β = 0.5 under that name", "ts-tci"),
)
READINGS = {choice.reading: choice for choice in CHOICES if choice.reading}


def checked_readings(names: Iterable[str]) -> tuple[str, ...]:
    """The names, each once and in the order of `CHOICES`; an unknown one is refused."""
    given = list(names)
    for name in given:
        if name not in READINGS:
            raise InputError(f"reading is {shown(name)}; expected one of {', '.join(READINGS)}")
    return tuple(name for name in READINGS if name in given)


def sds(count: int, readings: tuple[str, ...] = ()) -> Array:
    """Prior standard deviations of `count` arms, effects or coefficients."""
    spaced = np.linspace(0.1, 0.5, count)
    return np.sqrt(spaced) if "variances" in readings else spaced


def settings(seed: int, readings: Iterable[str] = ()) -> Iterator[tuple[str, Gaussian, list[int]]]:
    """(name, prior, budgets) of the six Gaussian settings; noise sd 1. readings: names of `READINGS`."""
    other = checked_readings(readings)
    rng = np.random.default_rng(seed)
    small, ten = BUDGETS["independent"], sds(10, other)
    yield "independent, fixed", Gaussian.independent(np.linspace(0, 1, 10), ten), small
    yield "independent, random", Gaussian.independent(rng.random(10), ten), small

    features = _features(rng, 30, 4)
    cov = np.diag(sds(4, other) ** 2)
    hundreds = BUDGETS["linear"]
    yield "linear, fixed", Gaussian.linear(features, _flat(4, seed, other), cov), hundreds
    yield "linear, random", Gaussian.linear(features, rng.random(4), cov), hundreds

    mixing = rng.random((60, 10))
    if "mixing" in other:
        mixing = 2 * mixing - 1
    # signed weights may sum to anything: by their 1-norm prior means and effects keep their sizes
    mixing /= np.abs(mixing).sum(axis=1, keepdims=True)
    effect_cov, arm_sd = np.diag(ten**2), sds(60, other)
    fifties = BUDGETS["hierarchical"]
    even = _apart("nu", seed).uniform(-1, 1, 10) if "nu" in other else np.linspace(-1, 1, 10)
    for name, nu in (("fixed", even), ("random", rng.uniform(-1, 1, 10))):
        yield f"hierarchical, {name}", Gaussian.hierarchical(mixing, nu, effect_cov, arm_sd), fifties


def _features(rng: np.random.Generator, arms: int, d: int) -> Array:
    """Rows ~ N(1, I) divided by their 1-norm."""
    features = rng.normal(1, 1, (arms, d))
    return np.asarray(features / np.abs(features).sum(axis=1, keepdims=True))


def _flat(d: int, seed: int, readings: tuple[str, ...]) -> Array:
    """Prior mean of the coefficients in the Fixed settings."""
    return _apart("linear-mean", seed).random(d) if "linear-mean" in readings else np.ones(d)


def _apart(reading: str, seed: int) -> np.random.Generator:
    """Random numbers of one reading alone, so that it moves no other draw."""
    return np.random.default_rng([seed, *reading.encode()])


def prior(name: str, seed: int, readings: Iterable[str] = ()) -> Gaussian:
    """The prior of one of the six settings."""
    return next(model for label, model, _ in settings(seed, readings) if label == name)


def logistic_settings(seed: int, readings: Iterable[str] = ()) -> Iterator[tuple[str, GeneralizedLinear, list[int]]]:
    """The four logistic settings, K = 30."""
    other = checked_readings(readings)
    for d in (3, 4):
        rng = np.random.default_rng(seed)
        features, cov = _features(rng, 30, d), np.diag(sds(d, other) ** 2)
        yield f"d = {d}, fixed", Logistic(features, _flat(d, seed, other), cov), BUDGETS["logistic"]
        yield f"d = {d}, random", Logistic(features, rng.random(d), cov), BUDGETS["logistic"]
