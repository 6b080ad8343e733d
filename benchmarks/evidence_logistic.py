"""The paper's logistic settings: every policy at every budget, realised errors on the same instances.

RUNS runs a setting (2,000); prior seed 0; features and means as in the linear reference settings, K = 30, d = 3 and 4.
"""

import os
from concurrent.futures import ProcessPoolExecutor

import numpy as np

import bestarm as ba
from bestarm.paper.settings import logistic_settings

RUNS = int(os.environ.get("RUNS", "2000"))
BUDGETS = list(range(100, 1001, 300))
FIXED = ("uniform", "heuristic", "g", "bound", "bound-mix", "tie", "anchored")
OTHERS = ("warmup-ts", "warmup-ts-tci", "rolling", "sh", "sr", "bayes-elim", "ts", "ts-tci", "joint-ts", "joint-ts-tci")


def main() -> None:
    policies = dict.fromkeys((*FIXED, *OTHERS)) | {"g": "g"}
    chosen = {name: name for name in policies} | {"g, as if linear": ba.policies.Fixed(method="g", fisher=False)}
    with ProcessPoolExecutor(2) as pool:
        for label, model, _ in logistic_settings(0):
            results = ba.simulate(model, chosen, BUDGETS, RUNS, executor=pool)
            print(f"\n{label}: realised error ({RUNS:,} runs), and first less last budget in standard errors\n")
            print(f"{'policy':<18}" + "".join(f"{b:>17}" for b in BUDGETS) + f"{'falls by':>10}")
            for name in chosen:
                found = [results.estimate(name, float(b)) for b in BUDGETS]
                fall = results.outcome(name, float(BUDGETS[0])) - results.outcome(name, float(BUDGETS[-1]))
                z = fall.mean() / (fall.std(ddof=1) / np.sqrt(len(fall)))
                print(f"{name:<18}" + "".join(f"{e.value:>9.4f} ± {e.stderr:.3f}" for e in found) + f"{z:>10.1f}")
            fixed = {name: np.mean([results.outcome(name, float(b)) for b in BUDGETS], axis=0) for name in FIXED}
            best = min(fixed, key=lambda name: fixed[name].mean())
            gap = fixed["g"] - fixed[best]
            stderr = gap.std(ddof=1) / np.sqrt(len(gap))
            print(f"best fixed plan on average: {best}; g is {gap.mean():+.4f} ± {stderr:.4f} above it", flush=True)
