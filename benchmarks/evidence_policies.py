"""Every policy at every budget of the reference settings: error, rolling against each, and how much budget it saves.

RUNS runs a prior (10,000), rolling on hierarchical ones DEEP_RUNS (2,000); prior seeds 0 to SEEDS - 1 (5), only 0 for
the independent, fixed setting. Differences are paired: the same instances. Results of each prior stay in
benchmarks/cache (not in git), so that an interrupted run goes on. It takes an hour on two cores.
"""

import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

import bestarm as ba
from bestarm.paper.settings import settings

PAPER = ("uniform", "bound", "bound-mix", "g", "warmup-ts")
RIVALS = ("sh", "sr", "bayes-elim", "ts", "ttts", "t3c", "ts-tci", "bayesgap")
JOINT = ("joint-ttts", "joint-t3c", "joint-ts-tci")
LINEAR = ("gse", "gse-greedy")
MORE = ("warmup-ttts", "warmup-t3c", "warmup-ts-tci", "elim:uniform", "elim:g", "elim:bound-mix", "elim:tie")
SHORT = (0.25, 0.4, 0.55, 0.75)  # of the smallest budget: rolling there, to find the ratio
RUNS, DEEP_RUNS = int(os.environ.get("RUNS", "10000")), int(os.environ.get("DEEP_RUNS", "2000"))
SEEDS = int(os.environ.get("SEEDS", "5"))
CACHE = Path(__file__).parent / "cache"


def policies_for(name: str) -> list[str]:
    chosen = ["heuristic", "tie", *PAPER, *RIVALS]
    if not name.startswith("independent"):
        chosen += JOINT
    if name.startswith("linear"):
        chosen += LINEAR
    if not name.startswith("hierarchical"):
        chosen.append("anchored")
    return chosen


def run(
    name: str, seed: int, model: ba.Gaussian, budgets: list[int], pool: ProcessPoolExecutor
) -> dict[str, ba.Results]:
    """All policies on one prior; rolling also at smaller budgets, in the same worlds."""
    CACHE.mkdir(exist_ok=True)
    deep = min(RUNS, DEEP_RUNS) if name.startswith("hierarchical") else RUNS
    stem = f"{name.replace(', ', '-')}-{seed}-{RUNS}"
    short = sorted({max(1, round(budgets[0] * ratio)) for ratio in SHORT} | set(budgets))
    common = {"seed": seed, "executor": pool}
    found = {
        "all": ba.simulate(model, policies_for(name), budgets, RUNS, out=CACHE / f"{stem}-all.bin", **common),  # type: ignore[arg-type]
        "rolling": ba.simulate(model, ["rolling"], short, deep, out=CACHE / f"{stem}-rolling.bin", **common),  # type: ignore[arg-type]
    }
    if name.startswith("independent"):  # further warm-ups and eliminations, where runs are quick
        found["more"] = ba.simulate(model, MORE, budgets, RUNS, out=CACHE / f"{stem}-more.bin", **common)  # type: ignore[arg-type]
    return found


def main() -> None:
    for key in ("OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ[key] = "1"  # read by the children: two processes, one thread each
    found: dict[str, dict[int, dict[str, ba.Results]]] = {}
    budgets_of: dict[str, list[int]] = {}
    with ProcessPoolExecutor(2) as pool:
        for seed in range(SEEDS):
            for name, model, budgets in settings(seed):
                if seed and name == "independent, fixed":
                    continue
                budgets_of[name] = budgets
                found.setdefault(name, {})[seed] = run(name, seed, model, budgets, pool)
    for name, by_seed in found.items():
        report(name, budgets_of[name], by_seed)


def report(name: str, budgets: list[int], by_seed: dict[int, dict[str, ba.Results]]) -> None:
    """Three tables for one setting."""
    first = by_seed[min(by_seed)]
    part_of = {policy: part for part in ("all", "more") if part in first for policy in first[part].policies}
    runs = len(by_seed[min(by_seed)]["all"].outcome("tie", float(budgets[0])))
    deep = len(by_seed[min(by_seed)]["rolling"].outcome("rolling", float(budgets[0])))
    print(f"\n{name}: expected error, prior seeds {sorted(by_seed)}, {runs:,} runs each, rolling {deep:,}")
    print(
        f"{'policy':<14}"
        + "".join(f"{b:>9}" for b in budgets)
        + f"{'rolling - it, worst':>26}{'mean over budgets':>22}{'over':>6}"
    )
    print(f"{'rolling':<14}" + "".join(f"{average(by_seed, 'rolling', 'rolling', b)[0]:>9.4f}" for b in budgets))
    for policy, part in part_of.items():
        line = f"{policy:<14}" + "".join(f"{average(by_seed, part, policy, b)[0]:>9.4f}" for b in budgets)
        gaps = np.array([[gap(f[part], f["rolling"], policy, b) for b in budgets] for f in by_seed.values()])
        over = int((gaps[..., 0] > 0.003 + 2 * gaps[..., 1]).sum())
        worst = gaps.reshape(-1, 2)[np.argmax(gaps[..., 0].ravel() - 2 * gaps[..., 1].ravel())]
        mean, stderr = gaps[..., 0].mean(), np.sqrt((gaps[..., 1] ** 2).sum()) / gaps[..., 1].size
        print(f"{line}{worst[0]:>+16.4f} ± {worst[1]:.4f}{mean:>+13.4f} ± {stderr:.4f}{over:>6}")
    each = [average(by_seed, part, policy, b)[1] for policy, part in part_of.items() for b in budgets]
    own = max(average(by_seed, "rolling", "rolling", b)[1] for b in budgets)
    print(f"(standard errors at most {max(each):.4f}, of rolling {own:.4f}; over: in how many of {gaps[..., 0].size}")
    print(" cells rolling is above the policy by more than 0.003 + 2 standard errors of the paired difference)")
    print(f"budget ratio of rolling to the best of {', '.join(PAPER)}, with the ratios one standard error up and down")
    for b in budgets:
        print(f"{b:>9}: {ratio(by_seed, budgets, b)}")


def average(by_seed: dict[int, dict[str, ba.Results]], part: str, policy: str, budget: float) -> tuple[float, float]:
    """Error averaged over prior seeds, and its standard error."""
    each = [found[part].estimate(policy, float(budget)) for found in by_seed.values()]
    return float(np.mean([e.value for e in each])), float(np.sqrt(sum(float(e.stderr) ** 2 for e in each)) / len(each))


def gap(other: ba.Results, rolling: ba.Results, policy: str, budget: float) -> tuple[float, float]:
    """Rolling less the policy, paired on the instances both have run."""
    a, b = rolling.outcome("rolling", float(budget)), other.outcome(policy, float(budget))
    both = a - b[: len(a)]
    return float(both.mean()), float(both.std(ddof=1) / np.sqrt(len(both)))


def ratio(by_seed: dict[int, dict[str, ba.Results]], budgets: list[int], budget: int) -> str:
    """The smallest n'/n at which rolling errs no more often than the paper's best at n; by log-linear interpolation."""
    target, stderr = min(average(by_seed, "all", policy, budget) for policy in PAPER)
    tried = sorted(set(next(iter(by_seed.values()))["rolling"].budgets))
    curve = [average(by_seed, "rolling", "rolling", n) for n in tried]
    errors = np.minimum.accumulate([e for e, _ in curve])
    spread = float(np.hypot(stderr, max(se for _, se in curve)))

    def reached(level: float) -> float:
        below = np.flatnonzero(errors <= level)
        if not below.size:
            return float("nan")
        j = int(below[0])
        if j == 0:
            return tried[0] / budget
        share = (errors[j - 1] - level) / max(errors[j - 1] - errors[j], 1e-12)
        return float(tried[j - 1] * (tried[j] / tried[j - 1]) ** share / budget)

    span = f"{reached(target + spread):.2f} to {reached(target - spread):.2f}"
    return f"{reached(target):.2f} ({span}), target error {target:.4f}"
