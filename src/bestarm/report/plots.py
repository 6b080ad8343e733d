"""Figures as PNG and SVG (extra [plot]). A policy has the same colour, marker and place in the legend everywhere."""

from pathlib import Path
from typing import Any

import numpy as np

from bestarm.errors import InputError
from bestarm.report.curves import Figure, Panel

__all__ = ["ORDER", "draw", "style"]

# Okabe and Ito's colours, told apart by colour-blind readers; markers and dashes tell them apart in grey
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8A6D00")
_MARKERS = "osD^v<>PX*ph"
_DASHES = ("-", "--", "-.", ":")
ORDER = (
    "uniform", "bound-mix", "g", "warmup-ts", "ts-tci", "sh", "sr", "bayes-elim",
    "tie", "anchored", "rolling", "bayesgap", "gse", "heuristic", "bound", "joint-ts-tci",
    "joint-ttts", "joint-t3c", "joint-ts", "ts", "ttts", "t3c", "warmup-ttts", "warmup-t3c", "warmup-ts-tci",
    "gse-greedy", "elim:uniform", "elim:bound-mix", "elim:g", "elim:tie", "elim:heuristic", "elim:anchored",
    # and of what figures compare besides policies
    "right prior", "random", "misspecified", "learned online", "hierarchical", "marginal",
    "α = 0", "α = 0.1", "α = 0.25", "α = 0.3", "α = 0.5", "α = 0.75", "α = 1", "1 K", "2 K", "3 K",
)  # fmt: skip


def style(label: str) -> dict[str, Any]:
    """Colour, marker and dash of a curve: by its place in ORDER, or by its name."""
    place = ORDER.index(label) if label in ORDER else len(ORDER) + sum(map(ord, label))
    return {
        "color": _COLOURS[place % len(_COLOURS)],
        "marker": _MARKERS[place % len(_MARKERS)],
        "linestyle": _DASHES[place // len(_COLOURS) % len(_DASHES)],
    }


def draw(figure: Figure, folder: Path) -> list[Path]:
    """Write <name>.png and <name>.svg: means with a band of one standard error."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        raise InputError("drawing needs matplotlib; expected `pip install bestarm[plot]`") from None
    columns = 3 if len(figure.panels) in (5, 6) else min(len(figure.panels), 4)
    rows = -(-len(figure.panels) // columns)
    with mpl.rc_context(
        {"svg.hashsalt": figure.name, "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    ):
        canvas = Canvas(figsize=(4.2 * columns, 3.3 * rows + 0.6), layout="constrained")
        axes = canvas.subplots(rows, columns, squeeze=False)
        for panel, ax in zip(figure.panels, axes.flat, strict=False):
            _panel(panel, ax)
        for ax in axes.flat[len(figure.panels) :]:
            ax.set_axis_off()
        handles = {
            text: handle for ax in axes.flat for handle, text in zip(*ax.get_legend_handles_labels(), strict=True)
        }
        known = sorted(handles, key=lambda text: (ORDER.index(text) if text in ORDER else len(ORDER), text))
        canvas.legend(
            [handles[text] for text in known],
            known,
            loc="outside lower center",
            ncols=max(1, min(len(known), int(canvas.get_figwidth() / (0.55 + 0.08 * max(map(len, known)))))),
            frameon=False,
        )
        canvas.suptitle(figure.title)
        paths = [folder / f"{figure.name}.png", folder / f"{figure.name}.svg"]
        about = "; ".join(f"{key}: {value}" for key, value in figure.settings.items())
        canvas.savefig(paths[0], dpi=130, metadata={"Description": about})
        canvas.savefig(paths[1], metadata={"Description": about, "Date": None})
    return paths


def _panel(panel: Panel, ax: Any) -> None:
    if panel.ticks:
        width = 0.8 / len(panel.curves)
        for place, curve in enumerate(panel.curves):
            look = style(curve.label)
            at = curve.x + (place - (len(panel.curves) - 1) / 2) * width
            ax.bar(
                at,
                curve.y,
                width,
                yerr=curve.stderr,
                label=curve.label,
                color=look["color"],
                edgecolor="black",
                linewidth=0.5,
            )
        ax.set_xticks(np.arange(len(panel.ticks)), panel.ticks)
    else:
        for curve in panel.curves:
            look = style(curve.label)
            every = max(1, len(curve.x) // 10)
            ax.plot(curve.x, curve.y, label=curve.label, markersize=4, linewidth=1.2, markevery=every, **look)
            ax.fill_between(
                curve.x, curve.y - curve.stderr, curve.y + curve.stderr, color=look["color"], alpha=0.2, linewidth=0
            )
    if panel.log_y:
        ax.set_yscale("log")
    ax.set_title(panel.title, fontsize=9)
    ax.set_xlabel(panel.x_label)
    ax.set_ylabel(panel.y_label)
    ax.grid(alpha=0.25, linewidth=0.5)
