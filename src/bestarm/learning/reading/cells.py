"""What stands in a cell: a number, yes or no, a name, or nothing."""

import math
import numbers
import re
from datetime import date, time, timedelta
from decimal import Decimal
from uuid import UUID

import numpy as np

from bestarm.errors import InputError
from bestarm.validation import LARGEST, shown

__all__ = ["MISSING", "NO", "YES", "Cells", "label", "looks_like_number", "refuse_size", "yes_or_no"]

MISSING = ("", "na", "n/a", "nan", "null", "none", "-")
YES, NO = ("yes", "true", "pass", "success", "t", "y"), ("no", "false", "fail", "failure", "f", "n")
_WORDS = dict.fromkeys(YES, 1.0) | dict.fromkeys(NO, 0.0)
_NOTHING = {"NoneType", "NAType", "NaTType", "MaskedConstant"}  # of pandas and NumPy, without importing them
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:([.,])[0-9]*)?|([.,])[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INFINITE = re.compile(r"[+-]?inf(inity)?")


class Cells:
    """The numbers in one column: knows which decimal mark it has, as given or as first met."""

    def __init__(self, mark: str | None) -> None:
        self.mark = mark

    def number(self, cell: object) -> float | None:
        """The number in a cell, NaN where it is empty, None where it is no number."""
        if isinstance(cell, str):
            text = cell.strip()
            found = _NUMBER.fullmatch(text)
            if found is None:
                return math.nan if text.lower() in MISSING else None
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

    def expected_reward(self, cell: object) -> str:
        """What was expected in place of a cell that is neither a number nor yes or no."""
        if isinstance(cell, str) and looks_like_number(cell):
            return self.expected()
        infinite = isinstance(cell, str) and _INFINITE.fullmatch(cell.strip().lower())
        return "a finite number" if infinite else "a number, or yes/no"


def looks_like_number(text: str) -> bool:
    """Whether it is one, with either decimal mark."""
    return _NUMBER.fullmatch(text.strip()) is not None


def yes_or_no(cell: object) -> float | None:
    """1 or 0, None where it is neither yes nor no."""
    return _WORDS.get(cell.strip().lower()) if isinstance(cell, str) else None


def label(cell: object) -> str | None:
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


def refuse_size(x: float, cell: object, where: str, what: str) -> None:
    """Of a number that is infinite, or larger than can be squared and summed."""
    if not abs(x) <= LARGEST:
        expected = f"a number of size at most {LARGEST:g}" if math.isfinite(x) else "a finite number"
        raise InputError(f"{where}: {what} is {shown(cell)}; expected {expected}")
