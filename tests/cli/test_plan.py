"""`bestarm plan`, `budget` and `simulate`: what they print, in each format, and what they refuse."""

import csv
import io
import json

import pytest
from click.testing import CliRunner

import bestarm as ba
from bestarm.cli.main import cli


@pytest.fixture
def prior(tmp_path):
    path = tmp_path / "prior.yaml"
    ba.save(ba.Gaussian.independent([0.0, 0.2, 0.3], [0.05, 0.3, 0.4], names=["a", "b", "c"]), path)
    return path


def run(*arguments):
    return CliRunner().invoke(cli, [str(a) for a in arguments])


def test_plan(prior):
    out = run("plan", prior, "--budget", 60).stdout
    assert "an even split gives" in out
    assert "1 arm not worth an evaluation" in out
    made = json.loads(run("plan", prior, "--budget", 60, "--format", "json").stdout)
    assert made["version"] == 1
    assert [row["evaluations"] for row in made["rows"]] == ba.plan(ba.load(prior), 60).counts.tolist()
    table = list(csv.DictReader(io.StringIO(run("plan", prior, "--budget", 60, "--format", "csv").stdout)))
    assert sum(int(row["evaluations"]) for row in table) == 60
    priced = run("plan", prior, "--budget", 60, "--costs", "1,2,3", "--method", "tie").stdout
    assert "tie plan" in priced


def test_plan_compares(prior):
    out = run("plan", prior, "--budget", 40, "--compare").stdout
    assert all(name in out for name in ("uniform", "tie", "anchored", "bound"))
    rows = json.loads(run("plan", prior, "--budget", 40, "--compare", "--format", "json").stdout)["rows"]
    assert [row["error"] for row in rows] == sorted(row["error"] for row in rows)


def test_budget(prior):
    out = run("budget", prior, "--error", 0.2, "--method", "tie").stdout
    assert "is enough" in out
    made = json.loads(run("budget", prior, "--error", 0.2, "--method", "tie", "--format", "json").stdout)
    assert made["error"] <= 0.2


def test_simulate(prior):
    done = run("simulate", prior, "--budget", 40, "--runs", 300, "--policies", "uniform,tie,rolling")
    assert done.exit_code == 0
    assert "Use " in done.stdout or "Uniform is as good" in done.stdout
    assert "if prior means are off" in done.stdout
    assert "simulate:" in done.stderr
    rows = json.loads(
        run("simulate", prior, "--budget", 40, "--runs", 50, "--policies", "uniform,tie", "--format", "json").stdout
    )["rows"]
    assert {row["policy"] for row in rows} == {"uniform", "tie"}


def test_uniform_is_as_good_when_it_is(tmp_path):
    path = tmp_path / "even.yaml"
    ba.save(ba.Gaussian.independent([0.0, 0.0], 1.0, names=["a", "b"]), path)
    out = run("simulate", path, "--budget", 20, "--runs", 500, "--policies", "uniform,tie").stdout
    assert "Uniform is as good as anything here." in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("plan", "nope.yaml", "--budget", "3"), "no file of that name"),
        (("plan", "{prior}", "--budget", "-3"), "budget is -3"),
        (("plan", "{prior}", "--budget", "3", "--costs", "x"), "--costs is 'x'"),
        (("budget", "{prior}", "--error", "2"), "target_error is 2"),
        (("simulate", "{prior}", "--budget", "9", "--policies", "best"), "policy is 'best'"),
    ],
)
def test_bad_input_is_one_sentence(prior, arguments, message):
    done = run(*(a.format(prior=prior) for a in arguments))
    assert done.exit_code != 0
    assert isinstance(done.exception, ba.InputError)
    assert message in str(done.exception)
