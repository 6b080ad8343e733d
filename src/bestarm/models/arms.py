"""Who the arms are: names, payloads, and which way is better. Shared by every family of models."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from bestarm.errors import InputError
from bestarm.validation import IntArray, choice, shown

__all__ = ["Arms", "Direction"]

Direction = Literal["maximize", "minimize"]


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
        return cls(
            count,
            None if names is None else _checked_names(names, count),
            None if payloads is None else _checked_payloads(payloads, count),
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
        raw = np.asarray(arms, dtype=object) if not isinstance(arms, np.ndarray) else arms
        if raw.dtype.kind in "iu":
            indices = raw.astype(np.intp)
            bad = (indices < 0) | (indices >= self.count)
            if bad.any():
                self._refuse(indices.flat[int(np.argmax(bad))], argument)
            return indices
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

    def same_as(self, other: "Arms") -> bool:
        return self is other or (
            self.count == other.count
            and self.direction == other.direction
            and (self.given_names is other.given_names or self.names == other.names)
        )


def _checked_names(names: Sequence[str], count: int) -> tuple[str, ...]:
    if isinstance(names, str):
        raise InputError(f"names is {shown(names)}, one string; expected a list of {count} strings")
    listed = tuple(names)
    if len(listed) != count:
        raise InputError(f"names has {len(listed)} entries; expected one per arm ({count})")
    seen: dict[str, int] = {}
    for index, name in enumerate(listed):
        if not isinstance(name, str):
            kind = type(name).__name__
            raise InputError(f"names[{index}] is {shown(name)} ({kind}); expected a string: write it in quotes")
        if not name:
            raise InputError(f"names[{index}] is empty; expected a name")
        if name in seen:
            raise InputError(f"names[{index}] is {shown(name)}, as is names[{seen[name]}]; expected distinct names")
        try:
            name.encode()
        except UnicodeEncodeError:
            raise InputError(f"names[{index}] is {shown(name)}, which is not valid Unicode text") from None
        seen[name] = index
    return tuple(str(name) for name in listed)


def _checked_payloads(payloads: Sequence[Any], count: int) -> tuple[Any, ...]:
    listed = tuple(payloads)
    if len(listed) != count:
        raise InputError(f"payloads has {len(listed)} entries; expected one per arm ({count})")
    own = []
    for index, payload in enumerate(listed):
        try:
            own.append(json.loads(json.dumps(payload, allow_nan=False)))
        except (TypeError, ValueError, RecursionError):
            raise InputError(
                f"payloads[{index}] is {shown(payload)}; expected what JSON can hold (text, numbers, lists, maps)"
            ) from None
    return tuple(own)
