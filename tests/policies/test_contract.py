"""What every policy of the registry keeps: its room, its budget, small cases, batches, direction, order of arms."""

import numpy as np
import pytest

import bestarm as ba
from bestarm.policies.contract import Problem
from policies.running import play

NAMES = ba.policies.names()
SEQUENTIAL = ("ts", "ttts", "t3c", "ts-tci", "bayesgap")


def needs_features(name):
    return name.startswith("gse")


def model_for(name, arms, direction="maximize", seed=0):
    rng = np.random.default_rng(seed)
    sign = 1 if direction == "maximize" else -1
    if needs_features(name):
        return ba.Gaussian.linear(
            rng.normal(size=(arms, 2)), sign * np.array([0.3, 0.5]), 0.2 * np.eye(2), direction=direction
        )
    mean, sd = rng.uniform(0, 1, arms), rng.uniform(0.1, 0.5, arms)
    return ba.Gaussian.independent(sign * mean, sd, direction=direction)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("arms", "budget"), [(1, 3), (2, 1), (2, 5), (5, 3), (5, 23), (6, 40)])
def test_spends_exactly_its_budget(name, arms, budget):
    counts, _, _ = play(ba.policy(name), model_for(name, arms), budget, runs=3)
    if (arms == 1 and name in ("sh", "sr", "bayes-elim", "gse", "gse-greedy")) or (
        arms == 1 and name.startswith("elim:")
    ):
        assert counts.sum() == 0, "one arm: nothing to find out, no rounds"
    else:
        assert (counts.sum(axis=1) == budget).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("setting", ["linear", "hierarchical"])
def test_runs_on_structured_models(name, setting):
    rng = np.random.default_rng(1)
    if setting == "linear":
        model = ba.Gaussian.linear(rng.normal(size=(7, 3)), np.zeros(3), np.eye(3))
    else:
        model = ba.Gaussian.hierarchical(rng.random((7, 2)), np.zeros(2), np.eye(2), 0.3)
        if needs_features(name):
            with pytest.raises(ba.InputError, match="not linear"):
                play(ba.policy(name), model, 30, runs=2)
            return
    counts, _, _ = play(ba.policy(name), model, 30, runs=2)
    assert (counts.sum(axis=1) == 30).all()


@pytest.mark.parametrize("name", ["sh", "sr", "bayes-elim", "gse", "elim:tie"])
def test_leaves_the_remainder_when_told(name):
    model = model_for(name, 6)
    counts, _, _ = play(ba.policy(name, remainder="leave"), model, 41, runs=2)
    assert (counts.sum(axis=1) < 41).all()


@pytest.mark.parametrize("name", NAMES)
def test_batches_are_respected(name):
    """No step asks for more than the batch; the whole budget is spent all the same."""
    counts, _, steps = play(ba.policy(name), model_for(name, 5), 23, runs=3, batch=4)
    assert (counts.sum(axis=1) == 23).all()
    assert max(step.per_arm(3, 5).sum(axis=1).max() for step in steps) <= 4


@pytest.mark.parametrize("name", NAMES)
def test_minimise_is_maximise_of_the_negative(name):
    up, down = model_for(name, 5), model_for(name, 5, "minimize")
    means = up.sample(4, np.random.default_rng(3))

    class Negated:  # the same noise, turned over
        def __init__(self):
            self.rng = np.random.default_rng(9)

        def standard_normal(self, size):
            return -self.rng.standard_normal(size)

    first = play(ba.policy(name), up, 31, runs=4, means=means, rewards=np.random.default_rng(9))
    # draws are symmetric but not negated: only policies without draws of their own agree step by step
    second = play(ba.policy(name), down, 31, runs=4, means=-means, rewards=Negated())
    random = name.startswith(("ts", "ttts", "t3c", "joint", "warmup"))
    if not random:
        np.testing.assert_array_equal(first[0], second[0])
        np.testing.assert_array_equal(first[1], second[1])


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("sh", "sr")])
def test_minimising_errs_as_often(name):
    """1,500 runs each way; |z| < 4.5 has a false-alarm rate of 7e-6 for each of the policies."""
    if needs_features(name) or name.startswith("elim"):
        pytest.skip("covered step by step above")
    up, down = model_for(name, 4), model_for(name, 4, "minimize")
    a, b = (ba.simulate(m, name, 20, runs=1500, seed=s).estimate(name, 20.0) for s, m in ((1, up), (2, down)))
    assert abs(a.value - b.value) < 4.5 * np.hypot(a.stderr, b.stderr)


@pytest.mark.parametrize("name", NAMES)
def test_order_of_the_arms_does_not_matter(name):
    """Error of a permuted model, 1,500 runs each; |z| < 4.5."""
    model = model_for(name, 4)
    order = np.array([2, 0, 3, 1])
    covariance = model.covariance
    turned = ba.Gaussian.low_rank(model.mean[order], covariance.factor[order], covariance.diag[order], 1.0)
    a, b = (ba.simulate(m, name, 20, runs=1500, seed=s).estimate(name, 20.0) for s, m in ((1, model), (2, turned)))
    assert abs(a.value - b.value) < 4.5 * np.hypot(a.stderr, b.stderr)


@pytest.mark.parametrize("name", ["uniform", "tie", "rolling"])
def test_pending_evaluations_count_as_made(name):
    """What was handed out and not yet observed is not handed out again."""
    from dataclasses import replace

    model, policy = model_for(name, 5), ba.policy(name)
    rng = np.random.default_rng(0)
    state = policy.start(Problem(model, 20, np.ones(5), 1), rng)
    handed = np.zeros((1, 5))
    for left in range(20, 0, -1):
        state, pulls = policy.next(state, min(1, left), rng)
        now = pulls.per_arm(1, 5)
        assert now.sum() == 1
        handed += now
        state = replace(state, pending=state.pending + (now if state.pending.ndim == 2 else now[0]))
    assert handed.sum() == 20
    if name != "rolling":
        np.testing.assert_array_equal(handed[0], ba.plan(model, 20, name).counts)


def test_costs():
    model, costs = model_for("tie", 5), np.array([1.0, 2.0, 0.5, 1.5, 3.0])
    for name in ("uniform", "tie", "rolling"):
        counts, _, _ = play(ba.policy(name), model, 30.0, runs=3, costs=costs)
        left = 30 - counts @ costs
        assert ((left >= -1e-9) & (left < 0.5)).all()
    with pytest.raises(ba.InputError, match="knows no prices"):
        ba.simulate(model, "sh", 30, runs=2, costs=costs)


def test_registry():
    assert ba.policy("rolling", stages=3).stages == 3
    with pytest.raises(ba.InputError, match="expected one of uniform"):
        ba.policy("rollin")
    with pytest.raises(ba.InputError, match="no option of policy 'rolling'; expected one of stages, batch"):
        ba.policy("rolling", stage=3)
    with pytest.raises(ba.InputError, match="which fixes it"):
        ba.policy("tie", method="g")
    with pytest.raises(ba.InputError, match="stages is 0"):
        ba.policy("rolling", stages=0)
    with pytest.raises(ba.InputError, match="expected one of them"):
        ba.policies.Rolling(stages=2, batch=3)
    for name in NAMES:
        assert ba.policy(name).name == name
