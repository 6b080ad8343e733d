"""Posterior variances keep six digits from noise 1e-6 to 1e6, counts to 1e9, prior sds 1e-6 to 1e3, or say so."""

import warnings

import numpy as np
import pytest

import bestarm as ba
from oracles.sixty_digits import hierarchical_variances, linear_variances


def extreme(rng, closest):
    """Features of which most are one direction up to a relative `closest`, and everything else on log scales."""
    k, d = int(rng.integers(2, 31)), int(rng.integers(1, 6))
    x = rng.standard_normal((k, d))
    near = 10 ** rng.uniform(np.log10(closest), -1)
    base = rng.standard_normal(d)
    for arm in range(k):
        if rng.random() < 0.5:
            x[arm] = base * rng.choice([1, 2, 0.5]) + near * rng.standard_normal(d)
    noise = 10 ** rng.uniform(-6, 6, k) if rng.random() < 0.5 else np.full(k, 10 ** rng.uniform(-6, 6))
    counts = np.floor(10 ** rng.uniform(0, 9, k)) * (rng.random(k) < 0.6)
    return x, 10 ** rng.uniform(-6, 3, d), noise, counts


@pytest.mark.parametrize("seed", range(60))
def test_six_digits(seed):
    rng = np.random.default_rng(seed)
    x, sds, noise, counts = extreme(rng, closest=1e-10)
    k, d = x.shape
    model = ba.Gaussian.linear(x, np.zeros(d), np.diag(sds**2), noise)
    np.testing.assert_allclose(model.after(counts).var, linear_variances(x, sds, noise, counts), rtol=1e-6)
    arm_sd = 10 ** rng.uniform(-6, 3, k) * (rng.random(k) < 0.7)
    model = ba.Gaussian.hierarchical(x, np.zeros(d), np.diag(sds**2), arm_sd, noise)
    want = hierarchical_variances(x, sds, arm_sd, noise, counts)
    np.testing.assert_allclose(model.after(counts).var, want, rtol=1e-6)


def test_a_warning_where_six_digits_are_impossible():
    """Features that differ in their 13th digit: the rounding of the input alone costs more than 1e-6."""
    lost, warned = 0, 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x, sds, noise, counts = extreme(rng, closest=1e-16)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            got = ba.Gaussian.linear(x, np.zeros(x.shape[1]), np.diag(sds**2), noise).after(counts).var
        off = np.abs(got / linear_variances(x, sds, noise, counts) - 1).max()
        assert off <= 1e-6 or caught
        lost += off > 1e-6
        warned += bool(caught)
    assert warned >= lost


def test_the_warning_names_the_remedy():
    x = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-13], [1.0, -1.0]])
    model = ba.Gaussian.linear(x, [0, 0], 1e6 * np.eye(2), noise=1e-6)
    with pytest.warns(ba.PrecisionWarning, match="collinear"):
        model.after([1e9, 1e9, 0])


def test_normal_equations_would_not_do():
    """The case that the QR is for: Woodbury by normal equations loses digits that the QR keeps."""
    rng = np.random.default_rng(0)
    x = np.ones(4) + 3e-8 * rng.standard_normal((30, 4))
    sds, counts = np.full(4, 1e2), np.full(30, 1e6)
    truth = linear_variances(x, sds, np.ones(30), counts)
    factor = x * sds
    woodbury = np.einsum(
        "kq,qp,kp->k", factor, np.linalg.inv(np.eye(4) + factor.T @ (counts[:, None] * factor)), factor
    )
    got = ba.Gaussian.linear(x, np.zeros(4), np.diag(sds**2)).after(counts).var
    assert np.abs(got / truth - 1).max() < 1e-6
    assert np.abs(woodbury / truth - 1).max() > 1e-4


def test_a_nearly_singular_covariance_is_warned_of():
    """Rotated variances 1, √x, x: six digits or a warning, for x from 1e-4 to 1e-13; silence down to 1e-8."""
    lost = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        var = 10 ** (-rng.uniform(4, 13) * np.array([0, 0.5, 1]))
        cov = turn @ np.diag(var) @ turn.T
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            got = ba.Gaussian.linear(turn.T, np.zeros(3), (cov + cov.T) / 2).var
        off = np.abs(got / var - 1).max()
        assert off <= 1e-6 or "cov is nearly singular" in str(caught[0].message)
        assert not caught or var[2] < 1e-8
        lost += off > 1e-6
    assert lost > 10
