"""What the paper says of its experiments, each sentence with a computed verdict.

A claim is a list of differences that should be below zero, with standard errors of the paired differences. It held if
all of them are below zero by two standard errors, did not hold if one is above zero by two, and is undecided otherwise.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bestarm.design.plans import plan
from bestarm.error.study import bound_comparison
from bestarm.models.gaussian import Gaussian
from bestarm.paper.figures import OURS, RIVALS, beyond_results, priors_results
from bestarm.paper.lab import Lab
from bestarm.paper.settings import BUDGETS
from bestarm.policies.fixed import Fixed
from bestarm.simulation.results import Results

__all__ = ["CLAIMS", "Claim", "claims_page"]

KINDS = ("independent", "linear", "hierarchical")


@dataclass(frozen=True)
class Gap:
    """what − compared, which the claim says is below zero."""

    what: str
    value: float
    stderr: float

    def __str__(self) -> str:
        return f"{self.what}: {self.value:+.4f}" + (f" ± {self.stderr:.4f}" if self.stderr else "")


@dataclass(frozen=True)
class Claim:
    """statement: in the paper's words, or close to them."""

    statement: str
    gaps: Callable[[Lab], list[Gap]]


def verdict(gaps: Sequence[Gap]) -> str:
    """Held, did not hold, or undecided, at two standard errors."""
    if any(gap.value > 2 * gap.stderr for gap in gaps):
        return "did not hold"
    return "held" if all(gap.value < -2 * gap.stderr or gap.value == gap.stderr == 0 for gap in gaps) else "undecided"


def _gap(what: str, first: np.ndarray, second: np.ndarray) -> Gap:
    """The first less the second, paired by instance."""
    apart = first - second
    return Gap(what, float(apart.mean()), float(apart.std(ddof=1) / np.sqrt(len(apart))))


def _over_budgets(results: Results, policy: str) -> np.ndarray:
    return np.asarray(np.mean([results.outcome(policy, budget) for budget in results.budgets], axis=0))


def _main(lab: Lab, kind: str) -> Results:
    name = f"{kind}, random"
    return lab.results(name, lab.prior(name), (*OURS, *RIVALS[kind]), BUDGETS[kind])


def _best(results: Results, policies: Sequence[str]) -> str:
    return min(policies, key=lambda policy: float(_over_budgets(results, policy).mean()))


def _bound(lab: Lab) -> list[Gap]:
    def by(method: str) -> Callable[[Gaussian, float], np.ndarray]:
        return lambda model, budget: plan(model, budget, method).weights  # type: ignore[arg-type]

    table = bound_comparison({m: by(m) for m in ("bound", "uniform", "heuristic")}, np.arange(50, 1001, 50))
    worst = table["bound"] / table["bayes_elim"] - 1
    return [
        Gap(f"largest ratio to BayesElim's bound less 1, {s}", float(worst[table["setting"] == s].max()), 0.0)
        for s in np.unique(table["setting"])
    ]


def _outperform(lab: Lab) -> list[Gap]:
    gaps = []
    for kind in KINDS:
        found = _main(lab, kind)
        ours, theirs = _best(found, OURS), _best(found, RIVALS[kind])
        gaps.append(_gap(f"{kind}: {ours} less {theirs}", _over_budgets(found, ours), _over_budgets(found, theirs)))
    return gaps


def _g_best(lab: Lab) -> list[Gap]:
    gaps = []
    for other in OURS:
        if other != "g":
            parts = [
                _gap("", _over_budgets(f, "g"), _over_budgets(f, other)) for f in (_main(lab, kind) for kind in KINDS)
            ]
            stderr = float(np.sqrt(sum(gap.stderr**2 for gap in parts)) / len(parts))
            gaps.append(Gap(f"three settings: g less {other}", float(np.mean([gap.value for gap in parts])), stderr))
    return gaps


def _warmup(lab: Lab) -> list[Gap]:
    found = _main(lab, "hierarchical")
    mine = _over_budgets(found, "warmup-ts")
    return [_gap(f"warmup-ts less {rival}", mine, _over_budgets(found, rival)) for rival in RIVALS["hierarchical"]]


def _elimination(lab: Lab) -> list[Gap]:
    pairs = ("uniform", "elim:uniform", "bound-mix", "elim:bound-mix", "g", "elim:g")
    gaps = []
    for name in ("independent, fixed", "independent, random"):
        found = lab.results(f"elimination {name}", lab.prior(name), pairs, BUDGETS["independent"])
        for plain in pairs[::2]:
            gaps.append(
                _gap(
                    f"{name}: {plain} less elim:{plain}",
                    _over_budgets(found, plain),
                    _over_budgets(found, f"elim:{plain}"),
                )
            )
    return gaps


def _vanishes(lab: Lab) -> list[Gap]:
    """The damage of a wrong prior at the last budget less that at the first."""
    gaps = []
    for policy in ("uniform", "bound-mix", "g"):
        right, wrong = (priors_results(lab, label, policy) for label in ("right prior", "misspecified"))
        damage = [wrong.outcome(policy, b) - right.outcome(policy, b) for b in (right.budgets[-1], right.budgets[0])]
        gaps.append(_gap(f"{policy}: damage at n = {right.budgets[-1]:g} less at {right.budgets[0]:g}", *damage))
    return gaps


def _not_for_ts(lab: Lab) -> list[Gap]:
    """The damage to the plans less the damage to the warm-up, at the last budget."""
    gaps = []
    for policy in ("uniform", "bound-mix", "g"):
        damage = []
        for each in (policy, "warmup-ts"):
            right, wrong = (priors_results(lab, label, each) for label in ("right prior", "misspecified"))
            damage.append(wrong.outcome(each, right.budgets[-1]) - right.outcome(each, right.budgets[-1]))
        gaps.append(_gap(f"damage to {policy} less damage to warmup-ts", *damage))
    return gaps


def _online(lab: Lab) -> list[Gap]:
    gaps = []
    for policy in OURS:
        wrong, online = (priors_results(lab, label, policy) for label in ("misspecified", "learned online"))
        last = wrong.budgets[-1]
        gaps.append(
            _gap(
                f"{policy}, n = {last:g}: learned online less misspecified",
                online.outcome(policy, last),
                wrong.outcome(policy, last),
            )
        )
    return gaps


def _alpha(lab: Lab) -> list[Gap]:
    mixes = {f"α = {alpha:g}": Fixed(method="bound", mix=alpha) for alpha in (0.0, 0.25, 0.5, 0.75, 1.0)}
    name = "independent, fixed"
    found = lab.results(f"mix {name}", lab.prior(name), mixes, BUDGETS["independent"])
    half = _over_budgets(found, "α = 0.5")
    return [
        _gap(f"{name}: α = 0.5 less {other}", half, _over_budgets(found, other))
        for other in mixes
        if other != "α = 0.5"
    ]


def _rolling(lab: Lab) -> list[Gap]:
    """On the instances that both have seen."""
    gaps = []
    for kind in KINDS:
        paper, own = _main(lab, kind), beyond_results(lab, kind, "random")[-1]
        best = _best(paper, (*OURS, *RIVALS[kind]))
        mine, theirs = _over_budgets(own, "rolling"), _over_budgets(paper, best)
        both = min(len(mine), len(theirs))
        gaps.append(_gap(f"{kind}: rolling less {best}", mine[:both], theirs[:both]))
    return gaps


CLAIMS = (
    Claim("The bound is tighter than BayesElim's, for all allocations and both variance settings.", _bound),
    Claim("Variants of PI-BAI outperform the baselines.", _outperform),
    Claim("PI-BAI(G-opt) is the best overall, closely followed by PI-BAI(Opt).", _g_best),
    Claim("In hierarchical experiments PI-BAI(TS) exceeds all baselines.", _warmup),
    Claim("Elimination does not give better performance.", _elimination),
    Claim("The effect of prior misspecification vanishes as n increases.", _vanishes),
    Claim("… except for the TS warm-up, which suffers more.", _not_for_ts),
    Claim("Learning the prior online repairs a misspecified one.", _online),
    Claim("The best performance of the blend is reached at α ≈ 0.5 (Fixed setting).", _alpha),
    Claim("Not the paper's, ours: rolling plans err less than the best of all its variants and baselines.", _rolling),
)


def claims_page(lab: Lab) -> str:
    """A Markdown page: each claim, its verdict, the numbers."""
    about = ", ".join(f"{key} {value}" for key, value in lab.settings.items())
    lines = [
        "# The paper's claims, one by one",
        "",
        f"Printed by `bestarm paper all` ({about}). Differences are of the probability of error,",
        "paired on the same instances and averaged over budgets unless a budget is named; the claim says that they are",
        "below zero. Held: all are, by two standard errors. Did not hold: one is above by two.",
        _played(lab),
        "",
        "| claim | verdict | differences |",
        "|---|---|---|",
    ]
    for claim in CLAIMS:
        gaps = claim.gaps(lab)
        lines.append(f"| {claim.statement} | **{verdict(gaps)}** | {'; '.join(map(str, gaps))} |")
    lines += [
        "",
        "## What the paper leaves open, and what was chosen",
        "",
        "| what | in the paper | here | `--reading` |",
        "|---|---|---|---|",
    ]
    lines += [f"| {' | '.join(row)} |" for row in lab.choices]
    return "\n".join(lines) + "\n"


def _played(lab: Lab) -> str:
    if lab.published:
        return "Policies are played as in the published notebooks, as far as options go ([policies](policies.md))."
    rewards = "discarded" if "warm-up" in lab.readings else "kept"
    return (
        f"With rivals as their own papers have them, and warm-up rewards {rewards}, some sentences come out\n"
        "differently than with the published notebooks ([policies](policies.md))."
    )
