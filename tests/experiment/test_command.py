"""A program as an evaluation: no name becomes part of the command, and a program that hangs is ended with its children."""

import json
import os
import shlex
import sys
import time

import psutil
import pytest

import bestarm as ba
from bestarm.experiment.arms import read_arms
from bestarm.experiment.command import Command, CommandError
from bestarm.experiment.experiment import Trial

PYTHON = shlex.quote(sys.executable)
ECHO = f'{PYTHON} -c "import sys, json, os; print(json.dumps(sys.argv[1:])); print(len(sys.stdin.read()), 0.5)"'


def trial(name="a", payload=None, item=None):
    return Trial(7, 2, name, payload, item, seed=11)


def shown(line, **kwargs):
    """What a program was given: its arguments."""
    return json.loads(Command(line)(trial(**kwargs)).output.splitlines()[0])


def test_placeholders_are_filled_after_splitting():
    hostile = "x\"; rm -rf / $(id) `id` {seed} \\ ' \n &"
    assert shown(ECHO + " {arm} --at={trial} {index} {seed} {item}", name=hostile, item="q 1") == [
        hostile,
        "--at=7",
        "2",
        "11",
        "q 1",
    ]


def test_a_shell_gets_quoted_values():
    hostile = "x'; echo 9 #$(id)"
    found = Command(f"{PYTHON} -c 'import sys; print(len(sys.argv[1]))' {{arm}} | cat", shell=True)(trial(hostile))
    assert found.value == len(hostile)


def test_the_environment_and_standard_input():
    code = "import os, sys; print(os.environ['BESTARM_ARM'], os.environ['BESTARM_ITEM'], sys.stdin.read(), os.environ['BESTARM_SEED'])"
    found = Command(f"{PYTHON} -c {shlex.quote(code)}")(trial("é", {"temperature": 0.3}, {"q": 1}))
    assert found.output.split() == ["é", '{"q":', "1}", '{"temperature":', "0.3}", "11"]
    assert found.value == 11


@pytest.mark.parametrize(
    ("printed", "value"),
    [
        ("score: 0.53", 0.53),
        ("epoch 3: 1e-3\n", 1e-3),
        ("accuracy 91.5%", 91.5),
        ("it is -.5.", -0.5),
        ("v1.2.3 gives +4", 4),
        ("0.1,0.2", 0.2),
        ("1.\n", 1.0),
        ("in 2024: 3,14 and 2", 2),
    ],
)
def test_the_last_number_printed(printed, value):
    assert Command(f"{PYTHON} -c {shlex.quote(f'print({printed!r})')}")(trial()).value == value


@pytest.mark.parametrize(
    ("printed", "options", "said"),
    [
        ("no luck", {}, "printed no number"),
        ("", {}, "it said nothing"),
        ("loss 3 nan", {}, "not a finite number"),
        ("x1 model-abc", {}, "printed no number"),
        ("loss: 3", {"metric_regex": r"score: (\S+)"}, "matches"),
        ("score: high", {"metric_regex": r"score: (\S+)"}, "not a number"),
        ("{}", {"metric_json": "score"}, "no key 'score'"),
        ('{"score": [1]}', {"metric_json": "score"}, "not a number"),
        ("3", {"metric_json": "score"}, "no JSON object"),
    ],
)
def test_no_value_is_a_failed_trial(printed, options, said):
    with pytest.raises(CommandError, match=said):
        Command(f"{PYTHON} -c {shlex.quote(f'print({printed!r})')}", **options)(trial())


def test_metrics_by_regex_and_key():
    text = 'score: 0.25 (of 3)\n{"step": 1, "eval": {"score": 0.75}}\ndone in 12 s'
    line = f"{PYTHON} -c {shlex.quote(f'print({text!r})')}"
    assert Command(line, metric_regex=r"score: ([\d.]+)")(trial()).value == 0.25
    assert Command(line, metric_json="eval.score")(trial()).value == 0.75


def test_a_non_zero_exit_fails_with_its_last_words():
    code = "import sys; print(3); sys.stderr.write('warming up\\nout of memory\\n'); sys.exit(9)"
    with pytest.raises(CommandError, match="exit code 9; it said: out of memory"):
        Command(f"{PYTHON} -c {shlex.quote(code)}")(trial())


def test_a_timeout_ends_the_whole_tree(tmp_path):
    noted = tmp_path / "pids"
    child = f"import os, time, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); open({str(noted)!r}, 'a').write(f'{{os.getpid()}} '); time.sleep(60)"
    code = f"import subprocess, sys, time; [subprocess.Popen([sys.executable, '-c', {child!r}], start_new_session=new) for new in (False, True)]; time.sleep(60)"
    began = time.monotonic()
    with pytest.raises(CommandError, match="took longer than 2 s"):
        Command(f"{PYTHON} -c {shlex.quote(code)}", timeout=2.0)(trial())
    assert time.monotonic() - began < 20
    pids = [int(pid) for pid in noted.read_text().split()]
    assert len(pids) == 2
    time.sleep(0.2)
    assert not any(psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE for pid in pids)


def test_a_flood_of_output_is_kept_to_its_end():
    found = Command(f"{PYTHON} -c \"print('x' * 5_000_000); print('score', 4)\"")(trial())
    assert found.value == 4
    assert len(found.output) <= 1 << 16


def test_a_program_that_leaves_a_daemon_behind_is_not_waited_for():
    code = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(30)']); print(2)"
    began = time.monotonic()
    assert Command(f"{PYTHON} -c {shlex.quote(code)}")(trial()).value == 2
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    ("line", "options", "said"),
    [
        ("", {}, "command is ''"),
        ("a 'b", {}, "cannot be split"),
        ("run {am}", {}, "command has {am}"),
        ("x\0y", {}, "command is"),
        ("run", {"timeout": 0}, "timeout is 0"),
        ("run", {"timeout": float("nan")}, "timeout is nan"),
        ("run", {"metric_regex": "("}, "cannot be read"),
        ("run", {"metric_regex": "x"}, "expected a group"),
        ("run", {"metric_regex": "(x)", "metric_json": "y"}, "expected one of them"),
        (3, {}, "command is 3"),
    ],
)
def test_bad_commands_are_refused_at_once(line, options, said):
    with pytest.raises(ba.InputError, match=said):
        Command(line, **options)


def test_a_program_that_is_not_there_is_no_failed_trial(tmp_path):
    with pytest.raises(ba.InputError, match="no such program"):
        Command("./nowhere {arm}")(trial())
    plain = tmp_path / "plain"
    plain.write_text("x")
    with pytest.raises(ba.InputError, match="cannot be started; expected a program"):
        Command(str(plain))
    with pytest.raises(ba.InputError, match=r"there is no such program; pipes, .* need --shell"):
        Command("nowhere {arm} | wc -c")
    with pytest.raises(ba.InputError, match="there is no such program"):
        Command("./{arm}")(trial())


@pytest.mark.parametrize("said", ["cost: 1,234.5", "3,100", "-12,345,678"])
def test_a_number_that_may_be_several_is_not_guessed(said):
    with pytest.raises(CommandError, match="one number or several"):
        Command(f"echo '{said}'")(trial())
    assert Command(f"echo '{said} of 7'")(trial()).value == 7


@pytest.mark.parametrize(("said", "value"), [("Yes", 1), ("no", 0), ("3 tests: FAILED", 0), ("passed 1 of 2", 2)])
def test_answers_in_words(said, value):
    command = Command(f"echo {said}")
    command.answers = True
    assert command(trial()).value == value
    command = Command("""echo '{"ok": "true"}'""", metric_json="ok")
    command.answers = True
    assert command(trial()).value == 1
    with pytest.raises(CommandError):
        Command("echo yes")(trial())


def test_what_went_to_standard_error_is_shown_where_there_is_no_number():
    with pytest.raises(CommandError, match="it printed no number; on its standard error it said: 5"):
        Command("sh -c 'echo 5 >&2'")(trial())


def test_braces_that_are_no_placeholder_stay():
    assert shown(ECHO + """ '{"a": 1}' {}""") == ['{"a": 1}', "{}"]


def test_arms_files(tmp_path):
    def read(name, text):
        (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
        return read_arms(tmp_path / name)

    assert read("a.txt", "\ufeffshort\n\n  long prompt \r\n# no comment\n") == {
        "short": None,
        "long prompt": None,
        "# no comment": None,
    }
    assert read("a.csv", 'name,temperature,top\n"a, b",0.3,x\nc,0.5,\n') == {
        "a, b": {"temperature": "0.3", "top": "x"},
        "c": {"temperature": "0.5", "top": ""},
    }
    assert read("b.csv", "arm,payload\nx,1\n") == {"x": "1"}
    assert read("a.jsonl", '"x"\n{"name": "y", "payload": [1, 2]}\n{"name": "z", "t": 3}\n') == {
        "x": None,
        "y": [1, 2],
        "z": {"t": 3},
    }
    for name, text, said in (
        ("b.txt", "", "has no arms"),
        ("c.txt", "a\nb\na\n", "line 3: the name 'a' comes twice"),
        ("d.txt", b"\xff\xfe", "not UTF-8"),
        ("e.txt", "a\0b", "is not text"),
        ("c.csv", "a,b\n1,2\n", "one called name"),
        ("d.csv", "name,x\na\n", "has not 2 cells"),
        ("e.csv", 'name\n"a', "cannot be read as CSV"),
        ("f.csv", "name,x\n,1\n", "the name is empty"),
        ("g.csv", "name,name\na,b\n", "two columns"),
        ("b.jsonl", "{", "line 1: is not JSON"),
        ("c.jsonl", "3", "name is 3"),
        ("d.jsonl", '{"payload": 3}', "name is None"),
    ):
        with pytest.raises(ba.InputError, match=said):
            read(name, text)
    with pytest.raises(ba.InputError, match="cannot be read"):
        read_arms(tmp_path / "nowhere.txt")
    with pytest.raises(ba.InputError, match="cannot be read"):
        read_arms(tmp_path)
    assert os.path.exists(tmp_path)


@pytest.mark.parametrize(
    "printed", ["\\033[1;32m0.53\\033[0m", "score: 0.53\\033[0;39m", "0.53\\033[1;0H", "\\033]0;title 7\\a0.53"]
)
def test_colours_are_no_numbers(printed):
    assert Command(f"printf '{printed}'")(trial()).value == 0.53


def test_a_typographer_s_minus():
    assert Command("echo \u22120.5")(trial()).value == -0.5


@pytest.mark.parametrize("line", ["echo '{arm}'", 'echo "{arm}"', "echo \"a 'b' {item}\"", "sh -c 'x {arm}'"])
def test_placeholders_in_quotes_are_refused_for_a_shell(line):
    with pytest.raises(ba.InputError, match="outside quotes"):
        Command(line, shell=True)


def test_quotes_elsewhere_are_fine_for_a_shell():
    assert Command("echo 'it''s' \"5\" | wc -c; echo {arm} 3 \\' ", shell=True)(trial("x'; echo 9 #")).value == 3


def test_programs_are_ended_all_at_once():
    """Ten that ignore being asked: one grace for all of them."""
    import threading

    command = Command("sh -c 'trap \"\" TERM; sleep 60'")

    def ended():
        with pytest.raises(CommandError):
            command(trial())

    threads = [threading.Thread(target=ended) for _ in range(10)]
    for thread in threads:
        thread.start()
    while len(command._running) < 10:
        time.sleep(0.01)
    time.sleep(0.3)  # for their traps
    began = time.monotonic()
    command.stop()
    for thread in threads:
        thread.join(20)
    assert time.monotonic() - began < 8
