"""Rows of CSV and other text with delimiters, whatever its encoding and decimal mark."""

import codecs
import contextlib
import csv
import glob
import gzip
import io
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from shutil import copyfileobj
from typing import BinaryIO, cast

from bestarm.errors import InputError
from bestarm.learning.reading.options import Options
from bestarm.learning.reading.rows import Cut, Query, Rows, matches
from bestarm.learning.reading.sql import connect

__all__ = ["text_rows"]

_LARGE = 64 * 2**20  # bytes of a CSV file beyond which DuckDB is asked
_SPOOL = 64 * 2**20  # bytes of a stream kept in memory; the rest goes to a temporary file
_HEAD = 65536  # characters looked at to find the delimiter
_MARKS = (  # those of UTF-32 begin as those of UTF-16 do
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def text_rows(open_it: Callable[[], BinaryIO], options: Options, path: str | None, stack: contextlib.ExitStack) -> Rows:
    """Text that is read more than once: what cannot be rewound is copied first. path: where it is a plain file."""
    file = open_it()
    if path is None:
        spool = stack.enter_context(tempfile.SpooledTemporaryFile(max_size=_SPOOL))  # noqa: SIM115
        copyfileobj(file, spool)
        file = cast(BinaryIO, spool)
        options.refuse_table()
    file.seek(0)
    if file.read(2) == b"\x1f\x8b":
        file.seek(0)
        file, path = cast(BinaryIO, stack.enter_context(gzip.GzipFile(fileobj=file, mode="rb"))), None
    encoding = _encoding(file, options.encoding)
    with _reading(file, encoding) as text:
        head = text.read(_HEAD)
    delimiter = options.delimiter or _delimiter(head, options)
    # "reward, arm": where every column but the first begins with a space, so do its cells
    first = next(_records(head, delimiter), [])
    padded = len(first) > 1 and all(name.startswith(" ") for name in first[1:])
    dialect = {"delimiter": delimiter, "strict": True, "skipinitialspace": padded}
    with _reading(file, encoding) as text:
        reader = csv.reader(text, **dialect)  # type: ignore[arg-type]
        names = next((row for row in reader if any(cell.strip() for cell in row)), None)
        header = reader.line_num
    if names is None:
        raise InputError("there is nothing in it; expected a line with the names of columns, then rows")

    def rows(positions: Sequence[int]) -> Cut:
        chosen, width, line = itemgetter(*positions), len(names), 1
        with _reading(file, encoding) as text:
            reader = csv.reader(text, **dialect)  # type: ignore[arg-type]
            try:
                for row in reader:
                    start, line = line, reader.line_num + 1
                    if reader.line_num <= header:
                        continue
                    if len(row) == width:
                        cells = chosen(row)
                        if cells[0] or any(cell.strip() for cell in row):
                            yield start, cells
                    elif any(cell.strip() for cell in row):
                        raise InputError(
                            f"line {start} has {len(row)} fields, between delimiters {delimiter!r}; "
                            f"expected {width}, as in the header"
                        )
            except csv.Error as error:
                raise InputError(f"line {line}: {error}; expected fields whose quotes are closed") from None

    mark = options.decimal or ("." if delimiter == "," else None)
    query = None
    if path is not None and os.path.getsize(path) > _LARGE and encoding.startswith("utf-8") and not padded:
        query = _text_query(path, delimiter, header, len(names), stack) if mark != "," else None
    return Rows(tuple(names), rows, "line", mark, query)


def _text_query(path: str, delimiter: str, skip: int, width: int, stack: contextlib.ExitStack) -> Query | None:
    """A plain CSV file for DuckDB, all of it as text; None where DuckDB is not there."""
    try:
        connection = connect("CSV", stack)
    except InputError:
        return None
    columns = tuple(f"c{i}" for i in range(width))
    types = ", ".join(f"'{column}': 'VARCHAR'" for column in columns)
    source = (
        f"read_csv(?, delim = ?, skip = {skip}, header = false, auto_detect = false, quote = '\"', escape = '\"', "
        f"max_line_size = {csv.field_size_limit()}, columns = {{{types}}})"
    )
    return Query(connection, source, (glob.escape(path), delimiter), columns, ("text",) * width)


@contextlib.contextmanager
def _reading(file: BinaryIO, encoding: str) -> Iterator[io.TextIOWrapper]:
    """The file as text from its beginning; it stays open."""
    file.seek(0)
    text = io.TextIOWrapper(file, encoding=encoding, newline="")
    try:
        yield text
    finally:
        text.detach()


def _encoding(file: BinaryIO, given: str | None) -> str:
    """As given, or as its first bytes say, else UTF-8, else what Windows and the web mean by Latin-1."""
    file.seek(0)
    first = file.read(4)
    marked = next((name for mark, name in _MARKS if first.startswith(mark)), None)
    if given is not None:
        given = codecs.lookup(given).name
        tried: tuple[str, ...] = ("utf-8-sig" if given == "utf-8" else given,)
    else:
        tried = (marked,) if marked else ("utf-8", "cp1252", "latin-1")
    for encoding in tried:
        if _is_text(file, encoding):
            return encoding
    raise InputError(f"it is not text in {tried[0]}; expected that, or the encoding it has: encoding= (--encoding)")


def _is_text(file: BinaryIO, encoding: str) -> bool:
    """Whether all of the file can be decoded."""
    file.seek(0)
    decoder = codecs.getincrementaldecoder(encoding)()
    while True:
        block = file.read(2**20)
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeError:
            return False
        if "\0" in text:
            raise InputError("it is not text (it has NUL bytes); expected CSV, Parquet, SQLite or DuckDB")
        if not block:
            return True


def _records(head: str, delimiter: str) -> Iterator[list[str]]:
    """The first records, without blank lines, as far as they can be read."""
    with contextlib.suppress(csv.Error):
        reader = csv.reader(io.StringIO(head, newline=""), delimiter=delimiter, strict=True)
        yield from (row for row in reader if any(cell.strip() for cell in row))


def _delimiter(head: str, options: Options) -> str:
    """The one that finds the columns asked for, else gives the first lines the same number of fields, else most."""

    def fit(delimiter: str) -> tuple[bool, bool, int]:
        rows = [row for row, _ in zip(_records(head, delimiter), range(21), strict=False)]
        if len(rows) > 1 and len(rows) < 21 and len(head) == _HEAD:
            rows.pop()  # cut short
        if not rows or len(rows[0]) == 1:
            return False, False, 0
        wanted = (options.arm, options.reward), (options.arm, "mean", "n")
        found = any(all(matches(rows[0], name) for name in names) for names in wanted)
        return found, all(len(row) == len(rows[0]) for row in rows), len(rows[0])

    return max(",;\t|", key=fit)
