"""`bestarm run arms.txt --budget 600 --command './evaluate.sh {arm}'`: run a program for every evaluation."""

import signal
import sys
from pathlib import Path
from typing import Any

import click

from bestarm.cli.live import LiveTable, PlainLines
from bestarm.cli.options import experiment_options, settings_options, store_option
from bestarm.errors import InputError


@click.command()
@click.argument("arms", type=click.Path())
@click.option("--command", "line", required=True, help="With {arm}, {index}, {trial}, {seed} or {item} filled in.")
@click.option("--budget", type=float, default=None, help="Evaluations, or money with --costs; needed the first time.")
@click.option("--name", default=None, help="Of the experiment; the name of the file otherwise.")
@click.option("--jobs", type=click.IntRange(1, 1000), default=1, show_default=True, help="Programs at once.")
@click.option("--stop-at", type=float, default=None, help="Stop when the chance of being wrong is below this.")
@click.option("--timeout", type=float, default=None, help="Seconds after which a program is ended; it has failed then.")
@click.option(
    "--retries", type=click.IntRange(0, 100), default=0, show_default=True, help="Of an evaluation that fails."
)
@click.option("--max-failures", type=click.IntRange(1, 10_000), default=10, show_default=True, help="In a row.")
@click.option("--metric-regex", default=None, help="Its first group, where it last matches, is the value.")
@click.option("--metric-json", default=None, help="Key of the value in the last line that is a JSON object.")
@click.option("--shell", is_flag=True, help="Hand the command to a shell; values are quoted for it.")
@settings_options
@store_option
def run(
    arms: str,
    line: str,
    budget: float | None,
    name: str | None,
    jobs: int,
    stop_at: float | None,
    timeout: float | None,
    retries: int,
    max_failures: int,
    metric_regex: str | None,
    metric_json: str | None,
    shell: bool,
    store: str,
    **options: Any,
) -> None:
    """Evaluate the options in ARMS by running a program, spend the budget where it tells most, and recommend one.

    The value is the last number that the program prints. It finds arm, trial, seed and item in BESTARM_ARM,
    BESTARM_TRIAL, BESTARM_SEED and BESTARM_ITEM too, and the arm's payload on its standard input. A non-zero exit is a
    failed trial. Cut short, the same command goes on.
    """
    from bestarm.experiment.command import Command, CommandError
    from bestarm.experiment.experiment import Experiment

    label = Path(arms).stem if name is None else name
    command = Command(line, shell, timeout, metric_regex, metric_json)
    given = experiment_options(arms, options)
    if budget is None:
        experiment = Experiment.open(store, label)
        if experiment.settings.model.names != tuple(_names(given["model"])):
            raise InputError(
                f"{arms} has other arms than experiment {label!r}; expected the same file, or another --name"
            )
    else:
        experiment = Experiment.create(store, label, budget=budget, load_if_exists=True, **given)
    signal.signal(signal.SIGTERM, _interrupt)
    before = experiment.status()
    if before.spent:
        click.echo(f"{label}: going on, {before.spent:g} of {before.budget:g} spent", err=True)
    view = LiveTable(experiment) if sys.stderr.isatty() else PlainLines(experiment)
    try:
        with view:
            experiment.run(
                command,
                jobs=jobs,
                stop_at=stop_at,
                retries=retries,
                catch=CommandError,
                max_failures=max_failures,
                on_change=view.show,
            )
    except KeyboardInterrupt:
        click.echo(f"\n{label}: interrupted, nothing is lost; the same command goes on", err=True)
        sys.exit(130)
    found, after = experiment.recommend(), experiment.status()
    if after.failed:
        click.echo(f"{after.failed} evaluations failed: bestarm export {label} says why", err=True)
    click.echo(found.text)
    click.echo(f"next: bestarm report {label} --out report.html", err=True)


def _names(model: Any) -> list[str]:
    return list(model if isinstance(model, dict) else model.names)


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt
