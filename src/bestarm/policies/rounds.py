"""What all elimination algorithms share: rounds of evaluations of the arms still in, after each of which some go."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bestarm.policies.contract import Problem, Pulls, State, absorb, hold
from bestarm.validation import Array, IntArray

__all__ = [
    "Rounds",
    "ask",
    "average",
    "begin",
    "evenly",
    "first_moment",
    "halved",
    "settle",
    "split",
    "survivor",
    "tell",
]


@dataclass(frozen=True, eq=False)
class Rounds:
    """alive: arms still in, (R, K). want: evaluations of this round not yet observed; seen and sums: what this round
    has observed; total: sums over all rounds, (R, K) each. now: the round, from 0. order: a random order of the arms
    of each run, for those that nothing else tells apart. table: the algorithm's own schedule.
    """

    alive: np.ndarray
    want: Array
    seen: Array
    sums: Array
    total: Array
    now: int
    order: Array
    table: Any

    def lose(self, counts: Array) -> "Rounds":
        """Evaluations of this round that gave nothing: it goes on without them."""
        return replace(self, want=np.maximum(self.want - counts, 0.0))

    @property
    def means(self) -> Array:
        """Average reward in this round; −∞ for arms it did not evaluate."""
        return average(first_moment(self.sums), self.seen)


def first_moment(sums: Array) -> Array:
    """The sums themselves, where the sums of squares stand behind them (contract.Policy.observe)."""
    return sums[..., 0] if sums.ndim == 3 else sums


def average(sums: Array, counts: Array) -> Array:
    """Sums over counts; −∞ where there is nothing to average."""
    return np.asarray(np.divide(sums, counts, out=np.full(sums.shape, -np.inf), where=counts > 0))


def begin(problem: Problem, rng: np.random.Generator, table: Any, belief: Any = None) -> State:
    """All arms in, nothing asked for yet."""
    shape = (problem.runs, problem.num_arms)
    zero, alive = np.zeros(shape), np.ones(shape, dtype=bool)
    nothing = zero if problem.belief.moments == 1 else np.zeros((*shape, problem.belief.moments))
    return hold(problem, belief, Rounds(alive, zero, zero, nothing, nothing, -1, rng.random(shape), table))


def ask(state: State, room: float | Array) -> Pulls:
    """What the round still wants, or as much of it as there is room for: fewest evaluations first."""
    want = np.maximum(state.memory.want - state.pending, 0.0)  # live, one trial may bring several values
    left = want.sum(axis=1)
    limit = np.minimum(np.broadcast_to(np.asarray(room, dtype=np.float64), left.shape), left)
    if (limit >= left).all():
        return Pulls(counts=want)
    # evaluation t of every arm comes before evaluation t + 1 of any
    taken = np.zeros_like(want)
    while (short := limit - taken.sum(axis=1)).max() >= 1:
        open_arms = want > taken
        rank = np.cumsum(open_arms, axis=1) * open_arms
        taken += open_arms & (rank <= short[:, None])
    return Pulls(counts=taken)


def tell(state: State, pulls: Pulls, sums: Array) -> State:
    """The round's own tally, and the posterior of all data."""
    memory: Rounds = state.memory
    counts = pulls.per_arm(*memory.alive.shape)
    held = replace(
        memory,
        want=np.maximum(memory.want - counts, 0.0),  # live, one trial may bring several values
        seen=memory.seen + counts,
        sums=memory.sums + sums,
        total=memory.total + sums,
    )
    return absorb(state, pulls, sums, memory=held)


def settle(
    state: State,
    rounds: int,
    keep: Callable[[int], int],
    allocate: Callable[[int, State], Array],
    score: Callable[[State], Array],
) -> State:
    """Finish rounds that want nothing more, and open the next one, until there is something to do or all are done.

    keep(s): how many arms stay after round s. allocate(s, state): evaluations of round s, (R, K). score: what ranks
    the arms, larger is better, (R, K); ties are broken at random.
    """
    while state.memory.now < rounds and not state.memory.want.any():
        memory: Rounds = state.memory
        alive = memory.alive if memory.now < 0 else _best(score(state), memory, keep(memory.now))
        zero = np.zeros(alive.shape)
        memory = replace(memory, alive=alive, seen=zero, sums=np.zeros_like(memory.sums), now=memory.now + 1)
        state = replace(state, memory=memory)
        if memory.now < rounds:
            state = replace(state, memory=replace(memory, want=allocate(memory.now, state)))
    return state


def _best(score: Array, memory: Rounds, number: int) -> np.ndarray:
    """The `number` best of the arms still in."""
    value = np.where(memory.alive, score, -np.inf)
    ranked = np.lexsort((memory.order, -value, ~memory.alive), axis=-1)
    stays = np.zeros(value.shape, dtype=bool)
    np.put_along_axis(stays, ranked[:, :number], True, axis=1)
    return np.asarray(stays & memory.alive)


def evenly(now: int, state: State) -> Array:
    """Row `now` of a schedule: so many evaluations of each arm still in, and one more of the first few; (R, K)."""
    _, each, more = state.memory.table[now]
    alive = state.memory.alive
    return np.asarray(alive * float(each) + (alive & (np.cumsum(alive, axis=1) <= more)))


def halved(arms: int, times: int) -> int:
    """Arms left after halving, rounded up, so many times."""
    return -(-arms // int(2**times))


def survivor(state: State, score: Array) -> IntArray:
    """The arm that is left, or the best of those that are."""
    value = np.where(state.memory.alive, score, -np.inf)
    return np.asarray(np.argmax(np.where(np.isneginf(value) & state.memory.alive, -1e300, value), axis=1))


def split(budget: float, rounds: int, remainder: str) -> list[int]:
    """The budget in equal parts, rounded down; the rest one each to the last rounds, or left."""
    each, rest = divmod(int(budget), max(rounds, 1))
    extra = rest if remainder == "spend" else 0
    return [each + (s >= rounds - extra) for s in range(rounds)]
