"""What single steps do: draws of the stated law, transportation costs, designs, warm-up forms of the paper."""

import numpy as np
import pytest

from bestarm.models.covariance import Covariance
from bestarm.policies.contract import marginal
from bestarm.policies.gse import g_optimal_shares, greedy_counts
from bestarm.policies.top_two import challenger_draw, transport
from random_models import random_model


@pytest.mark.parametrize("setting", ["independent", "linear", "hierarchical"])
def test_the_challenger_is_drawn_from_russos_law(setting):
    """P(J = j | I) = a_j/(1 − a_I): 40,000 draws against counting; 4.5 standard errors of a difference, each arm."""
    rng = np.random.default_rng(4)
    model = random_model(setting, rng, arms=4, corners=False)
    draws = model.sample(400_000, rng)
    best = np.argmax(draws, axis=1)
    for leader in range(4):
        number = 40_000
        if (best != leader).sum() < 1000:
            continue
        covariance = Covariance(
            np.broadcast_to(model.covariance.factor, (number, *model.covariance.factor.shape)),
            np.broadcast_to(model.covariance.diag, (number, 4)),
        )
        mean = np.broadcast_to(model.mean, (number, 4))
        found = challenger_draw(mean, covariance, np.full(number, leader), rng)
        assert (found != leader).all()
        share = np.bincount(found, minlength=4) / number
        others = best[best != leader]
        want = np.bincount(others, minlength=4) / len(others)
        stderr = np.sqrt(want * (1 - want) * (1 / number + 1 / len(others))) + 1e-9
        assert (np.abs(share - want) < 4.5 * stderr + 1e-4).all()


def test_a_sure_leader_still_has_a_challenger():
    """Where redrawing would take for ever: the leader is best but for a chance of 1e-40."""
    covariance = Covariance(np.zeros((1, 3, 0)), np.full((1, 3), 0.01))
    found = challenger_draw(np.array([[5.0, 1.0, 1.1]]), covariance, np.array([0]), np.random.default_rng(0))
    assert found[0] in (1, 2)
    stuck = Covariance(np.zeros((1, 3, 0)), np.zeros((1, 3)))
    assert challenger_draw(np.array([[5.0, 1.0, 1.1]]), stuck, np.array([0]), np.random.default_rng(0))[0] == 2


def test_transport_costs():
    """(m_L − m_j)²₊/(2 Var(r_L − r_j)) on a joint posterior, against the dense covariance."""
    model = random_model("hierarchical", np.random.default_rng(1), arms=5, corners=False)
    cov, m = model.cov, model.mean
    batch = Covariance(model.covariance.factor[None], model.covariance.diag[None])
    for leader in range(5):
        cost = transport(m[None], batch, np.array([leader]))[0]
        for j in range(5):
            if j != leader:
                apart = cov[leader, leader] + cov[j, j] - 2 * cov[leader, j]
                assert cost[j] == pytest.approx(max(m[leader] - m[j], 0) ** 2 / (2 * apart), rel=1e-9)


def test_thompson_draws_have_the_papers_forms():
    """Independent N(m, σ²); linear x·θ; mixed effects μ first, then arms: all N(m, S), by mean and covariance.

    200,000 draws: entries within 4.5 standard errors.
    """
    for setting in ("independent", "linear", "hierarchical"):
        model = random_model(setting, np.random.default_rng(3), arms=4, corners=False)
        draws = model._runs(200_000)._draw(np.random.default_rng(0))
        cov = np.cov(draws.T)
        scale = np.sqrt(np.outer(model.var, model.var) * 2 / 200_000)
        assert (np.abs(draws.mean(axis=0) - model.mean) < 4.5 * np.sqrt(model.var / 200_000)).all()
        assert (np.abs(cov - model.cov) < 4.5 * scale).all()


def test_marginal_belief():
    model = random_model("hierarchical", np.random.default_rng(3), arms=4, corners=False)
    alone = marginal(model)
    np.testing.assert_allclose(alone.cov, np.diag(np.diagonal(model.cov)))
    np.testing.assert_allclose(alone.mean, model.mean)


def test_g_optimal_design():
    """Kiefer and Wolfowitz: at the optimum the largest predicted variance is d."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(12, 3))
    alive = np.ones((2, 12), dtype=bool)
    alive[1, 6:] = False
    for row, w in zip(alive, g_optimal_shares(x, alive), strict=True):
        assert w[~row].sum() == 0
        inverse = np.linalg.inv((w[:, None] * x).T @ x)
        assert np.einsum("kp,pq,kq->k", x[row], inverse, x[row]).max() < 3 * 1.05


def test_greedy_design():
    """Against dense algebra, evaluation by evaluation."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6, 2))
    alive = np.array([[True] * 6, [True, False, True, True, False, True]])
    found = greedy_counts(x, alive, 9)
    for row, counts in zip(alive, found, strict=True):
        a, want = np.eye(2), np.zeros(6)
        for _ in range(9):
            worst = []
            for k in np.flatnonzero(row):
                inverse = np.linalg.inv(a + np.outer(x[k], x[k]))
                worst.append(max(x[j] @ inverse @ x[j] for j in np.flatnonzero(row)))
            k = np.flatnonzero(row)[int(np.argmin(worst))]
            a, want[k] = a + np.outer(x[k], x[k]), want[k] + 1
        np.testing.assert_array_equal(counts, want)
