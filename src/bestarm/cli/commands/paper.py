"""`bestarm paper`: the paper's figures, one or all, with their numbers beside them."""

import os
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import click

from bestarm.errors import InputError

_QUICK_RUNS, _QUICK_BUDGETS = 200, 3


@click.command()
@click.argument("names", nargs=-1, metavar="[FIGURE]... | all")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("results"), show_default=True)
@click.option("--runs", type=click.IntRange(2), default=10_000, show_default=True, help="Of each policy and budget.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of priors and worlds.")
@click.option("--quick", is_flag=True, help=f"{_QUICK_RUNS} runs, {_QUICK_BUDGETS} budgets.")
@click.option("--as-published", is_flag=True, help="The authors' variants, where options bring them back.")
@click.option(
    "--reading", "readings", multiple=True, metavar="NAME", help="Take the other reading of that name; repeatable."
)
@click.option("--movies", type=click.Path(), default=None, help="MovieLens: the ml-1m folder or zip.")
@click.option("--jobs", type=click.IntRange(1), default=None, help="Processes; as many as there are cores.")
def paper(
    names: tuple[str, ...],
    out: Path,
    runs: int,
    seed: int,
    quick: bool,
    as_published: bool,
    readings: tuple[str, ...],
    movies: str | None,
    jobs: int | None,
) -> None:
    """Make figures of the paper; without a name, list them. Cut short, the same command goes on."""
    from bestarm.paper.claims_page import claims_page
    from bestarm.paper.figures import FIGURES, make
    from bestarm.paper.lab import NOT_PUBLISHED, PUBLISHED, Lab
    from bestarm.paper.settings import READINGS, checked_readings
    from bestarm.report.curves import as_csv
    from bestarm.report.gallery import gallery
    from bestarm.report.plots import draw

    taken = checked_readings(readings)
    if not names:
        width = max(map(len, FIGURES))
        for name, recipe in FIGURES.items():
            click.echo(f"{name:<{width}}  {recipe.title} ({recipe.where})")
        click.echo("\nbestarm paper NAME makes one, bestarm paper all makes all, with a page")
        click.echo("\nWhere the paper can be read in two ways, --reading NAME takes the other one:")
        for name, choice in READINGS.items():
            click.echo(f"{name:<{width}}  {choice.what}: {choice.other} (else {choice.here})")
        return
    chosen = list(FIGURES) if "all" in names else list(names)
    for name in chosen:
        if name not in FIGURES:
            raise InputError(f"figure is {name!r}; expected 'all' or one of {', '.join(FIGURES)}")
    if "fig-main-movielens" in chosen and movies is None:
        if "all" not in names:
            raise InputError("fig-main-movielens needs the data; expected --movies with the ml-1m folder or zip")
        chosen.remove("fig-main-movielens")
        click.echo("paper: fig-main-movielens is left out; it needs --movies with the ml-1m folder or zip", err=True)
    out.mkdir(parents=True, exist_ok=True)
    started, made = time.perf_counter(), []
    with ProcessPoolExecutor(jobs or os.cpu_count()) as pool:
        lab = Lab(
            out / "simulations",
            runs=_QUICK_RUNS if quick else runs,
            budgets=_QUICK_BUDGETS if quick else 0,
            seed=seed,
            published=as_published,
            readings=taken,
            movies=movies,
            executor=pool,
        )
        for place, name in enumerate(chosen, 1):
            begun = time.perf_counter()
            figure = make(name, lab)
            draw(figure, out)
            (out / f"{name}.csv").write_text(as_csv(figure), encoding="utf-8")
            made.append(figure)
            click.echo(f"paper: {place}/{len(chosen)} {name}, {time.perf_counter() - begun:.0f} s", err=True)
        if "all" in names:
            (out / "claims.md").write_text(claims_page(lab), encoding="utf-8")
    introduction = [
        "Figures of “Prior-Dependent Allocations for Bayesian Fixed-Budget Best-Arm Identification in Structured "
        "Bandits” (AISTATS 2025), computed again by bestarm; bands are one standard error.",
    ]
    variants = [(name, variant.differs) for name, variant in PUBLISHED.items()] if as_published else []
    if as_published:
        introduction.append(f"Policies in the table at the end are played as in the authors' code. {NOT_PUBLISHED}")
    page = out / "index.html"
    page.write_text(gallery("The paper, reproduced", introduction, made, lab.choices, variants), encoding="utf-8")
    click.echo(f"{page} ({len(made)} figures, {time.perf_counter() - started:.0f} s)")
