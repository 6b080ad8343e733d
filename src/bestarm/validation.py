"""Checks at the boundary: every public argument passes through one of these exactly once."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bestarm.errors import InputError

Array = NDArray[np.float64]
IntArray = NDArray[np.intp]

__all__ = [
    "Array",
    "IntArray",
    "broadcast",
    "choice",
    "generator",
    "non_negative",
    "positive",
    "real_array",
    "vector",
    "whole",
]


def shown(value: object) -> str:
    """A value as an error message shows it: short, on one line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def real_array(value: ArrayLike, name: str, *, ndim: int | None = None) -> Array:
    """A finite float64 array of its own (a copy, read-only); `ndim` axes where given."""
    try:
        raw = np.asarray(value)
        if raw.dtype.kind not in "biuf":
            # object arrays come from pandas, from lists of Decimal or of None: the conversion decides
            if raw.dtype.kind in "cSUmMV":
                raise TypeError
            raw = raw.astype(np.float64)
        array = np.array(raw, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} is {shown(value)}; expected real numbers in a regular array") from None
    if ndim is not None and array.ndim != ndim:
        kind = {0: "a single number", 1: "a vector", 2: "a matrix"}[ndim]
        raise InputError(f"{name} has shape {array.shape}; expected {kind}")
    if not np.isfinite(array).all():
        where, bad = first(~np.isfinite(array), array)
        raise InputError(f"{name}{where} is {bad}; expected a finite number")
    array.flags.writeable = False
    return array


def first(bad: NDArray[np.bool_], array: Array) -> tuple[str, float]:
    """Where the first offending entry stands, as `[i, j]`, and what it is."""
    index = np.unravel_index(int(np.argmax(bad)), bad.shape)
    where = f"[{', '.join(str(int(i)) for i in index)}]" if index else ""
    return where, float(array[index])


def _refuse_where(bad: NDArray[np.bool_], array: Array, name: str, expected: str) -> None:
    if bad.any():
        where, value = first(bad, array)
        raise InputError(f"{name}{where} is {value:g}; expected {expected}")


def positive(value: ArrayLike, name: str, *, ndim: int | None = None) -> Array:
    """As `real_array`, every entry above zero."""
    array = real_array(value, name, ndim=ndim)
    _refuse_where(array <= 0, array, name, "a number above 0")
    return array


def non_negative(value: ArrayLike, name: str, *, ndim: int | None = None) -> Array:
    """As `real_array`, no entry below zero."""
    array = real_array(value, name, ndim=ndim)
    _refuse_where(array < 0, array, name, "a number of at least 0")
    return array


def whole(value: ArrayLike, name: str) -> Array:
    """Non-negative whole numbers, as floats (3 and 3.0 are the same count)."""
    array = non_negative(value, name)
    _refuse_where(array != np.floor(array), array, name, "a whole number")
    return array


def vector(value: ArrayLike, name: str, *, minimum: int = 1) -> Array:
    """A finite vector with at least `minimum` entries."""
    array = real_array(value, name, ndim=1)
    if array.size < minimum:
        raise InputError(f"{name} has {array.size} entries; expected at least {minimum}")
    return array


def broadcast(array: Array, length: int, name: str, what: str = "one number per arm") -> Array:
    """A scalar or a vector of `length`, as a vector of `length`."""
    if array.ndim > 1 or (array.ndim == 1 and array.shape[0] != length):
        raise InputError(f"{name} has shape {array.shape}; expected a single number or {what} ({length})")
    return np.broadcast_to(array, (length,))


def choice(value: object, name: str, options: Sequence[str]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in options:
        listed = ", ".join(f"'{option}'" for option in options)
        raise InputError(f"{name} is {shown(value)}; expected one of {listed}")
    return value


def generator(rng: Any) -> np.random.Generator:
    """A NumPy Generator from a seed, a SeedSequence, a Generator or None (fresh entropy)."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise InputError(f"rng is {shown(rng)}; expected a seed (a whole number) or a NumPy Generator") from None
