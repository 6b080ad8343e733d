"""The exact error against simulation: time, standard error, and variance × time, in one run."""

import time
from collections.abc import Callable

import numpy as np

import bestarm as ba
from bestarm.error import exact
from bestarm.paper.settings import settings


def timed(call: Callable[[], ba.Evaluation], repeats: int = 3) -> tuple[float, list[ba.Evaluation]]:
    """Best time of a few calls, and what they gave."""
    results, best = [], np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        results.append(call())
        best = min(best, time.perf_counter() - start)
    return float(best), results


def simulate(model: ba.Gaussian, counts: np.ndarray, runs: int, rng: np.random.Generator) -> tuple[float, float]:
    """Plain joint sampling of (posterior means, arm means) through sufficient statistics: error, seconds per run."""
    start = time.perf_counter()
    means = model.sample(runs, rng)
    sums = counts * means + np.sqrt(counts) * model.noise * rng.standard_normal(means.shape)
    picked = np.argmax(model._conditioned(counts, sums).mean, axis=1)
    wrong = means[np.arange(runs), picked] < means.max(axis=1)
    return float(wrong.mean()), (time.perf_counter() - start) / runs


def main() -> None:
    print("\nuniform counts; variance × time of plain simulation over that of ba.evaluate (error), mean of 8 seeds\n")
    print(f"{'setting':<20}{'n':>6}{'error':>22}{'seconds':>9}{'gain':>7}{'target':>8}")
    for name, model, budgets in settings(seed=0):
        n = budgets[len(budgets) // 2]
        counts = np.full(model.num_arms, n / model.num_arms)
        seconds, results = timed(lambda m=model, c=counts: ba.evaluate(m, c))  # type: ignore[misc]
        variance = np.mean([float(ba.evaluate(model, counts, rng=seed).error.stderr) ** 2 for seed in range(8)])
        rng = np.random.default_rng(0)
        each = min(simulate(model, counts, 20_000, rng)[1] for _ in range(5))
        error = float(results[0].error.value)
        gain = error * (1 - error) * each / (variance * seconds)
        target = 30 if name.startswith("independent") else 10
        print(f"{name:<20}{n:>6}{results[0].error!s:>22}{seconds:>9.2f}{gain:>7.0f}{target:>8}")

    print("\nindependent arms, means and sds evenly spaced as in the reference setting, 12 evaluations an arm\n")
    print(f"{'K':>6}{'error':>24}{'seconds':>9}{'regret':>24}{'pairwise':>34}{'orthant':>34}")
    for arms in (3, 10, 100, 1000):
        model = ba.Gaussian.independent(np.linspace(0, 1, arms), np.linspace(0.1, 0.5, arms))
        counts = np.full(arms, 12.0)
        seconds, results = timed(lambda m=model, c=counts: ba.evaluate(m, c))  # type: ignore[misc]
        bounds = [str(ba.error_bound(model, counts, kind)) for kind in ("pairwise", "orthant")]
        print(
            f"{arms:>6}{results[0].error!s:>24}{seconds:>9.2f}{results[0].regret!s:>24}{bounds[0]:>34}{bounds[1]:>34}"
        )

    print("\nJ's own deviation as one more even coordinate, against 24 Gauss-Hermite nodes for each outcome (K = 10)\n")
    _, model, _ = next(settings(seed=0))
    counts = np.full(10, 12.0)
    for label, kind, work in (("coordinate", exact.Integrator, 2**15), ("nodes", _Nodes, 2**11)):
        integrator = kind(model, counts, None, False, 0.0)
        seconds, results = timed(lambda i=integrator, w=work: i.estimate(w, np.random.default_rng(1)))  # type: ignore[misc]
        variance = np.mean(
            [float(integrator.estimate(work, np.random.default_rng(s)).error.stderr) ** 2 for s in range(8)]
        )
        print(f"{label:<12} error {results[0].error}, {seconds:.2f} s, variance × time {variance * seconds:.1e}")


class _Nodes(exact.Integrator):
    """The other way: integrate over J's own deviation by quadrature instead of drawing it."""

    def _given_low_rank(
        self, level: np.ndarray, picked: np.ndarray, e: np.ndarray, x: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        nodes, weights = np.polynomial.hermite_e.hermegauss(24)
        reward = level[np.arange(len(level)), picked]
        error = np.zeros(len(level))
        for node, weight in zip(nodes, weights / weights.sum(), strict=True):
            error += weight * self._chance_above(level, picked, reward + self.own_sd[picked] * node)
        return error, np.zeros(len(level))
