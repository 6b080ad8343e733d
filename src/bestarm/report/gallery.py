"""A page of figures, each next to its numbers: self-contained but for the pictures beside it."""

from collections.abc import Sequence
from html import escape

from bestarm.report.curves import Figure, Panel, spoken

__all__ = ["gallery"]

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }
img { max-width: 100%; height: auto; background: white; }
figure { margin: 2rem 0; } figcaption { margin: .5rem 0; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .85rem; }
th, td { padding: .15rem .6rem; text-align: right; border-bottom: 1px solid #8884; }
th:first-child, td:first-child { text-align: left; }
@media print { details { display: block; } }
"""


def gallery(
    title: str,
    introduction: Sequence[str],
    figures: Sequence[Figure],
    choices: Sequence[tuple[str, str, str, str]],
    published: Sequence[tuple[str, str]] = (),
) -> str:
    """The HTML page, with tables at the end. choices: (what, how the paper has it, what is taken, the name of the other
    reading). published: (policy, how it differs), of policies played as in the authors' code.
    """
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        f"<meta name='viewport' content='width=device-width, initial-scale=1'><title>{escape(title)}</title>",
        f"<style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>",
        *(f"<p>{escape(sentence)}</p>" for sentence in introduction),
        "<nav><ul>"
        + "".join(f"<li><a href='#{f.name}'>{escape(f.title)}</a> ({escape(f.where)})</li>" for f in figures)
        + "</ul></nav>",
    ]
    for figure in figures:
        about = ", ".join(f"{key} {value}" for key, value in figure.settings.items())
        parts.append(
            f"<figure id='{figure.name}'><h2>{escape(figure.title)}</h2>"
            f"<img src='{figure.name}.svg' alt='{escape(spoken(figure), quote=True)}' loading='lazy'>"
            f"<figcaption>{escape(figure.alt)}. {escape(figure.where)}; {escape(about)}. "
            f"<a href='{figure.name}.csv'>numbers</a> · <a href='{figure.name}.png'>png</a></figcaption>"
            f"<details><summary>The numbers</summary>{''.join(map(_numbers, figure.panels))}</details></figure>"
        )
    if published:
        parts.append(_words("What is played as published", ("policy", "how it differs"), published))
    parts.append(_words("What was chosen", ("what", "in the paper", "here", "--reading"), choices))
    return "".join(parts) + "</body></html>\n"


def _words(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of sentences under its title."""
    head = "".join(f"<th>{escape(each)}</th>" for each in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<h2>{escape(title)}</h2><div class='wide'><table><tr>{head}</tr>{body}</table></div>"


def _numbers(panel: Panel) -> str:
    """A table of one panel: a row for each curve, a column for each x; y ± one standard error."""
    heads = panel.ticks or tuple(f"{x:g}" for x in panel.curves[0].x)
    head = "".join(f"<th>{escape(x)}</th>" for x in heads)
    rows = []
    for curve in panel.curves:
        cells = "".join(
            f"<td>{y:.4g}{f' ± {stderr:.1g}' if stderr else ''}</td>"
            for y, stderr in zip(curve.y, curve.stderr, strict=True)
        )
        rows.append(f"<tr><td>{escape(curve.label)}</td>{cells}</tr>")
    caption = f"{panel.title}: {panel.y_label} by {panel.x_label}"
    top = f"<caption>{escape(caption)}</caption><tr><th></th>{head}</tr>"
    return f"<div class='wide'><table>{top}{''.join(rows)}</table></div>"
