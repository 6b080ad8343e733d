"""`bestarm recommend NAME`: which option to pick, how sure that is, and why."""

from dataclasses import asdict
from typing import Any

import click
import numpy as np

from bestarm.cli.options import as_json, form_option, prose, store_option


@click.command()
@click.argument("name")
@click.option(
    "--margin", type=float, default=0.0, show_default=True, help="An option this close to the best is as good."
)
@store_option
@form_option("table", "json")
def recommend(name: str, margin: float, store: str, form: str) -> None:
    """The option to pick now in the experiment NAME."""
    from bestarm.experiment.experiment import Experiment

    found = Experiment.open(store, name).recommend(margin)
    if form == "json":
        click.echo(as_json({"experiment": name, **{key: _plain(value) for key, value in asdict(found).items()}}))
        return
    click.echo(prose(found.text))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):  # an Estimate
        return {key: float(np.asarray(part)) for key, part in value.items()}
    return value
