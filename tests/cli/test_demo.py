"""`bestarm demo` fits on a screen, repeats itself, and refuses bad options in a sentence."""

from click.testing import CliRunner

import bestarm
from bestarm.cli.main import cli


def run(*args):
    return CliRunner().invoke(cli, args)


def test_a_screenful():
    done = run("demo")
    assert done.exit_code == 0
    lines = done.output.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 100
    for word in (
        "budget",
        "plan",
        "even split",
        "prior",
        "posterior",
        "chance to be best",
        "Decision",
        "simulated world",
    ):
        assert word in done.output
    assert run("demo").output == done.output
    assert run("demo", "--seed", "1").output != done.output


def test_odd_budgets():
    for budget in (0, 1, 7, 10**9):
        assert run("demo", "--budget", str(budget)).exit_code == 0


def test_bad_options():
    for args in (
        ["demo", "--budget", "-1"],
        ["demo", "--budget", "x"],
        ["demo", "--seed", "-1"],
        ["nothing"],
    ):
        done = run(*args)
        assert done.exit_code == 2
        assert "Traceback" not in done.output
    assert bestarm.__version__ in run("--version").output
