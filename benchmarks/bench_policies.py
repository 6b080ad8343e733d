"""The simulator against what it cannot do without (drawing the normals), against plain loops, and rolling plans."""

import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import bestarm as ba
from bestarm.paper.settings import settings
from bestarm.simulation import engine

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from oracles import slow_policies as slow

RUNS = 2048
ADAPTIVE = ("ts", "ttts", "t3c", "ts-tci", "bayesgap", "warmup-ts")
JOINT = ("joint-ttts", "joint-t3c", "joint-ts-tci")
TWINS = {
    "ts": slow.thompson,
    "t3c": lambda model, world, budget, rng: slow.top_two(model, world, budget, rng, "t3c"),
    "ts-tci": lambda model, world, budget, rng: slow.top_two(model, world, budget, rng, "ts-tci"),
    "bayesgap": lambda model, world, budget, rng: slow.bayes_gap(model, world, budget),
    "sh": slow.halving,
    "sr": slow.rejects,
    "bayes-elim": slow.bayes_elim,
}


class Counting(np.random.Generator):
    """A generator that counts the normals it is asked for."""

    normals = 0

    def standard_normal(self, size: Any = None, *args: Any, **kwargs: Any) -> Any:
        Counting.normals += int(np.prod(size if size is not None else 1))
        return super().standard_normal(size, *args, **kwargs)


def consumed(model: ba.Gaussian, name: str, budget: int) -> int:
    """Normals that a block of runs draws, for rewards and choices (instances left out)."""
    plain = engine._Job._stream
    engine._Job._stream = lambda *args: Counting(plain(*args).bit_generator)  # type: ignore[method-assign]
    Counting.normals = 0
    try:
        ba.simulate(model, name, budget, runs=RUNS, outcome="realised")
    finally:
        engine._Job._stream = plain  # type: ignore[method-assign]
    return Counting.normals - RUNS * (model.num_arms + model.covariance.rank)


def seconds(model: ba.Gaussian, name: Any, budgets: Any, runs: int, repeats: int = 3, **options: Any) -> float:
    ba.simulate(model, name, budgets, runs=64)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        ba.simulate(model, name, budgets, runs=runs, outcome="realised", **options)
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    fixed = {name: (model, budgets) for name, model, budgets in settings(0) if name.endswith("fixed")}

    print(f"\ntime of {RUNS:,} runs over the time of drawing the normals they consume (target 4 for independent arms)")
    print("bayesgap draws nothing but rewards: one normal a step, for which it looks at every arm\n")
    print(f"{'setting':<22}{'n':>6}  {'policy':<14}{'normals':>13}{'seconds':>9}{'ratio':>7}")
    rng = np.random.default_rng(0)
    for name, (model, budgets) in fixed.items():
        for policy in ADAPTIVE + (() if name.startswith("independent") else JOINT):
            number = consumed(model, policy, budgets[-1])
            taken = seconds(model, policy, budgets[-1], RUNS)
            per_step = max(1, number // budgets[-1])
            start = time.perf_counter()
            for _ in range(budgets[-1]):  # in pieces of one step, as any policy must
                rng.standard_normal(per_step)
            drawing = time.perf_counter() - start
            print(
                f"{name:<22}{budgets[-1]:>6}  {policy:<14}{number:>13,}{taken:>9.2f}{taken / drawing:>7.1f}", flush=True
            )

    model, budgets = fixed["independent, fixed"]
    print("\nfixed plans, K = 10, n = 300: runs per second, one process (target 500,000)\n")
    for policy in ("uniform", "tie"):
        taken = seconds(model, policy, 300, 500_000)
        print(f"{policy:<14}{500_000 / taken:>12,.0f}")

    print("\na column of the main figure, independent arms (8 budgets, 10,000 runs each) against plain loops over runs")
    print("and rounds: 50 runs measured, the rest extrapolated; ours in two processes (target 300 times)\n")
    print(f"{'policy':<14}{'loops, s':>12}{'ours, s':>9}{'faster':>9}")
    total_slow, total_ours = 0.0, 0.0
    with ProcessPoolExecutor(2) as pool:
        for policy, twin in TWINS.items():
            start = time.perf_counter()
            for budget in budgets:
                for run in range(50):
                    means = model.sample(rng=np.random.default_rng(run))
                    twin(
                        model, slow.World(model, means, np.random.default_rng(run)), budget, np.random.default_rng(run)
                    )
            loops = (time.perf_counter() - start) * 10_000 / 50
            ours = seconds(model, policy, budgets, 10_000, repeats=1, executor=pool)
            total_slow, total_ours = total_slow + loops, total_ours + ours
            print(f"{policy:<14}{loops:>12,.0f}{ours:>9.2f}{loops / ours:>9,.0f}", flush=True)
        print(f"{'all':<14}{total_slow:>12,.0f}{total_ours:>9.2f}{total_slow / total_ours:>9,.0f}")

        print("\nrolling with 12 stages, two processes\n")
        deep, fifties = fixed["hierarchical, fixed"]
        for label, prior, n, runs, target in (
            ("independent, K = 10", model, 300, 10_000, 15),
            ("hierarchical, K = 60", deep, fifties[-1], 2_000, 120),
        ):
            twelve = ba.policy("rolling", stages=12)
            taken = seconds(prior, twelve, n, runs, repeats=1, executor=pool)
            print(f"{label:<22} n = {n}, {runs:,} runs: {taken:.1f} s (target {target})")
