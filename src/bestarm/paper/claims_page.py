"""The page of the paper's claims: verdicts, the numbers behind them, and simulated errors against exact ones."""

from dataclasses import replace

import numpy as np

from bestarm.error.evaluate import evaluate
from bestarm.paper.claims import CLAIMS, PLANS, Claim, Gap, verdict
from bestarm.paper.lab import NOT_PUBLISHED, Lab
from bestarm.paper.simulations import KINDS, main_results
from bestarm.policies.contract import Problem

__all__ = ["claims_page"]


def claims_page(lab: Lab) -> str:
    """A Markdown page: each claim, its verdict, the numbers; beside them, those of the authors' variants."""
    labs = {_played(lab): lab}
    if not lab.published:
        labs["as published"] = replace(lab, published=True, used=[])
    gaps = {title: [claim.gaps(each) for claim in CLAIMS] for title, each in labs.items()}
    about = ", ".join(f"{key} {value}" for key, value in lab.settings.items())
    lines = [
        "# The paper's claims, one by one",
        "",
        f"Printed by `bestarm paper all` ({about}), beside a page with every figure.",
        "Differences are of the probability of error, paired on the same instances and averaged over budgets unless it",
        "says otherwise; ± is one standard error.",
        "A claim says that they are below zero: it held if all are by two standard errors (✓), did not hold if one is",
        "above zero by two (✗), and is undecided otherwise (?).",
        *_columns(lab),
        "",
        "| | claim | " + " | ".join(gaps) + " |",
        "|---|---|" + "---|" * len(gaps),
    ]
    for number, claim in enumerate(CLAIMS, 1):
        verdicts = [f"**{verdict(found[number - 1])}**" for found in gaps.values()]
        lines.append(f"| {number} | {claim.statement} | {' | '.join(verdicts)} |")
    lines += ["", "## The numbers"]
    for number, claim in enumerate(CLAIMS, 1):
        lines += _numbers(number, claim, {title: found[number - 1] for title, found in gaps.items()})
    lines += ["", "## Simulated and exact errors", "", *_agreement(lab)]
    lines += [
        "",
        "## What the paper leaves open, and what was chosen",
        "",
        "| what | in the paper | here | `--reading` |",
        "|---|---|---|---|",
    ]
    lines += [f"| {' | '.join(row)} |" for row in lab.choices]
    return "\n".join(lines) + "\n"


def _numbers(number: int, claim: Claim, gaps: dict[str, list[Gap]]) -> list[str]:
    """One claim's differences, a row each. What is best may differ between columns, and so may rows."""
    where = f" ({claim.where})" if claim.where else ""
    lines = ["", f"**{number}. {claim.statement}**{where}" + (f" {claim.note}" if claim.note else ""), ""]
    rows = dict.fromkeys(gap.what for found in gaps.values() for gap in found)
    if not rows:
        return [*lines, "Not computed."]
    lines += ["| difference | " + " | ".join(gaps) + " |", "|---|" + "---:|" * len(gaps)]
    for what in rows:
        cells = [next((f"{gap} {_mark(gap)}" for gap in found if gap.what == what), "") for found in gaps.values()]
        lines.append(f"| {what} | {' | '.join(cells)} |")
    return lines


def _mark(gap: Gap) -> str:
    return {"held": "✓", "did not hold": "✗"}.get(verdict([gap]), "?")


def _agreement(lab: Lab) -> list[str]:
    """How far simulated errors of allocations fixed in advance are from exact ones."""
    apart = []
    for kind in KINDS:
        found = main_results(lab, kind)
        model = lab.prior(f"{kind}, random")
        for each in PLANS:
            for budget in found.budgets:
                counts = lab.policy(each).prepared(Problem(model, budget, np.ones(model.num_arms), 1)).counts
                exact, simulated = evaluate(model, counts).error, found.estimate(each, budget)
                stderr = float(np.hypot(exact.stderr, simulated.stderr))
                apart.append((abs(float(simulated) - float(exact)) / stderr, f"{kind}, {each}, n = {budget:g}"))
    worst, cell = max(apart)
    return [
        f"Errors of allocations fixed in advance ({', '.join(PLANS)}) in the three settings of the main figures, "
        f"{len(apart)} cells,",
        f"against `ba.evaluate`: at most {worst:.1f} standard errors apart ({cell}).",
    ]


def _played(lab: Lab) -> str:
    return "as published" if lab.published else "here"


def _columns(lab: Lab) -> list[str]:
    published = (
        "Under “as published”, rivals and warm-ups are played as in the authors' notebooks, as far as options bring "
        "that back ([policies](policies.md))."
    )
    if lab.published:
        return ["", published, NOT_PUBLISHED]
    rewards = "discarded" if "warm-up" in lab.readings else "kept"
    return [
        "",
        f"Under “here”, rivals are as in their own papers, and warm-up rewards are {rewards}.",
        published,
        NOT_PUBLISHED,
    ]
