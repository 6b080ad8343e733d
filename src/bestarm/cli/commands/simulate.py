"""`bestarm simulate prior.yaml --budget 300`: which policy should I use here?"""

from typing import Any

import click
import numpy as np

from bestarm.checks.robustness import robustness, robustness_sentence
from bestarm.cli.options import formatted, table_text
from bestarm.design.plans import plan
from bestarm.errors import InputError
from bestarm.models.files import load
from bestarm.models.gaussian import Gaussian
from bestarm.simulation.engine import simulate as run

_TELLING = 0.02  # a difference in the probability of error that should be seen before policies are called alike
_POLICIES = "uniform,g,bound-mix,tie,anchored,sh,ts,ts-tci,rolling"


@click.command()
@click.argument("prior", type=click.Path())
@click.option("--budget", "budgets", type=click.IntRange(1), multiple=True, required=True, help="May be given again.")
@click.option("--policies", default=_POLICIES, show_default=True, help="Names, separated by commas.")
@click.option("--runs", type=click.IntRange(2), default=2000, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--batch", type=click.IntRange(1), default=None, help="Most evaluations between two looks.")
@click.option("--out", type=click.Path(dir_okay=False), default=None, help="File to keep results in and go on from.")
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
def simulate(
    prior: str,
    budgets: tuple[int, ...],
    policies: str,
    runs: int,
    seed: int,
    batch: int | None,
    out: str | None,
    form: str,
) -> None:
    """Which policy to use for the model file PRIOR: errors of each on the same simulated worlds."""
    model = load(prior)
    names = [name.strip() for name in policies.split(",")]
    results = run(model, names, sorted(set(budgets)), runs, seed, out=out, progress=True, batch=batch)
    table = results.table()
    if form != "table":
        rows = [dict(zip(table.dtype.names or (), row.tolist(), strict=True)) for row in table]
        click.echo(formatted(form, rows, {"runs": runs, "seed": seed}))
        return
    for budget in results.budgets:
        ranked = sorted((row for row in table if row["budget"] == budget), key=lambda row: float(row["error"]))
        click.echo(f"budget {budget:g}")
        click.echo(
            table_text(
                [
                    {
                        "policy": str(row["policy"]),
                        "error": f"{row['error']:.4f} ± {row['error_se']:.4f}",
                        "regret": f"{row['regret']:.3g} ± {row['regret_se']:.1g}",
                    }
                    for row in ranked
                ]
            )
        )
        click.echo(_verdict(results, [str(row["policy"]) for row in ranked], budget))
        if isinstance(model, Gaussian) and model.num_arms <= 60:
            _robustness(model, int(budget))
        click.echo()


def _verdict(results: Any, ranked: list[str], budget: float) -> str:
    """The best, those that are not told apart from it, and whether uniform is one of them."""
    best, close = ranked[0], []
    for other in ranked[1:]:
        gap = results.outcome(other, budget) - results.outcome(best, budget)
        if gap.mean() < 2 * gap.std(ddof=1) / np.sqrt(len(gap)) + 0.002:
            close.append(other)
    if best == "uniform" or "uniform" in close:
        spread = float((results.outcome("uniform", budget) - results.outcome(best, budget)).std(ddof=1))
        if best != "uniform" and 2 * spread / np.sqrt(results.settings["runs"]) > _TELLING:
            return (
                f"{best} is ahead, but {results.settings['runs']:,} runs are too few to tell it from uniform (--runs)."
            )
        return "Uniform is as good as anything here."
    if not close:
        return f"Use {best}."
    return f"Use {best}; {', '.join(close)} {'is' if len(close) == 1 else 'are'} not told apart from it."


def _robustness(model: Gaussian, budget: int) -> None:
    """What the plan loses under wrong priors."""
    counts = plan(model, budget).counts
    try:
        table = robustness(model, counts, (0.0, 1.0, 2.0), (1.0, 2.0))
    except InputError:
        return
    click.echo(
        "\na plan made beforehand, if prior means are off by so many sds, and true sds so many times the prior's:"
    )
    shown = [
        {
            "off by": f"{row['shift']:g}",
            "sds times": f"{row['factor']:g}",
            "error of the plan": f"{row['error']:.3f}",
            "even split, averages alone": f"{row['even']:.3f}",
        }
        for row in table
    ]
    click.echo(table_text(shown))
    click.echo(robustness_sentence(model, counts))
