"""`bestarm ask NAME`: what to evaluate now."""

from dataclasses import asdict

import click

from bestarm.cli.options import as_json, form_option, store_option, table_text


@click.command()
@click.argument("name")
@click.option("-k", "--number", type=click.IntRange(1, 10**6), default=1, show_default=True, help="How many at once.")
@click.option("--worker", default=None, help="Who asks; process and machine otherwise.")
@store_option
@form_option("json", "table")
def ask(name: str, number: int, worker: str | None, store: str, form: str) -> None:
    """Hand out evaluations of the experiment NAME. None are left when `trials` is empty: `state` says why."""
    from bestarm.experiment.experiment import Experiment

    experiment = Experiment.open(store, name)
    # a trial belongs to whoever asked, and not to this command, which is gone at once
    trials = experiment.ask(number, worker or "command line")
    state = "open" if trials else experiment.status().state
    if form == "json":
        click.echo(as_json({"experiment": name, "state": state, "trials": [asdict(trial) for trial in trials]}))
    elif trials:
        click.echo(table_text([{"arm": trial.name, "trial": str(trial.id)} for trial in trials]))
    else:
        click.echo(f"nothing to evaluate: {state}", err=True)
