"""`bestarm learn results.csv > prior.yaml`: a prior from past results, as a model file."""

from typing import Any

import click

from bestarm.cli.options import reading, results_options
from bestarm.learning.learn import KINDS
from bestarm.learning.learn import learn as learn_from
from bestarm.models.files import dumps


@click.command()
@click.argument("results")
@click.option("--kind", type=click.Choice(KINDS), default="auto", show_default=True, help="How to learn.")
@click.option("--effects", type=click.IntRange(1), default=3, show_default=True, help="Clusters, for --kind mixture.")
@click.option("--full", is_flag=True, help="Keep the covariance of linear coefficients, not just its diagonal.")
@click.option("--arms", default=None, help="Further arms without results, separated by commas.")
@click.option("--units", default=None, help="Units of the rewards, to be written down.")
@click.option("--format", "form", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
@results_options
def learn(
    results: str,
    kind: Any,
    effects: int,
    full: bool,
    arms: str | None,
    units: str | None,
    form: str,
    noise: float | None,
    minimize: bool,
    **options: Any,
) -> None:
    """Learn a prior from past RESULTS (CSV, Parquet, a database; - for standard input) and print its model file."""
    found = learn_from(
        results,
        kind,
        arms=None if arms is None else [name.strip() for name in arms.split(",")],
        noise=noise,
        effects=effects,
        full=full,
        direction="minimize" if minimize else "maximize",
        **reading(options),
    )
    for note in found.notes:
        click.echo(f"learn: {note}", err=True)
    click.echo(dumps(found.model, form, found.source, units), nl=False)
