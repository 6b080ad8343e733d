"""What must not break an experiment: kill -9 at any moment, many processes at once, and malformed input.

`make torture` runs these at full size, the tests small ones. Workers are forked from a process that has everything
loaded, so that a kill hits an ask or a tell and not an import.
"""

import contextlib
import io
import json
import multiprocessing
import os
import random
import signal
import string
import sys
import time
import warnings
from pathlib import Path

import bestarm as ba
from bestarm.cli.main import main
from bestarm.errors import BestarmError
from bestarm.experiment.arms import read_arms
from bestarm.experiment.command import Command, CommandError

ARMS = [f"arm {k}" for k in range(5)]


def value_of(trial):
    """What an evaluation gives: a number that tells the trial."""
    return trial.id + 0.25


def work(url, name, acknowledged):
    """Ask and tell until nothing is left; note what was acknowledged, on the disk's cache at least."""
    experiment = ba.Experiment.open(url, name)
    note = os.open(acknowledged, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    while True:
        trials = experiment.ask()
        for trial in trials:
            value = value_of(trial)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if experiment.tell(trial, value):
                    os.write(note, f"{trial.id} {value!r}\n".encode())
        if not trials:
            if experiment.status().state in ("spent", "finished"):
                return
            time.sleep(0.02)


def checked(url, name, acknowledged, budget):
    """Nothing acknowledged is lost, the budget is spent exactly, and the sums are what the log says."""
    experiment = ba.Experiment.open(url, name)
    told = {event.payload["trial"]: event.payload["value"] for event in experiment.log() if event.kind == "told"}
    number = sum(event.kind == "told" for event in experiment.log())
    noted = [line.split() for path in acknowledged if path.exists() for line in path.read_text().splitlines()]
    lost = [trial for trial, value in noted if told.get(int(trial)) != float(value)]
    status = experiment.status()
    assert not lost, f"acknowledged and lost: {lost[:5]}"
    assert len(noted) <= number == len(told) == budget, (len(noted), number, len(told), budget)
    assert (status.spent, status.state, status.pending) == (budget, "spent", 0), status
    assert sum(arm.evaluations for arm in status.arms) == budget
    assert experiment.rebuild()
    return len(noted)


def kills(url, folder, number, seed=0, each=50, budget=300, workers=4):
    """Kill workers at random moments, `each` kills an experiment; how many evaluations were acknowledged in all."""
    fork, rng, total = multiprocessing.get_context("fork"), random.Random(seed), 0
    for start in range(0, number, each):
        name, left = f"kills {start}", min(each, number - start)
        experiment = ba.Experiment.create(url, name, ARMS, budget, policy="uniform", lease=0.25)
        experiment.ask()  # the first one loads what workers need
        notes, running = [], []

        def begin(name=name, notes=notes):
            notes.append(Path(folder) / f"{name} {len(notes)}")
            made = fork.Process(target=work, args=(url, name, notes[-1]))
            made.start()
            return made

        running = [begin() for _ in range(workers)]
        deadline = time.monotonic() + 120
        while left:
            time.sleep(rng.expovariate(1 / 0.03))
            if time.monotonic() > deadline:
                raise AssertionError(f"stuck: {experiment.status()}")
            victim = rng.randrange(workers)
            if running[victim].is_alive():
                os.kill(running[victim].pid, signal.SIGKILL)
                running[victim].join()
                left -= 1
                running[victim] = begin()
            elif experiment.status().state == "spent":  # more to do, so that kills hit something
                experiment.extend(50)
                budget_now = experiment.status().budget
                running = [worker if worker.is_alive() else begin() for worker in running]
                assert budget_now
        for worker in running:
            worker.join(120)
            assert worker.exitcode == 0, f"stuck or broken: {worker.exitcode} {experiment.status()}"
        total += checked(url, name, notes, int(experiment.status().budget))
    return total


def crowd(url, folder, processes=8, budget=2000):
    """Many processes on one experiment; evaluations a second."""
    fork = multiprocessing.get_context("fork")
    experiment = ba.Experiment.create(url, "crowd", ARMS, budget)
    experiment.ask()
    experiment.release([1])
    notes = [Path(folder) / f"crowd {k}" for k in range(processes)]
    began = time.monotonic()
    workers = [fork.Process(target=work, args=(url, "crowd", note)) for note in notes]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(600)
        assert worker.exitcode == 0, worker.exitcode
    seconds = time.monotonic() - began
    assert checked(url, "crowd", notes, budget) == budget
    return budget / seconds


# ---------------------------------------------------------------------- malformed input

ODD = [
    None, True, False, 0, -1, 1, 3, 10**30, -(10**30), 0.5, -0.0, float("nan"), float("inf"), -float("inf"), 1e308, "", " ",
    "a", "0.5", "1e3", "\0", "\ud800", "é" * 300, b"x", [], [1], [[1]], ["a", "b"], (), {}, {"a": 1}, {1: 2}, {"a"}, object(),
    lambda: 1, range(3), 1j, ["a"] * 3, [None], "arm 1", 2**63, "arm 0\n", ["arm 0", "arm 1"],
]  # fmt: skip
WORDS = [
    "create", "run", "ask", "tell", "recommend", "status", "extend", "export", "report", "plan", "budget", "simulate", "learn",
    "analyze", "e", "x", "--budget", "--store", "--command", "--format", "json", "table", "-k", "--margin", "--mean", "--sem",
    "--n", "--failed", "--refund", "--history", "--policy", "rolling", "sh", "--costs", "1,2", "--pool", "--lease", "0", "-1",
    "1.5", "nan", "1e400", "{arm}", "echo 1", "'", "{bad}", "--metric-regex", "(", "--seed", "--yes-no", "--minimize", "arm 1",
    "postgresql://u:s3cret-pass@127.0.0.1:1/d", "mysql://h/d", "sqlite://", "--rebuild", "--out", "/", "", "\x00", "é", "--", "-",
    "--worker", "99999999999999999999", "--timeout", "--jobs", "--stop-at",
]  # fmt: skip


def malformed(folder, number, seed=0):
    """So many malformed inputs, of every kind: always refused in a sentence, and nothing stored. How many were refused."""
    rng, folder = random.Random(seed), Path(folder)
    store = f"sqlite:///{folder / 'm.db'}"
    experiment = ba.Experiment.create(store, "e", ARMS, budget=50)
    trials = experiment.ask(3)
    kinds = (_call, _creation, _arms_file, _command, _command_line)
    refused = 0
    for k in range(number):
        before = experiment.log()[-1].seq if k % 20 == 0 else None
        try:
            kinds[k % len(kinds)](rng, experiment, trials, folder)
        except (BestarmError, CommandError) as error:
            text = str(error)
            assert text, "a refusal without a sentence"
            assert "\n" not in text, f"more than a line: {text!r}"
            assert "s3cret" not in text, f"a secret: {text!r}"
            refused += 1
            if before is not None and k % len(kinds) == 0:
                assert experiment.log()[-1].seq == before, f"refused and stored: {text}"
    assert experiment.rebuild()
    return refused


def _some(rng):
    return rng.choice(ODD)


def _call(rng, experiment, trials, folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rng.choice(
            [
                lambda: experiment.tell(_some(rng), _some(rng)),
                lambda: experiment.tell(trials[0], values=_some(rng)),
                lambda: experiment.tell(trials[1], mean=_some(rng), sem=_some(rng), n=_some(rng)),
                lambda: experiment.add(_some(rng), _some(rng)),
                lambda: experiment.ask(_some(rng), _some(rng)) if rng.random() < 0.3 else experiment.ask(-1),
                lambda: experiment.fail(_some(rng), _some(rng)),
                lambda: experiment.extend(_some(rng)) if experiment.status().budget < 1e6 else None,
                lambda: experiment.recommend(_some(rng)),
                lambda: experiment.run(_some(rng), jobs=_some(rng), stop_at=_some(rng), retries=-1),
                lambda: ba.Experiment.open(_some(rng), _some(rng)),
            ]
        )()


def _creation(rng, experiment, trials, folder):
    model = rng.choice([ARMS, {"a": 1, "b": 2}, ba.Gaussian.independent([0, 1], 1), _some(rng)])
    options = {
        key: _some(rng) for key in rng.sample(["prior", "pool", "policy", "direction", "costs", "seed", "lease"], 2)
    }
    where = rng.choice(
        [
            f"sqlite:///{folder / 'c.db'}",
            str(folder),
            "/nowhere/x.db",
            "postgresql://u:s3cret-pass@127.0.0.1:1/d",
            _some(rng),
        ]
    )
    if isinstance(where, str) and "://" not in where and not where.startswith("/"):
        where = 7  # no stray files
    ba.Experiment.create(
        where, rng.choice([f"n{rng.random()}", _some(rng)]), model, rng.choice([5, _some(rng)]), **options
    )


def _mutated(rng, data):
    data = bytearray(data)
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(3):
            case 0:
                data[at:at] = bytes([rng.randrange(256)])
            case 1:
                del data[at : at + rng.randrange(8)]
            case _:
                data[at:at] = rng.choice(
                    [b'"', b"\0", b"\r", b",", b"{", b"}\n", b"[" * 2000, b"\xef\xbb\xbf", b"name", b"\n\n"]
                )
    return bytes(data)


def _arms_file(rng, experiment, trials, folder):
    kind, text = rng.choice(
        [
            ("txt", "short\nlong\nwith examples\n"),
            ("csv", 'name,temperature\n"a, b",0.3\nc,0.5\n'),
            ("jsonl", '"x"\n{"name": "y", "payload": [1, 2]}\n{"name": "z", "t": 3}\n'),
        ]
    )
    path = folder / f"arms.{kind}"
    path.write_bytes(_mutated(rng, text.encode()))
    read_arms(path)


def _command(rng, experiment, trials, folder):
    text = "".join(rng.choice(string.printable) for _ in range(rng.randrange(12)))
    Command(
        rng.choice(["./no-such-program-" + text, "{" + text + "}", _some(rng), "'" + text]),
        timeout=rng.choice([None, 1.0, -1.0, float("nan")]),
        metric_regex=rng.choice([None, "(" + text, text]),
        metric_json=rng.choice([None, text]),
    )(trials[0])


def _command_line(rng, experiment, trials, folder):
    """Exit code 0 or 2, no traceback, no secret."""
    words = [rng.choice(WORDS) for _ in range(rng.randrange(1, 7))]
    if "run" in words or "simulate" in words or "learn" in words or "report" in words:
        words = [word for word in words if word != "echo 1"]
    if "--store" not in words:
        words += ["--store", f"sqlite:///{folder / 'm.db'}"] if rng.random() < 0.7 else []
    out, err, arguments, here = io.StringIO(), io.StringIO(), sys.argv, os.getcwd()
    sys.argv = ["bestarm", *words]
    os.chdir(folder)
    showing = warnings.showwarning
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
            main()
        code = 0
    except SystemExit as stop:
        code = stop.code or 0
    finally:
        sys.argv = arguments
        warnings.showwarning = showing
        os.chdir(here)
    said = out.getvalue() + err.getvalue()
    assert code in (0, 2), (code, words, said)
    assert "Traceback" not in said, (words, said)
    assert "s3cret" not in said, (words, said)
    if code == 0 and "json" in words and out.getvalue().startswith("{"):
        json.loads(out.getvalue())
    if code:
        raise BestarmError("refused")
