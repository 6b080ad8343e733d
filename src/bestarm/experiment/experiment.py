"""`ba.Experiment`: one real experiment, shared by all workers and resumes.

    experiment = ba.Experiment.create("prompts.db", "prompts", ["short", "long", "with examples"], budget=300)
    for trial in iter_trials(experiment): experiment.tell(trial, score(trial.name))
    experiment.recommend()

Every call is one transaction on the store. Nothing is kept in the object that is not in the log.
"""

import hashlib
import math
import threading
import warnings
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bestarm.errors import ExperimentExists, InputError, OverBudget, RewardError, StoreError, ToldTwiceWarning
from bestarm.experiment.events import FAILED, PENDING, REFUNDED, TOLD, Event, now, stamp
from bestarm.experiment.player import Player
from bestarm.experiment.recommendation import Evidence, Recommendation, recommended
from bestarm.experiment.settings import KEYS, Settings, checked_budget
from bestarm.experiment.worker import is_dead, this_process
from bestarm.models.files import replace_file
from bestarm.policies.contract import Policy
from bestarm.validation import Array, non_negative, real_array, shown

if TYPE_CHECKING:
    from bestarm.experiment.store import Store, Transaction

__all__ = ["ArmStatus", "Experiment", "Status", "Trial"]

_LONGEST_TEXT = 4000  # of messages and outputs that are stored


@dataclass(frozen=True)
class Trial:
    """One evaluation to make: of the arm called `name`, with its payload, on an item of the pool where there is one.

    id: to tell it by. seed: a number of its own below 2³¹, for evaluations that draw random numbers.
    """

    id: int
    arm: int
    name: str
    payload: Any = None
    item: Any = None
    seed: int = 0


@dataclass(frozen=True)
class ArmStatus:
    """evaluations: told; history: added; mean: of both, NaN where there is none."""

    name: str
    evaluations: int
    history: int
    pending: int
    failed: int
    mean: float


@dataclass(frozen=True)
class Status:
    """state: "open" (ask for more), "waiting" (all that can be is handed out), "spent", or "finished" (the policy, or
    the pool, has nothing more to evaluate). told, pending, failed: trials. spent: of the budget, pending included.
    """

    name: str
    state: str
    direction: str
    policy: str
    budget: float
    spent: float
    told: int
    pending: int
    failed: int
    arms: tuple[ArmStatus, ...]

    @property
    def left(self) -> float:
        return self.budget - self.spent


class Experiment:
    """Made by `Experiment.create` or `Experiment.open`."""

    def __init__(self, store: "Store", name: str, settings: Settings) -> None:
        self._store, self.name, self.settings = store, name, settings
        self._player: Player | None = None
        self._lock = threading.RLock()  # of the player: threads may share an experiment

    # ------------------------------------------------------------------ making and finding

    @classmethod
    def create(
        cls,
        store: str | Path,
        name: str,
        model: Any,
        budget: float,
        prior: str = "learn",
        pool: int | Sequence[Any] | None = None,
        policy: str | Policy = "rolling",
        direction: str | None = None,
        costs: ArrayLike | None = None,
        seed: int = 0,
        lease: float = 3600.0,
        yes_no: bool = False,
        load_if_exists: bool = False,
    ) -> "Experiment":
        """A new experiment.

        store
            A path or `sqlite:///name.db`, or `postgresql://user@host/name`.
        model
            A model of bestarm; or the names of the arms, or a dict from name to payload, for a prior that is learned
            along the way. yes_no, direction: of such arms.
        budget
            Evaluations, or money where `costs` are given: one price, or one for each arm.
        pool
            Items (or their number) that each arm is evaluated on at most once, in an order shared by all arms.
        lease
            Seconds after which a trial that nobody told is handed out again.
        load_if_exists
            Open an experiment of that name if it is there, with the same arms, settings and budget (as it was created,
            or as it has been extended).
        """
        from bestarm.experiment.store import Store  # databases are for those who keep experiments

        label = _checked_name(name)
        settings = Settings.of(model, budget, prior, pool, policy, direction, costs, seed, lease, yes_no)
        opened = Store(store)
        document = settings.document()
        # what the policy cannot do with this is found out before anything is stored
        _player_of(settings, settings.budget).propose(1, settings.budget)
        if opened.create(label, settings.model.num_arms, document):
            return cls(opened, label, settings)
        if not load_if_exists:
            raise ExperimentExists(f"name is {shown(label)}, which {opened.address} has already; expected a new name")
        there = cls.open(store, label)
        there.check_same(settings)
        return there

    def check_same(self, said: Settings, keys: Sequence[str] = KEYS) -> None:
        """Refuse settings that are not this experiment's; keys: which to look at, of `settings.KEYS`."""
        if "budget" in keys and said.budget != self.settings.budget:
            with self._store.reading(self.name) as t:
                total = t.counters.budget
            if said.budget != total:
                raise InputError(
                    f"budget is {said.budget:g}, and experiment {shown(self.name)} was created with "
                    f"{self.settings.budget:g}; expected that, or `extend` for more"
                )
        if different := self.settings.different(said, keys):
            raise InputError(f"{different} is not what experiment {shown(self.name)} was created with")

    @classmethod
    def open(cls, store: str | Path, name: str) -> "Experiment":
        """An experiment that was created before, by anybody."""
        from bestarm.experiment.store import Store

        opened = Store(store, must_exist=True)
        with opened.reading(_checked_name(name)) as t:
            first = t.events(most=1)
        if not first:
            raise InputError(f"name is {shown(name)}, whose log is empty; expected an experiment")
        try:
            settings = Settings.read(first[0].payload)
        except (InputError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise StoreError(
                f"store {opened.address}: experiment {shown(name)} is damaged, or of a newer bestarm ({error!r})"
            ) from None
        return cls(opened, name, settings)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Experiment.open, (self._store.place, self.name))

    def __repr__(self) -> str:
        return f"Experiment({self.name!r}, {self.settings.model.num_arms} arms, {self._store.address})"

    # ------------------------------------------------------------------ asking

    def ask(self, k: int = 1, worker: str | None = None) -> list[Trial]:
        """Up to k evaluations to make now; [] where all is spent or handed out (`status().state` says which).

        What is handed out is spent. A trial whose lease is over is handed out again first, which spends nothing.
        """
        if not isinstance(k, int | np.integer) or isinstance(k, bool) or not 1 <= k <= 10**6:
            raise InputError(f"k is {shown(k)}; expected a whole number from 1 to 1,000,000")
        who = self._worker(worker)
        with self._lock:
            try:
                with self._store.transaction(self.name) as t:
                    again = list(t.expired(int(k)))
                    if again:
                        held = {"trials": [row.trial for row in again], "until": self._until(), "worker": who}
                        t.append("leased", held)
                    trials = [self._trial(row.trial, row.arm, row.item) for row in again]
                    while len(trials) < k and (arm := self._next_arm(t)) is not None:
                        trials.append(self._hand_out(t, arm, who))
            except BaseException:
                self._player = None  # it may have seen events that were not kept
                raise
        return trials

    def _next_arm(self, t: "Transaction") -> int | None:
        """The arm to evaluate next; None where the budget is spent, or the policy wants to see more first."""
        settings = self.settings
        room = t.counters.budget - t.counters.spent
        if room + settings.slack < settings.costs.min():
            return None
        player = self._caught_up(t)
        if not player.queue or settings.costs[player.queue[-1]] > room + settings.slack:
            trial = t.counters.trials + 1
            counts, own = player.propose(trial, room)
            if not counts.any():
                return None
            wanted = [[int(arm), int(counts[arm])] for arm in np.flatnonzero(counts)]
            player.follow([t.append("planned", {"trial": trial, "room": room, "counts": wanted, "own": own})])
        return player.queue[-1]

    def _hand_out(self, t: "Transaction", arm: int, worker: str) -> Trial:
        player = self._caught_up(t)
        item: int | None = None
        if self.settings.pool is not None:
            back = player.returned.get(arm)
            item = back[0] if back else int(self.settings.order[player.items[arm]])
        number = t.counters.trials + 1
        payload = {"trial": number, "arm": arm, "cost": float(self.settings.costs[arm]), "item": item}
        player.follow([t.append("asked", payload | {"until": self._until(), "worker": worker})])
        return self._trial(number, arm, item)

    def _caught_up(self, t: "Transaction") -> Player:
        if self._player is None:
            self._player = _player_of(self.settings)
        if self._player.seq < t.counters.seq:
            self._player.follow(t.events(self._player.seq))
        return self._player

    def _trial(self, number: int, arm: int, item: int | None) -> Trial:
        arms, pool = self.settings.model.arms, self.settings.pool
        # the name in it: a second experiment of the same seed is no repetition of the first one's noise
        own = (5, number, zlib.crc32(self.name.encode()))
        seed = int(np.random.SeedSequence(self.settings.seed, spawn_key=own).generate_state(1)[0] >> 1)
        payload = None if arms.payloads is None else arms.payloads[arm]
        return Trial(number, arm, arms.names[arm], payload, None if pool is None or item is None else pool[item], seed)

    def _until(self) -> str:
        return stamp(now() + timedelta(seconds=min(self.settings.lease, 1e9)))

    def _worker(self, worker: str | None) -> str:
        if worker is None:
            return this_process()
        if not isinstance(worker, str) or not worker or len(worker) > 200:
            raise InputError(f"worker is {shown(worker)}; expected a name of at most 200 characters")
        return worker

    def renew(self, trials: Sequence[Trial | int]) -> None:
        """Hold trials for another lease: for evaluations that take long."""
        self._hold("leased", trials, {"until": self._until(), "worker": self._worker(None)})

    def release(self, trials: Sequence[Trial | int]) -> None:
        """Give trials back: they are handed out again at once, and spend nothing more."""
        self._hold("released", trials, {})

    def release_dead(self) -> int:
        """Give back the trials of processes of this machine that are no more; how many."""
        with self._store.transaction(self.name) as t:
            dead = [row.trial for row in t.pending() if is_dead(row.worker)]
            if dead:
                t.append("released", {"trials": dead})
        return len(dead)

    def _hold(self, kind: str, trials: Sequence[Trial | int], payload: dict[str, Any]) -> None:
        numbers = [_number(trial) for trial in trials]
        with self._store.transaction(self.name) as t:
            pending = [number for number in numbers if self._row(t, number).state == PENDING]
            if pending:
                t.append(kind, {"trials": pending} | payload)

    # ------------------------------------------------------------------ telling

    def tell(
        self,
        trial: Trial | int,
        value: float | None = None,
        values: ArrayLike | None = None,
        mean: float | None = None,
        sem: float | None = None,
        n: int | None = None,
        output: str | None = None,
    ) -> bool:
        """What an evaluation gave: a value; several, `values` or their mean, standard error and number, which spend
        their number. output: what else it said, of which the end is kept. True where it was stored.

        Telling a trial twice stores nothing, says so (`ToldTwiceWarning`) and returns False.
        """
        number = _number(trial)
        said, count, total, squares = self._observed(value, values, mean, sem, n)
        with self._store.transaction(self.name) as t:
            row = self._row(t, number)
            if row.state == TOLD:
                warnings.warn(f"trial {number} was told before; nothing was stored", ToldTwiceWarning, stacklevel=2)
                return False
            if row.state == REFUNDED:  # its money is back: evidence that spends nothing
                late = {"arm": row.arm, "n": count, "sum": total, "squares": squares, "trial": number}
                t.append("added", late | said)
                return True
            extra = (count - 1) * row.cost
            if extra > (left := t.counters.budget - t.counters.spent) + self.settings.slack:
                raise OverBudget(
                    f"values has {count} entries, {extra:g} more to spend than the trial's own {row.cost:g}, and "
                    f"{left:g} of the budget are left; expected fewer, or `extend` first",
                    1 + int((left + self.settings.slack) // row.cost),
                )
            payload = {"trial": number, "arm": row.arm, "n": count, "sum": total, "squares": squares, "extra": extra}
            kept = {} if output is None else {"output": _tail(output)}
            t.append("told", payload | said | kept)
        return True

    def add(
        self,
        arm: int | str,
        value: float | None = None,
        values: ArrayLike | None = None,
        mean: float | None = None,
        sem: float | None = None,
        n: int | None = None,
    ) -> None:
        """History: evaluations made elsewhere. They count as evidence and never spend."""
        if not isinstance(arm, str | int | np.integer):
            raise InputError(f"arm is {shown(arm)}; expected the name of an arm, or its index")
        index = int(self.settings.model.arms.index(arm, "arm"))
        said, count, total, squares = self._observed(value, values, mean, sem, n)
        with self._store.transaction(self.name) as t:
            t.append("added", {"arm": index, "n": count, "sum": total, "squares": squares} | said)

    def fail(self, trial: Trial | int, refund: bool = False, message: str | None = None) -> bool:
        """An evaluation gave nothing. It is spent, unless it is refunded, at once or later. True where that is news."""
        number = _number(trial)
        if not isinstance(refund, bool):
            raise InputError(f"refund is {shown(refund)}; expected True or False")
        with self._store.transaction(self.name) as t:
            row = self._row(t, number)
            if row.state == TOLD:
                warnings.warn(f"trial {number} was told before; nothing was stored", ToldTwiceWarning, stacklevel=2)
                return False
            if row.state != PENDING and not (row.state == FAILED and refund):
                return False
            payload = {"trial": number, "arm": row.arm, "refund": refund, "cost": row.cost, "item": row.item}
            t.append("failed", payload | {"message": None if message is None else _tail(message)})
        return True

    def extend(self, budget: float) -> float:
        """So much more budget; returns all of it. The policy starts anew on what is left, with what it knows."""
        more = checked_budget(budget, "budget", self.settings.priced)
        with self._store.transaction(self.name) as t:
            if not self.settings.priced and t.counters.budget + more > 1e9:
                raise InputError(f"budget is {shown(budget)}; expected at most 1e9 evaluations in all")
            t.append("extended", {"by": more})
            return t.counters.budget

    def _row(self, t: "Transaction", number: int) -> Any:
        row = t.trial(number) if number < 2**31 else None
        if row is None:
            raise InputError(f"trial is {number}; expected one that was asked for: 1 to {t.counters.trials}")
        return row

    def _observed(
        self, value: Any, values: Any, mean: Any, sem: Any, n: Any
    ) -> tuple[dict[str, Any], int, float, float]:
        """What was said, as the log keeps it; number of values, their sum, and the sum of their squares."""
        forms = {"value": value, "values": values, "mean": mean}
        given = [name for name, each in forms.items() if each is not None]
        if len(given) != 1:
            raise InputError(
                f"{' and '.join(given) or 'nothing'} is given; expected one of value, values, mean (with n)"
            )
        if mean is None and (sem is not None or n is not None):
            raise InputError("sem or n is given without mean; expected mean=, n= and sem= together")
        model = self.settings.model
        if mean is None:
            if isinstance(values if value is None else value, str | bytes):
                raise InputError(f"{given[0]} is {shown(forms[given[0]])}; expected a number, not text")
            seen = np.atleast_1d(real_array(forms[given[0]], given[0], ndim=0 if value is not None else 1))
            if not 1 <= len(seen) <= 10**6:
                raise InputError(f"values has {len(seen)} entries; expected 1 to 1,000,000")
            self._refuse_as(given[0], shown(forms[given[0]]), lambda: model._check_rewards(seen))
            total = float(seen[0]) if len(seen) == 1 else math.fsum(seen)
            said = {"value": float(seen[0])} if value is not None else {"values": seen.tolist()}
            return said, len(seen), total, math.fsum(seen**2)
        count = n
        if not isinstance(count, int | np.integer) or isinstance(count, bool) or not 1 <= count <= 10**6:
            raise InputError(f"n is {shown(n)}; expected how many values the mean is of, 1 to 1,000,000")
        centre = float(real_array(mean, "mean", ndim=0))
        if sem is None and model.moments == 2 and count > 1:
            raise InputError("sem is None; expected the standard error of the mean, from which the noise is learned")
        error = 0.0 if sem is None else float(non_negative(sem, "sem", ndim=0))
        total, place = centre * int(count), np.eye(1, model.num_arms)[0]

        def check(total: float) -> None:
            model._check_totals(place * int(count), place * total)

        if abs(total - round(total)) < 1e-9 * max(abs(total), 1.0):
            try:
                check(total)
            except InputError:  # a share of yes answers is whole in number, but for rounding
                total = float(round(total))
        self._refuse_as("mean", f"{shown(mean)} of n = {count}", lambda: check(total))
        squares = total**2 / int(count) + error**2 * int(count) * (int(count) - 1)
        said = {"mean": centre, "n": int(count), "sem": None if sem is None else error}
        return said, int(count), total, squares

    @staticmethod
    def _refuse_as(argument: str, value: str, check: Callable[[], None]) -> None:
        """A refusal of the model, in the words of the call."""
        try:
            check()
        except InputError as error:
            expected = str(error).rpartition("expected ")[2]
            raise RewardError(f"{argument} is {value}; expected {expected}") from None

    # ------------------------------------------------------------------ looking

    def posterior(self) -> Any:
        """What is believed now: the model after everything told and added."""
        with self._store.reading(self.name) as t:
            sums = t.sums()
        return self._after(sums)

    def _after(self, sums: Array) -> Any:
        model, total = self.settings.model, sums[:, :3] + sums[:, 3:]
        if not total[:, 0].any():
            return model
        return model._conditioned(total[:, 0], total[:, 1] if model.moments == 1 else total[:, 1:])

    def recommend(self, margin: float = 0.0) -> Recommendation:
        """The arm to pick now, how sure that is, and why. margin: an arm this close to the best is as good."""
        slack = float(non_negative(margin, "margin", ndim=0))
        with self._store.reading(self.name) as t:
            sums, numbers = t.sums(), t.numbers()
        total = sums[:, :3] + sums[:, 3:]
        n, rewards, squares = total.T
        evidence = Evidence(self.settings.model, n, rewards, squares, _failed(numbers, len(n)))
        return recommended(self._after(sums), evidence, slack)

    def status(self) -> Status:
        """How far the experiment is."""
        with self._lock, self._store.reading(self.name) as t:
            sums, numbers, counters, state = t.sums(), t.numbers(), t.counters, self._state(t)
        n, total = sums[:, 0] + sums[:, 3], sums[:, 1] + sums[:, 4]
        means = np.divide(total, n, out=np.full(len(n), np.nan), where=n > 0)
        failed = _failed(numbers, len(n))
        arms = tuple(
            ArmStatus(
                name,
                int(sums[k, 0]),
                int(sums[k, 3]),
                numbers.get((k, PENDING), 0),
                int(failed[k]),
                float(means[k]),
            )
            for k, name in enumerate(self.settings.model.names)
        )
        return Status(
            self.name,
            state,
            self.settings.model.direction,
            self.settings.policy.name,
            counters.budget,
            counters.spent,
            sum(number for (_, kind), number in numbers.items() if kind == TOLD),
            sum(arm.pending for arm in arms),
            sum(arm.failed for arm in arms),
            arms,
        )

    def _state(self, t: "Transaction") -> str:
        if t.expired(1):
            return "open"
        waits = any(state == PENDING for _, state in t.numbers())
        room = t.counters.budget - t.counters.spent
        if room + self.settings.slack < self.settings.costs.min():
            return "waiting" if waits else "spent"
        player = self._caught_up(t)
        if player.queue and self.settings.costs[player.queue[-1]] <= room + self.settings.slack:
            return "open"
        if player.propose(t.counters.trials + 1, room)[0].any():
            return "open"
        return "waiting" if waits else "finished"

    def log(self) -> list[Event]:
        """Everything that happened, in order."""
        with self._store.reading(self.name) as t:
            return t.events()

    def report(self, path: str | Path, margin: float = 0.0) -> None:
        """Write one HTML file: the decision in words, allocation, intervals, and how the chances moved."""
        # the one look down the layers: a user expects the report where the experiment is
        from bestarm.experiment.story import story_of
        from bestarm.report.page import report_page

        slack = float(non_negative(margin, "margin", ndim=0))
        replace_file(Path(path), report_page(story_of(self, slack)))

    def rebuild(self) -> bool:
        """Derive all sums from the log again; True where that changed nothing."""
        return self._store.rebuild(self.name)

    def run(
        self,
        function: Callable[[Trial], Any],
        jobs: int = 1,
        stop_at: float | None = None,
        retries: int = 0,
        catch: type[BaseException] | tuple[type[BaseException], ...] = (),
        max_failures: int = 10,
        on_change: Callable[[Trial, Any], None] | None = None,
    ) -> Recommendation:
        """Evaluate until the budget is spent, or the chance of being wrong is below stop_at; return the recommendation.

        function: gives the value of a trial (a number, or a list of numbers). jobs: how many at once, in threads.
        retries: how often an evaluation that raises is tried again. catch: errors after which a trial counts as failed
        and the run goes on; others end it, with the trial given back (`RewardError`: a value that cannot be one).
        max_failures: in a row, after which it ends.
        on_change: called with a trial and its value, or the error it failed with.

        Cut short, by Ctrl-C or worse, the same call goes on.
        """
        from bestarm.experiment.run import run

        run(self, function, jobs, stop_at, retries, catch, max_failures, on_change)
        return self.recommend()

    def _note_command(self, text: str) -> bool:
        """Which program evaluates from now on; False where it was another one before. The log keeps a digest alone:
        commands may hold secrets.
        """
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        with self._store.transaction(self.name) as t:
            before = t.last("running")
            if before is None or before.payload["command"] != digest:
                t.append("running", {"command": digest})
        return before is None or bool(before.payload["command"] == digest)

    def _note_stop(self, stop_at: float, chance: float) -> None:
        with self._store.transaction(self.name) as t:
            t.append("stopped", {"stop_at": stop_at, "chance": chance})


def _failed(numbers: dict[tuple[int, str], int], arms: int) -> Array:
    """Trials of each arm that failed, refunded or not, (K,)."""
    return np.array(
        [numbers.get((k, FAILED), 0) + numbers.get((k, REFUNDED), 0) for k in range(arms)], dtype=np.float64
    )


def _player_of(settings: Settings, budget: float | None = None) -> Player:
    pool = None if settings.pool is None else len(settings.pool)
    player = Player(settings.policy, settings.model, settings.costs, settings.seed, pool)
    if budget is not None:
        player.follow([Event(1, "", "created", {"budget": budget})])
    return player


def _checked_name(name: Any) -> str:
    if not isinstance(name, str) or not name.strip() or len(name) > 200 or not name.isprintable():
        raise InputError(f"name is {shown(name)}; expected a printable name of at most 200 characters")
    return name


def _number(trial: Any) -> int:
    number = trial.id if isinstance(trial, Trial) else trial
    if not isinstance(number, int | np.integer) or isinstance(number, bool) or number < 1:
        raise InputError(f"trial is {shown(trial)}; expected a trial that was asked for, or its number")
    return int(number)


def _tail(text: Any) -> str:
    """The end of it, as the store can hold it."""
    return str(text)[-_LONGEST_TEXT:].encode("utf-8", "replace").decode().replace("\0", "�")
