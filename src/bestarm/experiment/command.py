"""A program that evaluates an arm: how it is called, what it is given, and which number of what it prints is the value.

The command line is split once, as a shell would, and run without one; placeholders are filled in after splitting, so
that no arm's name can become part of the command. shell=True hands the line to a shell, with quoted values.
"""

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any

from bestarm.errors import BestarmError, InputError
from bestarm.experiment.experiment import Trial
from bestarm.validation import shown

__all__ = ["Command", "CommandError", "Measured"]

_PLACEHOLDERS = ("arm", "index", "trial", "seed", "item")
_PLACEHOLDER = re.compile(r"\{(" + "|".join(_PLACEHOLDERS) + r")\}")
# colours, titles, cursors
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_KEPT = 1 << 16  # bytes of output looked at
_NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?(?!\w|\.\d)|(?:inf(?:inity)?|nan)\b)", re.IGNORECASE
)
_THOUSANDS = re.compile(r"(?<![\w.,])[-+]?\d{1,3}(?:,\d{3})+(?:\.\d*)?(?![\w,])")  # one number, or several
_ANSWERS = {"yes": 1.0, "true": 1.0, "pass": 1.0, "passed": 1.0, "no": 0.0, "false": 0.0, "fail": 0.0, "failed": 0.0}
_ANSWER = re.compile(rf"\b(?:{'|'.join(_ANSWERS)})\b", re.IGNORECASE)
_GRACE = 2.0  # seconds between asking a program to end and ending it


class CommandError(BestarmError):
    """An evaluation that failed: the trial failed, not the experiment."""


@dataclass(frozen=True)
class Measured:
    """The value of an evaluation, and the end of what the program printed."""

    value: float
    output: str


class Command:
    """Called with a trial, runs the program and gives its value.

    timeout: seconds after which it and all it started are ended. metric_regex: its first group, where it last matches,
    is the value; metric_json: the key (a.b for nested ones) in the last line that is a JSON object. Otherwise the value
    is the last number printed.

    answers: set it, and words such as yes, false or passed are values too.
    """

    def __init__(
        self,
        line: str,
        shell: bool = False,
        timeout: float | None = None,
        metric_regex: str | None = None,
        metric_json: str | None = None,
    ) -> None:
        if not isinstance(line, str) or not line.strip() or "\0" in line:
            raise InputError(f"command is {shown(line)}; expected a command line such as './evaluate.sh {{arm}}'")
        for name in re.findall(r"\{([a-z_]+)\}", line):
            if name not in _PLACEHOLDERS:
                known = ", ".join(f"{{{each}}}" for each in _PLACEHOLDERS)
                raise InputError(f"command has {{{name}}}; expected placeholders among {known}")
        try:
            self._words = [line] if shell else shlex.split(line)
        except ValueError as error:
            raise InputError(f"command is {shown(line)}, which cannot be split into words: {error}") from None
        if shell and not _bare(line):
            raise InputError(
                f"command is {shown(line)}; expected placeholders outside quotes: the shell gets them quoted"
            )
        if timeout is not None and not 0 < timeout <= 1e7:
            raise InputError(f"timeout is {shown(timeout)}; expected seconds above 0")
        if metric_regex is not None and metric_json is not None:
            raise InputError("metric_regex and metric_json are given; expected one of them")
        try:
            self._regex = None if metric_regex is None else re.compile(metric_regex, re.MULTILINE)
        except (re.error, RecursionError, OverflowError) as error:
            raise InputError(f"metric_regex is {shown(metric_regex)}, which cannot be read: {error}") from None
        if self._regex is not None and self._regex.groups < 1:
            raise InputError(f"metric_regex is {shown(metric_regex)}; expected a group (…) around the number")
        if not shell and not _PLACEHOLDER.search(self._words[0]):
            _check_program(self._words[0], line)
        self._shell, self._timeout, self._key = shell, timeout, metric_json
        self.answers = False
        self._running: set[subprocess.Popen[bytes]] = set()
        self._ended = False

    def __call__(self, trial: Trial) -> Measured:
        """Run it for a trial."""
        item = trial.item if isinstance(trial.item, str) or trial.item is None else json.dumps(trial.item)
        values = {"arm": trial.name, "index": trial.arm, "trial": trial.id, "seed": trial.seed, "item": item or ""}
        texts = {key: str(value) for key, value in values.items()}
        if any("\0" in text for text in texts.values()):
            raise CommandError("the arm's name or item has a NUL character, which no program can be given")
        surroundings = os.environ | {f"BESTARM_{key.upper()}": text for key, text in texts.items()}
        given = trial.payload
        paper = "" if given is None else given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        filled = [_filled(word, texts, quoted=self._shell) for word in self._words]
        code, out, err = self._run(filled, surroundings, paper)
        if code != 0:
            why = f"took longer than {self._timeout:g} s" if code is None else f"ended with exit code {code}"
            raise CommandError(f"{why}{_last_words(err or out)}")
        return Measured(self._value(out, err), out)

    def stop(self) -> None:
        """End all programs that run, and start no more."""
        self._ended = True
        _end(list(self._running))

    def _run(self, words: list[str], surroundings: dict[str, str], paper: str) -> tuple[int | None, str, str]:
        """Exit code (None: it took too long), and the ends of its two outputs."""
        if self._ended:
            raise CommandError("the run has been ended")
        try:
            process = subprocess.Popen(
                words[0] if self._shell else words,
                shell=self._shell,
                env=surroundings,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=os.name == "posix",
            )
        except FileNotFoundError:
            raise InputError(f"command starts {shown(words[0])}; there is no such program") from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(f"command starts {shown(words[0])}, which cannot be started: {reason}") from None
        self._running.add(process)
        if self._ended:  # between the look above and now
            _end([process])
        try:
            ends: list[deque[bytes]] = [deque(), deque()]
            readers = [
                _aside(_keep_end, pipe, end) for pipe, end in zip((process.stdout, process.stderr), ends, strict=True)
            ]
            _aside(_write, process.stdin, paper)
            try:
                code: int | None = process.wait(self._timeout)
            except subprocess.TimeoutExpired:
                code = None
                _end([process])
            for reader in readers:  # something left behind may hold its output open
                reader.join(1.0)
        finally:
            self._running.discard(process)
        out, err = (_plain(b"".join(list(end))[-_KEPT:].decode("utf-8", "replace")) for end in ends)
        return code, out, err

    def _value(self, out: str, err: str) -> float:
        if self._key is not None:
            return self._number(_looked_up(out, self._key), f"{self._key} in its output")
        if self._regex is not None:
            found = [match for match in self._regex.finditer(out) if match.group(1) is not None]
            if not found:
                raise CommandError(f"nothing that it printed matches {self._regex.pattern!r}{_last_words(out, err)}")
            return self._number(found[-1].group(1), "what matched")
        matches = list(_NUMBER.finditer(out)) + (list(_ANSWER.finditer(out)) if self.answers else [])
        if not matches:
            raise CommandError(f"it printed no number{_last_words(out, err)}")
        last = max(matches, key=lambda match: match.end())
        if doubt := next((each for each in _THOUSANDS.finditer(out) if each.end() == last.end()), None):
            raise CommandError(f"it printed {doubt.group()!r}, one number or several: say which with --metric-regex")
        return self._number(last.group(), "the last number that it printed")

    def _number(self, value: Any, what: str) -> float:
        if self.answers and isinstance(value, str) and value.strip().lower() in _ANSWERS:
            return _ANSWERS[value.strip().lower()]
        return _number(value, what)


def _check_program(word: str, line: str) -> None:
    """Refuse a program that cannot be started before anything is spent on it."""
    if shutil.which(word) is not None:
        return
    if os.path.isfile(word):
        raise InputError(f"command starts {shown(word)}, which cannot be started; expected a program (chmod +x)")
    hint = "; pipes, lists and redirections need --shell" if re.search(r"[|;<>&]", line) else ""
    raise InputError(f"command starts {shown(word)}; there is no such program{hint}")


def _filled(word: str, texts: dict[str, str], quoted: bool) -> str:
    """Placeholders replaced, all at once: a value that looks like one stays as it is."""

    def value(match: re.Match[str]) -> str:
        text = texts[match.group(1)]
        return shlex.quote(text) if quoted else text

    return _PLACEHOLDER.sub(value, word)


def _plain(text: str) -> str:
    """Without what terminals act upon, and with plain minus signs."""
    return _ESCAPES.sub("", text).replace("\u2212", "-")


def _aside(function: Any, *args: Any) -> threading.Thread:
    thread = threading.Thread(target=function, args=args, daemon=True)
    thread.start()
    return thread


def _keep_end(pipe: io.BufferedReader, end: deque[bytes]) -> None:
    """Read all there is, as it comes; keep what fits."""
    kept = 0
    with pipe:
        while chunk := pipe.read1(8192):
            end.append(chunk)
            kept += len(chunk)
            while kept - len(end[0]) >= _KEPT:
                kept -= len(end.popleft())


def _write(pipe: IO[bytes], text: str) -> None:
    try:
        with pipe:
            pipe.write(text.encode("utf-8", "replace"))
    except (OSError, ValueError):
        pass  # a program need not read what it is given


def _end(processes: "Sequence[subprocess.Popen[bytes]]") -> None:
    """End programs and everything that they started, all at once: first kindly, then surely."""
    import psutil

    family: list[psutil.Process] = []
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            parent = psutil.Process(process.pid)
            family += [*parent.children(recursive=True), parent]
    try:
        for process in processes:
            _signal(process, 15)
        deadline = time.monotonic() + _GRACE
        while any(process.poll() is None for process in processes) and time.monotonic() < deadline:
            time.sleep(0.02)
    finally:  # at once, if somebody is impatient
        for process in processes:
            _signal(process, 9)
        for member in family:
            with suppress(psutil.Error):
                member.kill()
    for process in processes:
        process.wait(10)


def _signal(process: "subprocess.Popen[bytes]", sign: int) -> None:
    """To its whole group: what it started may have lost its parent, but hardly its group."""
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, sign)


def _bare(line: str) -> bool:
    """Whether no placeholder of a shell's line stands inside quotes, where its value would not be safe."""
    quote, k = "", 0
    while k < len(line):
        if line[k] == "\\" and quote != "'":
            k += 1
        elif line[k] in "'\"" and quote in ("", line[k]):
            quote = "" if quote else line[k]
        elif quote and _PLACEHOLDER.match(line, k):
            return False
        k += 1
    return True


def _looked_up(out: str, key: str) -> Any:
    for text in [*reversed(out.splitlines()), out]:
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            for part in [key] if key in found else key.split("."):
                if not isinstance(found, dict) or part not in found:
                    raise CommandError(f"its output has no key {key!r}{_last_words(out)}")
                found = found[part]
            return found
    raise CommandError(f"it printed no JSON object{_last_words(out)}")


def _number(value: Any, what: str) -> float:
    try:
        if isinstance(value, list | dict) or value is None:
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise CommandError(f"{what} is {shown(value)}, not a number") from None
    if not abs(number) < float("inf"):
        raise CommandError(f"{what} is {number}, not a finite number")
    return number


def _last_words(text: str, other: str = "") -> str:
    for said, where in ((text, "it said"), (other, "on its standard error it said")):
        if lines := [line.strip() for line in said.splitlines() if line.strip()]:
            return f"; {where}: {lines[-1][:200]}"
    return "; it said nothing"
