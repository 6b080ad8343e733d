"""`bestarm demo` fits on a screen, repeats itself, and refuses bad options in a sentence."""

from click.testing import CliRunner

import bestarm
from bestarm.cli.main import cli


def run(*args):
    return CliRunner().invoke(cli, args)


def test_a_screenful(tmp_path):
    done = run("demo", "--out", str(tmp_path / "a"))
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert len(lines) <= 26
    assert max(len(line) for line in lines if not line.startswith("The report")) <= 110
    for word in (
        "history",
        "plan",
        "even split",
        "prior",
        "posterior",
        "chance to be best",
        "Choose",
        "simulated world",
    ):
        assert word in done.output
    assert "<html" in (tmp_path / "a" / "report.html").read_text(encoding="utf-8")
    again = run("demo", "--out", str(tmp_path / "b"))
    assert again.output.replace("/b/", "/a/") == done.output
    assert run("demo", "--seed", "1", "--out", str(tmp_path / "c")).output[:-60] != done.output[:-60]
    assert run("demo", "--out", str(tmp_path / "a")).exit_code != 0


def test_odd_budgets(tmp_path):
    for budget in (1, 7):
        assert run("demo", "--budget", str(budget), "--out", str(tmp_path / str(budget))).exit_code == 0


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
