"""Priors learned from nothing: the posterior by brute force, its cost against a known prior, batches, bad input."""

import numpy as np
import pytest

import bestarm as ba
from bestarm.learning.from_nothing import _RATIOS, _SHAPE, _TYPICAL, from_nothing

RNG = np.random.default_rng(0)
REWARDS = RNG.normal([1.0, 1.5, 0.2, 1.1], 0.8, (4, 4))
ARMS = np.tile(np.arange(4), 4)


def test_numbers_by_brute_force():
    """The same posterior by weighting 400,000 draws of (ρ, σ², μ): within 4.5 standard errors of the weighted average."""
    posterior = from_nothing(4).update(ARMS[:14], REWARDS.ravel()[:14])
    n = np.bincount(ARMS[:14], minlength=4)
    average = np.bincount(ARMS[:14], weights=REWARDS.ravel()[:14], minlength=4) / n
    within = ((REWARDS.ravel()[:14] - average[ARMS[:14]]) ** 2).sum()
    rng, size = np.random.default_rng(1), 400_000
    root = np.sqrt(_RATIOS)
    prior = root / (1 + (root / _TYPICAL) ** 2)
    ratio = rng.choice(_RATIOS, size, p=prior / prior.sum())
    unit = REWARDS.ravel()[:14].var(ddof=1)
    var = _SHAPE * unit / rng.gamma(_SHAPE, 1, size)
    middle = rng.uniform(-1, 3, size)
    spread = var[:, None] * (ratio[:, None] + 1 / n)
    log_weight = -0.5 * (np.log(spread) + (average - middle[:, None]) ** 2 / spread).sum(axis=1)
    log_weight += -(14 - 4) / 2 * np.log(var) - within / (2 * var)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    keep = 1 / (1 + ratio[:, None] * n)
    mean = (1 - keep) * average + keep * middle[:, None]
    spread = var[:, None] * ratio[:, None] * keep
    exact = weight @ mean
    total = weight @ (spread + (mean - exact) ** 2)
    effective = 1 / (weight**2).sum()
    assert (np.abs(posterior.mean - exact) < 4.5 * np.sqrt(total / effective) + 0.005).all()
    np.testing.assert_allclose(posterior.var, total, rtol=0.1)
    draws = posterior.sample(200_000, 0)
    np.testing.assert_allclose(draws.mean(axis=0), posterior.mean, atol=4.5 * np.sqrt(posterior.var.max() / 2e5))
    np.testing.assert_allclose(draws.var(axis=0), posterior.var, rtol=0.05)


def test_it_is_in_the_datas_own_units():
    """Rewards times 1000 plus 5: means follow, chances stay."""
    plain = from_nothing(4).update(ARMS, REWARDS.ravel())
    scaled = from_nothing(4).update(ARMS, 5 + 1000 * REWARDS.ravel())
    np.testing.assert_allclose(scaled.mean, 5 + 1000 * plain.mean, rtol=1e-9)
    np.testing.assert_allclose(scaled.var, 1e6 * plain.var, rtol=1e-9)
    np.testing.assert_allclose(scaled.prob_best().value, plain.prob_best().value)


def test_averages_are_shrunk_towards_each_other():
    posterior = from_nothing(4).update(ARMS, REWARDS.ravel())
    average = REWARDS.mean(axis=0)
    assert (np.abs(posterior.mean - average.mean()) < np.abs(average - average.mean())).all()
    yes_no = from_nothing(3, yes_no=True).condition([10, 10, 10], [9, 5, 4])
    assert 0.6 < yes_no.mean[0] < 0.9
    assert 0.4 < yes_no.mean[2] < 0.6


def test_an_arm_without_data_is_like_the_others():
    posterior = from_nothing(4).update(ARMS[ARMS < 3], REWARDS.ravel()[ARMS < 3])
    assert posterior.mean[3] == pytest.approx(posterior.mean[:3].mean(), abs=0.3)
    assert posterior.var[3] > posterior.var[:3].max()
    yes_no = from_nothing(3, yes_no=True).condition([50, 50, 0], [20, 24, 0])
    assert yes_no.mean[2] == pytest.approx(0.44, abs=0.03)


@pytest.mark.parametrize("yes_no", [False, True])
def test_before_any_data_all_arms_are_alike(yes_no):
    belief = from_nothing(5, yes_no=yes_no)
    assert np.ptp(belief.mean) == 0
    np.testing.assert_allclose(belief.prob_best().value, 0.2, atol=0.02)
    np.testing.assert_array_equal(ba.plan(belief, 50, "tie").counts, [10] * 5)


@pytest.mark.parametrize("yes_no", [False, True])
def test_order_and_batches_do_not_matter(yes_no):
    rewards = (REWARDS.ravel() > 0.9).astype(float) if yes_no else REWARDS.ravel()
    whole = from_nothing(4, yes_no=yes_no).update(ARMS, rewards)
    parts = from_nothing(4, yes_no=yes_no).update(ARMS[7:], rewards[7:]).update(ARMS[:7], rewards[:7])
    many = from_nothing(4, yes_no=yes_no)._runs(2)
    for arm, reward in zip(ARMS, rewards, strict=True):
        many = many._after_one(np.array([arm, arm]), np.array([reward, reward]))
    np.testing.assert_allclose(whole.mean, parts.mean, rtol=1e-9)
    np.testing.assert_allclose(whole.mean, many.mean[1], rtol=1e-9)


@pytest.mark.parametrize("yes_no", [False, True])
def test_it_costs_less_than_ten_percent_of_the_error(yes_no):
    """K = 30, n = 600, 2,000 runs on the same instances against the true prior: at most 10 % more errors, with the
    standard error of the difference taken off.
    """
    truth = (
        ba.Bernoulli.independent([8.0] * 30, [12.0] * 30) if yes_no else ba.Gaussian.independent([5.0] * 30, 0.4, 1.5)
    )
    known = ba.simulate(truth, "rolling", 600, runs=2000)
    learned = ba.simulate(from_nothing(30, yes_no=yes_no), "rolling", 600, runs=2000, truth=truth)
    gap = learned.outcome("rolling", 600.0) - known.outcome("rolling", 600.0)
    stderr = gap.std() / np.sqrt(len(gap))
    assert gap.mean() - 2 * stderr < 0.1 * known.estimate("rolling", 600.0).value


@pytest.mark.parametrize("name", ["uniform", "tie", "sh", "ts", "joint-ts-tci", "bayesgap", "bayes-elim", "warmup-ts"])
def test_other_policies_run_on_it(name):
    for yes_no, truth in (
        (False, ba.Gaussian.independent([0, 1.0], 0.5)),
        (True, ba.Bernoulli.independent([1, 2], [1, 1])),
    ):
        assert ba.simulate(from_nothing(2, yes_no=yes_no), name, 20, runs=4, truth=truth).complete


def test_rolling_begins_with_a_pilot():
    from policies.running import play

    model = from_nothing(4, pilot=3)
    _, _, steps = play(ba.policy("rolling"), _Noisy(model), 60, runs=2, means=np.zeros((2, 4)))
    np.testing.assert_array_equal(steps[0].counts, np.full((2, 4), 3.0))


class _Noisy:
    """The bare loop of the policies' tests hands out sums alone; a learned belief wants squares too."""

    def __new__(cls, model):
        class Wrapped(type(model)):
            noise = np.ones(4)

            def _conditioned(self, counts, sums):
                return super()._conditioned(counts, np.stack([sums, sums**2 / np.maximum(counts, 1) + counts], axis=-1))

        return Wrapped(**vars(model))


def test_bad_input():
    for call, message in [
        (lambda: from_nothing(0), "arms is 0"),
        (lambda: from_nothing("abc"), "arms is 'abc'"),
        (lambda: from_nothing(["a", "a"]), "distinct"),
        (lambda: from_nothing(2, pilot=0), "pilot is 0"),
        (lambda: from_nothing(2).condition([1, 1], [1, 1]), "squares is None"),
        (lambda: from_nothing(2, yes_no=True).update([0], [0.5]), "expected 0 or 1"),
        (lambda: ba.simulate(from_nothing(2), "tie", 10, runs=2), "takes truth="),
    ]:
        with pytest.raises(ba.InputError, match=message):
            call()
