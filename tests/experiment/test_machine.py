"""Any sequence of calls, by any of three workers: a model of ten lines says what must be true after each of them."""

import os
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import bestarm as ba

MODEL = ba.Gaussian.independent([0, 0.2, 0.4], [0.5, 0.4, 0.3], noise=0.7, names=["a", "b", "c"])
POLICIES = [
    "rolling",
    "tie",
    "uniform",
    "sh",
    "sr",
    "bayes-elim",
    "ts",
    "ttts",
    "t3c",
    "ts-tci",
    "warmup-ts",
    "bayesgap",
    "elim:tie",
]
VALUES = st.floats(-5, 5).map(lambda x: round(x, 3))


class Calls(RuleBasedStateMachine):
    """told: values of each arm; open: trials out; spent and budget as they should be."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        self.workers = None

    def teardown(self):
        self.folder.cleanup()

    @precondition(lambda self: self.workers is None)
    @rule(policy=st.sampled_from(POLICIES), budget=st.integers(1, 25), seed=st.integers(0, 9))
    def create(self, policy, budget, seed):
        self.url = Path(self.folder.name) / "e.db"
        first = ba.Experiment.create(self.url, "e", MODEL, budget, policy=policy, seed=seed, lease=1e6)
        self.workers = [first, ba.Experiment.open(self.url, "e"), ba.Experiment.open(self.url, "e")]
        self.open, self.done, self.failed, self.told = {}, set(), {}, {name: [] for name in MODEL.names}
        self.spent, self.budget = 0, budget

    @precondition(lambda self: self.workers)
    @rule(who=st.integers(0, 2), k=st.integers(1, 6))
    def ask(self, who, k):
        trials = self.workers[who].ask(k)
        assert len(trials) <= k
        fresh = [trial for trial in trials if trial.id not in self.open]
        assert len({trial.id for trial in trials}) == len(trials)
        assert not {trial.id for trial in fresh} & (self.done | set(self.failed))
        self.spent += len(fresh)
        self.open.update({trial.id: trial for trial in trials})
        assert self.spent <= self.budget
        if not trials and not self.open and self.spent < self.budget:
            assert self.workers[who].status().state == "finished"

    @precondition(lambda self: self.workers and self.open)
    @rule(who=st.integers(0, 2), data=st.data(), values=st.lists(VALUES, min_size=1, max_size=3))
    def tell(self, who, data, values):
        trial = data.draw(st.sampled_from(sorted(self.open.values(), key=lambda trial: trial.id)))
        if self.spent + len(values) - 1 > self.budget:
            with pytest.raises(ba.InputError):
                self.workers[who].tell(trial, values=values)
            return
        assert self.workers[who].tell(trial, values=values)
        del self.open[trial.id]
        self.done.add(trial.id)
        self.spent += len(values) - 1
        self.told[trial.name] += values

    @precondition(lambda self: self.workers and self.done)
    @rule(who=st.integers(0, 2), data=st.data())
    def tell_again(self, who, data):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert not self.workers[who].tell(data.draw(st.sampled_from(sorted(self.done))), 9.0)

    @precondition(lambda self: self.workers and self.open)
    @rule(who=st.integers(0, 2), data=st.data(), refund=st.booleans())
    def fail(self, who, data, refund):
        trial = data.draw(st.sampled_from(sorted(self.open.values(), key=lambda trial: trial.id)))
        self.workers[who].fail(trial, refund=refund)
        del self.open[trial.id]
        self.failed[trial.id] = trial
        self.spent -= refund

    @precondition(lambda self: self.workers and self.open)
    @rule(who=st.integers(0, 2))
    def release(self, who):
        trials = list(self.open.values())
        self.workers[who].release(trials)
        again = self.workers[who].ask(len(trials))
        assert sorted(trial.id for trial in again) == sorted(self.open)

    @precondition(lambda self: self.workers)
    @rule(who=st.integers(0, 2), name=st.sampled_from(MODEL.names), value=VALUES)
    def add(self, who, name, value):
        self.workers[who].add(name, value)
        self.told[name].append(value)

    @precondition(lambda self: self.workers)
    @rule(who=st.integers(0, 2), more=st.integers(1, 5))
    def extend(self, who, more):
        self.budget += more
        assert self.workers[who].extend(more) == self.budget

    @precondition(lambda self: self.workers)
    @rule(who=st.integers(0, 2))
    def a_new_worker(self, who):
        """It would do next what the old one does."""
        old, new = self.workers[who], ba.Experiment.open(self.url, "e")
        queues = []
        for worker in (old, new):
            with worker._store.reading("e") as t:
                player = worker._caught_up(t)
                proposed = player.propose(t.counters.trials + 1, 1.0 + t.counters.budget - t.counters.spent)
                queues.append((player.queue, proposed[0].tolist()))
        assert queues[0] == queues[1]
        self.workers[who] = new

    @invariant()
    def the_books_are_right(self):
        if self.workers is None:
            return
        status = self.workers[0].status()
        assert (status.spent, status.budget, status.pending) == (self.spent, self.budget, len(self.open))
        arms = [name for name, values in self.told.items() for _ in values]
        posterior = MODEL.update(arms, [value for values in self.told.values() for value in values]) if arms else MODEL
        np.testing.assert_allclose(self.workers[1].posterior().mean, posterior.mean, rtol=1e-9, atol=1e-9)
        assert self.workers[2].rebuild()


Calls.TestCase.settings = settings(
    max_examples=25, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
TestCalls = Calls.TestCase


@given(
    budget=st.integers(1, 60),
    k=st.integers(1, 7),
    costs=st.lists(st.floats(0.1, 3).map(lambda x: round(x, 2)), min_size=3, max_size=3),
    policy=st.sampled_from(["rolling", "tie", "uniform"]),
)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
def test_priced_budgets_are_spent_but_for_less_than_the_cheapest(budget, k, costs, policy):
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        experiment = ba.Experiment.create(f"{folder}/e.db", "e", MODEL, budget, policy=policy, costs=costs)
        while trials := experiment.ask(k):
            for trial in trials:
                experiment.tell(trial, 0.1 * trial.arm)
        status = experiment.status()
        paid = sum(arm.evaluations * cost for arm, cost in zip(status.arms, costs, strict=True))
        assert abs(paid - status.spent) < 1e-6
        assert status.spent <= budget + 1e-9
        assert status.left < min(costs) + 1e-9 or policy != "rolling"
