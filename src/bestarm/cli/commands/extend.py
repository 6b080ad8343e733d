"""`bestarm extend NAME 100`: more budget."""

import click

from bestarm.cli.options import store_option


@click.command()
@click.argument("name")
@click.argument("budget", type=float)
@store_option
def extend(name: str, budget: float, store: str) -> None:
    """Add BUDGET to what the experiment NAME may spend."""
    from bestarm.experiment.experiment import Experiment

    experiment = Experiment.open(store, name)
    total = experiment.extend(budget)
    click.echo(f"{name}: a budget of {total:g}, {experiment.status().spent:g} of it spent")
