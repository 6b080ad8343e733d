"""Array policies against plain loops (oracles/slow_policies.py): the same random numbers, the same choices."""

import numpy as np
import pytest

import bestarm as ba
from oracles import slow_policies as slow
from policies.running import play
from random_models import random_model


def cases(setting="independent", number=8, arms=None):
    for seed in range(number):
        rng = np.random.default_rng(seed)
        k = int(rng.integers(2, 8)) if arms is None else arms
        yield seed, random_model(setting, rng, arms=k, corners=False), int(rng.integers(k, 60))


def sequence(steps):
    return [int(step.arms[0]) for step in steps]


@pytest.mark.parametrize("name", ["ts", "t3c", "ts-tci"])
def test_posterior_sampling(name):
    for seed, model, budget in cases():
        means = model.sample(1, np.random.default_rng(seed + 2))
        _, decided, steps = play(ba.policy(name), model, budget, seed=seed, means=means)
        world, rng = slow.World(model, means[0], np.random.default_rng(seed + 1)), np.random.default_rng(seed)
        twin = (
            slow.thompson(model, world, budget, rng) if name == "ts" else slow.top_two(model, world, budget, rng, name)
        )
        assert sequence(steps) == twin[0]
        assert decided[0] == twin[1]


@pytest.mark.parametrize("setting", ["independent", "linear", "hierarchical"])
def test_bayesgap(setting):
    for seed, model, budget in cases(setting):
        if model.var.min() < 1e-3:
            continue
        means = model.sample(1, np.random.default_rng(seed + 2))
        _, decided, steps = play(ba.policy("bayesgap"), model, budget, seed=seed, means=means)
        twin = slow.bayes_gap(model, slow.World(model, means[0], np.random.default_rng(seed + 1)), budget)
        assert sequence(steps) == twin[0]
        assert decided[0] == twin[1]


@pytest.mark.parametrize("name", ["sh", "sr", "bayes-elim"])
def test_eliminations(name):
    for seed, model, budget in cases():
        if name == "bayes-elim":
            model = ba.Gaussian.independent(model.mean, np.sqrt(model.var), 0.7)
        means = model.sample(1, np.random.default_rng(seed + 2))
        counts, decided, _ = play(ba.policy(name), model, budget, seed=seed, means=means)
        world, rng = slow.World(model, means[0], np.random.default_rng(seed + 1)), np.random.default_rng(seed)
        twin = {"sh": slow.halving, "sr": slow.rejects, "bayes-elim": slow.bayes_elim}[name](model, world, budget, rng)
        np.testing.assert_array_equal(counts[0], twin[0])
        assert decided[0] == twin[1]


def test_many_runs_are_one_run_many_times():
    """Policies without draws of their own: run r of many is the run alone."""
    model = ba.Gaussian.independent([0.2, 0.5, 0.9, 0.4], [0.3, 0.5, 0.2, 0.4])
    means = model.sample(5, np.random.default_rng(2))
    for name in ("tie", "bayesgap", "rolling"):
        many = play(ba.policy(name), model, 30, runs=5, means=means, rewards=_Fixed(5))
        for r in range(5):
            one = play(ba.policy(name), model, 30, runs=1, means=means[r : r + 1], rewards=_Fixed(5, r))
            np.testing.assert_array_equal(many[0][r], one[0][0])


class _Fixed:
    """The same noise in the same step whether a run is alone or among others."""

    def __init__(self, runs, only=None):
        self.rng, self.runs, self.only = np.random.default_rng(7), runs, only

    def standard_normal(self, size):
        shape = (self.runs, *size[1:]) if isinstance(size, tuple) else (self.runs,)
        noise = self.rng.standard_normal(shape)
        return noise if self.only is None else noise[self.only : self.only + 1]
