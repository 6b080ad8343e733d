"""Sequential Halving: equal evaluations in each of ⌈log2 K⌉ rounds, the better half stays.

Karnin, Koren, Somekh (ICML 2013), Algorithm 3. Round averages use that round's rewards only, as in the paper. Ties
are broken at random. Frequentist: it knows no prior and no structure.

remainder="published" is the code of Nguyen et al. (2025): the budget is divided by a real log2 K, but there are
⌊log2 K⌋ rounds, halving rounds down, and arms without an evaluation (0/0) rank first, the last of them before others.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from bestarm.policies import rounds
from bestarm.policies.contract import Problem, Pulls, State, upright
from bestarm.validation import Array, IntArray, choice

__all__ = ["SequentialHalving", "schedule"]


def schedule(arms: int, budget: float, remainder: str = "spend") -> IntArray:
    """One row a round: arms in it, evaluations of each, and how many arms get one more; (rounds, 3).

    ⌊n/(|S| R)⌋ of each. remainder: "leave" leaves what does not divide, as the paper; "spend" carries it into the next
    round and shares it out in the last; "published": ⌊n/(|S| log2 K)⌋ in ⌊log2 K⌋ rounds.
    """
    if remainder == "published":
        sizes = [arms >> s for s in range(int(np.log2(arms)))]
        rows = [(size, int(budget / (size * np.log2(arms))), 0) for size in sizes]
        return np.array(rows, dtype=np.intp).reshape(-1, 3)
    number = int(np.ceil(np.log2(arms)))
    table, left, size = np.zeros((number, 3), dtype=np.intp), 0, arms
    part = rounds.split(budget, number, remainder)
    for s in range(number):
        each = (part[s] + left) // size if remainder == "spend" else int(budget) // (size * number)
        left = part[s] + left - each * size
        table[s] = size, each, left if remainder == "spend" and s == number - 1 else 0
        size = (size + 1) // 2
    return table


@dataclass(frozen=True)
class SequentialHalving:
    """remainder: what to do with evaluations that do not divide evenly, "spend" or "leave"; or all "published"."""

    remainder: Literal["spend", "leave", "published"] = "spend"

    anytime: ClassVar[bool] = False
    steady: ClassVar[bool] = False
    costs: ClassVar[bool] = False

    def __post_init__(self) -> None:
        choice(self.remainder, "remainder", ("spend", "leave", "published"))

    @property
    def name(self) -> str:
        return "sh"

    def start(self, problem: Problem, rng: np.random.Generator) -> State:
        table = schedule(problem.num_arms, problem.known_budget(self.name), self.remainder)
        state = rounds.begin(problem, rng, table)
        if self.remainder == "published":
            # what an ascending sort that puts 0/0 last gives, read from its end
            last_first = np.broadcast_to(-np.arange(problem.num_arms, dtype=np.float64), state.memory.alive.shape)
            state = replace(state, memory=replace(state.memory, order=last_first))
        return self._settle(state)

    def next(self, state: State, room: float | Array, rng: np.random.Generator) -> tuple[State, Pulls]:
        return state, rounds.ask(state, room)

    def observe(self, state: State, pulls: Pulls, sums: Array) -> State:
        return self._settle(rounds.tell(state, pulls, sums))

    def recommend(self, state: State) -> IntArray:
        return rounds.survivor(state, upright(state.belief, state.memory.means))

    def _settle(self, state: State) -> State:
        table = state.memory.table

        def score(state: State) -> Array:
            value = upright(state.belief, state.memory.means)
            return np.where(state.memory.seen > 0, value, np.inf) if self.remainder == "published" else value

        def keep(now: int) -> int:
            return int(table[now + 1, 0]) if now + 1 < len(table) else 1

        return rounds.settle(state, len(table), keep, rounds.evenly, score)
