"""Stores of both kinds, empty for each test."""

import pytest
import sqlalchemy

from servers import postgres


@pytest.fixture(scope="session")
def server():
    """The address of a PostgreSQL database, or None; an engine that can empty it."""
    with postgres() as address:
        if address is None:
            yield None, None
            return
        engine = sqlalchemy.create_engine(
            sqlalchemy.make_url(address).set(drivername="postgresql+psycopg"), pool_pre_ping=True
        )
        yield address, engine
        engine.dispose()


@pytest.fixture
def sqlite(tmp_path):
    return f"sqlite:///{tmp_path / 'experiments.db'}"


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request, tmp_path):
    """The address of an empty store."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'experiments.db'}"
    address, engine = request.getfixturevalue("server")
    if address is None:
        pytest.skip("no PostgreSQL server can be started here: initdb and pg_ctl are not installed")
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE IF EXISTS trials, arms, events, experiments, bestarm")
    return address
