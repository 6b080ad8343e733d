"""What every policy does, and what it is given.

    state = policy.start(problem, rng)             problem: belief, budget, costs, runs, largest batch
    state, pulls = policy.next(state, room, rng)   what to evaluate now, in each of R runs; nothing: done
    state = policy.observe(state, pulls, sums)     what came of it
    arms  = policy.recommend(state)                (R,)

Array code over R runs, so that ten thousand of them advance together; a live experiment is one run. Beliefs keep
their direction: policies look at `upright(values)`, where larger is better.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from bestarm.errors import InputError
from bestarm.validation import Array, IntArray

__all__ = [
    "Policy",
    "Problem",
    "Pulls",
    "State",
    "absorb",
    "checked_fit",
    "first_best",
    "hold",
    "lose",
    "marginal",
    "upright",
]


@dataclass(frozen=True, eq=False)
class Problem:
    """What a policy is told before it starts.

    belief: the model, without batch axes. budget: all that may be spent, None where nobody knows it. costs: of one
    evaluation of each arm, (K,). runs: how many at once. batch: the most evaluations between two observations, None
    for no limit.
    """

    belief: Any
    budget: float | None
    costs: Array
    runs: int
    batch: int | None = None

    @property
    def num_arms(self) -> int:
        return int(self.belief.num_arms)

    @property
    def priced(self) -> bool:
        """True where evaluations differ in price, or the budget is not a number of evaluations."""
        return bool((self.costs != 1).any())

    def known_budget(self, policy: str) -> float:
        """The budget, for policies that cannot do without."""
        if self.budget is None:
            raise InputError(f"budget is None; expected a number: policy '{policy}' plans for all of it")
        return self.budget


@dataclass(frozen=True, eq=False, slots=True)
class Pulls:
    """What to evaluate now: either `arms`, one evaluation of one arm in each run, (R,); or `counts`, (R, K) whole
    numbers, or (K,) where all runs do the same.
    """

    arms: IntArray | None = None
    counts: Array | None = None

    def per_arm(self, runs: int, num_arms: int) -> Array:
        """As counts, (R, K), whatever the form."""
        if self.counts is not None:
            return np.broadcast_to(self.counts, (runs, num_arms))
        assert self.arms is not None
        one = np.zeros((runs, num_arms))
        one[np.arange(runs), self.arms] = 1.0
        return one

    def spent(self, costs: Array) -> Array | float:
        """The cost in each run."""
        return costs[self.arms] if self.counts is None else self.counts @ costs

    @property
    def none(self) -> bool:
        return self.counts is not None and not self.counts.any()


@dataclass(frozen=True, eq=False)
class State:
    """Where a policy stands in each run. belief: what it believes now (batch axis R, or none while all runs know the
    same); counts: evaluations observed, (R, K) or (K,); pending: handed out and not yet observed, alike; lost: made and
    paid, and nothing came of them, alike; memory: what the algorithm itself remembers.
    """

    problem: Problem
    belief: Any
    counts: Array
    pending: Array
    memory: Any = None
    lost: Any = 0.0


class Policy(Protocol):
    """A fixed-budget best-arm identification algorithm; options are fields of a frozen dataclass.

    `sums` of counts are (R, K), or (R, K, 2) with the sums of squares behind where the belief learns the noise
    (moments = 2); of single evaluations always the rewards, (R,).

    anytime: choices do not depend on the budget, so that one pass serves all budgets. steady: choices depend on what
    was observed and is pending alone, not on when: `next` leaves the state as it is. costs: evaluations may differ in
    price.
    """

    anytime: ClassVar[bool]
    steady: ClassVar[bool]
    costs: ClassVar[bool]

    @property
    def name(self) -> str: ...

    def start(self, problem: Problem, rng: np.random.Generator) -> State: ...

    def next(self, state: State, room: float | Array, rng: np.random.Generator) -> tuple[State, Pulls]: ...

    def observe(self, state: State, pulls: Pulls, sums: Array) -> State: ...

    def recommend(self, state: State) -> IntArray: ...


def checked_fit(policy: Policy, problem: Problem) -> None:
    """Refuse a policy that cannot do what the problem asks, and name some that can."""
    if problem.priced and not policy.costs:
        raise InputError(
            f"costs are given and policy is '{policy.name}', which knows no prices; expected a fixed plan "
            "such as 'tie', or 'rolling'"
        )


def hold(problem: Problem, belief: Any = None, memory: Any = None, apart: bool = True) -> State:
    """The state before the first evaluation. apart: runs will go their own ways one evaluation at a time."""
    held = problem.belief if belief is None else belief
    if apart:
        held = held._runs(problem.runs)
    shape = (problem.runs, problem.num_arms) if apart else (problem.num_arms,)
    return State(problem, held, np.zeros(shape), np.zeros(shape), memory)


def absorb(state: State, pulls: Pulls, sums: Array, **changes: Any) -> State:
    """Bayes' rule: the state with its belief and counts updated. sums: (R,) for `arms`, (R, K) for `counts`."""
    if pulls.arms is not None:
        belief = state.belief._after_one(pulls.arms, sums)
        counts = state.counts.copy()
        counts[np.arange(len(pulls.arms)), pulls.arms] += 1
    else:
        assert pulls.counts is not None
        belief = state.belief._conditioned(pulls.counts, sums)
        counts = state.counts + pulls.counts
    return replace(state, belief=belief, counts=counts, **changes)


def lose(state: State, counts: Array) -> State:
    """Evaluations that failed: an algorithm that counts takes them for made, and does not ask for them again."""
    memory = state.memory.lose(counts) if hasattr(state.memory, "lose") else state.memory
    return replace(state, lost=state.lost + counts, memory=memory)


def marginal(belief: Any) -> Any:
    """Each arm on its own: what algorithms for independent arms make of a structured model, as in the paper."""
    return belief._marginal()


def upright(belief: Any, values: Array | None = None) -> Array:
    """Posterior means (or any values of the arms) with larger being better, whatever the direction."""
    return np.asarray(belief.arms.sign * (belief.mean if values is None else values))


def first_best(scores: Array, runs: int) -> IntArray:
    """The arm of the highest score in each run, (R,); ties go to the lowest index."""
    return np.broadcast_to(np.argmax(scores, axis=-1), (runs,))
