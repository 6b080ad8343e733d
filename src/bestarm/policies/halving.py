"""Sequential Halving: equal evaluations in each of ⌈log2 K⌉ rounds, the better half stays.

Karnin, Koren, Somekh (ICML 2013), Algorithm 3. Round averages use that round's rewards only, as in the paper. Ties
are broken at random. Frequentist: it knows no prior and no structure.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from bestarm.policies import rounds
from bestarm.policies.contract import Problem, Pulls, State, upright
from bestarm.validation import Array, IntArray, choice

__all__ = ["SequentialHalving", "schedule"]


def schedule(arms: int, budget: float, remainder: str = "spend") -> IntArray:
    """One row a round: arms in it, evaluations of each, and how many arms get one more; (rounds, 3).

    ⌊n/(|S| R)⌋ of each. remainder: "leave" leaves what does not divide, as the paper; "spend" carries it into the next
    round and shares it out in the last.
    """
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
    """remainder: what to do with evaluations that do not divide evenly, "spend" or "leave"."""

    remainder: Literal["spend", "leave"] = "spend"

    anytime: ClassVar[bool] = False
    costs: ClassVar[bool] = False

    def __post_init__(self) -> None:
        choice(self.remainder, "remainder", ("spend", "leave"))

    @property
    def name(self) -> str:
        return "sh"

    def start(self, problem: Problem, rng: np.random.Generator) -> State:
        table = schedule(problem.num_arms, problem.known_budget(self.name), self.remainder)
        return self._settle(rounds.begin(problem, rng, table))

    def next(self, state: State, room: float | Array, rng: np.random.Generator) -> tuple[State, Pulls]:
        return state, rounds.ask(state, room)

    def observe(self, state: State, pulls: Pulls, sums: Array) -> State:
        return self._settle(rounds.tell(state, pulls, sums))

    def recommend(self, state: State) -> IntArray:
        return rounds.survivor(state, upright(state.belief, state.memory.means))

    def _settle(self, state: State) -> State:
        table = state.memory.table

        def score(state: State) -> Array:
            return upright(state.belief, state.memory.means)

        return rounds.settle(state, len(table), lambda s: (int(table[s, 0]) + 1) // 2, rounds.evenly, score)
