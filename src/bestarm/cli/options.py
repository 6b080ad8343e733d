"""Options and formats that several commands share."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from typing import Any

import click

__all__ = ["formatted", "reading", "results_options", "table_text"]


def results_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What to know about a table of results."""
    options = [
        click.option("--arm-column", default="arm", show_default=True, help="Column with the arm's name."),
        click.option("--reward-column", default="reward", show_default=True, help="Column with the reward."),
        click.option("--group", "group_column", default=None, help="Column with the arm's group."),
        click.option("--features", default=None, help="Columns with features, separated by commas, or 'auto'."),
        click.option("--delimiter", default=None, help="Between fields, where it cannot be guessed."),
        click.option("--decimal", type=click.Choice([".", ","]), default=None, help="Decimal point or comma."),
        click.option("--encoding", default=None, help="Of the text, where it cannot be guessed."),
        click.option("--table", "table_name", default=None, help="Name of the table in a database."),
        click.option("--noise", type=float, default=None, help="Sd of one evaluation, where the results cannot tell."),
        click.option("--minimize", is_flag=True, help="Smaller is better."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def reading(options: dict[str, Any]) -> dict[str, Any]:
    """Those options as `read_table` takes them."""
    features = options["features"]
    return {
        "arm": options["arm_column"],
        "reward": options["reward_column"],
        "group": options["group_column"],
        "features": features if features in (None, "auto") else [name.strip() for name in features.split(",")],
        "delimiter": options["delimiter"],
        "decimal": options["decimal"],
        "encoding": options["encoding"],
        "table": options["table_name"],
    }


def formatted(form: str, rows: Sequence[dict[str, Any]], about: dict[str, Any]) -> str:
    """Rows as JSON (with `about` around them and a version) or CSV."""
    if form == "json":
        return json.dumps({"version": 1, **about, "rows": list(rows)}, ensure_ascii=False, indent=1)
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().rstrip("\n")


def table_text(rows: Sequence[dict[str, str]]) -> str:
    """Columns aligned: the first to the left, the others to the right."""
    heads = list(rows[0])
    widths = {head: max(len(head), *(len(row[head]) for row in rows)) for head in heads}
    lines = []
    for row in [{head: head for head in heads}, *rows]:
        cells = [row[head].ljust(widths[head]) if head == heads[0] else row[head].rjust(widths[head]) for head in heads]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
