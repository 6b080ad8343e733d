"""Every figure of the paper, and more: each a few lines of calls into the library. `FIGURES` is the list."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bestarm.design.plans import plan
from bestarm.error.study import bound_comparison
from bestarm.learning.online import unknown_means
from bestarm.models.gaussian import Gaussian
from bestarm.paper.lab import Lab
from bestarm.paper.movielens import RandomUser, load_movielens
from bestarm.paper.settings import BUDGETS, logistic_settings, sds
from bestarm.policies.contract import Problem
from bestarm.policies.fixed import Fixed
from bestarm.policies.thompson import ThompsonSampling
from bestarm.report.curves import Curve, Figure, Panel
from bestarm.simulation.results import Results

__all__ = ["FIGURES", "OURS", "RIVALS", "Recipe", "beyond_results", "make", "priors_results"]

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
    if other := sorted({_said_runs(each) for each in lab.used[before:] if each.settings["runs"] != lab.runs}):
        settings["but"] = "; ".join(other)
    return Figure(name, recipe.title, recipe.where, recipe.alt, panels, settings)


def _said_runs(results: Results) -> str:
    """Whose runs are fewer, and how many."""
    runs, repeats = int(results.settings["runs"]), int(results.settings["repeats"])
    times = f"{runs:,} instances, {repeats:,} runs of each" if repeats > 1 else f"{runs:,} runs"
    return f"{', '.join(results.policies)}: {times}"


def _main(kind: str, flavour: str, lab: Lab, what: str = "error") -> Results:
    name = f"{kind}, {flavour}"
    return lab.results(name, lab.prior(name), (*OURS, *RIVALS[kind]), BUDGETS[kind])


def _errors(kinds: Sequence[str], flavours: Sequence[str], what: str = "error") -> Callable[[Lab], list[Panel]]:
    label = ERROR if what == "error" else "simple regret"

    def panels(lab: Lab) -> list[Panel]:
        return [
            Panel(f"{kind}, {flavour}", BUDGET, label, tuple(lab.curves(_main(kind, flavour, lab), what)))
            for kind in kinds
            for flavour in flavours
        ]

    return panels


def _bounds(lab: Lab) -> list[Panel]:
    rng = np.random.default_rng(lab.seed)
    share = rng.random(3)

    def random(model: Gaussian, budget: float) -> np.ndarray:
        return np.asarray(share / share.sum())

    def by(method: Any) -> Callable[[Gaussian, float], np.ndarray]:
        return lambda model, budget: plan(model, budget, method).weights

    weightings = {"bound": by("bound"), "uniform": by("uniform"), "random": random, "heuristic": by("heuristic")}
    table = bound_comparison(weightings, np.arange(50, 1001, 50))
    panels = []
    for setting in dict.fromkeys(table["setting"]):
        rows = table[table["setting"] == setting]
        curves = [
            _exact(w, rows[rows["weighting"] == w]["budget"], rows[rows["weighting"] == w]["bound"]) for w in weightings
        ]
        own = rows[rows["weighting"] == "uniform"]
        curves.append(_exact("bayes-elim", own["budget"], own["bayes_elim"]))
        panels.append(Panel(f"{setting} prior sds", BUDGET, "upper bound", tuple(curves), log_y=True))
    return panels


def _exact(label: str, x: Any, y: Any) -> Curve:
    values = np.asarray(y, dtype=np.float64)
    return Curve(str(label), np.asarray(x, dtype=np.float64), values, np.zeros(len(values)))


def priors_results(lab: Lab, label: str, policy: str) -> Results:
    """Right, misspecified (μ0 + 0.5 ε) or learned online (μ0 ~ N(U[0, 1], I)): one policy under that prior."""
    truth = lab.prior("independent, random")
    rng = np.random.default_rng([lab.seed, 1])
    sd = np.sqrt(truth.var)
    believed = {
        "right prior": truth,
        "misspecified": Gaussian.independent(truth.mean + 0.5 * rng.standard_normal(10), sd),
        "learned online": unknown_means(rng.random(10), np.eye(10), sd),
    }[label]
    return lab.results(f"priors {label}", believed, [policy], BUDGETS["independent"], truth=truth)


def _priors(lab: Lab) -> list[Panel]:
    panels = []
    for policy in OURS:
        curves = []
        for label in ("right prior", "misspecified", "learned online"):
            (curve,) = lab.curves(priors_results(lab, label, policy))
            curves.append(replace(curve, label=label))
        panels.append(Panel(policy, BUDGET, ERROR, tuple(curves)))
    return panels


def _structure(lab: Lab) -> list[Panel]:
    """Average posterior variance, hierarchical against marginal, uniform counts; K = 50, L = 10."""
    panels = []
    for title, arm, effect in (("σ0 = 0.1u, Σ = 2I", 0.1, 2.0), ("σ0 = u, Σ = I/1000", 1.0, 1e-3)):
        rng = np.random.default_rng(lab.seed)
        mixing, arm_sd = rng.uniform(-1, 1, (50, 10)), arm * rng.random(50)
        model = Gaussian.hierarchical(mixing, rng.uniform(-1, 1, 10), effect * np.eye(10), arm_sd)
        x = np.arange(50, 1001, 50)
        each = [np.full(50, n / 50) for n in x]
        alone = Gaussian.independent(model.mean, np.sqrt(model.var))
        curves = [
            _exact(label, x, [m.after(n).var.mean() for n in each])
            for label, m in (("hierarchical", model), ("marginal", alone))
        ]
        panels.append(Panel(title, BUDGET, "average posterior variance", tuple(curves), log_y=True))
    return panels


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
        mean, spread = lab.prior("independent, random").mean, sds(10, lab.readings)
        truth = Gaussian.independent(mean, spread if what == "means" else 0.3)
        u = np.random.default_rng([lab.seed, 2]).standard_normal(10)
        out = []
        for policy in OURS:
            curves = []
            for alpha in (0.0, 0.1, 0.3, 0.5):
                assumed = (
                    Gaussian.independent(mean + alpha * u, spread)
                    if what == "means"
                    else Gaussian.independent(mean, 0.3 + alpha)
                )
                found = lab.results(f"{what} off by {alpha}", assumed, [policy], BUDGETS["independent"], truth=truth)
                (curve,) = lab.curves(found)
                curves.append(Curve(f"α = {alpha:g}", curve.x, curve.y, curve.stderr))
            out.append(Panel(policy, BUDGET, ERROR, tuple(curves)))
        return out

    return panels


def _logistic(lab: Lab) -> list[Panel]:
    """The paper plans G-optimal designs as if the bandit were linear Gaussian."""
    rivals: Mapping[str, Any] = {name: name for name in ("uniform", "warmup-ts", "tie", "rolling")}
    rivals = {**rivals, "g": Fixed(method="g", fisher=False)}
    return [
        _cell(lab, "logistic", name, model, rivals, budgets)
        for name, model, budgets in logistic_settings(lab.seed, lab.readings)
    ]


def _elimination(lab: Lab) -> list[Panel]:
    pairs = ("uniform", "elim:uniform", "bound-mix", "elim:bound-mix", "g", "elim:g")
    return [
        _cell(lab, "elimination", name, lab.prior(name), pairs, BUDGETS["independent"])
        for name in ("independent, fixed", "independent, random")
    ]


def _warmups(lab: Lab) -> list[Panel]:
    model, budgets, panels = lab.prior("independent, random"), BUDGETS["independent"][1:], []
    for rule in ("ts", "t3c", "ts-tci"):
        lengths = {f"{k} K": replace(lab.policy(f"warmup-{rule}"), length=10 * k) for k in (1, 2, 3)}
        panels.append(_cell(lab, "warm-up", f"warm-up by {rule}", model, lengths, budgets))
    return panels


def _warmup_rules(lab: Lab) -> list[Panel]:
    names = ("warmup-ts", "warmup-ttts", "warmup-t3c", "warmup-ts-tci")
    return [
        _cell(lab, "warm-ups", kind, lab.prior(f"{kind}, random"), names, BUDGETS[kind])
        for kind in ("independent", "hierarchical")
    ]


def _alpha(lab: Lab) -> list[Panel]:
    mixes = {f"α = {alpha:g}": Fixed(method="bound", mix=alpha) for alpha in (0.0, 0.25, 0.5, 0.75, 1.0)}
    return [
        _cell(lab, "mix", name, lab.prior(name), mixes, BUDGETS["independent"])
        for name in ("independent, fixed", "independent, random")
    ]


def _per_instance(lab: Lab) -> list[Panel]:
    """Spread over 1,000 instances of the error in 100 runs of each, and differences to the best variant."""
    instances, repeats = max(10, lab.runs // 10), 100 if lab.runs >= 1000 else 10
    first, second = [], []
    for kind in ("independent", "linear", "hierarchical"):
        name = f"{kind}, random"
        found = lab.results(
            f"instances {name}",
            lab.prior(name),
            OURS,
            BUDGETS[kind],
            runs=instances,
            repeats=repeats,
            outcome="realised",
        )
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
        root = np.sqrt(instances)
        second.append(
            Panel(
                f"{kind}: above {best}",
                BUDGET,
                "difference",
                tuple(Curve(p, x, v.mean(axis=1), v.std(axis=1, ddof=1) / root) for p, v in gaps.items()),
            )
        )
    return [*first, *second]


def beyond_results(lab: Lab, kind: str, flavour: str) -> list[Results]:
    """What goes beyond the paper, in one of its settings; rolling apart where it has fewer runs."""
    name = f"{kind}, {flavour}"
    found = [lab.results(f"beyond {name}", lab.prior(name), BEYOND[kind], BUDGETS[kind])]
    if "rolling" not in BEYOND[kind]:
        few = min(lab.runs, lab.deep_runs)
        found.append(lab.results(f"beyond {name}", lab.prior(name), ["rolling"], BUDGETS[kind], runs=few))
    return found


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


def _budget_ratio(lab: Lab) -> list[Panel]:
    """The smallest n′/n at which rolling errs as little as the best of the paper's variants at n, log-linear between.

    The band comes from one standard error up and down in what is to be reached.
    """
    panels = []
    for kind in ("independent", "linear", "hierarchical"):
        name = f"{kind}, random"
        model, budgets = lab.prior(name), BUDGETS[kind]
        ours = lab.results(f"ratio {name}", model, (*OURS, "bound"), budgets)
        short = sorted(
            {max(1, round(budgets[0] * share)) for share in (0.25, 0.4, 0.55, 0.75)} | set(lab.thinned(budgets))
        )
        runs = min(lab.runs, lab.deep_runs) if kind == "hierarchical" else lab.runs
        rolling = lab.results(f"ratio {name}", model, ["rolling"], short, runs=runs, thin=False)
        (own,) = lab.curves(rolling)
        best = [min((ours.estimate(p, b) for p in ours.policies), key=lambda e: float(e.value)) for b in ours.budgets]
        reached = np.minimum.accumulate(own.y)
        levels = np.array([[float(e.value) + s * float(e.stderr) for s in (-1, 0, 1)] for e in best])
        found = np.exp(np.interp(-levels, -reached, np.log(own.x))) / np.array(ours.budgets)[:, None]
        curve = Curve("rolling", np.array(ours.budgets), found[:, 1], (found[:, 0] - found[:, 2]) / 2)
        panels.append(Panel(name, BUDGET, "n′/n", (curve,)))
    return panels


def _movielens(lab: Lab) -> list[Panel]:
    """100 random movies and a random user a run; the movies change every so many runs."""
    from bestarm.learning.factorise import factorise, low_rank_prior

    if lab.movies is None:
        return []
    ratings = load_movielens(lab.movies)
    factors = factorise(ratings.users, ratings.items, ratings.ratings, rank=5, shape=ratings.shape)
    rated = np.unique(ratings.items)
    users = np.unique(ratings.users)
    groups = max(1, min(50, lab.runs // 20))
    rng = np.random.default_rng([lab.seed, 3])
    total: dict[str, list[Results]] = {}
    for group in range(groups):
        items = rng.choice(rated, 100, replace=False)
        model = low_rank_prior(factors, items)
        truth = RandomUser(factors.users[users] @ factors.items[items].T)
        found = lab.results(
            f"movielens {group}",
            model,
            (*OURS, *RIVALS["movielens"]),
            BUDGETS["movielens"],
            runs=max(2, lab.runs // groups),
            part=True,
            truth=truth,
        )
        total.setdefault("all", []).append(found)
    parts = total["all"]
    curves = []
    for policy in parts[0].policies:
        cells = [np.concatenate([part.outcome(policy, b) for part in parts]) for b in parts[0].budgets]
        y = np.array([cell.mean() for cell in cells])
        curves.append(
            Curve(policy, np.array(parts[0].budgets), y, np.array([c.std(ddof=1) / np.sqrt(len(c)) for c in cells]))
        )
    return [Panel("MovieLens", BUDGET, ERROR, tuple(curves))]


def _cell(lab: Lab, name: str, title: str, model: Any, policies: Any, budgets: Sequence[int], **options: Any) -> Panel:
    """One panel of error against budget."""
    found = lab.results(f"{name} {title}", model, policies, budgets, **options)
    return Panel(title, BUDGET, ERROR, tuple(lab.curves(found)))


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
    "fig-warmup-length": Recipe("Length of the warm-up", "Appendix, hyperparameters", _CURVES, _warmups),
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
