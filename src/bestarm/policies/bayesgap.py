"""BayesGap: evaluate the more uncertain of the arm of least gap bound and its strongest rival.

Hoffman, Shahriari, de Freitas (AISTATS 2014), Algorithm 1. With U, L = m̂ ± βŝ and B_k = max_{i≠k} U_i − L_k:
J = argmin B, j = argmax_{k≠J} U_k, evaluate whichever has the larger ŝ; decide for the J of the step of least B_J.
β² = ((T − K)/σ² + κ/η²)/(4H_ε), where κ/η² = Σ_k 1/Var(r_k) is the prior's (η²‖x_k‖² is the prior variance of arm k),
H_ε = Σ_k max((Δ_k + ε)/2, ε)⁻², and the gaps Δ are estimated at every step from m̂ ± 3ŝ. With noise v_k of its own for
each arm: β² = (T − K + Σ v_k/Var(r_k))/(4 Σ v_k H_k), the same where all are equal. Starts from the prior. Ties go to J
and to the lowest index. (T − K) is taken as 0 for budgets below K.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from bestarm.errors import InputError
from bestarm.policies.contract import Problem, Pulls, State, absorb, hold, upright
from bestarm.validation import Array, IntArray, shown

__all__ = ["BayesGap"]


@dataclass(frozen=True)
class BayesGap:
    """epsilon: the gap that may be ignored."""

    epsilon: float = 1e-5

    anytime: ClassVar[bool] = False
    steady: ClassVar[bool] = False
    costs: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < np.inf:
            raise InputError(f"epsilon is {shown(self.epsilon)}; expected a number above 0")

    @property
    def name(self) -> str:
        return "bayesgap"

    def start(self, problem: Problem, rng: np.random.Generator) -> State:
        belief = problem.belief.gaussian()
        varies = belief.var > 0
        evaluations = max(problem.known_budget(self.name) - problem.num_arms, 0.0)
        information = evaluations + float((belief.noise_var[varies] / belief.var[varies]).sum())
        nothing = np.full(problem.runs, np.inf), np.zeros(problem.runs, dtype=np.intp)
        return hold(problem, memory=(information, *nothing))

    def next(self, state: State, room: float | Array, rng: np.random.Generator) -> tuple[State, Pulls]:
        bound, leader, arm = self._look(state)
        information, least, decision = state.memory
        better = bound < least
        memory = (information, np.where(better, bound, least), np.where(better, leader, decision))
        return replace(state, memory=memory), Pulls(arms=arm)

    def observe(self, state: State, pulls: Pulls, sums: Array) -> State:
        return absorb(state, pulls, sums)

    def recommend(self, state: State) -> IntArray:
        _, least, decision = state.memory
        # before the first evaluation: the arm of least gap bound
        return np.where(np.isinf(least), self._look(state)[1], decision)

    def _look(self, state: State) -> tuple[Array, IntArray, IntArray]:
        """B_J, J, and the arm to evaluate, in each run."""
        view = state.belief.gaussian()
        mean, sd = upright(view), np.sqrt(view.var)
        rows = np.arange(len(mean))
        if mean.shape[1] == 1:
            zero = np.zeros(len(mean), dtype=np.intp)
            return np.zeros(len(mean)), zero, zero
        gaps = np.abs(_over_others(mean + 3 * sd, mean - 3 * sd)[0])
        hardness = (view.noise_var / np.square(np.maximum((gaps + self.epsilon) / 2, self.epsilon))).sum(axis=1)
        reach = np.sqrt(state.memory[0] / (4 * hardness))[:, None] * sd
        bound, first, second = _over_others(mean + reach, mean - reach)
        leader = np.argmin(bound, axis=1)
        rival = np.where(leader == first, second, first)
        arm = np.where(sd[rows, leader] >= sd[rows, rival], leader, rival)
        return bound[rows, leader], leader, arm


def _over_others(upper: Array, lower: Array) -> tuple[Array, IntArray, IntArray]:
    """max_{i≠k} U_i − L_k for every k, and which arms have the largest and second largest U; upper is used up."""
    rows = np.arange(len(upper))
    first = np.argmax(upper, axis=1)
    top = upper[rows, first]
    upper[rows, first] = -np.inf
    second = np.argmax(upper, axis=1)
    bound = top[:, None] - lower
    bound[rows, first] = upper[rows, second] - lower[rows, first]
    return bound, first, second
