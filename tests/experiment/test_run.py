"""`Experiment.run`: evaluates until the budget is spent, stops when sure, and goes on where it was cut short."""

import os
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import bestarm as ba
from bestarm.experiment.run import TooManyFailures
from bestarm.experiment.worker import this_process

PRIOR = ba.Gaussian.independent([0, 0, 0], 1.0, noise=0.3, names=["a", "b", "c"])


@pytest.fixture
def experiment(quick):
    return ba.Experiment.create(f"{quick}/e.db", "e", PRIOR, budget=24)


def score(trial):
    return [0.0, 0.5, 2.0][trial.arm] + 0.3 * np.random.default_rng(trial.seed).standard_normal()


@pytest.mark.parametrize("jobs", [1, 4])
def test_it_spends_the_budget_and_recommends(experiment, jobs):
    found = experiment.run(score, jobs=jobs)
    assert (found.name, experiment.status().state, experiment.status().told) == ("c", "spent", 24)
    assert experiment.run(score) == found


def test_jobs_run_at_once(experiment):
    barrier = threading.Barrier(4, timeout=20)  # broken, and so an error, unless four wait together

    def together(trial):
        barrier.wait()
        return score(trial)

    experiment.run(together, jobs=4)
    assert experiment.status().told == 24


def test_it_stops_when_sure(experiment):
    experiment.run(score, stop_at=0.05)
    status = experiment.status()
    assert status.spent < 24
    assert float(experiment.recommend().chance) > 0.95
    stops = [event for event in experiment.log() if event.kind == "stopped"]
    assert len(stops) == 1
    assert stops[0].payload["chance"] < 0.05
    experiment.run(score, stop_at=0.05)  # still sure: nothing more is evaluated
    assert experiment.status().spent == status.spent
    experiment.run(score)  # asked for all of it
    assert experiment.status().state == "spent"


def test_an_error_gives_the_trials_back(experiment):
    calls = []

    def breaks(trial):
        calls.append(trial.id)
        if len(calls) == 5:
            raise RuntimeError("cable")
        return score(trial)

    with pytest.raises(RuntimeError, match="cable"):
        experiment.run(breaks)
    assert experiment.status().spent == 5
    experiment.run(score)
    assert experiment.status().told == 24
    assert experiment.status().failed == 0


def test_caught_errors_fail_the_trial(experiment):
    def sometimes(trial):
        if trial.id % 4 == 0:
            raise ValueError(f"no luck with {trial.name}")
        return score(trial)

    experiment.run(sometimes, catch=ValueError)
    assert (experiment.status().told, experiment.status().failed) == (18, 6)
    assert any("no luck" in event.payload["message"] for event in experiment.log() if event.kind == "failed")


def test_retries(experiment):
    tries = {}

    def second_time(trial):
        tries[trial.id] = tries.get(trial.id, 0) + 1
        if tries[trial.id] == 1:
            raise ValueError("cold start")
        return score(trial)

    experiment.run(second_time, catch=ValueError, retries=1)
    assert experiment.status().told == 24
    assert set(tries.values()) == {2}


def test_failures_in_a_row_end_it(experiment):
    def never(trial):
        raise ValueError("down")

    with pytest.raises(TooManyFailures, match="3 evaluations in a row failed, the last one: down"):
        experiment.run(never, catch=ValueError, max_failures=3)
    assert experiment.status().spent == 3


@pytest.mark.parametrize("bad", [None, "0.5", float("nan"), [[1.0]]])
def test_a_value_that_is_none_ends_it_and_spends_no_further_trial(experiment, bad):
    with pytest.raises(ba.InputError):
        experiment.run(lambda trial: bad)
    assert (experiment.status().spent, experiment.status().told) == (1, 0)
    experiment.run(score)
    assert experiment.status().told == 24


def test_several_values_at_once(experiment):
    experiment.run(lambda trial: [score(trial)] * 2 if experiment.status().left >= 1 else score(trial))
    assert experiment.status().spent == 24
    assert sum(arm.evaluations for arm in experiment.status().arms) == 24


@pytest.mark.parametrize("policy", ["sh", "warmup-ts", "rolling"])
def test_policies_that_wait_for_results(quick, policy):
    experiment = ba.Experiment.create(f"{quick}/w.db", "e", PRIOR, budget=24, policy=policy)
    experiment.run(score, jobs=5)
    assert experiment.status().told == 24


def test_leases_are_renewed_while_evaluations_take_long(quick):
    experiment = ba.Experiment.create(f"{quick}/l.db", "e", PRIOR, budget=1, lease=1.5)
    other = ba.Experiment.open(f"{quick}/l.db", "e")

    def slow(trial):
        time.sleep(3.0)
        return 1.0 if other.ask() == [] else -1.0

    experiment.run(slow)
    assert (
        experiment.status().arms[0].mean in (1.0,)
        or max(a.mean for a in experiment.status().arms if a.evaluations) == 1.0
    )


def test_leases_are_renewed_while_other_evaluations_keep_coming(quick):
    """One evaluation outlasts its lease while many short ones never let the run be idle."""
    experiment = ba.Experiment.create(f"{quick}/l.db", "e", PRIOR, budget=60, lease=0.9)
    begun = []

    def score(trial):
        begun.append(trial.id)
        time.sleep(2.0 if trial.id == 1 else 0.05)
        return 1.0

    experiment.run(score, jobs=2)
    assert sorted(begun) == list(range(1, 61))


def test_what_others_find_out_is_kept_when_the_run_is_cut_short(experiment):
    """Two evaluations at once, one is an error while the other takes its time."""
    both = threading.Barrier(2, timeout=20)

    def one_breaks(trial):
        both.wait()
        if trial.id == 1:
            raise RuntimeError("cable")
        time.sleep(0.3)
        return 1.0

    with pytest.raises(RuntimeError, match="cable"):
        experiment.run(one_breaks, jobs=2)
    assert (experiment.status().told, experiment.status().pending) == (1, 1)


MACHINE = this_process().rpartition(":")[0]
BEGAN = this_process().rpartition("@")[2]


@pytest.mark.parametrize(
    "worker",
    [
        f"{MACHINE}:4194305@{BEGAN}",  # beyond any process number
        f"{MACHINE}:{os.getpid()}@b08edcd8-0000+17",  # another process had that number before, or before the last boot
    ],
)
def test_trials_of_dead_processes_of_this_machine_are_handed_out_again(experiment, worker):
    experiment.ask(3, worker=worker)
    experiment.run(score)
    assert experiment.status().told == 24


@pytest.mark.parametrize(
    "worker", [None, f"elsewhere{MACHINE}:4194305@{BEGAN}", f"{MACHINE}7:4194305@{BEGAN}", "me", f"{MACHINE}:x@y"]
)
def test_trials_of_others_are_theirs_until_their_lease_is_over(experiment, worker):
    experiment.ask(3, worker=worker)
    assert experiment.release_dead() == 0
    experiment.run(score)
    assert (experiment.status().told, experiment.status().pending) == (21, 3)


def test_a_program_that_exits_python_gives_its_trial_back_and_others_are_kept(experiment):
    three = threading.Barrier(3, timeout=20)

    def exits(trial):
        three.wait()
        if trial.id == 1:
            sys.exit(3)
        return 1.0

    with pytest.raises(SystemExit):
        experiment.run(exits, jobs=3)
    assert (experiment.status().told, [trial.id for trial in experiment.ask()]) == (2, [1])


def test_more_values_than_there_is_budget_for_are_evidence_all_the_same(quick):
    experiment = ba.Experiment.create(f"{quick}/o.db", "e", PRIOR, budget=10)
    experiment.run(lambda trial: [score(trial)] * 3)
    status = experiment.status()
    assert (status.state, status.spent, sum(arm.evaluations for arm in status.arms)) == ("spent", 10, 10)
    assert sum(arm.history for arm in status.arms) == 3 * status.told - 10


def test_trials_that_others_settled_do_not_end_a_run(quick):
    """Another worker tells, fails or refunds what this one still works on."""
    experiment = ba.Experiment.create(f"{quick}/s.db", "e", PRIOR, budget=6)
    other = ba.Experiment.open(f"{quick}/s.db", "e")

    def meddled(trial):
        if trial.id == 1:
            other.tell(1, 0.5)
            raise ValueError("too late")
        if trial.id == 2:
            other.fail(2, refund=True)
        if trial.id == 3:
            other.fail(3)
        return 1.0

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        experiment.run(meddled, catch=ValueError)
    status = experiment.status()
    assert (status.state, status.spent) == ("spent", 6)
    assert sum(arm.evaluations for arm in status.arms) == 6
    assert sum(arm.history for arm in status.arms) == 1, "refunded, and told after all"
    assert experiment.rebuild()


def test_values_that_cannot_be_are_failures_where_they_are_caught(quick):
    experiment = ba.Experiment.create(f"{quick}/y.db", "e", ["a", "b"], budget=6, yes_no=True)
    experiment.run(lambda trial: 0.4 if trial.id == 3 else 1, catch=ba.RewardError)
    assert (experiment.status().told, experiment.status().failed) == (5, 1)
    (failure,) = (event for event in experiment.log() if event.kind == "failed")
    assert failure.payload["message"] == "value is 0.4; expected 0 or 1"


@pytest.mark.parametrize("bad", [True, "ValueError", (ValueError, 3)])
def test_catch_is_checked(experiment, bad):
    with pytest.raises(ba.InputError, match="catch is"):
        experiment.run(score, catch=bad)
