"""`bestarm demo`: the whole of it on one screen, from a history to a decision and its report."""

import csv
import tempfile
from pathlib import Path

import click
import numpy as np

from bestarm.design.plans import Plan, plan
from bestarm.errors import InputError
from bestarm.learning.learn import learn

_NAMES = ("short prompt", "long prompt", "with examples", "step by step", "ask twice", "with a role")
_CENTRE, _SPREAD, _NOISE = 0.5, 0.25, 1.0  # of the prompts' scores, and of one evaluation
_PAST = (8, 5, 4, 3, 2, 2)  # evaluations in the history
_WIDTH, _PAGE = 18, 80  # of bars, and of all of it


@click.command()
@click.option("--budget", default=200, show_default=True, type=click.IntRange(1, 5000), help="Evaluations to spend.")
@click.option("--seed", default=9, show_default=True, type=click.IntRange(0), help="Which simulated world.")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), default=None, help="Folder; a new one otherwise."
)
def demo(budget: int, seed: int, out: Path | None) -> None:
    """Six prompts, a history, a budget and a simulated world: learn a prior, plan, spend, decide, report."""
    from bestarm.experiment.experiment import Experiment

    folder = Path(tempfile.mkdtemp(prefix="bestarm-demo-")) if out is None else out
    folder.mkdir(parents=True, exist_ok=True)
    store = folder / "demo.db"
    if store.exists():
        raise InputError(f"out is {str(folder)!r}, which has a demo already; expected another folder")
    rng = np.random.default_rng(seed)
    truth = dict(zip(_NAMES, _CENTRE + _SPREAD * rng.standard_normal(len(_NAMES)), strict=True))
    history = folder / "history.csv"
    _write(history, truth, rng)

    _say(
        f"Six prompts and a score that is noisy: one evaluation is off by about {_NOISE:g}, while the prompts differ "
        f"by tenths. The history, {sum(_PAST)} old evaluations, makes a prior (bestarm learn)."
    )
    prior = learn(history, noise=_NOISE).model
    made, even = plan(prior, budget), plan(prior, budget, "uniform")
    _say(
        f"{budget} evaluations to spend. Planned beforehand (bestarm plan), the decision is wrong with probability "
        f"{_percent(made)}; with an even split {_percent(even)}. Now they are spent one by one, looking at the results "
        "on the way (policy rolling; bestarm run does this with a program of yours)."
    )
    experiment = Experiment.create(store, "demo", prior, budget, seed=seed)
    while trials := experiment.ask():
        for trial in trials:
            experiment.tell(trial, truth[trial.name] + _NOISE * rng.standard_normal())

    found, status, posterior = experiment.recommend(), experiment.status(), experiment.posterior()
    chance = np.asarray(posterior.prob_best().value)
    click.echo(f"{'prompt':<14}{'prior':>13}{'evaluations':>13}{'posterior':>14}  chance to be best")
    for k, arm in enumerate(status.arms):
        bar = "█" * round(_WIDTH * chance[k])
        before = f"{prior.mean[k]:.2f} ± {np.sqrt(prior.var[k]):.2f}"
        after = f"{posterior.mean[k]:.2f} ± {np.sqrt(posterior.var[k]):.2f}"
        click.echo(f"{arm.name:<14}{before:>13}{arm.evaluations:>13}{after:>14}  {chance[k]:>4.0%} {bar}".rstrip())
    best = max(truth, key=lambda name: truth[name])
    verdict = (
        "the decision is right" if best == found.name else f"the decision costs {truth[best] - truth[found.name]:.2f}"
    )
    click.echo()
    _say(found.text)
    click.echo(f"In this simulated world the best prompt is {best!r}: {verdict}.")
    report = folder / "report.html"
    experiment.report(report)
    click.echo(f"The report: {report}")


def _say(text: str) -> None:
    """A paragraph."""
    click.echo(click.wrap_text(text, _PAGE) + "\n")


def _write(path: Path, truth: dict[str, float], rng: np.random.Generator) -> None:
    """A few old evaluations of each prompt, as people keep them."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["arm", "reward"])
        for name, number in zip(truth, _PAST, strict=True):
            for value in truth[name] + _NOISE * rng.standard_normal(number):
                writer.writerow([name, f"{value:.4f}"])


def _percent(made: Plan) -> str:
    return f"{float(made.evaluation.error):.1%}"
