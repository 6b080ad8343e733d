"""Random models of all three settings, with the awkward corners mixed in."""

import numpy as np

import bestarm as ba

SETTINGS = ("independent", "linear", "hierarchical")


def random_model(setting, rng, arms=None, corners=True, **options):
    """One random model. With `corners`: deterministic arms, rank-deficient features, singular covariances."""
    k = int(rng.integers(1, 9)) if arms is None else arms
    noise = rng.uniform(0.3, 2.0, k) if rng.random() < 0.5 else float(rng.uniform(0.3, 2.0))
    if setting == "independent":
        sd = rng.uniform(0.1, 1.5, k)
        if corners:
            sd *= rng.random(k) < 0.85
        return ba.Gaussian.independent(rng.normal(size=k), sd, noise, **options)
    d = int(rng.integers(1, 5))
    features, mean, cov = rng.normal(size=(k, d)), rng.normal(size=d), random_cov(d, rng, corners)
    if corners and k > 1 and rng.random() < 0.3:
        features[-1] = features[0]
    if setting == "linear":
        return ba.Gaussian.linear(features, mean, cov, noise, **options)
    arm_sd = rng.uniform(0.1, 1.0, k)
    if corners:
        arm_sd *= rng.random(k) < 0.85
    return ba.Gaussian.hierarchical(features, mean, cov, arm_sd, noise, **options)


def random_cov(d, rng, corners=True):
    rank = int(rng.integers(0, d + 1)) if corners and rng.random() < 0.4 else d
    root = rng.normal(size=(d, rank))
    cov = root @ root.T
    return np.diag(np.diagonal(cov)) if rng.random() < 0.3 else cov


def random_counts(k, rng, whole=True):
    counts = rng.integers(0, 12, k) * (rng.random(k) < 0.7)
    return counts.astype(float) if whole else counts * rng.random(k)


def random_data(model, counts, rng):
    """Reward sums of `counts` evaluations in a world drawn from the model."""
    truth = model.sample(rng=rng)
    return counts * truth + np.sqrt(counts) * model.noise * rng.standard_normal(model.num_arms)
