"""`bestarm export NAME`: every evaluation, for other tools."""

import csv
import io
from typing import Any

import click

from bestarm.cli.options import as_json, form_option, store_option

# as `bestarm learn` reads them
_COLUMNS = ("at", "kind", "trial", "arm", "item", "n", "mean", "sem", "value", "message")


@click.command()
@click.argument("name")
@store_option
@form_option("csv", "json")
def export(name: str, store: str, form: str) -> None:
    """All evaluations of the experiment NAME: told, failed, and history. JSON has settings and the whole log too."""
    from bestarm.experiment.experiment import Experiment

    experiment = Experiment.open(store, name)
    log, names = experiment.log(), experiment.settings.model.names
    items = {event.payload["trial"]: event.payload["item"] for event in log if event.kind == "asked"}
    rows: list[dict[str, Any]] = []
    for event in log:
        if event.kind not in ("told", "added", "failed"):
            continue
        payload, trial = event.payload, event.payload.get("trial")
        item = None if experiment.settings.pool is None else items.get(trial)
        common = {"at": event.at, "kind": event.kind, "trial": trial, "arm": names[payload["arm"]]}
        common["item"] = None if item is None or experiment.settings.pool is None else experiment.settings.pool[item]
        if event.kind == "failed":
            rows.append(common | {"message": payload["message"]})
        else:
            for value in payload.get("values", [payload.get("value")]):
                number = 1 if "values" in payload else payload["n"]
                mean = value if value is not None else payload["mean"]
                sem = 0.0 if number == 1 else payload["sem"]
                rows.append(common | {"n": number, "mean": mean, "sem": sem, "value": value})
    if form == "json":
        settings = experiment.settings.document()
        events = [{"seq": e.seq, "at": e.at, "kind": e.kind, "payload": e.payload} for e in log]
        click.echo(as_json({"experiment": name, "settings": settings, "evaluations": rows, "log": events}))
        return
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=_COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(rows)
    click.echo(out.getvalue(), nl=False)
