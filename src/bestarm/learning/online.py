"""Priors whose means are not known either: one more level, learned while the experiment runs.

The paper's construction for misspecified priors: the prior mean μ_0 is itself N(ν, H). For independent arms this is a
hierarchical model whose mixing matrix is the identity; in linear and hierarchical bandits H adds to the covariance of
the coefficients or effects.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bestarm.models.gaussian import Gaussian
from bestarm.validation import real_array, vector

__all__ = ["unknown_effect_means", "unknown_linear_mean", "unknown_means"]


def unknown_means(
    mean: ArrayLike, hyper_cov: ArrayLike, sd: ArrayLike, noise: ArrayLike = 1.0, **about: Any
) -> Gaussian:
    """Independent arms with μ_0 ~ N(mean, hyper_cov), r_k ~ N(μ_0k, sd_k²). hyper_cov: (K, K)."""
    centre = vector(mean, "mean")
    return Gaussian.hierarchical(np.eye(len(centre)), centre, hyper_cov, sd, noise, **about)


def unknown_linear_mean(
    features: ArrayLike, mean: ArrayLike, hyper_cov: ArrayLike, cov: ArrayLike, noise: ArrayLike = 1.0, **about: Any
) -> Gaussian:
    """A linear bandit with θ ~ N(μ_0, cov), μ_0 ~ N(mean, hyper_cov)."""
    total = real_array(cov, "cov", ndim=2) + real_array(hyper_cov, "hyper_cov", ndim=2)
    return Gaussian.linear(features, mean, total, noise, **about)


def unknown_effect_means(
    mixing: ArrayLike,
    effect_mean: ArrayLike,
    hyper_cov: ArrayLike,
    effect_cov: ArrayLike,
    arm_sd: ArrayLike,
    noise: ArrayLike = 1.0,
    **about: Any,
) -> Gaussian:
    """Mixed effects with μ ~ N(ν, effect_cov), ν ~ N(effect_mean, hyper_cov)."""
    total = real_array(effect_cov, "effect_cov", ndim=2) + real_array(hyper_cov, "hyper_cov", ndim=2)
    return Gaussian.hierarchical(mixing, effect_mean, total, arm_sd, noise, **about)
