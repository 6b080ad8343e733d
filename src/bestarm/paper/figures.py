"""Every figure of the paper, and more: each a few lines of calls into the library. `FIGURES` is the list."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bestarm.design.plans import plan
from bestarm.error.study import bound_comparison
from bestarm.models.gaussian import Gaussian
from bestarm.paper.lab import Lab
from bestarm.paper.settings import logistic_settings
from bestarm.paper.simulations import (
    KINDS,
    OURS,
    PRIORS,
    beyond_results,
    elimination_results,
    instance_results,
    logistic_results,
    main_results,
    misspecified_results,
    mix_results,
    movielens_results,
    prior_results,
    ratio_results,
    warmup_length_results,
    warmup_rule_results,
)
from bestarm.policies.contract import Problem
from bestarm.policies.thompson import ThompsonSampling
from bestarm.report.curves import Curve, Figure, Panel
from bestarm.simulation.results import Results

__all__ = ["FIGURES", "Recipe", "bounds_table", "make", "ratios", "structure_curves"]

BUDGET, ERROR = "budget n", "probability of error"


@dataclass(frozen=True)
class Recipe:
    """title and where: as in `Figure`. panels: makes them, given a lab."""

    title: str
    where: str
    alt: str
    panels: Callable[[Lab], list[Panel]]


def make(name: str, lab: Lab) -> Figure:
    """The numbers of one figure."""
    recipe, before = FIGURES[name], len(lab.used)
    panels = tuple(recipe.panels(lab))
    settings = {"figure": name, **lab.settings}
    if other := sorted({_said_runs(each) for each in lab.used[before:] if each["runs"] != lab.runs}):
        settings["but"] = "; ".join(other)
    return Figure(name, recipe.title, recipe.where, recipe.alt, panels, settings)


def _said_runs(settings: dict[str, Any]) -> str:
    """Whose runs are fewer, and how many."""
    runs, repeats = settings["runs"], settings["repeats"]
    times = f"{runs:,} instances, {repeats:,} runs of each" if repeats > 1 else f"{runs:,} runs"
    return f"{', '.join(settings['policies'])}: {times}"


def _against_budget(lab: Lab, title: str, found: Results, what: str = "error") -> Panel:
    """A panel of error, or regret, against budget: a curve for each policy."""
    return Panel(title, BUDGET, ERROR if what == "error" else "simple regret", tuple(lab.curves(found, what)))


def _errors(kinds: Sequence[str], flavours: Sequence[str], what: str = "error") -> Callable[[Lab], list[Panel]]:
    def panels(lab: Lab) -> list[Panel]:
        return [
            _against_budget(lab, f"{kind}, {flavour}", main_results(lab, kind, flavour), what)
            for kind in kinds
            for flavour in flavours
        ]

    return panels


def bounds_table(lab: Lab) -> Any:
    """The paper's bound under four weightings beside BayesElim's, three arms, both variance settings."""
    share = np.random.default_rng(lab.seed).random(3)

    def random(model: Gaussian, budget: float) -> np.ndarray:
        return np.asarray(share / share.sum())

    def by(method: Any) -> Callable[[Gaussian, float], np.ndarray]:
        return lambda model, budget: plan(model, budget, method).weights

    weightings = {"bound": by("bound"), "uniform": by("uniform"), "random": random, "heuristic": by("heuristic")}
    return bound_comparison(weightings, np.arange(50, 1001, 50))


def _bounds(lab: Lab) -> list[Panel]:
    table = bounds_table(lab)
    panels = []
    for setting in dict.fromkeys(table["setting"]):
        rows = table[table["setting"] == setting]
        curves = []
        for weighting in dict.fromkeys(rows["weighting"]):
            own = rows[rows["weighting"] == weighting]
            curves.append(_exact(weighting, own["budget"], own["bound"]))
        curves.append(_exact("bayes-elim", own["budget"], own["bayes_elim"]))
        panels.append(Panel(f"{setting} prior sds", BUDGET, "upper bound", tuple(curves), log_y=True))
    return panels


def _exact(label: str, x: Any, y: Any) -> Curve:
    values = np.asarray(y, dtype=np.float64)
    return Curve(str(label), np.asarray(x, dtype=np.float64), values, np.zeros(len(values)))


def _priors(lab: Lab) -> list[Panel]:
    panels = []
    for policy in OURS:
        curves = []
        for label in PRIORS:
            (curve,) = lab.curves(prior_results(lab, label, policy))
            curves.append(replace(curve, label=label))
        panels.append(Panel(policy, BUDGET, ERROR, tuple(curves)))
    return panels


def structure_curves(lab: Lab) -> dict[str, tuple[Curve, Curve]]:
    """Average posterior variance, hierarchical and marginal, uniform counts; K = 50, L = 10."""
    found = {}
    for title, arm, effect in (("σ0 = 0.1u, Σ = 2I", 0.1, 2.0), ("σ0 = u, Σ = I/1000", 1.0, 1e-3)):
        rng = np.random.default_rng(lab.seed)
        mixing, arm_sd = rng.uniform(-1, 1, (50, 10)), arm * rng.random(50)
        model = Gaussian.hierarchical(mixing, rng.uniform(-1, 1, 10), effect * np.eye(10), arm_sd)
        alone = Gaussian.independent(model.mean, np.sqrt(model.var))
        x = np.arange(50, 1001, 50)
        each = [np.full(50, n / 50) for n in x]
        together, apart = ([m.after(n).var.mean() for n in each] for m in (model, alone))
        found[title] = _exact("hierarchical", x, together), _exact("marginal", x, apart)
    return found


def _structure(lab: Lab) -> list[Panel]:
    return [
        Panel(title, BUDGET, "average posterior variance", curves, log_y=True)
        for title, curves in structure_curves(lab).items()
    ]


def _weights(lab: Lab) -> list[Panel]:
    """Shares of the optimised plan and of a Thompson warm-up of 20 rounds: two instances and the average."""
    model = Gaussian.independent([1.0, 1.9, 2.0], 0.3)
    best = plan(model, 100, "bound").weights
    runs = max(2, lab.runs)
    rng = np.random.default_rng(lab.seed)
    means = model.sample(runs, rng)
    rule = ThompsonSampling(joint=True)
    state = rule.start(Problem(model, 20, np.ones(3), runs), rng)
    for _ in range(20):
        state, pulls = rule.next(state, 1, rng)
        assert pulls.arms is not None
        rewards = means[np.arange(runs), pulls.arms] + rng.standard_normal(runs)
        state = rule.observe(state, pulls, rewards)
    share = state.counts / 20
    arms, panels = np.arange(3.0), []
    spread = share.std(axis=0, ddof=1) / np.sqrt(runs)
    for title, y, stderr in (
        ("one instance", share[0], np.zeros(3)),
        ("another", share[1], np.zeros(3)),
        (f"average of {runs:,}", share.mean(axis=0), spread),
    ):
        curves = (Curve("bound", arms, best, np.zeros(3)), Curve("warmup-ts", arms, y, stderr))
        panels.append(Panel(title, "arm", "share", curves, ticks=("1", "2", "3")))
    return panels


def _misspecified(what: str) -> Callable[[Lab], list[Panel]]:
    def panels(lab: Lab) -> list[Panel]:
        out = []
        for policy in OURS:
            curves = []
            for alpha in (0.0, 0.1, 0.3, 0.5):
                (curve,) = lab.curves(misspecified_results(lab, what, alpha, policy))
                curves.append(replace(curve, label=f"α = {alpha:g}"))
            out.append(Panel(policy, BUDGET, ERROR, tuple(curves)))
        return out

    return panels


def _logistic(lab: Lab) -> list[Panel]:
    return [
        _against_budget(lab, name, logistic_results(lab, model))
        for name, model, _ in logistic_settings(lab.seed, lab.readings)
    ]


def _elimination(lab: Lab) -> list[Panel]:
    return [
        _against_budget(lab, name, elimination_results(lab, name))
        for name in ("independent, fixed", "independent, random")
    ]


def _warmup_lengths(lab: Lab) -> list[Panel]:
    return [
        _against_budget(lab, f"warm-up by {rule}", warmup_length_results(lab, rule)) for rule in ("ts", "t3c", "ts-tci")
    ]


def _warmup_rules(lab: Lab) -> list[Panel]:
    return [_against_budget(lab, kind, warmup_rule_results(lab, kind)) for kind in ("independent", "hierarchical")]


def _alpha(lab: Lab) -> list[Panel]:
    return [
        _against_budget(lab, name, mix_results(lab, name)) for name in ("independent, fixed", "independent, random")
    ]


def _per_instance(lab: Lab) -> list[Panel]:
    """Spread over 1,000 instances of the error in 100 runs of each, and differences to the best variant."""
    first, second = [], []
    for kind in KINDS:
        found = instance_results(lab, f"{kind}, random")
        x = np.array(found.budgets)
        each = {p: np.array([found.per_instance(p, b) for b in found.budgets]) for p in found.policies}
        first.append(
            Panel(
                f"{kind}: one sd over instances",
                BUDGET,
                ERROR,
                tuple(Curve(p, x, v.mean(axis=1), v.std(axis=1, ddof=1)) for p, v in each.items()),
            )
        )
        best = min(each, key=lambda p: float(each[p].mean()))
        gaps = {p: v - each[best] for p, v in each.items() if p != best}
        root = np.sqrt(len(each[best][0]))
        second.append(
            Panel(
                f"{kind}: above {best}",
                BUDGET,
                "difference",
                tuple(Curve(p, x, v.mean(axis=1), v.std(axis=1, ddof=1) / root) for p, v in gaps.items()),
            )
        )
    return [*first, *second]


def _beyond(kind: str) -> Callable[[Lab], list[Panel]]:
    def panels(lab: Lab) -> list[Panel]:
        return [
            Panel(
                f"{kind}, {flavour}",
                BUDGET,
                ERROR,
                tuple(curve for found in beyond_results(lab, kind, flavour) for curve in lab.curves(found)),
            )
            for flavour in ("fixed", "random")
        ]

    return panels


def ratios(lab: Lab, kind: str) -> Curve:
    """The smallest n′/n at which rolling errs as little as the best of the paper's variants at n, log-linear between.

    The band comes from one standard error up and down in what is to be reached.
    """
    ours, rolling = ratio_results(lab, kind)
    (own,) = lab.curves(rolling)
    best = [min((ours.estimate(p, b) for p in ours.policies), key=lambda e: float(e.value)) for b in ours.budgets]
    reached = np.minimum.accumulate(own.y)
    levels = np.array([[float(e.value) + s * float(e.stderr) for s in (-1, 0, 1)] for e in best])
    found = np.exp(np.interp(-levels, -reached, np.log(own.x))) / np.array(ours.budgets)[:, None]
    return Curve("rolling", np.array(ours.budgets), found[:, 1], (found[:, 0] - found[:, 2]) / 2)


def _budget_ratio(lab: Lab) -> list[Panel]:
    return [Panel(f"{kind}, random", BUDGET, "n′/n", (ratios(lab, kind),)) for kind in KINDS]


def _movielens(lab: Lab) -> list[Panel]:
    parts = movielens_results(lab)
    if not parts:
        return []
    x, curves = np.array(parts[0].budgets), []
    for policy in parts[0].policies:
        cells = [np.concatenate([part.outcome(policy, b) for part in parts]) for b in parts[0].budgets]
        stderr = np.array([cell.std(ddof=1) / np.sqrt(len(cell)) for cell in cells])
        curves.append(Curve(policy, x, np.array([cell.mean() for cell in cells]), stderr))
    return [Panel("MovieLens", BUDGET, ERROR, tuple(curves))]


_CURVES = "Curves of the probability of error falling with the budget, one for each policy"
FIGURES: dict[str, Recipe] = {
    "fig-bounds": Recipe(
        "Upper bounds on the probability of error",
        "Figure 1",
        "The paper's bound under four weightings lies below BayesElim's bound at every budget",
        _bounds,
    ),
    "fig-main-independent": Recipe(
        "Independent arms, K = 10", "Figure 2, first column", _CURVES, _errors(["independent"], ["random"])
    ),
    "fig-main-linear": Recipe(
        "Linear bandit, K = 30, d = 4", "Figure 2, second column", _CURVES, _errors(["linear"], ["random"])
    ),
    "fig-main-hierarchical": Recipe(
        "Hierarchical bandit, K = 60, L = 10", "Figure 2, third column", _CURVES, _errors(["hierarchical"], ["random"])
    ),
    "fig-main-movielens": Recipe("MovieLens, K = 100, d = 5", "Figure 2, fourth column", _CURVES, _movielens),
    "fig-priors": Recipe(
        "Right, misspecified and online-learned priors",
        "Figure 2, second row",
        "Curves of the error of each allocation under the right, a misspecified and an online-learned prior",
        _priors,
    ),
    "fig-structure": Recipe(
        "What knowing the structure is worth",
        "Appendix, benefits of hierarchical models",
        "The hierarchical model's variance below the marginal one's, by far where effects vary more than arms",
        _structure,
    ),
    "fig-weights": Recipe(
        "Optimised and warm-up weights",
        "Appendix, differences of weights",
        "Bars of the share of three arms under the optimised plan and under a Thompson warm-up",
        _weights,
    ),
    "fig-misspecified-means": Recipe(
        "Misspecified prior means", "Appendix, prior misspecification", _CURVES, _misspecified("means")
    ),
    "fig-misspecified-variances": Recipe(
        "Misspecified prior variances", "Appendix, prior misspecification", _CURVES, _misspecified("variances")
    ),
    "fig-fixed": Recipe(
        "The Fixed settings",
        "Appendix, additional settings",
        _CURVES,
        _errors(["independent", "linear", "hierarchical"], ["fixed"]),
    ),
    "fig-logistic": Recipe("Logistic bandits, K = 30", "Appendix, logistic bandits", _CURVES, _logistic),
    "fig-elimination": Recipe("Elimination on or off", "Appendix, influence of elimination", _CURVES, _elimination),
    "fig-regret": Recipe(
        "Simple regret",
        "Appendix, simple regret",
        "Curves of the simple regret falling with the budget",
        _errors(["independent", "linear", "hierarchical"], ["random", "fixed"], "regret"),
    ),
    "fig-warmup-length": Recipe("Length of the warm-up", "Appendix, hyperparameters", _CURVES, _warmup_lengths),
    "fig-warmup-policy": Recipe("Who plays the warm-up", "Appendix, hyperparameters", _CURVES, _warmup_rules),
    "fig-alpha": Recipe("Blend of optimised and heuristic weights", "Appendix, hyperparameters", _CURVES, _alpha),
    "fig-instances": Recipe(
        "Instances one by one",
        "Appendix, confidence intervals",
        "Error with a band of one standard deviation over instances, and differences to the best variant",
        _per_instance,
    ),
    "fig-beyond-independent": Recipe("Beyond: independent arms", "not in the paper", _CURVES, _beyond("independent")),
    "fig-beyond-linear": Recipe("Beyond: linear bandits", "not in the paper", _CURVES, _beyond("linear")),
    "fig-beyond-hierarchical": Recipe(
        "Beyond: hierarchical bandits", "not in the paper", _CURVES, _beyond("hierarchical")
    ),
    "fig-budget-ratio": Recipe(
        "The share of the budget that rolling needs",
        "not in the paper",
        "Curves of the share n′/n of the budget with which rolling errs as little as the paper's best variant with n",
        _budget_ratio,
    ),
}
