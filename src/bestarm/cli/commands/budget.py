"""`bestarm budget prior.yaml --error 0.05`: the smallest budget that is enough."""

from typing import Any

import click

from bestarm.cli.options import formatted, in_words, numbers, table_text
from bestarm.design.budget import budget_for
from bestarm.design.plans import METHODS
from bestarm.models.files import load


@click.command()
@click.argument("prior", type=click.Path())
@click.option("--error", type=float, required=True, help="Probability of a wrong decision to be reached.")
@click.option("--costs", default=None, help="Price of one evaluation of each arm, separated by commas.")
@click.option("--method", type=click.Choice(["auto", *METHODS]), default="auto", show_default=True)
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
def budget(prior: str, error: float, costs: str | None, method: Any, form: str) -> None:
    """The smallest budget whose plan is wrong with probability at most --error, for the model file PRIOR."""
    model = load(prior)
    made = budget_for(model, error, method, numbers(costs, "--costs"))
    rows = [{"arm": name, "evaluations": int(n)} for name, n in zip(model.names, made.counts, strict=True)]
    if form != "table":
        found = made.evaluation.error
        about = {"budget": made.budget, "method": made.method, "error": float(found), "stderr": float(found.stderr)}
        click.echo(formatted(form, rows, about))
        return
    click.echo(
        f"A budget of {made.budget:,.10g} is enough: wrong with probability {in_words(made.evaluation.error)}.\n"
    )
    shown = [{"arm": row["arm"], "evaluations": f"{row['evaluations']:,}"} for row in rows if row["evaluations"]]
    if shown:
        click.echo(table_text(shown))
