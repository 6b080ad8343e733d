"""`bestarm plan prior.yaml --budget 300`: how to split a budget, and what that is worth."""

from typing import Any

import click

from bestarm.cli.options import formatted, in_words, numbers, table_text
from bestarm.design.plans import METHODS, Plan
from bestarm.design.plans import plan as make_plan
from bestarm.errors import InputError
from bestarm.models.files import load


@click.command()
@click.argument("prior", type=click.Path())
@click.option("--budget", type=float, required=True, help="Evaluations, or money with --costs.")
@click.option("--costs", default=None, help="Price of one evaluation of each arm, separated by commas.")
@click.option("--method", type=click.Choice(["auto", *METHODS]), default="auto", show_default=True)
@click.option("--compare", is_flag=True, help="Every method beside each other.")
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
def plan(prior: str, budget: float, costs: str | None, method: Any, compare: bool, form: str) -> None:
    """Split a budget over the arms of the model file PRIOR, before the first evaluation."""
    model, price = load(prior), numbers(costs, "--costs")
    made = make_plan(model, budget, method, price)
    if compare:
        _compare(model, budget, price, made, form)
        return
    rows = [
        {"arm": name, "evaluations": int(n), "share of spend": float(share)}
        for name, n, share in zip(model.names, made.counts, made.weights, strict=True)
    ]
    about = {"method": made.method, "budget": budget, "error": float(made.evaluation.error), "status": made.status}
    if form != "table":
        click.echo(formatted(form, rows, about | {"stderr": float(made.evaluation.error.stderr)}))
        return
    shown = [
        {"arm": row["arm"], "evaluations": f"{row['evaluations']:,}", "share of spend": f"{row['share of spend']:.1%}"}
        for row in rows
        if row["evaluations"]
    ]
    click.echo(table_text(shown) if shown else "nothing is evaluated")
    if left := sum(1 for row in rows if not row["evaluations"]):
        click.echo(f"{left} arm{'s' if left > 1 else ''} not worth an evaluation")
    even, double = make_plan(model, budget, "uniform", price), make_plan(model, 2 * budget, method, price)
    own, split, twice = (in_words(each.evaluation.error) for each in (made, even, double))
    click.echo(f"\nThe decision is wrong with probability {own} ({made.method} plan);")
    click.echo(f"an even split gives {split}, twice the budget {twice}.")
    click.echo(f"Choosing wrongly is expected to cost {in_words(made.evaluation.regret)} on average.")


def _compare(model: Any, budget: float, price: list[float] | None, chosen: Plan, form: str) -> None:
    rows: list[dict[str, Any]] = []
    for name in METHODS:
        try:
            made = chosen if name == chosen.method else make_plan(model, budget, name, price)  # type: ignore[arg-type]
        except InputError:
            continue  # too many arms for this one
        error, arms = made.evaluation.error, int((made.counts > 0).sum())
        rows.append({"method": name, "error": float(error), "stderr": float(error.stderr), "arms": arms})
    rows.sort(key=lambda row: float(row["error"]))
    if form != "table":
        click.echo(formatted(form, rows, {"budget": budget}))
        return
    shown = [
        {"method": r["method"], "error": f"{r['error']:.4f} ± {r['stderr']:.1g}", "arms evaluated": str(r["arms"])}
        for r in rows
    ]
    click.echo(table_text(shown))
