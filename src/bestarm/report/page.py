"""`bestarm report`: one self-contained HTML file of an experiment, for a person who was not there.

No script, no font, no address: it opens from a disk, prints, and reads in the dark and on a telephone. Bars and
intervals are table cells, so that every chart is its own table; lines are SVG with a table beside them.
"""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from bestarm.estimate import legible
from bestarm.validation import Array, shortened, visible

if TYPE_CHECKING:
    from bestarm.experiment.story import Story

__all__ = ["report_page"]

_ROWS, _LINES = 100, 5  # arms in tables, and among lines
_DASHES = ("", "6 3", "2 2", "8 3 2 3", "1 3")
_STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --soft: #5c5c5c; --rule: #d8d8d8; --bar: #9cc5e0;
  --s0: #0072b2; --s1: #b34d00; --s2: #007a58; --s3: #a64d83; --s4: #6b5400; }
@media (prefers-color-scheme: dark) { :root { --ink: #ececec; --paper: #16181a; --soft: #a8a8a8; --rule: #3a3d40;
  --bar: #235a7c; --s0: #56b4e9; --s1: #f0883e; --s2: #3fc79a; --s3: #dd9cc4; --s4: #d9c25a; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 56rem;
  margin: 0 auto; padding: 1.5rem 1rem 3rem; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 2.25rem 0 .5rem; }
.about, caption, .note { color: var(--soft); font-size: .9rem; }
.decision { font-size: 1.15rem; border-left: .3rem solid var(--s0); padding: .25rem 0 .25rem 1rem; margin: 1.25rem 0; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .92rem; }
caption { text-align: left; padding-bottom: .35rem; }
th, td { text-align: right; padding: .25rem .4rem; border-bottom: 1px solid var(--rule); vertical-align: middle; }
th { font-weight: 600; } th:first-child, td:first-child { text-align: left; width: 32%; }
td.bar { width: 40%; } .track { position: relative; height: 1rem; }
.track i { position: absolute; top: .2rem; bottom: .2rem; background: var(--bar); min-width: 1px; }
.track b { position: absolute; top: 0; bottom: 0; width: 2px; margin-left: -1px; background: var(--ink); }
tr.pick td:first-child { font-weight: 700; }
.wide { overflow-x: auto; } .wide td, .wide th { width: auto; white-space: nowrap; }
.chart td:first-child { white-space: normal; min-width: 7rem; width: 34%; }
.chart td.bar { width: 30%; min-width: 5.5rem; } .chart th { white-space: normal; overflow-wrap: normal; }
svg { display: block; width: 100%; max-width: 34rem; height: auto; font: 11px system-ui, sans-serif; }
svg text { fill: var(--ink); } svg .grid { stroke: var(--rule); } svg .line { fill: none; stroke-width: 1.8; }
@media print { body { max-width: none; padding: 0; } h2 { break-after: avoid; } tr, svg { break-inside: avoid; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""


def report_page(story: "Story") -> str:
    """The page, as text."""
    status, found = story.status, story.recommendation
    names = [arm.name for arm in status.arms]
    way = "larger is better" if status.direction == "maximize" else "smaller is better"
    ranked = sorted(range(len(names)), key=lambda k: (-story.chance[k], k))
    title = f"Experiment {status.name}"
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        "<link rel='icon' href='data:,'>",  # or a browser would ask for one
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><main>",
        f"<h1>{_name(title)}</h1>",
        f"<p class='about'>{len(names):,} options, {status.spent:g} of a budget of {status.budget:g} spent "
        f"({escape(status.state)}), policy {escape(status.policy)}, {way}.</p>",
        f"<p class='decision'><bdi>{escape(visible(found.text))}</bdi></p>",
        f"<p>The recommended option is <strong>{_name(found.name)}</strong>. Chance that it is "
        f"{'the best' if not found.margin else f'within {found.margin:g} of the best'}: "
        f"<strong>{_chance(float(found.chance))}</strong>"
        f"{_plus_minus(found.chance)}. "
        f"Expected loss of picking it: {escape(format(found.expected_loss, '.2g'))}.</p>",
        *(f"<p class='note'>{escape(note)}</p>" for note in story.notes),
        "<h2>Where the evaluations went</h2>",
        _allocation(story, ranked),
        "<h2>What each option is worth</h2>",
        _intervals(story, ranked),
        "<h2>Chance to be best, as evaluations came in</h2>",
        _over_time(story, ranked[:_LINES], names),
        "<h2>Chance of being wrong against the budget</h2>",
        _against_budget(story),
        f"<p class='note'>From {escape(_when(story.began))} to {escape(_when(story.ended))}, seed {story.seed}, "
        f"bestarm {escape(story.version)}. Means are posterior means: averages, drawn towards what is known of all "
        "options where evaluations are few. Intervals hold the true value with a chance of 90 %.</p>",
        "</main></body></html>\n",
    ]
    return "".join(parts)


def _name(text: str) -> str:
    """A name that is no markup, and whose writing direction is its own."""
    return f"<bdi>{escape(visible(text))}</bdi>"


def _plus_minus(chance: object) -> str:
    stderr = float(getattr(chance, "stderr", 0.0))
    return f" ± {stderr:.1%}" if stderr >= 0.0005 else ""


def _when(at: str) -> str:
    return f"{at[:16].replace('T', ' ')} UTC"


def _more(ranked: Sequence[int]) -> str:
    left = len(ranked) - _ROWS
    return f" The {_ROWS} most likely to be best; {left:,} more are left out." if left > 0 else ""


def _allocation(story: "Story", ranked: Sequence[int]) -> str:
    arms = story.status.arms
    most, spread = max((arm.evaluations for arm in arms), default=0) or 1, _spread(story)
    rows = []
    for k in ranked[:_ROWS]:
        arm = arms[k]
        share = 100 * arm.evaluations / most
        history = f"{arm.history:,}" if any(a.history for a in arms) else None
        rows.append(
            f"<tr{_pick(story, k)}><td>{_name(arm.name)}</td><td class='bar'><div class='track'>"
            f"<i style='left:0;width:{share:.1f}%'></i></div></td><td>{arm.evaluations:,}</td>"
            + (f"<td>{history}</td>" if history is not None else "")
            + (f"<td>{arm.failed:,}</td>" if story.status.failed else "")
            + f"<td>{_number(arm.mean, spread)}</td></tr>"
        )
    heads = ["option", "", "evalu\u00adations"]  # may be broken there, on a telephone
    heads += ["history"] * any(a.history for a in arms) + ["failed"] * bool(story.status.failed) + ["raw mean"]
    return _table(f"Evaluations of each option.{_more(ranked)}", heads, rows)


def _intervals(story: "Story", ranked: Sequence[int]) -> str:
    shown = ranked[:_ROWS]
    least, most = float(story.low[shown].min()), float(story.high[shown].max())
    width, spread = (most - least) or 1.0, _spread(story)
    rows = []
    for k in shown:
        left, right = ((float(bound[k]) - least) / width * 100 for bound in (story.low, story.high))
        middle = (float(story.mean[k]) - least) / width * 100
        rows.append(
            f"<tr{_pick(story, k)}><td>{_name(story.status.arms[k].name)}</td>"
            f"<td>{_chance(float(story.chance[k]))}</td><td class='bar'><div class='track'>"
            f"<i style='left:{left:.1f}%;width:{right - left:.1f}%'></i><b style='left:{middle:.1f}%'></b></div></td>"
            f"<td>{_number(story.mean[k], spread)}</td>"
            f"<td>{_number(story.low[k], spread)} to {_number(story.high[k], spread)}</td></tr>"
        )
    heads = ["option", "chance to be best", "", "mean", "90 % interval"]
    scale = f"on a scale from {_number(least, spread)} to {_number(most, spread)}"
    return _table(f"Posterior mean (line) and 90 % interval (bar), {scale}.{_more(ranked)}", heads, rows)


def _over_time(story: "Story", arms: Sequence[int], names: Sequence[str]) -> str:
    lines = [(names[k], story.chances[:, k]) for k in arms]
    heads = ["evaluations", *(shortened(names[k], 24) for k in arms)]
    table = _numbers(heads, story.looks, [values for _, values in lines])
    what = (
        f"Chance to be best of the {len(arms)} options that lead now" if len(names) > len(arms) else "Chance to be best"
    )
    return _lines(what, "evaluations", [(name, story.looks, y) for name, y in lines]) + table


def _against_budget(story: "Story") -> str:
    lines = [("this experiment", story.spent, story.wrong)]
    if len(story.budgets):
        lines.append(("a plan made beforehand, expected", story.budgets, story.expected))
    drawn = _lines("Chance that the option picked is not the best", "budget spent", lines)
    table = _numbers(["budget spent", "this experiment"], story.spent, [story.wrong])
    if len(story.budgets):
        table += _numbers(["budget", "a plan made beforehand"], story.budgets, [story.expected])
    return drawn + table


def _pick(story: "Story", k: int) -> str:
    return " class='pick'" if k == story.recommendation.arm else ""


def _table(caption: str, heads: Sequence[str], rows: Sequence[str]) -> str:
    top = "".join(f"<th scope='col'>{escape(head)}</th>" for head in heads)
    inside = f"<caption>{escape(caption)}</caption><tr>{top}</tr>{''.join(rows)}"
    return f"<div class='wide chart'><table>{inside}</table></div>"


def _numbers(heads: Sequence[str], x: Array, columns: Sequence[Array]) -> str:
    """A table of a few moments, evenly chosen."""
    few = np.unique(np.round(np.linspace(0, len(x) - 1, min(len(x), 9))).astype(int))
    top = "".join(f"<th scope='col'>{_name(head)}</th>" for head in heads)
    rows = "".join(
        f"<tr><td>{x[t]:,.6g}</td>" + "".join(f"<td>{_chance(float(c[t]))}</td>" for c in columns) + "</tr>"
        for t in few
    )
    return f"<div class='wide'><table><tr>{top}</tr>{rows}</table></div>"


def _lines(label: str, x_label: str, lines: Sequence[tuple[str, Array, Array]]) -> str:
    """Chances (0 to 1) against evaluations, as SVG; lines differ in colour and in dash, and stand in a legend."""
    left, top, wide, high = 40.0, 10.0, 308.0, 160.0
    most = max(float(x[-1]) for _, x, _ in lines) or 1.0
    parts = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        level = top + high * (1 - share)
        parts.append(f"<line class='grid' x1='{left}' x2='{left + wide}' y1='{level:.1f}' y2='{level:.1f}'/>")
        parts.append(f"<text x='{left - 5}' y='{level + 4:.1f}' text-anchor='end'>{share:.0%}</text>")
    for tick in _ticks(most):
        at = left + wide * tick / most
        parts.append(f"<text x='{at:.1f}' y='{top + high + 15}' text-anchor='middle'>{tick:,g}</text>")
    parts.append(f"<text x='{left + wide / 2}' y='{top + high + 30}' text-anchor='middle'>{escape(x_label)}</text>")
    legend = top + high + 46
    for place, (name, x, y) in enumerate(lines):
        points = " ".join(
            f"{left + wide * float(a) / most:.1f},{top + high * (1 - min(max(float(b), 0.0), 1.0)):.1f}"
            for a, b in zip(x, y, strict=True)
        )
        look = f"class='line' stroke='var(--s{place % 5})' stroke-dasharray='{_DASHES[place % 5]}'"
        parts.append(f"<polyline {look} points='{points}'/>")
        at = legend + 16 * place
        parts.append(f"<line {look} x1='{left}' x2='{left + 28}' y1='{at - 4}' y2='{at - 4}'/>")
        parts.append(f"<text x='{left + 34}' y='{at}'>{escape(shortened(name, 44))}</text>")
    height = legend + 16 * (len(lines) - 1) + 8
    about = f"viewBox='0 0 360 {height:.0f}' role='img' aria-label='{escape(label, quote=True)}'"
    return f"<svg {about}>{''.join(parts)}</svg>"


def _ticks(most: float) -> list[float]:
    step = 10.0 ** np.floor(np.log10(most)) if most > 0 else 1.0
    for factor in (0.2, 0.25, 0.5, 1.0, 2.0):
        if most / (step * factor) <= 5.5 and (step * factor >= 1 or most < 1):
            return [float(t) for t in np.arange(0, most * (1 + 1e-9), step * factor)]
    return [0.0, most]


def _spread(story: "Story") -> float:
    """Half the width of the narrowest interval: what numbers of this experiment mean anything to."""
    return float((story.high - story.low).min()) / 2


def _number(value: float, spread: float) -> str:
    return legible(float(value), spread).replace("-", "−") if np.isfinite(value) else "–"


def _chance(value: float) -> str:
    if 0 < value < 0.001:
        return "&lt;0.1%"
    if 0.999 < value < 1:
        return "&gt;99.9%"
    return f"{value:.1%}"
