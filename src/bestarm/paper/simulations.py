"""The simulations behind the paper's figures and claims: each is run once, whoever shows it.

A function a figure: given a lab, and what distinguishes its panels, the results. Cells are kept by the lab.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bestarm.learning.factorise import factorise, low_rank_prior
from bestarm.learning.online import unknown_means
from bestarm.models.gaussian import Gaussian
from bestarm.paper.lab import Lab
from bestarm.paper.movielens import RandomUser, load_movielens
from bestarm.paper.settings import BUDGETS, sds
from bestarm.policies.fixed import Fixed
from bestarm.simulation.results import Results

__all__ = [
    "ALPHAS",
    "KINDS",
    "LENGTHS",
    "OURS",
    "PRIORS",
    "RIVALS",
    "WARMUP_RULES",
    "beyond_results",
    "elimination_results",
    "instance_results",
    "logistic_results",
    "main_results",
    "misspecified_results",
    "mix_results",
    "movielens_results",
    "prior_results",
    "ratio_results",
    "warmup_length_results",
    "warmup_rule_results",
]

KINDS = ("independent", "linear", "hierarchical")
OURS = ("uniform", "bound-mix", "g", "warmup-ts")  # the paper's variants; bound-mix is its Opt
RIVALS = {
    "independent": ("sh", "sr", "bayes-elim", "ts-tci"),
    "linear": ("bayesgap", "gse"),
    "hierarchical": ("sh", "sr", "bayes-elim", "ts-tci"),
    "movielens": ("bayesgap", "gse"),
}
BEYOND = {
    "independent": ("bound-mix", "g", "tie", "anchored", "rolling", "ts-tci"),
    "linear": ("bound-mix", "g", "tie", "anchored", "rolling", "joint-ttts", "joint-ts-tci"),
    "hierarchical": ("g", "warmup-ts", "tie", "joint-ttts", "joint-t3c", "joint-ts-tci"),
}
PRIORS = ("right prior", "misspecified", "learned online")
ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the blend
LENGTHS = (1, 2, 3)  # of the warm-up, in evaluations an arm
WARMUP_RULES = ("warmup-ts", "warmup-ttts", "warmup-t3c", "warmup-ts-tci")


def main_results(lab: Lab, kind: str, flavour: str = "random") -> Results:
    """The paper's variants and its rivals in one setting."""
    name = f"{kind}, {flavour}"
    return lab.results(lab.prior(name), (*OURS, *RIVALS[kind]), BUDGETS[kind])


def prior_results(lab: Lab, label: str, policy: str) -> Results:
    """Right, misspecified (μ0 + 0.5 ε) or learned online (μ0 ~ N(U[0, 1], I)): one policy under that prior."""
    truth = lab.prior("independent, random")
    rng = np.random.default_rng([lab.seed, 1])
    sd = np.sqrt(truth.var)
    believed = {
        "right prior": truth,
        "misspecified": Gaussian.independent(truth.mean + 0.5 * rng.standard_normal(10), sd),
        "learned online": unknown_means(rng.random(10), np.eye(10), sd),
    }[label]
    return lab.results(believed, [policy], BUDGETS["independent"], truth=truth)


def misspecified_results(lab: Lab, what: str, alpha: float, policy: str) -> Results:
    """One policy that takes the means for μ0 + α u, or the sds for 0.3 + α."""
    mean, spread = lab.prior("independent, random").mean, sds(10, lab.readings)
    truth = Gaussian.independent(mean, spread if what == "means" else 0.3)
    if what == "means":
        u = np.random.default_rng([lab.seed, 2]).standard_normal(10)
        assumed = Gaussian.independent(mean + alpha * u, spread)
    else:
        assumed = Gaussian.independent(mean, 0.3 + alpha)
    return lab.results(assumed, [policy], BUDGETS["independent"], truth=truth)


def logistic_results(lab: Lab, model: Any) -> Results:
    """The paper plans G-optimal designs as if the bandit were linear Gaussian."""
    rivals: Mapping[str, Any] = {each: each for each in ("uniform", "warmup-ts", "tie", "rolling")}
    rivals = {**rivals, "g": Fixed(method="g", fisher=False)}
    return lab.results(model, rivals, BUDGETS["logistic"])


def elimination_results(lab: Lab, name: str) -> Results:
    """Plans as they are, and with elimination on top."""
    pairs = ("uniform", "elim:uniform", "bound-mix", "elim:bound-mix", "g", "elim:g")
    return lab.results(lab.prior(name), pairs, BUDGETS["independent"])


def warmup_length_results(lab: Lab, rule: str) -> Results:
    """Warm-ups of K, 2 K and 3 K rounds."""
    lengths = {f"{k} K": replace(lab.policy(f"warmup-{rule}"), length=10 * k) for k in LENGTHS}
    model, budgets = lab.prior("independent, random"), BUDGETS["independent"][1:]
    return lab.results(model, lengths, budgets)


def warmup_rule_results(lab: Lab, kind: str) -> Results:
    """Warm-ups by different policies."""
    return lab.results(lab.prior(f"{kind}, random"), WARMUP_RULES, BUDGETS[kind])


def mix_results(lab: Lab, name: str) -> Results:
    """Blends α bound + (1 − α) heuristic."""
    mixes = {f"α = {alpha:g}": Fixed(method="bound", mix=alpha) for alpha in ALPHAS}
    return lab.results(lab.prior(name), mixes, BUDGETS["independent"])


def instance_results(lab: Lab, name: str) -> Results:
    """100 runs of each of 1,000 instances (a tenth of the lab's runs)."""
    instances, repeats = max(10, lab.runs // 10), 100 if lab.runs >= 1000 else 10
    budgets = BUDGETS[name.split(",")[0]]
    return lab.results(lab.prior(name), OURS, budgets, runs=instances, repeats=repeats, outcome="realised")


def beyond_results(lab: Lab, kind: str, flavour: str) -> list[Results]:
    """What goes beyond the paper, in one of its settings; rolling apart where it has fewer runs."""
    name = f"{kind}, {flavour}"
    found = [lab.results(lab.prior(name), BEYOND[kind], BUDGETS[kind])]
    if "rolling" not in BEYOND[kind]:
        few = min(lab.runs, lab.deep_runs)
        found.append(lab.results(lab.prior(name), ["rolling"], BUDGETS[kind], runs=few))
    return found


def ratio_results(lab: Lab, kind: str) -> tuple[Results, Results]:
    """The paper's variants at the budgets of a setting, and rolling at those and at shorter ones."""
    name = f"{kind}, random"
    model, budgets = lab.prior(name), BUDGETS[kind]
    ours = lab.results(model, (*OURS, "bound"), budgets)
    few = sorted({max(1, round(budgets[0] * share)) for share in (0.25, 0.4, 0.55, 0.75)} | set(lab.thinned(budgets)))
    runs = min(lab.runs, lab.deep_runs) if kind == "hierarchical" else lab.runs
    return ours, lab.results(model, ["rolling"], few, runs=runs, thin=False)


def movielens_results(lab: Lab) -> list[Results]:
    """100 random movies and a random user a run; the movies change every so many runs. Empty without the data."""
    if lab.movies is None:
        return []
    ratings = load_movielens(lab.movies)
    factors = factorise(ratings.users, ratings.items, ratings.ratings, rank=5, shape=ratings.shape)
    rated, users = np.unique(ratings.items), np.unique(ratings.users)
    groups = max(1, min(50, lab.runs // 20))
    rng = np.random.default_rng([lab.seed, 3])
    parts = []
    for _ in range(groups):
        items = rng.choice(rated, 100, replace=False)
        found = lab.results(
            low_rank_prior(factors, items),
            (*OURS, *RIVALS["movielens"]),
            BUDGETS["movielens"],
            runs=max(2, lab.runs // groups),
            part=True,
            truth=RandomUser(factors.users[users] @ factors.items[items].T),
        )
        parts.append(found)
    return parts
