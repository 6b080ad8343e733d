"""The paper's settings as data: prior and budgets of each; random parts drawn from default_rng(seed), in this order.

Where text, appendix and captions of the paper disagree, these are the choice; `CHOICES` says which, and so
does the page that `bestarm paper all` makes.
"""

from collections.abc import Iterator

import numpy as np

from bestarm.models.gaussian import Gaussian
from bestarm.models.logistic import GeneralizedLinear, Logistic
from bestarm.validation import Array

__all__ = ["BUDGETS", "CHOICES", "logistic_settings", "prior", "settings"]

SDS = np.linspace(0.1, 0.5, 10)

BUDGETS = {
    "independent": list(range(20, 301, 40)),
    "linear": list(range(100, 1001, 100)),
    "hierarchical": list(range(150, 551, 50)),
    "logistic": list(range(100, 1001, 100)),
    "movielens": list(range(150, 1951, 100)),
}

# what the paper leaves open, or says in two ways, and what is taken here
CHOICES = (
    ("prior sds", "standard deviations or variances evenly spaced", "standard deviations 0.1 … 0.5"),
    ("linear features", "not given", "rows ~ N(1, I) divided by their 1-norm"),
    ("linear prior mean, fixed", "flat (1, …, 1), or U[0, 1] in a caption", "(1, …, 1)"),
    ("linear prior mean, random", "U[0, 1]", "U[0, 1]^4"),
    ("hierarchical ν, fixed", "evenly spaced in [−1, 1], or U[−1, 1] in a caption", "evenly spaced"),
    ("hierarchical arms", "K = 60, L = 10; d = 4 in the appendix", "K = 60, L = 10"),
    ("mixing weights", "U[0, 1] summing to 1; [−1, 1] in one figure", "U[0, 1] rows divided by their sums"),
    ("movies", "3,883 or 3,952", "3,883, as listed in movies.dat"),
    ("Opt", "optimised weights blended with the heuristic, α ≈ 0.5", "bound-mix, α = 0.5"),
    ("warm-up rewards", "not said; the code discards them", "kept"),
    ("TTTS", "TS-TCI with β = 0.5 under that name", "ts-tci"),
)


def settings(seed: int) -> Iterator[tuple[str, Gaussian, list[int]]]:
    """(name, prior, budgets) of the six Gaussian settings; noise sd 1."""
    rng = np.random.default_rng(seed)
    small = BUDGETS["independent"]
    yield "independent, fixed", Gaussian.independent(np.linspace(0, 1, 10), SDS), small
    yield "independent, random", Gaussian.independent(rng.random(10), SDS), small

    features = _features(rng, 30, 4)
    cov = np.diag(np.linspace(0.1, 0.5, 4) ** 2)
    hundreds = BUDGETS["linear"]
    yield "linear, fixed", Gaussian.linear(features, np.ones(4), cov), hundreds
    yield "linear, random", Gaussian.linear(features, rng.random(4), cov), hundreds

    mixing = rng.random((60, 10))
    mixing /= mixing.sum(axis=1, keepdims=True)
    effect_cov, arm_sd = np.diag(SDS**2), np.linspace(0.1, 0.5, 60)
    fifties = BUDGETS["hierarchical"]
    for name, nu in (("fixed", np.linspace(-1, 1, 10)), ("random", rng.uniform(-1, 1, 10))):
        yield f"hierarchical, {name}", Gaussian.hierarchical(mixing, nu, effect_cov, arm_sd), fifties


def _features(rng: np.random.Generator, arms: int, d: int) -> Array:
    """Rows ~ N(1, I) divided by their 1-norm."""
    features = rng.normal(1, 1, (arms, d))
    return np.asarray(features / np.abs(features).sum(axis=1, keepdims=True))


def prior(name: str, seed: int) -> Gaussian:
    """The prior of one of the six settings."""
    return next(model for label, model, _ in settings(seed) if label == name)


def logistic_settings(seed: int) -> Iterator[tuple[str, GeneralizedLinear, list[int]]]:
    """The four logistic settings, K = 30."""
    for d in (3, 4):
        rng = np.random.default_rng(seed)
        features, cov = _features(rng, 30, d), np.diag(np.linspace(0.1, 0.5, d) ** 2)
        yield f"d = {d}, fixed", Logistic(features, np.ones(d), cov), BUDGETS["logistic"]
        yield f"d = {d}, random", Logistic(features, rng.random(d), cov), BUDGETS["logistic"]
