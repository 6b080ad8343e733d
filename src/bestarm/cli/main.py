"""The entry point: the list of commands, and the one place where errors become sentences."""

import io
import os
import re
import sys
import warnings

import click

import bestarm
from bestarm.cli.commands.analyze import analyze
from bestarm.cli.commands.ask import ask
from bestarm.cli.commands.budget import budget
from bestarm.cli.commands.create import create
from bestarm.cli.commands.demo import demo
from bestarm.cli.commands.export import export
from bestarm.cli.commands.extend import extend
from bestarm.cli.commands.learn import learn
from bestarm.cli.commands.paper import paper
from bestarm.cli.commands.plan import plan
from bestarm.cli.commands.recommend import recommend
from bestarm.cli.commands.report import report
from bestarm.cli.commands.run import run
from bestarm.cli.commands.simulate import simulate
from bestarm.cli.commands.status import status
from bestarm.cli.commands.tell import tell
from bestarm.errors import BestarmError, BestarmWarning


class _InOrder(click.Group):
    """Commands in the order in which people need them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=_InOrder, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(bestarm.__version__, prog_name="bestarm")
def cli() -> None:
    """Choose the best of K options with a fixed number of noisy evaluations."""


_COMMANDS = (
    demo,
    plan,
    budget,
    simulate,
    learn,
    analyze,
    create,
    run,
    ask,
    tell,
    recommend,
    status,
    extend,
    export,
    report,
    paper,
)
for command in _COMMANDS:
    cli.add_command(command)


def main() -> None:
    """Run the command line; a bad input is one sentence on stderr and exit code 2."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever called
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # an old terminal shows a question mark for what it cannot write
    warnings.simplefilter("always", BestarmWarning)
    warnings.showwarning = lambda message, *_: click.echo(f"bestarm: {message}", err=True)
    try:
        sys.exit(cli(prog_name="bestarm", standalone_mode=False))
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(2)
    except click.ClickException as error:
        if isinstance(error, click.UsageError) and error.ctx is not None:
            click.echo(error.ctx.get_usage(), err=True)
        click.echo(f"bestarm: {without_secrets(error.format_message())}", err=True)
        sys.exit(2)
    except (BestarmError, OSError) as error:
        click.echo(f"bestarm: {without_secrets(str(error))}", err=True)
        sys.exit(2)
    except click.exceptions.Abort:
        sys.exit(130)


def without_secrets(text: str) -> str:
    """Addresses without their passwords, wherever somebody put one."""
    hidden = re.sub(r"(\w+:?//?[^\s:/@]*):\S*@", r"\1:***@", text)
    return re.sub(r"(password=)[^\s&']*", r"\1***", hidden)
