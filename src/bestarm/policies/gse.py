"""GSE: successive halving in a linear model, each round with a G-optimal design and least squares of its own.

Azizi, Kveton, Ghavamzadeh (IJCAI 2022), Algorithm 1 with η = 2: ⌈log2 K⌉ rounds of n/R evaluations of the arms still
in, features projected to the directions that they span, least squares on that round's rewards alone; the better half
stays. Designs: "g", the G-optimal one (theirs by Frank-Wolfe; here by multiplicative steps, whose limit is the same by
Kiefer and Wolfowitz), and "greedy", evaluation by evaluation (their GSE-Lin-Greedy). Frequentist: it knows the
features, not the prior. Least squares and G-optimal designs do not depend on the basis of the features; the greedy
design, which starts from A = I, does: features are taken in the basis in which Σ x_k x_kᵀ = (K/d) I, so that no prior
leaks in. Whole counts by largest remainder; ties are broken at random.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from bestarm.design.rounding import share_out
from bestarm.errors import InputError
from bestarm.models.gaussian import Gaussian
from bestarm.policies import rounds
from bestarm.policies.contract import Problem, Pulls, State, upright
from bestarm.validation import Array, IntArray, choice

__all__ = ["GSE", "g_optimal_shares", "greedy_counts"]

_STEPS = 60  # multiplicative steps: within three percent of the optimum, less than rounding moves it
_RIDGE = 1e-9  # stands for the projection: directions that no arm of the round has carry nothing


@dataclass(frozen=True)
class GSE:
    """design: "g" or "greedy". remainder: as for Sequential Halving."""

    design: Literal["g", "greedy"] = "g"
    remainder: Literal["spend", "leave"] = "spend"

    anytime: ClassVar[bool] = False
    steady: ClassVar[bool] = False
    costs: ClassVar[bool] = False

    def __post_init__(self) -> None:
        choice(self.remainder, "remainder", ("spend", "leave"))

    @property
    def name(self) -> str:
        return "gse" if self.design == "g" else "gse-greedy"

    def start(self, problem: Problem, rng: np.random.Generator) -> State:
        view = problem.belief
        if not isinstance(view, Gaussian) or view.covariance.diag.any() or not view.covariance.rank:
            raise InputError(
                "policy is 'gse' and model is not linear; expected arms with features, or try 'sh' or 'tie'"
            )
        left, size, _ = np.linalg.svd(view.covariance.factor, full_matrices=False)
        kept = size > 1e-9 * size[0]
        x = left[:, kept] * np.sqrt(problem.num_arms / kept.sum())
        # the mean may have a part that no feature explains (a fixed offset): least squares is about the rest
        coefficients = np.linalg.lstsq(x, view.mean, rcond=None)[0]
        offset = view.mean - x @ coefficients
        parts = rounds.split(problem.known_budget(self.name), int(np.ceil(np.log2(problem.num_arms))), self.remainder)
        return self._settle(rounds.begin(problem, rng, (x, offset, parts)))

    def next(self, state: State, room: float | Array, rng: np.random.Generator) -> tuple[State, Pulls]:
        return state, rounds.ask(state, room)

    def observe(self, state: State, pulls: Pulls, sums: Array) -> State:
        return self._settle(rounds.tell(state, pulls, sums))

    def recommend(self, state: State) -> IntArray:
        return rounds.survivor(state, _predictions(state))

    def _settle(self, state: State) -> State:
        x, _, parts = state.memory.table

        def keep(now: int) -> int:
            return rounds.halved(state.problem.num_arms, now + 1)

        def allocate(now: int, state: State) -> Array:
            alive, order = state.memory.alive, state.memory.order
            if self.design == "greedy":
                return greedy_counts(x, alive, parts[now])
            # designs are not unique in whole numbers: a random order settles halves
            return share_out(g_optimal_shares(x, alive) * (1 + 1e-6 * order), parts[now])

        return rounds.settle(state, len(parts), keep, allocate, _predictions)


def _predictions(state: State) -> Array:
    """x_k·θ̂ of this round's least squares, larger being better."""
    x, offset, _ = state.memory.table
    seen, sums = state.memory.seen, state.memory.sums
    gram = np.einsum("rk,kp,kq->rpq", seen, x, x)
    gram += _RIDGE * np.maximum(np.trace(gram, axis1=1, axis2=2), 1.0)[:, None, None] * np.eye(x.shape[1])
    right = (sums - seen * offset) @ x
    theta = np.linalg.solve(gram, right[:, :, None])[:, :, 0]
    return upright(state.belief, offset + theta @ x.T)


def g_optimal_shares(x: Array, alive: np.ndarray) -> Array:
    """Shares that make the largest predicted variance among the arms still in least, (R, K).

    w_k ← w_k x_kᵀ M(w)⁻¹ x_k/d, M(w) = Σ w_k x_k x_kᵀ: D-optimal in the limit, and so G-optimal. Runs with the same
    arms still in are solved once.
    """
    sets, which = np.unique(alive, axis=0, return_inverse=True)
    w = sets / sets.sum(axis=1, keepdims=True)
    size = x.shape[1]
    for _ in range(_STEPS):
        information = np.einsum("rk,kp,kq->rpq", w, x, x, optimize=True)
        information += _RIDGE * np.trace(information, axis1=1, axis2=2)[:, None, None] * np.eye(size)
        solved = np.linalg.solve(information, np.broadcast_to(x.T, (len(w), *x.T.shape)))
        w = w * np.einsum("kp,rpk->rk", x, solved)
        w /= w.sum(axis=1, keepdims=True)
    return np.asarray(w[which.ravel()])


def greedy_counts(x: Array, alive: np.ndarray, budget: int) -> Array:
    """One evaluation after the other, each where it makes the largest predicted variance least; (R, K).

    Starting from A = I; after x the variance of x' is P_jj − P_jk²/(1 + P_kk), P = X A⁻¹ Xᵀ.
    """
    from bestarm.design.kernels import greedy_design

    sets, which = np.unique(alive, axis=0, return_inverse=True)
    return np.asarray(greedy_design(x @ x.T, sets, int(budget))[which.ravel()])
