"""Where rows come from: the files of a path or of a pattern, standard input, or a table in memory."""

import glob
import io
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from typing import Any, BinaryIO, cast

from bestarm.errors import InputError
from bestarm.learning.reading.delimited import text_rows
from bestarm.learning.reading.failures import reason
from bestarm.learning.reading.frames import frame_rows
from bestarm.learning.reading.options import Options
from bestarm.learning.reading.rows import Rows
from bestarm.learning.reading.sql import duckdb_rows, parquet_rows, sqlite_rows
from bestarm.validation import shown

__all__ = ["Part", "parts"]

Part = tuple[str, Callable[[ExitStack], Rows]]


def parts(source: Any, options: Options) -> tuple[str, Iterable[Part]]:
    """What is read, for people, and its parts: what each is, and how it is opened."""
    if isinstance(source, str | os.PathLike):
        return _path_parts(os.fspath(source), options)
    display, rows = frame_rows(source)
    options.refuse_table()
    return display, [(display, lambda own: rows)]


def _path_parts(path: str, options: Options) -> tuple[str, Iterable[Part]]:
    if not isinstance(path, str) or not path or "\0" in path:
        raise InputError(f"source is {shown(path)}; expected the name of a file")
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]+)://", path)
    if scheme:
        if not re.match(r"(sqlite|duckdb):///[^?]", path):  # the rest of a URL may hold a password, and is not shown
            raise InputError(
                f"source is a URL of {shown(scheme[1])}; expected a file, or a database as sqlite:///path/of/file"
            )
        path = path.split("///", 1)[1].split("?")[0]
    if path == "-":
        return "standard input", [("standard input", partial(text_rows, _standard_input, options, None))]
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        found = sorted(glob.glob(path, recursive=True)) if glob.has_magic(path) else []
        if not found:
            kind = "no file of that pattern" if glob.has_magic(path) else reason(error)
            raise InputError(f"{' '.join(path.split())[:300]} cannot be read: {kind}") from None
        return path, [(each, partial(_file, each, options)) for each in found]
    if stat.S_ISDIR(mode):
        raise InputError(f"{path} is a folder; expected a file, or a pattern such as {os.path.join(path, '*.parquet')}")
    return path, [(path, partial(_file, path, options))]


def _standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise InputError("there is no standard input; expected the name of a file")
    own = getattr(sys.stdin, "buffer", None)
    return cast(BinaryIO, own if own is not None else io.BytesIO(sys.stdin.read().encode("utf-8", "surrogatepass")))


def _file(path: str, options: Options, stack: ExitStack) -> Rows:
    """Any file, by what it begins with."""
    if not os.path.isfile(path):  # a pipe can be read but once
        return text_rows(lambda: stack.enter_context(open(path, "rb")), options, None, stack)
    with open(path, "rb") as file:
        magic = file.read(16)
    if magic.startswith(b"SQLite format 3\0"):
        return sqlite_rows(path, options, stack)
    if magic[8:12] == b"DUCK":
        return duckdb_rows(path, options, stack)
    options.refuse_table(", but this is not a database")
    if magic.startswith(b"PAR1") or path.lower().endswith((".parquet", ".pq")):
        return parquet_rows(path, stack)
    return text_rows(lambda: stack.enter_context(open(path, "rb")), options, path, stack)
