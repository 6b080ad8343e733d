"""`bestarm tell NAME TRIAL VALUE`: what an evaluation gave."""

import click

from bestarm.cli.options import as_json, form_option, store_option
from bestarm.errors import InputError
from bestarm.validation import shown


@click.command(context_settings={"ignore_unknown_options": True})  # -0.5 is a value
@click.argument("name")
@click.argument("trial")
@click.argument("values", nargs=-1)
@click.option("--mean", type=float, default=None, help="Of several evaluations, with --n and --sem.")
@click.option("--sem", type=float, default=None, help="Standard error of that mean.")
@click.option("--n", type=int, default=None, help="How many evaluations it is of.")
@click.option("--failed", is_flag=True, help="It gave nothing.")
@click.option("--refund", is_flag=True, help="With --failed: it did not cost anything either.")
@click.option("--history", is_flag=True, help="TRIAL is an arm, evaluated elsewhere; spends nothing.")
@store_option
@form_option("table", "json")
def tell(
    name: str,
    trial: str,
    values: tuple[str, ...],
    mean: float | None,
    sem: float | None,
    n: int | None,
    failed: bool,
    refund: bool,
    history: bool,
    store: str,
    form: str,
) -> None:
    """Store the value (or values) of a trial of the experiment NAME."""
    from bestarm.experiment.experiment import Experiment

    given = [_number(value) for value in values]
    one = {"value": given[0]} if len(given) == 1 else {"values": given} if given else {}
    experiment = Experiment.open(store, name)
    stored = True
    if history:
        if failed or refund:
            raise InputError("--failed and --refund are for trials; expected them without --history")
        experiment.add(trial, **one, mean=mean, sem=sem, n=n)
    else:
        number = int(trial) if trial.isascii() and trial.isdigit() and len(trial) < 10 else 0
        if number < 1:
            raise InputError(f"trial is {shown(trial)}; expected the number that ask gave")
        if failed:
            if given or mean is not None:
                raise InputError("--failed and a value are given; expected one of them")
            stored = experiment.fail(number, refund)
        elif refund:
            raise InputError("--refund is given without --failed; expected both")
        else:
            stored = experiment.tell(number, **one, mean=mean, sem=sem, n=n)
    status = experiment.status()
    about = {"experiment": name, "stored": stored, "spent": status.spent, "budget": status.budget}
    if form == "json":
        click.echo(as_json(about | {"state": status.state}))
        return
    click.echo(f"{'stored' if stored else 'not stored'}; {status.spent:g} of {status.budget:g} spent, {status.state}")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"value is {shown(text)}; expected a number") from None
