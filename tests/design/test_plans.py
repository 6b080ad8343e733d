"""Plans as a user meets them: whole counts that spend the budget, invariances, costs, curves, refusals."""

import numpy as np
import pytest

import bestarm as ba
from bestarm.design.objectives import PairSum, bound_weights
from bestarm.design.plans import METHODS
from bestarm.design.rounding import largest_remainder, polish
from bestarm.design.simplex import minimise
from bestarm.design.tie import ManyTies, tie_weights
from random_models import SETTINGS, random_model


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr("bestarm.error.exact._WORK", 400_000)


def reference(k=10):
    return ba.Gaussian.independent(np.linspace(0, 1, k), np.linspace(0.1, 0.5, k))


@pytest.mark.parametrize("method", ["auto", *METHODS])
@pytest.mark.parametrize("setting", SETTINGS)
def test_the_whole_budget_in_whole_counts(method, setting):
    model = random_model(setting, np.random.default_rng(0), arms=5)
    for budget in (0, 1, 3, 40):
        made = ba.plan(model, budget, method)
        assert made.counts.dtype == np.int64
        assert made.counts.sum() == budget
        assert (made.counts >= 0).all()
        np.testing.assert_allclose(made.weights.sum(), 1)
        assert made.status
        assert made.method == method or method == "auto"
    assert ba.plan(ba.Gaussian.independent([1], [1]), 7, method).counts.tolist() == [7]
    assert ba.plan(random_model(setting, np.random.default_rng(1), arms=2), 7, method).counts.sum() == 7


@pytest.mark.parametrize("method", ["auto", *METHODS])
def test_costs_leave_less_than_the_cheapest(method):
    model, costs = reference(6), np.array([1.0, 2.5, 0.7, 3, 1.3, 0.9])
    for budget in (0.5, 5.0, 61.3):
        made = ba.plan(model, budget, method, costs)
        left = budget - made.counts @ costs
        assert -1e-9 <= left < costs.min()


@pytest.mark.parametrize("method", ["g", "bound", "tie"])
def test_equal_costs_are_a_unit(method):
    model = reference()
    plain, priced = ba.plan(model, 60, method), ba.plan(model, 180, method, costs=3)
    np.testing.assert_allclose(plain.weights, priced.weights, atol=1e-6)
    assert plain.counts.tolist() == priced.counts.tolist()


@pytest.mark.parametrize("method", ["uniform", "heuristic", "g", "bound", "tie", "anchored"])
@pytest.mark.parametrize("setting", SETTINGS)
def test_invariances(method, setting):
    """Order of the arms, unit of reward and direction do not matter (up to the draws, for sampled objectives)."""
    rng = np.random.default_rng(2)
    model = random_model(setting, rng, arms=5, corners=False)
    f, d, v = model.covariance.factor, model.covariance.diag, model.noise_var
    order = rng.permutation(5)
    made = ba.plan(model, 60, method)
    sampled = method == "anchored" or (method == "tie" and setting != "independent")
    tolerance = 0.12 if sampled else 1e-5
    low_rank = ba.Gaussian.low_rank
    permuted = ba.plan(low_rank(model.mean[order], f[order], d[order], v[order]), 60, method)
    np.testing.assert_allclose(permuted.weights, made.weights[order], atol=tolerance)
    scaled = ba.plan(low_rank(10 * model.mean, 10 * f, 100 * d, 100 * v), 60, method)
    np.testing.assert_allclose(scaled.weights, made.weights, atol=1e-5 if method != "anchored" else tolerance)
    negated = ba.plan(low_rank(-model.mean, f, d, v, direction="minimize"), 60, method)
    np.testing.assert_allclose(negated.weights, made.weights, atol=1e-5)


def test_mix_is_the_papers_blend():
    model = ba.Gaussian.independent([0.5, 1.0, 1.5], [0.3, 0.2, 0.1])
    bound, heuristic = ba.plan(model, 90, "bound").weights, ba.plan(model, 90, "heuristic").weights
    np.testing.assert_allclose(heuristic, np.array([0.15, 0.2, 0.15]) / 0.5)
    made = ba.plan(model, 90, "bound", mix=0.5)
    np.testing.assert_allclose(made.weights, (bound + heuristic) / 2)
    assert "heuristic" in made.status
    np.testing.assert_allclose(ba.plan(model, 90, "bound", mix=1).weights, bound)
    np.testing.assert_allclose(ba.plan(model, 90, "bound", mix=0).weights, heuristic)
    shifted = ba.Gaussian.independent([-1, 0.0, 1.0], [0.3, 0.2, 0.1])
    want = (np.array([0, 1, 2.0]) + 0.2) * [0.3, 0.2, 0.1]
    np.testing.assert_allclose(ba.plan(shifted, 90, "heuristic").weights, want / want.sum())


def test_polish_never_loses_to_largest_remainder():
    rng = np.random.default_rng(3)
    better = 0
    for setting in SETTINGS:
        for _ in range(10):
            model = random_model(setting, rng, arms=8, corners=False)
            objective = PairSum(model, bound_weights(model))
            costs, budget = rng.uniform(0.5, 2, 8), 9.0
            rounded = largest_remainder(rng.dirichlet(np.ones(8)), costs, budget)
            polished = polish(objective, rounded, costs, budget)
            assert objective.value(polished) <= objective.value(rounded)
            assert -1e-9 <= budget - polished @ costs < costs.min()
            better += objective.value(polished) < objective.value(rounded)
    assert better > 20


def test_better_plans_make_fewer_errors():
    """The order of theory and of the evidence table, on the paper's fixed independent setting at n = 300."""
    model = reference()
    error = {m: ba.error_probability(model, ba.plan(model, 300, m).counts, target_stderr=2e-4).value for m in METHODS}
    assert error["tie"] < min(error[m] for m in ("uniform", "heuristic", "g", "bound")) - 0.005
    assert error["anchored"] < error["tie"]
    assert abs(error["exact"] - error["anchored"]) < 0.005 * error["exact"]
    np.testing.assert_allclose(error["tie"], 0.169, atol=0.001)


def test_evaluation_and_bound_come_when_asked(monkeypatch):
    made = ba.plan(reference(), 60, "tie")
    assert "evaluation" not in vars(made)
    assert made.evaluation is made.evaluation
    assert made.bound.value > made.evaluation.error.value
    assert "tie" in repr(made)


def test_large_models_leave_out_what_cannot_win():
    model = reference(600)
    made = ba.plan(model, 6000, "tie")
    assert "hardly matter" in made.status
    assert made.gap <= 1e-6
    assert (made.counts == 0).sum() > 100


def test_budget_for_inverts_the_curve():
    model = reference()
    curve = ba.error_curve(model, [50, 100, 200, 400], method="tie")
    assert curve.dtype.names == ("budget", "error", "stderr", "regret", "regret_stderr")
    assert (np.diff(curve["error"]) < 0).all()
    assert (np.diff(curve["regret"]) < 0).all()
    made = ba.budget_for(model, float(curve["error"][2]), method="tie")
    np.testing.assert_allclose(made.budget, 200, rtol=0.03)
    assert made.evaluation.error.value <= curve["error"][2]
    assert ba.budget_for(model, 0.9).budget == 0
    priced = ba.budget_for(model, float(curve["error"][2]), method="tie", costs=2.0)
    np.testing.assert_allclose(priced.budget, 400, rtol=0.03)


def test_a_target_out_of_reach_is_said(monkeypatch):
    monkeypatch.setattr("bestarm.design.budget._LARGEST", 1e4)
    with pytest.raises(ba.InputError, match=r"target_error is 1e-09; expected at least what 1e\+04 evaluations leave"):
        ba.budget_for(reference(), 1e-9, method="tie")
    # nothing to find out: no budget is needed
    assert ba.budget_for(ba.Gaussian.independent([0, 1], 0), 1e-9).budget == 0
    copies = ba.Gaussian.linear([[1.0], [1.0]], [0], [[1]])
    assert ba.budget_for(copies, 1e-9).budget == 0


def test_the_largest_budget_is_counted_out():
    for method in ("uniform", "tie"):
        counts = ba.plan(ba.Gaussian.independent([0, 0.5, 1], [0.3, 0.2, 0.5]), 10**15, method).counts
        assert counts.sum() == 10**15
        assert (counts >= 0).all()


def test_a_curve_of_any_iterable():
    listed = ba.error_curve(reference(), [10, 20], "uniform")
    np.testing.assert_array_equal(ba.error_curve(reference(), (10 * k for k in (1, 2)), "uniform"), listed)


BAD = {
    "model": (lambda: ba.plan("m", 10), "model is 'm'"),
    "budget": (lambda: ba.plan(reference(), -1), "budget is -1"),
    "fraction": (lambda: ba.plan(reference(), 1.5), r"budget is 1.5; expected a whole number of evaluations"),
    "budget is nan": (lambda: ba.plan(reference(), float("nan")), "budget is nan"),
    "method": (lambda: ba.plan(reference(), 10, "best"), "method is 'best'; expected one of 'auto', 'uniform'"),
    "costs": (lambda: ba.plan(reference(), 10, costs=0), "costs is 0"),
    "costs shape": (lambda: ba.plan(reference(), 10, costs=[1, 2]), r"costs has shape \(2,\)"),
    "mix": (lambda: ba.plan(reference(), 10, mix=1.5), "mix is 1.5; expected a number from 0 to 1"),
    "exact": (lambda: ba.plan(reference(51), 10, "exact"), "method is 'exact' and model has 51 arms"),
    "bound": (lambda: ba.plan(reference(3001), 10, "bound"), "method is 'bound' and model has 3001 arms"),
    "target": (lambda: ba.budget_for(reference(), 0), "target_error is 0"),
    "target 1": (lambda: ba.budget_for(reference(), 1.5), "target_error is 1.5"),
    "budget beyond whole numbers": (lambda: ba.plan(reference(), 1e30, "uniform"), r"budget is 1e\+30; expected at most 1e\+15"),
    "budget and costs": (lambda: ba.plan(reference(), 1, "uniform", costs=1e-20), r"budget is 1; expected at most 1e-05"),
    "budgets beyond": (lambda: ba.error_curve(reference(), [10, 1e40]), r"budgets\[1\] is 1e\+40; expected at most 1e\+15"),
    "budgets ragged": (lambda: ba.error_curve(reference(), [[1], [2, 3]]), r"budgets is \[\[1\], \[2, 3\]\]; expected real numbers"),
    "no costs": (lambda: ba.budget_for(reference(), 0.3, costs=[]), r"costs has shape \(0,\)"),
    "budgets": (lambda: ba.error_curve(reference(), [[1]]), r"budgets has shape \(1, 1\)"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_refused(case):
    call, message = BAD[case]
    with pytest.raises(ba.InputError, match=message):
        call()


def test_many_ties_is_the_same_objective_without_pairs():
    """The factored double sum against the dense one: value, gradient, and the optimum it leads to."""
    rng = np.random.default_rng(8)
    sd = rng.uniform(0.1, 0.5, 60)
    sd[7] = 0.0  # a deterministic arm that takes part at the top
    mean = rng.uniform(0, 1, 60)
    mean[7] = 0.9
    model = ba.Gaussian.independent(mean, sd, noise=rng.uniform(0.5, 2, 60))
    costs = rng.uniform(0.5, 2, 60)
    dense, factored = PairSum(model, tie_weights(model)), ManyTies(model, 1e-4)
    for counts in (np.zeros(60), rng.uniform(0, 30, 60)):
        value, gradient = dense.gradient(counts)
        np.testing.assert_allclose(factored.value(counts), value, rtol=1e-7)
        np.testing.assert_allclose(factored.gradient(counts)[1], gradient, rtol=1e-6, atol=1e-9 * abs(gradient).max())
    ours, theirs = minimise(factored, costs, 500.0), minimise(dense, costs, 500.0)
    assert ours.gap <= 1e-6
    np.testing.assert_allclose(ours.objective, theirs.objective, rtol=1e-6)
    np.testing.assert_allclose(ours.weights, theirs.weights, atol=1e-3)
