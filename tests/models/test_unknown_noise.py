"""Unknown noise: the posterior against weighted draws, the t distribution, coverage, plug-ins, bad input."""

import numpy as np
import pytest
from scipy import stats

import bestarm as ba

MEAN, SD = np.linspace(0, 1, 4), np.array([0.5, 0.4, 0.3, 0.6])
RNG = np.random.default_rng(0)
REWARDS = RNG.normal([0.2, 0.5, 1.4, 0.6], 1.3, (3, 4))
ARMS = np.tile(np.arange(4), 3)


def weighted(model, law, rewards, number=1_500_000):
    """Self-normalised importance sampling from the prior: draws of means, their weights."""
    rng = np.random.default_rng(1)
    means = model.sample(number, rng)
    size = (number, 1) if law.shared else (number, 4)
    var = law.scale / rng.gamma(law.shape, 1, size)
    miss = ((rewards[None] - means[:, None, :]) ** 2).sum(axis=1)
    log_weight = (-len(rewards) / 2 * np.log(var) - miss / (2 * var)).sum(axis=1) if not law.shared else (
        -rewards.size / 2 * np.log(var[:, 0]) - miss.sum(axis=1) / (2 * var[:, 0])
    )  # fmt: skip
    weight = np.exp(log_weight - log_weight.max())
    return means, weight / weight.sum(), np.sqrt(var)


@pytest.mark.parametrize(
    ("setting", "shared"), [("independent", True), ("independent", False), ("hierarchical", True), ("linear", True)]
)
def test_against_weighted_draws(setting, shared):
    """Means, variances, noise and chances: within 4.5 standard errors of the weighted average, plus 2e-3 of the grid."""
    law = ba.UnknownNoise(1.5, 1.0, shared)
    features = np.random.default_rng(2).normal(size=(4, 2))
    make = {
        "independent": lambda noise: ba.Gaussian.independent(MEAN, SD, noise),
        "linear": lambda noise: ba.Gaussian.linear(features, [0.3, 0.2], np.eye(2), noise),
        "hierarchical": lambda noise: ba.Gaussian.hierarchical(features, [0, 1], 0.3 * np.eye(2), 0.3, noise),
    }[setting]
    posterior = make(law).update(ARMS, REWARDS.ravel())
    means, weight, noise = weighted(make(1.0), law, REWARDS)
    size = 1 / (weight**2).sum()
    mean = weight @ means
    var = weight @ (means - mean) ** 2
    assert (np.abs(posterior.mean - mean) < 4.5 * np.sqrt(var / size) + 2e-3).all()
    np.testing.assert_allclose(posterior.var, var, rtol=4.5 * np.sqrt(2 / size) + 0.02)
    chance = np.bincount(means.argmax(axis=1), weights=weight, minlength=4)
    found = posterior.prob_best()
    assert (np.abs(found.value - chance) < 4.5 * np.sqrt(chance / size) + 4.5 * found.stderr + 3e-3).all()
    np.testing.assert_allclose(posterior.noise, weight @ np.broadcast_to(noise, means.shape), rtol=0.02)


def test_one_arm_with_a_wide_prior_is_students_t():
    """The textbook: (r − ȳ)/(s/√n) is t with n − 1 degrees of freedom under the flat prior on (r, log σ)."""
    y = np.array([1.2, 0.4, 2.2, 1.9, 0.1, 1.1])
    posterior = ba.Gaussian.independent([0.0], [1e4], ba.UnknownNoise(0.05, 1e-9)).update([0] * 6, y)
    t = stats.t(5 + 0.1, y.mean(), y.std(ddof=1) / np.sqrt(6) * np.sqrt(5 / 5.1))
    np.testing.assert_allclose(posterior.interval(0.9)[0], t.interval(0.9), rtol=3e-3)
    np.testing.assert_allclose(posterior.interval(0.5)[0], t.interval(0.5), rtol=3e-3)


def test_known_noise_is_the_limit():
    sharp = ba.Gaussian.independent(MEAN, SD, ba.UnknownNoise(1e8, 1e8 * 1.69)).update(ARMS, REWARDS.ravel())
    known = ba.Gaussian.independent(MEAN, SD, 1.3).update(ARMS, REWARDS.ravel())
    np.testing.assert_allclose(sharp.mean, known.mean, atol=1e-6)
    np.testing.assert_allclose(sharp.var, known.var, rtol=1e-6)
    np.testing.assert_allclose(sharp.prob_best().value, known.prob_best().value, atol=1e-6)


@pytest.mark.parametrize("shared", [True, False])
def test_intervals_cover(shared):
    """3,000 worlds, 4 arms, 5 evaluations each: 90 % intervals cover within 4.5 binomial standard errors."""
    model = ba.Gaussian.independent(MEAN, SD, ba.UnknownNoise(2.0, 1.5, shared))
    rng = np.random.default_rng(3)
    means, source = model._worlds(3000, rng)
    sums = source.sample_sums(means, np.full(4, 5.0), rng, 2)
    interval = model._conditioned(np.full((3000, 4), 5.0), sums).interval(0.9)
    covered = (interval[..., 0] < means) & (means < interval[..., 1])
    stderr = covered.mean(axis=1).std() / np.sqrt(3000)
    assert abs(covered.mean() - 0.9) < 4.5 * stderr


def test_sums_and_squares_are_of_real_rewards():
    """sample_sums draws (Σy, Σy²) with the law of rewards: means and variances of both, 40,000 worlds, 4.5 errors."""
    model = ba.Gaussian.independent([1.0], [0.0], 2.0)
    draws = model.sample_sums(np.ones((40_000, 1)), np.array([3.0]), np.random.default_rng(0), 2)[:, 0]
    rewards = np.random.default_rng(1).normal(1.0, 2.0, (40_000, 3))
    other = np.stack([rewards.sum(axis=1), (rewards**2).sum(axis=1)], axis=1)
    for p in (1, 2):
        gap = (draws**p).mean(axis=0) - (other**p).mean(axis=0)
        assert (np.abs(gap) < 4.5 * np.hypot((draws**p).std(axis=0), (other**p).std(axis=0)) / 200).all()


def test_order_and_batches_do_not_matter():
    model = ba.Gaussian.independent(MEAN, SD, ba.UnknownNoise(2, 1))
    whole = model.update(ARMS, REWARDS.ravel())
    parts = model.update(ARMS[5:], REWARDS.ravel()[5:]).update(ARMS[:5], REWARDS.ravel()[:5])
    sums = model.condition([3] * 4, REWARDS.sum(axis=0), (REWARDS**2).sum(axis=0))
    one_by_one = model._runs(2)
    for arm, reward in zip(ARMS, REWARDS.ravel(), strict=True):
        one_by_one = one_by_one._after_one(np.array([arm, arm]), np.array([reward, reward]))
    for other in (parts.mean, sums.mean, one_by_one.mean[1]):
        np.testing.assert_allclose(whole.mean, other, rtol=1e-9)


def test_minimising_is_maximising_the_negative():
    up = ba.Gaussian.independent(MEAN, SD, ba.UnknownNoise(2, 1)).update(ARMS, REWARDS.ravel())
    down = ba.Gaussian.independent(-MEAN, SD, ba.UnknownNoise(2, 1), direction="minimize").update(
        ARMS, -REWARDS.ravel()
    )
    np.testing.assert_allclose(up.mean, -down.mean)
    np.testing.assert_allclose(up.prob_best().value, down.prob_best().value)
    assert up.best == down.best


def test_plans_and_the_view():
    model = ba.Gaussian.independent(MEAN, SD, ba.UnknownNoise(3, 2))
    assert model.gaussian().noise_var == pytest.approx(np.full(4, 2 / 3), rel=1e-2)  # 1/E[1/σ²] = scale/shape
    made = ba.plan(model, 60)
    assert made.counts.sum() == 60
    assert made.evaluation.error.stderr > 0
    assert (model.after([5] * 4).var < model.var).all()


def test_plug_in():
    sd = ba.UnknownNoise.plug_in(["a", "a", "b", "b", "b", "c"], [1.0, 3.0, 2.0, 2.0, 5.0, 9.0])
    assert sd == pytest.approx(np.sqrt((2.0 + 6.0) / 3))
    each = ba.UnknownNoise.plug_in(["a", "a", "b", "b", "b", "c"], [1.0, 3.0, 2.0, 2.0, 5.0, 9.0], shared=False)
    assert each == pytest.approx({"a": np.sqrt(2.0), "b": np.sqrt(3.0)})


def test_bad_input():
    model = ba.Gaussian.independent(MEAN, SD, ba.UnknownNoise(2, 1))
    for call, message in [
        (lambda: ba.UnknownNoise(0, 1), "shape is 0"),
        (lambda: ba.UnknownNoise(1, -1), "scale is -1"),
        (lambda: ba.UnknownNoise(1, 1, shared=3), "shared is 3"),
        (lambda: ba.UnknownNoise(0.01, 1), "expected a number from 0.05"),
        (lambda: model.condition([1] * 4, [1] * 4), "squares is None"),
        (lambda: model.condition([2] * 4, [4] * 4, [1] * 4), "less than sums"),
        (lambda: model.condition([0, 1, 1, 1], [0, 1, 1, 1], [1, 1, 1, 1]), "never evaluated"),
        (lambda: ba.UnknownNoise.plug_in(["a", "b"], [1.0, 2.0]), "no arm with two different rewards"),
        (lambda: ba.UnknownNoise.plug_in(["a"], [1.0, 2.0]), "arms has 1 entries"),
    ]:
        with pytest.raises(ba.InputError, match=message):
            call()
