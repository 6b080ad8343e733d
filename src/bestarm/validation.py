"""Checks at the boundary: every public argument passes through one of these exactly once."""

import math
from collections.abc import Iterable, Mapping, Sequence, Set
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
    "checked_sample_shape",
    "choice",
    "generator",
    "listed",
    "non_negative",
    "positive",
    "read_only",
    "real_array",
    "shortened",
    "shown",
    "size",
    "spread",
    "vector",
    "visible",
    "whole",
]


LARGEST, SMALLEST = 1e50, 1e-50  # sizes beyond these would overflow or vanish once squared


def shown(value: object) -> str:
    """A value as an error message shows it: short, on one line."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a repr may fail in any way; the message must not
        text = f"an unprintable {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def visible(text: str) -> str:
    """Control characters, which terminals and readers act upon, as signs."""
    return "".join(c if c.isprintable() else "�" for c in text)


def shortened(name: str, most: int) -> str:
    """Both ends of a name that is too long: many begin alike."""
    plain = visible(name)
    if len(plain) <= most:
        return plain
    tail = (most - 1) // 2
    return f"{plain[: most - 1 - tail]}…{plain[len(plain) - tail :]}"


def read_only(array: Array) -> Array:
    """The same numbers, seen through a view that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def real_array(value: ArrayLike, name: str, *, ndim: int | None = None, squared: bool = False) -> Array:
    """A finite float64 array of its own (a copy, read-only); `ndim` axes where given.

    squared: these are variances or products already, and may be as large as a square.
    """
    if np.ma.is_masked(value):
        raise InputError(f"{name} has masked entries; expected numbers only")
    try:
        raw = np.asarray(value)
        # object arrays come from pandas, from lists of Decimal or of None: the conversion decides, but text, which
        # it would read as a number, is refused
        numbers = raw.dtype.kind in "biuf"
        if not numbers and (raw.dtype.kind != "O" or any(isinstance(entry, str | bytes) for entry in raw.flat)):
            raise TypeError
        with np.errstate(over="ignore"):  # a long double may be too large: refused below
            array = np.array(raw, dtype=np.float64)
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise InputError(f"{name} is {shown(value)}; expected real numbers in a regular array") from None
    if ndim is not None and array.ndim != ndim:
        kind = {0: "a single number", 1: "a vector", 2: "a matrix"}[ndim]
        raise InputError(f"{name} has shape {array.shape}; expected {kind}")
    if not np.isfinite(array).all():
        where, bad = first(~np.isfinite(array), array)
        raise InputError(f"{name}{where} is {bad}; expected a finite number")
    limit = LARGEST**2 if squared else LARGEST
    _refuse_where(np.abs(array) > limit, array, name, f"a number of size at most {limit:g}")
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


def positive(value: ArrayLike, name: str, *, ndim: int | None = None, squared: bool = False) -> Array:
    """As `real_array`, every entry above zero."""
    array = real_array(value, name, ndim=ndim, squared=squared)
    _refuse_where(array <= 0, array, name, "a number above 0")
    least = SMALLEST**2 if squared else SMALLEST
    _refuse_where(array < least, array, name, f"a number of at least {least:g}")
    return array


def non_negative(value: ArrayLike, name: str, *, ndim: int | None = None, squared: bool = False) -> Array:
    """As `real_array`, no entry below zero."""
    array = real_array(value, name, ndim=ndim, squared=squared)
    _refuse_where(array < 0, array, name, "a number of at least 0")
    return array


def spread(value: ArrayLike, name: str) -> Array:
    """Standard deviations: as `non_negative`, and what is not 0 is large enough to be squared."""
    array = non_negative(value, name)
    _refuse_where((array > 0) & (array < SMALLEST), array, name, f"0 or at least {SMALLEST:g}")
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


def size(value: int | tuple[int, ...] | None, name: str) -> tuple[int, ...]:
    """The shape of a sample, as NumPy has it: nothing, a whole number or a tuple of them."""
    parts = () if value is None else tuple(value) if isinstance(value, tuple | list) else (value,)
    if len(parts) > 16:  # NumPy has room for 64 axes, models for a few of them
        raise InputError(f"{name} has {len(parts)} axes; expected at most 16")
    for part in parts:
        if isinstance(part, bool) or not isinstance(part, int | np.integer) or part < 0:
            raise InputError(f"{name} is {shown(value)}; expected a whole number or a tuple of whole numbers")
    return tuple(int(part) for part in parts)


MOST_DRAWN = 10**10  # numbers in one sample, 80 GB


def checked_sample_shape(value: int | tuple[int, ...] | None, each: tuple[int, ...], per: int = 1) -> tuple[int, ...]:
    """The shape (*size, *each) of a sample that memory can hold; `per` numbers go into each of its entries."""
    shape = (*size(value, "size"), *each)
    if (numbers := math.prod(shape) * per) > MOST_DRAWN:
        raise InputError(f"size is {shown(value)}, {numbers:.0e} numbers in all; expected at most {MOST_DRAWN:.0e}")
    return shape


def listed(value: object, name: str, count: int, what: str) -> list[Any]:
    """The entries of an ordered collection, one per arm."""
    scalar = isinstance(value, np.ndarray) and value.ndim == 0  # which says that it is iterable
    if isinstance(value, str | bytes | Set | Mapping) or not isinstance(value, Iterable) or scalar:
        raise InputError(f"{name} is {shown(value)}; expected a list of {count} {what}")
    entries = list(value)
    if len(entries) != count:
        raise InputError(f"{name} has {len(entries)} entries; expected one per arm ({count})")
    return entries


def choice(value: object, name: str, options: Sequence[str]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in options:
        listed = ", ".join(f"'{option}'" for option in options)
        raise InputError(f"{name} is {shown(value)}; expected one of {listed}")
    return value


def generator(rng: Any) -> np.random.Generator:
    """A NumPy Generator from a seed, a SeedSequence, a Generator or None (fresh entropy)."""
    try:
        if isinstance(rng, list | tuple) and not all(isinstance(part, int) for part in rng):
            raise TypeError  # NumPy would recurse into nested lists
        if isinstance(rng, np.random.RandomState):
            raise TypeError
        random = np.random.default_rng(rng)
        if getattr(random.bit_generator, "seed_seq", None) is None:
            random = np.random.default_rng(random.integers(2**63))  # one that can spawn children
        return random
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise InputError(f"rng is {shown(rng)}; expected a seed (a whole number) or a NumPy Generator") from None
