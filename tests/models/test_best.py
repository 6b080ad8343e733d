"""Who is best and what a wrong choice costs: closed forms, brute-force integrals, simulation."""

import numpy as np
import pytest
from scipy.special import ndtr

import bestarm as ba
from bestarm.estimate import legible
from random_models import random_model
from tolerances import QUADRATURE, ROUNDING, STANDARD_ERRORS


def brute_force(mean, sd):
    """Trapezoidal sums on a fine grid per arm: spectrally accurate while the grid resolves every arm."""
    prob, grid = [], np.linspace(-9, 9, 60_001)
    for j in range(len(mean)):
        if sd[j] == 0:
            others = [
                (ndtr((mean[j] - mean[k]) / sd[k]) if sd[k] else float(mean[j] > mean[k]))
                for k in range(len(mean))
                if k != j
            ]
            prob.append(np.prod(others))
            continue
        x = mean[j] + sd[j] * grid
        value = np.exp(-(grid**2) / 2) / np.sqrt(2 * np.pi)
        for k in range(len(mean)):
            if k != j:
                value = value * (ndtr((x - mean[k]) / sd[k]) if sd[k] else x > mean[k])
        prob.append(np.trapezoid(value, grid))
    return np.array(prob)


@pytest.mark.parametrize("seed", range(30))
def test_independent_arms_against_brute_force(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 15))
    mean, sd = rng.normal(size=k), 10 ** rng.uniform(-2, 1, k)
    model = ba.Gaussian.independent(mean, sd)
    prob = model.prob_best()
    np.testing.assert_allclose(prob.value, brute_force(mean, sd), atol=QUADRATURE / 10)
    np.testing.assert_allclose(prob.value.sum(), 1, atol=QUADRATURE / 10)
    assert not prob.stderr.any()


def test_deterministic_arms_against_brute_force():
    mean, sd = np.array([0.3, 0.0, 0.5, 0.1, -2]), np.array([0, 1, 0, 0.4, 0.3])
    # a jump in the integrand leaves the trapezoid with an error of one grid step times the density
    np.testing.assert_allclose(ba.Gaussian.independent(mean, sd).prob_best().value, brute_force(mean, sd), atol=2e-4)


def test_two_arms_in_closed_form():
    rng = np.random.default_rng(0)
    for _ in range(50):
        mean, sd = rng.normal(size=2), 10 ** rng.uniform(-6, 3, 2)
        apart, spread = mean[0] - mean[1], np.hypot(*sd)
        z = apart / spread
        model = ba.Gaussian.independent(mean, sd)
        np.testing.assert_allclose(model.prob_best().value, [ndtr(z), ndtr(-z)], atol=QUADRATURE)
        loss = spread * np.exp(-z * z / 2) / np.sqrt(2 * np.pi) - apart * ndtr(-z)  # E max − m_0
        np.testing.assert_allclose(
            model.expected_regret().value, [loss, loss + apart], atol=QUADRATURE * max(1.0, spread)
        )


@pytest.mark.parametrize("k", [1, 2, 3, 10, 300])
def test_equal_arms_share_evenly(k):
    for sd in (0.0, 1e-6, 1.0, 1e3):
        prob = ba.Gaussian.independent(np.full(k, 0.7), sd).prob_best().value
        np.testing.assert_allclose(prob, 1 / k, rtol=QUADRATURE)


def test_expected_maximum_of_equal_normals():
    # E max of 3 standard normals is 3/(2√π)
    regret = ba.Gaussian.independent([2, 2, 2], 1).expected_regret().value
    np.testing.assert_allclose(regret, 1.5 / np.sqrt(np.pi), atol=QUADRATURE)


def test_one_arm_and_hopeless_arms():
    one = ba.Gaussian.independent([3], [2])
    assert one.prob_best().value == 1
    assert one.expected_regret().value == 0
    far = ba.Gaussian.independent([0, 100, 0], [1, 1e-3, 0])
    np.testing.assert_array_equal(far.prob_best().value, [0, 1, 0])
    np.testing.assert_allclose(far.expected_regret().value, [100, 0, 100], atol=QUADRATURE)


def test_batches_are_a_loop():
    rng = np.random.default_rng(1)
    model = ba.Gaussian.independent(rng.normal(size=5), rng.uniform(0.01, 2, 5))
    counts = rng.integers(0, 9, (4, 3, 5)).astype(float)
    batch = model.condition(counts, counts * rng.normal(size=counts.shape))
    prob, regret = batch.prob_best().value, batch.expected_regret().value
    for i in np.ndindex(4, 3):
        alone = ba.Gaussian.independent(batch.mean[i], np.sqrt(batch.var[i]))
        np.testing.assert_allclose(prob[i], alone.prob_best().value, atol=ROUNDING)
        np.testing.assert_allclose(regret[i], alone.expected_regret().value, atol=ROUNDING)


@pytest.mark.parametrize("setting", ["linear", "hierarchical"])
@pytest.mark.parametrize("seed", range(5))
def test_structured_arms_against_simulation(setting, seed):
    rng = np.random.default_rng(seed)
    model = random_model(setting, rng, arms=6)
    draws = model.sample(200_000, rng)
    top = draws.max(axis=1, keepdims=True)
    # duplicated arms tie up to rounding: split as the definition says
    winners = draws >= top - 1e-9
    share = winners / winners.sum(axis=1, keepdims=True)
    for got, sample in ((model.prob_best(), share), (model.expected_regret(), top - draws)):
        stderr = np.hypot(got.stderr, sample.std(axis=0) / np.sqrt(len(draws)))
        # 12 comparisons per case, 10 cases: false alarm about 1e-3 for the whole test
        assert (np.abs(got.value - sample.mean(axis=0)) <= STANDARD_ERRORS * stderr + 1e-5).all()


def test_standard_errors_are_honest():
    """Over 200 seeds the truth lies within 2 standard errors in 90-99 % of cases (95 % is nominal)."""
    rng = np.random.default_rng(3)
    model = random_model("hierarchical", rng, arms=4, corners=False)
    estimates = [model.prob_best(rng=seed) for seed in range(200)]
    truth = np.mean([e.value for e in estimates], axis=0)
    inside = np.mean([np.abs(e.value - truth) <= 2 * e.stderr for e in estimates])
    assert 0.90 <= inside <= 0.99


def test_answers_depend_on_the_seed_alone():
    model = random_model("linear", np.random.default_rng(4), arms=5, corners=False)
    np.testing.assert_array_equal(model.prob_best(rng=1).value, model.prob_best(rng=1).value)
    assert (model.prob_best(rng=1).value != model.prob_best(rng=2).value).any()


def test_a_common_offset_costs_no_digits():
    """Means at 0 and at 2^20 are told apart exactly, so the answers must agree even where sds are below the spacing."""
    for exponent in (-18, -30, -42, -54):
        for offset in (0.0, 2.0**20):
            prob = ba.Gaussian.independent([offset, offset], [2.0**exponent, 1.0]).prob_best().value
            np.testing.assert_allclose(prob, 0.5, atol=QUADRATURE)
    prior = ba.Gaussian.independent([1e5] * 3, 1e3, noise=1e-6)
    prob = prior.condition([1e9, 1e9, 0], [1e14, 1e14, 0]).prob_best().value
    np.testing.assert_allclose(prob, [0.25, 0.25, 0.5], atol=QUADRATURE)


def test_narrow_arms_next_to_wide_ones():
    """Two arms narrower than the spacing of doubles at their mean share what a wide arm leaves them."""
    prob = ba.Gaussian.independent([0.5, 0.5, 0.5], [1e-17, 1e-17, 1.0]).prob_best().value
    np.testing.assert_allclose(prob, [0.25, 0.25, 0.5], atol=QUADRATURE)
    assert ba.Gaussian.independent([1e20, 1e20], 1.0).prob_best().value.tolist() == [0.5, 0.5]
    np.testing.assert_allclose(ba.Gaussian.independent([0, 1], 1e-49).prob_best().value, [0, 1], atol=1e-15)


def test_copies_share_evenly():
    rng = np.random.default_rng(46)
    for d in (2, 5, 11):
        x = rng.normal(size=(6, d))
        x[3] = x[1]
        root = rng.normal(size=(d, d))
        prior = ba.Gaussian.linear(x, 0.1 * rng.normal(size=d), root @ root.T + 0.1 * np.eye(d))
        counts = rng.integers(0, 4, 6)
        chance = prior.condition(counts, counts * rng.normal(size=6)).prob_best()
        assert chance.value[1] == chance.value[3]
        np.testing.assert_allclose(chance.value.sum(), 1)


def test_one_direction_is_exact():
    """K lines in one random coordinate: Φ between the corners of their upper envelope, tails included."""
    model = ba.Gaussian.linear([[1.0], [0.0]], [-4.0], [[1.0]])
    prob, regret = model.prob_best(), model.expected_regret()
    np.testing.assert_allclose(prob.value, [ndtr(-4), ndtr(4)], rtol=1e-12)
    assert not prob.stderr.any()
    np.testing.assert_allclose(regret.value[1], np.exp(-8) / np.sqrt(2 * np.pi) - 4 * ndtr(-4), rtol=1e-9)


def test_linear_arms_of_two_directions_in_closed_form():
    """Three arms at 120°, equal means: a third each; one moved away behaves as two correlated arms."""
    angle = 2 * np.pi * np.arange(3) / 3
    x = np.column_stack([np.cos(angle), np.sin(angle)])
    prob = ba.Gaussian.linear(x, [0, 0], np.eye(2)).prob_best()
    assert (np.abs(prob.value - 1 / 3) <= STANDARD_ERRORS * prob.stderr + 1e-9).all()
    assert prob.stderr.max() < 1e-3


@pytest.mark.parametrize(
    ("value", "spread", "text"),
    [
        (0.92551, 0.183, "0.93"),
        (0.0013, 0.183, "0.00"),
        (-0.0013, 0.183, "0.00"),
        (123456.7, 3000.0, "123457"),
        (2.5, 0.074, "2.500"),
        (1.5e-9, 1e-10, "1.5e-09"),
        (0.123456, 0.0, "0.1235"),
        (0.123456, float("nan"), "0.1235"),
        (1e300, 1e299, "1e+300"),
    ],
)
def test_numbers_have_the_decimals_that_mean_something(value, spread, text):
    assert legible(value, spread) == text
