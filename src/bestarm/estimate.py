"""A number with its standard error."""

from dataclasses import dataclass

import numpy as np

from bestarm.validation import Array

__all__ = ["Estimate", "legible"]


@dataclass(frozen=True, slots=True, repr=False)
class Estimate:
    """A value and its standard error: two floats, or two arrays of one shape.

    `stderr` is 0 where the value is exact to rounding. It is the standard error of the computation (how far
    another seed would land), not the spread of what is estimated.
    """

    value: float | Array
    stderr: float | Array

    def __float__(self) -> float:
        return float(self.value)

    def __array__(self, dtype: type | None = None, copy: bool | None = None) -> Array:
        return np.array(self.value, dtype=dtype)

    def __str__(self) -> str:
        """`0.1693 ± 0.0001`: as many decimals as the standard error supports."""
        pairs = zip(np.ravel(self.value), np.ravel(self.stderr), strict=True)
        text = [_plus_minus(float(value), float(stderr)) for value, stderr in pairs]
        return text[0] if np.ndim(self.value) == 0 else f"[{', '.join(text)}]"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"

    def __format__(self, spec: str) -> str:
        """The value alone in the format asked for (`f"{error:.1%}"`); without a format as printed."""
        if not spec:
            return str(self)
        text = [format(float(value), spec) for value in np.ravel(self.value)]
        return text[0] if np.ndim(self.value) == 0 else f"[{', '.join(text)}]"


def _plus_minus(value: float, stderr: float) -> str:
    if stderr == 0 or not np.isfinite(stderr):
        return f"{value:.6g}" if stderr == 0 else f"{value:.6g} ± {stderr}"
    decimals = _decimals(stderr)
    return f"{value:.{decimals}f} ± {stderr:.{decimals}f}"


def _decimals(spread: float) -> int:
    """So many show two digits of it."""
    return max(0, 1 - int(np.floor(np.log10(spread))))


def legible(value: float, spread: float) -> str:
    """A number with the decimals that it has a meaning to: two digits of its spread (an interval's half width, say)."""
    if not (np.isfinite(value) and np.isfinite(spread) and spread > 0):
        return f"{value:.4g}"
    decimals = _decimals(spread)
    if decimals > 6 or abs(value) >= 1e9:
        return f"{value:.4g}"
    return f"{round(value, decimals) + 0.0:.{decimals}f}"
