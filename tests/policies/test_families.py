"""Every policy on every family of arms: runs, spends its budget, is right more often with more, and knows its limits."""

import numpy as np
import pytest

import bestarm as ba
from bestarm.models import best_beta
from bestarm.policies.contract import Problem
from bestarm.policies.top_two import beta_challenger_draw, beta_transport

X = np.random.default_rng(0).normal(size=(5, 2))
MODELS = {
    "bernoulli": ba.Bernoulli.independent([1, 2, 3, 4, 5], [4, 4, 3, 3, 3]),
    "bernoulli, minimised": ba.Bernoulli.independent([1, 2, 3, 4, 5], [4, 4, 3, 3, 3], direction="minimize"),
    "logistic": ba.Logistic(X, [0.3, 0.1], np.eye(2)),
    "one unknown noise": ba.Gaussian.independent(np.linspace(0, 1, 5), 0.5, ba.UnknownNoise(2, 2)),
    "unknown noise each": ba.Gaussian.independent(np.linspace(0, 1, 5), 0.5, ba.UnknownNoise(2, 2, False)),
    "unknown noise, linear": ba.Gaussian.linear(X, [0.3, 0.1], np.eye(2), ba.UnknownNoise(2, 2)),
}
NAMES = ba.policies.names()


@pytest.mark.parametrize("family", MODELS)
@pytest.mark.parametrize("name", NAMES)
def test_runs_on_every_family(name, family):
    model = MODELS[family]
    if name.startswith("gse"):
        with pytest.raises(ba.InputError, match="not linear"):
            ba.simulate(model, name, 20, runs=2)
        return
    results = ba.simulate(model, name, 23, runs=6)
    assert results.complete
    assert np.isfinite(results.outcome(name, 23.0)).all()
    assert ba.simulate(model, name, 4, runs=2, batch=2).complete


@pytest.mark.parametrize("family", ["bernoulli", "logistic", "one unknown noise"])
@pytest.mark.parametrize(
    "name", ["uniform", "tie", "warmup-ts", "rolling", "sr", "ts", "joint-ttts", "joint-ts-tci", "bayesgap"]
)
def test_more_evaluations_help(name, family):
    """600 runs at 20 and at 400 evaluations: the error falls by more than 4 standard errors of the difference."""
    results = ba.simulate(MODELS[family], name, [20, 400], runs=600)
    few, many = (results.estimate(name, b) for b in (20.0, 400.0))
    assert few.value - many.value > 4 * np.hypot(few.stderr, many.stderr)


@pytest.mark.parametrize("name", ["uniform", "rolling", "ts-tci"])
def test_the_conditional_error_is_the_realised_one_on_average(name):
    """Yes/no arms and unknown noise: paired over 4,000 runs, |z| < 4.5."""
    for family in ("bernoulli", "one unknown noise"):
        results = ba.simulate(MODELS[family], name, 30, runs=4000)
        gap = results.outcome(name, 30.0, "wrong") - results.outcome(name, 30.0)
        assert abs(gap.mean()) < 4.5 * gap.std() / np.sqrt(len(gap))


def test_fixed_plans_err_as_evaluate_says():
    """Yes/no arms: 6,000 simulated runs within 4.5 standard errors of the sum over outcomes."""
    model = MODELS["bernoulli"]
    found = ba.simulate(model, "tie", 40, runs=6000).estimate("tie", 40.0)
    assert abs(found.value - ba.plan(model, 40, "tie").evaluation.error.value) < 4.5 * found.stderr


def test_the_beta_challenger_is_drawn_from_russos_law():
    """P(J = j | I) = a_j/(1 − a_I) by quadrature: 40,000 draws, 4.5 standard errors; a sure leader has a rival too."""
    a, b = np.array([3.0, 5, 2, 4]), np.array([2.0, 4, 3, 2])
    chance = best_beta.independent(a[None], b[None])[0][0]
    rng = np.random.default_rng(0)
    for leader in range(4):
        found = beta_challenger_draw(np.tile(a, (40_000, 1)), np.tile(b, (40_000, 1)), np.full(40_000, leader), rng)
        want = np.where(np.arange(4) == leader, 0, chance / (1 - chance[leader]))
        share = np.bincount(found, minlength=4) / 40_000
        assert (np.abs(share - want) <= 4.5 * np.sqrt(want * (1 - want) / 40_000)).all()
    sure = beta_challenger_draw(np.array([[900.0, 1, 2]]), np.array([[1.0, 900, 900]]), np.array([0]), rng)
    assert sure[0] in (1, 2)


def test_beta_transport_is_the_least_information():
    """W_j = min over x of N_L kl(m_L, x) + N_j kl(m_j, x): by a fine grid."""
    a, b = np.array([[8.0, 3, 2]]), np.array([[2.0, 4, 5]])
    cost = beta_transport(a, b, np.array([0]))[0]
    x, worth = np.linspace(1e-4, 1 - 1e-4, 200_001), (a + b)[0]
    mean = (a / (a + b))[0]

    def kl(p):
        return p * np.log(p / x) + (1 - p) * np.log((1 - p) / (1 - x))

    for j in (1, 2):
        assert cost[j] == pytest.approx((worth[0] * kl(mean[0]) + worth[j] * kl(mean[j])).min(), rel=1e-6)
    assert beta_transport(a, b, np.array([1]))[0, 0] == 0


def test_looking_ahead():
    """Gaussian arms: the gain is that of the exact error, to the nodes over outcomes. Yes/no arms, whose view is Gaussian:
    choosing by it loses less than 0.002 of exact gain on average, and what cannot change the decision gains nothing.
    """
    from bestarm.design.batch import gain_of

    rng = np.random.default_rng(0)
    a, b = rng.integers(1, 9, (40, 3)) * 1.0, rng.integers(1, 9, (40, 3)) * 1.0
    model = ba.Bernoulli(a, b, ba.Bernoulli.independent([1, 1, 1], [1, 1, 1]).arms)

    def error(m):
        return 1 - np.take_along_axis(m.prob_best().value, np.argmax(m.mean, axis=1)[:, None], axis=1)[:, 0]

    exact = np.zeros((40, 3))
    for k in range(3):
        one = np.zeros((40, 3))
        one[:, k] = 1
        p = model.mean[:, k]
        after = p * error(model._conditioned(one, one)) + (1 - p) * error(model._conditioned(one, 0 * one))
        exact[:, k] = error(model) - after
    found = gain_of(1, model)
    chosen = exact[np.arange(40), np.argmax(found, axis=1)]
    assert (exact.max(axis=1) - chosen).mean() < 0.002
    assert (found[np.abs(exact) < 1e-9] == 0).all()

    gauss = ba.Gaussian.independent([0.1, 0.3, 0.25], [0.4, 0.3, 0.5], [1.0, 0.5, 2.0])
    found = gain_of(1, gauss._runs(1))[0]
    for k in range(3):
        exact = ba.error_probability(gauss, [0, 0, 0]).value - ba.error_probability(gauss, np.eye(3)[k]).value
        assert found[k] == pytest.approx(exact, abs=1e-3)
        many = ba.error_probability(gauss, [0, 0, 0]).value - ba.error_probability(gauss, 5 * np.eye(3)[k]).value
        assert gain_of(5, gauss._runs(1))[0, k] == pytest.approx(many, abs=1e-3)


def test_rolling_looks_ahead_only_where_it_may():
    """Not with stages or batches of one's own, nor where arms are correlated, nor where guarded."""
    model = MODELS["bernoulli"]
    problem = Problem(model, 10, np.ones(5), 2)
    view = model.gaussian()
    assert ba.policies.Rolling()._looks_ahead(problem, view)
    for options in ({"stages": 3}, {"batch": 2}, {"guarded": True}):
        assert not ba.policies.Rolling(**options)._looks_ahead(problem, view)
    assert not ba.policies.Rolling()._looks_ahead(Problem(model, 10, np.ones(5), 2, batch=4), view)
    linear = ba.Gaussian.linear(X, [0, 0], np.eye(2))
    assert not ba.policies.Rolling()._looks_ahead(problem, linear)
