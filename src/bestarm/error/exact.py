"""The expected error and regret of a decision taken after fixed counts: computed, not simulated.

    P_n = E[ P(r_J < max r | data) ]        R_n = E[ max r − r_J ]

Two arms: closed form. More: randomised quasi-Monte Carlo over what the data will be, times what can be integrated
exactly given the data. With r | data ~ N(m̂, F'F'ᵀ + diag(D')):

- where arms keep some variance of their own (D' > 0): draw the low-rank coordinates z and arm J's own deviation;
  the others are then independent, and P(no arm above) = ∏_k Φ((r_J − m̂_k − F'_k z)/√D'_k);
- where they keep none (linear bandits): all arms move along lines as z moves along any direction u, so that J stays
  on top between two points of the line: Φ(upper) − Φ(lower). u separates J from the arm most likely to beat it.
"""

import warnings

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx, ndtr

from bestarm.error.evaluation import Evaluation
from bestarm.error.outcomes import Outcomes
from bestarm.error.pairs import GapLaw, GapLaws, wrong_sign
from bestarm.errors import PrecisionWarning
from bestarm.estimate import Estimate
from bestarm.models import best
from bestarm.models.best import REPLICATES, normal_replicates
from bestarm.models.covariance import Covariance, thin_product
from bestarm.models.gaussian import Gaussian
from bestarm.validation import Array, IntArray

__all__ = ["Integrator", "evaluate_gaussian"]

_WORK = 8_000_000  # default effort: replicates × points × arms
_BAYES_WORK = 200_000  # the same where each point needs a Bayes decision
_MOST_WORK = 4_000_000_000
_BLOCK = 100_000  # points × arms held at a time: what a cache holds
_INNER, _ROUNDS = 1024, 16  # draws that decide which arm is most likely the best, where arms are correlated


def evaluate_gaussian(
    model: Gaussian,
    n: Array,
    rule: str,
    believed: Gaussian | None,
    slack: float,
    target: float | None,
    random: np.random.Generator,
) -> Evaluation:
    """`bestarm.error.evaluate` for Gaussian arms; arguments checked."""
    if model.num_arms == 1:
        return Evaluation(Estimate(0.0, 0.0), Estimate(0.0, 0.0))
    if model.num_arms == 2:
        return _two_arms(model, n, believed, slack)

    integrator = Integrator(model, n, believed, rule == "bayes", slack)
    points = _power_of_two((_BAYES_WORK if rule == "bayes" else _WORK) / (REPLICATES * model.num_arms), 5, 16)
    most = _at_most(model, n, believed)
    result = integrator.floor(integrator.estimate(points, random), points, most)
    if target is None:
        return result
    limit = _power_of_two(_MOST_WORK / (REPLICATES * model.num_arms), 5, 20)
    while result.error.stderr > target and points < limit:
        # the rate lies between N^-1/2 and N^-1; a fresh randomisation, so that no lucky spread is picked
        points = min(points * _power_of_two(1.5 * float(result.error.stderr) / target, 1, 6), limit)
        result = integrator.floor(integrator.estimate(points, random), points, most)
    if result.error.stderr > target:
        warnings.warn(
            f"target_stderr {target:g} was not reached: {result.error.stderr:.1e} after {points * REPLICATES:,} points",
            PrecisionWarning,
            stacklevel=3,
        )
    return result


def _at_most(model: Gaussian, counts: Array, assumed: Gaussian | None) -> float:
    """The orthant bound where it is cheap, else 1: only to say how large an error nobody saw could be."""
    if model.num_arms > 300:
        return 1.0
    i, j = np.triu_indices(model.num_arms, 1)
    return float(wrong_sign(GapLaws(model, counts, assumed)(i, j), True).sum())


def _power_of_two(value: float, least: int, most: int) -> int:
    return 1 << int(np.clip(np.floor(np.log2(value)), least, most))


def _two_arms(model: Gaussian, counts: Array, assumed: Gaussian | None, margin: float) -> Evaluation:
    """Closed form. Both decision rules pick the arm with the larger mean."""
    law = GapLaws(model, counts, assumed)(np.array(0), np.array(1))
    error, regret = float(wrong_sign(law, True, margin)), _two_arm_regret(law)
    return Evaluation(Estimate(error, 0.0), Estimate(regret, 0.0))


def _two_arm_regret(law: GapLaw) -> float:
    """E[D⁺] − E[D 1{M > 0}], for D of standard deviation s and under the model itself M of t:

    ∫_t^s φ(μ/x) dx = sψ(|μ|/s) − tψ(|μ|/t), ψ(h) = φ(h) − hΦ(−h): the integral where t is near s, so that nothing
    cancels. Under an assumed model the two expectations themselves, to rounding of s.
    """
    mean, s, t = abs(float(law.mean_d)), float(np.sqrt(law.var_d)), float(np.sqrt(law.var_m))
    if law.left is None:
        picked = law.mean_d * ndtr(law.mean_m / t) + law.cov / t * _density(law.mean_m / t) if t > 0 else 0.0
        if t == 0 and law.mean_m >= 0:
            picked = law.mean_d
        return max(_excess(mean, s) + max(float(law.mean_d), 0.0) - float(picked), 0.0)
    if law.left > 0.2 * law.var_d:
        return _excess(mean, s) - _excess(mean, t)
    if s == 0:
        return 0.0
    node, weight = np.polynomial.legendre.leggauss(24)
    half = float(law.left) / (s + t) / 2  # (s − t)/2
    return float(half * weight @ _density(mean / (t + half * (1 + node))))


def _excess(mean: float, sd: float) -> float:
    """E X⁺ for X ~ N(−mean, sd²), mean ≥ 0: sd·ψ(h), with Mills' ratio so that far tails keep their digits."""
    h = mean / sd if sd > 0 else np.inf
    if h > 40:
        return 0.0
    return float(sd * _density(h) * (1 - h * np.sqrt(np.pi / 2) * erfcx(h / np.sqrt(2))))


def _density(z: ArrayLike) -> Array:
    return np.asarray(np.exp(-np.square(z) / 2) / np.sqrt(2 * np.pi))


class Integrator:
    """Averages over outcomes what is left to chance once the data are in."""

    def __init__(
        self,
        model: Gaussian,
        counts: Array,
        assumed: Gaussian | None = None,
        bayes: bool = False,
        margin: float = 0.0,
        every_arm: bool = False,
    ) -> None:
        self.outcomes = Outcomes(model, counts, assumed, every_arm)
        self.margin = margin
        self.left = self.outcomes.left
        self.own_sd = np.sqrt(self.left.diag)
        # a gap between two arms below the sum of these is rounding: copies of each other tie
        self.rounding = 1e-12 * (np.abs(self.outcomes.mean) + 5 * np.sqrt(model.var))
        self.most_likely = _MostLikelyBest(self.outcomes.believed) if bayes else None
        # J's own deviation, where the regret is probed, the data, the low-rank part of what is left: this order,
        # with the arms' own data before the common ones, was measured to be the best for the even coordinates
        self.sizes = (1, 1, self.outcomes.size, self.left.rank)

    def estimate(self, points: int, rng: np.random.Generator) -> Evaluation:
        means = np.empty((2, REPLICATES))
        rows = max(1, _BLOCK // self.left.num_arms)
        for b, normals in enumerate(normal_replicates(points, sum(self.sizes), rng, REPLICATES)):
            total = np.zeros(2)
            for start in range(0, points, rows):
                error, regret = self.given(normals[start : start + rows])
                total += error.sum(), regret.sum()
            means[:, b] = total / points
        error, regret = means.mean(axis=1)
        error_se, regret_se = means.std(axis=1, ddof=1) / np.sqrt(REPLICATES)
        if self.most_likely is not None:
            doubt = self.most_likely.doubt
            error_se, regret_se = np.hypot(error_se, doubt), np.hypot(regret_se, doubt * np.sqrt(self.left.var.max()))
        return Evaluation(Estimate(float(error), float(error_se)), Estimate(float(regret), float(regret_se)))

    def floor(self, evaluation: Evaluation, points: int, most: float) -> Evaluation:
        """An error too rare for these points to have seen enough of it: its standard error is no less than one
        point's worth, or than `most`, an upper bound on the error itself.
        """
        least = min(1 / (points * REPLICATES), most)
        error, regret = evaluation.error, evaluation.regret
        if float(error.value) > 10 / (points * REPLICATES):
            return evaluation
        scale = float(np.sqrt(self.left.var.max()))
        return Evaluation(
            Estimate(error.value, max(float(error.stderr), least)),
            Estimate(regret.value, max(float(regret.stderr), least * scale)),
        )

    def given(self, normals: Array) -> tuple[Array, Array]:
        """Error probability and regret for each point, both unbiased and mostly integrated."""
        e, x, data, z = np.split(normals, np.cumsum(self.sizes)[:-1], axis=1)
        mean, decides = self.outcomes.posterior_means(data)
        picked = np.argmax(decides, axis=1) if self.most_likely is None else self.most_likely(decides)
        if not self.own_sd.any():
            return self._along_lines(mean, picked, z)
        level = mean + thin_product(z, self.left.factor.T) if self.left.rank else mean
        return self._given_low_rank(level, picked, e[:, 0], x[:, 0])

    def _given_low_rank(self, level: Array, picked: IntArray, e: Array, x: Array) -> tuple[Array, Array]:
        rows = np.arange(len(level))
        sd = self.own_sd
        reward = level[rows, picked] + sd[picked] * e
        beaten = self._chance_above(level, picked, reward + self.margin)
        # E (max_k r_k − r_J)⁺ = ∫ P(max_k r_k > r_J + x) dx, probed at one point x = reach·u² of the range that matters
        reach = np.maximum((level + 6.5 * sd).max(axis=1) - reward, 0.0)
        u = ndtr(x)
        regret = 2 * u * reach * self._chance_above(level, picked, reward + reach * u * u)
        return beaten, regret

    def _chance_above(self, level: Array, picked: IntArray, bar: Array) -> Array:
        """P(some arm other than the picked one lies above the bar), the arms being independent around `level`."""
        sd = self.own_sd
        still = sd == 0
        gap = bar[:, None] - level
        below = ndtr(gap / np.where(still, 1.0, sd))
        if still.any():
            below[:, still] = gap[:, still] >= -(self.rounding[still] + self.rounding[picked][:, None])
        below[np.arange(len(level)), picked] = 1.0
        return np.asarray(1.0 - below.prod(axis=1))

    def _along_lines(self, mean: Array, picked: IntArray, z: Array) -> tuple[Array, Array]:
        rows = np.arange(len(mean))
        factor = self.left.factor
        level = mean + thin_product(z, factor.T)
        top = level[rows, picked]
        regret = level.max(axis=1) - top

        # the direction in which J and its most dangerous rival part fastest
        gap = mean[rows, picked][:, None] - mean
        size = np.einsum("kq,kq->k", factor, factor)
        # this only chooses a direction, so that cancellation does no harm
        apart = np.maximum(size[picked][:, None] + size - 2 * thin_product(factor[picked], factor.T), 0.0)
        distinct = apart > 1e-20 * (size[picked][:, None] + size)
        risk = np.divide(gap, np.sqrt(apart), out=np.full(gap.shape, np.inf), where=distinct)
        risk[rows, picked] = np.inf
        u = factor[np.argmin(risk, axis=1)] - factor[picked]
        norm = np.linalg.norm(u, axis=1, keepdims=True)
        u = np.divide(u, norm, out=np.zeros_like(u), where=norm > 0)
        along = np.einsum("nq,nq->n", z, u)
        slope = thin_product(u, factor.T)
        slope = slope - slope[rows, picked][:, None]
        # arm k lies above J + margin where height + slope·t > 0
        height = level - top[:, None] - self.margin - slope * along[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            crossing = -height / slope
        length = np.sqrt(size)
        flat = 1e-12 * (length + length[picked][:, None])
        rising, falling = slope > flat, slope < -flat
        upper = np.where(rising, crossing, np.inf).min(axis=1)
        lower = np.where(falling, crossing, -np.inf).max(axis=1)
        noticed = height > self.rounding + self.rounding[picked][:, None]
        always = (~rising & ~falling & noticed).any(axis=1)
        stays = np.where(always, 0.0, np.maximum(ndtr(upper) - ndtr(lower), 0.0))
        return 1.0 - stays, regret


class _MostLikelyBest:
    """The Bayes decision: the arm most likely to be best under the believed posterior.

    Exact for independent arms. Otherwise by 1,024 draws, the same for every outcome, and up to 16 times as many
    where these leave the leader in doubt. A decision by estimated chances errs only between arms whose chances
    are close, so what it loses is of second order in their standard errors; `doubt` says how much that may be.
    """

    def __init__(self, covariance: Covariance) -> None:
        self.covariance = covariance
        self._lost, self._decided = 0.0, 0
        if covariance.rank:
            arms, rank = covariance.factor.shape
            rounds = normal_replicates(_INNER, rank + arms, np.random.default_rng(0), _ROUNDS)
            # arms first: comparing them is then a pass over long rows
            self._draws = [covariance.root_times(z[:, :rank], z[:, rank:]).T[:, None].copy() for z in rounds]

    @property
    def doubt(self) -> float:
        """How much likelier the best arm may be than the chosen one, on average over the decisions so far."""
        return self._lost / max(1, self._decided)

    def __call__(self, means: Array) -> IntArray:
        if self.covariance.rank == 0:
            sd = np.broadcast_to(np.sqrt(self.covariance.diag), means.shape)
            chance, _ = best.independent(means, sd, best.COARSE)
            # deterministic arms that tie at the top are each as good as all of them together
            fixed = np.where(sd == 0, means, -np.inf)
            tops = (sd == 0) & (fixed == fixed.max(axis=1, keepdims=True))
            return np.asarray(np.argmax(np.where(tops, chance * tops.sum(axis=1, keepdims=True), chance), axis=1))
        wins, drawn = np.zeros(means.shape), np.zeros((len(means), 1))
        unsure = np.arange(len(means))
        for draws in self._draws:
            wins[unsure] += _wins(means[unsure], draws)
            drawn[unsure] += _INNER
            second, first = np.partition(wins[unsure], -2, axis=1)[:, -2:].T
            unsure = unsure[first - second < 3 * np.sqrt(first + second)]
        picked = np.argmax(wins, axis=1)
        self._lost += _expected_loss(wins / drawn, drawn, picked)
        self._decided += len(means)
        return np.asarray(picked)


def _wins(means: Array, draws: Array) -> Array:
    """How often each arm is on top, (N, K); of arms that tie up to rounding (copies of each other) the first."""
    wins = np.empty(means.shape)
    hair = 1e-12 * (np.abs(means).max(axis=1) + np.abs(draws).max())
    apart = means - np.where(hair > 0, hair, 1.0)[:, None] * np.arange(means.shape[1])
    rows = max(1, _BLOCK // draws.size)
    for start in range(0, len(means), rows):
        reward = apart[start : start + rows].T[:, :, None] + draws
        wins[start : start + rows] = (reward == reward.max(axis=0)).sum(axis=2).T
    return wins


def _expected_loss(share: Array, drawn: Array, picked: IntArray) -> float:
    """Σ over outcomes of E (p_k − p_J)⁺, summed over the rivals k: s(φ(g/s) − (g/s)Φ(−g/s)), g ± s their estimate.

    No more can be lost than the chance of the best arm itself.
    """
    top = share.max(axis=1, keepdims=True)
    s = np.sqrt((top + share) / drawn)
    z = (top - share) / s
    loss = s * (_density(z) - z * ndtr(-z))
    loss[z > 8] = 0.0  # so that what is certain has no doubt
    loss[np.arange(len(share)), picked] = 0.0
    return float(np.minimum(loss.sum(axis=1), top[:, 0]).sum())
