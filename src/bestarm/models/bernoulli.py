"""Yes/no rewards with Beta priors: exact posteriors, one arm at a time."""

from collections.abc import Sequence, Sized
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bestarm.errors import InputError
from bestarm.estimate import Estimate
from bestarm.models import best_beta
from bestarm.models.arms import Arms
from bestarm.models.belief import OverArms
from bestarm.models.covariance import Covariance
from bestarm.models.gaussian import Gaussian
from bestarm.validation import Array, IntArray, broadcast, checked_sample_shape, generator, positive, read_only, shown

__all__ = ["Bernoulli"]

_LEAST, _MOST = 1e-6, 1e9  # of alpha and beta: where the integrals keep their eight digits


@dataclass(frozen=True, eq=False, repr=False)
class Bernoulli(OverArms):
    """A belief about K success probabilities, p_k ~ Beta(α_k, β_k) independently, and rewards 0 or 1.

    Prior and posterior alike: s successes in n evaluations make Beta(α + s, β + n − s). Build one with `independent`.

    alpha, beta: (…, K), leading batch axes broadcast. arms: names, payloads, direction.
    """

    alpha: Array
    beta: Array
    arms: Arms

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", read_only(self.alpha))
        object.__setattr__(self, "beta", read_only(self.beta))

    @property
    def binary(self) -> bool:
        """Rewards are 0 or 1."""
        return True

    @classmethod
    def independent(
        cls,
        alpha: ArrayLike,
        beta: ArrayLike,
        names: Sequence[str] | None = None,
        direction: str = "maximize",
        payloads: Sequence[Any] | None = None,
    ) -> "Bernoulli":
        """Independent arms, p_k ~ Beta(alpha_k, beta_k): prior mean α/(α + β), worth α + β evaluations.

        alpha, beta: one number per arm, or one for all (not both without names). Beta(1, 1) is uniform.
        """
        a, b = positive(alpha, "alpha"), positive(beta, "beta")
        for array, name in ((a, "alpha"), (b, "beta")):
            if (bad := (array < _LEAST) | (array > _MOST)).any():
                value = float(array[bad].flat[0])
                raise InputError(f"{name} is {value:g}; expected a number from {_LEAST:g} to {_MOST:g}")
        sized = [array.shape[0] for array in (a, b) if array.ndim]
        count = sized[0] if sized else len(names) if isinstance(names, Sized) else None
        if count is None:
            raise InputError(f"alpha is {shown(alpha)}, one number; expected a list with one number per arm")
        if count == 0:
            raise InputError("alpha has 0 entries; expected at least 1")
        return cls(
            broadcast(a, count, "alpha"), broadcast(b, count, "beta"), Arms.of(count, names, direction, payloads)
        )

    # ------------------------------------------------------------------ what is believed

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The leading axes; () for a single belief."""
        return np.broadcast_shapes(self.alpha.shape, self.beta.shape)[:-1]

    @property
    def mean(self) -> Array:
        """Expected success probability of each arm, α/(α + β), (…, K)."""
        return np.asarray(self.alpha / (self.alpha + self.beta))

    @property
    def var(self) -> Array:
        """Variance of each success probability, (…, K)."""
        worth = self.alpha + self.beta
        return np.asarray(self.alpha * self.beta / (worth * worth * (worth + 1)))

    def prob_best(self, rng: Any = 0) -> Estimate:
        """Chance of each arm to be the best, (…, K), by 1-D quadrature to 1e-8. rng is not used."""
        return self._who_is_best[0]

    def expected_regret(self, rng: Any = 0) -> Estimate:
        """How far each arm's probability is expected to fall short of the best one's, (…, K). rng is not used."""
        return self._who_is_best[1]

    @cached_property
    def _who_is_best(self) -> tuple[Estimate, Estimate]:
        shape = (*self.batch_shape, self.num_arms)
        a, b = (np.broadcast_to(part, shape).reshape(-1, self.num_arms) for part in self.upright)
        prob, regret = (read_only(part.reshape(shape)) for part in best_beta.independent(a, b))
        zero = read_only(np.zeros(shape))
        return Estimate(prob, zero), Estimate(regret, zero)

    @property
    def upright(self) -> tuple[Array, Array]:
        """α and β of what should be large: of failures when minimising."""
        return (self.alpha, self.beta) if self.arms.sign > 0 else (self.beta, self.alpha)

    def gaussian(self) -> Gaussian:
        """The Gaussian view that plans are made on: the same means and variances, noise variance E p(1 − p).

        That is m(1 − m)·(α + β)/(α + β + 1), a little below m(1 − m): with it a Gaussian posterior mean is the Beta's
        own, (α + s)/(α + β + n), and its variance is the Beta's expected one.
        """
        mean, worth = self.mean, self.alpha + self.beta
        alone = Covariance(np.zeros((*self.var.shape, 0)), self.var)
        return Gaussian(mean, alone, mean * (1 - mean) * worth / (worth + 1), self.arms)

    def after(self, counts: ArrayLike) -> Covariance:
        """The expected covariance after `counts` evaluations; here the covariance itself depends on the rewards."""
        return self.gaussian().after(counts)

    # ------------------------------------------------------------------ evidence

    def _check_rewards(self, rewards: Array) -> None:
        if (bad := (rewards != 0) & (rewards != 1)).any():
            where = int(np.argmax(bad))
            raise InputError(f"rewards[{where}] is {rewards[where]:g}; expected 0 or 1")

    def _check_means(self, means: Array, name: str) -> None:
        if ((means < 0) | (means > 1)).any():
            raise InputError(f"{name} has {means[(means < 0) | (means > 1)].flat[0]:g}; expected probabilities, 0 to 1")

    def _check_totals(self, counts: Array, sums: Array) -> None:
        if ((sums < 0) | (sums > counts) | (sums != np.floor(sums))).any():
            raise InputError(
                f"sums is {shown(sums.tolist())}; expected numbers of successes: whole, from 0 to counts of each arm"
            )

    def _conditioned(self, counts: Array, sums: Array) -> "Bernoulli":
        return replace(self, alpha=self.alpha + sums, beta=self.beta + (counts - sums))

    def _after_one(self, arm: IntArray, reward: Array) -> "Bernoulli":
        """One reward of one arm in each of R runs, (R,) each."""
        rows = np.arange(len(arm))
        alpha, beta = self.alpha.copy(), self.beta.copy()
        alpha[rows, arm] += reward
        beta[rows, arm] += 1 - reward
        return Bernoulli(alpha, beta, self.arms)

    def _marginal(self) -> "Bernoulli":
        return self

    def _runs(self, runs: int) -> "Bernoulli":
        shape = (runs, self.num_arms)
        return replace(self, alpha=np.broadcast_to(self.alpha, shape), beta=np.broadcast_to(self.beta, shape))

    # ------------------------------------------------------------------ worlds

    def sample(self, size: int | tuple[int, ...] | None = None, rng: Any = None) -> Array:
        """Success probabilities drawn from the belief, (*size, …, K)."""
        shape = checked_sample_shape(size, (*self.batch_shape, self.num_arms))
        return generator(rng).beta(self.alpha, self.beta, shape)

    def sample_sums(self, means: Array, counts: Array, rng: np.random.Generator, moments: int = 1) -> Array:
        sums = rng.binomial(counts.astype(np.int64), means, means.shape).astype(np.float64)
        return sums if moments == 1 else np.stack([sums, sums], axis=-1)

    def _one_reward(self, means: Array, arms: IntArray, rng: np.random.Generator) -> Array:
        return (rng.random(means.shape) < means).astype(np.float64)

    def _draw(self, rng: np.random.Generator) -> Array:
        return np.asarray(rng.beta(self.alpha, self.beta))

    def __repr__(self) -> str:
        batch = f", batch {self.batch_shape}" if self.batch_shape else ""
        return f"Bernoulli({self.num_arms} arms, {self.direction}{batch})"
