"""Past results: a table of rewards, whatever holds it, reduced arm by arm to what priors are learned from.

Rows are read one by one and none is kept. DuckDB, where it is there, does the same for Parquet, DuckDB databases and
large CSV files, many times faster; what it does not take as it stands (a decimal comma, a bad reward) is then read
row by row, so that what is accepted, and the message where it is not, do not depend on it.
"""

import codecs
import contextlib
import csv
import glob
import gzip
import hashlib
import io
import json
import math
import numbers
import os
import re
import sqlite3
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import date, time, timedelta
from decimal import Decimal
from functools import partial
from operator import itemgetter
from pathlib import Path
from shutil import copyfileobj
from typing import Any, BinaryIO, cast
from uuid import UUID

import numpy as np

from bestarm.errors import InputError
from bestarm.validation import LARGEST, Array, choice, read_only, shown

__all__ = ["Table", "read_table"]

_LARGE = 64 * 2**20  # bytes of a CSV file beyond which DuckDB is asked
_SPOOL = 64 * 2**20  # bytes of a stream kept in memory; the rest goes to a temporary file
_HEAD = 65536  # characters looked at to find the delimiter
_MISSING = ("", "na", "n/a", "nan", "null", "none", "-")
_YES, _NO = ("yes", "true", "pass", "success", "t", "y"), ("no", "false", "fail", "failure", "f", "n")
_WORDS = dict.fromkeys(_YES, 1.0) | dict.fromkeys(_NO, 0.0)
_NOTHING = {"NoneType", "NAType", "NaTType", "MaskedConstant"}  # of pandas and NumPy, without importing them
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:([.,])[0-9]*)?|([.,])[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SQL_NUMBER = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?"
_MARKS = (  # those of UTF-32 begin as those of UTF-16 do
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_INFINITE = re.compile(r"[+-]?inf(inity)?")


@dataclass(frozen=True, eq=False)
class Table:
    """Past results, arm by arm.

    names: arms in order of first appearance. counts, sums, squares: evaluations of each arm, their sum and the sum of
    their squares, (K,). groups: the group of each arm, or None. features: (K, d), or None; feature_names. binary: every
    reward is 0 or 1 (given raw). rows: rows used; skipped: rows left out because the reward was empty. digest: SHA-256
    over the evidence, equal for the same rows in any order and format, so that they are recognised when they come
    again. source: what was read, for people.
    """

    names: tuple[str, ...]
    counts: Array
    sums: Array
    squares: Array
    groups: tuple[str, ...] | None = None
    features: Array | None = None
    feature_names: tuple[str, ...] = ()
    binary: bool = False
    rows: int = 0
    skipped: int = 0
    digest: str = ""
    source: str = ""

    @property
    def num_arms(self) -> int:
        return len(self.names)

    @property
    def means(self) -> Array:
        """Averages, NaN where there is no data."""
        means: Array = np.full(self.num_arms, np.nan)
        np.divide(self.sums, self.counts, out=means, where=self.counts > 0)
        return means

    def __repr__(self) -> str:
        return f"Table({self.num_arms} arms, {self.rows} rows, from {self.source})"


def read_table(
    source: Any,
    *,
    arm: str = "arm",
    reward: str = "reward",
    group: str | None = None,
    features: Sequence[str] | str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    table: str | None = None,
) -> Table:
    """Past results from a file, a database or a data frame.

    source: the path of a CSV file (or .gz of it; "-" for standard input), a Parquet file, a pattern such as
    data/*.parquet, an SQLite or DuckDB database (or sqlite:///path) with its `table`; or a data frame of pandas, Polars
    or Arrow, a NumPy structured array, a mapping of columns, or a list of rows that are mappings.

    One row is one evaluation: `arm` and `reward` are the names of columns. Without a column of rewards, columns mean, n
    and sd (or sem) say what n evaluations gave. features: columns of numbers that describe arms, or "auto" for every
    other column of numbers that is the same in all rows of an arm. delimiter, decimal, encoding: how a text file is
    written, where it cannot be told from the file. Messages count lines of a text file from 1, other rows from 0.
    """
    options = _Options.checked(arm, reward, group, features, delimiter, decimal, encoding, table)
    evidence = _Evidence(options)
    display, parts = _parts(source, options)
    for what, opened in parts:
        with _told(what), contextlib.ExitStack() as stack:
            evidence.add(opened(stack))
    with _told(display):
        return evidence.table(display)


@contextlib.contextmanager
def _told(what: str) -> Iterator[None]:
    """Whatever goes wrong in reading, as an error that begins with what was read."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{what}: {error}") from None
    except _failures() as error:
        raise InputError(f"{what} cannot be read: {_reason(error)}") from None


@dataclass(frozen=True)
class _Options:
    arm: str
    reward: str
    group: str | None
    features: tuple[str, ...]
    auto: bool
    delimiter: str | None
    decimal: str | None
    encoding: str | None
    table: str | None

    @classmethod
    def checked(
        cls,
        arm: Any,
        reward: Any,
        group: Any,
        features: Any,
        delimiter: Any,
        decimal: Any,
        encoding: Any,
        table: Any,
    ) -> "_Options":
        for value, name in ((arm, "arm"), (reward, "reward"), (group, "group"), (table, "table")):
            if not isinstance(value, str) and (value is not None or name in ("arm", "reward")):
                expected = "a table" if name == "table" else "a column"
                raise InputError(f"{name} is {shown(value)}; expected the name of {expected}")
        auto = isinstance(features, str) and features == "auto"
        own = () if features is None or auto else features
        if isinstance(own, str | bytes | Mapping) or not isinstance(own, Iterable):
            raise InputError(f"features is {shown(features)}; expected a list of names of columns, or 'auto'")
        listed = tuple(own)
        if not all(isinstance(name, str) for name in listed) or len(set(listed)) < len(listed):
            raise InputError(f"features is {shown(features)}; expected names of columns, each once, or 'auto'")
        if decimal is not None:
            choice(decimal, "decimal", (".", ","))
        separator = "\t" if isinstance(delimiter, str) and delimiter in ("tab", "\\t") else delimiter
        bad = not isinstance(separator, str) or len(separator) != 1 or separator in '"\r\n\0'
        if separator is not None and bad:
            raise InputError(f"delimiter is {shown(delimiter)}; expected one character, or 'tab'")
        if encoding is not None and not (isinstance(encoding, str) and _is_encoding(encoding)):
            raise InputError(f"encoding is {shown(encoding)}; expected the name of one, such as 'utf-8' or 'cp1252'")
        return cls(arm, reward, group, listed, auto, separator, decimal, encoding, table)


def _is_encoding(name: str) -> bool:
    try:
        "".encode(name)  # refuses those, such as hex, that do not turn text into bytes
        codecs.getincrementaldecoder(name)
    except (LookupError, ValueError):
        return False
    return True


# ---------------------------------------------------------------------- what has been seen


class _Arm:
    """Evaluations of one arm, summed around the first of them.

    Later, noise is learned from squares - sums²/counts, where most digits cancel if rewards are far from 0. Sums around
    a value of the arm's own keep them; they are brought back to 0 once, at the end, in such a way that the difference
    is never negative, and exactly 0 where all rewards are the same.
    """

    __slots__ = ("count", "exact", "exact_squares", "first", "high", "low", "second", "shift")

    def __init__(self) -> None:
        self.count = self.exact = self.exact_squares = 0
        self.shift = self.first = self.second = 0.0
        self.low, self.high = math.inf, -math.inf

    def add(self, x: float) -> None:
        """One evaluation."""
        if not self.count:
            self.shift = x
        self.count += 1
        away = x - self.shift
        self.first += away
        self.second += away * away
        self.exact += _exact(x)
        self.exact_squares += _exact(x * x)
        if x < self.low:
            self.low = x
        if x > self.high:
            self.high = x

    def add_many(
        self, count: int, total: float, scatter: float, low: float, high: float, exact: int, exact_squares: int
    ) -> None:
        """Several evaluations: their sum, and the squares of their distances from their mean, summed."""
        if not self.count:
            self.shift = low
        self.count += count
        away = total - count * self.shift
        self.first += away
        self.second += scatter + away * away / count
        self.exact += exact
        self.exact_squares += exact_squares
        self.low, self.high = min(self.low, low), max(self.high, high)

    def sums(self) -> tuple[float, float]:
        """The sum and the sum of squares."""
        if not self.count:
            return 0.0, 0.0
        total = self.count * self.shift + self.first
        within = max(self.second - self.first * self.first / self.count, 0.0)
        return total, within + total * total / self.count


def _exact(x: float) -> int:
    """A number in units of 2**-52: whole numbers have the same sum in any order, which digests need.

    Numbers of size 2**40 and more count as 0, so that sums fit DuckDB's integers; their extremes are in the digest.
    """
    return int(x * 4503599627370496.0) if -1099511627776.0 < x < 1099511627776.0 else 0


class _Cells:
    """The numbers in one column: knows which decimal mark it has, as given or as first met."""

    def __init__(self, mark: str | None) -> None:
        self.mark = mark

    def number(self, cell: object) -> float | None:
        """The number in a cell, NaN where it is empty, None where it is no number."""
        if isinstance(cell, str):
            text = cell.strip()
            found = _NUMBER.fullmatch(text)
            if found is None:
                return math.nan if text.lower() in _MISSING else None
            mark = found[1] or found[2]
            if mark is None:
                return float(text)
            if mark != self.mark:
                if self.mark is not None:
                    return None
                self.mark = mark
            return float(text.replace(",", "."))
        if isinstance(cell, np.generic):
            cell = cell.item()
        if type(cell).__name__ in _NOTHING:
            return math.nan
        if isinstance(cell, bytes):
            try:
                return self.number(cell.decode())
            except UnicodeDecodeError:
                return None
        if isinstance(cell, numbers.Real | Decimal):
            try:
                return float(cell)
            except OverflowError:
                return math.inf
            except ValueError:
                return None
        return None

    def expected(self) -> str:
        mark = {".": "point", ",": "comma", None: "point or comma"}[self.mark]
        return f"a number, with decimal {mark} (decimal=, --decimal)"


_Cut = Generator[tuple[int, Sequence[object]], None, None]


@dataclass(frozen=True)
class _Columns:
    """Which columns are used, as positions: arm, reward (or mean, n, spread), group if any, features."""

    positions: tuple[int, ...]
    spread: str | None  # what stands beside mean and n: sd or sem; None where there are rewards
    features: tuple[str, ...]


@dataclass(frozen=True)
class _Query:
    """The same rows for DuckDB: `source` stands after FROM."""

    connection: Any
    source: str
    parameters: tuple[str, ...]
    columns: tuple[str, ...]  # as SQL names them
    types: tuple[str, ...]


@dataclass(frozen=True)
class _Rows:
    """Rows that can be read one by one: rows(positions) gives where each stands, and its cells there."""

    names: tuple[str, ...]
    rows: Callable[[Sequence[int]], _Cut]
    unit: str = "row"
    mark: str | None = "."
    query: _Query | None = None


@dataclass
class _Evidence:
    """What has been seen so far, of one file or several."""

    options: _Options
    arms: dict[str, _Arm] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)
    features: dict[str, dict[str, float]] = field(default_factory=dict)  # of each feature: value of each arm
    cells: dict[str, _Cells] = field(default_factory=dict)
    rows: int = 0
    skipped: int = 0
    raw: bool = True
    word: tuple[str, object] | None = None  # where the first of yes and no stands, and the first other number
    other: tuple[str, object] | None = None

    def add(self, part: _Rows) -> None:
        """Read all rows of a file."""
        columns = self._columns(part)
        for name in ("reward", "mean", "n", "sd", "sem", *columns.features):
            self.cells.setdefault(name, _Cells(self.options.decimal or part.mark))
        if columns.spread is None and part.query is not None and self._aggregate(part.query, columns):
            return
        read = self._rewards if columns.spread is None else self._summaries
        with contextlib.closing(part.rows(columns.positions)) as rows:
            read(rows, part.unit, columns)

    def _columns(self, part: _Rows) -> _Columns:
        names, options = part.names, self.options
        positions = [_found(names, options.arm, "arm", "--arm-column")]
        spread = None
        if options.reward == "reward" and not _matches(names, "reward"):
            spread = next((each for each in ("sd", "sem") if _matches(names, each)), None)
            if not (spread and _matches(names, "mean") and _matches(names, "n")):
                spread = None
        if spread is None:
            positions.append(_found(names, options.reward, "reward", "--reward-column"))
        else:
            positions += [_found(names, each, each, "") for each in ("mean", "n", spread)]
        if options.group is not None:
            positions.append(_found(names, options.group, "group", "--group"))
        features = options.features
        if options.auto:
            taken = {*positions, *(i for each in ("sd", "sem") if spread for i in _matches(names, each))}
            free = [name for i, name in enumerate(names) if i not in taken and name.strip() and names.count(name) == 1]
            if self.rows or self.skipped:
                free = [name for name in free if name in self.features]
            self.features = {name: self.features.get(name, {}) for name in free}
            features = tuple(free)
        elif features:
            self.features = {name: self.features.get(name, {}) for name in features}
        positions += [_found(names, name, "features", "--features") for name in features]
        return _Columns(tuple(positions), spread, features)

    # -------------------------------------------------- row by row

    def _rewards(self, rows: Iterable[tuple[int, Sequence[object]]], unit: str, columns: _Columns) -> None:
        cells, more = self.cells["reward"], len(columns.positions) > 2
        for where, row in rows:
            name = self._name(row[0], unit, where)
            if more:
                self._describe(name, row[2:], f"{unit} {where}: ", columns.features)
            x = cells.number(row[1])
            if x is None or x not in (0.0, 1.0):
                x = self._unusual(x, row[1], f"{unit} {where}", cells)
            if x != x:
                self.skipped += 1
                continue
            self.rows += 1
            self.arms[name].add(x)

    def _unusual(self, x: float | None, cell: object, where: str, cells: _Cells) -> float:
        """A reward that is not plainly 0 or 1."""
        if x is None:
            word = _WORDS.get(cell.strip().lower()) if isinstance(cell, str) else None
            if word is None:
                expected = "a finite number" if _is_infinite(cell) else "a number, or yes/no"
                if isinstance(cell, str) and _NUMBER.fullmatch(cell.strip()):
                    expected = cells.expected()
                raise InputError(f"{where}: reward is {shown(cell)}; expected {expected}")
            self.word = self.word or (where, cell)
            x = word
        elif x == x:
            _refuse_size(x, cell, where, "reward")
            self.other = self.other or (where, cell)
        if self.word and self.other:
            raise InputError(
                f"{self.word[0]}: reward is {shown(self.word[1])}, where {self.other[0]} has {shown(self.other[1])}; "
                "expected numbers throughout, or yes/no throughout"
            )
        return x

    def _summaries(self, rows: Iterable[tuple[int, Sequence[object]]], unit: str, columns: _Columns) -> None:
        spread = str(columns.spread)
        self.raw = False
        for at, row in rows:
            where = f"{unit} {at}"
            name = self._name(row[0], unit, at)
            self._describe(name, row[4:], f"{where}: ", columns.features)
            mean = self._finite("mean", row[1], where)
            if mean != mean:
                self.skipped += 1
                continue
            n = self._finite("n", row[2], where)
            if not n >= 1 or n != math.floor(n):
                raise InputError(f"{where}: n is {shown(row[2])}; expected a whole number of at least 1")
            sd = self._finite(spread, row[3], where) if n > 1 else 0.0  # one evaluation has none, whatever is written
            if not sd >= 0:
                raise InputError(f"{where}: {spread} is {shown(row[3])}; expected a number of at least 0")
            count = int(n)
            scatter = (n - 1) * sd * sd * (n if spread == "sem" else 1)
            self.rows += 1
            self.arms[name].add_many(count, n * mean, scatter, mean, mean, _exact(n * mean), _exact(scatter))

    def _finite(self, column: str, cell: object, where: str) -> float:
        """A number, or NaN where it is empty."""
        x = self.cells[column].number(cell)
        if x is None:
            raise InputError(f"{where}: {column} is {shown(cell)}; expected {self.cells[column].expected()}")
        if x == x:
            _refuse_size(x, cell, where, column)
        return x

    def _name(self, cell: object, unit: str, where: int) -> str:
        """The name of an arm, which is then among the arms."""
        if type(cell) is str and cell in self.arms:
            return cell
        try:
            name = _label(cell)
        except ValueError as error:
            raise InputError(f"{unit} {where}: arm is {shown(cell)}; expected {error}") from None
        if name is None:
            raise InputError(f"{unit} {where}: arm is empty; expected the name of an arm")
        self.arms.setdefault(name, _Arm())
        return name

    def _describe(self, name: str, cells: Sequence[object], where: str, features: tuple[str, ...]) -> None:
        """The group and the features of an arm, as one row has them."""
        if self.options.group is not None:
            try:
                group = _label(cells[0])
            except ValueError as error:
                raise InputError(f"{where}group is {shown(cells[0])}; expected {error}") from None
            self._grouped(name, group, where)
            cells = cells[1:]
        for feature, cell in zip(features, cells, strict=True):
            if feature not in self.features:
                continue  # found not to be one
            x = self.cells[feature].number(cell)
            if x is None or (x == x and not abs(x) <= LARGEST):
                if not self.options.auto:
                    expected = "a number" if x is None else f"a number of size at most {LARGEST:g}"
                    raise InputError(f"{where}{feature} is {shown(cell)}; expected {expected}, as for every feature")
                del self.features[feature]
            elif x == x:
                self._featured(name, feature, x, where)

    def _grouped(self, name: str, group: str | None, where: str) -> None:
        if group is not None and self.groups.setdefault(name, group) != group:
            raise InputError(
                f"{where}group of arm {shown(name)} is {shown(group)}, where it was {shown(self.groups[name])}; "
                "expected one group for each arm"
            )

    def _featured(self, name: str, feature: str, x: float, where: str) -> None:
        if feature in self.features and (before := self.features[feature].setdefault(name, x)) != x:
            if not self.options.auto:
                raise InputError(
                    f"{where}{feature} of arm {shown(name)} is {x:g}, where it was {before:g}; "
                    "expected features that are the same in all rows of an arm"
                )
            del self.features[feature]

    # -------------------------------------------------- all at once, by DuckDB

    def _aggregate(self, query: _Query, columns: _Columns) -> bool:
        """Take in all rows at once; False, and nothing is taken in, where only reading row by row can tell."""
        grouped = self.options.group is not None
        kinds = [_kind(query.types[position]) for position in columns.positions]
        numbers_at = [(i, name) for i, name in enumerate(columns.features, 2 + grouped) if kinds[i]]
        if self.cells["reward"].mark == "," or not kinds[1]:
            return False
        if len(numbers_at) < len(columns.features) and not self.options.auto:
            return False
        plain = {0, *((2,) if grouped else ())}  # arm and group, taken as they are; the others are numbers
        used = [1, *(i for i, _ in numbers_at)]
        cells = [f"{query.columns[at]} AS c{i}" for i, at in enumerate(columns.positions) if i in plain]
        cells += [f"{_sql_cell(query.columns[columns.positions[i]], kinds[i])} AS c{i}" for i in used]
        values = [f"{_sql_value(f'c{i}', kinds[i], i == 1)} AS v{i}" for i in used]
        values += [f"{_sql_there(f'c{i}', kinds[i])} AS there{i}" for i in used]
        usable = [f"CASE WHEN abs(v{i}) <= {LARGEST!r} THEN v{i} END AS x{i}" for i in used]
        totals = ["count(*)", "count(x1)", "coalesce(fsum(x1), 0)", "coalesce(var_pop(x1), 0)", "min(x1)", "max(x1)"]
        totals += [_sql_exact("x1"), _sql_exact("(x1 * x1)"), "count(*) FILTER (WHERE x1 NOT IN (0, 1))"]
        totals += ["count(*) FILTER (WHERE there1 AND x1 IS NULL)", f"count(*) FILTER (WHERE {_sql_word(kinds[1])})"]
        totals += ["min(c2)", "max(c2)"] if grouped else ["NULL", "NULL"]
        for i, _ in numbers_at:
            totals += [f"min(x{i})", f"max(x{i})", f"count(*) FILTER (WHERE there{i} AND x{i} IS NULL)"]
        sql = (
            f"WITH cells AS (SELECT {', '.join(cells)}, row_number() OVER () AS seen FROM {query.source}), "
            f"found AS (SELECT *, {', '.join(values)} FROM cells), "
            f"usable AS (SELECT *, {', '.join(usable)} FROM found) "
            f"SELECT c0, {', '.join(totals)} FROM usable GROUP BY c0 ORDER BY min(seen)"
        )
        try:
            found = query.connection.execute(sql, list(query.parameters)).fetchall()
            names = [_label(row[0]) for row in found]
            groups = [(_label(row[12]), _label(row[13])) for row in found]
        except _failures():
            return False
        words, others = any(row[11] for row in found), any(row[9] for row in found)
        if None in names or any(row[10] for row in found) or any(low != high for low, high in groups):
            return False
        if (words or self.word) and (others or self.other):
            return False
        if not self.options.auto and any(
            row[14 + 3 * j] != row[15 + 3 * j] or row[16 + 3 * j] for row in found for j in range(len(numbers_at))
        ):
            return False
        for name, (group, _), row in zip(cast(list[str], names), groups, found, strict=True):
            _, rows, count, total, variance, low, high, exact, exact_squares = row[:9]
            own = self.arms.setdefault(name, _Arm())
            if count:
                own.add_many(count, total, variance * count, low + 0.0, high + 0.0, int(exact), int(exact_squares))
            self.rows += count
            self.skipped += rows - count
            self._grouped(name, group, "")
            for j, (_, feature) in enumerate(numbers_at):
                least, most, bad = row[14 + 3 * j : 17 + 3 * j]
                if bad:
                    self.features.pop(feature, None)
                for value in (least, most):
                    if value is not None:
                        self._featured(name, feature, value, "")
        self.word = self.word or (("a row", "yes/no") if words else None)
        self.other = self.other or (("a row", "another number") if others else None)
        for feature in set(columns.features) - {name for _, name in numbers_at}:
            self.features.pop(feature, None)
        return True

    # -------------------------------------------------- the table

    def table(self, source: str) -> Table:
        if not self.rows:
            empty = f"; the rewards of all {self.skipped} rows are empty" if self.skipped else ""
            raise InputError(f"there are no rows{empty}; expected past results, one row for each evaluation")
        spelled: dict[str, str] = {}
        for name in self.arms:
            if (other := spelled.setdefault(name.strip(), name)) != name:
                raise InputError(
                    f"arm is {shown(name)} in some rows and {shown(other)} in others; expected one spelling"
                )
        names, arms = tuple(self.arms), list(self.arms.values())
        binary = self.raw and not self.other
        counts = np.array([arm.count for arm in arms], dtype=np.float64)
        sums, squares = np.array([arm.sums() for arm in arms], dtype=np.float64).T.copy()
        features = None
        for feature, values in list(self.features.items()):
            without = next((name for name in names if name not in values), None)
            if without is not None and not self.options.auto:
                raise InputError(f"{feature} of arm {shown(without)} is empty; expected a number, as for every feature")
            if without is not None:
                del self.features[feature]
        if self.features:
            rows = [[values[name] for values in self.features.values()] for name in names]
            features = read_only(np.array(rows, dtype=np.float64))
        groups = None
        if self.options.group is not None:
            if without := next((name for name in names if name not in self.groups), None):
                raise InputError(f"group of arm {shown(without)} is empty; expected the name of a group")
            groups = tuple(self.groups[name] for name in names)
        return Table(
            names,
            counts=read_only(counts),
            sums=read_only(sums),
            squares=read_only(sums if binary else squares),
            groups=groups,
            features=features,
            feature_names=tuple(self.features),
            binary=binary,
            rows=self.rows,
            skipped=self.skipped,
            digest=self._digest(),
            source=source,
        )

    def _digest(self) -> str:
        """Of numbers that are the same to the last bit in any order: counts, sums of whole numbers, extremes."""
        lines = sorted(
            json.dumps([name, arm.count, arm.exact, arm.exact_squares, (arm.low + 0.0).hex(), (arm.high + 0.0).hex()])
            for name, arm in self.arms.items()
            if arm.count
        )
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _matches(names: Sequence[str], wanted: str) -> list[int]:
    """Where the columns of a name stand: exactly as given, else in any case and with spaces around."""
    exact = [i for i, name in enumerate(names) if name == wanted]
    return exact or [i for i, name in enumerate(names) if name.strip().lower() == wanted.strip().lower()]


def _found(names: Sequence[str], wanted: str, option: str, flag: str) -> int:
    positions = _matches(names, wanted)
    if len(positions) == 1:
        return positions[0]
    if positions:
        several = ", ".join(shown(names[i]) for i in positions)
        raise InputError(f"there are several columns {several}; expected one column {shown(wanted)}")
    if not names:
        raise InputError("there are no columns; expected past results, one row for each evaluation")
    there = ", ".join(shown(name) for name in names[:12]) + (", ..." if len(names) > 12 else "")
    data = any(_NUMBER.fullmatch(name.strip()) for name in names)
    header = "; the first line seems to hold data, and should name the columns" if data else ""
    there_are = f"there are {there}" if len(names) > 1 else f"there is only {there}"
    raise InputError(f"expected a column {shown(wanted)}; {there_are}; name yours with {option}= ({flag}){header}")


def _label(cell: object) -> str | None:
    """The name in a cell, None where it is empty; ValueError says what was expected."""
    if isinstance(cell, np.generic):
        cell = cell.item()
    if isinstance(cell, bytes):
        try:
            cell = cell.decode()
        except UnicodeDecodeError:
            raise ValueError("text") from None
    if type(cell).__name__ in _NOTHING or (isinstance(cell, float | Decimal) and cell != cell):
        return None
    if not isinstance(cell, str | numbers.Number | date | time | timedelta | UUID):
        raise ValueError("text or a number")
    try:
        name = str(cell)
        name.encode()
    except ValueError:  # half a surrogate pair, or more digits than Python writes
        raise ValueError("valid Unicode text") from None
    return name if name.strip() else None


def _is_infinite(cell: object) -> bool:
    return isinstance(cell, str) and _INFINITE.fullmatch(cell.strip().lower()) is not None


def _refuse_size(x: float, cell: object, where: str, what: str) -> None:
    if not abs(x) <= LARGEST:
        expected = f"a number of size at most {LARGEST:g}" if math.isfinite(x) else "a finite number"
        raise InputError(f"{where}: {what} is {shown(cell)}; expected {expected}")


# ---------------------------------------------------------------------- SQL


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literals(words: Sequence[str]) -> str:
    return ", ".join("'" + word.replace("'", "''") + "'" for word in words)


def _kind(sql_type: str) -> str:
    """What a column of DuckDB holds: number, text, or nothing of use."""
    if re.fullmatch(r"FLOAT|DOUBLE|U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|DECIMAL\(.*\)|BOOLEAN", sql_type):
        return "number"
    return "text" if sql_type == "VARCHAR" or sql_type.startswith("ENUM(") else ""


def _sql_cell(column: str, kind: str) -> str:
    return f"lower(trim(CAST({column} AS VARCHAR)))" if kind == "text" else f"CAST({column} AS DOUBLE)"


def _sql_value(cell: str, kind: str, words: bool) -> str:
    """The number in a cell, NULL where there is none."""
    if kind != "text":
        return f"CASE WHEN NOT isnan({cell}) THEN {cell} END"
    cases = f"WHEN regexp_full_match({cell}, '{_SQL_NUMBER}') THEN TRY_CAST({cell} AS DOUBLE)"
    if words:
        cases += f" WHEN {cell} IN ({_literals(_YES)}) THEN 1 WHEN {cell} IN ({_literals(_NO)}) THEN 0"
    return f"CASE {cases} END"


def _sql_there(cell: str, kind: str) -> str:
    """Whether there is anything in a cell."""
    return f"{cell} NOT IN ({_literals(_MISSING)})" if kind == "text" else f"NOT isnan({cell})"


def _sql_word(kind: str) -> str:
    return f"c1 IN ({_literals(tuple(_WORDS))})" if kind == "text" else "false"


def _sql_exact(value: str) -> str:
    """As `_exact`, summed."""
    units = f"CAST(trunc({value} * CAST(4503599627370496 AS DOUBLE)) AS HUGEINT)"
    return f"coalesce(sum(CASE WHEN abs({value}) < CAST(1099511627776 AS DOUBLE) THEN {units} ELSE 0 END), 0)"


def _duckdb(what: str, stack: contextlib.ExitStack) -> Any:
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


def _failures() -> tuple[type[Exception], ...]:
    """What reading a file may raise."""
    own = (OSError, ValueError, EOFError, zlib.error, csv.Error, sqlite3.Error)
    return (*own, sys.modules["duckdb"].Error) if "duckdb" in sys.modules else own


def _reason(error: Exception) -> str:
    text = " ".join(str(error.strerror if isinstance(error, OSError) and error.strerror else error).split())
    return text if len(text) <= 200 else text[:197] + "..."


def _queried(
    connection: Any, source: str, parameters: tuple[str, ...], own_names: Sequence[str] | None = None
) -> _Rows:
    """Rows of a relation of DuckDB."""
    about = connection.execute(f"DESCRIBE SELECT * FROM {source}", list(parameters)).fetchall()
    columns = tuple(_identifier(row[0]) for row in about)
    types = tuple(str(row[1]) for row in about)

    def rows(positions: Sequence[int]) -> _Cut:
        chosen = ", ".join(columns[i] for i in positions)
        cursor = connection.execute(f"SELECT {chosen} FROM {source}", list(parameters))
        at = 0
        while block := cursor.fetchmany(10_000):
            yield from enumerate(block, at)
            at += len(block)

    names = tuple(row[0] for row in about) if own_names is None else tuple(own_names)
    return _Rows(names, rows, query=_Query(connection, source, parameters, columns, types))


# ---------------------------------------------------------------------- where rows come from

_Part = tuple[str, Callable[[contextlib.ExitStack], _Rows]]


def _parts(source: Any, options: _Options) -> tuple[str, Iterable[_Part]]:
    """What is read, for people, and its parts: what each is, and how it is opened."""
    if isinstance(source, str | os.PathLike):
        return _path_parts(os.fspath(source), options)
    display, rows = _frame(source)
    if options.table is not None:
        raise InputError(f"table is {shown(options.table)}; expected it only with a database")
    return display, [(display, lambda own: rows)]


def _path_parts(path: str, options: _Options) -> tuple[str, Iterable[_Part]]:
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
        return "standard input", [("standard input", partial(_stream, _standard_input, options, None))]
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        found = sorted(glob.glob(path, recursive=True)) if glob.has_magic(path) else []
        if not found:
            kind = "no file of that pattern" if glob.has_magic(path) else _reason(error)
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


def _file(path: str, options: _Options, stack: contextlib.ExitStack) -> _Rows:
    """Any file, by what it begins with."""
    if not os.path.isfile(path):  # a pipe can be read but once
        return _stream(lambda: stack.enter_context(open(path, "rb")), options, None, stack)
    with open(path, "rb") as file:
        magic = file.read(16)
    if magic.startswith(b"SQLite format 3\0"):
        return _sqlite(path, options, stack)
    if magic[8:12] == b"DUCK":
        return _duckdb_database(path, options, stack)
    if options.table is not None:
        raise InputError(
            f"table is {shown(options.table)}, but this is not a database; expected it only with a database"
        )
    if magic.startswith(b"PAR1") or path.lower().endswith((".parquet", ".pq")):
        return _parquet(path, stack)
    return _stream(lambda: stack.enter_context(open(path, "rb")), options, path, stack)


def _parquet(path: str, stack: contextlib.ExitStack) -> _Rows:
    connection = _duckdb("Parquet", stack)
    parameters = (glob.escape(path),)
    # DuckDB takes names in any case as the same, and renames the second: the file's own names are these
    schema = connection.execute("SELECT name, num_children FROM parquet_schema(?)", list(parameters)).fetchall()
    names, inside = [], 0
    for name, children in schema[1:]:
        if not inside:
            names.append(name)
        inside += (children or 0) - (inside > 0)
    return _queried(connection, "read_parquet(?, hive_partitioning = false)", parameters, names)


def _chosen_table(tables: Sequence[str], options: _Options) -> int:
    wanted = options.table
    if wanted is None and len(tables) == 1:
        return 0
    if wanted is None or wanted not in tables:
        there = ", ".join(shown(name) for name in tables[:12]) + (", ..." if len(tables) > 12 else "")
        raise InputError(f"table is {shown(wanted)}; expected one of {there or 'its tables, but there are none'}")
    return tables.index(wanted)


def _duckdb_database(path: str, options: _Options, stack: contextlib.ExitStack) -> _Rows:
    connection = _duckdb("a DuckDB database", stack)
    connection.execute(f"ATTACH {_literals([os.path.abspath(path)])} AS past (READ_ONLY)")
    tables = connection.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'past' UNION ALL "
        "SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = 'past' AND NOT internal"
    ).fetchall()
    schema, name = tables[_chosen_table([row[1] for row in tables], options)]
    return _queried(connection, f"past.{_identifier(schema)}.{_identifier(name)}", ())


def _sqlite(path: str, options: _Options, stack: contextlib.ExitStack) -> _Rows:
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

    def rows(positions: Sequence[int]) -> _Cut:
        chosen = ", ".join(_identifier(names[i]) for i in positions)
        yield from enumerate(connection.execute(f"SELECT {chosen} FROM {table}{order}"))

    return _Rows(names, rows)


# ---------------------------------------------------------------------- text


def _stream(open_it: Callable[[], BinaryIO], options: _Options, path: str | None, stack: contextlib.ExitStack) -> _Rows:
    """Text that is read more than once: what cannot be rewound is copied first. path: where it is a plain file."""
    file = open_it()
    if path is None:
        spool = stack.enter_context(tempfile.SpooledTemporaryFile(max_size=_SPOOL))  # noqa: SIM115
        copyfileobj(file, spool)
        file = cast(BinaryIO, spool)
        if options.table is not None:
            raise InputError(f"table is {shown(options.table)}; expected it only with a database")
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

    def rows(positions: Sequence[int]) -> _Cut:
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
    return _Rows(tuple(names), rows, "line", mark, query)


def _text_query(path: str, delimiter: str, skip: int, width: int, stack: contextlib.ExitStack) -> _Query | None:
    """A plain CSV file for DuckDB, all of it as text; None where DuckDB is not there."""
    try:
        connection = _duckdb("CSV", stack)
    except InputError:
        return None
    columns = tuple(f"c{i}" for i in range(width))
    types = ", ".join(f"'{column}': 'VARCHAR'" for column in columns)
    source = (
        f"read_csv(?, delim = ?, skip = {skip}, header = false, auto_detect = false, quote = '\"', escape = '\"', "
        f"max_line_size = {csv.field_size_limit()}, columns = {{{types}}})"
    )
    return _Query(connection, source, (glob.escape(path), delimiter), columns, ("VARCHAR",) * width)


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


def _delimiter(head: str, options: _Options) -> str:
    """The one that finds the columns asked for, else gives the first lines the same number of fields, else most."""

    def fit(delimiter: str) -> tuple[bool, bool, int]:
        rows = [row for row, _ in zip(_records(head, delimiter), range(21), strict=False)]
        if len(rows) > 1 and len(rows) < 21 and len(head) == _HEAD:
            rows.pop()  # cut short
        if not rows or len(rows[0]) == 1:
            return False, False, 0
        wanted = (options.arm, options.reward), (options.arm, "mean", "n")
        found = any(all(_matches(rows[0], name) for name in names) for names in wanted)
        return found, all(len(row) == len(rows[0]) for row in rows), len(rows[0])

    return max(",;\t|", key=fit)


# ---------------------------------------------------------------------- frames


def _frame(source: Any) -> tuple[str, _Rows]:
    """A table in memory: what it is, for people, and its rows. Nobody's library is imported for it."""
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


def _columnar(names: Iterable[object], column: Callable[[int], Sequence[object]]) -> _Rows:
    own = tuple(str(name) for name in names)

    def rows(positions: Sequence[int]) -> _Cut:
        columns = [column(i) for i in positions]
        for i, each in zip(positions, columns, strict=True):
            if len(each) != len(columns[0]):
                first = f"{shown(own[positions[0]])} has {len(columns[0])}"
                raise InputError(f"column {shown(own[i])} has {len(each)} entries, where {first}; expected as many")
        yield from enumerate(zip(*columns, strict=True))

    return _Rows(own, rows)


def _sequence(value: Any, name: object) -> Sequence[object]:
    for method in ("tolist", "to_list", "to_pylist"):
        if hasattr(value, method):
            value = getattr(value, method)()
            break
    if isinstance(value, str | bytes | Set | Mapping) or not isinstance(value, Iterable):
        raise InputError(f"column {shown(str(name))} is {shown(value)}; expected a list of entries, one per row")
    return list(value)


def _row_mappings(source: Sequence[Any]) -> _Rows:
    for i, row in enumerate(source):
        if not isinstance(row, Mapping):
            raise InputError(f"source[{i}] is {shown(row)}; expected a row that maps names of columns to entries")
    keys = list(dict.fromkeys(key for row in source for key in row))

    def rows(positions: Sequence[int]) -> _Cut:
        chosen = [keys[i] for i in positions]
        for at, row in enumerate(source):
            yield at, [row.get(key) for key in chosen]

    return _Rows(tuple(str(key) for key in keys), rows)
