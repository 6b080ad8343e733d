"""Who the arms are: names, payloads, and which way is better. Shared by every family of models."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from bestarm.errors import InputError
from bestarm.validation import IntArray, choice, listed, shown

__all__ = ["DEEPEST", "Arms", "Direction"]

Direction = Literal["maximize", "minimize"]
DEEPEST = 100  # lists and maps inside each other in a payload


@dataclass(frozen=True, eq=False)
class Arms:
    """K arms. `given_names` is None where nobody named them; they are then called "0", "1", ..."""

    count: int
    given_names: tuple[str, ...] | None = None
    payloads: tuple[Any, ...] | None = None
    direction: Direction = "maximize"

    @classmethod
    def of(
        cls, count: int, names: Sequence[str] | None, direction: str, payloads: Sequence[Any] | None = None
    ) -> "Arms":
        """Arms whose names, payloads and direction have been checked."""
        way = choice(direction, "direction", ("maximize", "minimize"))
        own = None if payloads is None else _checked_payloads(payloads, count)
        return cls(
            count,
            None if names is None else _checked_names(names, count),
            None if own is None or all(payload is None for payload in own) else own,
            "minimize" if way == "minimize" else "maximize",
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(map(str, range(self.count))) if self.given_names is None else self.given_names

    @property
    def sign(self) -> float:
        """+1 where larger is better, -1 where smaller is."""
        return 1.0 if self.direction == "maximize" else -1.0

    @cached_property
    def _index_of(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.names)}

    def index(self, arms: ArrayLike | str | Sequence[str | int], argument: str = "arms") -> IntArray:
        """Arms given by index or by name (one or many), as indices of the same shape."""
        if np.ma.is_masked(arms):
            raise InputError(f"{argument} has masked entries; expected arms only")
        try:
            raw = np.asarray(arms)
            if raw.dtype.kind not in "iu":
                # as objects: [0, "a"] would turn 0 into a name
                raw = arms if isinstance(arms, np.ndarray) else np.asarray(arms, dtype=object)
        except (ValueError, RecursionError):
            raise InputError(f"{argument} is {shown(arms)}; expected arms in a regular array") from None
        if raw.dtype.kind in "iu":
            bad = (raw < 0) | (raw >= self.count)
            if bad.any():
                self._refuse(int(raw.flat[int(np.argmax(bad))]), argument)
            return raw.astype(np.intp)
        flat = [self._one(arm, argument) for arm in raw.ravel()]
        return np.array(flat, dtype=np.intp).reshape(raw.shape)

    def _one(self, arm: object, argument: str) -> int:
        if isinstance(arm, str):
            found = self._index_of.get(arm)
            return self._refuse(arm, argument) if found is None else found
        if isinstance(arm, (int, np.integer)) and not isinstance(arm, bool) and 0 <= arm < self.count:
            return int(arm)
        return self._refuse(arm, argument)

    def _refuse(self, arm: object, argument: str) -> int:
        some = ", ".join(repr(name) for name in self.names[:5]) + (", ..." if self.count > 5 else "")
        raise InputError(
            f"{argument} has {shown(arm)}; expected an index from 0 to {self.count - 1} or one of the names {some}"
        )


def _checked_names(names: Sequence[str], count: int) -> tuple[str, ...]:
    entries = listed(names, "names", count, "strings")
    seen: dict[str, int] = {}
    for index, name in enumerate(entries):
        if not isinstance(name, str):
            kind = type(name).__name__
            raise InputError(f"names[{index}] is {shown(name)} ({kind}); expected a string: write it in quotes")
        if not name:
            raise InputError(f"names[{index}] is empty; expected a name")
        if name in seen:
            raise InputError(f"names[{index}] is {shown(name)}, as is names[{seen[name]}]; expected distinct names")
        if not _is_unicode(name):
            raise InputError(f"names[{index}] is {shown(name)}, which is not valid Unicode text")
        seen[name] = index
    return tuple(str(name) for name in entries)


def _is_unicode(text: str) -> bool:
    """False for text with half a surrogate pair, which no file can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _checked_payloads(payloads: Sequence[Any], count: int) -> tuple[Any, ...]:
    own = []
    for index, payload in enumerate(listed(payloads, "payloads", count, "values")):
        try:
            own.append(_json_copy(payload))
        except TypeError:
            raise InputError(
                f"payloads[{index}] is {shown(payload)}; expected what JSON can hold (text, numbers, lists, maps "
                f"with text as keys, at most {DEEPEST} inside each other)"
            ) from None
    return tuple(own)


def _json_copy(value: Any, room: int = DEEPEST) -> Any:
    """A deep copy of what JSON can hold; TypeError for anything else."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str) and _is_unicode(value):
        return str(value)
    if isinstance(value, int) and value.bit_length() <= 10_000:  # Python reads and writes no more than 4,300 digits
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, list | tuple) and room:
        return [_json_copy(entry, room - 1) for entry in value]
    if isinstance(value, dict) and room and all(isinstance(key, str) for key in value):
        return {_json_copy(key): _json_copy(entry, room - 1) for key, entry in value.items()}
    raise TypeError
