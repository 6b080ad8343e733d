"""Bayes' rule with dense matrices, and the posteriors as the paper writes them."""

import numpy as np


def posterior(mean, cov, noise_var, counts, sums):
    """Mean and covariance of r given the averages of the evaluated arms; any cov ⪰ 0, any counts ≥ 0."""
    seen = np.flatnonzero(counts)
    gain = np.linalg.solve(cov[np.ix_(seen, seen)] + np.diag(noise_var[seen] / counts[seen]), cov[seen]).T
    return mean + gain @ (sums[seen] / counts[seen] - mean[seen]), cov - gain @ cov[seen]


def independent(mean, sd, noise, counts, sums):
    """The paper's eq. (bayes_elim_posterior)."""
    var = 1 / (1 / sd**2 + counts / noise**2)
    return var * (mean / sd**2 + sums / noise**2), var


def linear(features, mean, cov, noise, counts, sums):
    """The paper's eq. (linear_gaussian_posteriors), as posterior of the arm means."""
    prior = np.linalg.inv(cov)
    sigma = np.linalg.inv(prior + features.T @ np.diag(counts / noise**2) @ features)
    theta = sigma @ (prior @ mean + features.T @ (sums / noise**2))
    return features @ theta, features @ sigma @ features.T


def effects(mixing, effect_mean, effect_cov, arm_sd, noise, counts, sums):
    """The paper's joint effect posterior, μ given H: mean and covariance."""
    t = counts * arm_sd**2 + noise**2
    prior = np.linalg.inv(effect_cov)
    cov = np.linalg.inv(prior + mixing.T @ np.diag(counts / t) @ mixing)
    return cov @ (prior @ effect_mean + mixing.T @ (sums / t)), cov


def arms_given_effects(mixing, effects, arm_sd, noise, counts, sums):
    """The paper's conditional posteriors, θ_i given μ = effects and H, independent of each other: means and variances."""
    var = 1 / (1 / arm_sd**2 + counts / noise**2)
    return var * (mixing @ effects / arm_sd**2 + sums / noise**2), var


def hierarchical(mixing, effect_mean, effect_cov, arm_sd, noise, counts, sums):
    """The paper's marginal arm posteriors: the conditional ones averaged over the effects."""
    effects_mean, effects_cov = effects(mixing, effect_mean, effect_cov, arm_sd, noise, counts, sums)
    mean, own = arms_given_effects(mixing, effects_mean, arm_sd, noise, counts, sums)
    shrink = own / arm_sd**2
    return mean, own + shrink**2 * np.einsum("kl,lm,km->k", mixing, effects_cov, mixing)
