"""What came of a simulation: per-run outcomes of every policy at every budget, and the tables made of them.

The file is a log: a header, then one record for every block of runs that is finished, so that a run cut short leaves
all it has done, and goes on from there.
"""

import json
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestarm.errors import InputError
from bestarm.estimate import Estimate
from bestarm.validation import Array, choice, shown

__all__ = ["Outcome", "Results"]

_MAGIC = b"bestarm-simulation-1\n"
FIELDS = ("error", "regret", "wrong", "shortfall")


@dataclass(frozen=True, eq=False)
class Outcome:
    """A block of runs of one policy at one budget; (runs in the block,) each.

    wrong, shortfall: whether the decision was wrong (0 or 1) and by how much its mean falls short. error, regret: their
    exact expectations given the data, where the truth's family allows it, else the same as realised.
    """

    error: Array
    regret: Array
    wrong: Array
    shortfall: Array
    seconds: float


@dataclass(eq=False)
class Results:
    """Results of `ba.simulate`.

    settings: what was run (version, seed, runs, …). policies, budgets: in the order given. conditional: error and
    regret are exact given the data (Rao-Blackwell), not just 0 or 1.
    """

    settings: dict[str, Any]
    blocks: dict[tuple[str, float, int], Outcome] = field(default_factory=dict)

    @property
    def policies(self) -> list[str]:
        return list(self.settings["policies"])

    @property
    def budgets(self) -> list[float]:
        return list(self.settings["budgets"])

    @property
    def complete(self) -> bool:
        """False where the simulation was interrupted; what is there can be used all the same."""
        return len(self.blocks) == len(self.policies) * len(self.budgets) * int(self.settings["blocks"])

    def outcome(self, policy: str, budget: float, what: str = "error") -> Array:
        """Outcomes of each finished run, in the order of instances."""
        name = choice(policy, "policy", self.policies)
        if budget not in self.budgets:
            raise InputError(f"budget is {shown(budget)}; expected one of {', '.join(f'{b:g}' for b in self.budgets)}")
        which = choice(what, "what", FIELDS)
        parts = [
            getattr(self.blocks[name, budget, block], which)
            for block in range(self.settings["blocks"])
            if (name, budget, block) in self.blocks
        ]
        return np.concatenate(parts) if parts else np.zeros(0)

    def estimate(self, policy: str, budget: float, what: str = "error") -> Estimate:
        """Mean and standard error over runs; runs of one instance count as one."""
        return _mean(self._by_instance(self.outcome(policy, budget, what)))

    def table(self, realised: bool = False) -> NDArray[Any]:
        """One row for each policy and budget: error and regret with standard errors, runs and seconds.

        A NumPy structured array. realised: from 0/1 outcomes instead of exact conditional ones.
        """
        error, regret = ("wrong", "shortfall") if realised else ("error", "regret")
        rows = []
        for policy in self.policies:
            for budget in self.budgets:
                runs = len(self.outcome(policy, budget))
                if not runs:
                    continue
                e, r = self.estimate(policy, budget, error), self.estimate(policy, budget, regret)
                seconds = sum(found.seconds for (p, b, _), found in self.blocks.items() if p == policy and b == budget)
                rows.append((policy, budget, runs, e.value, e.stderr, r.value, r.stderr, seconds))
        names = ("error", "error_se", "regret", "regret_se", "seconds")
        width = max((len(policy) for policy in self.policies), default=1)
        columns: list[tuple[str, Any]] = [("policy", f"U{width}"), ("budget", np.float64), ("runs", np.int64)]
        return np.array(rows, dtype=columns + [(name, np.float64) for name in names])

    @property
    def frame(self) -> Any:
        """`table()` as a pandas DataFrame."""
        try:
            import pandas  # type: ignore[import-untyped]
        except ImportError:
            raise InputError(
                "Results.frame needs pandas; expected it to be installed, or use Results.table()"
            ) from None
        return pandas.DataFrame(self.table())

    def paired(self, first: str, second: str, what: str = "error") -> NDArray[Any]:
        """Differences first − second on the same instances: columns budget, difference, stderr."""
        rows = []
        for budget in self.budgets:
            a, b = self.outcome(first, budget, what), self.outcome(second, budget, what)
            both = min(len(a), len(b))
            gap = _mean(self._by_instance(a[:both] - b[:both]))
            rows.append((budget, gap.value, gap.stderr))
        return np.array(rows, dtype=[(name, np.float64) for name in ("budget", "difference", "stderr")])

    def per_instance(self, policy: str, budget: float, what: str = "wrong") -> Array:
        """Averages over the repeats of each instance, (instances,)."""
        return self._by_instance(self.outcome(policy, budget, what))

    def _by_instance(self, values: Array) -> Array:
        repeats = int(self.settings["repeats"])
        return values.reshape(-1, repeats).mean(axis=1) if repeats > 1 else values

    # ------------------------------------------------------------------ files

    def save(self, path: str | Path) -> None:
        """Everything, in the form that `load` and `simulate(out=…)` read."""
        with Path(path).open("wb") as file:
            file.write(header(self.settings))
            for key, found in self.blocks.items():
                file.write(record(key, found))

    @classmethod
    def load(cls, path: str | Path) -> "Results":
        """Results from a file, finished or not; a record cut short is left out."""
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise InputError(f"path is {shown(str(path))}; it cannot be read: {error.strerror or error}") from None
        if not data.startswith(_MAGIC):
            raise InputError(f"{path} is not a file of simulation results")
        parts = _records(data[len(_MAGIC) :])
        try:
            head, _ = next(parts)
            results = cls(head)
            for about, body in parts:
                with np.errstate(invalid="ignore"):  # damaged bytes: refused below
                    values = np.frombuffer(body, dtype=np.float32).astype(np.float64).reshape(len(FIELDS), -1)
                key = str(about["policy"]), float(about["budget"]), int(about["block"])
                if key[0] not in head["policies"] or not np.isfinite(values).all():
                    raise ValueError("a record that does not fit")
                results.blocks[key] = Outcome(values[0], values[1], values[2], values[3], float(about["seconds"]))
            results._check_sizes()
        except StopIteration:
            raise InputError(f"{path} ends before its header; expected a file that simulate or save wrote") from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{path} is damaged ({error}); expected a file that simulate or save wrote") from None
        return results

    def _check_sizes(self) -> None:
        """The same block has the same runs, whatever the policy and budget."""
        sizes: dict[int, int] = {}
        for (_, _, block), found in self.blocks.items():
            if sizes.setdefault(block, len(found.error)) != len(found.error):
                raise ValueError(f"block {block} has records of different lengths")

    def __repr__(self) -> str:
        state = "" if self.complete else ", incomplete"
        return (
            f"Results({len(self.policies)} policies, {len(self.budgets)} budgets, {self.settings['runs']} runs{state})"
        )


def header(settings: dict[str, Any]) -> bytes:
    return _MAGIC + _packed(settings, b"")


def record(key: tuple[str, float, int], found: Outcome) -> bytes:
    about = {"policy": key[0], "budget": key[1], "block": key[2], "seconds": found.seconds}
    body = np.stack([getattr(found, name) for name in FIELDS]).astype(np.float32)
    return _packed(about, body.tobytes())


def _packed(about: dict[str, Any], body: bytes) -> bytes:
    text = json.dumps(about).encode()
    return struct.pack("<QQ", len(text), len(body)) + text + body


def _records(data: bytes) -> Any:
    """(header, body) of every whole record."""
    at = 0
    while at + 16 <= len(data):
        about, body = struct.unpack_from("<QQ", data, at)
        if at + 16 + about + body > len(data):
            return
        yield json.loads(data[at + 16 : at + 16 + about]), data[at + 16 + about : at + 16 + about + body]
        at += 16 + about + body


def _mean(values: Array) -> Estimate:
    if not len(values):
        return Estimate(float("nan"), float("nan"))
    stderr = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
    return Estimate(float(values.mean()), stderr)
