"""What can happen in an experiment, and what follows from it: the log is the truth, all else is derived.

    kind      payload
    created   all settings, as `Experiment.create` wrote them
    planned   trial, room: when; counts: [[arm, n], ...] to be handed out next; own: False where it stands in for the
              policy, whose wishes the pool cannot meet
    asked     trial, arm, cost, item, until, worker: an evaluation is handed out; it is spent
    leased    trials, until, worker: handed out again, or held longer; spends nothing
    released  trials: nobody works on them any more
    told      trial, n, sum, squares, and what was said: value, values, or mean and sem; extra: what more it spent
    failed    trial, refund, cost, item, message
    added     arm, n, sum, squares: history; spends nothing. trial: one that was refunded and gave something after all
    extended  by: so much more budget
    stopped   stop_at, chance: a run saw a chance of being wrong below stop_at
    running   command: a digest of the program that evaluates from now on

`change_of` says what an event does to the sums of each arm and to the budget. The store applies it in the transaction
that writes the event; rebuilding applies the whole log again, in the same order, and so to the last bit.
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

__all__ = ["FAILED", "PENDING", "REFUNDED", "TOLD", "Change", "Event", "change_of", "dumped", "now", "stamp"]

PENDING, TOLD, FAILED, REFUNDED = "pending", "told", "failed", "refunded"


@dataclass(frozen=True)
class Event:
    """seq: 1, 2, 3, … in its experiment. at: UTC, ISO 8601."""

    seq: int
    at: str
    kind: str
    payload: dict[str, Any]


@dataclass(frozen=True)
class Change:
    """What an event adds to what is derived. n, total, squares: to the sums of `arm`, as history or not; spent, budget:
    to the experiment's; trials: their new rows (number, columns).
    """

    arm: int | None = None
    n: int = 0
    total: float = 0.0
    squares: float = 0.0
    history: bool = False
    spent: float = 0.0
    budget: float = 0.0
    trials: tuple[tuple[int, dict[str, Any]], ...] = ()


def change_of(kind: str, payload: dict[str, Any]) -> Change:
    """What follows from an event."""
    match kind:
        case "created":
            return Change(budget=payload["budget"])
        case "asked":
            row = {"arm": payload["arm"], "state": PENDING, "cost": payload["cost"], "item": payload["item"]}
            held = {"until": payload["until"], "worker": payload["worker"]}
            return Change(spent=payload["cost"], trials=((payload["trial"], row | held),))
        case "leased":
            held = {"until": payload["until"], "worker": payload["worker"]}
            return Change(trials=tuple((trial, held) for trial in payload["trials"]))
        case "released":
            return Change(trials=tuple((trial, {"until": "", "worker": ""}) for trial in payload["trials"]))
        case "told":
            sums = (payload["arm"], payload["n"], payload["sum"], payload["squares"])
            return Change(*sums, spent=payload["extra"], trials=((payload["trial"], {"state": TOLD}),))
        case "failed":
            state, back = (REFUNDED, payload["cost"]) if payload["refund"] else (FAILED, 0.0)
            return Change(spent=-back, trials=((payload["trial"], {"state": state}),))
        case "added":
            late = ((payload["trial"], {"state": TOLD}),) if "trial" in payload else ()
            return Change(payload["arm"], payload["n"], payload["sum"], payload["squares"], history=True, trials=late)
        case "extended":
            return Change(budget=payload["by"])
    return Change()


def dumped(payload: dict[str, Any]) -> str:
    """As the log keeps it: numbers are read back bit for bit."""
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def now() -> datetime:
    """The time, UTC."""
    return datetime.now(UTC)


def stamp(at: datetime) -> str:
    """A time as the store keeps it: text that sorts as times do."""
    return at.isoformat(timespec="microseconds")
