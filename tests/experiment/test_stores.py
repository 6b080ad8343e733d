"""What goes wrong with databases: a clear error, nothing half stored, and a retry that works."""

import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import sqlalchemy

import bestarm as ba
from bestarm.errors import StoreError
from bestarm.experiment import store as stores
from bestarm.experiment.address import shown_url

PRIOR = ba.Gaussian.independent([0, 0], 1.0, names=["a", "b"])
SCHEMA_1 = Path(__file__).parent / "data" / "schema1.db"


def test_a_file_of_schema_1_opens(tmp_path):
    """Made by tests/experiment/data/make_schema1.py: arms had no sums of squares then."""
    old = tmp_path / "old.db"
    old.write_bytes(SCHEMA_1.read_bytes())
    with sqlite3.connect(old) as connection:
        assert connection.execute('SELECT "schema" FROM bestarm').fetchone() == (1,)
        assert "squares" not in [row[1] for row in connection.execute("PRAGMA table_info(arms)")]
        log = connection.execute("SELECT * FROM events ORDER BY experiment, seq").fetchall()
    connection.close()
    experiment = ba.Experiment.open(old, "old")
    assert experiment.status().spent == 6
    assert experiment.posterior().var.max() < 1
    (trial,) = experiment.ask()
    experiment.tell(trial, 0.4)
    assert experiment.rebuild()
    with sqlite3.connect(old) as connection:
        assert connection.execute('SELECT "schema" FROM bestarm').fetchone() == (2,)
        assert connection.execute("SELECT * FROM events ORDER BY experiment, seq").fetchall()[: len(log)] == log
        assert connection.execute("SELECT SUM(squares) FROM arms").fetchone()[0] > 0
    connection.close()


def test_a_store_of_the_future_is_refused(tmp_path):
    ba.Experiment.create(tmp_path / "e.db", "e", PRIOR, 5)
    with sqlite3.connect(tmp_path / "e.db") as connection:
        connection.execute('UPDATE bestarm SET "schema" = 99')
    connection.close()
    with pytest.raises(StoreError, match="schema 99; this bestarm knows up to 2"):
        ba.Experiment.open(tmp_path / "e.db", "e")


def test_somebody_elses_database_is_left_alone(tmp_path):
    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("CREATE TABLE events (x)")
    connection.close()
    with pytest.raises(StoreError, match="a table 'events' that is not bestarm's"):
        ba.Experiment.create(tmp_path / "other.db", "e", PRIOR, 5)
    (tmp_path / "text.db").write_text("no database at all, but a text of some length " * 40)
    with pytest.raises(StoreError, match="damaged, or no database"):
        ba.Experiment.create(tmp_path / "text.db", "e", PRIOR, 5)


def test_a_locked_database(tmp_path, monkeypatch):
    monkeypatch.setattr(stores, "_PATIENCE", 0.1)
    experiment = ba.Experiment.create(tmp_path / "e.db", "e", PRIOR, 5)
    other = sqlite3.connect(tmp_path / "e.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="is locked by another process; try again"):
        experiment.ask()
    assert experiment.status().spent == 0  # reading waits for nobody
    other.execute("ROLLBACK")
    other.close()
    assert len(experiment.ask()) == 1


@pytest.mark.parametrize("when", [0, 1, 2, 3, 5])
def test_a_full_disk(tmp_path, monkeypatch, when):
    """The database fails at some statement of a step, as it does when the disk is full; the step can be tried again."""
    experiment = ba.Experiment.create(tmp_path / "e.db", "e", PRIOR, 9)
    (kept,) = experiment.ask()
    log = experiment.log()
    writes, said = [], []

    def fails(connection, cursor, statement, parameters, context, executemany):
        if statement.startswith(("INSERT", "UPDATE")):
            writes.append(statement)
            if len(writes) > when:
                raise sqlite3.OperationalError("database or disk is full")

    sqlalchemy.event.listen(experiment._store.engine, "before_cursor_execute", fails)
    for step in (lambda: experiment.ask(2), lambda: experiment.tell(kept, 0.3), lambda: experiment.add("a", 0.2)):
        writes.clear()
        try:
            step()
        except StoreError as error:
            said.append(str(error))
        except sqlite3.OperationalError as error:  # raised around SQLAlchemy, which would have told it
            said.append(str(error))
        else:
            assert len(writes) <= when
    assert said
    assert all("full" in each for each in said)
    sqlalchemy.event.remove(experiment._store.engine, "before_cursor_execute", fails)
    assert experiment.log()[: len(log)] == log
    assert experiment.rebuild()
    while trials := experiment.ask():
        experiment.tell(trials[0], 0.1)
    experiment.release([kept]) if experiment.status().pending else None
    for trial in experiment.ask(9):
        experiment.tell(trial, 0.1)
    assert (experiment.status().spent, experiment.status().pending) == (9, 0)


def test_a_really_full_disk(tmp_path):
    """SQLite itself refuses to grow the file."""
    experiment = ba.Experiment.create(tmp_path / "e.db", "e", PRIOR, 10_000)
    trials = experiment.ask(20)

    def limit(connection, record):
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")

    sqlalchemy.event.listen(experiment._store.engine, "connect", limit)
    experiment._store.engine.dispose()
    with pytest.raises(StoreError, match="is on a full disk; nothing of this step is stored"):
        experiment.ask(3000)
    sqlalchemy.event.remove(experiment._store.engine, "connect", limit)
    experiment._store.engine.dispose()
    assert experiment.status().pending == 20
    assert experiment.tell(trials[0], 0.5)
    assert len(experiment.ask(30)) == 30
    assert experiment.rebuild()


@pytest.mark.skipif(os.name != "posix", reason="file permissions")
def test_a_read_only_database(tmp_path):
    """Refused in a sentence; as another user, since root may write anything."""
    folder = tmp_path / "shared"
    folder.mkdir()
    experiment = ba.Experiment.create(folder / "e.db", "e", PRIOR, 5)
    experiment.ask()
    del experiment
    code = f"""
import os
import bestarm as ba
ba.Experiment.create({str(tmp_path / "other.db")!r}, "e", ["a", "b"], 5).ask()  # and everything is loaded
if os.geteuid() == 0:
    os.setuid(65534)
try:
    ba.Experiment.open({str(folder / "e.db")!r}, "e").ask()
except ba.StoreError as error:
    print(error)
"""
    for path in (folder / "e.db", folder):
        path.chmod(0o555 if path.is_dir() else 0o444)
    for parent in folder.parents:
        if parent == Path("/tmp"):
            break
        parent.chmod(parent.stat().st_mode | 0o111)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    folder.chmod(0o755)
    (folder / "e.db").chmod(0o644)
    assert done.returncode == 0, done.stderr
    assert "cannot be written" in done.stdout or "cannot be opened" in done.stdout
    assert ba.Experiment.open(folder / "e.db", "e").status().spent == 1


def test_the_database_goes_away_and_comes_back(store):
    """Connections that broke are made anew."""
    if not store.startswith("postgresql"):
        pytest.skip("an SQLite file does not go away")
    experiment = ba.Experiment.create(store, "e", PRIOR, 5)
    engine = sqlalchemy.create_engine(sqlalchemy.make_url(store).set(drivername="postgresql+psycopg"))
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
    engine.dispose()
    assert len(experiment.ask()) == 1


def test_threads_share_an_experiment(store):
    experiment = ba.Experiment.create(store, "e", PRIOR, 40, policy="uniform")
    seen, lock = [], threading.Lock()

    def worker():
        while trials := experiment.ask(2):
            for trial in trials:
                experiment.tell(trial, 0.1)
            with lock:
                seen.extend(trial.id for trial in trials)

    threads = [threading.Thread(target=worker) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(seen) == list(range(1, 41))


def test_addresses_are_shown_without_secrets():
    assert shown_url("postgresql://a:b@h:5/d?password=x") == "postgresql://a@h:5/d"
    assert shown_url("x.db") == "sqlite:///x.db"
    assert shown_url("oracle://a:b@h/d") == "(not an address)"
