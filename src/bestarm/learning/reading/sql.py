"""Rows of Parquet files and of DuckDB and SQLite databases."""

import contextlib
import glob
import os
import re
import sqlite3
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bestarm.errors import InputError
from bestarm.learning.reading.options import Options
from bestarm.learning.reading.rows import Cut, Query, Rows, some
from bestarm.validation import shown

__all__ = ["connect", "duckdb_rows", "literals", "parquet_rows", "sqlite_rows"]


def parquet_rows(path: str, stack: contextlib.ExitStack) -> Rows:
    """Rows of a Parquet file, by DuckDB."""
    connection = connect("Parquet", stack)
    parameters = (glob.escape(path),)
    # DuckDB takes names in any case as the same, and renames the second: the file's own names are these
    schema = connection.execute("SELECT name, num_children FROM parquet_schema(?)", list(parameters)).fetchall()
    names, inside = [], 0
    for name, children in schema[1:]:
        if not inside:
            names.append(name)
        inside += (children or 0) - (inside > 0)
    return _queried(connection, "read_parquet(?, hive_partitioning = false)", parameters, names)


def duckdb_rows(path: str, options: Options, stack: contextlib.ExitStack) -> Rows:
    """Rows of one table or view of a DuckDB database."""
    connection = connect("a DuckDB database", stack)
    connection.execute(f"ATTACH {literals([os.path.abspath(path)])} AS past (READ_ONLY)")
    tables = connection.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'past' UNION ALL "
        "SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = 'past' AND NOT internal"
    ).fetchall()
    schema, name = tables[_chosen_table([row[1] for row in tables], options)]
    return _queried(connection, f"past.{_identifier(schema)}.{_identifier(name)}", ())


def sqlite_rows(path: str, options: Options, stack: contextlib.ExitStack) -> Rows:
    """Rows of one table or view of an SQLite database."""
    connection = sqlite3.connect(Path(path).absolute().as_uri() + "?mode=ro", uri=True)
    stack.callback(connection.close)
    found = connection.execute(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND substr(name, 1, 7) <> 'sqlite_'"
    ).fetchall()
    table = _identifier(found[_chosen_table([row[0] for row in found], options)][0])
    names = tuple(column[0] for column in connection.execute(f"SELECT * FROM {table} LIMIT 0").description)
    order = ""
    with contextlib.suppress(sqlite3.Error):  # views have no rowid
        connection.execute(f"SELECT rowid FROM {table} LIMIT 0")
        order = " ORDER BY rowid"

    def rows(positions: Sequence[int]) -> Cut:
        chosen = ", ".join(_identifier(names[i]) for i in positions)
        yield from enumerate(connection.execute(f"SELECT {chosen} FROM {table}{order}"))

    return Rows(names, rows)


def _chosen_table(tables: Sequence[str], options: Options) -> int:
    wanted = options.table
    if wanted is None and len(tables) == 1:
        return 0
    if wanted is None or wanted not in tables:
        there = some(tables) or "its tables, but there are none"
        raise InputError(f"table is {shown(wanted)}; expected one of {there}")
    return tables.index(wanted)


def connect(what: str, stack: contextlib.ExitStack) -> Any:
    """A connection to DuckDB, in memory: what does not fit goes to a temporary folder; nothing is fetched."""
    try:
        import duckdb
    except ImportError:
        raise InputError(f"reading {what} needs duckdb; expected `pip install bestarm[learn]`") from None
    spill = stack.enter_context(tempfile.TemporaryDirectory())
    settings = {"memory_limit": "1GB", "temp_directory": spill}
    settings |= dict.fromkeys(("autoinstall_known_extensions", "autoload_known_extensions"), "false")
    connection = duckdb.connect(config=settings)  # type: ignore[arg-type]
    stack.callback(connection.close)
    connection.execute("SET enable_progress_bar = false")  # it would go to standard output, among a command's results
    return connection


def _queried(connection: Any, source: str, parameters: tuple[str, ...], own_names: Sequence[str] | None = None) -> Rows:
    """Rows of a relation of DuckDB."""
    about = connection.execute(f"DESCRIBE SELECT * FROM {source}", list(parameters)).fetchall()
    columns = tuple(_identifier(row[0]) for row in about)
    kinds = tuple(_kind(str(row[1])) for row in about)

    def rows(positions: Sequence[int]) -> Cut:
        chosen = ", ".join(columns[i] for i in positions)
        cursor = connection.execute(f"SELECT {chosen} FROM {source}", list(parameters))
        at = 0
        while block := cursor.fetchmany(10_000):
            yield from enumerate(block, at)
            at += len(block)

    names = tuple(row[0] for row in about) if own_names is None else tuple(own_names)
    return Rows(names, rows, query=Query(connection, source, parameters, columns, kinds))


def _kind(sql_type: str) -> str:
    """What a column of DuckDB holds: number, text, or nothing of use."""
    if re.fullmatch(r"FLOAT|DOUBLE|U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|DECIMAL\(.*\)|BOOLEAN", sql_type):
        return "number"
    return "text" if sql_type == "VARCHAR" or sql_type.startswith("ENUM(") else ""


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literals(words: Sequence[str]) -> str:
    """Words as SQL writes them, with commas between."""
    return ", ".join("'" + word.replace("'", "''") + "'" for word in words)
