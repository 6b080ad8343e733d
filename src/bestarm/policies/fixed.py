"""PI-BAI with a plan: all counts decided before the first evaluation.

Nguyen, Aouali, György, Vernade (AISTATS 2025), Algorithm 1. Counts are whole and spend the budget (the paper rounds
down); the decision is the largest posterior mean, ties to the lowest index.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from bestarm.design.plans import Method, plan
from bestarm.design.rounding import largest_remainder
from bestarm.errors import InputError
from bestarm.models.logistic import GeneralizedLinear
from bestarm.policies.contract import Problem, Pulls, State, absorb, first_best, hold, upright
from bestarm.validation import Array, IntArray, shown

__all__ = ["Fixed"]


@dataclass(frozen=True)
class Fixed:
    """method and mix as in `ba.plan`; "bound" with mix 0.5 is the paper's Opt. counts: a plan of one's own instead.
    fisher: False plans for logistic arms as if they were linear Gaussian ones (the paper's choice).
    """

    method: Method = "tie"
    mix: float | None = None
    counts: tuple[int, ...] | None = None
    fisher: bool = True

    anytime: ClassVar[bool] = False
    steady: ClassVar[bool] = True
    costs: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return self.method if self.mix is None else f"{self.method}-mix"

    def start(self, problem: Problem, rng: np.random.Generator) -> State:
        counts = self.prepared(problem).counts or ()
        if len(counts) != problem.num_arms or np.array(counts) @ problem.costs > problem.known_budget(self.name) + 1e-9:
            raise InputError(f"counts is {shown(counts)}; expected one number per arm, within the budget")
        return hold(problem, memory=np.array(counts, dtype=np.float64), apart=False)

    def prepared(self, problem: Problem) -> "Fixed":
        """The same with its plan made: once for all runs."""
        if self.counts is not None:
            return self
        belief = problem.belief
        if not self.fisher and isinstance(belief, GeneralizedLinear):
            belief = belief.gaussian(fisher=False)
        made = plan(belief, problem.known_budget(self.name), self.method, problem.costs, self.mix)
        return replace(self, counts=tuple(map(int, made.counts)))

    def next(self, state: State, room: float | Array, rng: np.random.Generator) -> tuple[State, Pulls]:
        rest = np.maximum(state.memory - state.counts - state.pending, 0.0)
        limit = float(np.min(room))
        costs = state.problem.costs
        if rest @ costs > limit + 1e-9:  # a batch of it, in proportion
            spend = rest * costs
            rest = np.minimum(largest_remainder(spend / spend.sum(), costs, limit), rest)
        return state, Pulls(counts=rest)

    def observe(self, state: State, pulls: Pulls, sums: Array) -> State:
        return absorb(state, pulls, sums)

    def recommend(self, state: State) -> IntArray:
        return first_best(upright(state.belief), state.problem.runs)
