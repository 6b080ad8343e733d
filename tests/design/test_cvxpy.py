"""The G/D-optimal design agrees with CVXPY's conic solver, with and without costs."""

import numpy as np
import pytest

import bestarm as ba
from bestarm.design.objectives import LogDet
from bestarm.design.simplex import minimise

cp = pytest.importorskip("cvxpy")


@pytest.mark.parametrize("seed", range(4))
def test_log_det_design(seed):
    rng = np.random.default_rng(seed)
    x, d = rng.normal(size=(12, 3)), 3
    sds, noise, budget = rng.uniform(0.2, 2, d), rng.uniform(0.5, 2, 12), 40.0
    costs = rng.uniform(0.5, 3, 12) if seed % 2 else np.ones(12)
    model = ba.Gaussian.linear(x, np.zeros(d), np.diag(sds**2), noise)

    n = cp.Variable(12, nonneg=True)
    scaled = x * sds  # log det(I + Σ n x xᵀ/v) in whitened coordinates
    information = np.eye(d) + sum(n[k] / noise[k] ** 2 * np.outer(scaled[k], scaled[k]) for k in range(12))
    problem = cp.Problem(cp.Minimize(-cp.log_det(information)), [costs @ n == budget])
    theirs = problem.solve(solver="CLARABEL")
    ours = minimise(LogDet(model), costs, budget)
    np.testing.assert_allclose(ours.objective, theirs, rtol=1e-6)
    assert ours.objective <= theirs + 1e-6 * abs(theirs)
