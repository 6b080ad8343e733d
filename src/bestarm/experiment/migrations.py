"""Databases of earlier versions: brought up to date in place, in one transaction. The log is never changed.

schema 1   arms without sums of squares: from before models that learn the noise
schema 2   now
"""

from collections.abc import Callable

from sqlalchemy import Connection, MetaData, Table, inspect, select, text

from bestarm.errors import StoreError

__all__ = ["SCHEMA", "is_current", "prepare"]

SCHEMA = 2

Rebuild = Callable[[Connection], None]


def _squares(connection: Connection, rebuild: Rebuild) -> None:
    """1 to 2: sums of squares, which the log has."""
    for column in ("squares", "history_squares"):
        connection.execute(text(f"ALTER TABLE arms ADD COLUMN {column} FLOAT NOT NULL DEFAULT 0"))
    rebuild(connection)


_STEPS = {1: _squares}  # from that schema to the next


def is_current(connection: Connection, version: Table) -> bool:
    """Whether the tables are there, and of this version."""
    return inspect(connection).has_table(version.name) and connection.scalar(select(version.c["schema"])) == SCHEMA


def prepare(connection: Connection, metadata: MetaData, version: Table, rebuild: Rebuild) -> None:
    """Make the tables where there are none, and bring old ones up to date."""
    if connection.dialect.name == "postgresql":  # one process at a time
        connection.execute(text("SELECT pg_advisory_xact_lock(823543)"))
    there = inspect(connection).get_table_names()
    if version.name not in there:
        if clash := sorted(set(there) & set(metadata.tables)):
            raise StoreError(f"store has a table {clash[0]!r} that is not bestarm's; expected a database of its own")
        metadata.create_all(connection)
        connection.execute(version.insert().values(schema=SCHEMA))
        return
    found = connection.scalar(select(version.c["schema"]))
    if not isinstance(found, int) or found > SCHEMA or found < 1:
        raise StoreError(f"store has schema {found}; this bestarm knows up to {SCHEMA}: upgrade bestarm")
    for old in range(found, SCHEMA):
        _STEPS[old](connection, rebuild)
    if found < SCHEMA:
        connection.execute(version.update().values(schema=SCHEMA))
