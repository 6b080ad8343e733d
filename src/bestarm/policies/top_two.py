"""Top-two rules: with probability β evaluate the leader, else the challenger.

The leader is the best arm of a posterior draw. The challenger is
TTTS    the best arm of a draw in which the leader is not (Russo, 2016; 2020);
T3C     the arm of least transportation cost W_j = (m_L − m_j)²₊/(2 Var(r_L − r_j)) (Shang et al., 2020);
TS-TCI  the arm of least W_j + log N_j (Jourdan et al., 2022), with N_j = v_j/Var(r_j), the evaluations that a posterior
        is worth: the count itself under a flat prior.

published=True plays T3C and TS-TCI as the code of Nguyen et al. (2025) does: the leader is the arm of the largest
posterior mean, the challenger that of the second least cost among all arms, the leader included (W = 0).

All start from the prior: no arm is evaluated just to begin with. Russo redraws until the leader loses; here such a
draw is made at once, of the same law. Ties of W = 0 are broken at random, others go to the lowest index. The decision
is the largest posterior mean, as in the paper. Yes/no arms have Beta posteriors and costs of their own.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy.special import ndtr, ndtri, rel_entr

from bestarm.errors import InputError
from bestarm.models import best_beta
from bestarm.models.bernoulli import Bernoulli
from bestarm.models.covariance import Covariance
from bestarm.policies.contract import Problem, Pulls, State, absorb, first_best, hold, marginal, upright
from bestarm.validation import Array, IntArray, choice, shown

__all__ = ["TopTwo", "beta_challenger_draw", "beta_transport", "challenger_draw", "transport"]

_REDRAWS = 50


@dataclass(frozen=True)
class TopTwo:
    """rule: the challenger. joint: on the full posterior of a structured model instead of each arm's own. published:
    leader and challenger as in the paper's own code, for "t3c" and "ts-tci".
    """

    rule: Literal["ttts", "t3c", "ts-tci"] = "ts-tci"
    beta: float = 0.5
    joint: bool = False
    published: bool = False

    anytime: ClassVar[bool] = True
    steady: ClassVar[bool] = True
    costs: ClassVar[bool] = False

    def __post_init__(self) -> None:
        choice(self.rule, "rule", ("ttts", "t3c", "ts-tci"))
        if not 0 < self.beta <= 1:
            raise InputError(f"beta is {shown(self.beta)}; expected a probability above 0")
        if self.published and self.rule == "ttts":
            raise InputError("published is True and rule is 'ttts'; expected 't3c' or 'ts-tci'")

    @property
    def name(self) -> str:
        return f"joint-{self.rule}" if self.joint else self.rule

    def start(self, problem: Problem, rng: np.random.Generator) -> State:
        return hold(problem, problem.belief if self.joint else marginal(problem.belief))

    def next(self, state: State, room: float | Array, rng: np.random.Generator) -> tuple[State, Pulls]:
        belief = state.belief
        arms = np.argmax(upright(belief, None if self.published else belief._draw(rng)), axis=1)
        if state.problem.num_arms == 1:
            return state, Pulls(arms=arms)
        doubted = np.flatnonzero(rng.random(len(arms)) >= self.beta)
        if len(doubted):
            leader = arms[doubted]
            if isinstance(belief, Bernoulli):
                a, b = (part[doubted] for part in belief.upright)
                if self.rule == "ttts":
                    arms[doubted] = beta_challenger_draw(a, b, leader, rng)
                    return state, Pulls(arms=arms)
                cost, worth = beta_transport(a, b, leader), a + b
            else:
                view = belief.gaussian()
                mean = upright(view)[doubted]
                covariance = Covariance(view.covariance.factor[doubted], view.covariance.diag[doubted])
                if self.rule == "ttts":
                    arms[doubted] = challenger_draw(mean, covariance, leader, rng)
                    return state, Pulls(arms=arms)
                with np.errstate(divide="ignore"):
                    worth = np.broadcast_to(view.noise_var, belief.mean.shape)[doubted] / covariance.var
                cost = transport(mean, covariance, leader)
            if self.rule == "ts-tci":
                cost += np.log(worth)
            if self.published:
                arms[doubted] = np.argsort(cost, axis=1, kind="stable")[:, 1]
                return state, Pulls(arms=arms)
            cost[np.arange(len(leader)), leader] = np.inf
            arms[doubted] = _least(cost, rng) if self.rule == "t3c" else np.argmin(cost, axis=1)
        return state, Pulls(arms=arms)

    def observe(self, state: State, pulls: Pulls, sums: Array) -> State:
        return absorb(state, pulls, sums)

    def recommend(self, state: State) -> IntArray:
        return first_best(upright(state.belief), state.problem.runs)


def transport(mean: Array, covariance: Covariance, leader: IntArray) -> Array:
    """W_j = (m_L − m_j)²₊/(2 Var(r_L − r_j)) for every arm, (R, K); 0 where j is ahead, ∞ where it surely is behind."""
    rows = np.arange(len(leader))
    behind = np.maximum(mean[rows, leader][:, None] - mean, 0.0)
    apart = _apart(covariance, leader)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(behind > 0, behind**2 / (2 * apart), 0.0)


def _apart(covariance: Covariance, leader: IntArray) -> Array:
    """Var(r_L − r_j) for every arm j ≠ L, (R, K)."""
    rows = np.arange(len(leader))
    apart = covariance.diag[rows, leader][:, None] + covariance.diag
    if covariance.rank:
        step = covariance.factor - covariance.factor[rows, leader][:, None, :]
        apart = apart + np.einsum("rkq,rkq->rk", step, step)
    return apart


def _least(cost: Array, rng: np.random.Generator) -> IntArray:
    """Argmin in each row, ties broken at random."""
    least = cost == cost.min(axis=1, keepdims=True)
    number = least.sum(axis=1)
    which = np.floor(rng.random(len(cost)) * number)
    return np.asarray(np.argmax(least & (np.cumsum(least, axis=1) > which[:, None]), axis=1))


def challenger_draw(mean: Array, covariance: Covariance, leader: IntArray, rng: np.random.Generator) -> IntArray:
    """The best arm of a posterior draw in which the leader is not the best, exactly and without redrawing for ever.

    One plain redraw; where the leader wins again: pick j with probability ∝ P(r_j > r_L), draw r given r_j > r_L (shift
    a free draw along Cov(·, r_j − r_L)), accept with probability one over the number of arms above L. Each r in which L
    loses then has its own density.
    """
    z, e = rng.standard_normal((len(leader), covariance.rank)), rng.standard_normal(mean.shape)
    chosen = np.argmax(mean + covariance.root_times(z, e), axis=1)
    left = np.flatnonzero(chosen == leader)
    while left.size:
        rows, lead = np.arange(len(left)), leader[left]
        m = mean[left]
        part = Covariance(covariance.factor[left], covariance.diag[left])
        sd = np.sqrt(_apart(part, lead))
        gap = m - m[rows, lead][:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            height = np.where(sd > 0, gap / sd, np.where(gap > 0, np.inf, -np.inf))
        height[rows, lead] = -np.inf
        chance = ndtr(height)
        total = chance.sum(axis=1)
        hopeless = total <= 1e-300
        picked = np.argmax(np.cumsum(chance, axis=1) > (rng.random(len(left)) * total)[:, None], axis=1)
        # where even that is certain, the best of the others
        nearest = np.where(np.isneginf(height.max(axis=1))[:, None], m, height)
        nearest[rows, lead] = -np.inf
        picked = np.where(hopeless, np.argmax(nearest, axis=1), picked)

        z, e = rng.standard_normal((len(left), part.rank)), rng.standard_normal(m.shape)
        draw = m + part.root_times(z, e)
        share = np.maximum(chance[rows, picked], 1e-300)
        wanted = gap[rows, picked] - sd[rows, picked] * ndtri(rng.random(len(left)) * share)
        short = wanted - (draw[rows, picked] - draw[rows, lead])
        step = _cov_with(part, picked) - _cov_with(part, lead)
        var = sd[rows, picked] ** 2
        draw += step * np.divide(short, var, out=np.zeros_like(short), where=var > 0)[:, None]
        above = draw > draw[rows, lead][:, None]
        above[rows, picked] = True
        above[rows, lead] = False
        accepted = (rng.random(len(left)) * above.sum(axis=1) < 1) | hopeless
        best = np.argmax(np.where(above, draw, -np.inf), axis=1)
        chosen[left[accepted]] = np.where(hopeless, picked, best)[accepted]
        left = left[~accepted]
    return np.asarray(chosen)


def beta_transport(a: Array, b: Array, leader: IntArray) -> Array:
    """W_j = N_L kl(m_L, m̄) + N_j kl(m_j, m̄) for Beta posteriors worth N = α + β evaluations of mean m, (R, K); m̄ is
    the mean of both together. 0 where j is ahead (Shang et al., 2020, for Bernoulli arms).
    """
    worth = a + b
    rows, mean = np.arange(len(leader))[:, None], a / worth
    own, top = worth[rows, leader[:, None]], mean[rows, leader[:, None]]
    both = (own * top + worth * mean) / (own + worth)
    return np.where(top > mean, own * _kl(top, both) + worth * _kl(mean, both), 0.0)


def _kl(p: Array, q: Array) -> Array:
    """Divergence of a coin of chance p from one of chance q."""
    return np.asarray(rel_entr(p, q) + rel_entr(1 - p, 1 - q))


def beta_challenger_draw(a: Array, b: Array, leader: IntArray, rng: np.random.Generator) -> IntArray:
    """As `challenger_draw`, for Beta posteriors: redraws, and where fifty were not enough, the law of the best arm."""
    chosen, left = leader.copy(), np.arange(len(leader))
    for _ in range(_REDRAWS):
        chosen[left] = np.argmax(rng.beta(a[left], b[left]), axis=1)
        left = left[chosen[left] == leader[left]]
        if not left.size:
            return chosen
    chance, _ = best_beta.independent(a[left], b[left])
    rows = np.arange(len(left))
    chance[rows, leader[left]] = 0.0
    total = chance.sum(axis=1)
    picked = np.argmax(np.cumsum(chance, axis=1) > (rng.random(len(left)) * total)[:, None], axis=1)
    mean = (a / (a + b))[left]
    mean[rows, leader[left]] = -1.0
    chosen[left] = np.where(total > 1e-12, picked, np.argmax(mean, axis=1))
    return chosen


def _cov_with(covariance: Covariance, arm: IntArray) -> Array:
    """C_{·k} for arm k of each run, (R, K)."""
    rows = np.arange(len(arm))
    column = np.zeros(covariance.diag.shape)
    if covariance.rank:
        column = np.matmul(covariance.factor, covariance.factor[rows, arm][:, :, None])[:, :, 0]
    column[rows, arm] += covariance.diag[rows, arm]
    return column
