"""What is said of an experiment's end: sentences that are true, and doubts where the data contradict the prior."""

import numpy as np
import pytest

import bestarm as ba
from bestarm.checks.conflict import noise_conflict
from bestarm.experiment.recommendation import Evidence
from bestarm.policies.contract import Problem

PRIOR = ba.Gaussian.independent([0, 0.2, 0.4], [0.5, 0.4, 0.3], noise=0.7, names=["a", "b", "c"])


@pytest.fixture
def experiment(quick):
    return ba.Experiment.create(f"{quick}/e.db", "e", PRIOR, budget=60)


def played(policy, model, runs, budget, seed=0):
    """Counts, sums and squares of each run of a policy in the world that it believes in, (R, K)."""
    rng, rule = np.random.default_rng(seed), ba.policy(policy)
    truth, price = model.sample(runs, rng), np.ones(model.num_arms)
    state = rule.start(Problem(model, budget, price, runs), rng)
    counts, sums, squares = (np.zeros(truth.shape) for _ in range(3))
    while True:
        state, pulls = rule.next(state, budget - counts.sum(axis=1), rng)
        if pulls.none:
            return counts, sums, squares
        n = pulls.per_arm(*truth.shape)
        most = int(n.max())
        rewards = truth[..., None] + np.sqrt(model.noise_var)[:, None] * rng.standard_normal((*truth.shape, most))
        rewards = rewards * (np.arange(most) < n[..., None])
        total = rewards.sum(axis=-1)
        counts, sums, squares = counts + n, sums + total, squares + (rewards**2).sum(axis=-1)
        rows = np.arange(runs)
        state = rule.observe(state, pulls, total if pulls.arms is None else total[rows, pulls.arms])
        if (counts.sum(axis=1) >= budget).all():
            return counts, sums, squares


@pytest.mark.parametrize("policy", ["uniform", "rolling", "ts"])
def test_a_right_prior_is_hardly_ever_doubted(policy):
    """Also where choices depend on what was seen: at p < 0.001 of two checks, 400 runs expect 0.8 alarms.

    More than 5 have a chance of 2e-4 (Poisson).
    """
    model = ba.Gaussian.independent(np.linspace(0, 1, 6), np.linspace(0.1, 0.5, 6))
    counts, sums, squares = played(policy, model, 400, 60)
    none = np.zeros(6)
    alarms = sum(bool(Evidence(model, *each, none).doubts()) for each in zip(counts, sums, squares, strict=True))
    assert alarms <= 5


def test_a_prior_that_is_far_off_is_doubted(experiment):
    experiment.add("a", values=[5.0, 5.4, 4.7])
    found = experiment.recommend()
    assert found.doubts
    assert "the data contradict the prior" in found.text
    assert "'a'" in found.doubts[0]


def test_noise_that_is_far_off_is_doubted(experiment):
    rng = np.random.default_rng(0)
    experiment.add("c", values=0.4 + 5 * rng.standard_normal(20))
    (doubt, *_) = experiment.recommend().doubts
    assert "scatters" in doubt
    p, times = noise_conflict(PRIOR, [0, 0, 20], [0, 0, 1.0], [0, 0, 20 * 25.0])
    assert p < 1e-6
    assert times == pytest.approx(np.sqrt((500 - 1 / 20) / 19 / 0.49))
    assert noise_conflict(PRIOR, [1, 1, 1], [0, 0, 1.0], [0, 0, 1.0])[0] == 1


def test_rewards_far_from_zero_are_doubted_where_the_noise_is_learned(quick):
    rng = np.random.default_rng(1)
    for name, shift in (("near", 0.0), ("far", 1.7e9)):
        experiment = ba.Experiment.create(f"{quick}/{name}.db", "e", ["a", "b", "c"], budget=60)
        for k, arm in enumerate("abc"):
            experiment.add(arm, values=shift + k + rng.standard_normal(20))
        assert any("subtract a constant" in doubt for doubt in experiment.recommend().doubts) == (name == "far")


def test_failures_are_named(experiment):
    while trials := experiment.ask():
        for trial in trials:
            experiment.fail(trial) if trial.name == "c" else experiment.tell(trial, 0.1 * trial.arm)
    assert "Of 'c' nothing is known but the prior" in experiment.recommend().text


def test_no_single_rival_and_yet_nothing_is_clear(quick):
    model = ba.Gaussian.independent(np.zeros(60), 1.0)
    experiment = ba.Experiment.create(f"{quick}/m.db", "e", model, budget=700)
    experiment.add("0", mean=0.62, n=100)
    for k in range(1, 60):
        experiment.add(k, mean=0.0, n=9)
    found = experiment.recommend()
    assert found.tied == ()
    assert float(found.chance) < 0.5
    assert "clearly behind" not in found.text
    assert "one of them may well be" in found.text


def test_a_margin_makes_fewer_arms_tied(experiment):
    experiment.add("c", mean=0.5, n=40)
    experiment.add("b", mean=0.45, n=40)
    assert experiment.recommend().tied[0] == "b"
    assert "b" not in experiment.recommend(margin=0.5).tied


@pytest.mark.parametrize(("number", "lucky"), [(2, True), (300, False)])
def test_luck_is_blamed_only_where_evaluations_are_few(quick, number, lucky):
    model = ba.Gaussian.independent([0.5, 1], 0.1, names=["a", "b"])
    experiment = ba.Experiment.create(f"{quick}/l.db", "e", model, budget=9)
    experiment.add("a", mean=1.0, n=number)
    experiment.add("b", mean=0.9, n=300)
    text = experiment.recommend().text
    assert "'a' has a higher raw mean" in text
    assert ("mostly luck" in text) == lucky
