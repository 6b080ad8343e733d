"""Rows of tables in memory: data frames, arrays, mappings and lists. Nobody's library is imported for them."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from bestarm.errors import InputError
from bestarm.learning.reading.rows import Cut, Rows
from bestarm.validation import shown

__all__ = ["frame_rows"]


def frame_rows(source: Any) -> tuple[str, Rows]:
    """A table in memory: what it is, for people, and its rows."""
    if type(source).__name__ == "LazyFrame" and hasattr(source, "collect"):
        source = source.collect()
    if isinstance(source, np.ndarray):
        if source.dtype.names is None or source.ndim != 1:
            raise InputError(
                f"source is an array of shape {source.shape} and type {source.dtype}; "
                "expected a structured one, a vector of rows with named columns"
            )
        fields = source.dtype.names
        return "a NumPy array", _columnar(fields, lambda i: source[fields[i]].tolist())
    if isinstance(source, Mapping):
        keys = list(source)
        return "a mapping of columns", _columnar(keys, lambda i: _sequence(source[keys[i]], keys[i]))
    if isinstance(source, list | tuple):
        return "a list of rows", _row_mappings(source)
    kind = f"a {type(source).__module__.split('.')[0]} {type(source).__name__}"
    if hasattr(source, "to_pydict") and hasattr(source, "schema"):
        return kind, _columnar(source.schema.names, lambda i: source.column(i).to_pylist())
    if hasattr(source, "get_columns") and hasattr(source, "schema"):
        series = source.get_columns()
        return kind, _columnar([each.name for each in series], lambda i: series[i].to_list())
    if hasattr(source, "iloc") and hasattr(source, "columns"):
        return kind, _columnar(list(source.columns), lambda i: source.iloc[:, i].tolist())
    raise InputError(f"source is {shown(source)}; expected the name of a file, a data frame, or a mapping of columns")


def _columnar(names: Iterable[object], column: Callable[[int], Sequence[object]]) -> Rows:
    own = tuple(str(name) for name in names)

    def rows(positions: Sequence[int]) -> Cut:
        columns = [column(i) for i in positions]
        for i, each in zip(positions, columns, strict=True):
            if len(each) != len(columns[0]):
                first = f"{shown(own[positions[0]])} has {len(columns[0])}"
                raise InputError(f"column {shown(own[i])} has {len(each)} entries, where {first}; expected as many")
        yield from enumerate(zip(*columns, strict=True))

    return Rows(own, rows)


def _sequence(value: Any, name: object) -> Sequence[object]:
    for method in ("tolist", "to_list", "to_pylist"):
        if hasattr(value, method):
            value = getattr(value, method)()
            break
    if isinstance(value, str | bytes | Set | Mapping) or not isinstance(value, Iterable):
        raise InputError(f"column {shown(str(name))} is {shown(value)}; expected a list of entries, one per row")
    return list(value)


def _row_mappings(source: Sequence[Any]) -> Rows:
    for i, row in enumerate(source):
        if not isinstance(row, Mapping):
            raise InputError(f"source[{i}] is {shown(row)}; expected a row that maps names of columns to entries")
    keys = list(dict.fromkeys(key for row in source for key in row))

    def rows(positions: Sequence[int]) -> Cut:
        chosen = [keys[i] for i in positions]
        for at, row in enumerate(source):
            yield at, [row.get(key) for key in chosen]

    return Rows(tuple(str(key) for key in keys), rows)
