"""`bestarm status [NAME]`: how far experiments are."""

from dataclasses import asdict
from typing import Any

import click

from bestarm.cli.options import as_json, form_option, store_option, table_text


@click.command()
@click.argument("name", required=False)
@click.option("--rebuild", is_flag=True, help="First derive all sums from the log again, and say whether any changed.")
@store_option
@form_option("table", "json")
def status(name: str | None, rebuild: bool, store: str, form: str) -> None:
    """How far the experiment NAME is; without a name, all of them."""
    from bestarm.experiment.experiment import Experiment
    from bestarm.experiment.store import Store

    names = Store(store, must_exist=True).names() if name is None else [name]
    experiments = [Experiment.open(store, each) for each in names]
    if rebuild:
        for experiment in experiments:
            same = experiment.rebuild()
            click.echo(f"{experiment.name}: {'all sums are as the log says' if same else 'sums were wrong'}", err=True)
    found = [experiment.status() for experiment in experiments]
    if form == "json":
        rows = [asdict(each) for each in found]
        click.echo(as_json({"experiments": rows} if name is None else rows[0]))
        return
    if name is None:
        rows = [
            {"experiment": s.name, "state": s.state, "spent": f"{s.spent:g} of {s.budget:g}", "arms": str(len(s.arms))}
            for s in found
        ]
        click.echo(table_text(rows) if rows else "no experiments")
        return
    _one(found[0])


def _one(found: Any) -> None:
    click.echo(f"{found.name}: {found.state}, {found.spent:g} of {found.budget:g} spent, policy {found.policy}")
    click.echo(f"{found.told} told, {found.pending} pending, {found.failed} failed\n")
    rows = [
        {
            "arm": arm.name,
            "evaluations": f"{arm.evaluations:,}",
            "history": f"{arm.history:,}",
            "pending": f"{arm.pending:,}",
            "failed": f"{arm.failed:,}",
            "mean": "" if arm.evaluations + arm.history == 0 else f"{arm.mean:.4g}",
        }
        for arm in found.arms
    ]
    click.echo(table_text(rows))
