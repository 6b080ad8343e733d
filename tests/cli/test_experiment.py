"""Experiments from a shell: run a program, ask and tell, interrupt and go on; never a traceback, never a password."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bestarm.cli.main import without_secrets

BESTARM = [sys.executable, "-c", "from bestarm.cli.main import main; main()"]
SCORE = f"{sys.executable} -c \"import os, random, sys; random.seed(int(os.environ['BESTARM_SEED'])); print('score', len(sys.argv[1]) + random.random())\" {{arm}}"


@pytest.fixture
def bestarm(quick):
    """The command, in a folder of its own, with three arms."""
    Path(quick, "arms.txt").write_text("a\nbb\nccc\n")

    def call(*words, env=None, check=None):
        done = subprocess.run(
            [*BESTARM, *words],
            cwd=quick,
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, **(env or {})},
        )
        assert "Traceback" not in done.stderr, done.stderr
        if check is not None:
            assert done.returncode == check, done.stderr
        return done

    call.folder = Path(quick)
    return call


def test_run_decides_and_goes_on(bestarm):
    first = bestarm("run", "arms.txt", "--budget", "12", "--command", SCORE, "--jobs", "2", check=0)
    assert first.stdout.startswith("Choose 'ccc'")
    assert len([line for line in first.stderr.splitlines() if line[0].isdigit()]) == 12  # plain lines, no terminal here
    assert "\x1b" not in first.stderr
    again = bestarm("run", "arms.txt", "--command", SCORE, check=0)
    assert again.stdout == first.stdout
    assert "going on, 12 of 12 spent" in again.stderr
    other = bestarm("run", "arms.txt", "--budget", "13", "--command", SCORE, check=2)
    assert "budget is 13" in other.stderr
    bestarm("extend", "arms", "3", check=0)
    bestarm("run", "arms.txt", "--command", SCORE, "--budget", "15", check=0)
    assert "15 of 15" in bestarm("status", check=0).stdout


def test_run_says_what_is_not_as_before(bestarm):
    bestarm("run", "arms.txt", "--budget", "4", "--policy", "uniform", "--command", SCORE, check=0)
    for words, said in (
        (["--minimize"], "arms or prior is not what"),
        (["--yes-no"], "arms or prior is not what"),
        (["--policy", "ts"], "policy is not what"),
        (["--seed", "5"], "seed is not what"),
        (["--costs", "1,2,3"], "costs is not what"),
        (["--policy", "uniform", "--budget", "4"], None),
    ):
        done = bestarm("run", "arms.txt", *words, "--command", SCORE, check=0 if said is None else 2)
        assert said is None or said in done.stderr, done.stderr
    assert "another command" in bestarm("run", "arms.txt", "--command", "echo 1", check=0).stderr
    (bestarm.folder / "arms.txt").write_text("a\nbb\nddd\n")
    assert "only the experiment has 'ccc'" in bestarm("run", "arms.txt", "--command", SCORE, check=2).stderr


def test_endings_are_explained(bestarm):
    def run(*words, check):
        return bestarm("run", "arms.txt", *words, check=check)

    done = run("--name", "fail", "--budget", "4", "--command", "false", check=2)
    assert "not one evaluation gave a value" in done.stderr
    assert not done.stdout
    done = run("--name", "pool", "--budget", "50", "--pool", "3", "--command", SCORE, check=0)
    assert "41 of the budget is left: there are no more items in the pool" in done.stderr
    done = run("--name", "sure", "--budget", "90", "--stop-at", "0.2", "--command", SCORE, check=0)
    assert "stopped: the chance of being wrong" in done.stderr
    done = run("--name", "same", "--budget", "12", "--command", "echo 7", check=0)
    assert "all 10 values so far are 7" in done.stderr
    assert "bestarm extend same 6" in done.stderr
    done = run("--name", "money", "--budget", "4.5", "--costs", "0.5,0.5,1.5", "--command", SCORE, check=0)
    assert done.stderr.splitlines()[-2].startswith("4.5/4.5 "), "money, not trials"
    done = run("--name", "answers", "--budget", "6", "--yes-no", "--command", "echo no, it is Yes", check=0)
    assert "failed" not in done.stderr
    done = run("--name", "odd", "--budget", "3", "--yes-no", "--command", "echo 0.4", check=2)
    assert "value is 0.4; expected 0 or 1" in done.stderr
    assert "next: " not in done.stderr


def test_an_experiment_is_the_prior_of_the_next_one(bestarm):
    """export, learn, run: single values, a mean of several with its standard error, a failure, history."""
    bestarm("create", "old", "arms.txt", "--budget", "9", check=0)
    bestarm("ask", "old", "-k", "3", check=0)
    bestarm("tell", "old", "1", "0.5", check=0)
    bestarm("tell", "old", "2", "--mean", "0.4", "--sem", "0.02", "--n", "3", check=0)
    bestarm("tell", "old", "3", "--failed", check=0)
    for arm in ("a", "bb", "ccc"):
        bestarm("tell", "old", arm, "0.7", "0.9", "--history", check=0)
    (bestarm.folder / "old.csv").write_text(bestarm("export", "old", check=0).stdout)
    learned = bestarm("learn", "old.csv", check=0)
    assert "8 rows, 1 without a reward left out; 3 arms" in learned.stderr
    (bestarm.folder / "prior.yaml").write_text(learned.stdout)
    bestarm("run", "prior.yaml", "--budget", "5", "--command", SCORE, check=0)


def test_no_experiment_is_made_of_a_command_that_cannot_be(bestarm):
    bestarm("run", "arms.txt", "--budget", "3", "--command", "./nowhere {arm}", check=2)
    bestarm("run", "arms.txt", "--budget", "3", "--shell", "--command", "echo '{arm}' 1", check=2)
    assert "no such file" in bestarm("status", check=2).stderr


def test_ask_and_tell_for_scripts(bestarm):
    bestarm("create", "e", "arms.txt", "--budget", "6", "--minimize", "--policy", "uniform", check=0)
    asked = json.loads(bestarm("ask", "e", "-k", "4", check=0).stdout)
    assert (asked["version"], asked["state"], len(asked["trials"])) == (1, "open", 4)
    ids = [str(trial["id"]) for trial in asked["trials"]]
    bestarm("tell", "e", ids[0], "-0.5", check=0)
    twice = bestarm("tell", "e", ids[0], "9", "--format", "json", check=0)
    assert json.loads(twice.stdout)["stored"] is False
    assert "told before" in twice.stderr
    bestarm("tell", "e", ids[1], "0.1", "0.2", check=0)
    bestarm("tell", "e", ids[2], "--failed", "--refund", check=0)
    bestarm("tell", "e", ids[3], "--mean", "1.5", "--n", "1", check=0)
    bestarm("tell", "e", "bb", "0.25", "--history", check=0)
    status = json.loads(bestarm("status", "e", "--format", "json", check=0).stdout)
    assert (status["told"], status["failed"], status["spent"], status["direction"]) == (3, 1, 4, "minimize")
    found = json.loads(bestarm("recommend", "e", "--format", "json", check=0).stdout)
    assert found["name"] in ("a", "bb", "ccc")
    assert 0 < found["chance"]["value"] < 1
    rows = list(csv.DictReader(io.StringIO(bestarm("export", "e", check=0).stdout)))
    assert [row["kind"] for row in rows] == ["told", "told", "told", "failed", "told", "added"]
    whole = json.loads(bestarm("export", "e", "--format", "json", check=0).stdout)
    assert whole["version"] == 1
    assert [event["seq"] for event in whole["log"]] == list(range(1, len(whole["log"]) + 1))
    assert "as the log says" in bestarm("status", "e", "--rebuild", check=0).stderr


def test_a_prior_file_and_a_pool(bestarm):
    import bestarm as ba

    ba.save(ba.Gaussian.independent([0.2, 0.5], 0.3, names=["x", "y"]), bestarm.folder / "prior.yaml")
    (bestarm.folder / "questions.txt").write_text("q1\nq2\nq3\n")
    command = f'{sys.executable} -c "import sys; print(sys.argv[1][1])" {{item}}'
    done = bestarm(
        "run", "prior.yaml", "--name", "quiz", "--budget", "6", "--pool", "questions.txt", "--command", command, check=0
    )
    assert done.stdout.startswith("Choose")
    rows = list(csv.DictReader(io.StringIO(bestarm("export", "quiz", check=0).stdout)))
    assert sorted((row["arm"], row["item"], row["mean"]) for row in rows) == [
        (a, f"q{k}", f"{k}.0") for a in "xy" for k in (1, 2, 3)
    ]


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_interrupted_it_goes_on(bestarm, sign):
    slow = f'{sys.executable} -c "import time, sys; time.sleep(0.25); print(len(sys.argv[1]))" {{arm}}'
    words = ["run", "arms.txt", "--budget", "10", "--command", slow, "--jobs", "2"]
    process = subprocess.Popen(
        [*BESTARM, *words], cwd=bestarm.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    seen = [process.stderr.readline() for _ in range(3)]
    time.sleep(0.1)
    process.send_signal(sign)
    _, err = process.communicate(timeout=60)
    if sign != signal.SIGKILL:
        assert process.returncode == 130, err
        assert "interrupted, nothing is lost" in err
    assert "Traceback" not in err
    told = sum(line[:1].isdigit() for line in [*seen, *err.splitlines()])
    status = json.loads(bestarm("status", "arms", "--format", "json", check=0).stdout)
    assert told <= status["told"] <= 9
    began = time.monotonic()
    bestarm(*words, check=0)  # at once, although the lease of the lost trials is an hour
    assert time.monotonic() - began < 60
    status = json.loads(bestarm("status", "arms", "--format", "json", check=0).stdout)
    assert (status["told"], status["spent"], status["pending"]) == (10, 10, 0)


def test_a_program_that_fails(bestarm):
    failing = f"{sys.executable} -c \"import sys; sys.exit('no model called ' + sys.argv[1])\" {{arm}}"
    done = bestarm("run", "arms.txt", "--budget", "30", "--max-failures", "4", "--command", failing, check=2)
    assert "4 evaluations in a row failed" in done.stderr
    assert "no model called" in done.stderr
    rows = list(csv.DictReader(io.StringIO(bestarm("export", "arms", check=0).stdout)))
    assert all("no model called" in row["message"] for row in rows)


def test_no_colour_on_request_and_a_table_on_a_terminal(bestarm):
    pty = pytest.importorskip("pty")

    def screen(env):
        leader, follower = pty.openpty()
        command = [*BESTARM, "run", "arms.txt", "--name", env.get("NO_COLOR", "c"), "--budget", "3", "--command", SCORE]
        process = subprocess.Popen(
            command,
            cwd=bestarm.folder,
            stdout=subprocess.DEVNULL,
            stderr=follower,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "100", **env},
        )
        os.close(follower)
        text = b""
        while True:
            try:
                chunk = os.read(leader, 4096)
            except OSError:
                break
            if not chunk:
                break
            text += chunk
        process.wait(60)
        os.close(leader)
        return text.decode()

    coloured = screen({})
    assert "chance to be best" in coloured
    assert "3 of 3 spent" in coloured
    assert "█" in coloured
    plain = screen({"NO_COLOR": "1"})
    assert "3 of 3 spent" in plain
    assert not any(f"\x1b[{code}m" in plain for code in (31, 32, 33, 34, 35, 36))


def test_bad_input_is_one_sentence(bestarm):
    bestarm("create", "e", "arms.txt", "--budget", "6", check=0)
    for words, said in (
        (["run", "nowhere.txt", "--budget", "3", "--command", "echo 1"], "cannot be read"),
        (["run", "arms.txt", "--command", "echo 1"], "--budget is missing"),
        (["run", "arms.txt", "--budget", "3", "--command", "x {who}"], "command has {who}"),
        (["run", "arms.txt", "--budget", "3", "--command", "./nowhere"], "no such program"),
        (["run", "arms.txt", "--name", "e", "--command", "echo 1", "--stop-at", "3"], "stop_at is 3"),
        (["ask", "f"], "no such experiment"),
        (["tell", "e", "7", "1"], "trial is 7"),
        (["tell", "e", "one", "1"], "trial is 'one'"),
        (["tell", "e", "1", "much"], "value is 'much'"),
        (["tell", "e", "1", "--refund"], "without --failed"),
        (["create", "e", "arms.txt", "--budget", "6"], "already"),
        (["create", "g", "arms.txt", "--budget", "6", "--costs", "1,x"], "--costs is"),
        (["extend", "e", "0"], "budget is 0"),
        (["status", "--store", "nowhere.db"], "no such file"),
        (["status", "--store", "arms.txt"], "damaged, or no database"),
        (["create", "g", "arms.txt", "--budget", "6", "--store", "/nowhere/x.db"], "folder that exists"),
    ):
        done = bestarm(*words, check=2)
        lines = [line for line in done.stderr.splitlines() if not line.startswith("Usage")]
        assert said in lines[-1], (words, done.stderr)


def test_passwords_never_appear(bestarm):
    for url in (
        "postgresql://someone:s3cret-pass@127.0.0.1:1/db",
        "postgresql://127.0.0.1:1/db?user=someone&password=s3cret-pass",
        "mysql://someone:s3cret-pass@127.0.0.1/db",
        "postgresql://someone:s3cret-pass@127.0.0.1:port/db",
        "postgresql://someone:an@s3cret-pass@127.0.0.1:1/db",
        "postgresql:/someone:s3cret-pass@127.0.0.1/db",
        "postgres//someone:s3cret-pass@127.0.0.1/db",
        "host=127.0.0.1 user=someone password=s3cret-pass",
    ):
        for words in (["status", "--store", url], [url], ["ask", "e", "--store", url], ["tell", "e", "1", url]):
            done = bestarm(*words)
            assert done.returncode == 2
            assert "s3cret" not in done.stdout + done.stderr, done.stderr
    done = bestarm("status", env={"BESTARM_STORE": "postgresql://someone:s3cret-pass@127.0.0.1:1/db"})
    assert "s3cret" not in done.stderr
    assert "cannot be reached" in done.stderr
    assert without_secrets("a://b:c@d and e://f:g@h") == "a://b:***@d and e://f:***@h"
