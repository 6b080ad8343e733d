"""PI-BAI with warm-up: a policy plays n_w rounds, and its shares are the plan for the rest.

Nguyen, Aouali, György, Vernade (2025), Section 3: PI-BAI(TS) with Thompson sampling on the joint posterior (Gaussian,
linear and mixed-effect forms alike), n_w = K. The rest of the budget is spent in proportion to the warm-up's counts
(largest remainder). Warm-up rewards count in the decision; keep=False discards them, as the authors' code does;
published=True plays T3C and TS-TCI as it does (top_two.py).
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from bestarm.design.rounding import share_out
from bestarm.errors import InputError
from bestarm.policies.contract import Policy, Problem, Pulls, State, absorb, first_best, hold, upright
from bestarm.policies.thompson import ThompsonSampling
from bestarm.policies.top_two import TopTwo
from bestarm.validation import Array, IntArray, shown

__all__ = ["Warmup"]


@dataclass(frozen=True)
class Warmup:
    """rule: who plays the warm-up, always on the joint posterior. length: n_w, K where None; at most the budget. keep:
    its rewards count. published: as in `TopTwo`.
    """

    rule: Literal["ts", "ttts", "t3c", "ts-tci"] = "ts"
    length: int | None = None
    keep: bool = True
    published: bool = False

    anytime: ClassVar[bool] = False
    steady: ClassVar[bool] = False
    costs: ClassVar[bool] = False

    @property
    def name(self) -> str:
        return f"warmup-{self.rule}"

    def start(self, problem: Problem, rng: np.random.Generator) -> State:
        length = problem.num_arms if self.length is None else self.length
        if not isinstance(length, int) or length < 1:
            raise InputError(f"length is {shown(length)}; expected a whole number of at least 1 round of warm-up")
        length = int(min(length, problem.known_budget(self.name)))
        inner = self._player().start(problem, rng)
        return replace(hold(problem), memory=(inner, length, None))

    def next(self, state: State, room: float | Array, rng: np.random.Generator) -> tuple[State, Pulls]:
        inner, length, rest = state.memory
        if length > 0:
            if state.pending.sum(axis=1).max() >= length:  # its last rounds are still out
                return state, Pulls(counts=np.zeros_like(state.counts))
            # evidence from elsewhere may have come
            inner, pulls = self._player().next(replace(inner, belief=state.belief), room, rng)
            return replace(state, memory=(inner, length, rest)), pulls
        rest = np.maximum(rest - state.pending, 0.0)
        limit = np.minimum(rest.sum(axis=1), room)
        return state, Pulls(counts=rest if (limit >= rest.sum(axis=1)).all() else share_out(rest, limit))

    def observe(self, state: State, pulls: Pulls, sums: Array) -> State:
        inner, length, rest = state.memory
        if length == 0:
            rest = np.maximum(rest - pulls.per_arm(*rest.shape), 0.0)
            return replace(absorb(state, pulls, sums), memory=(inner, 0, rest))
        inner = self._player().observe(replace(inner, belief=state.belief), pulls, sums)
        length = max(length - int(pulls.per_arm(*state.counts.shape)[0].sum()), 0)  # the same in every run
        if length == 0:
            problem = state.problem
            left = problem.known_budget(self.name) - inner.counts.sum(axis=1)
            kept = inner if self.keep else hold(problem)
            # what was counted stays counted, whether or not it enters the belief
            memory = (None, 0, share_out(inner.counts, left))
            return replace(state, belief=kept.belief, counts=inner.counts, memory=memory)
        return replace(state, belief=inner.belief, counts=inner.counts, memory=(inner, length, rest))

    def recommend(self, state: State) -> IntArray:
        return first_best(upright(state.belief), state.problem.runs)

    def _player(self) -> Policy:
        if self.rule == "ts":
            return ThompsonSampling(joint=True)
        return TopTwo(rule=self.rule, joint=True, published=self.published)
