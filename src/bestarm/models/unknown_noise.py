"""Gaussian arms whose noise nobody told: an inverse-gamma prior on its variance, learned along with the means."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma, ndtr, polygamma

from bestarm.errors import InputError
from bestarm.estimate import Estimate
from bestarm.models.arms import Arms
from bestarm.models.belief import FromSquares
from bestarm.models.covariance import Covariance
from bestarm.models.gaussian import Gaussian
from bestarm.validation import (
    Array,
    IntArray,
    checked_sample_shape,
    generator,
    positive,
    read_only,
    real_array,
    shown,
)

__all__ = ["UncertainGaussian", "UnknownNoise"]

_NODES, _FEW_NODES = 25, 9  # noise variances that the mixture holds; few where arms are correlated
_BELOW, _ABOVE = 4.0, 7.0  # the range of log σ² in standard deviations: skewed towards large noise
_DRAWS = 2**16  # prob_best of correlated arms


@dataclass(frozen=True)
class UnknownNoise:
    """Noise variance σ² ~ inverse-gamma(shape, scale): mean scale/(shape − 1), worth 2·shape evaluations.

    shared: one variance for all arms; otherwise each arm has its own, with the same prior. Give it as `noise=` to a
    constructor of `ba.Gaussian`.
    """

    shape: float
    scale: float
    shared: bool = True

    def __post_init__(self) -> None:
        for name in ("shape", "scale"):
            object.__setattr__(self, name, float(positive(getattr(self, name), name, ndim=0)))
        if not 0.05 <= self.shape <= 1e9:
            raise InputError(f"shape is {self.shape:g}; expected a number from 0.05 to 1e9")
        if not isinstance(self.shared, bool):
            raise InputError(f"shared is {shown(self.shared)}; expected True or False")

    @staticmethod
    def plug_in(arms: Sequence[Any] | ArrayLike, rewards: ArrayLike, shared: bool = True) -> Any:
        """The noise sd seen in a pilot, to be given as `noise=`: the scatter within arms, pooled where shared.

        arms: names or indices, one for each reward. Returns a number, or a dict from arm to sd for arms with at least
        two rewards.
        """
        values = real_array(rewards, "rewards", ndim=1)
        labels = list(np.asarray(arms, dtype=object).ravel())
        if len(labels) != len(values):
            raise InputError(f"arms has {len(labels)} entries; expected one for each of {len(values)} rewards")
        if not isinstance(shared, bool):
            raise InputError(f"shared is {shown(shared)}; expected True or False")
        try:
            distinct = dict.fromkeys(labels)
        except TypeError:
            raise InputError(f"arms is {shown(arms)}; expected names or indices of arms") from None
        groups = {label: values[[other == label for other in labels]] for label in distinct}
        scatter = {label: (float(((y - y.mean()) ** 2).sum()), len(y) - 1) for label, y in groups.items()}
        freedom = sum(n for _, n in scatter.values())
        if freedom == 0 or sum(ss for ss, _ in scatter.values()) == 0:
            raise InputError("rewards has no arm with two different rewards; expected at least one, to see any noise")
        if shared:
            return float(np.sqrt(sum(ss for ss, _ in scatter.values()) / freedom))
        return {label: float(np.sqrt(ss / n)) for label, (ss, n) in scatter.items() if n > 0}

    def _over(self, arms: Gaussian) -> "UncertainGaussian":
        zero = np.zeros(arms.num_arms)
        return UncertainGaussian(arms, self, zero, zero, zero)


@dataclass(frozen=True, eq=False, repr=False)
class UncertainGaussian(FromSquares):
    """A belief about K arm means r ~ N(m, S) and the noise variance, and rewards Y ~ N(r_k, σ²).

    Given σ² everything is Gaussian, so the posterior is a mixture of Gaussians over σ², held on a grid of log σ² around
    where the scatter within arms puts it, each weighted by the likelihood of all data: exact to the grid, and close to
    Student's t in the margins. Where arms are correlated and each has noise of its own, each variance is replaced by
    its posterior harmonic mean given the scatter within that arm.

    prior: the Gaussian belief about means. law: of the noise. counts, sums, squares: all evidence, (…, K).
    """

    prior: Gaussian
    law: UnknownNoise
    counts: Array
    sums: Array
    squares: Array

    @property
    def arms(self) -> Arms:  # type: ignore[override]
        return self.prior.arms

    @property
    def exact(self) -> bool:  # type: ignore[override]
        return self.law.shared or self.prior.covariance.rank == 0

    # ------------------------------------------------------------------ the mixture

    @cached_property
    def _scatter(self) -> tuple[Array, Array]:
        """Shape and scale of σ² given the scatter within arms alone, (…, K), or (…, 1) where shared."""
        n = self.counts
        within = np.maximum(self.squares - np.divide(self.sums**2, n, out=np.zeros(self.sums.shape), where=n > 0), 0.0)
        freedom = np.broadcast_to(np.maximum(n - 1, 0.0), within.shape)
        if self.law.shared:
            freedom, within = freedom.sum(axis=-1, keepdims=True), within.sum(axis=-1, keepdims=True)
        return self.law.shape + freedom / 2, self.law.scale + within / 2

    @cached_property
    def _nodes(self) -> tuple[Array, Array]:
        """Noise variances (…, J, 1 or K) and their posterior weights, alike."""
        shape, scale = self._scatter
        if not self.exact:
            return (scale / shape)[..., None, :], np.ones((*shape.shape[:-1], 1, shape.shape[-1]))
        steps = np.linspace(-_BELOW, _ABOVE, _FEW_NODES if self.prior.covariance.rank else _NODES)[:, None]
        middle, sd = np.log(scale) - digamma(shape), np.sqrt(polygamma(1, shape))
        log_var = middle[..., None, :] + sd[..., None, :] * steps
        var = np.exp(log_var)
        log_weight = -shape[..., None, :] * log_var - scale[..., None, :] / var + self._likelihood(var)
        weight = np.exp(log_weight - log_weight.max(axis=-2, keepdims=True))
        return var, weight / weight.sum(axis=-2, keepdims=True)

    def _likelihood(self, var: Array) -> Array:
        """Log-likelihood of the arms' averages at each variance, (…, J, 1) or, arm by arm, (…, J, K)."""
        n, factor, own = self.counts[..., None, :], self.prior.covariance.factor, self.prior.covariance.diag
        t = var + n * own
        residual = self.sums[..., None, :] - n * self.prior.mean
        seen = n > 0
        each = np.where(seen, np.log(t) + residual**2 / np.where(seen, n * t, 1.0), 0.0)
        if not self.law.shared:
            return np.asarray(-each / 2)
        total = each.sum(axis=-1)
        if factor.shape[1]:
            precision = np.eye(factor.shape[1]) + np.einsum("...k,kp,kq->...pq", n / t, factor, factor, optimize=True)
            root = np.linalg.cholesky(precision)
            pulled = np.linalg.solve(root, ((residual / t) @ factor)[..., None])[..., 0]
            total = total + 2 * np.log(np.diagonal(root, axis1=-2, axis2=-1)).sum(axis=-1) - (pulled**2).sum(axis=-1)
        return np.asarray(-total[..., None] / 2)

    @cached_property
    def _mixture(self) -> Gaussian:
        """The Gaussian posterior at every noise variance, with a batch axis (…, J)."""
        var, _ = self._nodes
        noise_var = np.broadcast_to(var, (*var.shape[:-1], self.num_arms))
        return replace(self.prior, noise_var=noise_var)._conditioned(self.counts[..., None, :], self.sums[..., None, :])

    # ------------------------------------------------------------------ what is believed

    @cached_property
    def mean(self) -> Array:
        """Posterior mean of each arm, (…, K)."""
        return read_only(np.asarray((self._nodes[1] * self._mixture.mean).sum(axis=-2)))

    @cached_property
    def var(self) -> Array:
        """Posterior variance of each arm mean, (…, K), the doubt about the noise included."""
        apart = self._mixture.mean - self.mean[..., None, :]
        return read_only(np.asarray((self._nodes[1] * (self._mixture.var + apart**2)).sum(axis=-2)))

    @property
    def noise(self) -> Array:
        """Posterior mean of the noise sd of each arm, (…, K)."""
        var, weight = self._nodes
        return np.asarray(np.broadcast_to((weight * np.sqrt(var)).sum(axis=-2), (*self.batch_shape, self.num_arms)))

    def interval(self, level: float = 0.95) -> Array:
        """Credible interval of each arm mean, (…, K, 2), from its own mixture (close to Student's t)."""
        share = float(real_array(level, "level", ndim=0))
        if not 0 < share < 1:
            raise InputError(f"level is {level:g}; expected a probability between 0 and 1")
        tail = (1 - share) / 2
        sd = np.sqrt(self._mixture.var)
        weight = np.broadcast_to(self._nodes[1], sd.shape)
        spread = np.sqrt(self.var)
        ends = []
        for quantile in (tail, 1 - tail):
            low, high = self.mean - 60 * spread, self.mean + 60 * spread
            for _ in range(60):
                middle = (low + high) / 2
                z = (middle[..., None, :] - self._mixture.mean) / np.where(sd > 0, sd, 1.0)
                below = (weight * np.where(sd > 0, ndtr(z), z >= 0)).sum(axis=-2) < quantile
                low, high = np.where(below, middle, low), np.where(below, high, middle)
            ends.append((low + high) / 2)
        return np.stack(ends, axis=-1)

    def prob_best(self, rng: Any = 0) -> Estimate:
        """Chance of each arm to be the best, (…, K): by quadrature where arms are independent, else from draws."""
        return self._who_is_best(rng)[0]

    def expected_regret(self, rng: Any = 0) -> Estimate:
        """How far each arm's mean is expected to fall short of the best one's, (…, K)."""
        return self._who_is_best(rng)[1]

    def _who_is_best(self, rng: Any) -> tuple[Estimate, Estimate]:
        random = generator(rng)
        if self.law.shared and self.prior.covariance.rank == 0:
            weight = self._nodes[1]
            prob, short = (
                (weight * np.asarray(part.value)).sum(axis=-2)
                for part in (self._mixture.prob_best(), self._mixture.expected_regret())
            )
            return Estimate(prob, np.zeros(prob.shape)), Estimate(short, np.zeros(short.shape))
        wins, shortfall, squared = (np.zeros((*self.batch_shape, self.num_arms)) for _ in range(3))
        draws = max(256, min(_DRAWS, 2**22 // max(1, int(np.prod(self.batch_shape)))))
        for _ in range(draws // 256):
            for reward in self.arms.sign * self._drawn(256, random):
                top = reward.max(axis=-1, keepdims=True)
                wins += reward == top
                shortfall += top - reward
                squared += (top - reward) ** 2
        number = draws // 256 * 256
        prob, short = wins / number, shortfall / number
        prob_se = np.sqrt(np.maximum(prob * (1 - prob), 1 / number) / number)
        return Estimate(prob, prob_se), Estimate(short, np.sqrt(np.maximum(squared / number - short**2, 0.0) / number))

    def gaussian(self) -> Gaussian:
        """The Gaussian view that plans are made on: noise variance 1/E[1/σ²], means and variances of the mixture; where
        arms are correlated, the covariance at that noise.
        """
        var, weight = self._nodes
        shape = (*self.batch_shape, self.num_arms)
        plug_in = np.broadcast_to(1 / (weight / var).sum(axis=-2), shape)
        if self.prior.covariance.rank == 0:
            return Gaussian(self.mean, Covariance(np.zeros((*shape, 0)), self.var), plug_in, self.arms)
        return replace(replace(self.prior, noise_var=plug_in)._conditioned(self.counts, self.sums), mean=self.mean)

    def after(self, counts: ArrayLike) -> Covariance:
        """Covariance after `counts` more evaluations if the noise is what it now seems to be; here it depends on the
        rewards, which teach the noise.
        """
        return self.gaussian().after(counts)

    def _marginal(self) -> "UncertainGaussian":
        return replace(self, prior=self.prior._marginal())

    # ------------------------------------------------------------------ worlds

    def sample(self, size: int | tuple[int, ...] | None = None, rng: Any = None) -> Array:
        """Arm means drawn from the belief, (*size, …, K)."""
        shape = checked_sample_shape(size, (), self.num_arms)
        drawn = self._drawn(int(np.prod(shape)), generator(rng))
        return np.asarray(drawn.reshape(*shape, *self.batch_shape, self.num_arms))

    def _drawn(self, number: int, rng: np.random.Generator) -> Array:
        """(number, …, K): a noise variance from its weights, then means from the Gaussian at it."""
        mixture, shape = self._mixture, (number, *self.batch_shape, self.num_arms)
        which = self._which(number, rng)
        mean = _taken(mixture.mean, which)
        if self.prior.covariance.rank == 0:
            return np.asarray(mean + np.sqrt(_taken(mixture.covariance.diag, which)) * rng.standard_normal(shape))
        factor = np.take_along_axis(mixture.covariance.factor[None], which[..., :1, None], axis=-3)[..., 0, :, :]
        diag = _taken(np.broadcast_to(mixture.covariance.diag, mixture.mean.shape), which)
        z = rng.standard_normal((*shape[:-1], factor.shape[-1]))
        return np.asarray(mean + np.einsum("...kq,...q->...k", factor, z) + np.sqrt(diag) * rng.standard_normal(shape))

    def _which(self, number: int, rng: np.random.Generator) -> IntArray:
        """Nodes drawn by their weights, (number, …, 1, K): the same for all arms where the noise is shared."""
        cumulative = np.cumsum(self._nodes[1], axis=-2)
        u = rng.random((number, *cumulative.shape[:-2], 1, cumulative.shape[-1]))
        which = (u > cumulative).sum(axis=-2, keepdims=True)
        which = np.minimum(which, cumulative.shape[-2] - 1)
        return np.asarray(np.broadcast_to(which, (*which.shape[:-1], self.num_arms)))

    def _draw(self, rng: np.random.Generator) -> Array:
        return np.asarray(self._drawn(1, rng)[0])

    def _worlds(self, runs: int, rng: np.random.Generator) -> tuple[Array, Any]:
        """Arm means, and a Gaussian whose noise in each world is drawn too; from a belief without evidence exactly."""
        if self.counts.any():
            var, _ = self._nodes
            noise_var = _taken(np.broadcast_to(var, (*var.shape[:-1], self.num_arms)), self._which(runs, rng))
            given = replace(self.prior, noise_var=noise_var)
            return given._conditioned(self.counts, self.sums).sample(None, rng), given
        size = (runs, 1 if self.law.shared else self.num_arms)
        noise_var = np.broadcast_to(self.law.scale / rng.standard_gamma(self.law.shape, size), (runs, self.num_arms))
        return self.prior.sample(runs, rng), replace(self.prior, noise_var=noise_var)

    def __repr__(self) -> str:
        batch = f", batch {self.batch_shape}" if self.batch_shape else ""
        whose = "one noise" if self.law.shared else "noise each"
        return f"UncertainGaussian({self.num_arms} arms, {whose}, {self.direction}{batch})"


def _taken(values: Array, which: IntArray) -> Array:
    """Entries (number, …, K) of values (…, J, K) at which (number, …, 1, K)."""
    return np.asarray(np.take_along_axis(values[None], which, axis=-2)[..., 0, :])
