"""Choices are a function of seed, trial number and log: whoever asks, and whatever broke down before."""

import numpy as np
import pytest

import bestarm as ba

LINEAR = ba.Gaussian.linear([[1, 0], [0, 1], [1, 1], [0.5, 1]], [0.2, 0], np.eye(2), noise=0.5)
PLAIN = ba.Gaussian.independent([0, 0, 0.1, 0.1], [0.3, 0.4, 0.5, 0.3], noise=0.5)
NOISY = ba.Gaussian.independent([0, 0, 0.1, 0.1], 0.4, ba.UnknownNoise(2, 1))
YES_NO = ba.Bernoulli.independent([1, 1, 2, 2], [1, 2, 2, 3])
NOTHING = ba.from_nothing(4)


def value(trial, model):
    rng = np.random.default_rng(trial.seed)
    return float(rng.random() < 0.3 + 0.1 * trial.arm) if model is YES_NO else 0.2 * trial.arm + rng.standard_normal()


def played(url, model, policy, reopen, k=1, budget=40):
    """The arms in the order they were handed out. reopen: a fresh worker for every call."""
    experiment = ba.Experiment.create(url, "e", model, budget, policy=policy, seed=5)
    late, arms = [], []
    while True:
        if reopen:
            experiment = ba.Experiment.open(url, "e")
        trials = experiment.ask(k)
        arms += [trial.arm for trial in trials]
        late += trials
        if not late:
            break
        if not trials or len(late) > k:  # feedback comes late, the oldest first
            experiment.tell(late[0], value(late[0], model))
            del late[0]
        if len(arms) == 7:
            experiment.add(1, 0.0)
        if len(arms) == 20:
            experiment.fail(late.pop())
    return arms


CASES = [
    (policy, LINEAR if policy.startswith("gse") or policy == "bayesgap" else PLAIN) for policy in ba.policies.names()
]
CASES += [
    (policy, model) for model in (NOISY, YES_NO, NOTHING) for policy in ("rolling", "tie", "ts-tci", "sh", "warmup-ts")
]


@pytest.mark.parametrize(("policy", "model"), CASES)
def test_every_policy_plays_and_any_worker_goes_on_alike(policy, model, quick):
    arms = played(f"{quick}/a.db", model, policy, reopen=False, k=2)
    assert len(arms) == 40
    assert arms == played(f"{quick}/b.db", model, policy, reopen=True, k=2)


def test_the_order_of_a_fixed_plan_is_a_function_of_plan_and_seed(quick):
    counts = ba.plan(PLAIN, 40, "tie").counts
    one, two = (played(f"{quick}/{k}.db", PLAIN, "tie", reopen=False, k=k) for k in (1, 4))
    assert one[:20] == two[:20]  # then an evaluation fails, and history comes at another place
    assert np.abs(np.bincount(one, minlength=4) - counts).max() <= 1


@pytest.mark.parametrize("policy", ["rolling", "tie", "ttts"])
def test_a_live_experiment_errs_as_the_simulation_says(policy, quick):
    """Twenty-eight experiments in worlds drawn from the prior: the mean error given the data, against `ba.simulate`.

    The standard error of 28 runs is about 0.04; off by more than 4 of them with a chance of 1 in 16,000.
    """
    expected = ba.simulate(PLAIN, policy, 30, runs=4000).estimate(policy, 30)
    errors = []
    for run in range(28):
        world = PLAIN.sample(rng=run)
        experiment = ba.Experiment.create(f"{quick}/{policy}{run}.db", "e", PLAIN, 30, policy=policy, seed=run)
        while trials := experiment.ask():
            rng = np.random.default_rng(trials[0].seed)
            experiment.tell(trials[0], world[trials[0].arm] + 0.5 * rng.standard_normal())
        errors.append(1 - float(experiment.recommend().chance))
    spread = np.std(errors, ddof=1) / np.sqrt(len(errors))
    assert abs(np.mean(errors) - float(expected)) < 4 * spread


def test_rolling_plans_around_pending_evaluations(quick):
    """An arm that is out for evaluation many times is not asked for as if nothing had been handed out."""
    model = ba.Gaussian.independent([0, 0], [1.0, 1.0], noise=1.0)
    experiment = ba.Experiment.create(f"{quick}/e.db", "e", model, 200, policy=ba.policy("rolling", stages=10))
    out = experiment.ask(60)  # three stages, nothing told
    counts = np.bincount([trial.arm for trial in out], minlength=2)
    assert abs(counts[0] - counts[1]) <= 2
