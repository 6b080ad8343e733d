"""What a picture shows, as data: curves with their standard errors, in panels; and the table beside each picture."""

import csv
import io
from dataclasses import dataclass
from typing import Any

from bestarm.validation import Array

__all__ = ["Curve", "Figure", "Panel", "as_csv", "spoken"]


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
    """name: of its files. where: in the paper. alt: what kind of picture it is, for who does not see it."""

    name: str
    title: str
    where: str
    alt: str
    panels: tuple[Panel, ...]
    settings: dict[str, Any]


def spoken(figure: Figure) -> str:
    """The picture in words: what kind it is, and the least and the largest curve at both ends of every panel."""
    said = [figure.alt]
    for panel in figure.panels:
        ends = []
        for at in (0, -1):
            ranked = sorted(panel.curves, key=lambda curve: float(curve.y[at]))
            where = panel.ticks[at] if panel.ticks else f"{ranked[0].x[at]:g}"
            parts = [f"{curve.label} {curve.y[at]:.3g}" for curve in dict.fromkeys((ranked[0], ranked[-1]))]
            ends.append(
                f"at {panel.x_label} {where} from {' to '.join(parts)}" if ranked[1:] else f"{parts[0]} at {where}"
            )
        said.append(f"{panel.title}, {panel.y_label}: {', '.join(ends)}")
    return ". ".join(said)


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
