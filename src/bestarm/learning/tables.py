"""Past results: a table of rewards, whatever holds it, reduced arm by arm to what priors are learned from.

Rows are read one by one and none is kept. DuckDB, where it is there, does the same for Parquet, DuckDB databases and
large CSV files, many times faster; what it does not take as it stands (a decimal comma, a bad reward) is then read
row by row, so that what is accepted, and the message where it is not, do not depend on it.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from bestarm.learning.reading.evidence import Evidence
from bestarm.learning.reading.failures import told
from bestarm.learning.reading.options import Options
from bestarm.learning.reading.sources import parts
from bestarm.learning.reading.sums import digest
from bestarm.validation import Array, read_only

__all__ = ["Table", "read_table"]


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
    options = Options.checked(arm, reward, group, features, delimiter, decimal, encoding, table)
    evidence = Evidence(options)
    display, own = parts(source, options)
    for what, opened in own:
        with told(what), ExitStack() as stack:
            evidence.add(opened(stack))
    with told(display):
        return _table(evidence, display)


def _table(evidence: Evidence, source: str) -> Table:
    evidence.check()
    names = tuple(evidence.arms)
    arms = evidence.arms.values()
    counts = np.array([arm.count for arm in arms], dtype=np.float64)
    sums, squares = np.array([arm.sums() for arm in arms], dtype=np.float64).T.copy()
    features = evidence.traits.features_of(names)
    return Table(
        names,
        counts=read_only(counts),
        sums=read_only(sums),
        squares=read_only(sums if evidence.binary else squares),
        groups=evidence.traits.groups_of(names) if evidence.options.group is not None else None,
        features=features,
        feature_names=tuple(evidence.traits.features),
        binary=evidence.binary,
        rows=evidence.rows,
        skipped=evidence.skipped,
        digest=digest(evidence.arms),
        source=source,
    )
