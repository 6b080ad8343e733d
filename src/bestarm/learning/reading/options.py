"""What was asked for in reading a table, checked."""

import codecs
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bestarm.errors import InputError
from bestarm.validation import choice, shown

__all__ = ["Options"]


@dataclass(frozen=True)
class Options:
    """The arguments of `read_table`; auto: features were asked for as "auto"."""

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
    ) -> "Options":
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

    def refuse_table(self, why: str = "") -> None:
        """Where what is read has no tables to choose from."""
        if self.table is not None:
            raise InputError(f"table is {shown(self.table)}{why}; expected it only with a database")


def _is_encoding(name: str) -> bool:
    try:
        "".encode(name)  # refuses those, such as hex, that do not turn text into bytes
        codecs.getincrementaldecoder(name)
    except (LookupError, ValueError):
        return False
    return True
