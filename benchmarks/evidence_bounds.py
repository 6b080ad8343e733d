"""The paper's comparison of bounds: its own under four weightings against BayesElim's, in both settings of the sds."""

from typing import Any

import numpy as np

import bestarm as ba
from bestarm.error.study import BOUND_COMPARISON, bound_comparison

BUDGETS = (10, 20, 50, 100, 200, 500, 1000)


def weightings() -> dict[str, Any]:
    """The paper's four: the optimised one is the global optimum, the random one drawn once."""
    draw = np.random.default_rng(0).random(3)
    return {
        "uniform": lambda model, budget: np.full(3, 1 / 3),
        "heuristic": lambda model, budget: ba.plan(model, budget, "heuristic").weights,
        "optimised": lambda model, budget: ba.plan(model, budget, "bound").weights,
        "random": lambda model, budget: draw / draw.sum(),
    }


def main() -> None:
    table = bound_comparison(weightings(), BUDGETS)
    for setting, (mean, sd) in BOUND_COMPARISON.items():
        part = table[table["setting"] == setting]
        print(f"\n{setting}: prior means {mean}, prior sds {sd}, noise 1; upper bounds on the error\n")
        print(f"{'weighting':<12}" + "".join(f"{budget:>9}" for budget in BUDGETS))
        for name in weightings():
            print(f"{name:<12}" + "".join(f"{value:>9.4f}" for value in part[part["weighting"] == name]["bound"]))
        theirs = part[part["weighting"] == "uniform"]["bayes_elim"]
        print(f"{'BayesElim':<12}" + "".join(f"{value:>9.4f}" for value in theirs))
        print(f"below BayesElim's: {(part['bound'] < part['bayes_elim']).sum()} of {len(part)}")
