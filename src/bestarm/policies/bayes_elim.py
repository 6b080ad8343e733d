"""BayesElim: halving by posterior means, each round from the prior and that round's rewards alone.

Atsidakou, Katariya, Sanghavi, Kveton (2022), Algorithm 1: ⌈log2 K⌉ rounds of n/R evaluations, shared among the arms
still in in proportion to their noise variances; the better half by posterior mean stays. Earlier rewards are
discarded, as their analysis requires. `Elimination` is the paper's ablation: the same with the shares of a plan.
Counts are whole and spend the budget (largest remainder); ties are broken at random. remainder="published" is the code
of Nguyen et al. (2025): ⌊log2 K⌋ rounds of n/log2 K evaluations, rounded down for each arm, and halving rounds down.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from bestarm.design.plans import Method, plan
from bestarm.design.rounding import share_out
from bestarm.policies import rounds
from bestarm.policies.contract import Problem, Pulls, State, marginal, upright
from bestarm.validation import Array, IntArray, choice

__all__ = ["BayesElim", "Elimination"]


@dataclass(frozen=True)
class BayesElim:
    """remainder: evaluations that do not divide among the rounds go to the last ones ("spend") or nowhere ("leave"); or
    all "published".

    On structured models it believes the marginal prior, as in the paper.
    """

    remainder: Literal["spend", "leave", "published"] = "spend"

    anytime: ClassVar[bool] = False
    steady: ClassVar[bool] = False
    costs: ClassVar[bool] = False

    def __post_init__(self) -> None:
        choice(self.remainder, "remainder", ("spend", "leave", "published"))

    @property
    def name(self) -> str:
        return "bayes-elim"

    def start(self, problem: Problem, rng: np.random.Generator) -> State:
        belief = marginal(problem.belief)
        budget = problem.known_budget(self.name)
        return _settle(_begin(problem, rng, belief, belief.gaussian().noise_var, budget, self.remainder))

    def next(self, state: State, room: float | Array, rng: np.random.Generator) -> tuple[State, Pulls]:
        return state, rounds.ask(state, room)

    def observe(self, state: State, pulls: Pulls, sums: Array) -> State:
        return _settle(rounds.tell(state, pulls, sums))

    def recommend(self, state: State) -> IntArray:
        return rounds.survivor(state, _round_means(state))


@dataclass(frozen=True)
class Elimination:
    """A plan's shares, with halving on top: "elim:<method>". shares: a plan made beforehand instead."""

    method: Method = "tie"
    mix: float | None = None
    shares: tuple[float, ...] | None = None
    remainder: Literal["spend", "leave"] = "spend"

    anytime: ClassVar[bool] = False
    steady: ClassVar[bool] = False
    costs: ClassVar[bool] = False

    def __post_init__(self) -> None:
        choice(self.remainder, "remainder", ("spend", "leave"))

    @property
    def name(self) -> str:
        return f"elim:{self.method}" if self.mix is None else f"elim:{self.method}-mix"

    def start(self, problem: Problem, rng: np.random.Generator) -> State:
        shares = np.array(self.prepared(problem).shares)
        budget = problem.known_budget(self.name)
        return _settle(_begin(problem, rng, problem.belief, shares, budget, self.remainder))

    def prepared(self, problem: Problem) -> "Elimination":
        """The same with its plan made: once for all runs."""
        if self.shares is not None:
            return self
        made = plan(problem.belief, problem.known_budget(self.name), self.method, mix=self.mix)
        return replace(self, shares=tuple(made.weights.tolist()))

    def next(self, state: State, room: float | Array, rng: np.random.Generator) -> tuple[State, Pulls]:
        return state, rounds.ask(state, room)

    def observe(self, state: State, pulls: Pulls, sums: Array) -> State:
        return _settle(rounds.tell(state, pulls, sums))

    def recommend(self, state: State) -> IntArray:
        return rounds.survivor(state, _round_means(state))


def _begin(
    problem: Problem, rng: np.random.Generator, belief: Any, shares: Array, budget: float, remainder: str
) -> State:
    arms = problem.num_arms
    if remainder == "published":
        sizes = [arms >> s for s in range(int(np.log2(arms)) + 1)]
        parts = [budget / np.log2(arms) for _ in sizes[1:]]
    else:
        sizes = [rounds.halved(arms, s) for s in range(int(np.ceil(np.log2(arms))) + 1)]
        parts = rounds.split(budget, len(sizes) - 1, remainder)
    return rounds.begin(problem, rng, (belief, shares, parts, sizes, remainder), belief)


def _settle(state: State) -> State:
    _, shares, parts, sizes, remainder = state.memory.table

    def keep(now: int) -> int:
        return int(sizes[now + 1])

    def allocate(now: int, state: State) -> Array:
        alive = state.memory.alive
        if remainder == "published":
            wanted = alive * shares
            return np.asarray(np.floor(wanted * (parts[now] / wanted.sum(axis=1, keepdims=True)) + 1e-9))
        weights = alive * shares * (1 + 1e-6 * state.memory.order)  # a random order settles equal remainders
        # where a plan wants nothing of the arms still in, they share alike
        weights = np.where(weights.sum(axis=1, keepdims=True) > 0, weights, alive * (1 + 1e-6 * state.memory.order))
        return share_out(weights, parts[now])

    return rounds.settle(state, len(parts), keep, allocate, _round_means)


def _round_means(state: State) -> Array:
    """Posterior means from the prior and this round's rewards alone."""
    prior = state.memory.table[0]
    return upright(prior, prior._conditioned(state.memory.seen, state.memory.sums).mean)
