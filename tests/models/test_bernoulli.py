"""Yes/no arms: exact posteriors, exact chances to be best, the Gaussian view, bad input."""

import mpmath as mp
import numpy as np
import pytest

import bestarm as ba

MODEL = ba.Bernoulli.independent([1, 2, 3], [2, 2, 1], names=["a", "b", "c"])


def test_conjugacy_against_a_grid():
    """Posterior mean and variance of each arm by brute force over a grid of success probabilities."""
    posterior = MODEL.update(["a", "c", "c", "b", "c"], [1, 0, 1, 1, 1])
    p = (np.arange(200_000) + 0.5) / 200_000
    for k, (successes, failures) in enumerate([(1, 0), (1, 0), (2, 1)]):
        weight = p ** (MODEL.alpha[k] - 1 + successes) * (1 - p) ** (MODEL.beta[k] - 1 + failures)
        weight /= weight.sum()
        assert posterior.mean[k] == pytest.approx(weight @ p, abs=1e-9)
        assert posterior.var[k] == pytest.approx(weight @ p**2 - (weight @ p) ** 2, abs=1e-9)


def test_order_and_batches_do_not_matter():
    rng = np.random.default_rng(0)
    arms, rewards = rng.integers(0, 3, 50), rng.integers(0, 2, 50)
    whole = MODEL.update(arms, rewards)
    order = rng.permutation(50)
    parts = MODEL.update(arms[order[:20]], rewards[order[:20]]).update(arms[order[20:]], rewards[order[20:]])
    sums = MODEL.condition(np.bincount(arms, minlength=3), np.bincount(arms, weights=rewards, minlength=3))
    for other in (parts, sums):
        np.testing.assert_array_equal(whole.alpha, other.alpha)
        np.testing.assert_array_equal(whole.beta, other.beta)
    assert MODEL.condition([0, 0, 0], [0, 0, 0]).mean == pytest.approx(MODEL.mean)


@pytest.mark.parametrize(
    ("a", "b"),
    [([1, 2, 3], [1, 1, 2]), ([0.5, 0.5, 20], [0.5, 3, 30]), ([300, 301, 10], [200, 200, 5]), ([0.3, 2], [0.4, 1])],
)
def test_best_by_twenty_five_digits(a, b):
    """prob_best and expected_regret to 1e-8 against adaptive quadrature in 25 digits (tanh-sinh takes singular ends)."""
    mp.mp.dps = 25
    arms = range(len(a))

    def cdf(k, x):
        return mp.betainc(a[k], b[k], 0, x, regularized=True)

    def density(j, x):
        return mp.mpf(x) ** (a[j] - 1) * (1 - mp.mpf(x)) ** (b[j] - 1) / mp.beta(a[j], b[j])

    cuts = [0, 0.01, 0.25, 0.5, 0.57, 0.6, 0.63, 0.75, 0.99, 1]
    chance = [mp.quad(lambda x, j=j: density(j, x) * mp.fprod(cdf(k, x) for k in arms if k != j), cuts) for j in arms]
    top = mp.quad(lambda x: 1 - mp.fprod(cdf(k, x) for k in arms), cuts)
    model = ba.Bernoulli.independent(a, b)
    np.testing.assert_allclose(model.prob_best().value, [float(c / sum(chance)) for c in chance], atol=1e-8)
    np.testing.assert_allclose(
        model.expected_regret().value, [float(top - mp.mpf(a[k]) / (a[k] + b[k])) for k in arms], atol=1e-8
    )


def test_extreme_parameters_against_draws():
    """Beta(0.001, ·) to Beta(10⁶, ·): one million draws, 4.5 standard errors."""
    rng = np.random.default_rng(1)
    for a, b in [([1e-3, 1e-2, 0.05], [1e-3, 2e-2, 0.1]), ([1e6, 1e6 + 500, 1], [1e6, 1e6, 1])]:
        model = ba.Bernoulli.independent(a, b)
        draws = model.sample(1_000_000, rng)
        share = np.bincount(draws.argmax(axis=1), minlength=3) / len(draws)
        if min(a) > 0.01:  # tiny ones underflow to exact ties in doubles
            assert (
                np.abs(share - model.prob_best().value) < 4.5 * np.sqrt(share * (1 - share) / len(draws)) + 1e-6
            ).all()
        short = draws.max(axis=1, keepdims=True) - draws
        error = 4.5 * short.std(axis=0) / 1000 + 1e-6
        assert (np.abs(short.mean(axis=0) - model.expected_regret().value) < error).all()


def test_equal_arms_share():
    model = ba.Bernoulli.independent([2.0] * 5, [3.0] * 5)
    np.testing.assert_allclose(model.prob_best().value, 0.2, atol=1e-10)
    assert ba.Bernoulli.independent([2], [3]).prob_best().value == pytest.approx([1.0])
    assert ba.Bernoulli.independent([2], [3]).expected_regret().value == pytest.approx([0.0])


def test_minimising_is_maximising_failures():
    turned = ba.Bernoulli.independent([2, 2, 1], [1, 2, 3], direction="minimize")
    np.testing.assert_allclose(turned.prob_best().value, MODEL.prob_best().value)
    np.testing.assert_allclose(turned.expected_regret().value, MODEL.expected_regret().value)
    assert turned.best == MODEL.best


def test_the_gaussian_view_has_the_posterior_means_of_the_beta():
    """And its variance is the Beta's expected one: averaged over all outcomes of 6 evaluations, to rounding."""
    from scipy.stats import betabinom

    view = MODEL.gaussian()
    np.testing.assert_allclose(view.var, MODEL.var)
    for k, (a, b) in enumerate(zip(MODEL.alpha, MODEL.beta, strict=True)):
        counts = 6.0 * np.eye(3)[k]
        s = np.arange(7)
        chance = betabinom.pmf(s, 6, a, b)
        posteriors = [MODEL.condition(counts, x * np.eye(3)[k]) for x in s]
        np.testing.assert_allclose(
            [p.mean[k] for p in posteriors], [view.condition(counts, x * np.eye(3)[k]).mean[k] for x in s]
        )
        assert chance @ [p.var[k] for p in posteriors] == pytest.approx(MODEL.after(counts).var[k])


def test_batches():
    counts = np.array([[1, 0, 2], [3, 3, 3]])
    sums = np.array([[1, 0, 1], [0, 3, 2]])
    batch = MODEL.condition(counts, sums)
    assert batch.batch_shape == (2,)
    for r in range(2):
        one = MODEL.condition(counts[r], sums[r])
        np.testing.assert_allclose(batch.prob_best().value[r], one.prob_best().value)
        assert batch.best[r] == one.best


def test_rewards_are_drawn_with_the_arms_chances():
    """20,000 rewards an arm: within 4.5 standard errors."""
    rewards = MODEL.sample_rewards([0.2, 0.5, 0.9], np.repeat([0, 1, 2], 20_000), 0).reshape(3, -1)
    assert set(np.unique(rewards)) == {0.0, 1.0}
    p = np.array([0.2, 0.5, 0.9])
    assert (np.abs(rewards.mean(axis=1) - p) < 4.5 * np.sqrt(p * (1 - p) / 20_000)).all()


def test_bad_input():
    for call, message in [
        (lambda: ba.Bernoulli.independent([0, 1], [1, 1]), r"alpha\[0\] is 0; expected a number above 0"),
        (lambda: ba.Bernoulli.independent([1, 1], [-1, 1]), r"beta\[0\] is -1"),
        (lambda: ba.Bernoulli.independent([1, 1], [1, 1, 1]), "beta has shape"),
        (lambda: ba.Bernoulli.independent(1, 1), "expected a list with one number per arm"),
        (lambda: ba.Bernoulli.independent([], []), "0 entries"),
        (lambda: ba.Bernoulli.independent([1e12], [1]), "alpha is 1e\\+12; expected a number from"),
        (lambda: MODEL.update(["a"], [0.5]), r"rewards\[0\] is 0.5; expected 0 or 1"),
        (lambda: MODEL.update(["a", "b"], [1, 2]), r"rewards\[1\] is 2; expected 0 or 1"),
        (lambda: MODEL.condition([1, 0, 0], [2, 0, 0]), "expected numbers of successes"),
        (lambda: MODEL.condition([1, 0, 0], [0.5, 0, 0]), "expected numbers of successes"),
        (lambda: MODEL.condition([1.5, 0, 0], [1, 0, 0]), "whole number"),
    ]:
        with pytest.raises(ba.InputError, match=message):
            call()
