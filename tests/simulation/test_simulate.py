"""`simulate`: the same whoever runs it, right on average, resumable, and clear about bad input."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import bestarm as ba
from random_models import SETTINGS, random_model


@pytest.fixture(scope="module")
def model():
    return ba.Gaussian.independent(np.linspace(0, 1, 5), np.linspace(0.1, 0.5, 5))


def same(a, b):
    return all(
        np.array_equal(a.outcome(p, n, what), b.outcome(p, n, what))
        for p in a.policies
        for n in a.budgets
        for what in ("error", "regret", "wrong", "shortfall")
    )


def test_executors_and_order_do_not_matter(model, monkeypatch):
    monkeypatch.setattr("bestarm.simulation.engine._ENTRIES", 320)  # blocks of 64
    names = ["tie", "sh", "ts-tci", "rolling"]
    serial = ba.simulate(model, names, [10, 30], runs=200)
    assert serial.complete
    with ThreadPoolExecutor(3) as pool:
        assert same(serial, ba.simulate(model, names, [10, 30], runs=200, executor=pool))
    turned = ba.simulate(model, names[::-1], [30, 10], runs=200)
    assert same(serial, turned)
    alone = ba.simulate(model, "ts-tci", 10, runs=200)
    np.testing.assert_array_equal(alone.outcome("ts-tci", 10.0), serial.outcome("ts-tci", 10.0))


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_processes_do_not_matter(model, workers):
    names = ["tie", "ts-tci", "rolling"]
    serial = ba.simulate(model, names, 20, runs=3000)
    with ProcessPoolExecutor(workers) as pool:
        assert same(serial, ba.simulate(model, names, 20, runs=3000, executor=pool))


def test_a_truth_that_no_process_can_be_sent(model):
    with ProcessPoolExecutor(1) as pool, pytest.raises(ba.InputError, match="cannot be sent to other processes"):
        ba.simulate(model, "tie", 20, runs=3, truth=lambda runs, rng: rng.random((runs, 5)), executor=pool)


@pytest.mark.parametrize("setting", SETTINGS)
def test_fixed_plans_err_as_evaluate_says(setting):
    """4,000 runs; both the conditional and the realised error within 4.5 standard errors of the exact one."""
    model = random_model(setting, np.random.default_rng(8), arms=5, corners=False)
    results = ba.simulate(model, ["uniform", "tie"], [15, 60], runs=4000)
    for policy in results.policies:
        for budget in results.budgets:
            exact = ba.plan(model, budget, policy).evaluation
            for what, value in (
                ("error", exact.error),
                ("wrong", exact.error),
                ("regret", exact.regret),
                ("shortfall", exact.regret),
            ):
                found = results.estimate(policy, budget, what)
                assert abs(found.value - value.value) < 4.5 * np.hypot(found.stderr, value.stderr)
            assert results.estimate(policy, budget).stderr < results.estimate(policy, budget, "wrong").stderr


def test_adaptive_policies_err_as_often_given_the_data_as_they_do(model):
    """The conditional error of every policy has the mean of its 0/1 errors: paired, 3,000 runs, |z| < 4.5."""
    results = ba.simulate(model, ["sh", "sr", "ttts", "t3c", "bayesgap", "rolling", "warmup-ts"], 25, runs=3000)
    for policy in results.policies:
        gap = results.outcome(policy, 25.0, "wrong") - results.outcome(policy, 25.0)
        assert abs(gap.mean()) < 4.5 * gap.std() / np.sqrt(len(gap))


def test_truth_may_be_another_model(model):
    """A wrong prior: the exact error under `assumed`, within 4.5 standard errors."""
    wrong = ba.Gaussian.independent(model.mean[::-1], 0.3)
    results = ba.simulate(wrong, "uniform", 40, runs=4000, truth=model)
    exact = ba.error_probability(model, np.full(5, 8.0), assumed=wrong)
    found = results.estimate("uniform", 40.0)
    assert abs(found.value - exact.value) < 4.5 * np.hypot(found.stderr, exact.stderr)


def test_truth_may_be_a_function_or_a_table(model):
    fixed = ba.simulate(model, "uniform", 40, runs=500, truth=lambda runs, rng: np.tile([0, 0, 0, 0, 9.0], (runs, 1)))
    assert fixed.estimate("uniform", 40.0).value == 0
    rng = np.random.default_rng(0)
    table = rng.normal(np.array([0, 0, 0, 0, 5.0]), 1, (40, 5))
    for options in ({}, {"replace": False}, {"shared": True}):
        truth = ba.Evaluations(table, **options)
        results = ba.simulate(model, ["tie", "ts-tci", "sh"], 40, runs=200, truth=truth)
        assert all(results.estimate(p, 40.0).value < 0.05 for p in results.policies)
    # without replacement, a pool evaluated to the end is known exactly
    exhaust = ba.simulate(model, "uniform", 200, runs=20, truth=ba.Evaluations(table, replace=False))
    assert exhaust.estimate("uniform", 200.0).value == 0
    with pytest.raises(ba.InputError, match="pool of arm"):
        ba.simulate(model, "tie", 400, runs=2, truth=ba.Evaluations(table, replace=False))
    pools = ba.Evaluations([[0.0], [0, 1], [1, 1, 1], [0], [0]])
    assert ba.simulate(model, "ts", 20, runs=50, truth=pools).complete


def test_sums_of_shared_rows_are_of_the_same_items():
    """The same item put to both arms: their sums over m items differ by what the columns differ."""
    from bestarm.policies.contract import Pulls

    table = np.random.default_rng(0).normal(size=(30, 1)) + np.array([[0.0, 1.0]])
    world = ba.Evaluations(table, shared=True).worlds(6, 1, np.random.default_rng(1))
    for m in (1, 4):
        sums = world.draw(Pulls(counts=np.array([float(m), float(m)])), np.random.default_rng(2))
        np.testing.assert_allclose(sums[:, 1] - sums[:, 0], m)


def test_results_are_kept_and_gone_on_from(model, tmp_path, monkeypatch):
    monkeypatch.setattr("bestarm.simulation.engine._ENTRIES", 320)
    whole = ba.simulate(model, ["tie", "ts"], [10, 20], runs=200)
    path = tmp_path / "out.bin"
    ba.simulate(model, ["tie", "ts"], [10, 20], runs=200, out=path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3])  # killed in the middle of a record
    partial = ba.Results.load(path)
    assert not partial.complete
    assert "incomplete" in repr(partial)
    again = ba.simulate(model, ["tie", "ts"], [10, 20], runs=200, out=path)
    assert again.complete
    for name in ("tie", "ts"):
        np.testing.assert_allclose(again.outcome(name, 20.0), whole.outcome(name, 20.0), rtol=1e-6)
    assert ba.Results.load(path).complete
    with pytest.raises(ba.InputError, match="another simulation \\(seed was 0, is 1\\)"):
        ba.simulate(model, ["tie", "ts"], [10, 20], runs=200, seed=1, out=path)
    (tmp_path / "x").write_text("hello")
    with pytest.raises(ba.InputError, match="not a file of simulation results"):
        ba.Results.load(tmp_path / "x")


def test_ctrl_c_leaves_what_is_finished(model, monkeypatch, capsys):
    monkeypatch.setattr("bestarm.simulation.engine._ENTRIES", 320)
    made = ba.policies.TopTwo()
    calls = []

    class Interrupted:
        anytime, costs, name = True, False, "interrupted"

        def __getattr__(self, what):
            return getattr(made, what)

        def start(self, problem, rng):
            calls.append(1)
            if len(calls) == 3:
                raise KeyboardInterrupt
            return made.start(problem, rng)

    results = ba.simulate(model, Interrupted(), 10, runs=300, progress=True)
    assert not results.complete
    assert len(results.outcome("interrupted", 10.0)) == 128
    assert np.isfinite(results.estimate("interrupted", 10.0).stderr)
    assert "interrupted after 2 of" in capsys.readouterr().err


def test_tables(model):
    results = ba.simulate(model, {"even": "uniform", "mine": ba.policies.Rolling(stages=2)}, [10, 20], runs=300)
    table = results.table()
    assert table["policy"].tolist() == ["even", "even", "mine", "mine"]
    assert table.dtype.names == ("policy", "budget", "runs", "error", "error_se", "regret", "regret_se", "seconds")
    assert (table["error_se"] <= results.table(realised=True)["error_se"]).all()
    gap = results.paired("even", "mine")
    np.testing.assert_allclose(gap["difference"][0], table["error"][0] - table["error"][2])
    frame = pytest.importorskip("pandas") and results.frame
    assert list(frame.columns) == list(table.dtype.names)


def test_instances_may_be_repeated(model):
    results = ba.simulate(model, "uniform", 30, runs=40, repeats=50)
    per = results.per_instance("uniform", 30.0)
    assert per.shape == (40,)
    assert ((per >= 0) & (per <= 1)).all()
    assert per.std() > 0
    assert results.estimate("uniform", 30.0).stderr > results.outcome("uniform", 30.0).std() / np.sqrt(2000)


def test_bad_input(model):
    for call, message in [
        (lambda: ba.simulate(model, [], 10), "policies is empty"),
        (lambda: ba.simulate(model, "nope", 10), "policy is 'nope'"),
        (lambda: ba.simulate(model, ["tie", "tie"], 10), "two called 'tie'"),
        (lambda: ba.simulate(model, 3, 10), "policies"),
        (lambda: ba.simulate(model, "tie", []), "budgets"),
        (lambda: ba.simulate(model, "tie", [10, 10]), "distinct"),
        (lambda: ba.simulate(model, "tie", 10.5), "whole numbers"),
        (lambda: ba.simulate(model, "tie", -1), "budgets"),
        (lambda: ba.simulate(model, "tie", 10, runs=0), "runs is 0"),
        (lambda: ba.simulate(model, "tie", 10, seed=-1), "seed is -1"),
        (lambda: ba.simulate(model, "tie", 10, outcome="x"), "outcome"),
        (lambda: ba.simulate(model, "tie", 10, truth=3), "truth is 3"),
        (lambda: ba.simulate(model, "tie", 10, truth=ba.Evaluations(np.zeros((3, 2)))), "2 arms"),
        (lambda: ba.simulate(model, "tie", 10, truth=lambda runs, rng: [1, 2]), "truth"),
        (lambda: ba.Evaluations(np.zeros(3)), "values"),
        (lambda: ba.Evaluations([[1.0], []]), "no evaluation of arm 1"),
        (lambda: ba.simulate(3, "tie", 10), "model is 3"),
    ]:
        with pytest.raises(ba.InputError, match=message):
            call()
