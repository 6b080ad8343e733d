"""The exact error of every plan and of its 0.5 blend with the heuristic: six reference settings, every budget.

Prior seeds 0-4 (only 0 for the independent, fixed setting, which has nothing random). Two processes.
"""

import multiprocessing
import os

import numpy as np

import bestarm as ba
from bestarm.design.plans import METHODS
from bestarm.design.rounding import largest_remainder
from bestarm.paper.settings import settings

PAPER = ("uniform", "heuristic", "g", "bound", "bound-mix")
SEEDS = range(5)


def cell(job: tuple[str, int, int]) -> dict[str, tuple[float, float]]:
    """Error and standard error of each plan for one setting, seed and budget."""
    name, seed, budget = job
    model = next(prior for label, prior, _ in settings(seed) if label == name)
    heuristic = ba.plan(model, budget, "heuristic").weights
    result: dict[str, tuple[float, float]] = {}
    for method in METHODS:
        if method == "exact" and model.num_arms > 50:
            continue
        made = ba.plan(model, budget, method)  # type: ignore[arg-type]
        mixed = largest_remainder((made.weights + heuristic) / 2, np.ones(model.num_arms), budget)
        for label, counts in ((method, made.counts), (f"{method}-mix", mixed)):
            error = ba.error_probability(model, counts)
            result[label] = float(error.value), float(error.stderr)
    return result


def main() -> None:
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read by the children: two processes, one thread each
    jobs = [
        (name, seed, budget)
        for seed in SEEDS
        for name, _, budgets in settings(seed)
        for budget in budgets
        if seed == 0 or name != "independent, fixed"
    ]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        cells = dict(zip(jobs, pool.map(cell, jobs, chunksize=1), strict=True))

    for name in dict.fromkeys(job[0] for job in jobs):
        mine = {job: cells[job] for job in jobs if job[0] == name}
        budgets = sorted({job[2] for job in mine})
        seeds = sorted({job[1] for job in mine})
        methods = list(next(iter(mine.values())))
        print(f"\n{name}: error, averaged over prior seeds {seeds}; standard error of each number below")
        print(f"{'plan':<16}" + "".join(f"{b:>9}" for b in budgets))
        errors = {
            m: np.array([[mine[name, s, b][m] for b in budgets] for s in seeds]) for m in methods
        }  # (seeds, budgets, 2)
        for method in methods:
            values = errors[method][..., 0].mean(axis=0)
            print(f"{method:<16}" + "".join(f"{v:>9.4f}" for v in values))
        largest = max(float(np.sqrt((e[..., 1] ** 2).sum(axis=0)).max() / len(seeds)) for e in errors.values())
        print(f"(standard errors at most {largest:.4f})")
        yardstick = "exact" if "exact" in errors else "anchored"
        for method in ("anchored", "tie"):
            over = errors[method][..., 0] / errors[yardstick][..., 0] - 1
            print(f"{method} over {yardstick}: mean {over.mean():+.2%}, worst {over.max():+.2%}")
        for method in ("anchored", "tie"):
            above = 0
            for rival in PAPER:
                paper = errors[rival]
                gap = errors[method][..., 0] - paper[..., 0]
                above += int((gap > 2 * np.hypot(errors[method][..., 1], paper[..., 1])).sum())
            total = len(PAPER) * len(mine)
            print(f"{method} above one of the paper's methods by more than 2 standard errors: {above} of {total}")
