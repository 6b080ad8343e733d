"""Priors learned from nothing but the rewards as they come: exchangeable arms of unknown spread.

Numbers: r_k ~ N(μ, ρσ²), rewards N(r_k, σ²), with μ flat, σ² weakly informed in the data's own units, and ρ on a grid.
Given ρ all of it is conjugate, so that the posterior is a mixture over ρ of Student's t.
Yes/no: p_k ~ Beta(μw, (1 − μ)w) with w on a grid and μ at its best weighted average for each w.

Both are beliefs like any other: policies run on them, and every evaluation refreshes what is believed of all arms.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln

from bestarm.errors import InputError
from bestarm.estimate import Estimate
from bestarm.models.arms import Arms
from bestarm.models.belief import FromSquares, OverArms
from bestarm.models.covariance import Covariance
from bestarm.models.gaussian import Gaussian
from bestarm.validation import Array, IntArray, checked_sample_shape, generator, read_only, shown

__all__ = ["LearnedBernoulli", "LearnedGaussian", "from_nothing"]

_RATIOS = np.exp(np.linspace(np.log(1e-4), np.log(30.0), 20))  # ρ: variance between arms over that of one evaluation
_TYPICAL = 0.5  # scale of the half-Cauchy prior of √ρ: arms half a noise sd apart
_SHAPE = 0.5  # of the prior of σ²: worth one evaluation, at the variance of all rewards seen
_WORTHS = np.exp(np.linspace(np.log(0.5), np.log(3000.0), 16))  # w: what the population's prior is worth
_DRAWS = 2**15


def from_nothing(
    arms: int | Sequence[str],
    yes_no: bool = False,
    pilot: int = 3,
    direction: str = "maximize",
    payloads: Sequence[Any] | None = None,
) -> "LearnedGaussian | LearnedBernoulli":
    """A belief about arms of which nothing is known but that they are of one kind; it learns its own prior.

    arms: how many, or their names. yes_no: rewards are 0 or 1. pilot: evaluations of each arm that `rolling` makes
    before it plans; they count in the budget.
    """
    if isinstance(arms, int | np.integer) and not isinstance(arms, bool):
        if not 1 <= arms <= 10**7:
            raise InputError(f"arms is {arms}; expected a number from 1 to 10,000,000")
        over = Arms.of(int(arms), None, direction, payloads)
    else:
        names = list(arms) if isinstance(arms, Sequence) and not isinstance(arms, str) else None
        if not names:
            raise InputError(f"arms is {shown(arms)}; expected a number of arms or a list of names")
        over = Arms.of(len(names), names, direction, payloads)
    if not isinstance(pilot, int) or isinstance(pilot, bool) or pilot < 1:
        raise InputError(f"pilot is {shown(pilot)}; expected a whole number of at least 1")
    if not isinstance(yes_no, bool | np.bool_):
        raise InputError(f"yes_no is {shown(yes_no)}; expected True or False")
    zero = np.zeros(over.count)
    if yes_no:
        return LearnedBernoulli(over, zero, zero, pilot)
    return LearnedGaussian(over, zero, zero, zero, pilot)


class _Mixture(OverArms):
    """What both have in common: components (…, J, K) with weights (…, J), means and variances by moments."""

    pilot: int

    @property
    def _parts(self) -> tuple[Array, Array, Array]:
        """Weights (…, J), means and variances (…, J, K) of the components."""
        raise NotImplementedError

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        weight, mean, var = self._parts
        average = np.einsum("...j,...jk->...k", weight, mean)
        return read_only(average), read_only(
            np.einsum("...j,...jk->...k", weight, var + (mean - average[..., None, :]) ** 2)
        )

    @property
    def mean(self) -> Array:
        """Posterior mean of each arm, (…, K)."""
        return self._moments[0]

    @property
    def var(self) -> Array:
        """Posterior variance of each arm, (…, K), the doubt about the prior included."""
        return self._moments[1]

    def _drawn(self, number: int, rng: np.random.Generator) -> Array:
        """(number, …, K) draws of the arm means."""
        raise NotImplementedError

    def _which(self, number: int, rng: np.random.Generator) -> IntArray:
        """Components drawn by their weights, (number, …)."""
        cumulative = np.cumsum(self._parts[0], axis=-1)
        u = rng.random((number, *cumulative.shape[:-1], 1))
        return np.asarray(np.minimum((u > cumulative).sum(axis=-1), cumulative.shape[-1] - 1))

    def prob_best(self, rng: Any = 0) -> Estimate:
        """Chance of each arm to be the best, (…, K), from draws, with its standard error."""
        return self._judged[0] if isinstance(rng, int) and rng == 0 else self._who_is_best(rng)[0]

    def expected_regret(self, rng: Any = 0) -> Estimate:
        """How far each arm is expected to fall short of the best one, (…, K), from draws."""
        return self._judged[1] if isinstance(rng, int) and rng == 0 else self._who_is_best(rng)[1]

    @cached_property
    def _judged(self) -> tuple[Estimate, Estimate]:
        """Both from the draws of seed 0, made once."""
        return self._who_is_best(0)

    def _who_is_best(self, rng: Any) -> tuple[Estimate, Estimate]:
        random, shape = generator(rng), (*self.batch_shape, self.num_arms)
        wins, short, squared = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        rounds = max(1, min(_DRAWS, 2**22 // max(1, int(np.prod(self.batch_shape)))) // 256)
        for _ in range(rounds):
            reward = self.arms.sign * self._drawn(256, random)
            behind = reward.max(axis=-1, keepdims=True) - reward
            wins += (behind == 0).sum(axis=0)
            short += behind.sum(axis=0)
            squared += (behind**2).sum(axis=0)
        number = 256 * rounds
        prob, loss = wins / number, short / number
        prob_se = np.sqrt(np.maximum(prob * (1 - prob), 1 / number) / number)
        return Estimate(prob, prob_se), Estimate(loss, np.sqrt(np.maximum(squared / number - loss**2, 0.0) / number))

    def sample(self, size: int | tuple[int, ...] | None = None, rng: Any = None) -> Array:
        """Arm means drawn from the belief, (*size, …, K)."""
        shape = checked_sample_shape(size, (), self.num_arms)
        drawn = self._drawn(int(np.prod(shape)), generator(rng))
        return np.asarray(drawn.reshape(*shape, *self.batch_shape, self.num_arms))

    def _draw(self, rng: np.random.Generator) -> Array:
        return np.asarray(self._drawn(1, rng)[0])

    def _worlds(self, runs: int, rng: np.random.Generator) -> tuple[Array, Any]:
        raise InputError(
            "a prior learned from nothing is no truth to draw from; expected another model: ba.simulate takes truth="
        )

    def _one_reward(self, means: Array, arms: IntArray, rng: np.random.Generator) -> Array:
        raise InputError("a prior learned from nothing draws no rewards; expected a model that knows its noise")

    def after(self, counts: ArrayLike) -> Covariance:
        """Expected covariance after `counts` more evaluations, if the prior is what it now seems to be."""
        view: Gaussian = self.gaussian()  # type: ignore[attr-defined]
        return view.after(counts)

    def _marginal(self) -> Self:
        return self


@dataclass(frozen=True, eq=False, repr=False)
class LearnedGaussian(_Mixture, FromSquares):
    """Numbers: counts, sums, squares are all evidence so far, (…, K); pilot as in `from_nothing`."""

    arms: Arms
    counts: Array
    sums: Array
    squares: Array
    pilot: int = 3

    @cached_property
    def _fit(self) -> tuple[Array, Array, Array, Array, Array]:
        """Weights of ρ (…, J); μ̂ (…, J); Σ w (…, J); shape (…,) and scale (…, J) of σ²."""
        n = np.broadcast_to(self.counts, (*self.batch_shape, self.num_arms))
        total = n.sum(axis=-1)
        average = np.divide(self.sums, n, out=np.zeros(n.shape), where=n > 0)
        within = np.maximum(self.squares - n * average**2, 0.0).sum(axis=-1)
        # variance of all rewards, whatever the arm: the data's own unit; 1 where there is none yet
        grand = np.divide(self.sums.sum(axis=-1), total, out=np.zeros(total.shape), where=total > 0)
        spread = np.maximum(self.squares.sum(axis=-1) - total * grand**2, 0.0)
        unit = np.where(spread > 0, spread / np.maximum(total - 1, 1), 1.0)

        w = np.where(n[..., None, :] > 0, 1 / (_RATIOS[:, None] + 1 / np.maximum(n, 1.0)[..., None, :]), 0.0)
        mass = w.sum(axis=-1)
        safe = np.where(mass > 0, mass, 1.0)
        middle = (w * average[..., None, :]).sum(axis=-1) / safe
        between = (w * (average[..., None, :] - middle[..., None]) ** 2).sum(axis=-1)
        shape = _SHAPE + np.maximum(total - 1, 0.0) / 2
        scale = (_SHAPE * unit + within / 2)[..., None] + between / 2
        root = np.sqrt(_RATIOS)
        log_prior = np.log(root) - np.log1p((root / _TYPICAL) ** 2)  # half-Cauchy of √ρ, on the scale of log ρ
        log_weight = log_prior + 0.5 * (np.log(np.where(w > 0, w, 1.0)).sum(axis=-1) - np.log(safe))
        log_weight = log_weight - shape[..., None] * np.log(scale)
        weight = np.exp(log_weight - log_weight.max(axis=-1, keepdims=True))
        return weight / weight.sum(axis=-1, keepdims=True), middle, mass, shape, scale

    @cached_property
    def _components(self) -> tuple[Array, Array, Array]:
        """Given ρ: means (…, J, K); σ²-free own variances and pull of μ, (…, J, K) each."""
        _, middle, _, _, _ = self._fit
        held = 1 / (1 + _RATIOS[:, None] * self.counts[..., None, :])  # how much an arm still hangs on μ
        average = np.divide(self.sums, self.counts, out=np.zeros(self.sums.shape), where=self.counts > 0)
        mean = (1 - held) * average[..., None, :] + held * middle[..., None]
        return mean, _RATIOS[:, None] * held, held

    @property
    def _parts(self) -> tuple[Array, Array, Array]:
        weight, _, mass, shape, scale = self._fit
        mean, own, held = self._components
        # E σ² exists beyond one reward; μ is as uncertain as one evaluation where nothing was seen
        noise_var = scale / np.maximum(shape - 1, 0.5)[..., None]
        pull = 1 / np.where(mass > 0, mass, 1.0)
        return weight, mean, noise_var[..., None] * (own + held**2 * pull[..., None])

    @property
    def noise_var(self) -> Array:
        """Plug-in noise variance, 1/E[1/σ²], (…,)."""
        weight, _, _, shape, scale = self._fit
        return np.asarray(1 / (weight * shape[..., None] / scale).sum(axis=-1))

    def gaussian(self) -> Gaussian:
        """The Gaussian view that plans are made on: each arm's mean and variance, and the plug-in noise."""
        shape = (*self.batch_shape, self.num_arms)
        noise = np.broadcast_to(self.noise_var[..., None], shape)
        return Gaussian(self.mean, Covariance(np.zeros((*shape, 0)), self.var), noise, self.arms)

    def _drawn(self, number: int, rng: np.random.Generator) -> Array:
        _, _, mass, shape, scale = self._fit
        mean, own, held = self._components
        which = self._which(number, rng)
        at = which[..., None]

        def taken(values: Array) -> Array:
            return np.asarray(np.take_along_axis(np.broadcast_to(values, scale.shape)[None], at, axis=-1)[..., 0])

        noise_var = taken(scale) / rng.standard_gamma(np.broadcast_to(shape, which.shape))
        common = rng.standard_normal(which.shape) / np.sqrt(np.where(taken(mass) > 0, taken(mass), 1.0))
        rows = at[..., None]
        m, o, h = (np.take_along_axis(part[None], rows, axis=-2)[..., 0, :] for part in (mean, own, held))
        away = np.sqrt(o) * rng.standard_normal(m.shape) + h * common[..., None]
        return np.asarray(m + np.sqrt(noise_var)[..., None] * away)

    def __repr__(self) -> str:
        return f"LearnedGaussian({self.num_arms} arms, {self.direction})"


@dataclass(frozen=True, eq=False, repr=False)
class LearnedBernoulli(_Mixture):
    """Yes/no: counts and sums are all evidence so far, (…, K); pilot as in `from_nothing`."""

    arms: Arms
    counts: Array
    sums: Array
    pilot: int = 3

    @property
    def binary(self) -> bool:
        """Rewards are 0 or 1."""
        return True

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The leading axes; () for a single belief."""
        return np.broadcast_shapes(self.counts.shape, self.sums.shape)[:-1]

    @cached_property
    def _fit(self) -> tuple[Array, Array, Array]:
        """Weights of w (…, J), and α and β of the posteriors, (…, J, K)."""
        n, s = self.counts[..., None, :], self.sums[..., None, :]
        worth = _WORTHS[:, None]
        share = 1 / (n + worth)
        # an arm's average weighs n/(n + w) in the population's mean; and one more success and failure in all
        middle = ((s * share).sum(axis=-1) + 0.5 / 10) / ((n * share).sum(axis=-1) + 1.0 / 10)
        a, b = (middle * _WORTHS)[..., None], ((1 - middle) * _WORTHS)[..., None]
        log_weight = (betaln(a + s, b + n - s) - betaln(a, b)).sum(axis=-1)
        log_weight = log_weight - 0.5 * np.log(_WORTHS)  # from few to many: towards priors that are worth little
        weight = np.exp(log_weight - log_weight.max(axis=-1, keepdims=True))
        return weight / weight.sum(axis=-1, keepdims=True), a + s, b + n - s

    @property
    def _parts(self) -> tuple[Array, Array, Array]:
        weight, a, b = self._fit
        total = a + b
        return weight, a / total, a * b / (total**2 * (total + 1))

    def gaussian(self) -> Gaussian:
        """The Gaussian view that plans are made on: each arm's mean and variance, noise variance E p(1 − p)."""
        mean, var = self.mean, self.var
        noise = np.maximum(mean * (1 - mean) - var, 1e-9)
        return Gaussian(mean, Covariance(np.zeros((*mean.shape, 0)), var), noise, self.arms)

    def _check_rewards(self, rewards: Array) -> None:
        if (bad := (rewards != 0) & (rewards != 1)).any():
            where = int(np.argmax(bad))
            raise InputError(f"rewards[{where}] is {rewards[where]:g}; expected 0 or 1")

    def _check_totals(self, counts: Array, sums: Array) -> None:
        if ((sums < 0) | (sums > counts) | (sums != np.floor(sums))).any():
            raise InputError(
                f"sums is {shown(sums.tolist())}; expected numbers of successes: whole, from 0 to counts of each arm"
            )

    def _conditioned(self, counts: Array, sums: Array) -> "LearnedBernoulli":
        n, s = np.broadcast_arrays(self.counts + counts, self.sums + sums)
        return replace(self, counts=n, sums=s)

    def _after_one(self, arm: IntArray, reward: Array) -> "LearnedBernoulli":
        rows = np.arange(len(arm))
        counts, sums = self.counts.copy(), self.sums.copy()
        counts[rows, arm] += 1
        sums[rows, arm] += reward
        return replace(self, counts=counts, sums=sums)

    def _runs(self, runs: int) -> "LearnedBernoulli":
        shape = (runs, self.num_arms)
        return replace(self, counts=np.broadcast_to(self.counts, shape), sums=np.broadcast_to(self.sums, shape))

    def _drawn(self, number: int, rng: np.random.Generator) -> Array:
        _, a, b = self._fit
        at = self._which(number, rng)[..., None, None]
        return rng.beta(*(np.take_along_axis(part[None], at, axis=-2)[..., 0, :] for part in (a, b)))

    def __repr__(self) -> str:
        return f"LearnedBernoulli({self.num_arms} arms, {self.direction})"
