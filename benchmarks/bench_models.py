"""Import time, conditioning time and peak memory of the foundation."""

import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

import bestarm as ba


def seconds(call: Callable[[], object], repeats: int = 5) -> float:
    """Best of a few runs, after one to warm up."""
    call()
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return float(best)


def peak_megabytes(call: Callable[[], object]) -> float:
    """What NumPy and Python allocate on top of what is there."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def import_seconds(statement: str) -> float:
    run = [sys.executable, "-c", statement]
    return seconds(lambda: subprocess.run(run, check=True), repeats=10)


def main() -> None:
    bare = import_seconds("pass")
    ours = import_seconds("import bestarm") - bare
    base = import_seconds("import numpy, scipy.linalg, scipy.special") - bare
    print(f"\nimport bestarm: {ours:.3f} s; import numpy, scipy.linalg, scipy.special: {base:.3f} s;", end=" ")
    print(f"ratio {ours / base:.2f} (target: below 2)\n")

    rng = np.random.default_rng(0)
    many, effects = 10_000, 20
    mixing = rng.random((many, effects))
    hierarchical = ba.Gaussian.hierarchical(mixing, np.zeros(effects), np.eye(effects), 0.3)
    precise = ba.Gaussian.linear(mixing, np.zeros(effects), np.eye(effects), 1e-3)
    million = ba.Gaussian.independent(np.zeros(1_000_000), 1.0)
    ten = ba.Gaussian.independent(np.zeros(10), 1.0)
    thirty = ba.Gaussian.linear(rng.normal(size=(30, 4)), np.zeros(4), np.eye(4))
    sixty = ba.Gaussian.hierarchical(rng.random((60, 10)), np.zeros(10), 0.1 * np.eye(10), 0.3)
    cases = [
        ("hierarchical K = 10,000, q = 20", hierarchical, rng.integers(0, 5, many)),
        ("linear K = 10,000, q = 20, by QR (counts to 1e9)", precise, rng.integers(0, 10**9, many)),
        ("independent K = 1,000,000", million, np.ones(1_000_000)),
        ("10,000 posteriors, independent K = 10", ten, rng.integers(0, 9, (10_000, 10))),
        ("10,000 posteriors, linear K = 30, d = 4", thirty, rng.integers(0, 9, (10_000, 30))),
        ("2,000 posteriors, hierarchical K = 60, L = 10", sixty, rng.integers(0, 9, (2_000, 60))),
    ]
    print(f"{'conditioning':<52}{'seconds':>10}{'peak MB':>10}{'dense K×K would be':>22}")
    for label, model, counts in cases:
        sums = counts * rng.normal(size=counts.shape)

        def condition(model: ba.Gaussian = model, counts: np.ndarray = counts, sums: np.ndarray = sums) -> object:
            return model.condition(counts, sums).var

        dense = f"{model.num_arms**2 * 8e-6:,.0f} MB" if counts.ndim == 1 else ""
        print(f"{label:<52}{seconds(condition):>10.4f}{peak_megabytes(condition):>10.1f}{dense:>22}")

    print(f"\n{'chance to be best':<52}{'seconds':>10}{'max stderr':>12}")
    for label, model in [
        ("independent K = 10", ba.Gaussian.independent(np.linspace(0, 1, 10), np.linspace(0.1, 0.5, 10))),
        (
            "independent K = 1,000",
            ba.Gaussian.independent(np.linspace(0, 1, 1000), np.linspace(0.1, 0.5, 1000)),
        ),
        ("linear K = 30, d = 4", thirty),
        ("hierarchical K = 60, L = 10", sixty),
    ]:

        def chance(model: ba.Gaussian = model) -> ba.Estimate:
            # a fresh copy: independent arms keep their answer
            return ba.Gaussian(model.mean, model.covariance, model.noise_var, model.arms).prob_best()

        print(f"{label:<52}{seconds(chance, 3):>10.4f}{np.max(chance().stderr):>12.1e}")
