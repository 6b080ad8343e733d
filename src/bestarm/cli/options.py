"""Options and formats that several commands share."""

import csv
import io
import json
import math
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from bestarm.errors import InputError
from bestarm.estimate import Estimate
from bestarm.validation import shown, visible

__all__ = [
    "as_json",
    "experiment_options",
    "form_option",
    "formatted",
    "in_words",
    "numbers",
    "prose",
    "reading",
    "results_options",
    "settings_options",
    "store_option",
    "table_text",
]


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


def store_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Where experiments are kept."""
    return click.option(
        "--store",
        envvar="BESTARM_STORE",
        default="sqlite:///bestarm.db",
        show_default="$BESTARM_STORE or sqlite:///bestarm.db",
        help="Where experiments are kept: a file, or postgresql://…",
    )(command)


def form_option(*forms: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """How to print; the first is the default."""
    return click.option("--format", "form", type=click.Choice(forms), default=forms[0], show_default=True)


def settings_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What an experiment is made of, besides its arms and its budget."""
    options = [
        click.option("--policy", default="rolling", show_default=True, help="How to spend: see docs/policies.md."),
        click.option("--yes-no", is_flag=True, help="Values are 0 or 1 (with a list of arms)."),
        click.option("--minimize", is_flag=True, help="Smaller is better (with a list of arms)."),
        click.option("--costs", default=None, help="Price of one evaluation of each arm, separated by commas."),
        click.option("--pool", default=None, help="Items to evaluate on: a file, one a line, or their number."),
        click.option("--lease", type=float, default=3600.0, show_default=True, help="Seconds a trial is held for."),
        click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of all random choices."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def experiment_options(arms: str, options: dict[str, Any]) -> dict[str, Any]:
    """Those as `Experiment.create` takes them; arms: a file of arms, or a model file (.yaml, .yml, .json)."""
    from bestarm.experiment.arms import read_arms
    from bestarm.models.files import load

    model: Any
    if Path(arms).suffix.lower() in (".yaml", ".yml", ".json"):
        model = load(arms)
        if options["minimize"] or options["yes_no"]:
            raise InputError("--minimize and --yes-no are for a list of arms; a model file says so itself")
    else:
        model = read_arms(arms)
    pool: Any = options["pool"]
    if pool is not None:
        pool = int(pool) if pool.isascii() and pool.isdigit() and len(pool) < 10 else list(read_arms(pool))
    return {
        "model": model,
        "policy": options["policy"],
        "costs": numbers(options["costs"], "--costs"),
        "pool": pool,
        "lease": options["lease"],
        "seed": options["seed"],
        "yes_no": options["yes_no"],
        "direction": "minimize" if options["minimize"] else None,
    }


def prose(text: str) -> str:
    """Sentences, wrapped on a terminal and on one line elsewhere."""
    text = visible(text)
    if not sys.stdout.isatty():
        return text
    return click.wrap_text(text, min(shutil.get_terminal_size().columns, 100))


def in_words(found: Estimate) -> str:
    """An estimate with at most four significant digits, and its standard error where that can be seen in them."""
    value, stderr = float(found), float(np.asarray(found.stderr))
    short = f"{value:.4g}"
    return short if stderr < 0.5 * abs(value) * 1e-4 else str(found)


def numbers(text: str | None, name: str) -> list[float] | None:
    """Numbers separated by commas."""
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"{name} is {shown(text)}; expected numbers separated by commas, one for each arm") from None


def as_json(document: dict[str, Any]) -> str:
    """One JSON object with the version of its form; numbers that JSON cannot hold are null."""
    return json.dumps({"version": 1, **_finite(document)}, ensure_ascii=False, indent=1)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


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
    rows = [{head: visible(row[head]) for head in heads} for row in rows]
    widths = {head: max(len(head), *(len(row[head]) for row in rows)) for head in heads}
    lines = []
    for row in [{head: head for head in heads}, *rows]:
        cells = [row[head].ljust(widths[head]) if head == heads[0] else row[head].rjust(widths[head]) for head in heads]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
