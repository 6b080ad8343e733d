"""`bestarm run arms.txt --budget 600 --command './evaluate.sh {arm}'`: run a program for every evaluation."""

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from bestarm.cli.live import LiveTable, PlainLines
from bestarm.cli.options import experiment_options, prose, settings_options, store_option
from bestarm.errors import InputError, NoSuchExperiment, RewardError

if TYPE_CHECKING:
    from bestarm.experiment.experiment import Experiment


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

    label = Path(arms).stem if name is None else name
    given = experiment_options(arms, options)
    command = Command(line, shell, timeout, metric_regex, metric_json)
    experiment = _opened(store, label, arms, budget, given)
    command.answers = experiment.settings.model.binary
    if not experiment._note_command(f"{line}\n{shell}\n{metric_regex}\n{metric_json}"):
        click.echo(f"{label}: its earlier evaluations come from another command; they count all the same", err=True)
    for sign in {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:
        signal.signal(sign, _interrupt)
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
                catch=(CommandError, RewardError),
                max_failures=max_failures,
                on_change=view.show,
            )
    except KeyboardInterrupt:
        click.echo(f"\n{label}: interrupted, nothing is lost; the same command goes on", err=True)
        sys.exit(130)
    _conclude(experiment, stop_at)


def _opened(store: str, label: str, arms: str, budget: float | None, given: dict[str, Any]) -> "Experiment":
    """The experiment of that name, made where there is none. Of one that is there, what was said must be so."""
    from bestarm.experiment.experiment import Experiment
    from bestarm.experiment.settings import Settings

    try:
        experiment = Experiment.open(store, label)
    except NoSuchExperiment:
        if budget is None:
            raise InputError(f"--budget is missing; expected it the first time, for experiment {label!r}") from None
        return Experiment.create(store, label, budget=budget, load_if_exists=True, **given)
    there, model = experiment.settings, given["model"]
    names = list(model) if isinstance(model, dict) else list(model.names)
    if odd := set(names) ^ set(there.model.names):
        where = "only the file" if min(odd) in names else "only the experiment"
        raise InputError(
            f"{arms} has other arms than experiment {label!r}: {where} has {min(odd)!r}; expected the same, or a --name"
        )
    source = click.get_current_context().get_parameter_source
    keys = [key for key in ("policy", "costs", "pool", "seed") if source(key) is ParameterSource.COMMANDLINE]
    # of a list of arms, only what was said about them
    if not isinstance(model, dict) or any(source(k) is ParameterSource.COMMANDLINE for k in ("yes_no", "minimize")):
        keys.append("model")
    keys += ["budget"] if budget is not None else []
    experiment.check_same(Settings.of(budget=there.budget if budget is None else budget, **given), keys)
    return experiment


def _conclude(experiment: "Experiment", stop_at: float | None) -> None:
    """How it ended, what to pick, and what to do next."""
    from bestarm.experiment.recommendation import chance_wrong

    found, status, name = experiment.recommend(), experiment.status(), experiment.name
    if status.failed:
        click.echo(f"{status.failed} evaluations failed: bestarm export {name} says why", err=True)
    if not any(arm.evaluations + arm.history for arm in status.arms):
        raise InputError("not one evaluation gave a value; expected a program that prints a number")
    if status.pending:
        click.echo(f"{status.pending} evaluations are out with others; what they give will count", err=True)
    if status.state == "finished":
        why = "the policy wants no more" if experiment.settings.pool is None else "there are no more items in the pool"
        click.echo(f"{status.left:g} of the budget is left: {why}", err=True)
    elif stop_at is not None and (wrong := chance_wrong(experiment.posterior())) < stop_at:
        click.echo(f"stopped: the chance of being wrong, {wrong:.1%}, is below {stop_at:.1%}", err=True)
    click.echo(prose(found.text))
    more = f", or bestarm extend {name} {max(round(status.budget / 2), 1)} and run again" if found.tied else ""
    click.echo(f"next: bestarm report {name}{more if status.state == 'spent' else ''}", err=True)


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt
