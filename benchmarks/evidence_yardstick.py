"""The Bayes-optimal adaptive policy for two and three yes/no arms, by dynamic programming: how close policies come.

A state is the successes and failures of each arm; the value of a state is the chance to name the best arm in the end.
Runs: RUNS a policy and budget (40,000), errors exact given the data of each run.
"""

import os
from collections.abc import Iterator
from itertools import combinations

import numpy as np

import bestarm as ba
from bestarm.models import best_beta

RUNS = int(os.environ.get("RUNS", "40000"))
POLICIES = ("uniform", "tie", "anchored", "warmup-ts", "sh", "sr", "ts", "ttts", "t3c", "ts-tci", "bayesgap", "rolling")
CASES = {
    "two arms, Beta(1, 1)": ([1.0, 1.0], [1.0, 1.0]),
    "two arms, Beta(1, 1) and Beta(6, 4)": ([1.0, 6.0], [1.0, 4.0]),
    "three arms, Beta(1, 1)": ([1.0, 1.0, 1.0], [1.0, 1.0, 1.0]),
    "three arms, Beta(2, 3), (3, 3), (5, 4)": ([2.0, 3.0, 5.0], [3.0, 3.0, 4.0]),
}
BUDGETS = (5, 10, 15, 20, 30)


def states(parts: int, total: int) -> np.ndarray:
    """All ways to write `total` as a sum of `parts` whole numbers, in lexicographic order, (N, parts)."""
    bars = np.array(list(combinations(range(total + parts - 1), parts - 1)))
    edges = np.hstack([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), total + parts - 1)])
    return np.asarray(np.diff(edges, axis=1) - 1)


def keys(counts: np.ndarray, base: int) -> np.ndarray:
    return np.asarray(counts @ base ** np.arange(counts.shape[1])[::-1])


def chances(alpha: np.ndarray, beta: np.ndarray) -> Iterator[np.ndarray]:
    """P(j best) for many beliefs, in blocks."""
    for start in range(0, len(alpha), 20_000):
        yield best_beta.independent(alpha[start : start + 20_000], beta[start : start + 20_000])[0]


def optimum(alpha: list[float], beta: list[float], budget: int) -> float:
    """The least error that any policy can have."""
    arms, base = len(alpha), budget + 2
    a, b = np.array(alpha), np.array(beta)
    now = states(2 * arms, budget)
    value = np.concatenate([p.max(axis=1) for p in chances(a + now[:, ::2], b + now[:, 1::2])])
    for left in range(1, budget + 1):
        later, later_keys = value, keys(now, base)
        now = states(2 * arms, budget - left)
        options = []
        for k in range(arms):
            ahead = []
            for outcome in (2 * k, 2 * k + 1):
                after = now.copy()
                after[:, outcome] += 1
                ahead.append(later[np.searchsorted(later_keys, keys(after, base))])
            share = (a[k] + now[:, 2 * k]) / (a[k] + b[k] + now[:, 2 * k] + now[:, 2 * k + 1])
            options.append(share * ahead[0] + (1 - share) * ahead[1])
        value = np.max(options, axis=0)
    return 1 - float(value[0])


def main() -> None:
    print(f"\nerror of each policy over that of the best there can be, in percent above it ({RUNS:,} runs)")
    worst = 0.0
    for label, (alpha, beta) in CASES.items():
        model = ba.Bernoulli.independent(alpha, beta)
        least = [optimum(alpha, beta, n) for n in BUDGETS]
        print(f"\n{label}\n{'budget':<12}" + "".join(f"{n:>16}" for n in BUDGETS))
        print(f"{'optimum':<12}" + "".join(f"{e:>16.4f}" for e in least))
        results = ba.simulate(model, POLICIES, BUDGETS, RUNS)
        for policy in POLICIES:
            cells = []
            for n, e in zip(BUDGETS, least, strict=True):
                found = results.estimate(policy, float(n))
                over, stderr = 100 * (float(found.value) / e - 1), 100 * float(found.stderr) / e
                cells.append(f"{over:>+9.1f} ± {stderr:<4.1f}")
                if policy == "rolling":
                    worst = max(worst, over - 2 * stderr)
            print(f"{policy:<12}" + "".join(cells), flush=True)
    print(f"\nrolling is at most {worst:.1f} % above the optimum by more than 2 standard errors (target 3 %)")
