"""The options that bring the authors' published code back do what the errata say of it; what they are not told stays."""

from itertools import pairwise

import numpy as np
import pytest

import bestarm as ba
from bestarm.paper.settings import prior
from bestarm.policies.contract import Problem
from oracles import slow_policies as slow
from policies.running import play
from random_models import random_model


@pytest.mark.parametrize("rule", ["t3c", "ts-tci"])
def test_top_two(rule):
    """Against a plain loop: leader by posterior mean, challenger the second least cost of all arms."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        model, budget = random_model("independent", rng, arms=int(rng.integers(2, 8)), corners=False), 30
        means = model.sample(1, np.random.default_rng(seed + 2))
        policy = ba.policies.TopTwo(rule=rule, published=True)
        _, decided, steps = play(policy, model, budget, seed=seed, means=means)
        world = slow.World(model, means[0], np.random.default_rng(seed + 1))
        twin = slow.top_two(model, world, budget, np.random.default_rng(seed), rule, published=True)
        assert [int(step.arms[0]) for step in steps] == twin[0]
        assert decided[0] == twin[1]


def test_top_two_errs_more_often():
    """TS-TCI, independent, random, n = 300: 0.24 for 0.17, on the same instances, by far more than 10 standard errors."""
    policies = {
        each: ba.policies.TopTwo(rule="ts-tci", published=each == "published") for each in ("published", "meant")
    }
    results = ba.simulate(prior("independent, random", 0), policies, 300, runs=2000)
    (gap,) = results.paired("published", "meant")
    assert gap["difference"] > 0.05 > 10 * gap["stderr"]


def test_no_published_ttts():
    with pytest.raises(ba.InputError, match="published is True and rule is 'ttts'; expected 't3c' or 'ts-tci'"):
        ba.policies.TopTwo(rule="ttts", published=True)


@pytest.mark.parametrize("rule", ["t3c", "ts-tci"])
def test_warm_up(rule):
    """Its first rounds are those of the published rule on the joint posterior; the rest is in proportion."""
    model = random_model("hierarchical", np.random.default_rng(0), arms=6, corners=False)
    means = model.sample(4, np.random.default_rng(1))
    warm = play(ba.policies.Warmup(rule=rule, published=True), model, 18, runs=4, means=means)
    alone = play(ba.policies.TopTwo(rule=rule, joint=True, published=True), model, 6, runs=4, means=means)
    for first, second in zip(warm[2], alone[2], strict=False):
        np.testing.assert_array_equal(first.arms, second.arms)
    np.testing.assert_array_equal(warm[0], 3 * alone[0])


@pytest.mark.parametrize("policy", [ba.policies.SequentialHalving, ba.policies.BayesElim])
@pytest.mark.parametrize(
    ("arms", "unspent"),
    [
        # log2 10 = 3.32 and log2 60 = 5.91 for 3 and 5 rounds, and what rounding down leaves of small rounds
        (10, {20: 0.45, 60: 0.283, 300: 0.1}),
        (60, {150: 0.6, 200: 0.395, 250: 0.424, 300: 0.427, 350: 0.463, 550: 0.229}),
    ],
)
def test_halving_leaves_much_unspent(policy, arms, unspent):
    """28 to 60 % of small budgets."""
    model = ba.Gaussian.independent(np.linspace(0, 1, arms), 0.3)
    for budget, share in unspent.items():
        counts, _, _ = play(policy(remainder="published"), model, budget, runs=3)
        np.testing.assert_allclose(1 - counts.sum(axis=1) / budget, share, atol=5e-4)


def test_halving_ranks_arms_without_evaluations_first():
    """Ten arms, 20 evaluations: none in the first round, so the last five arms stay; 60 and 150: the last fifteen."""
    for arms, budget, left in ((10, 20, 5), (60, 150, 15)):
        model = ba.Gaussian.independent(np.linspace(1, 0, arms), 0.3)
        counts, decided, steps = play(ba.policies.SequentialHalving("published"), model, budget, runs=5)
        assert not counts[:, :-left].any()
        assert (counts[:, -left:] > 0).all()
        assert (decided >= arms - left).all()
        assert len(steps) == {10: 2, 60: 3}[arms]
    counts, decided, _ = play(ba.policies.SequentialHalving("published"), ba.Gaussian.independent([0.0, 0, 0], 1.0), 1)
    assert counts.sum() == 0
    assert decided[0] == 2


def test_bayes_elim_ranks_arms_without_evaluations_by_their_prior():
    model = ba.Gaussian.independent(np.array([3.0, 0, 9, 1, 8, 2, 7, 4, 6, 5]) / 100, 0.3)
    counts, _, _ = play(ba.policies.BayesElim("published"), model, 20, runs=5)
    np.testing.assert_array_equal(counts > 0, np.tile(model.mean > 0.045, (5, 1)))
    np.testing.assert_array_equal(np.sort(counts)[:, 5:], np.tile([1.0, 1, 1, 4, 4], (5, 1)))


def test_bayes_elim_shares_by_noise():
    """⌊n/log2 K · v_k/Σ v⌋: 18 · (1, 1, 4, 4)/10 and 18 · (4, 4)/8, or what is left of others."""
    model = ba.Gaussian.independent([0.0, 0, 50, 50], 0.3, noise=[1.0, 1, 2, 2])
    counts, _, _ = play(ba.policies.BayesElim("published"), model, 36, runs=2)
    np.testing.assert_array_equal(counts, np.tile([1.0, 1, 7 + 9, 7 + 9], (2, 1)))


@pytest.mark.parametrize("remainder", ["spend", "leave"])
def test_rejected_arms_return(remainder):
    """In some of 200 runs, where all are ranked again; in none where they are not. One arm is gone in each phase."""
    model = ba.Gaussian.independent(np.zeros(6), 0.2)
    for rerank in (False, True):
        policy = ba.policies.SuccessiveRejects(remainder, rerank=rerank)
        _, _, steps = play(policy, model, 60, runs=200)
        alive = [step.counts > 0 for step in steps]
        returned = [(later & ~earlier).any() for earlier, later in pairwise(alive)]
        assert any(returned) == rerank
        assert [set(row.sum(axis=1)) for row in alive] == [{6}, {5}, {4}, {3}, {2}]


def test_successive_rejects():
    """Against a plain loop."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        model, budget = random_model("independent", rng, arms=int(rng.integers(3, 8)), corners=False), 40
        means = model.sample(1, np.random.default_rng(seed + 2))
        policy = ba.policies.SuccessiveRejects(rerank=True)
        counts, decided, _ = play(policy, model, budget, seed=seed, means=means)
        world = slow.World(model, means[0], np.random.default_rng(seed + 1))
        twin = slow.rejects(model, world, budget, np.random.default_rng(seed), rerank=True)
        np.testing.assert_array_equal(counts[0], twin[0])
        assert decided[0] == twin[1]


@pytest.mark.parametrize(
    ("name", "options"),
    [("t3c", {"published": True}), ("ts-tci", {"published": True}), ("sh", {"remainder": "published"}),
     ("bayes-elim", {"remainder": "published"}), ("sr", {"rerank": True}), ("warmup-ts-tci", {"published": True})],
)  # fmt: skip
@pytest.mark.parametrize(("arms", "budget"), [(1, 3), (2, 1), (2, 5), (5, 3), (6, 40)])
def test_small_cases_and_batches(name, options, arms, budget):
    model = ba.Gaussian.independent(np.linspace(0, 1, arms), 0.3)
    for batch in (None, 2):
        counts, _, _ = play(ba.policy(name, **options), model, budget, runs=3, batch=batch)
        assert (counts.sum(axis=1) <= budget).all()


def test_yes_no_arms():
    """Costs of Beta posteriors: of means 0.5, 0.6 and 0.2 the second leads and the first is next; half the time each."""
    model = ba.Bernoulli.independent([2, 3, 1], [2, 2, 4])
    policy = ba.policies.TopTwo(rule="t3c", published=True)
    state = policy.start(Problem(model, 30, np.ones(3), 1000), np.random.default_rng(0))
    _, pulls = policy.next(state, 1, np.random.default_rng(0))
    assert set(pulls.arms) == {0, 1}
    assert abs(pulls.arms.mean() - 0.5) < 4.5 * 0.5 / np.sqrt(1000)


def test_defaults_are_as_intended():
    for policy in (ba.policies.SequentialHalving(), ba.policies.SuccessiveRejects(), ba.policies.BayesElim()):
        assert policy.remainder == "spend"
    assert not ba.policies.SuccessiveRejects().rerank
    assert not any(ba.policy(name).published for name in ("t3c", "ts-tci", "joint-t3c", "warmup-t3c", "warmup-ts-tci"))
