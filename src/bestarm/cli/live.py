"""What a run shows while it goes: a table that stays in place on a terminal, plain lines elsewhere."""

import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import click
import numpy as np

from bestarm.estimate import legible
from bestarm.experiment.recommendation import intervals
from bestarm.validation import shortened, visible

if TYPE_CHECKING:
    from bestarm.experiment.experiment import Experiment, Trial

__all__ = ["LiveTable", "PlainLines"]

_ROWS = 15
_EVERY = 0.5  # seconds between two drawings, and so many times as long as a drawing takes
_SHARE = 20
_BAR = 20
_ALIKE = 10  # values of several arms that are all the same: hardly what was meant


class _View:
    """What both have in common: an eye on values that never change."""

    def __init__(self, experiment: "Experiment") -> None:
        self._experiment = experiment
        self._seen: set[float] = set()
        self._arms: set[int] = set()
        self._number = 0

    def _note(self, trial: "Trial", result: Any) -> str:
        """The result in words; says so once where values never change."""
        if isinstance(result, BaseException):
            return f"failed: {visible(str(result))}"
        if np.ndim(result):
            return f"{len(result)} values"
        if not self._experiment.settings.model.binary and self._number < _ALIKE:
            self._seen.add(float(result))
            self._arms.add(trial.arm)
            self._number += 1
            if self._number == _ALIKE and len(self._seen) == 1 and len(self._arms) > 1:
                text = f"all {_ALIKE} values so far are {result:g}; is that the number you mean? (--metric-regex)"
                click.echo(f"{self._experiment.name}: {text}", err=True)
        return format(result, "g")


class PlainLines(_View):
    """One line for each evaluation, on standard error."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def show(self, trial: "Trial", result: Any) -> None:
        """A trial and its value, or why it failed."""
        status, said = self._experiment.status(), self._note(trial, result)
        click.echo(f"{status.spent:g}/{status.budget:g} {visible(trial.name)}: {said}", err=True)


class LiveTable(_View):
    """The arms most likely to be best, redrawn as values come in; NO_COLOR is respected."""

    def __init__(self, experiment: "Experiment") -> None:
        from rich.console import Console
        from rich.live import Live

        super().__init__(experiment)
        self._console = Console(stderr=True)
        self._live = Live(console=self._console, auto_refresh=False, transient=False)
        self._next = 0.0  # when to draw again
        self._last = ""

    def __enter__(self) -> Self:
        self._live.__enter__()
        self._draw()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._draw()
        self._live.__exit__(kind, error, trace)

    def show(self, trial: "Trial", result: Any) -> None:
        """A trial and its value, or why it failed."""
        said = self._note(trial, result)
        self._last = f"{shortened(trial.name, 20)}: {said}"
        if time.monotonic() >= self._next:
            self._draw()

    def _draw(self) -> None:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        began = time.monotonic()
        status, posterior = self._experiment.status(), self._experiment.posterior()
        chance = np.asarray(posterior.prob_best().value)
        low, high = intervals(posterior)
        spread = float((high - low).min()) / 2
        ranked = sorted(range(len(chance)), key=lambda k: -chance[k])
        rows = ranked[: max(3, min(_ROWS, self._console.height - 4))]
        seen = [arm.evaluations + arm.history for arm in status.arms]
        numbers = {
            k: (legible(posterior.mean[k], spread), f"{legible(low[k], spread)} to {legible(high[k], spread)}")
            if any(seen)
            else ("–", "–")
            for k in rows
        }
        # what there is room for: names first, then the interval, then bars
        width = self._console.width
        fixed = 2 * 4 + len("evaluations") + max(len(numbers[k][0]) for k in rows) + len("best?") + 2
        span = max(len("90 % interval"), *(len(numbers[k][1]) for k in rows))
        name = min(max(len(visible(status.arms[k].name)) for k in rows), max(12, width - fixed - span - 2))
        with_span = fixed + name + span <= width
        bar = max(0, min(_BAR, width - fixed - name - (span if with_span else 0) - 2))
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("arm", no_wrap=True)
        for head in ("evaluations", "mean", *(["90 % interval"] if with_span else [])):
            table.add_column(head, justify="right", no_wrap=True)
        table.add_column("best?" if bar < 12 else "chance to be best", no_wrap=True)
        for k in rows:
            table.add_row(
                Text(shortened(status.arms[k].name, name), style="bold" if k == posterior.best else ""),
                f"{seen[k]:,}",
                *numbers[k][: 1 + with_span],
                Text(f"{_percent(chance[k]):>4} {'█' * round(bar * chance[k])}"),
            )
        rest = len(ranked) - len(rows)
        foot = f"{status.spent:g} of {status.budget:g} spent" + (f", {rest} more arms" if rest > 0 else "")
        foot += f", {status.failed} failed" if status.failed else ""
        foot += f"   {self._last}"
        self._live.update(Group(table, Text(foot, style="dim", no_wrap=True, overflow="ellipsis")))
        self._live.refresh()
        done = time.monotonic()
        self._next = done + max(_EVERY, _SHARE * (done - began))


def _percent(chance: float) -> str:
    """As short as a table needs it; only what is certain is 100%."""
    return ">99%" if 0.995 <= chance < 1 else f"{chance:.0%}"
