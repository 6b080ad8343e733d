"""`bestarm create NAME arms.txt --budget 300`: an experiment to ask and tell."""

from typing import Any

import click

from bestarm.cli.options import as_json, experiment_options, form_option, settings_options, store_option


@click.command()
@click.argument("name")
@click.argument("arms", type=click.Path())
@click.option("--budget", type=float, required=True, help="Evaluations, or money with --costs.")
@settings_options
@store_option
@form_option("table", "json")
def create(name: str, arms: str, budget: float, store: str, form: str, **options: Any) -> None:
    """Make the experiment NAME of the options in ARMS: a list of names (text, CSV, JSONL) or a model file."""
    from bestarm.experiment.experiment import Experiment

    experiment = Experiment.create(store, name, budget=budget, **experiment_options(arms, options))
    about = {"experiment": name, "arms": experiment.settings.model.num_arms, "budget": budget}
    if form == "json":
        click.echo(as_json(about | {"policy": experiment.settings.policy.name}))
        return
    click.echo(f"{name}: {about['arms']} arms, a budget of {budget:g}, policy {experiment.settings.policy.name}")
    click.echo(f"next: bestarm ask {name}", err=True)
