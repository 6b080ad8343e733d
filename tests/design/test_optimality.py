"""Convex plans are optimal, and the optimality condition is the test: equal gradients per cost on the arms in use."""

import numpy as np
import pytest
from scipy.optimize import minimize

import bestarm as ba
from bestarm.design.objectives import LogDet, PairSum, bound_weights
from bestarm.design.simplex import minimise
from bestarm.design.tie import tie_weights
from random_models import SETTINGS, random_model

OBJECTIVES = {
    "g": LogDet,
    "bound": lambda model: PairSum(model, bound_weights(model)),
    "tie": lambda model: PairSum(model, tie_weights(model, draws=512)),
}


def cases():
    for seed in range(6):
        for setting in SETTINGS:
            rng = np.random.default_rng([seed, SETTINGS.index(setting)])
            model = random_model(setting, rng, arms=int(rng.integers(2, 12)), corners=bool(seed % 2))
            costs = rng.uniform(0.2, 5, model.num_arms) if seed % 3 == 0 else np.ones(model.num_arms)
            yield pytest.param(model, costs, float(rng.uniform(1, 300)), id=f"{setting}-{seed}")


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize(("model", "costs", "budget"), list(cases()))
def test_gradients_are_level_where_budget_is_spent(name, model, costs, budget):
    objective = OBJECTIVES[name](model)
    found = minimise(objective, costs, budget)
    np.testing.assert_allclose(found.weights.sum(), 1)
    assert (found.weights >= 0).all()
    assert found.gap <= 1e-6
    _, g = objective.gradient(found.weights * budget / costs)
    per_cost = g / costs
    if not per_cost.any():
        return
    level, scale = per_cost.min(), abs(per_cost.min())
    used = found.weights > 1e-3
    # a share of 1e-3 above the level by δ adds 1e-3 δ to the gap, which is at most 1e-6 of the objective
    slack = 1e-3 * max(scale, abs(found.objective) / budget)
    assert (per_cost[used] - level <= slack).all()


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("setting", SETTINGS)
def test_derivatives(name, setting):
    rng = np.random.default_rng(1)
    model = random_model(setting, rng, arms=5, corners=False)
    objective, counts, h = OBJECTIVES[name](model), rng.uniform(1, 10, 5), 1e-4
    value, g = objective.gradient(counts)
    np.testing.assert_allclose(value, objective.value(counts))
    steps = h * np.eye(5)
    np.testing.assert_allclose(
        [(objective.value(counts + e) - objective.value(counts - e)) / (2 * h) for e in steps], g, rtol=1e-5, atol=1e-9
    )
    second = [(objective.gradient(counts + e)[1] - objective.gradient(counts - e)[1]) / (2 * h) for e in steps]
    np.testing.assert_allclose(second, objective.hessian(counts, np.arange(5)), rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("setting", SETTINGS)
def test_midpoint_convexity(name, setting):
    rng = np.random.default_rng(2)
    for _ in range(20):
        objective = OBJECTIVES[name](random_model(setting, rng, arms=5))
        a, b = 60 * rng.dirichlet(np.full(5, 0.3)), 60 * rng.dirichlet(np.full(5, 0.3))
        ends = (objective.value(a) + objective.value(b)) / 2
        assert objective.value((a + b) / 2) <= ends + 1e-12 * abs(ends) + 1e-15


@pytest.mark.parametrize("setting", SETTINGS)
def test_no_worse_than_slsqp_from_many_starts(setting):
    """The paper's way, restarted: none of 10 local searches finds anything lower."""
    rng = np.random.default_rng(3)
    model = random_model(setting, rng, arms=6, corners=False)
    objective = OBJECTIVES["bound"](model)
    found = minimise(objective, np.ones(6), 40)
    for _ in range(10):
        other = minimize(
            lambda w: objective.value(40 * np.abs(w)),
            rng.dirichlet(np.ones(6)),
            method="SLSQP",
            bounds=[(0, 1)] * 6,
            constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        )
        assert found.objective <= other.fun * (1 + 1e-6)


def test_two_arms_in_closed_form():
    """n_i + v_i/s_i ∝ √(v_i/c_i), clipped at 0, for every convex method but g."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        sd, noise, costs = rng.uniform(0.2, 1, 2), rng.uniform(0.3, 2, 2), rng.uniform(0.5, 3, 2)
        budget = float(rng.uniform(1, 200))
        model = ba.Gaussian.independent([0, 0.3], sd, noise)
        precision, root = noise**2 / sd**2, np.sqrt(noise**2 / costs)
        level = (budget + costs @ precision) / (costs @ root)
        counts = level * root - precision
        if counts.min() < 0:
            k = int(np.argmin(counts))
            counts[k], counts[1 - k] = 0, budget / costs[1 - k]
        for name in ("bound", "tie"):
            weights = minimise(OBJECTIVES[name](model), costs, budget).weights
            np.testing.assert_allclose(weights * budget / costs, counts, atol=2e-3 * budget)


def test_equal_arms_share_evenly():
    model = ba.Gaussian.independent(np.zeros(5), 0.5)
    for name in OBJECTIVES:
        np.testing.assert_allclose(minimise(OBJECTIVES[name](model), np.ones(5), 20).weights, 0.2, atol=1e-6)


# ---------------------------------------------------------------------- the weights of ties


def test_tie_weights_three_ways():
    """The Gram matrix, the densities given the others and the corners of envelopes are the same numbers."""
    from bestarm.design.tie import _along_lines, _given_the_others, _independent

    mean, sd = np.array([0.0, 0.3, 0.5, 0.1]), np.array([0.5, 0.4, 0.3, 0.6])
    exact = _independent(mean, sd)
    as_low_rank = ba.Gaussian.low_rank(mean, np.diag(sd * 0.6), 0.64 * sd**2)
    given = _given_the_others(as_low_rank, mean, 2**15, np.random.default_rng(0))
    np.testing.assert_allclose(given, exact, atol=0.01)
    lines = _along_lines(ba.Gaussian.low_rank(mean, np.diag(sd), 0.0), mean, 2**17, np.random.default_rng(0))
    np.testing.assert_allclose(lines, exact, atol=0.03)


def test_tie_weights_of_two_arms_are_a_density():
    mean, sd = np.array([0.2, 0.5]), np.array([0.3, 0.4])
    spread = np.hypot(*sd)
    want = np.exp(-((0.3 / spread) ** 2) / 2) / np.sqrt(2 * np.pi) / spread
    np.testing.assert_allclose(tie_weights(ba.Gaussian.independent(mean, sd))[0, 1], want, rtol=1e-9)
    certain = tie_weights(ba.Gaussian.independent(mean, [0.3, 0]))[0, 1]
    np.testing.assert_allclose(certain, np.exp(-0.5) / np.sqrt(2 * np.pi) / 0.3, rtol=1e-9)


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_error_becomes_the_tie_objective(setting):
    """P_n ≈ √(2/π) Σ κ √V for large n."""
    rng = np.random.default_rng(5)
    model = random_model(setting, rng, arms=5, corners=False)
    counts = np.full(5, 1e6)
    error = ba.error_probability(model, counts)
    objective = PairSum(model, tie_weights(model, draws=2**16)).value(counts)
    np.testing.assert_allclose(error.value, np.sqrt(2 / np.pi) * objective, rtol=0.05)
