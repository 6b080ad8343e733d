"""What a run shows while it goes: a table that stays in place on a terminal, plain lines elsewhere."""

import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import click
import numpy as np

from bestarm.estimate import legible
from bestarm.experiment.recommendation import intervals

if TYPE_CHECKING:
    from bestarm.experiment.experiment import Experiment, Trial

__all__ = ["LiveTable", "PlainLines"]

_ROWS = 15
_EVERY = 0.5  # seconds between two drawings, and so many times as long as a drawing takes
_SHARE = 20
_BAR = 20


class PlainLines:
    """One line for each evaluation, on standard error."""

    def __init__(self, experiment: "Experiment") -> None:
        self._experiment = experiment

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def show(self, trial: "Trial", result: Any) -> None:
        """A trial and its value, or why it failed."""
        said = f"failed: {result}" if isinstance(result, BaseException) else f"{result:g}"
        click.echo(f"{trial.id}/{self._experiment.status().budget:g} {trial.name}: {said}", err=True)


class LiveTable:
    """The arms most likely to be best, redrawn as values come in; NO_COLOR is respected."""

    def __init__(self, experiment: "Experiment") -> None:
        from rich.console import Console
        from rich.live import Live

        self._experiment = experiment
        self._live = Live(console=Console(stderr=True), auto_refresh=False, transient=False)
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
        failed = isinstance(result, BaseException)
        self._last = f"{trial.name}: {'failed: ' + str(result) if failed else format(result, 'g')}"
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
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("arm", overflow="ellipsis", no_wrap=True, max_width=32)
        for head in ("evaluations", "mean", "90 % interval"):
            table.add_column(head, justify="right", no_wrap=True)
        table.add_column("chance to be best", no_wrap=True)
        spread = float((high - low).min()) / 2
        ranked = sorted(range(len(chance)), key=lambda k: -chance[k])
        for k in ranked[:_ROWS]:
            arm = status.arms[k]
            bar = "█" * round(_BAR * chance[k])
            table.add_row(
                Text(arm.name, style="bold" if k == posterior.best else ""),
                f"{arm.evaluations + arm.history:,}",
                legible(posterior.mean[k], spread),
                f"{legible(low[k], spread)} to {legible(high[k], spread)}",
                Text(f"{chance[k]:4.0%} {bar}"),
            )
        rest = len(ranked) - _ROWS
        foot = f"{status.spent:g} of {status.budget:g} spent" + (f", {rest} more arms" if rest > 0 else "")
        foot += f", {status.failed} failed" if status.failed else ""
        self._live.update(Group(table, Text(f"{foot}   {self._last}", style="dim", no_wrap=True, overflow="ellipsis")))
        self._live.refresh()
        done = time.monotonic()
        self._next = done + max(_EVERY, _SHARE * (done - began))
