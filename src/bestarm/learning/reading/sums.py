"""Sums of rewards that keep their digits, and a digest that is the same for rows in any order."""

import hashlib
import json
import math
from collections.abc import Mapping

__all__ = ["Sums", "digest", "exact"]


class Sums:
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
        self.exact += exact(x)
        self.exact_squares += exact(x * x)
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


def exact(x: float) -> int:
    """A number in units of 2**-52: whole numbers have the same sum in any order, which digests need.

    Numbers of size 2**40 and more count as 0, so that sums fit DuckDB's integers; their extremes are in the digest.
    """
    return int(x * 4503599627370496.0) if -1099511627776.0 < x < 1099511627776.0 else 0


def digest(arms: Mapping[str, Sums]) -> str:
    """Of numbers that are the same to the last bit in any order: counts, sums of whole numbers, extremes."""
    lines = sorted(
        json.dumps([name, arm.count, arm.exact, arm.exact_squares, (arm.low + 0.0).hex(), (arm.high + 0.0).hex()])
        for name, arm in arms.items()
        if arm.count
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
