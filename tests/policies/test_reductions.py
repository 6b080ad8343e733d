"""Policies that are other policies in special cases, and the kernels that are other functions."""

import numpy as np
import pytest

import bestarm as ba
from bestarm.design import kernels
from bestarm.design.batch import expected_errors, tie_shares
from bestarm.design.objectives import PairSum
from bestarm.design.tie import tie_weights
from bestarm.error.given import error_given_data
from policies.running import play
from random_models import SETTINGS, random_model


@pytest.mark.parametrize("setting", SETTINGS)
def test_rolling_with_one_stage_is_the_tie_plan(setting):
    model = random_model(setting, np.random.default_rng(2), arms=6, corners=False)
    for options in ({}, {"guarded": True}):
        counts, _, steps = play(ba.policies.Rolling(stages=1, **options), model, 40, runs=2)
        assert len(steps) == 1
        np.testing.assert_array_equal(counts, np.tile(ba.plan(model, 40, "tie").counts, (2, 1)))


def test_bayes_elim_with_a_flat_prior_ranks_as_sequential_halving():
    """8 arms, 24 m evaluations: the schedules agree; ranking by posterior mean is ranking by average."""
    means = np.random.default_rng(0).normal(size=(20, 8))
    flat = ba.Gaussian.independent(np.zeros(8), 1e6)
    halving = play(ba.policy("sh"), flat, 48, runs=20, means=means)
    bayes = play(ba.policy("bayes-elim"), flat, 48, runs=20, means=means)
    np.testing.assert_array_equal(halving[0], bayes[0])
    np.testing.assert_array_equal(halving[1], bayes[1])


def test_two_equal_arms():
    """Every policy that learns splits two exchangeable arms alike, on average: within 4.5 standard errors."""
    model = ba.Gaussian.independent([0.0, 0.0], 1.0)
    for name in ba.policies.names():
        if name.startswith("gse"):
            continue
        counts, _, _ = play(ba.policy(name), model, 20, runs=2000)
        share = counts[:, 0]
        assert abs(share.mean() - 10) < 4.5 * max(share.std(), 0.5) / np.sqrt(2000) + (0.5 if share.std() < 1 else 0)


@pytest.mark.parametrize("setting", SETTINGS)
def test_batched_tie_plans_are_tie_plans(setting):
    """In the objective of the certified plan: within 1 % for independent arms, 6 % where 64 draws stand for 8,192."""
    worst = 0.0
    for seed in range(6):
        model = random_model(setting, np.random.default_rng(seed), arms=6, corners=False)
        objective = PairSum(model, tie_weights(model))
        best = ba.plan(model, 200, "tie")
        shares = tie_shares(model._runs(1), np.array([200.0]), np.ones(6))
        for _ in range(3):  # as a rolling plan goes on from its last shares
            shares = tie_shares(model._runs(1), np.array([200.0]), np.ones(6), shares)
        assert shares.sum() == pytest.approx(1)
        worst = max(worst, objective.value(200 * shares[0]) / best.objective - 1)
    assert worst < (0.01 if setting == "independent" else 0.06)


def test_tie_plans_where_nothing_is_in_doubt():
    certain = ba.Gaussian.independent([0.0, 1.0, 0.5], 0.0)
    assert tie_shares(certain._runs(2), np.array([10.0, 10.0]), np.ones(3)).sum(axis=1) == pytest.approx(1)
    far = ba.Gaussian.independent([0.0, 1e6, 0.5], 0.1)
    assert np.isfinite(tie_shares(far._runs(1), np.array([10.0]), np.ones(3))).all()


@pytest.mark.parametrize("setting", SETTINGS)
def test_expected_errors_average_to_the_exact_error(setting):
    """4,096 points; 4.5 standard errors of plain sampling, which is more than quasi-random points have."""
    model = random_model(setting, np.random.default_rng(5), arms=4, corners=False)
    counts = np.array([[3.0, 0.0, 5.0, 2.0]])
    values = expected_errors(model._runs(1), counts, points=4096)[0]
    exact = float(ba.error_probability(model, counts[0]).value)
    assert abs(values.mean() - exact) < 4.5 * values.std() / np.sqrt(4096)
    rank = model.covariance.rank
    normals = np.random.default_rng(0).standard_normal((4096, 2 * rank + 5))
    m, f, d = model.mean[None], model.covariance.factor[None], model.covariance.diag[None]
    union = kernels.error_given_counts(m, f, d, model.noise_var[None], counts, normals, True)[0]
    bound = ba.error_bound(model, counts[0], "anchored")
    assert abs(union.mean() - float(bound.value)) < 4.5 * union.std() / 64


@pytest.mark.parametrize("setting", SETTINGS)
def test_error_given_data_is_the_posteriors(setting):
    """One posterior of many runs: 1 − P(J best) and its regret; by draws within 4.5 standard errors."""
    model = random_model(setting, np.random.default_rng(6), arms=5, corners=False)
    runs = 2000
    posterior = model._conditioned(np.array([2.0, 0, 1, 3, 1]), np.tile([1.0, 0, 0.5, 2, 0.2], (runs, 1)))
    picked = np.resize(np.arange(5), runs)
    error, regret = error_given_data(posterior, picked, np.random.default_rng(0))
    single = model._conditioned(np.array([2.0, 0, 1, 3, 1]), np.array([1.0, 0, 0.5, 2, 0.2]))
    chance, short = single.prob_best(), single.expected_regret()
    for j in range(5):
        mine = picked == j
        for found, want in ((error, 1 - chance.value[j]), (regret, short.value[j])):
            spread = found[mine].std() / np.sqrt(mine.sum())
            assert abs(found[mine].mean() - want) < 4.5 * spread + 5 * float(chance.stderr[j]) + 1e-6


def test_guarded_rolling_never_loses_to_its_plan():
    """Paired with the fixed tie plan it starts from, 3,000 runs: the mean difference is not above 0 by 3 stderr.

    A false alarm has probability 0.1 % if guarding gains nothing; here it gains.
    """
    model = ba.Gaussian.independent(np.linspace(0, 1, 6), np.linspace(0.1, 0.5, 6))
    results = ba.simulate(
        model, {"tie": "tie", "guarded": ba.policies.Rolling(stages=6, guarded=True)}, [12, 60], runs=3000
    )
    gap = results.paired("guarded", "tie")
    assert (gap["difference"] < 3 * gap["stderr"]).all()
    assert gap["difference"][1] < 0
