"""Successive Rejects: K − 1 phases, after each of which the arm of least average goes.

Audibert, Bubeck, Munos (COLT 2010), Figure 3: loḡ K = ½ + Σ_{i=2}^K 1/i, n_k = ⌈(n − K)/(loḡ K (K + 1 − k))⌉. Averages
use all rewards. Ties are broken at random. Frequentist: it knows no prior and no structure. rerank=True is the code of
Nguyen et al. (2025): each phase takes the best of all arms, so that rejected ones can return.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from bestarm.policies import rounds
from bestarm.policies.contract import Problem, Pulls, State, upright
from bestarm.validation import Array, IntArray, choice

__all__ = ["SuccessiveRejects", "schedule"]


def schedule(arms: int, budget: float, remainder: str = "spend") -> IntArray:
    """One row a phase: arms in it, new evaluations of each, and how many arms get one more; (K − 1, 3).

    With fewer evaluations than arms n_k would be negative: phases do nothing then. remainder: "leave" leaves what the
    formula does not use, as the paper; "spend" shares it out in the last phase.
    """
    log_bar = 0.5 + (1 / np.arange(2, arms + 1)).sum()
    k = np.arange(1, arms)
    totals = np.maximum(np.ceil((int(budget) - arms) / (log_bar * (arms + 1 - k))), 0).astype(np.intp)
    each = np.diff(totals, prepend=0)
    table = np.stack([arms + 1 - k, each, np.zeros_like(each)], axis=1).astype(np.intp)
    if remainder == "spend" and arms > 1:
        left = int(budget) - int(table[:, 0] @ table[:, 1])
        table[-1, 1] += left // 2
        table[-1, 2] = left % 2
    return table


@dataclass(frozen=True)
class SuccessiveRejects:
    """remainder: what to do with evaluations that the formula leaves, "spend" or "leave". rerank: all arms after each
    phase, those rejected before as well.
    """

    remainder: Literal["spend", "leave"] = "spend"
    rerank: bool = False

    anytime: ClassVar[bool] = False
    steady: ClassVar[bool] = False
    costs: ClassVar[bool] = False

    def __post_init__(self) -> None:
        choice(self.remainder, "remainder", ("spend", "leave"))

    @property
    def name(self) -> str:
        return "sr"

    def start(self, problem: Problem, rng: np.random.Generator) -> State:
        table = schedule(problem.num_arms, problem.known_budget(self.name), self.remainder)
        return self._settle(rounds.begin(problem, rng, table))

    def next(self, state: State, room: float | Array, rng: np.random.Generator) -> tuple[State, Pulls]:
        return state, rounds.ask(state, room)

    def observe(self, state: State, pulls: Pulls, sums: Array) -> State:
        return self._settle(rounds.tell(state, pulls, sums))

    def recommend(self, state: State) -> IntArray:
        return rounds.survivor(state, _average(state))

    def _settle(self, state: State) -> State:
        table, memory = state.memory.table, state.memory
        if self.rerank and memory.now < len(table) and not memory.want.any():  # a phase is over
            state = replace(state, memory=replace(memory, alive=np.ones_like(memory.alive)))
        return rounds.settle(state, len(table), lambda s: int(table[s, 0]) - 1, rounds.evenly, _average)


def _average(state: State) -> Array:
    """Average of all rewards of each arm; −∞ where there are none."""
    total = upright(state.belief, rounds.first_moment(state.memory.total))
    return rounds.average(total, state.counts)
