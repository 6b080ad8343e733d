"""What it costs not to know the prior: learned from nothing, misspecified, and learned online, against the true one.

RUNS runs (4,000), paired on the same instances; K = 30, n = 600 from nothing; the paper's comparison at K = 10.
"""

import os

import numpy as np

import bestarm as ba
from bestarm.learning.from_nothing import from_nothing
from bestarm.learning.online import unknown_means

RUNS = int(os.environ.get("RUNS", "4000"))


def compared(label: str, policy: str, budget: int, known: ba.Results, other: ba.Results) -> None:
    a, b = known.outcome(policy, float(budget)), other.outcome(policy, float(budget))
    gap = b - a
    stderr = gap.std(ddof=1) / np.sqrt(len(gap))
    share = 100 / a.mean()
    print(
        f"{label:<44}{a.mean():>9.4f}{b.mean():>9.4f}{share * gap.mean():>+9.1f} ± {share * stderr:.1f} %", flush=True
    )


def main() -> None:
    print(
        "\nfrom nothing (rolling, K = 30, n = 600): error with the true prior, without any, and how much larger that is"
    )
    print("target 10 %\n")
    truths = {
        "numbers, arms 0.1 sd of noise apart": ba.Gaussian.independent([5.0] * 30, 0.1, 1.0),
        "numbers, 0.27 sd apart": ba.Gaussian.independent([5.0] * 30, 0.4, 1.5),
        "numbers, 1 sd apart": ba.Gaussian.independent([5.0] * 30, 1.0, 1.0),
        "yes/no, Beta(8, 12)": ba.Bernoulli.independent([8.0] * 30, [12.0] * 30),
        "yes/no, Beta(2, 18)": ba.Bernoulli.independent([2.0] * 30, [18.0] * 30),
        "yes/no, Beta(40, 60)": ba.Bernoulli.independent([40.0] * 30, [60.0] * 30),
    }
    for label, truth in truths.items():
        learned = from_nothing(30, yes_no=isinstance(truth, ba.Bernoulli))
        known = ba.simulate(truth, "rolling", 600, RUNS)
        compared(label, "rolling", 600, known, ba.simulate(learned, "rolling", 600, RUNS, truth=truth))

    print(
        "\nwrong prior means, μ0 + u, u ~ N(0, 1) drawn once (K = 10, sds 0.1 to 0.5): error with the right prior, the"
    )
    print("wrong one, and the wrong one with its means learned online (one more level, H = I)\n")
    truth = ba.Gaussian.independent(np.random.default_rng(0).random(10), np.linspace(0.1, 0.5, 10))
    sd = np.sqrt(truth.var)
    off = truth.mean + np.random.default_rng(1).standard_normal(10)
    for policy in ("uniform", "bound-mix", "g", "warmup-ts", "rolling"):
        for budget in (100, 300):
            known = ba.simulate(truth, policy, budget, RUNS)
            wrong = ba.simulate(ba.Gaussian.independent(off, sd), policy, budget, RUNS, truth=truth)
            online = ba.simulate(unknown_means(off, np.eye(10), sd), policy, budget, RUNS, truth=truth)
            compared(f"{policy}, n = {budget}, wrong", policy, budget, known, wrong)
            compared(f"{policy}, n = {budget}, learned online", policy, budget, known, online)
