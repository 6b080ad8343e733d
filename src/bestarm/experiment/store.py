"""Where experiments are kept: an append-only log of events, and what is derived from it in the same transaction.

SQLite (`sqlite:///name.db`, or just a path) or PostgreSQL (`postgresql://…`, extra [postgres]), through SQLAlchemy. A
transaction holds its experiment's lock from the first line to the commit, so that what one worker reads no other
changes; what is committed is on the disk (SQLite: write-ahead log with synchronous=FULL).
"""

import json
import os
import sqlite3
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    create_engine,
    event,
    func,
    select,
)
from sqlalchemy.exc import IntegrityError, NoSuchModuleError, SQLAlchemyError

from bestarm.errors import InputError, NoSuchExperiment, StoreError
from bestarm.experiment import migrations
from bestarm.experiment.address import parsed, reason, shown_url
from bestarm.experiment.events import PENDING, Change, Event, change_of, dumped, now, stamp
from bestarm.validation import Array, shown

__all__ = ["Counters", "Store", "Transaction"]

_PATIENCE = 60.0  # seconds to wait for a lock

METADATA = MetaData()
EXPERIMENTS = Table(
    "experiments",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", String(200), unique=True, nullable=False),
    Column("seq", Integer, nullable=False),  # of the last event
    Column("trials", Integer, nullable=False),  # handed out so far
    Column("budget", Float, nullable=False),
    Column("spent", Float, nullable=False),
)


def _key(name: str, of: Any = None) -> "Column[int]":
    """A part of a primary key; of: the table it points to."""
    links = [] if of is None else [ForeignKey(of)]
    return Column(name, Integer, *links, primary_key=True, nullable=False)


EVENTS = Table(
    "events",
    METADATA,
    _key("experiment", EXPERIMENTS.c.id),
    _key("seq"),
    Column("at", String(40), nullable=False),
    Column("kind", String(20), nullable=False),
    Column("payload", Text, nullable=False),
)
ARMS = Table(  # derived
    "arms",
    METADATA,
    _key("experiment", EXPERIMENTS.c.id),
    _key("arm"),
    *(Column(name, Float, nullable=False) for name in ("n", "total", "squares")),
    *(Column(name, Float, nullable=False) for name in ("history_n", "history_total", "history_squares")),
)
TRIALS = Table(  # derived
    "trials",
    METADATA,
    _key("experiment", EXPERIMENTS.c.id),
    _key("trial"),
    Column("arm", Integer, nullable=False),
    Column("state", String(10), nullable=False),
    Column("cost", Float, nullable=False),
    Column("item", Integer),
    Column("until", String(40), nullable=False),
    Column("worker", String(200), nullable=False),
    Index("trials_by_state", "experiment", "state", "until"),
)
VERSION = Table("bestarm", METADATA, Column("schema", Integer, primary_key=True))


@dataclass(frozen=True)
class Counters:
    """Where an experiment stands: last event, trials handed out, budget, and what of it is spent."""

    seq: int
    trials: int
    budget: float
    spent: float


class Store:
    """One database of experiments. Safe across processes, and after a fork."""

    def __init__(self, url: str | Path, must_exist: bool = False) -> None:
        self._url = parsed(url)
        self.address = shown_url(url)
        path = Path(self._url.database or "")
        if self._url.drivername == "sqlite" and must_exist and not os.path.exists(path):
            raise NoSuchExperiment(f"store is {shown(str(path))}; there is no such file: create an experiment first")
        self._pid = os.getpid()
        self._engine = self._connected()
        weakref.finalize(self, _dispose, self._engine, self._pid)
        with self._explained():
            with _snapshot(self._engine) as connection:
                ready = migrations.is_current(connection, VERSION)
            if not ready:
                with self._engine.begin() as connection:
                    migrations.prepare(connection, METADATA, VERSION, self._rebuild_all)

    def _connected(self) -> Engine:
        if self._url.drivername == "sqlite":
            engine = create_engine(self._url, connect_args={"timeout": _PATIENCE, "check_same_thread": False})
            event.listen(engine, "connect", _open_sqlite)
            event.listen(engine, "begin", _begin_sqlite)
            return engine
        try:
            theirs = self._url.query.get("options", "")
            own = theirs if isinstance(theirs, str) else " ".join(theirs)
            timeouts = f"{own} -c lock_timeout={int(_PATIENCE * 1000)}".lstrip()
            return create_engine(self._url, pool_pre_ping=True, connect_args={"options": timeouts})
        except (ImportError, NoSuchModuleError):
            raise InputError(
                "store is PostgreSQL, which needs psycopg; expected `pip install bestarm[postgres]`"
            ) from None

    @property
    def engine(self) -> Engine:
        """Connections; a forked child opens its own and leaves its parent's alone."""
        if self._pid != os.getpid():
            self._engine.dispose(close=False)
            self._pid = os.getpid()
        return self._engine

    @property
    def place(self) -> str | Path:
        """What opens it again, secrets included."""
        if self._url.drivername == "sqlite":
            return Path(self._url.database or "")
        return self._url.render_as_string(hide_password=False)

    # ------------------------------------------------------------------ experiments

    def names(self) -> list[str]:
        """All experiments, in the order they were made."""
        with self._explained(), _snapshot(self.engine) as connection:
            return list(connection.scalars(select(EXPERIMENTS.c.name).order_by(EXPERIMENTS.c.id)))

    def create(self, name: str, arms: int, payload: dict[str, Any]) -> bool:
        """A new experiment; False where there is one of that name."""
        first = {"seq": 0, "trials": 0, "budget": 0.0, "spent": 0.0}
        with self._explained():
            try:
                with self.engine.begin() as connection:
                    made = connection.execute(EXPERIMENTS.insert().values(name=name, **first))
                    key = made.inserted_primary_key[0]  # type: ignore[index]
                    _empty_sums(connection, key, arms)
                    Transaction(connection, key, Counters(0, 0, 0.0, 0.0)).append("created", payload)
            except IntegrityError:
                return False
        return True

    @contextmanager
    def transaction(self, name: str) -> Iterator["Transaction"]:
        """The experiment, locked until the end of the block; nothing of the block is kept if it raises."""
        with self._explained(), self.engine.begin() as connection:
            yield self._found(connection, name, locked=True)

    @contextmanager
    def reading(self, name: str) -> Iterator["Transaction"]:
        """The experiment as it is at one moment; nobody waits for anybody."""
        with self._explained(), _snapshot(self.engine) as connection:
            yield self._found(connection, name, locked=False)

    def _found(self, connection: Connection, name: str, locked: bool) -> "Transaction":
        wanted = select(EXPERIMENTS).where(EXPERIMENTS.c.name == name)
        row = connection.execute(wanted.with_for_update() if locked else wanted).one_or_none()
        if row is None:
            there = ", ".join(map(repr, connection.scalars(select(EXPERIMENTS.c.name).limit(5)))) or "none"
            raise NoSuchExperiment(f"name is {shown(name)}; {self.address} has no such experiment, only: {there}")
        return Transaction(connection, row.id, Counters(row.seq, row.trials, row.budget, row.spent))

    def rebuild(self, name: str) -> bool:
        """Derive everything from the log again; True where that changed nothing."""
        with self._explained(), self.engine.begin() as connection:
            return _rebuilt(connection, self._found(connection, name, locked=True).experiment)

    @staticmethod
    def _rebuild_all(connection: Connection) -> None:
        for experiment in list(connection.scalars(select(EXPERIMENTS.c.id))):
            _rebuilt(connection, experiment)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Errors of the database as sentences, with no secret in them."""
        try:
            yield
        except SQLAlchemyError as error:
            raise StoreError(f"store {self.address} {reason(error, self._url.password)}") from None
        except (UnicodeDecodeError, json.JSONDecodeError):
            raise StoreError(f"store {self.address} is damaged: an event that is no text") from None


class Transaction:
    """One experiment, locked: read what is there, append events. The log is only ever appended to."""

    def __init__(self, connection: Connection, experiment: int, counters: Counters) -> None:
        self._connection = connection
        self.experiment = experiment
        self.counters = counters

    def append(self, kind: str, payload: dict[str, Any]) -> Event:
        """One more event, and what follows from it."""
        made = Event(self.counters.seq + 1, stamp(now()), kind, payload)
        row = {"experiment": self.experiment, "seq": made.seq, "at": made.at, "kind": kind, "payload": dumped(payload)}
        self._connection.execute(EVENTS.insert().values(row))
        self.counters = _applied(self._connection, self.experiment, self.counters, made)
        return made

    def events(self, after: int = 0, most: int | None = None) -> list[Event]:
        """The log, from the event after that one."""
        wanted = (
            select(EVENTS.c.seq, EVENTS.c.at, EVENTS.c.kind, EVENTS.c.payload)
            .where(EVENTS.c.experiment == self.experiment, EVENTS.c.seq > after)
            .order_by(EVENTS.c.seq)
            .limit(most)
        )
        return [Event(seq, at, kind, json.loads(text)) for seq, at, kind, text in self._connection.execute(wanted)]

    def last(self, kind: str) -> Event | None:
        """The last event of that kind."""
        wanted = (
            select(EVENTS.c.seq, EVENTS.c.at, EVENTS.c.kind, EVENTS.c.payload)
            .where(EVENTS.c.experiment == self.experiment, EVENTS.c.kind == kind)
            .order_by(EVENTS.c.seq.desc())
            .limit(1)
        )
        row = self._connection.execute(wanted).one_or_none()
        return None if row is None else Event(row[0], row[1], row[2], json.loads(row[3]))

    def sums(self) -> Array:
        """n, total and squares of every arm as told, and the same of its history, (K, 6)."""
        wanted = select(*list(ARMS.c)[2:]).where(ARMS.c.experiment == self.experiment).order_by(ARMS.c.arm)
        return np.array([tuple(row) for row in self._connection.execute(wanted)], dtype=np.float64)

    def trial(self, number: int) -> Any:
        """The row of a trial, or None."""
        wanted = select(TRIALS).where(TRIALS.c.experiment == self.experiment, TRIALS.c.trial == number)
        return self._connection.execute(wanted).one_or_none()

    def pending(self) -> Sequence[Any]:
        """Trials that are handed out, in the order they first were."""
        own = (TRIALS.c.experiment == self.experiment) & (TRIALS.c.state == PENDING)
        return self._connection.execute(select(TRIALS).where(own).order_by(TRIALS.c.trial)).all()

    def numbers(self) -> dict[tuple[int, str], int]:
        """How many trials of each arm are in each state."""
        wanted = (
            select(TRIALS.c.arm, TRIALS.c.state, func.count())
            .where(TRIALS.c.experiment == self.experiment)
            .group_by(TRIALS.c.arm, TRIALS.c.state)
        )
        return {(arm, state): number for arm, state, number in self._connection.execute(wanted)}

    def expired(self, most: int) -> Sequence[Any]:
        """Pending trials whose lease is over, the oldest first."""
        wanted = (
            select(TRIALS)
            .where(TRIALS.c.experiment == self.experiment, TRIALS.c.state == PENDING, TRIALS.c.until < stamp(now()))
            .order_by(TRIALS.c.trial)
            .limit(most)
        )
        return self._connection.execute(wanted).all()


def _applied(connection: Connection, experiment: int, counters: Counters, made: Event) -> Counters:
    """What follows from an event, written to the derived tables."""
    change = change_of(made.kind, made.payload)
    for number, values in change.trials:
        if made.kind == "asked":
            connection.execute(TRIALS.insert().values(experiment=experiment, trial=number, **values))
        else:
            own = (TRIALS.c.experiment == experiment) & (TRIALS.c.trial == number)
            connection.execute(TRIALS.update().where(own).values(**values))
    if change.arm is not None:
        connection.execute(_more(experiment, change))
    trials = counters.trials + (made.kind == "asked")
    counters = Counters(made.seq, trials, counters.budget + change.budget, counters.spent + change.spent)
    values = {"seq": made.seq, "trials": trials, "budget": counters.budget, "spent": counters.spent}
    connection.execute(EXPERIMENTS.update().where(EXPERIMENTS.c.id == experiment).values(**values))
    return counters


def _more(experiment: int, change: Change) -> Any:
    """Add to the sums of one arm."""
    prefix = "history_" if change.history else ""
    parts = {"n": change.n, "total": change.total, "squares": change.squares}
    own = (ARMS.c.experiment == experiment) & (ARMS.c.arm == change.arm)
    return ARMS.update().where(own).values({prefix + name: ARMS.c[prefix + name] + by for name, by in parts.items()})


def _empty_sums(connection: Connection, experiment: int, arms: int) -> None:
    zero = {column.name: 0.0 for column in list(ARMS.c)[2:]}
    connection.execute(ARMS.insert(), [{"experiment": experiment, "arm": arm, **zero} for arm in range(arms)])


def _rebuilt(connection: Connection, experiment: int) -> bool:
    """Derive again; True where all is as it was."""

    def derived() -> list[Any]:
        counters = select(EXPERIMENTS).where(EXPERIMENTS.c.id == experiment)
        tables = (ARMS, ARMS.c.arm), (TRIALS, TRIALS.c.trial)
        rows = [
            connection.execute(select(t).where(t.c.experiment == experiment).order_by(by)).all() for t, by in tables
        ]
        return [connection.execute(counters).one(), *rows]

    before = derived()
    for table in (ARMS, TRIALS):
        connection.execute(table.delete().where(table.c.experiment == experiment))
    _empty_sums(connection, experiment, len(before[1]))
    counters = Counters(0, 0, 0.0, 0.0)
    for made in Transaction(connection, experiment, counters).events():
        counters = _applied(connection, experiment, counters, made)
    return before == derived()


def _dispose(engine: Engine, pid: int) -> None:
    """Close the connections that this process opened."""
    engine.dispose(close=os.getpid() == pid)


def _open_sqlite(connection: Any, _: Any) -> None:
    """Durable when committed, many readers beside one writer; transactions are begun below, not by the driver."""
    connection.isolation_level = None
    cursor = connection.cursor()
    with suppress(sqlite3.OperationalError):  # a file that may only be read stays as it is
        cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    """Take the lock for writing at once: a lock taken later could fail half way."""
    reads = connection.get_execution_options().get("reads", False)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


@contextmanager
def _snapshot(engine: Engine) -> Iterator[Connection]:
    """A transaction that only reads, and sees one moment."""
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            connection = connection.execution_options(reads=True)
        else:
            connection = connection.execution_options(isolation_level="REPEATABLE READ")
        with connection.begin():
            yield connection
