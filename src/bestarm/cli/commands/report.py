"""`bestarm report NAME --out report.html`: the experiment on one page."""

from pathlib import Path

import click

from bestarm.cli.options import store_option


@click.command()
@click.argument("name")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), default=None, help="File; NAME.html otherwise.")
@click.option(
    "--margin", type=float, default=0.0, show_default=True, help="An option this close to the best is as good."
)
@store_option
def report(name: str, out: Path | None, margin: float, store: str) -> None:
    """Write the experiment NAME as one HTML file that needs nothing else."""
    from bestarm.experiment.experiment import Experiment

    target = Path("".join(c if c.isalnum() or c in "-_. " else "-" for c in name) + ".html") if out is None else out
    Experiment.open(store, name).report(target, margin)
    click.echo(str(target))
