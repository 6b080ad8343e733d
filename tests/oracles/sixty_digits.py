"""Posterior variances in 60-digit arithmetic, from the paper's parameter-space formulas."""

import numpy as np
from mpmath import mp, mpf


def linear_variances(features, sds, noise, counts):
    """Variance of x_k·θ for θ_l ~ N(·, sds_l²), after counts_k evaluations with noise sd noise_k."""
    with mp.workdps(60):
        k, d = features.shape
        x = mp.matrix([[mpf(float(entry)) for entry in row] for row in features])
        precision = mp.diag([1 / mpf(float(sd)) ** 2 for sd in sds])
        for arm in range(k):
            weight = mpf(float(counts[arm])) / mpf(float(noise[arm])) ** 2
            for i in range(d):
                for j in range(d):
                    precision[i, j] += weight * x[arm, i] * x[arm, j]
        cov = precision**-1
        rows = [x[arm, :] for arm in range(k)]
        return np.array([float((row * cov * row.T)[0]) for row in rows])


def hierarchical_variances(mixing, effect_sds, arm_sd, noise, counts):
    """Variance of θ_k in the paper's hierarchical model with diagonal effect covariance (arm_sd_k may be 0)."""
    with mp.workdps(60):
        k, effects = mixing.shape
        b = mp.matrix([[mpf(float(entry)) for entry in row] for row in mixing])
        precision = mp.diag([1 / mpf(float(sd)) ** 2 for sd in effect_sds])
        own, shrink = [], []
        for arm in range(k):
            d, v, n = mpf(float(arm_sd[arm])) ** 2, mpf(float(noise[arm])) ** 2, mpf(float(counts[arm]))
            t = v + n * d
            own.append(d * v / t)
            shrink.append(v / t)
            for i in range(effects):
                for j in range(effects):
                    precision[i, j] += n / t * b[arm, i] * b[arm, j]
        cov = precision**-1
        rows = [b[arm, :] for arm in range(k)]
        return np.array([float(own[a] + shrink[a] ** 2 * (rows[a] * cov * rows[a].T)[0]) for a in range(k)])
