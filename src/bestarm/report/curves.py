"""What a picture shows, as data: curves with their standard errors, in panels; and the table beside each picture."""

import csv
import io
from dataclasses import dataclass
from typing import Any

from bestarm.validation import Array

__all__ = ["Curve", "Figure", "Panel", "as_csv"]


@dataclass(frozen=True, eq=False)
class Curve:
    """y ± stderr at x, (N,) each; label: what the legend says, which also fixes colour and marker."""

    label: str
    x: Array
    y: Array
    stderr: Array


@dataclass(frozen=True, eq=False)
class Panel:
    """Curves that share axes; bars: x are positions of bars, with `ticks` under them."""

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    log_y: bool = False
    ticks: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Figure:
    """name: of its files. where: in the paper. alt: what a person who does not see it should know."""

    name: str
    title: str
    where: str
    alt: str
    panels: tuple[Panel, ...]
    settings: dict[str, Any]


def as_csv(figure: Figure) -> str:
    """Every number of a figure: panel, curve, x, y, stderr; settings in comment lines before them."""
    out = io.StringIO()
    for key, value in figure.settings.items():
        out.write(f"# {key}: {value}\n")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["panel", "curve", "x", "y", "stderr"])
    for panel in figure.panels:
        for curve in panel.curves:
            for x, y, stderr in zip(curve.x, curve.y, curve.stderr, strict=True):
                writer.writerow([panel.title, curve.label, f"{x:.10g}", f"{y:.8g}", f"{stderr:.3g}"])
    return out.getvalue()
