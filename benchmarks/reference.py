"""The reference settings: prior and budgets of each; random parts drawn from default_rng(seed), in this order."""

from collections.abc import Iterator

import numpy as np

import bestarm as ba

__all__ = ["settings"]


def settings(seed: int) -> Iterator[tuple[str, ba.Gaussian, list[int]]]:
    """(name, prior, budgets) of the six Gaussian settings; noise sd 1."""
    rng = np.random.default_rng(seed)
    sds = np.linspace(0.1, 0.5, 10)
    small = list(range(20, 301, 40))
    yield "independent, fixed", ba.Gaussian.independent(np.linspace(0, 1, 10), sds), small
    yield "independent, random", ba.Gaussian.independent(rng.random(10), sds), small

    features = rng.normal(1, 1, (30, 4))
    features /= np.abs(features).sum(axis=1, keepdims=True)
    cov = np.diag(np.linspace(0.1, 0.5, 4) ** 2)
    hundreds = list(range(100, 1001, 100))
    yield "linear, fixed", ba.Gaussian.linear(features, np.ones(4), cov), hundreds
    yield "linear, random", ba.Gaussian.linear(features, rng.random(4), cov), hundreds

    mixing = rng.random((60, 10))
    mixing /= mixing.sum(axis=1, keepdims=True)
    effect_cov, arm_sd = np.diag(sds**2), np.linspace(0.1, 0.5, 60)
    fifties = list(range(150, 551, 50))
    for name, nu in (("fixed", np.linspace(-1, 1, 10)), ("random", rng.uniform(-1, 1, 10))):
        yield f"hierarchical, {name}", ba.Gaussian.hierarchical(mixing, nu, effect_cov, arm_sd), fifties
