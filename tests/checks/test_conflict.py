"""Prior-predictive checks: calibrated when the prior is right, loud when it is wrong, and right about how far to widen."""

import numpy as np
import pytest

import bestarm as ba
from bestarm.checks.conflict import conflict
from random_models import SETTINGS, random_model


@pytest.mark.parametrize("setting", SETTINGS)
def test_distance_is_the_dense_one(setting):
    """The χ² distance and the likelihood's factor against dense algebra."""
    from scipy.stats import chi2

    rng = np.random.default_rng(3)
    model = random_model(setting, rng, arms=5, corners=False)
    counts = np.array([3.0, 0, 5, 1, 2])
    sums = counts * rng.normal(model.mean, 2, 5)
    seen = counts > 0
    cov = model.cov[np.ix_(seen, seen)] + np.diag((model.noise_var / np.maximum(counts, 1))[seen])
    miss = (sums[seen] / counts[seen]) - model.mean[seen]
    found = conflict(model, counts, sums)
    assert found.p == pytest.approx(chi2.sf(miss @ np.linalg.solve(cov, miss), 4), rel=1e-6)
    assert np.isnan(found.z[1])
    np.testing.assert_allclose(found.z[seen], miss / np.sqrt(np.diagonal(cov)), rtol=1e-9)


def test_p_is_uniform_when_the_prior_is_right():
    """2,000 data sets: the share below 0.1 is 0.1 within 4.5 binomial standard errors."""
    rng = np.random.default_rng(0)
    for model in (
        ba.Gaussian.hierarchical(rng.random((6, 2)), [0, 1], np.eye(2), 0.3),
        ba.Bernoulli.independent([2, 3, 4, 5, 6, 7], [5, 5, 4, 4, 3, 3]),
    ):
        counts = np.full(6, 40.0)
        means = model.sample(2000, rng)
        sums = model.sample_sums(means, counts, rng)
        share = np.mean([conflict(model, counts, s).p < 0.1 for s in sums])
        slack = 0.03 if isinstance(model, ba.Bernoulli) else 0.0  # mid-p of discrete data is only nearly uniform
        assert abs(share - 0.1) < 4.5 * np.sqrt(0.09 / 2000) + slack


def test_a_prior_too_narrow_is_widened():
    """Truth four times as wide: the factor found is 4 within a factor of 1.3, averaged over 200 data sets."""
    rng = np.random.default_rng(1)
    narrow = ba.Gaussian.independent(np.zeros(30), 0.1, 0.2)
    counts, found = np.full(30, 10.0), []
    for _ in range(200):
        means = 0.4 * rng.standard_normal(30)
        found.append(conflict(narrow, counts, narrow.sample_sums(means, counts, rng)).widen)
    assert 4 / 1.3 < np.exp(np.mean(np.log(found))) < 4 * 1.3


def test_sentences():
    model = ba.Gaussian.independent([0.0, 0.0], 0.1, 1.0, ["a", "b"])
    assert "what the prior led to expect" in str(conflict(model, [10, 10], [1.0, -1.0]))
    loud = conflict(model, [100, 100], [300.0, 0.0])
    assert "arm 'a'" in str(loud)
    assert "multiply its sds by" in str(loud)
    assert "more harm than good" in str(loud)
    assert loud.harmful
    assert "no data yet" in str(conflict(model, [0, 0], [0.0, 0.0]))
    assert "little surprising" in str(conflict(model, [10, 10], [7.5, 0.0]))


def test_bad_input():
    for call, message in [
        (lambda: conflict(3, [1], [1]), "model is 3"),
        (lambda: conflict(ba.Logistic([[1.0]], [0], [[1]]), [1], [1]), "expected Gaussian arms of known noise"),
        (lambda: conflict(ba.Gaussian.independent([0, 1], 1), [1, 0], [1, 1]), "never evaluated"),
        (lambda: conflict(ba.Bernoulli.independent([1, 1], [1, 1]), [1, 1], [2, 1]), "expected numbers of successes"),
    ]:
        with pytest.raises(ba.InputError, match=message):
            call()
