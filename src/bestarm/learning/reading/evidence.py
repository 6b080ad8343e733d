"""What rows say of each arm, summed as they are read; none is kept."""

import contextlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from bestarm.errors import InputError
from bestarm.learning.reading.cells import Cells, label, refuse_size, yes_or_no
from bestarm.learning.reading.options import Options
from bestarm.learning.reading.rows import Columns, Query, Rows, choose
from bestarm.learning.reading.sums import Sums, exact
from bestarm.learning.reading.totals import totals
from bestarm.learning.reading.traits import Traits
from bestarm.validation import shown

__all__ = ["Evidence"]


@dataclass
class Evidence:
    """What has been seen so far, of one file or several."""

    options: Options
    arms: dict[str, Sums] = field(default_factory=dict)
    traits: Traits = field(init=False)
    cells: dict[str, Cells] = field(default_factory=dict)
    rows: int = 0
    skipped: int = 0
    raw: bool = True
    word: tuple[str, object] | None = None  # where the first of yes and no stands, and the first other number
    other: tuple[str, object] | None = None

    def __post_init__(self) -> None:
        self.traits = Traits(self.options.auto)

    @property
    def binary(self) -> bool:
        """Every reward is 0 or 1."""
        return self.raw and not self.other

    def add(self, part: Rows) -> None:
        """Read all rows of a file."""
        columns = choose(part.names, self.options, self.traits.features if self.rows or self.skipped else None)
        self.traits.look_for(columns.features)
        for name in ("reward", "mean", "n", "sd", "sem", *columns.features):
            self.cells.setdefault(name, Cells(self.options.decimal or part.mark))
        if columns.spread is None and part.query is not None and self._totals(part.query, columns):
            return
        read = self._rewards if columns.spread is None else self._summaries
        with contextlib.closing(part.rows(columns.positions)) as rows:
            read(rows, part.unit, columns)

    def check(self) -> None:
        """Whether all that was read can be past results."""
        if not self.rows:
            empty = f"; the rewards of all {self.skipped} rows are empty" if self.skipped else ""
            raise InputError(f"there are no rows{empty}; expected past results, one row for each evaluation")
        spelled: dict[str, str] = {}
        for name in self.arms:
            if (other := spelled.setdefault(name.strip(), name)) != name:
                raise InputError(
                    f"arm is {shown(name)} in some rows and {shown(other)} in others; expected one spelling"
                )

    # -------------------------------------------------- row by row

    def _rewards(self, rows: Iterable[tuple[int, Sequence[object]]], unit: str, columns: Columns) -> None:
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

    def _unusual(self, x: float | None, cell: object, where: str, cells: Cells) -> float:
        """A reward that is not plainly 0 or 1."""
        if x is None:
            x = yes_or_no(cell)
            if x is None:
                raise InputError(f"{where}: reward is {shown(cell)}; expected {cells.expected_reward(cell)}")
            self.word = self.word or (where, cell)
        elif x == x:
            refuse_size(x, cell, where, "reward")
            self.other = self.other or (where, cell)
        if self.word and self.other:
            raise InputError(
                f"{self.word[0]}: reward is {shown(self.word[1])}, where {self.other[0]} has {shown(self.other[1])}; "
                "expected numbers throughout, or yes/no throughout"
            )
        return x

    def _summaries(self, rows: Iterable[tuple[int, Sequence[object]]], unit: str, columns: Columns) -> None:
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
            self.arms[name].add_many(count, n * mean, scatter, mean, mean, exact(n * mean), exact(scatter))

    def _finite(self, column: str, cell: object, where: str) -> float:
        """A number, or NaN where it is empty."""
        x = self.cells[column].number(cell)
        if x is None:
            raise InputError(f"{where}: {column} is {shown(cell)}; expected {self.cells[column].expected()}")
        if x == x:
            refuse_size(x, cell, where, column)
        return x

    def _name(self, cell: object, unit: str, where: int) -> str:
        """The name of an arm, which is then among the arms."""
        if type(cell) is str and cell in self.arms:
            return cell
        name = _labelled(cell, "arm", f"{unit} {where}: ")
        if name is None:
            raise InputError(f"{unit} {where}: arm is empty; expected the name of an arm")
        self.arms.setdefault(name, Sums())
        return name

    def _describe(self, name: str, cells: Sequence[object], where: str, features: Iterable[str]) -> None:
        """The group and the features of an arm, as one row has them."""
        if self.options.group is not None:
            self.traits.add_group(name, _labelled(cells[0], "group", where), where)
            cells = cells[1:]
        for feature, cell in zip(features, cells, strict=True):
            self.traits.add_cell(name, feature, cell, self.cells[feature], where)

    # -------------------------------------------------- all at once, by DuckDB

    def _totals(self, query: Query, columns: Columns) -> bool:
        """Take in all rows at once; False, and nothing is taken in, where only reading row by row can tell."""
        auto = self.options.auto
        numeric = {name: at for name, at in columns.features.items() if query.kinds[at]}
        if self.cells["reward"].mark == "," or not query.kinds[columns.own[1]]:
            return False
        if len(numeric) < len(columns.features) and not auto:
            return False
        found = totals(query, columns.own, numeric.values())
        if found is None or any(arm.name is None or arm.bad or arm.groups[0] != arm.groups[1] for arm in found):
            return False
        words, others = any(arm.words for arm in found), any(arm.others for arm in found)
        if (words or self.word) and (others or self.other):
            return False
        if not auto and any(least != most or bad for arm in found for least, most, bad in arm.features):
            return False
        for arm in found:
            name = str(arm.name)
            own = self.arms.setdefault(name, Sums())
            if arm.count:
                own.add_many(arm.count, arm.total, arm.scatter, arm.low, arm.high, arm.exact, arm.exact_squares)
            self.rows += arm.count
            self.skipped += arm.rows - arm.count
            self.traits.add_group(name, arm.groups[0], "")
            for feature, (least, most, bad) in zip(numeric, arm.features, strict=True):
                if bad:
                    self.traits.leave_out(feature)
                for value in (least, most):
                    if value is not None:
                        self.traits.add_feature(name, feature, value, "")
        self.word = self.word or (("a row", "yes/no") if words else None)
        self.other = self.other or (("a row", "another number") if others else None)
        for feature in columns.features.keys() - numeric.keys():
            self.traits.leave_out(feature)
        return True


def _labelled(cell: object, what: str, where: str) -> str | None:
    """The name in a cell, None where it is empty."""
    try:
        return label(cell)
    except ValueError as error:
        raise InputError(f"{where}{what} is {shown(cell)}; expected {error}") from None
