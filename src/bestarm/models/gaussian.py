"""Gaussian arm means with Gaussian rewards: the paper's three settings as one type."""

from collections.abc import Sequence, Sized
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, overload, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from bestarm.errors import InputError
from bestarm.estimate import Estimate
from bestarm.models import best
from bestarm.models.arms import Arms
from bestarm.models.belief import OverArms
from bestarm.models.covariance import Covariance, covariance_root
from bestarm.validation import (
    Array,
    IntArray,
    broadcast,
    checked_sample_shape,
    generator,
    non_negative,
    positive,
    read_only,
    real_array,
    shown,
    spread,
    vector,
)

if TYPE_CHECKING:
    from bestarm.models.unknown_noise import UncertainGaussian, UnknownNoise

__all__ = ["Gaussian", "LearnedNoise"]


@runtime_checkable
class LearnedNoise(Protocol):
    """What `noise=` may be besides numbers: something that makes another belief of a Gaussian (`UnknownNoise`)."""

    def _over(self, arms: "Gaussian") -> Any: ...


@dataclass(frozen=True, eq=False, repr=False)
class Gaussian(OverArms):
    """A belief about K arm means, r ~ N(m, S) with S = F Fᵀ + diag(D), and rewards Y ~ N(r_k, v_k).

    Prior and posterior alike: conditioning returns another `Gaussian`. Build one with `independent`, `linear` or
    `hierarchical`; the fields below are for code that works on many beliefs at once, where leading batch axes
    broadcast (a fixed plan over R runs has R means and one covariance).

    mean: m, (…, K). covariance: F and D. noise_var: v > 0, (…, K). arms: names, payloads, direction.
    """

    mean: Array
    covariance: Covariance
    noise_var: Array
    arms: Arms

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", read_only(self.mean))
        object.__setattr__(self, "noise_var", read_only(self.noise_var))

    # ------------------------------------------------------------------ constructors

    @overload
    @classmethod
    def independent(
        cls,
        mean: ArrayLike,
        sd: ArrayLike,
        noise: ArrayLike = ...,
        names: Sequence[str] | None = ...,
        direction: str = ...,
        payloads: Sequence[Any] | None = ...,
    ) -> "Gaussian": ...
    @overload
    @classmethod
    def independent(
        cls,
        mean: ArrayLike,
        sd: ArrayLike,
        noise: "UnknownNoise",
        names: Sequence[str] | None = ...,
        direction: str = ...,
        payloads: Sequence[Any] | None = ...,
    ) -> "UncertainGaussian": ...
    @classmethod
    def independent(
        cls,
        mean: ArrayLike,
        sd: ArrayLike,
        noise: Any = 1.0,
        names: Sequence[str] | None = None,
        direction: str = "maximize",
        payloads: Sequence[Any] | None = None,
    ) -> Any:
        """Independent arms, θ_i ~ N(mean_i, sd_i²): the paper's multi-armed bandit.

        mean, sd, noise: one number per arm, or one for all (not all three without names). sd ≥ 0 and noise > 0
        are standard deviations; `ba.UnknownNoise` where nobody knows it.
        """
        if isinstance(noise, LearnedNoise):
            return noise._over(cls.independent(mean, sd, 1.0, names, direction, payloads))
        means, sds = real_array(mean, "mean"), spread(sd, "sd")
        noises = positive(noise, "noise")
        sized = [array.shape[0] for array in (means, sds, noises) if array.ndim]
        count = sized[0] if sized else len(names) if isinstance(names, Sized) else None
        if count is None:
            raise InputError(f"mean is {shown(mean)}, one number; expected a list with one number per arm")
        if count == 0:
            raise InputError("mean has 0 entries; expected at least 1")
        return cls(
            broadcast(means, count, "mean"),
            Covariance(np.zeros((count, 0)), broadcast(sds, count, "sd") ** 2),
            broadcast(noises, count, "noise") ** 2,
            Arms.of(count, names, direction, payloads),
        )

    @overload
    @classmethod
    def linear(
        cls,
        features: ArrayLike,
        mean: ArrayLike,
        cov: ArrayLike,
        noise: ArrayLike = ...,
        names: Sequence[str] | None = ...,
        direction: str = ...,
        payloads: Sequence[Any] | None = ...,
    ) -> "Gaussian": ...
    @overload
    @classmethod
    def linear(
        cls,
        features: ArrayLike,
        mean: ArrayLike,
        cov: ArrayLike,
        noise: "UnknownNoise",
        names: Sequence[str] | None = ...,
        direction: str = ...,
        payloads: Sequence[Any] | None = ...,
    ) -> "UncertainGaussian": ...
    @classmethod
    def linear(
        cls,
        features: ArrayLike,
        mean: ArrayLike,
        cov: ArrayLike,
        noise: Any = 1.0,
        names: Sequence[str] | None = None,
        direction: str = "maximize",
        payloads: Sequence[Any] | None = None,
    ) -> Any:
        """Arms with features: r_k = x_k·θ, θ ~ N(mean, cov). The paper's linear bandit.

        features: (K, d); mean: (d,); cov: (d, d), a covariance matrix (variances on its diagonal).
        """
        if isinstance(noise, LearnedNoise):
            return noise._over(cls.linear(features, mean, cov, 1.0, names, direction, payloads))
        x = real_array(features, "features", ndim=2)
        theta = vector(mean, "mean")
        if x.shape[0] == 0 or x.shape[1] != theta.shape[0]:
            raise InputError(f"features has shape {x.shape}; expected (arms, {theta.shape[0]}) to go with mean")
        root = covariance_root(real_array(cov, "cov", ndim=2), len(theta), "cov")
        return cls(
            x @ theta,
            Covariance(_thin(x @ root), np.zeros(len(x))),
            broadcast(positive(noise, "noise"), len(x), "noise") ** 2,
            Arms.of(len(x), names, direction, payloads),
        )

    @overload
    @classmethod
    def hierarchical(
        cls,
        mixing: ArrayLike,
        effect_mean: ArrayLike,
        effect_cov: ArrayLike,
        arm_sd: ArrayLike,
        noise: ArrayLike = ...,
        names: Sequence[str] | None = ...,
        direction: str = ...,
        payloads: Sequence[Any] | None = ...,
    ) -> "Gaussian": ...
    @overload
    @classmethod
    def hierarchical(
        cls,
        mixing: ArrayLike,
        effect_mean: ArrayLike,
        effect_cov: ArrayLike,
        arm_sd: ArrayLike,
        noise: "UnknownNoise",
        names: Sequence[str] | None = ...,
        direction: str = ...,
        payloads: Sequence[Any] | None = ...,
    ) -> "UncertainGaussian": ...
    @classmethod
    def hierarchical(
        cls,
        mixing: ArrayLike,
        effect_mean: ArrayLike,
        effect_cov: ArrayLike,
        arm_sd: ArrayLike,
        noise: Any = 1.0,
        names: Sequence[str] | None = None,
        direction: str = "maximize",
        payloads: Sequence[Any] | None = None,
    ) -> Any:
        """Arms that share effects: θ_i ~ N(b_i·μ, arm_sd_i²), μ ~ N(effect_mean, effect_cov).

        mixing: the paper's b, (K, L); effect_mean: ν, (L,); effect_cov: Σ, (L, L); arm_sd: σ_0, one number or one
        per arm, a standard deviation.
        """
        if isinstance(noise, LearnedNoise):
            return noise._over(
                cls.hierarchical(mixing, effect_mean, effect_cov, arm_sd, 1.0, names, direction, payloads)
            )
        b = real_array(mixing, "mixing", ndim=2)
        nu = vector(effect_mean, "effect_mean")
        if b.shape[0] == 0 or b.shape[1] != nu.shape[0]:
            raise InputError(f"mixing has shape {b.shape}; expected (arms, {nu.shape[0]}) to go with effect_mean")
        root = covariance_root(real_array(effect_cov, "effect_cov", ndim=2), len(nu), "effect_cov")
        own = broadcast(spread(arm_sd, "arm_sd"), b.shape[0], "arm_sd")
        return cls(
            b @ nu,
            Covariance(_thin(b @ root), own**2),
            broadcast(positive(noise, "noise"), len(b), "noise") ** 2,
            Arms.of(len(b), names, direction, payloads),
        )

    @classmethod
    def low_rank(
        cls,
        mean: ArrayLike,
        factor: ArrayLike,
        var: ArrayLike,
        noise_var: ArrayLike = 1.0,
        names: Sequence[str] | None = None,
        direction: str = "maximize",
        payloads: Sequence[Any] | None = None,
    ) -> "Gaussian":
        """The general form, r ~ N(mean, factor factorᵀ + diag(var)): what the other constructors come to.

        mean: (K,); factor: (K, q); var ≥ 0 and noise_var > 0: variances, one number or one per arm.
        """
        m = real_array(mean, "mean", ndim=1, squared=True)
        f = real_array(factor, "factor", ndim=2, squared=True)
        if len(m) == 0:
            raise InputError("mean has 0 entries; expected at least 1")
        if f.shape[0] != len(m):
            raise InputError(f"factor has shape {f.shape}; expected ({len(m)}, rank) to go with mean")
        diag = broadcast(non_negative(var, "var", squared=True), len(m), "var")
        noise = broadcast(positive(noise_var, "noise_var", squared=True), len(m), "noise_var")
        return cls(m, Covariance(_thin(f), diag), noise, Arms.of(len(m), names, direction, payloads))

    # ------------------------------------------------------------------ what is believed

    @property
    def noise(self) -> Array:
        """Standard deviation of one evaluation of each arm, (K,)."""
        return np.sqrt(self.noise_var)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The leading axes; () for a single belief."""
        own = self.covariance
        shapes = self.mean.shape[:-1], own.factor.shape[:-2], own.diag.shape[:-1], self.noise_var.shape[:-1]
        return np.broadcast_shapes(*shapes)

    @property
    def var(self) -> Array:
        """Variance of each arm mean, (…, K)."""
        return self.covariance.var

    @property
    def cov(self) -> Array:
        """The K×K covariance of the arm means. Computed on request; nothing else needs it."""
        return self.covariance.dense()

    def prob_best(self, rng: Any = 0) -> Estimate:
        """Chance of each arm to be the best, (…, K); a tie for best is split evenly.

        Exact to 1e-8 for independent arms (1-D quadrature); otherwise randomised quasi-Monte Carlo with its
        standard error.
        """
        return self._who_is_best(rng)[0]

    def expected_regret(self, rng: Any = 0) -> Estimate:
        """How far each arm's mean is expected to fall short of the best one's, (…, K), in units of reward."""
        return self._who_is_best(rng)[1]

    def _who_is_best(self, rng: Any) -> tuple[Estimate, Estimate]:
        random = generator(rng)
        return self._integrated_best if self.covariance.rank == 0 else self._sampled_best(random)

    @cached_property
    def _integrated_best(self) -> tuple[Estimate, Estimate]:
        """Independent arms: both answers by quadrature, once."""
        shape = (*self.batch_shape, self.num_arms)
        mean = np.broadcast_to(self.arms.sign * self.mean, shape).reshape(-1, self.num_arms)
        sd = np.broadcast_to(np.sqrt(self.covariance.diag), shape).reshape(-1, self.num_arms)
        prob, regret = best.independent(mean, sd)
        zero = read_only(np.zeros(shape))
        return (
            Estimate(read_only(prob.reshape(shape)), zero),
            Estimate(read_only(regret.reshape(shape)), zero),
        )

    def _sampled_best(self, random: np.random.Generator) -> tuple[Estimate, Estimate]:
        shape = (*self.batch_shape, self.num_arms)
        rank = self.covariance.rank
        mean = np.broadcast_to(self.arms.sign * self.mean, shape).reshape(-1, self.num_arms)
        diag = np.broadcast_to(self.covariance.diag, shape).reshape(-1, self.num_arms)
        factor = np.broadcast_to(self.covariance.factor, (*shape, rank)).reshape(-1, self.num_arms, rank)
        rows = [
            best.structured(m, Covariance(self.arms.sign * f, d), random)
            for m, f, d in zip(mean, factor, diag, strict=True)
        ]
        parts = np.array(rows).reshape(-1, 4, self.num_arms)
        prob, prob_se, regret, regret_se = (parts[:, part].reshape(shape) for part in range(4))
        return Estimate(prob, prob_se), Estimate(regret, regret_se)

    # ------------------------------------------------------------------ evidence

    def _conditioned(self, counts: Array, sums: Array) -> "Gaussian":
        """As `condition`, unchecked and for real counts: the inner loop of every simulation."""
        update = self.covariance.after(counts, self.noise_var)
        return replace(
            self,
            mean=self.mean + update.shift(sums - counts * self.mean),
            covariance=update.covariance,
        )

    def _after_one(self, arm: IntArray, reward: Array) -> "Gaussian":
        """One reward of one arm in each of B runs, (B,) each: a rank-one step, unchecked. mean is (B, K)."""
        rows = np.arange(len(arm))
        missed = reward - self.mean[rows, arm]
        if self.covariance.rank == 0:  # only the arm itself moves
            diag, v = self.covariance.diag.copy(), self.noise_var[arm]
            own = diag[rows, arm]
            share = own / (v + own)
            diag[rows, arm] = v * share
            mean = self.mean.copy()
            mean[rows, arm] += share * missed
            return Gaussian(mean, Covariance(self.covariance.factor, diag), self.noise_var, self.arms)
        covariance, gain = self.covariance.after_one(arm, self.noise_var)
        return Gaussian(self.mean + gain * missed[:, None], covariance, self.noise_var, self.arms)

    def _draw(self, rng: np.random.Generator) -> Array:
        """Arm means drawn once in each run, (R, K), from no more normals than that takes."""
        own = self.covariance.diag
        away = np.sqrt(own) * rng.standard_normal(own.shape) if own.any() else np.zeros(own.shape)
        if self.covariance.rank:
            z = rng.standard_normal((len(own), self.covariance.rank, 1))
            away = away + np.matmul(self.covariance.factor, z)[:, :, 0]
        return self.mean + away

    def _runs(self, runs: int) -> "Gaussian":
        """The same belief held in each of `runs` runs, so that each may go its own way."""
        k, q = self.num_arms, self.covariance.rank
        covariance = Covariance(
            np.broadcast_to(self.covariance.factor, (runs, k, q)), np.broadcast_to(self.covariance.diag, (runs, k))
        )
        return Gaussian(np.broadcast_to(self.mean, (runs, k)), covariance, self.noise_var, self.arms)

    def after(self, counts: ArrayLike) -> Covariance:
        """The covariance after `counts` evaluations, whatever the rewards turn out to be; counts may be fractions.

        It has `.var`, `.diff_var(i, j)` and `.dense()`.
        """
        return self.covariance.after(self._per_arm(non_negative(counts, "counts"), "counts"), self.noise_var).covariance

    def _marginal(self) -> "Gaussian":
        if self.covariance.rank == 0:
            return self
        return replace(self, covariance=Covariance(np.zeros((*self.var.shape, 0)), self.var))

    def gaussian(self) -> "Gaussian":
        """The Gaussian view of a belief, which plans are made on: of a Gaussian, itself."""
        return self

    # ------------------------------------------------------------------ worlds

    def sample(self, size: int | tuple[int, ...] | None = None, rng: Any = None) -> Array:
        """Arm means drawn from the belief, (*size, …, K)."""
        random = generator(rng)
        shape = checked_sample_shape(size, self.batch_shape, max(self.num_arms, self.covariance.rank))
        z = random.standard_normal((*shape, self.covariance.rank))
        e = random.standard_normal((*shape, self.num_arms))
        return np.asarray(self.mean + self.covariance.root_times(z, e))

    def sample_sums(self, means: Array, counts: Array, rng: np.random.Generator, moments: int = 1) -> Array:
        if counts.ndim > 1:
            sums = counts * means + np.sqrt(counts * self.noise_var) * rng.standard_normal(means.shape)
        else:
            sums = np.zeros(means.shape)
            drawn = np.flatnonzero(counts)
            n = counts[drawn]
            noise = np.sqrt(n * self.noise_var[..., drawn]) * rng.standard_normal((*means.shape[:-1], len(drawn)))
            sums[..., drawn] = n * means[..., drawn] + noise
        if moments == 1:
            return np.asarray(sums)
        # given their sum, the squares' sum is s²/n + v χ²_{n−1}
        scatter = self.noise_var * 2 * rng.standard_gamma(np.maximum(counts - 1, 0) / 2, means.shape)
        squares = np.divide(sums**2, counts, out=np.zeros_like(sums), where=counts > 0) + scatter
        return np.stack([sums, squares], axis=-1)

    def _one_reward(self, means: Array, arms: IntArray, rng: np.random.Generator) -> Array:
        noise = np.sqrt(self.noise_var)
        sd = noise[arms] if noise.ndim == 1 else noise[np.arange(len(noise)), arms]
        return np.asarray(means + sd * rng.standard_normal(means.shape))

    def __repr__(self) -> str:
        rank = f", rank {self.covariance.rank}" if self.covariance.rank else ", independent"
        batch = f", batch {self.batch_shape}" if self.batch_shape else ""
        return f"Gaussian({self.num_arms} arms{rank}, {self.direction}{batch})"


def _thin(factor: Array) -> Array:
    """F with at most K columns where that pays: K arms vary in at most K directions.

    Rotating columns of very different scale costs the entry-by-entry accuracy that `Covariance.after` keeps, so
    nothing is done up to 2K columns. Rows that are copies of each other stay copies.
    """
    arms, rank = factor.shape
    if rank <= 2 * arms:
        return factor
    distinct, inverse = np.unique(factor, axis=0, return_inverse=True)
    return np.asarray(np.linalg.qr(distinct.T).R.T[inverse.ravel()])
