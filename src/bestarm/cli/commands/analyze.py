"""`bestarm analyze results.csv`: who is best in data that already exist, and how sure that is."""

import contextlib
from typing import Any

import click
import numpy as np

from bestarm.checks.conflict import conflict
from bestarm.cli.options import formatted, reading, results_options, table_text
from bestarm.errors import InputError
from bestarm.learning.learn import KINDS, learn
from bestarm.learning.tables import Table, read_table
from bestarm.models.files import load, source_of
from bestarm.validation import non_negative


@click.command()
@click.argument("results")
@click.option("--prior", type=click.Path(), default=None, help="A model file to start from, instead of learning.")
@click.option("--kind", type=click.Choice(KINDS), default="auto", show_default=True, help="How to learn.")
@click.option("--margin", type=click.FloatRange(0), default=0.0, show_default=True, help="A difference of no account.")
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
@results_options
def analyze(
    results: str,
    prior: str | None,
    kind: Any,
    margin: float,
    form: str,
    noise: float | None,
    minimize: bool,
    **options: Any,
) -> None:
    """Who is best in RESULTS (CSV, Parquet, a database; - for standard input): the chance, the loss, the ties."""
    margin = float(non_negative(margin, "--margin", ndim=0))
    table = read_table(results, **reading(options))
    if prior is None:
        found = learn(table, kind, noise=noise, direction="minimize" if minimize else "maximize")
        model, notes = found.model, list(found.notes)
    else:
        model, notes = _with_prior(prior, table, minimize)
    model_names = model.names
    chance, loss = np.asarray(model.prob_best().value), np.asarray(model.expected_regret().value)
    sd, order = np.sqrt(model.var), np.argsort(-model.arms.sign * model.mean, kind="stable")
    close = _close(model, int(order[0]), margin)
    rows = []
    seen = {name: k for k, name in enumerate(table.names)}
    for k in order:
        own = seen.get(model_names[k])
        n = int(table.counts[own]) if own is not None else 0
        raw = table.sums[own] / table.counts[own] if own is not None and n else None
        rows.append(
            {
                "arm": model_names[k],
                "evaluations": n,
                "average": None if raw is None else float(raw),
                "mean": float(model.mean[k]),
                "sd": float(sd[k]),
                "chance to be best": float(chance[k]),
                "expected loss": float(loss[k]),
                "chance to be within margin": float(close[k]),
            }
        )
    if form != "table":
        click.echo(formatted(form, rows, {"direction": model.direction, "margin": margin, "notes": notes}))
        return
    for note in notes:
        click.echo(note)
    click.echo()
    click.echo(table_text([_shown(row) for row in rows]))
    click.echo()
    for sentence in verdict(rows, model.direction, margin):
        click.echo(sentence)


def _with_prior(path: str, table: Table, minimize: bool) -> tuple[Any, list[str]]:
    """The model of a file after the table's evidence, and whether they fit."""
    model, source = load(path), source_of(path)
    if minimize and model.direction != "minimize":
        raise InputError(f"--minimize is given and {path} maximises; expected one direction")
    notes = []
    if source.get("sha256") == table.digest:
        notes.append(f"warning: {path} was learned from these very rows; they are counted twice here")
    unknown = [name for name in table.names if name not in model.names]
    if unknown:
        raise InputError(f"arm {unknown[0]!r} of the results is not in {path}; expected {', '.join(model.names[:5])}")
    columns = {name: k for k, name in enumerate(table.names)}
    parts = [
        np.array([part[columns[name]] if name in columns else 0.0 for name in model.names])
        for part in (table.counts, table.sums, table.squares)
    ]
    if getattr(model, "moments", 1) == 2:
        return model.condition(*parts), notes
    with contextlib.suppress(InputError):  # a family without a check
        notes.append(str(conflict(model, parts[0], parts[1])))
    return model.condition(parts[0], parts[1]), notes


def _shown(row: dict[str, Any]) -> dict[str, str]:
    average = "" if row["average"] is None else f"{row['average']:.4g}"
    return {
        "arm": str(row["arm"]) if len(str(row["arm"])) <= 40 else str(row["arm"])[:39] + "…",
        "evaluations": f"{row['evaluations']:,}",
        "average": average,
        "estimate": f"{row['mean']:.4g} ± {row['sd']:.2g}",
        "chance to be best": f"{row['chance to be best']:.1%}",
        "expected loss": f"{row['expected loss']:.2g}",
    }


def _close(model: Any, best: int, margin: float) -> np.ndarray:
    """Chance of each arm to be at most `margin` worse than the pick, from draws of the posterior."""
    draws = model.arms.sign * model.sample(20_000, 0)
    return np.asarray((draws >= draws[:, best][:, None] - margin).mean(axis=0))


def verdict(rows: list[dict[str, Any]], direction: str, margin: float) -> list[str]:
    """The decision in words: the pick, the doubt, the ties, and why it is not the leader by average."""
    pick = rows[0]
    wrong = 1 - pick["chance to be best"]
    out = [f"Pick {pick['arm']!r}: best with probability {pick['chance to be best']:.0%}."]
    if wrong > 5e-4:
        cost = pick["expected loss"] / wrong
        out[0] += f" If that is wrong ({wrong:.0%}), choosing it is expected to cost {cost:.2g}."
    others = rows[1:]
    ties = [row["arm"] for row in others if row["chance to be best"] > 0.2 * pick["chance to be best"]]
    if ties:
        out.append(f"Not told apart yet: {_some(ties)}.")
    if margin:
        tied = [row["arm"] for row in others if row["chance to be within margin"] > 0.5]
        out.append(f"Probably no more than {margin:g} worse than it: {_some(tied) if tied else 'no other arm'}.")
    sign = 1 if direction == "maximize" else -1
    seen = [row for row in rows if row["average"] is not None]
    leader = max(seen, key=lambda row: sign * row["average"], default=None)
    if leader is not None and leader["arm"] != pick["arm"]:
        n, highest = leader["evaluations"], "highest" if sign > 0 else "lowest"
        has = f"{leader['arm']!r} has the {highest} average, {leader['average']:.4g}"
        if n < pick["evaluations"]:
            out.append(
                f"{has}, but from only {n:,} evaluation{'s' if n != 1 else ''}: such an average is part luck, and is "
                f"drawn towards what arms are like (to {leader['mean']:.4g})."
            )
        else:
            out.append(f"{has}, but what is known of arms like it draws it to {leader['mean']:.4g}.")
    return out


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(map(repr, names[:5])) + more
