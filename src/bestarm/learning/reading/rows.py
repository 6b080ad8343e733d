"""The rows that any source answers with, and which of their columns are used."""

from collections.abc import Callable, Container, Generator, Sequence
from dataclasses import dataclass
from typing import Any

from bestarm.errors import InputError
from bestarm.learning.reading.cells import looks_like_number
from bestarm.learning.reading.options import Options
from bestarm.validation import shown

__all__ = ["Columns", "Cut", "Query", "Rows", "choose", "matches", "some"]

Cut = Generator[tuple[int, Sequence[object]], None, None]


@dataclass(frozen=True)
class Query:
    """The same rows for DuckDB: `source` stands after FROM."""

    connection: Any
    source: str
    parameters: tuple[str, ...]
    columns: tuple[str, ...]  # as SQL names them
    kinds: tuple[str, ...]  # what each holds: number, text, or nothing of use


@dataclass(frozen=True)
class Rows:
    """Rows that can be read one by one: rows(positions) gives where each stands, and its cells there."""

    names: tuple[str, ...]
    rows: Callable[[Sequence[int]], Cut]
    unit: str = "row"
    mark: str | None = "."
    query: Query | None = None


@dataclass(frozen=True)
class Columns:
    """Which columns are used, as positions: arm, reward (or mean, n, spread), group if any; features."""

    own: tuple[int, ...]
    spread: str | None  # what stands beside mean and n: sd or sem; None where there are rewards
    features: dict[str, int]

    @property
    def positions(self) -> tuple[int, ...]:
        return (*self.own, *self.features.values())


def choose(names: Sequence[str], options: Options, known: Container[str] | None) -> Columns:
    """The columns asked for. known: the features of files read before, None if this is the first."""
    own = [_found(names, options.arm, "arm", "--arm-column")]
    spread = None
    if options.reward == "reward" and not matches(names, "reward") and matches(names, "mean") and matches(names, "n"):
        spread = next((each for each in ("sd", "sem") if matches(names, each)), None)
    if spread is None:
        own.append(_found(names, options.reward, "reward", "--reward-column"))
    else:
        own += [_found(names, each, each, "") for each in ("mean", "n", spread)]
    if options.group is not None:
        own.append(_found(names, options.group, "group", "--group"))
    features = options.features
    if options.auto:
        taken = {*own, *(i for each in ("sd", "sem") if spread for i in matches(names, each))}
        free = (name for i, name in enumerate(names) if i not in taken and name.strip() and names.count(name) == 1)
        features = tuple(name for name in free if known is None or name in known)
    return Columns(tuple(own), spread, {name: _found(names, name, "features", "--features") for name in features})


def matches(names: Sequence[str], wanted: str) -> list[int]:
    """Where the columns of a name stand: exactly as given, else in any case and with spaces around."""
    exact = [i for i, name in enumerate(names) if name == wanted]
    return exact or [i for i, name in enumerate(names) if name.strip().lower() == wanted.strip().lower()]


def _found(names: Sequence[str], wanted: str, option: str, flag: str) -> int:
    positions = matches(names, wanted)
    if len(positions) == 1:
        return positions[0]
    if positions:
        several = ", ".join(shown(names[i]) for i in positions)
        raise InputError(f"there are several columns {several}; expected one column {shown(wanted)}")
    if not names:
        raise InputError("there are no columns; expected past results, one row for each evaluation")
    data = any(looks_like_number(name) for name in names)
    header = "; the first line seems to hold data, and should name the columns" if data else ""
    there_are = f"there are {some(names)}" if len(names) > 1 else f"there is only {some(names)}"
    raise InputError(f"expected a column {shown(wanted)}; {there_are}; name yours with {option}= ({flag}){header}")


def some(names: Sequence[str]) -> str:
    """The first dozen names, for a message."""
    return ", ".join(shown(name) for name in names[:12]) + (", ..." if len(names) > 12 else "")
