"""One experiment: the budget is its own, nothing acknowledged is lost, and what it says is what the posterior says."""

import math
import pickle
import warnings

import numpy as np
import pytest

import bestarm as ba
from bestarm.errors import ToldTwiceWarning

ARMS = ["short", "long", "with examples"]
PRIOR = ba.Gaussian.independent([0.4, 0.5, 0.6], [0.3, 0.2, 0.1], noise=0.5, names=ARMS)


def reward(trial):
    return 0.1 * trial.arm + 0.5 * np.random.default_rng(trial.seed).standard_normal()


def drained(experiment, k=1):
    """Ask and tell until there is nothing more; the arms in order."""
    arms = []
    while trials := experiment.ask(k):
        for trial in trials:
            arms.append(trial.arm)
            experiment.tell(trial, reward(trial))
    return arms


def test_the_budget_is_spent_and_no_more(store):
    experiment = ba.Experiment.create(store, "e", PRIOR, budget=20)
    arms = drained(experiment, 3)
    status = experiment.status()
    assert (len(arms), status.spent, status.told, status.pending, status.state) == (20, 20, 20, 0, "spent")
    assert experiment.ask() == []


def test_the_posterior_is_the_models(store):
    experiment = ba.Experiment.create(store, "e", PRIOR, budget=20)
    seen = []
    experiment.add("long", values=[0.9, 0.7])
    while trials := experiment.ask(2):
        for trial in trials:
            seen.append((trial.name, reward(trial)))
            experiment.tell(trial.id, seen[-1][1])
    arms, values = zip(*seen, strict=True)
    by_hand = PRIOR.update(["long", "long", *arms], [0.9, 0.7, *values])
    np.testing.assert_allclose(experiment.posterior().mean, by_hand.mean, rtol=1e-12)
    np.testing.assert_allclose(experiment.posterior().var, by_hand.var, rtol=1e-12)
    assert experiment.recommend().name == by_hand.names[by_hand.best]
    assert float(experiment.recommend().chance) == pytest.approx(by_hand.prob_best().value[by_hand.best], abs=1e-9)


def test_spending(store):
    """Handed out spends 1, a batch its n, a failure all the same, a refund nothing, history nothing."""
    experiment = ba.Experiment.create(store, "e", PRIOR, budget=10)
    first, second, third, fourth = experiment.ask(4)
    assert experiment.status().spent == 4
    experiment.tell(first, values=[0.1, 0.2, 0.3])
    assert experiment.status().spent == 6
    experiment.fail(second)
    assert experiment.status().spent == 6
    experiment.fail(third, refund=True)
    assert experiment.status().spent == 5
    experiment.tell(fourth, mean=0.5, n=4, sem=0.1)
    assert experiment.status().spent == 8
    experiment.add("short", 0.3)
    assert experiment.status().spent == 8
    assert len(experiment.ask(5)) == 2
    assert experiment.status().state == "waiting"


def test_a_batch_beyond_the_budget_is_refused_and_nothing_stored(store):
    experiment = ba.Experiment.create(store, "e", PRIOR, budget=3)
    (trial,) = experiment.ask()
    with pytest.raises(ba.InputError, match="values has 4 entries"):
        experiment.tell(trial, values=[0.1] * 4)
    assert experiment.status().spent == 1
    experiment.extend(1)
    assert experiment.tell(trial, values=[0.1] * 4)
    assert experiment.status().state == "spent"


def test_telling_twice_is_harmless_and_says_so(store):
    experiment = ba.Experiment.create(store, "e", PRIOR, budget=3)
    (trial,) = experiment.ask()
    assert experiment.tell(trial, 0.5)
    with pytest.warns(ToldTwiceWarning, match="told before"):
        assert not experiment.tell(trial, 0.9)
    assert experiment.status().arms[trial.arm].mean == 0.5


def test_an_expired_lease_is_handed_out_again_without_spending(store):
    experiment = ba.Experiment.create(store, "e", PRIOR, budget=2, lease=1e-3)
    (lost,) = experiment.ask()
    experiment.status()
    (again,) = experiment.ask()
    assert again == lost
    assert experiment.status().spent == 1
    assert experiment.tell(lost, 0.3)  # the first worker was only late
    with pytest.warns(ToldTwiceWarning):
        experiment.tell(again, 0.4)
    assert experiment.status().told == 1


def test_released_trials_are_handed_out_at_once(store):
    experiment = ba.Experiment.create(store, "e", PRIOR, budget=2)
    trials = experiment.ask(2)
    assert experiment.ask() == []
    experiment.renew(trials)
    experiment.release(trials[1:])
    assert experiment.ask() == trials[1:]


def test_told_after_failing(store):
    experiment = ba.Experiment.create(store, "e", PRIOR, budget=4)
    kept, refunded = experiment.ask(2)
    experiment.fail(kept)
    experiment.fail(kept)
    assert experiment.tell(kept, 0.2)
    with pytest.warns(ba.errors.ToldTwiceWarning):
        assert not experiment.fail(kept)
    assert experiment.fail(refunded, refund=True)
    assert not experiment.fail(refunded, refund=True)
    assert experiment.status().spent == 1
    assert experiment.tell(refunded, 0.2), "evidence, though it spends nothing"
    with pytest.warns(ba.errors.ToldTwiceWarning):
        assert not experiment.tell(refunded, 0.3)
    status = experiment.status()
    assert (status.spent, status.told, sum(arm.history for arm in status.arms)) == (1, 2, 1)
    assert experiment.rebuild()


def test_a_failure_can_be_refunded_later(store):
    experiment = ba.Experiment.create(store, "e", PRIOR, budget=4)
    (trial,) = experiment.ask()
    assert experiment.fail(trial)
    assert experiment.fail(trial, refund=True)
    assert experiment.status().spent == 0
    assert len(drained(experiment)) == 4


def test_money_from_before_the_last_extension_is_spent_too(store):
    experiment = ba.Experiment.create(store, "e", PRIOR, budget=6)
    early = experiment.ask(2)
    experiment.extend(3)
    late = experiment.ask()
    experiment.fail(early[0], refund=True)
    for trial in early[1:] + late:
        experiment.tell(trial, 0.5)
    drained(experiment)
    assert (experiment.status().state, experiment.status().spent) == ("spent", 9)


def test_extend(store):
    experiment = ba.Experiment.create(store, "e", PRIOR, budget=5)
    drained(experiment)
    assert experiment.extend(7) == 12
    assert len(drained(experiment)) == 7
    assert experiment.status().spent == 12


def test_costs(store):
    experiment = ba.Experiment.create(store, "e", PRIOR, budget=10.5, costs=[1.0, 2.5, 0.5])
    drained(experiment, 2)
    status = experiment.status()
    assert status.spent <= 10.5
    assert status.left < 0.5
    assert status.spent == pytest.approx(
        sum(a.evaluations * c for a, c in zip(status.arms, [1, 2.5, 0.5], strict=True))
    )


@pytest.mark.parametrize("policy", ["rolling", "uniform", "ttts", "sh"])
def test_a_pool_gives_each_arm_each_item_once_in_one_order(store, policy):
    items = ["q1", "q2", {"q": 3}, "q4"]
    experiment = ba.Experiment.create(store, "e", PRIOR, budget=12, pool=items, policy=policy, seed=3)
    seen = {arm: [] for arm in ARMS}
    failed = False
    while trials := experiment.ask(2):
        for trial in trials:
            if trial.item == "q2" and not failed:
                failed = True
                experiment.fail(trial, refund=True)  # its item is used later
                continue
            seen[trial.name].append(str(trial.item))
            experiment.tell(trial, reward(trial))
    order = [str(items[k]) for k in experiment.settings.order]
    for got in seen.values():
        assert sorted(got) == sorted(order)
    assert sum(got == order for got in seen.values()) >= 2  # the arm with the failed item had it later
    experiment.extend(3)
    assert experiment.ask() == []
    assert experiment.status().state == "finished"


def test_from_nothing_but_names(store):
    experiment = ba.Experiment.create(
        store, "e", {"a": {"t": 0.1}, "b": None, "c": 3}, budget=60, yes_no=True, direction="minimize"
    )
    (trial,) = experiment.ask()
    assert trial.payload == {"a": {"t": 0.1}, "b": None, "c": 3}[trial.name]
    experiment.tell(trial, True)
    with pytest.raises(ba.InputError, match="expected 0 or 1"):
        experiment.tell(experiment.ask()[0], 0.5)
    again = ba.Experiment.open(store, "e")
    assert again.posterior().direction == "minimize"
    np.testing.assert_array_equal(again.posterior().mean, experiment.posterior().mean)


MODELS = {
    "linear": ba.Gaussian.linear([[1, 0], [0, 1], [1, 1]], [0, 0], np.eye(2)),
    "unknown noise": ba.Gaussian.independent([0, 0.1], 1, ba.UnknownNoise(2, 1)),
    "yes/no": ba.Bernoulli.independent([1, 2], [3, 4], direction="minimize"),
    "logistic": ba.Logistic([[1, 0.1], [0.3, 2]], [0.2, -1], np.eye(2)),
    "named": ba.Gaussian.independent([0, 1 / 3], 1, names=["NO", "<b>é</b>"], payloads=[None, {"x": [1]}]),
}


@pytest.mark.parametrize("kind", MODELS)
def test_every_family_is_kept_and_reopened(store, kind):
    model = MODELS[kind]
    experiment = ba.Experiment.create(store, kind, model, budget=9)
    rng = np.random.default_rng(0)
    while trials := experiment.ask(2):
        for trial in trials:
            experiment.tell(trial, float(rng.integers(2)))
    again = ba.Experiment.open(store, kind)
    assert (again.posterior().names, again.posterior().payloads) == (model.names, model.payloads)
    np.testing.assert_array_equal(again.posterior().mean, experiment.posterior().mean)
    assert again.recommend() == experiment.recommend()


def test_load_if_exists(store):
    ba.Experiment.create(store, "e", PRIOR, budget=5)
    with pytest.raises(ba.InputError, match="already"):
        ba.Experiment.create(store, "e", PRIOR, budget=5)
    assert ba.Experiment.create(store, "e", PRIOR, budget=5, load_if_exists=True).status().budget == 5
    with pytest.raises(ba.InputError, match=r"budget is 6, .* created with 5"):
        ba.Experiment.create(store, "e", PRIOR, budget=6, load_if_exists=True)
    with pytest.raises(ba.InputError, match="arms or prior"):
        ba.Experiment.create(store, "e", ARMS, budget=5, load_if_exists=True)
    with pytest.raises(ba.InputError, match="seed"):
        ba.Experiment.create(store, "e", PRIOR, budget=5, seed=1, load_if_exists=True)
    ba.Experiment.open(store, "e").extend(3)
    assert ba.Experiment.create(store, "e", PRIOR, budget=8, load_if_exists=True).status().budget == 8


def test_a_pickle_opens_the_same_experiment(store):
    experiment = ba.Experiment.create(store, "e", PRIOR, budget=5)
    (trial,) = experiment.ask()
    pickle.loads(pickle.dumps(experiment)).tell(trial, 0.1)
    assert experiment.status().told == 1


def test_sums_can_be_derived_again(store):
    experiment = ba.Experiment.create(store, "e", PRIOR, budget=30)
    for trial in experiment.ask(10):
        experiment.tell(trial, reward(trial)) if trial.id % 3 else experiment.fail(trial, refund=trial.id % 2 == 0)
    experiment.add("long", mean=0.5, n=7, sem=0.1)
    experiment.extend(4)
    experiment.ask(3)
    assert experiment.rebuild()
    before = experiment.posterior().mean
    with experiment._store.transaction("e") as t:  # what nobody should do
        t._connection.exec_driver_sql("UPDATE arms SET total = total + 1, n = n + 3")
        t._connection.exec_driver_sql("DELETE FROM trials")
    assert not experiment.rebuild()
    np.testing.assert_array_equal(experiment.posterior().mean, before)


def test_recommend_explains_shrinkage(sqlite):
    model = ba.Gaussian.independent([0.5, 0.5, 0.5], 0.1, noise=1.0, names=ARMS)
    experiment = ba.Experiment.create(sqlite, "e", model, budget=100)
    assert "Nothing has been evaluated" in experiment.recommend().text
    experiment.add("short", mean=0.8, n=400)
    experiment.add("long", 2.5)
    found = experiment.recommend()
    assert found.name == "short"
    assert "'long' has a higher raw mean (2.500 against 0.800, from 1 evaluation against 400)" in found.text
    assert found.runner_up in ARMS
    posterior = experiment.posterior()
    assert found.mean == posterior.mean[0]
    assert found.interval[0] < found.mean < found.interval[1]
    assert float(found.expected_loss) == pytest.approx(posterior.expected_regret().value[0])
    wide = experiment.recommend(margin=0.2)
    assert float(found.chance) < float(wide.chance) <= 1
    draws = posterior.sample(400_000, 1)
    near = (draws.max(axis=1) - draws[:, 0] <= 0.2).mean()
    assert float(wide.chance) == pytest.approx(near, abs=4 * math.sqrt(near * (1 - near) / 400_000))
    assert "Infinity" not in found.text
    assert "nan" not in found.text


def test_recommend_says_what_cannot_be_told_apart(sqlite):
    model = ba.Gaussian.independent([0, 0, 0], 1, noise=1.0, names=ARMS, direction="minimize")
    experiment = ba.Experiment.create(sqlite, "e", model, budget=100)
    for name, mean in zip(ARMS, (0.0, 0.05, 3.0), strict=True):
        experiment.add(name, mean=mean, n=50)
    found = experiment.recommend()
    assert (found.name, found.tied) == ("short", ("long",))
    assert "smallest" in found.text


BAD = [
    (lambda e, t: e.tell(t, float("nan")), "value is nan"),
    (lambda e, t: e.tell(t, "0.5"), "not text"),
    (lambda e, t: e.tell(t, None), "nothing is given"),
    (lambda e, t: e.tell(t), "nothing is given"),
    (lambda e, t: e.tell(t, 1.0, values=[1]), "value and values"),
    (lambda e, t: e.tell(t, [1.0]), "value has shape"),
    (lambda e, t: e.tell(t, values=[]), "values has 0 entries"),
    (lambda e, t: e.tell(t, values=[[1.0]]), "values has shape"),
    (lambda e, t: e.tell(t, mean=1.0), "n is None"),
    (lambda e, t: e.tell(t, mean=1.0, n=2, sem=-1), "sem is -1"),
    (lambda e, t: e.tell(t, 1.0, n=2), "without mean"),
    (lambda e, t: e.tell(99, 1.0), "trial is 99"),
    (lambda e, t: e.tell(2**70, 1.0), "trial is"),
    (lambda e, t: e.tell("1", 1.0), "trial is '1'"),
    (lambda e, t: e.tell(True, 1.0), "trial is True"),
    (lambda e, t: e.fail(99), "trial is 99"),
    (lambda e, t: e.fail(t, refund="yes"), "refund is"),
    (lambda e, t: e.ask(0), "k is 0"),
    (lambda e, t: e.ask(1.5), "k is 1.5"),
    (lambda e, t: e.ask(worker=""), "worker is"),
    (lambda e, t: e.add("nobody", 1.0), "arm has 'nobody'"),
    (lambda e, t: e.add(7, 1.0), "arm has 7"),
    (lambda e, t: e.extend(-3), "budget is -3"),
    (lambda e, t: e.extend(1.5), "budget is 1.5"),
    (lambda e, t: e.recommend(margin=-1), "margin is -1"),
    (lambda e, t: e.run(3), "function is 3"),
    (lambda e, t: e.run(abs, jobs=0), "jobs is 0"),
    (lambda e, t: e.run(abs, stop_at=2), "stop_at is 2"),
]


@pytest.mark.parametrize("k", range(len(BAD)))
def test_refusals_store_nothing(sqlite, k):
    call, message = BAD[k]
    experiment = ba.Experiment.create(sqlite, "e", PRIOR, budget=5)
    (trial,) = experiment.ask()
    before = experiment.log()
    with pytest.raises(ba.InputError, match=message):
        call(experiment, trial)
    assert experiment.log() == before


CREATE = [
    (lambda s: ba.Experiment.create(s, "", PRIOR, 5), "name is ''"),
    (lambda s: ba.Experiment.create(s, "x" * 201, PRIOR, 5), "name is"),
    (lambda s: ba.Experiment.create(s, "a\nb", PRIOR, 5), "name is"),
    (lambda s: ba.Experiment.create(s, "e", PRIOR, 0), "budget is 0"),
    (lambda s: ba.Experiment.create(s, "e", PRIOR, 1.5), "whole number"),
    (lambda s: ba.Experiment.create(s, "e", PRIOR, float("inf")), "budget is inf"),
    (lambda s: ba.Experiment.create(s, "e", "abc", 5), "model is 'abc'"),
    (lambda s: ba.Experiment.create(s, "e", [], 5), "model is"),
    (lambda s: ba.Experiment.create(s, "e", ["a", "a"], 5), "distinct"),
    (lambda s: ba.Experiment.create(s, "e", ["a", 3], 5), "expected a string"),
    (lambda s: ba.Experiment.create(s, "e", PRIOR, 5, policy="best"), "policy is 'best'"),
    (lambda s: ba.Experiment.create(s, "e", PRIOR, 5, policy=3), "policy is 3"),
    (lambda s: ba.Experiment.create(s, "e", PRIOR, 5, policy="gse"), "not linear"),
    (lambda s: ba.Experiment.create(s, "e", PRIOR, 5, policy="ts", costs=2), "no prices"),
    (lambda s: ba.Experiment.create(s, "e", PRIOR, 5, costs=[1, 2]), "costs has shape"),
    (lambda s: ba.Experiment.create(s, "e", PRIOR, 5, costs=0), "costs is 0"),
    (lambda s: ba.Experiment.create(s, "e", PRIOR, 5, direction="minimize"), "direction is"),
    (lambda s: ba.Experiment.create(s, "e", PRIOR, 5, yes_no=True), "yes_no is given"),
    (lambda s: ba.Experiment.create(s, "e", ARMS, 5, prior="flat"), "prior is 'flat'"),
    (lambda s: ba.Experiment.create(s, "e", PRIOR, 5, pool=0), "pool has 0"),
    (lambda s: ba.Experiment.create(s, "e", PRIOR, 5, pool="abc"), "pool is 'abc'"),
    (lambda s: ba.Experiment.create(s, "e", PRIOR, 5, pool=[object()]), "JSON cannot hold"),
    (lambda s: ba.Experiment.create(s, "e", PRIOR, 5, seed=-1), "seed is -1"),
    (lambda s: ba.Experiment.create(s, "e", PRIOR, 5, lease=0), "lease is 0"),
    (lambda s: ba.Experiment.create(s, "e", PRIOR.condition([[1, 1, 1]], [[1, 1, 1]]), 5), "batch axes"),
    (lambda s: ba.Experiment.create("mysql://u:pw@h/d", "e", PRIOR, 5), "begins with 'mysql'"),
    (lambda s: ba.Experiment.create("", "e", PRIOR, 5), "store is"),
    (lambda s: ba.Experiment.create(7, "e", PRIOR, 5), "store is 7"),
    (lambda s: ba.Experiment.create("sqlite://", "e", PRIOR, 5), "names no database"),
    (lambda s: ba.Experiment.open(s, "e"), "no such"),
]


@pytest.mark.parametrize("k", range(len(CREATE)))
def test_bad_settings(sqlite, k):
    call, message = CREATE[k]
    with warnings.catch_warnings(), pytest.raises(ba.InputError, match=message):
        call(sqlite)


def test_opening_what_is_not_there(store):
    ba.Experiment.create(store, "one", PRIOR, budget=5)
    with pytest.raises(ba.InputError, match="no such experiment, only: 'one'"):
        ba.Experiment.open(store, "two")


BATCHES = ["sh", "sr", "bayes-elim", "elim:tie", "warmup-ts", "rolling", "tie"]


@pytest.mark.parametrize("policy", BATCHES)
def test_several_values_of_one_trial_while_others_of_its_arm_are_out(quick, policy):
    model = ba.Gaussian.independent([0] * 4, 1, noise=1)
    experiment = ba.Experiment.create(f"{quick}/b.db", "e", model, budget=16, policy=policy)
    trials = experiment.ask(8)
    arms = [trial.arm for trial in trials]
    first = next((trial for trial in trials if arms.count(trial.arm) > 1), trials[0])
    experiment.tell(first, values=[1.0] * 4)
    for trial in trials:
        if trial is not first:
            experiment.tell(trial, 0.5)
    drained(experiment, 3)
    assert (experiment.status().state, experiment.status().spent) == ("spent", 16)


@pytest.mark.parametrize("policy", ["rolling", "tie", "uniform", "sh", "sr", "bayes-elim", "ts-tci"])
def test_an_arm_that_always_fails_leaves_the_others_their_share(quick, policy):
    experiment = ba.Experiment.create(f"{quick}/f.db", "e", ["a", "b", "c"], budget=30, policy=policy)
    while trials := experiment.ask():
        for trial in trials:
            experiment.fail(trial) if trial.name == "b" else experiment.tell(trial, float(trial.arm) + trial.seed % 3)
    a, b, c = experiment.status().arms
    assert experiment.status().state == "spent"
    assert min(a.evaluations, c.evaluations) >= 3
    assert b.failed <= 20


def test_priced_budgets_are_spent_whatever_fails(quick):
    rng = np.random.default_rng(1)
    for k in range(15):
        costs, budget = rng.choice([1, 2, 3, 5, 7], 3), int(rng.integers(8, 40))
        model = ba.Gaussian.independent([0] * 3, 1, noise=1)
        experiment = ba.Experiment.create(f"{quick}/{k}.db", "e", model, budget, costs=costs)
        while trials := experiment.ask():
            for trial in trials:
                experiment.fail(trial) if trial.id in (2, 4) else experiment.tell(trial, rng.standard_normal())
        assert experiment.status().left < costs.min()


@pytest.mark.parametrize("unit", [1e-10, 1e-3, 333333333.3])
@pytest.mark.parametrize("policy", ["uniform", "tie", "rolling"])
def test_prices_of_any_size(quick, unit, policy):
    model = ba.Gaussian.independent([0] * 3, 1, noise=1)
    experiment = ba.Experiment.create(
        f"{quick}/u.db", "e", model, 10 * unit, costs=[unit, unit, 2 * unit], policy=policy
    )
    drained(experiment)
    status = experiment.status()
    assert sum(arm.evaluations * cost for arm, cost in zip(status.arms, (1, 1, 2), strict=True)) in (9, 10)
    assert status.spent <= 10 * unit * (1 + 1e-12)


@pytest.mark.parametrize("policy", ["uniform", "tie", "rolling"])
@pytest.mark.parametrize(("price", "budget"), [(0.5, 10.3), (0.3, 1.0), (0.1, 0.7), (2, 7)])
def test_one_price_for_all_and_a_budget_that_it_does_not_divide(quick, policy, price, budget):
    model = ba.Gaussian.independent([0, 0.1, 0.2], 0.5, noise=1)
    experiment = ba.Experiment.create(f"{quick}/p.db", "e", model, budget, costs=[price] * 3, policy=policy)
    drained(experiment)
    assert experiment.status().left < price * (1 - 1e-9)
    assert experiment.status().spent <= budget * (1 + 1e-12)


def test_totals_are_whole_only_where_rewards_are(quick):
    experiment = ba.Experiment.create(f"{quick}/t.db", "e", ba.Gaussian.independent([0, 0], 1e-9, noise=1e-9), budget=9)
    experiment.add(0, mean=1.3e-10, n=3)
    experiment.add(1, values=[1.3e-10] * 3)
    np.testing.assert_allclose(*experiment.posterior().mean, rtol=1e-12)
    yes_no = ba.Experiment.create(f"{quick}/t.db", "y", ["a", "b"], budget=9, yes_no=True)
    yes_no.add("a", mean=0.07, n=100)  # 7.000000000000001
    assert yes_no.posterior().sums[0] == 7
    with pytest.raises(ba.RewardError, match=r"mean is 0.53 of n = 41; expected numbers of successes"):
        yes_no.add("a", mean=0.53, n=41)


def test_items_are_the_same_for_every_worker(quick):
    for pool in ([("q", "a"), ("r", "b")], [{1: 2}, {3: 4}]):
        url = f"{quick}/{type(pool[0]).__name__}.db"
        first = ba.Experiment.create(url, "e", PRIOR, budget=4, pool=pool)
        assert (
            ba.Experiment.create(url, "e", PRIOR, budget=4, pool=pool, load_if_exists=True).settings.pool
            == first.settings.pool
        )
        (trial,) = first.ask()
        assert ba.Experiment.open(url, "e").settings.pool == first.settings.pool
        assert trial.item in ba.Experiment.open(url, "e").settings.pool
    with pytest.raises(ba.InputError, match="JSON"):
        ba.Experiment.create(f"{quick}/s.db", "e", PRIOR, budget=4, pool=["\ud800"])


def test_threads_share_an_experiment(quick):
    """Asking and looking at once leaves the policy as any other worker has it."""
    experiment = ba.Experiment.create(f"{quick}/th.db", "e", PRIOR, budget=120, policy="ts")
    experiment.run(lambda trial: float(experiment.status().told % 3), jobs=6)
    players = []
    for each in (experiment, ba.Experiment.open(f"{quick}/th.db", "e")):
        with each._store.reading("e") as t:
            players.append(each._caught_up(t))
    shared, fresh = players
    assert (shared.seq, shared.queue, shared._spent) == (fresh.seq, fresh.queue, 120)
    assert shared._pending.tolist() == fresh._pending.tolist() == [0, 0, 0]
    assert shared.propose(121, 1.0)[0].tolist() == fresh.propose(121, 1.0)[0].tolist()


def test_a_second_experiment_of_the_same_seed_has_noise_of_its_own(quick):
    seeds = [ba.Experiment.create(f"{quick}/n.db", name, PRIOR, budget=3).ask()[0].seed for name in ("one", "two")]
    assert seeds[0] != seeds[1]
    assert max(seeds) < 2**31


def test_secrets_are_not_lying_about(quick):
    experiment = ba.Experiment.create(f"{quick}/v.db", "e", PRIOR, budget=3)
    assert "_url" not in vars(experiment)


def test_a_damaged_log_is_said_in_a_sentence(quick):
    import sqlite3

    for k, text in enumerate(("{", '{"budget": 3}', "[]")):
        ba.Experiment.create(f"{quick}/{k}.db", "e", PRIOR, budget=3)
        with sqlite3.connect(f"{quick}/{k}.db") as connection:
            connection.execute("UPDATE events SET payload = ?", (text,))
        with pytest.raises(ba.StoreError, match="damaged"):
            ba.Experiment.open(f"{quick}/{k}.db", "e")
