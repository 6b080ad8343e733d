"""Posterior variances against 60-digit arithmetic in extreme random cases: how often six digits are lost, unwarned."""

import sys
import warnings
from pathlib import Path

import numpy as np

import bestarm as ba

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))


def main() -> None:
    from models.test_accuracy import extreme
    from oracles.sixty_digits import hierarchical_variances, linear_variances

    cases = 1000
    print(f"\n{cases} random models a row: K 2-30, d 1-5, noise 1e-6..1e6, counts to 1e9, sds 1e-6..1e3; half of the")
    print("features are one direction, up to a relative difference drawn between the number given and 0.1\n")
    print(f"{'setting':<14}{'closest':>9}{'worst error':>13}{'above 1e-6':>12}{'unwarned':>10}{'warned in vain':>16}")
    for setting in ("linear", "hierarchical"):
        for closest in (1e-6, 1e-10, 1e-16):
            worst, lost, unwarned, vain = 0.0, 0, 0, 0
            for seed in range(cases):
                rng = np.random.default_rng(seed)
                x, sds, noise, counts = extreme(rng, closest)
                k, d = x.shape
                arm_sd = 10 ** rng.uniform(-6, 3, k) * (rng.random(k) < 0.7)
                prior = np.zeros(d), np.diag(sds**2)
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    if setting == "linear":
                        got = ba.Gaussian.linear(x, *prior, noise).after(counts).var
                        truth = linear_variances(x, sds, noise, counts)
                    else:
                        got = ba.Gaussian.hierarchical(x, *prior, arm_sd, noise).after(counts).var
                        truth = hierarchical_variances(x, sds, arm_sd, noise, counts)
                error = float(np.abs(got / truth - 1).max())
                worst = max(worst, error)
                lost += error > 1e-6
                unwarned += error > 1e-6 and not caught
                vain += error <= 1e-6 and bool(caught)
            print(f"{setting:<14}{closest:>9.0e}{worst:>13.1e}{lost:>12}{unwarned:>10}{vain:>16}")
