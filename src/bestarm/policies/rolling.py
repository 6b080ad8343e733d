"""Rolling plans: the posterior becomes the prior, and what is left of the budget is planned again.

Before each stage the tie plan (bestarm.design.tie) for all of what is left is made for every run at once; the stage
evaluates a part of it, in proportion. Evaluations handed out and not yet observed count as made: the plan starts from
the covariance after them. With one stage this is the fixed tie plan.

The tie plan is made for large budgets; at the very end it may want an evaluation that cannot change the decision any
more. So where arms are independent, and nobody asked for stages or batches, the last eight evaluations go one by one to
the arm which, if it got all that is left, would lower the error of the decision the most, and to the tie plan's where
none would. For yes/no arms that closes most of the distance to the Bayes-optimal policy (docs/policies.md).

Guarded, it never errs more often, in expectation, than the fixed plan it starts from: the counts planned are kept, each
stage is a part of them, and they give way to a new plan only where the expected error of the decision, computed for
both on the same draws, is smaller by more than two standard errors of the difference. Under a kept plan the expected
error is a martingale, so that each switch lowers it.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from bestarm.design.batch import expected_errors, gain_of, tie_shares
from bestarm.design.plans import plan
from bestarm.design.rounding import largest_remainder, share_out
from bestarm.errors import InputError
from bestarm.models.belief import Belief
from bestarm.models.bernoulli import Bernoulli
from bestarm.models.gaussian import Gaussian
from bestarm.policies.contract import Problem, Pulls, State, absorb, first_best, hold, upright
from bestarm.validation import Array, IntArray

__all__ = ["Rolling"]

_STAGES, _STRUCTURED_STAGES = 48, 24  # more gained nothing that could be measured (docs/policies.md)
_AHEAD = 8  # evaluations at the end that look to the end; 20 did no better


@dataclass(frozen=True, eq=False)
class _Stage:
    """number: stages begun. target: counts to reach by the end of this one, (R, K). shares: of spend, of the last plan,
    (R, K). planned: counts of the first plan, or of the one in force where it is guarded, (R, K).
    """

    number: int
    target: Array
    shares: Array
    planned: Array


@dataclass(frozen=True)
class Rolling:
    """stages: how often to plan; None for 48 where arms are independent, 24 where they are correlated. batch:
    evaluations between two plans instead. guarded: see above; slower.
    """

    stages: int | None = None
    batch: int | None = None
    guarded: bool = False

    anytime: ClassVar[bool] = False
    steady: ClassVar[bool] = False
    costs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("stages", "batch"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < 1):
                raise InputError(f"{name} is {value!r}; expected a whole number of at least 1")
        if self.stages is not None and self.batch is not None:
            raise InputError(f"stages is {self.stages} and batch is {self.batch}; expected one of them")

    @property
    def name(self) -> str:
        return "rolling-guarded" if self.guarded else "rolling"

    def start(self, problem: Problem, rng: np.random.Generator) -> State:
        made = plan(problem.belief, problem.known_budget(self.name), "tie", problem.costs)
        state = hold(problem)
        shape = state.counts.shape
        shares = np.broadcast_to(made.weights, shape)
        planned = np.broadcast_to(made.counts.astype(np.float64), shape)
        return replace(state, memory=_Stage(0, np.zeros(shape), shares, planned))

    def next(self, state: State, room: float | Array, rng: np.random.Generator) -> tuple[State, Pulls]:
        given = state.counts + state.pending + state.lost
        if not (state.memory.target > given).any():
            state = self._plan(state, given)
        rest = np.maximum(state.memory.target - given, 0.0)  # live, one trial may bring several values
        limit = np.broadcast_to(np.asarray(room, dtype=np.float64), (len(rest),))
        costs = state.problem.costs
        if (rest @ costs > limit + 1e-9).any():
            rest = _part(rest * costs, np.minimum(limit, rest @ costs), costs, rest)
        return state, Pulls(counts=rest)

    def observe(self, state: State, pulls: Pulls, sums: Array) -> State:
        return absorb(state, pulls, sums)

    def recommend(self, state: State) -> IntArray:
        return first_best(upright(state.belief), state.problem.runs)

    def _plan(self, state: State, given: Array) -> State:
        """The next stage: counts to reach by its end."""
        problem, stage = state.problem, state.memory
        costs = problem.costs
        left = problem.known_budget(self.name) - given @ costs
        view = state.belief.gaussian()
        # what is out, and what failed: as if it told something, or an arm that always fails would be asked for ever
        unseen = state.pending + state.lost
        if unseen.any():
            ahead = view.covariance.after(unseen, view.noise_var).covariance
            view = Gaussian(view.mean, ahead, view.noise_var, view.arms)
        amount = np.minimum(self._amount(problem, stage.number, left, view), left)
        ahead = self._looks_ahead(problem, view) and not unseen.any()
        if ahead:  # the end is kept for single evaluations
            amount = np.where(left > _AHEAD, np.minimum(amount, left - _AHEAD), np.minimum(left, 1.0))
        # a belief that learns its own prior first sees a few evaluations of every arm
        pilot = getattr(state.belief, "pilot", 0) if stage.number == 0 else 0
        if pilot:
            amount = np.maximum(amount, np.minimum(left, pilot * float(costs.sum())))
        shares, planned = stage.shares, stage.planned
        if stage.number > 0:  # the first plan was made, and certified, for all runs alike
            shares = tie_shares(view, np.maximum(left, 1e-9), costs, shares)
            if self.guarded:
                planned = given + _better(view, planned - given, _part(shares, left, costs))
        if ahead and (left <= _AHEAD).all():
            part = _to_the_end(state.belief, shares, float(left.max())) * (left > 0)[:, None]
        elif self.guarded or (stage.number == 0 and (amount >= left).all()):
            part = _part((planned - given) * costs, amount, costs, planned - given)
        else:
            part = _part(shares, amount, costs)
        return replace(state, memory=_Stage(stage.number + 1, given + part, shares, planned))

    def _looks_ahead(self, problem: Problem, view: Gaussian) -> bool:
        """Whether the last evaluations are chosen one by one."""
        free = self.stages is None and self.batch is None and problem.batch in (None, 1)
        return free and not self.guarded and not problem.priced and view.covariance.rank == 0

    def _amount(self, problem: Problem, begun: int, left: Array, view: Gaussian) -> Array:
        """What this stage may spend: an equal part of what is left, at least one evaluation."""
        each = problem.batch if self.batch is None else self.batch
        if each is not None and self.stages is None:
            return np.full(len(left), float(each) * float(problem.costs.max()))
        stages = self.stages or (_STRUCTURED_STAGES if view.covariance.rank else _STAGES)
        part = np.ceil(left / max(stages - begun, 1) - 1e-9)
        return np.maximum(part, float(problem.costs.max()))


def _part(shares: Array, amount: Array, costs: Array, most: Array | None = None) -> Array:
    """Whole counts worth `amount` in each run, in these shares of spend, and no more than `most` of any arm."""
    if (costs == 1).all():
        counts = share_out(shares, np.floor(amount + 1e-9))
    else:
        total = shares.sum(axis=1)
        rows = [largest_remainder(shares[r] / (total[r] or 1.0), costs, amount[r]) for r in range(len(shares))]
        counts = np.array(rows) * (total > 0)[:, None]
    return counts if most is None else np.minimum(counts, most)


def _to_the_end(belief: Belief, shares: Array, left: float) -> Array:
    """One evaluation in each run: of the arm that gains most by all that is left, or of the tie plan's foremost."""
    # yes/no rewards are better looked at one at a time, by their two outcomes (docs/policies.md)
    gain = gain_of(1 if isinstance(belief, Bernoulli) else left, belief)
    chosen = np.where(gain.max(axis=1) > 1e-6, np.argmax(gain + 1e-9 * shares, axis=1), np.argmax(shares, axis=1))
    part = np.zeros(shares.shape)
    part[np.arange(len(part)), chosen] = 1.0
    return part


def _better(view: Gaussian, kept: Array, fresh: Array) -> Array:
    """In each run the fresh counts if they surely err less than the kept ones, on common draws; else the kept ones."""
    gained = expected_errors(view, kept) - expected_errors(view, fresh)
    mean, stderr = gained.mean(axis=1), gained.std(axis=1, ddof=1) / np.sqrt(gained.shape[1])
    return np.where((mean > 2 * stderr)[:, None], fresh, kept)
