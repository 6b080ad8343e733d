"""Conditioning is Bayes' rule: dense algebra, the paper's closed forms, reductions, and what must not matter."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bestarm as ba
from oracles import dense
from random_models import SETTINGS, random_counts, random_data, random_model
from tolerances import ALGEBRA, ROUNDING, STANDARD_ERRORS


def close(a, b, tolerance=ALGEBRA):
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@settings(max_examples=150, deadline=None)
@given(setting=st.sampled_from(SETTINGS), seed=st.integers(0, 2**32 - 1), whole=st.booleans())
def test_dense_algebra(setting, seed, whole):
    rng = np.random.default_rng(seed)
    model = random_model(setting, rng)
    counts = random_counts(model.num_arms, rng, whole)
    sums = random_data(model, counts, rng)
    mean, cov = dense.posterior(model.mean, model.cov, model.noise_var, counts, sums)
    got = model._conditioned(counts, sums)
    close(got.mean, mean)
    close(got.cov, cov)
    close(got.var, np.diagonal(cov))
    close(model.after(counts).dense(), cov)
    i, j = np.indices(cov.shape)
    close(got.covariance.diff_var(i, j), np.diagonal(cov)[:, None] + np.diagonal(cov) - 2 * cov)


def full_rank(setting, rng, k=6, d=3):
    root = rng.normal(size=(d, d))
    return (
        rng.normal(size=(k, d)),
        rng.normal(size=d),
        root @ root.T + 0.1 * np.eye(d),
        rng.uniform(0.5, 2, k),
    )


def test_independent_is_the_papers():
    rng = np.random.default_rng(0)
    mean, sd, noise = rng.normal(size=5), rng.uniform(0.1, 1, 5), rng.uniform(0.5, 2, 5)
    counts, sums = np.array([0, 1, 2, 7, 100.0]), np.array([0, 0.3, -1, 5, 80])
    post = ba.Gaussian.independent(mean, sd, noise).condition(counts, sums)
    want_mean, want_var = dense.independent(mean, sd, noise, counts, sums)
    close(post.mean, want_mean, ROUNDING)
    close(post.var, want_var, ROUNDING)


def test_linear_is_the_papers():
    rng = np.random.default_rng(1)
    x, mean, cov, noise = full_rank("linear", rng)
    counts = np.array([0, 1, 2, 7, 100.0, 3])
    sums = rng.normal(size=6) * (counts > 0)
    post = ba.Gaussian.linear(x, mean, cov, noise).condition(counts, sums)
    want_mean, want_cov = dense.linear(x, mean, cov, noise, counts, sums)
    close(post.mean, want_mean)
    close(post.cov, want_cov)


def test_hierarchical_is_the_papers():
    rng = np.random.default_rng(2)
    b, nu, cov, noise = full_rank("hierarchical", rng)
    arm_sd = rng.uniform(0.1, 0.5, 6)
    counts = np.array([0, 1, 2, 7, 100.0, 3])
    sums = rng.normal(size=6) * (counts > 0)
    post = ba.Gaussian.hierarchical(b, nu, cov, arm_sd, noise).condition(counts, sums)
    want_mean, want_var = dense.hierarchical(b, nu, cov, arm_sd, noise, counts, sums)
    close(post.mean, want_mean)
    close(post.var, want_var)


def test_effects_and_arms_given_effects_are_the_papers():
    """The joint effect posterior and the conditional posteriors. The effects are arms too, never evaluated."""
    rng = np.random.default_rng(12)
    b, nu, cov, noise = full_rank("hierarchical", rng)
    arm_sd, counts = rng.uniform(0.1, 0.5, 6), np.array([0, 1, 2, 7, 100.0, 3])
    sums = rng.normal(size=6) * (counts > 0)
    prior = ba.Gaussian.hierarchical(
        np.vstack([b, np.eye(3)]), nu, cov, np.r_[arm_sd, np.zeros(3)], np.r_[noise, np.ones(3)]
    )
    post = prior.condition(np.r_[counts, np.zeros(3)], np.r_[sums, np.zeros(3)])
    want_mean, want_cov = dense.effects(b, nu, cov, arm_sd, noise, counts, sums)
    close(post.mean[6:], want_mean)
    close(post.cov[6:, 6:], want_cov)
    # given effects: by conditioning the joint posterior on them, and by a prior that knows them
    known = rng.normal(size=3)
    want_mean, want_var = dense.arms_given_effects(b, known, arm_sd, noise, counts, sums)
    gain = np.linalg.solve(post.cov[6:, 6:], post.cov[6:, :6]).T
    close(post.mean[:6] + gain @ (known - post.mean[6:]), want_mean)
    close(post.cov[:6, :6] - gain @ post.cov[6:, :6], np.diag(want_var))
    told = ba.Gaussian.hierarchical(b, known, np.zeros((3, 3)), arm_sd, noise).condition(counts, sums)
    close(told.mean, want_mean)
    close(told.cov, np.diag(want_var))


def test_linear_with_identity_features_is_independent():
    rng = np.random.default_rng(3)
    mean, sd = rng.normal(size=7), rng.uniform(0, 1, 7)
    counts = random_counts(7, rng)
    sums = rng.normal(size=7) * (counts > 0)
    a = ba.Gaussian.independent(mean, sd, 0.7).condition(counts, sums)
    b = ba.Gaussian.linear(np.eye(7), mean, np.diag(sd**2), 0.7).condition(counts, sums)
    close(a.mean, b.mean, ROUNDING)
    close(a.cov, b.cov, ROUNDING)


def test_hierarchical_is_the_papers_lifted_linear_model():
    rng = np.random.default_rng(4)
    b, nu, cov, noise = full_rank("hierarchical", rng)
    arm_sd = np.array([0, 0.1, 0.2, 0.3, 0.4, 0.0])
    lifted_cov = np.block([[cov, np.zeros((3, 6))], [np.zeros((6, 3)), np.diag(arm_sd**2)]])
    counts = random_counts(6, rng)
    sums = rng.normal(size=6) * (counts > 0)
    short = ba.Gaussian.hierarchical(b, nu, cov, arm_sd, noise).condition(counts, sums)
    lifted = ba.Gaussian.linear(np.hstack([b, np.eye(6)]), np.r_[nu, np.zeros(6)], lifted_cov, noise)
    long = lifted.condition(counts, sums)
    close(short.mean, long.mean)
    close(short.cov, long.cov)


def test_no_effect_variance_is_independent_exactly():
    mixing = np.arange(6.0).reshape(3, 2)
    model = ba.Gaussian.hierarchical(mixing, [1, 2], np.zeros((2, 2)), [0.1, 0, 0.3])
    assert model.covariance.rank == 0
    twin = ba.Gaussian.independent(mixing @ [1, 2], [0.1, 0, 0.3])
    post, twin = model.condition([1, 2, 3], [1, 2, 3]), twin.condition([1, 2, 3], [1, 2, 3])
    np.testing.assert_array_equal(post.mean, twin.mean)
    np.testing.assert_array_equal(post.var, twin.var)


@pytest.mark.parametrize("setting", SETTINGS)
def test_order_and_batching_do_not_matter(setting):
    rng = np.random.default_rng(5)
    model = random_model(setting, rng, arms=5)
    pulls = rng.integers(0, 5, 40)
    rewards = rng.normal(size=40)
    at_once = model.update(pulls, rewards)
    shuffled = rng.permutation(40)
    close(at_once.mean, model.update(pulls[shuffled], rewards[shuffled]).mean)
    one_by_one = model
    for arm, reward in zip(pulls, rewards, strict=True):
        one_by_one = one_by_one.update(arm, reward)
    close(at_once.mean, one_by_one.mean)
    close(at_once.cov, one_by_one.cov)


@pytest.mark.parametrize("setting", SETTINGS)
def test_batch_axes_are_a_loop(setting):
    rng = np.random.default_rng(6)
    model = random_model(setting, rng, arms=4)
    counts = rng.integers(0, 5, (3, 2, 4)).astype(float)
    counts[0, 0] = 1e13  # one entry of the batch takes the careful way
    sums = rng.normal(size=(3, 2, 4)) * (counts > 0)
    batch = model.condition(counts, sums)
    assert batch.batch_shape == (3, 2)
    again = batch.condition(counts, sums)
    for index in np.ndindex(3, 2):
        alone = model.condition(counts[index], sums[index])
        close(batch.mean[index], alone.mean, ROUNDING)
        close(batch.var[index], alone.var, ROUNDING)
        close(batch.covariance.dense()[index], alone.cov, ROUNDING)
        close(again.var[index], alone.condition(counts[index], sums[index]).var, ROUNDING)
    # one plan, many outcomes: many means, one covariance
    fixed = model.condition(counts[1, 1], np.where(counts[1, 1] > 0, rng.normal(size=(5, 4)), 0.0))
    assert fixed.mean.shape == (5, 4)
    assert fixed.var.shape == (4,)


@pytest.mark.parametrize("setting", SETTINGS)
def test_minimise_is_negated_maximise(setting):
    up = random_model(setting, np.random.default_rng(7), arms=5)
    down = ba.Gaussian(
        -up.mean, up.covariance, up.noise_var, ba.Gaussian.independent(up.mean, 1, direction="minimize").arms
    )
    rewards = np.random.default_rng(8).normal(size=5)
    up, down = up.update(range(5), rewards), down.update(range(5), -rewards)
    close(up.mean, -down.mean, ROUNDING)
    assert up.best == down.best
    assert down.direction == "minimize"
    # the low-rank coordinates of the two are mirrored, so that sampled answers agree to the standard error
    for a, b in ((up.prob_best(), down.prob_best()), (up.expected_regret(), down.expected_regret())):
        np.testing.assert_allclose(a.value, b.value, atol=5 * float(np.max(a.stderr + b.stderr)) + 1e-10)


def test_zero_counts_change_nothing():
    model = random_model("hierarchical", np.random.default_rng(9), arms=4)
    post = model.condition(np.zeros(4), np.zeros(4))
    close(post.mean, model.mean, 0)
    close(post.cov, model.cov, ROUNDING)


def test_deterministic_arm_never_moves():
    post = ba.Gaussian.independent([1, 2], [0, 1]).update([0, 0, 1], [9, 9, 9])
    assert post.mean[0] == 1
    assert post.var[0] == 0


def test_more_directions_than_arms():
    rng = np.random.default_rng(10)
    x, cov = rng.normal(size=(3, 40)), np.diag(rng.uniform(0.1, 1, 40))
    model = ba.Gaussian.linear(x, np.ones(40), cov)
    assert model.covariance.rank == 3
    close(model.cov, x @ cov @ x.T)


def test_names_and_indices_are_the_same_arms():
    model = ba.Gaussian.independent([0, 1, 2], 1, names=["NO", "1e3", "a, b"])
    a = model.update(["1e3", "NO", 2], [1, 2, 3])
    b = model.update([1, 0, 2], [1, 2, 3])
    np.testing.assert_array_equal(a.mean, b.mean)
    assert model.update("NO", 3.0).mean[0] == 1.5
    assert ba.Gaussian.independent([0, 1], 1).names == ("0", "1")
    assert ba.Gaussian.independent(0, 1, names=["x", "y"]).num_arms == 2


def test_models_cannot_be_changed():
    model = ba.Gaussian.independent([0, 1.0], [1, 1])
    with pytest.raises(AttributeError):
        model.mean = np.zeros(2)
    with pytest.raises(ValueError, match="read-only"):
        model.mean[0] = 5
    with pytest.raises(ValueError, match="read-only"):
        model.var[0] = 5
    given = np.array([0.0, 1.0])
    model = ba.Gaussian.independent(given, 1)
    given[0] = 99
    assert model.mean[0] == 0


@pytest.mark.parametrize("setting", SETTINGS)
def test_samples_have_the_models_moments(setting):
    model = random_model(setting, np.random.default_rng(11), arms=3, corners=False)
    draws = model.sample(200_000, rng=1)
    assert draws.shape == (200_000, 3)
    cov = model.cov
    z_mean = (draws.mean(axis=0) - model.mean) / np.sqrt(np.diagonal(cov) / 2e5)
    # the variance of a sample covariance of Gaussians is (S_ii S_jj + S_ij²)/n
    se = np.sqrt((np.outer(np.diagonal(cov), np.diagonal(cov)) + cov**2) / 2e5)
    # 3 + 9 z-scores per setting: a correct sampler fails once in 10,000 runs of the suite
    assert np.abs(z_mean).max() < STANDARD_ERRORS
    assert np.abs((np.cov(draws.T, bias=True) - cov) / se).max() < STANDARD_ERRORS
    assert model.sample(rng=1).shape == (3,)
    assert model.sample((4, 5), rng=1).shape == (4, 5, 3)
    np.testing.assert_array_equal(model.sample(3, rng=7), model.sample(3, rng=np.random.default_rng(7)))


def test_rewards_have_their_arms_mean_and_noise():
    model = ba.Gaussian.independent([0, 0], 1, noise=[0.5, 2.0], names=["a", "b"])
    arms = np.repeat([0, 1], 100_000)
    rewards = model.sample_rewards([3.0, -1.0], arms, rng=0).reshape(2, -1)
    np.testing.assert_allclose(rewards.mean(axis=1), [3, -1], atol=STANDARD_ERRORS * 2 / np.sqrt(1e5))
    np.testing.assert_allclose(rewards.std(axis=1), [0.5, 2], rtol=STANDARD_ERRORS / np.sqrt(2e5))
    worlds = model.sample(6, rng=0)
    assert model.sample_rewards(worlds, ["a", "b", "a"], rng=0).shape == (6, 3)
    assert model.sample_rewards(worlds, np.zeros((6, 2), dtype=int), rng=0).shape == (6, 2)
    assert np.shape(model.sample_rewards(worlds[0], "a", rng=0)) == ()
