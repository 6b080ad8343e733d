"""What may go wrong in reading, told in one sentence that begins with what was read."""

import contextlib
import csv
import sqlite3
import sys
import zlib
from collections.abc import Iterator

from bestarm.errors import InputError

__all__ = ["failures", "reason", "told"]


def failures() -> tuple[type[Exception], ...]:
    """What reading a file may raise."""
    own = (OSError, ValueError, EOFError, zlib.error, csv.Error, sqlite3.Error)
    return (*own, sys.modules["duckdb"].Error) if "duckdb" in sys.modules else own


def reason(error: Exception) -> str:
    """What an error says, on one line."""
    text = " ".join(str(error.strerror if isinstance(error, OSError) and error.strerror else error).split())
    return text if len(text) <= 200 else text[:197] + "..."


@contextlib.contextmanager
def told(what: str) -> Iterator[None]:
    """Whatever goes wrong in reading, as an error that begins with what was read."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{what}: {error}") from None
    except failures() as error:
        raise InputError(f"{what} cannot be read: {reason(error)}") from None
