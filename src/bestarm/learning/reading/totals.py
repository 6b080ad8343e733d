"""Totals of each arm from one query of DuckDB: the same numbers as reading row by row, many times faster."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bestarm.learning.reading.cells import MISSING, NO, YES, label
from bestarm.learning.reading.failures import failures
from bestarm.learning.reading.rows import Query
from bestarm.learning.reading.sql import literals
from bestarm.validation import LARGEST

__all__ = ["Total", "totals"]

_NUMBER = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?"


@dataclass(frozen=True)
class Total:
    """All rows of one arm. scatter: squared distances of rewards from their mean, summed."""

    name: str | None
    groups: tuple[str | None, str | None]  # first and last, the same if there is one
    rows: int
    count: int
    total: float
    scatter: float
    low: float
    high: float
    exact: int
    exact_squares: int
    others: int  # rewards other than 0 and 1
    bad: int  # that are no usable number, or no number at all
    words: int  # that say yes or no
    features: tuple[tuple[float | None, float | None, int], ...]  # least, most, how many are no usable number


def totals(query: Query, own: Sequence[int], features: Iterable[int]) -> list[Total] | None:
    """Arms in order of first appearance, None if the query fails.

    own: where arm, reward and perhaps group stand; features: where columns stand that hold numbers.
    """
    grouped = len(own) > 2
    places = {1: own[1], **dict(enumerate(features, len(own)))}  # of numbers; arm and group are taken as they are
    kinds = {i: query.kinds[at] for i, at in places.items()}
    cells = [f"{query.columns[own[i]]} AS c{i}" for i in ((0, 2) if grouped else (0,))]
    cells += [f"{_cell(query.columns[at], kinds[i])} AS c{i}" for i, at in places.items()]
    values = [f"{_value(f'c{i}', kinds[i], i == 1)} AS v{i}" for i in places]
    values += [f"{_there(f'c{i}', kinds[i])} AS there{i}" for i in places]
    usable = [f"CASE WHEN abs(v{i}) <= {LARGEST!r} THEN v{i} END AS x{i}" for i in places]
    sums = ["min(c2)", "max(c2)"] if grouped else ["NULL", "NULL"]
    sums += ["count(*)", "count(x1)", "coalesce(fsum(x1), 0)", "coalesce(var_pop(x1), 0)", "min(x1)", "max(x1)"]
    sums += [_exact("x1"), _exact("(x1 * x1)"), "count(*) FILTER (WHERE x1 NOT IN (0, 1))"]
    sums += ["count(*) FILTER (WHERE there1 AND x1 IS NULL)", f"count(*) FILTER (WHERE {_word('c1', kinds[1])})"]
    for i in places:
        if i > 1:
            sums += [f"min(x{i})", f"max(x{i})", f"count(*) FILTER (WHERE there{i} AND x{i} IS NULL)"]
    sql = (
        f"WITH cells AS (SELECT {', '.join(cells)}, row_number() OVER () AS seen FROM {query.source}), "
        f"found AS (SELECT *, {', '.join(values)} FROM cells), "
        f"usable AS (SELECT *, {', '.join(usable)} FROM found) "
        f"SELECT c0, {', '.join(sums)} FROM usable GROUP BY c0 ORDER BY min(seen)"
    )
    try:
        return [_total(row) for row in query.connection.execute(sql, list(query.parameters)).fetchall()]
    except failures():
        return None


def _total(row: Sequence[Any]) -> Total:
    name, first, last, rows, count, total, variance, low, high, exact, exact_squares, others, bad, words = row[:14]
    return Total(
        label(name),
        (label(first), label(last)),
        rows,
        count,
        total,
        variance * count,
        low or 0.0,  # where it is None, or -0.0
        high or 0.0,
        int(exact),
        int(exact_squares),
        others,
        bad,
        words,
        tuple(zip(row[14::3], row[15::3], row[16::3], strict=True)),
    )


def _cell(column: str, kind: str) -> str:
    return f"lower(trim(CAST({column} AS VARCHAR)))" if kind == "text" else f"CAST({column} AS DOUBLE)"


def _value(cell: str, kind: str, words: bool) -> str:
    """The number in a cell, NULL where there is none."""
    if kind != "text":
        return f"CASE WHEN NOT isnan({cell}) THEN {cell} END"
    cases = f"WHEN regexp_full_match({cell}, '{_NUMBER}') THEN TRY_CAST({cell} AS DOUBLE)"
    if words:
        cases += f" WHEN {cell} IN ({literals(YES)}) THEN 1 WHEN {cell} IN ({literals(NO)}) THEN 0"
    return f"CASE {cases} END"


def _there(cell: str, kind: str) -> str:
    """Whether there is anything in a cell."""
    return f"{cell} NOT IN ({literals(MISSING)})" if kind == "text" else f"NOT isnan({cell})"


def _word(cell: str, kind: str) -> str:
    return f"{cell} IN ({literals(YES + NO)})" if kind == "text" else "false"


def _exact(value: str) -> str:
    """As `sums.exact`, summed."""
    units = f"CAST(trunc({value} * CAST(4503599627370496 AS DOUBLE)) AS HUGEINT)"
    return f"coalesce(sum(CASE WHEN abs({value}) < CAST(1099511627776 AS DOUBLE) THEN {units} ELSE 0 END), 0)"
