"""Planning against the ways it is done elsewhere, in one run; and how time and memory grow with the arms."""

import importlib
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

import bestarm as ba
from bestarm.design.objectives import LogDet, PairSum, bound_weights
from bestarm.design.simplex import minimise
from bestarm.paper.settings import settings

cp: Any = importlib.import_module("cvxpy")  # types that do not help
optimize: Any = importlib.import_module("scipy.optimize")


def best_time(call: Callable[[], object], repeats: int = 5) -> float:
    """Least of a few calls, after one to warm up."""
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def slsqp(objective: PairSum, budget: float, starts: int) -> tuple[float, float]:
    """Least value of SLSQP with numerical gradients from random starts, and seconds for one start."""
    arms, rng, best = objective.model.num_arms, np.random.default_rng(0), np.inf
    start = time.perf_counter()
    for _ in range(starts):
        found = optimize.minimize(
            lambda w: objective.value(budget * np.abs(w)),
            rng.dirichlet(np.ones(arms)),
            method="SLSQP",
            bounds=[(0, 1)] * arms,
            constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        )
        best = min(best, float(objective.value(budget * np.abs(found.x) / np.abs(found.x).sum())))
    return best, (time.perf_counter() - start) / starts


def main() -> None:
    print(
        "\nbound: one certified solution against SciPy SLSQP with numerical gradients from random starts (20 measured;"
    )
    print("500 extrapolated from them, 25 times); target: objective within 1e-6, 1,000 times faster\n")
    print(f"{'setting':<24}{'seconds':>9}{'gap':>9}{'ours/SLSQP - 1':>16}{'500 starts, s':>15}{'faster':>10}")
    for name, model, budgets in settings(0):
        if "fixed" in name:
            budget = float(budgets[-1])
            objective = PairSum(model, bound_weights(model))
            ones = np.ones(model.num_arms)
            seconds = best_time(lambda o=objective, c=ones, b=budget: minimise(o, c, b))  # type: ignore[misc]
            ours = minimise(objective, ones, budget)
            value, each = slsqp(objective, budget, 20)
            print(
                f"{name:<24}{seconds:>9.4f}{ours.gap:>9.0e}{ours.objective / value - 1:>16.1e}"
                f"{500 * each:>15.1f}{500 * each / seconds:>10,.0f}"
            )

    rng = np.random.default_rng(0)
    x = rng.normal(size=(1000, 20))
    model = ba.Gaussian.linear(x, np.zeros(20), np.eye(20))
    seconds = best_time(lambda: minimise(LogDet(model), np.ones(1000), 1000.0), 3)
    ours = minimise(LogDet(model), np.ones(1000), 1000.0)
    n = cp.Variable(1000, nonneg=True)
    problem = cp.Problem(cp.Minimize(-cp.log_det(np.eye(20) + x.T @ cp.diag(n) @ x)), [cp.sum(n) == 1000])
    start = time.perf_counter()
    theirs = problem.solve()
    taken = time.perf_counter() - start
    print(
        f"\ng, K = 1,000, d = 20: {seconds:.3f} s; CVXPY {cp.__version__} with its default solver {taken:.1f} s:",
        end=" ",
    )
    print(
        f"{taken / seconds:.0f} times (target 20); objectives differ by {ours.objective / theirs - 1:.1e} (target 1e-6)"
    )

    print("\ntie: weights, counts, gap (targets: K = 100 20 ms; K = 10,000 10 s, 1 GB; hierarchical 10 s)\n")
    print(f"{'arms':<34}{'seconds':>9}{'peak MB':>9}{'gap':>9}{'arms used':>11}")
    for arms in (10, 100, 1000, 10_000, 100_000):
        wide = ba.Gaussian.independent(np.linspace(0, 1, arms), np.linspace(0.1, 0.5, arms))
        report(f"independent, {arms:,}", wide, 10.0 * arms)
    mixing = rng.random((1000, 20))
    mixing /= mixing.sum(axis=1, keepdims=True)
    effects = np.diag(np.linspace(0.1, 0.5, 20) ** 2)
    deep = ba.Gaussian.hierarchical(mixing, np.linspace(-1, 1, 20), effects, np.linspace(0.1, 0.5, 1000))
    report("hierarchical, 1,000, L = 20", deep, 10_000.0)


def report(label: str, model: ba.Gaussian, budget: float) -> None:
    """One line: time (least of three for small models), memory, gap, how many arms get anything."""
    repeats = 3 if model.num_arms <= 1000 and model.covariance.rank == 0 else 1
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        made = ba.plan(model, budget, "tie")
        times.append(time.perf_counter() - start)
    tracemalloc.start()
    ba.plan(model, budget, "tie")
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    print(f"{label:<34}{min(times):>9.3f}{peak:>9.0f}{made.gap:>9.0e}{int((made.counts > 0).sum()):>11,}", flush=True)
