"""A policy in a live experiment: a simulation with one run, played again from the log.

The state of the policy is a function of the seed and of the log, so that any worker, at any time, after any crash, goes
on with the same evaluations. It moves only when new evaluations are planned: what was told since the last plan is
observed at once, in the order of the log, and then `next` is asked what to evaluate. What it wants is written to the
log and handed out one by one, in an order of its own.

A policy starts anew, with the posterior as its prior and what is left as its budget, when the budget is extended.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bestarm.experiment.events import Event
from bestarm.policies.contract import Policy, Problem, Pulls, State, lose
from bestarm.validation import Array

__all__ = ["Player"]

_START, _CHOICE, _ORDER, _STAND_IN = range(4)  # purposes of random numbers


@dataclass(frozen=True, eq=False)
class _Proposal:
    """moment: the last event, the trial and the room it was made for. belief, state: after it. counts: (K,)."""

    moment: tuple[int, int, float]
    belief: Any
    state: State
    counts: Array
    own: bool


class Player:
    """pool: how many items each arm can be evaluated on, None for any number."""

    def __init__(self, policy: Policy, model: Any, costs: Array, seed: int, pool: int | None) -> None:
        # in units of the cheapest evaluation: policies take sums of costs for equal that differ by 1e-9
        self._unit = float(costs.min())
        self._policy, self._costs, self._seed, self._pool = policy, costs / self._unit, seed, pool
        self._belief = model  # all that is known, whoever found it out
        self._budget, self._spent = 0.0, 0.0
        self._arm_of: dict[int, tuple[int, int]] = {}  # pending trial: its arm and the start that it belongs to
        self._starts = 0
        self._state: State | None = None  # None: to be started
        self._steady = getattr(policy, "steady", False)
        self._told = self._nothing()  # since the last plan, or the start of a steady policy
        self._lost = np.zeros(model.num_arms)  # alike: evaluations that failed
        self._foreign = (
            self._nothing()
        )  # alike: history and trials from before the start, which the policy did not ask for
        self._pending = np.zeros(model.num_arms)
        self._proposal: _Proposal | None = None  # the last one
        self._own = True  # the queue is the policy's choice
        self.queue: list[int] = []  # arms to be handed out next, the first one last
        self.items = np.zeros(model.num_arms, dtype=np.intp)  # of the pool, used by each arm
        self.returned: dict[int, list[int]] = {}  # items to be used again, by arm
        self.seq = 0  # the last event seen

    def _nothing(self) -> tuple[Array, Array]:
        """Counts (K,), and sums (K,) or (K, 2)."""
        arms, moments = self._belief.num_arms, self._belief.moments
        return np.zeros(arms), np.zeros((arms, moments)[: 1 if moments == 1 else 2])

    # ------------------------------------------------------------------ the log

    def follow(self, events: Iterable[Event]) -> None:
        """Take in what happened since."""
        for event in events:
            getattr(self, f"_on_{event.kind}", lambda payload: None)(event.payload)
            self.seq = event.seq

    def _on_created(self, payload: dict[str, Any]) -> None:
        self._budget = payload["budget"]

    def _on_extended(self, payload: dict[str, Any]) -> None:
        self._budget += payload["by"]
        self._state, self.queue = None, []

    def _on_planned(self, payload: dict[str, Any]) -> None:
        self._own = payload["own"]
        if self._own:
            self._move(payload["trial"], payload["room"])
        rng = self._stream(_ORDER, payload["trial"])
        arms, counts = (np.array(column, dtype=np.intp) for column in zip(*payload["counts"], strict=True))
        self.queue = [int(arm) for arm in rng.permutation(np.repeat(arms, counts))]

    def _on_asked(self, payload: dict[str, Any]) -> None:
        arm = payload["arm"]
        if self.queue:
            self.queue.pop()
        self._arm_of[payload["trial"]] = (arm, self._starts if self._own else -1)
        self._pending[arm] += self._own
        self._spent += payload["cost"]
        if payload["item"] is not None:
            if self.returned.get(arm):
                self.returned[arm].remove(payload["item"])
            else:
                self.items[arm] += 1

    def _on_told(self, payload: dict[str, Any]) -> None:
        self._spent += payload["extra"]
        arm, start = self._closed(payload["trial"], payload["arm"])
        mine = start == self._starts and self._state is not None
        self._add(self._told if mine else self._foreign, arm, payload)

    def _on_failed(self, payload: dict[str, Any]) -> None:
        arm, start = self._closed(payload["trial"], payload["arm"])
        if payload["refund"]:
            self._spent -= payload["cost"]
            if start != self._starts:  # money that the policy does not know of: it starts anew, as with more budget
                self._state, self.queue = None, []
            if payload["item"] is not None:
                self.returned.setdefault(arm, []).append(payload["item"])
        elif start == self._starts and self._state is not None:
            self._lost[arm] += 1

    def _on_added(self, payload: dict[str, Any]) -> None:
        self._add(self._foreign, payload["arm"], payload)

    def _closed(self, trial: int, arm: int) -> tuple[int, int]:
        if trial not in self._arm_of:  # told after it had failed
            return arm, -1
        found = self._arm_of.pop(trial)
        if found[1] == self._starts:
            self._pending[found[0]] -= 1
        return found

    def _add(self, into: tuple[Array, Array], arm: int, payload: dict[str, Any]) -> None:
        counts, sums = into
        counts[arm] += payload["n"]
        sums[arm] += payload["sum"] if sums.ndim == 1 else np.array([payload["sum"], payload["squares"]])

    # ------------------------------------------------------------------ the policy

    def propose(self, trial: int, room: float) -> tuple[Array, bool]:
        """What to evaluate next, (K,) whole numbers within the pool; all 0 where the policy waits or is done. And
        whether that is the policy's own choice.

        Nothing moves before the log says so: only `planned` does.
        """
        made = self._proposed(trial, room)
        return made.counts.copy(), made.own

    def _proposed(self, trial: int, room: float) -> _Proposal:
        """Made once for each moment."""
        moment = self.seq, trial, room
        if self._proposal is None or self._proposal.moment != moment:
            belief, state, counts = self._asked(trial, room)
            counts, own = self._within_pool(belief, counts, trial, room)
            self._proposal = _Proposal(moment, belief, state, counts, own)
        return self._proposal

    def _asked(self, trial: int, room: float) -> tuple[Any, State, Array]:
        """Belief and state as they are now, and what the policy then wants."""
        belief, state = self._advanced()
        pending = np.zeros_like(state.counts) if self._state is None else self._pending
        state = replace(state, pending=np.broadcast_to(pending, state.counts.shape))
        asked, pulls = self._policy.next(state, self._worth(room), self._stream(_CHOICE, trial))
        return belief, asked, pulls.per_arm(1, len(self._costs))[0].copy()

    def _within_pool(self, belief: Any, counts: Array, trial: int, room: float) -> tuple[Array, bool]:
        """So much of it as there are items for, and whether that is the policy's own choice."""
        if self._pool is None or not counts.any():
            return counts, True
        left = self.items_left()
        counts = np.minimum(counts, left)
        able = (left > 0) & (self._costs <= self._worth(room) + 1e-9)
        if counts.any() or not able.any():
            return counts, True
        # all that the policy wants has been evaluated on every item: of the others, one that may well be best
        drawn = belief.arms.sign * belief.sample(rng=self._stream(_STAND_IN, trial))
        counts[int(np.argmax(np.where(able, drawn, -np.inf)))] = 1.0
        return counts, False

    def items_left(self) -> Array:
        """Items of the pool that each arm has not been evaluated on, (K,)."""
        back = np.zeros(len(self.items))
        for arm, items in self.returned.items():
            back[arm] = len(items)
        return np.asarray((self._pool or 0) - self.items + back, dtype=np.float64)

    def _advanced(self) -> tuple[Any, State]:
        """The belief and the state after all that was told or added."""
        (counts, sums), (more, others) = self._told, self._foreign
        belief = self._belief
        if counts.any() or more.any():
            belief = belief._conditioned(counts + more, sums + others)
        if self._state is None:
            budget = None if self._policy.anytime else self._worth(max(self._budget - self._spent, 0.0))
            problem = Problem(belief, budget, self._costs, 1)
            return belief, self._policy.start(problem, self._stream(_START, self._starts))
        state = self._state
        if more.any():
            state = replace(state, belief=state.belief._conditioned(more, others[None]))
        if self._lost.any():
            state = lose(state, np.broadcast_to(self._lost, state.counts.shape))
        if counts.any() or self._lost.any():
            state = self._policy.observe(state, Pulls(counts=counts), sums[None])
        return belief, state

    def _move(self, trial: int, room: float) -> None:
        """What was proposed is planned."""
        fresh = self._state is None
        if self._steady and not fresh:
            return  # all of it can be had again from the start and the sums since
        made = self._proposed(trial, room)  # again, where another worker planned this
        self._belief, self._state = made.belief, made.state
        self._told, self._foreign, self._lost = self._nothing(), self._nothing(), np.zeros(len(self._costs))
        if fresh:
            self._starts += 1
            self._pending = np.zeros(len(self._costs))

    def _worth(self, amount: float) -> float:
        """An amount in units of the cheapest evaluation: whole where all cost the same."""
        units = amount / self._unit
        return float(np.floor(units + 1e-9)) if (self._costs == 1).all() else units

    def _stream(self, purpose: int, number: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=(purpose, number)))
