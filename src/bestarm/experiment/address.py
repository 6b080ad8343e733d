"""Addresses of stores, and what databases say, as sentences: neither ever shows a password."""

import re
from pathlib import Path
from typing import Any

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from bestarm.errors import InputError
from bestarm.validation import shown

__all__ = ["parsed", "reason", "shown_url"]

# mistyped addresses, which no file is called
_NO_PATH = re.compile(r"(postgres|sqlite)\w*(:|//)|.*\b(password|dbname)\s*=", re.IGNORECASE)
# what the databases say, and what to say of it
_REASONS = (
    (r"database is locked|lock timeout|LockNotAvailable", "is locked by another process; try again"),
    (
        r"disk is full|No space left|could not extend file",
        "is on a full disk; nothing of this step is stored: make room and try again",
    ),
    (
        r"readonly database|read-only|permission denied|not permitted",
        "cannot be written; expected a place that may be written to",
    ),
    (
        r"unable to open database file",
        "cannot be opened; expected a file in a folder that exists and may be written to",
    ),
    (r"not a database|malformed|file is encrypted|disk I/O error", "is damaged, or no database that bestarm can read"),
    (r"password authentication failed|no password supplied|role .* does not exist", "refused the user or password"),
    (r"database .* does not exist", "has no database of that name"),
    (
        r"could not translate|failed to resolve|connection.*(failed|refused|timeout)|server closed|terminating|"
        r"consuming input failed|connection is lost",
        "cannot be reached; try again",
    ),
)


def shown_url(url: str | Path) -> str:
    """The address of a store without what is secret in it."""
    try:
        read = parsed(url)
    except InputError:
        return "(not an address)"
    if read.drivername == "sqlite":
        return f"sqlite:///{read.database}"
    return URL.create(
        "postgresql", host=read.host, port=read.port, database=read.database, username=read.username
    ).render_as_string()


def parsed(url: str | Path) -> URL:
    """The address as SQLAlchemy has it; a plain path is an SQLite file."""
    expected = "expected sqlite:///name.db, a path, or postgresql://user@host/name"
    if not isinstance(url, str | Path) or not str(url) or "\0" in str(url):
        raise InputError(f"store is {shown(url) if not isinstance(url, str) else 'empty or not text'}; {expected}")
    text = str(url)
    if "://" not in text:
        if text == ":memory:" or _NO_PATH.match(text):
            raise InputError(f"store is no path and no address that can be read; {expected}")
        return URL.create("sqlite", database=text)
    scheme = text.split("://", 1)[0]
    try:
        read = make_url(text)
    except (ArgumentError, ValueError):
        raise InputError(f"store begins with {shown(scheme)} and cannot be read; {expected}") from None
    if "@" in (read.host or ""):
        raise InputError("store has a user or password with an @ in it; expected %40 for it")
    if scheme == "sqlite" and not read.host and not read.query and read.database and read.database != ":memory:":
        return URL.create("sqlite", database=read.database)
    if scheme.split("+")[0] in ("postgresql", "postgres") and read.database:
        return read.set(drivername="postgresql+psycopg")
    raise InputError(f"store begins with {shown(scheme)} or names no database; {expected}")


def reason(error: SQLAlchemyError, secret: Any) -> str:
    """What went wrong, after the words "store <address>"."""
    said = str(error.orig) if isinstance(error, DBAPIError) else type(error).__name__
    for pattern, sentence in _REASONS:
        if re.search(pattern, said, re.IGNORECASE | re.DOTALL):
            return sentence
    line = " ".join(said.split())
    if secret:
        line = line.replace(str(secret), "***")
    return f"failed: {line[:200]}"
