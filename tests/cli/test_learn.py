"""`bestarm learn` and `bestarm analyze`: what they print, what they refuse."""

import csv
import io
import json

import numpy as np
import pytest
from click.testing import CliRunner

import bestarm as ba
from bestarm.cli.main import cli


@pytest.fixture
def history(tmp_path):
    rng = np.random.default_rng(3)
    path = tmp_path / "results.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["arm", "reward"])
        for name, mean, n in (("short", 1.0, 40), ("long", 1.6, 40)):
            for _ in range(n):
                writer.writerow([name, f"{rng.normal(mean, 1):.3f}"])
        writer.writerows([["lucky, once", "1.9"], ["lucky, once", "1.8"]])
    return path


def run(*arguments, **options):
    return CliRunner().invoke(cli, [str(a) for a in arguments], **options)


def test_learn_prints_a_model_file(history, tmp_path):
    done = run("learn", history, "--units", "points")
    assert done.exit_code == 0
    assert "arms differ by about" in done.stderr
    (tmp_path / "prior.yaml").write_text(done.stdout)
    model = ba.load(tmp_path / "prior.yaml")
    assert model.names == ("short", "long", "lucky, once")
    assert 'units: "points"' in done.stdout
    as_json = run("learn", history, "--format", "json")
    assert json.loads(as_json.stdout)["source"]["rows"] == 82


def test_analyze_says_who_and_why(history):
    done = run("analyze", history, "--margin", 0.1)
    assert done.exit_code == 0
    out = done.stdout
    assert "Pick 'long'" in out
    assert "'lucky, once' has the highest average" in out
    assert "part luck" in out
    assert "Probably no more than 0.1 worse than it" in out
    rows = json.loads(run("analyze", history, "--format", "json").stdout)["rows"]
    assert sum(row["chance to be best"] for row in rows) == pytest.approx(1)
    table = list(csv.DictReader(io.StringIO(run("analyze", history, "--format", "csv").stdout)))
    assert [row["arm"] for row in table] == [row["arm"] for row in rows]
    assert "lowest average" not in out
    assert "Pick 'short'" in run("analyze", history, "--minimize").stdout


def test_analyze_reads_standard_input(history):
    done = run("analyze", "-", input=history.read_text())
    assert done.exit_code == 0
    assert "82 rows" in done.stdout


def test_the_same_rows_twice_are_noticed(history, tmp_path):
    (tmp_path / "prior.yaml").write_text(run("learn", history).stdout)
    done = run("analyze", history, "--prior", tmp_path / "prior.yaml")
    assert "learned from these very rows" in done.stdout
    other = tmp_path / "other.csv"
    other.write_text("arm,reward\nshort,40\nshort,42\n")
    done = run("analyze", other, "--prior", tmp_path / "prior.yaml")
    assert "very rows" not in done.stdout
    assert "contradict the prior" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("analyze", "nope.csv"), "nope.csv cannot be read"),
        (("analyze", "{history}", "--reward-column", "x"), "--reward-column"),
        (("analyze", "{history}", "--prior", "{history}"), "expected keys bestarm, family"),
        (("learn", "{history}", "--kind", "linear"), "--features"),
        (("learn", "{history}", "--noise", "-1"), "noise is -1"),
    ],
)
def test_bad_input_is_one_sentence(history, arguments, message):
    done = run(*(a.format(history=history) for a in arguments))
    assert done.exit_code != 0
    assert isinstance(done.exception, ba.InputError | SystemExit)
    assert message in str(done.exception) + done.output
