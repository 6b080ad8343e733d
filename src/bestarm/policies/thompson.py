"""Thompson sampling: evaluate the arm that is best in a draw of the arm means from the posterior.

Thompson (1933). On the joint posterior this is, for independent arms, linear bandits and mixed effects, the paper's
warm-up policy; the rival of that name believes the marginal prior. Logistic arms draw from the Laplace posterior
(Chapelle and Li, 2011, here refitted to all data, with its full covariance). Ties go to the lowest index.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bestarm.policies.contract import Problem, Pulls, State, absorb, first_best, hold, marginal, upright
from bestarm.validation import Array, IntArray

__all__ = ["ThompsonSampling"]


@dataclass(frozen=True)
class ThompsonSampling:
    """joint: draw from the full posterior of a structured model instead of from each arm's own."""

    joint: bool = False

    anytime: ClassVar[bool] = True
    steady: ClassVar[bool] = True
    costs: ClassVar[bool] = False

    @property
    def name(self) -> str:
        return "joint-ts" if self.joint else "ts"

    def start(self, problem: Problem, rng: np.random.Generator) -> State:
        return hold(problem, problem.belief if self.joint else marginal(problem.belief))

    def next(self, state: State, room: float | Array, rng: np.random.Generator) -> tuple[State, Pulls]:
        return state, Pulls(arms=np.argmax(upright(state.belief, state.belief._draw(rng)), axis=1))

    def observe(self, state: State, pulls: Pulls, sums: Array) -> State:
        return absorb(state, pulls, sums)

    def recommend(self, state: State) -> IntArray:
        return first_best(upright(state.belief), state.problem.runs)
