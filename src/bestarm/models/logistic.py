"""Generalized linear bandits, logistic ones first: a Laplace posterior over the coefficients, refitted to all data."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from bestarm.errors import InputError
from bestarm.estimate import Estimate
from bestarm.models.arms import Arms
from bestarm.models.belief import OverArms
from bestarm.models.bernoulli import Bernoulli
from bestarm.models.best import REPLICATES, normal_replicates
from bestarm.models.covariance import Covariance, covariance_root
from bestarm.models.gaussian import Gaussian
from bestarm.models.glm import GLM, LOGISTIC
from bestarm.validation import (
    Array,
    IntArray,
    generator,
    read_only,
    real_array,
    shown,
    vector,
)

__all__ = ["GeneralizedLinear", "Logistic", "newton"]

_MOST_STEPS = 200
_HALVINGS = 100
_SMALL_STEP = 1e-9  # in units of prior standard deviations
_LEAST_INFORMATION = 1e-6  # of one reward on its score, for plans: a score far out would want infinitely many


@dataclass(frozen=True, eq=False, repr=False)
class GeneralizedLinear(OverArms):
    """Arms with features and mean rewards φ(x_k·θ), θ ~ N(mean, cov): Laplace's approximation of the posterior.

    With cov = G Gᵀ and θ = mean + G z the posterior mode ẑ maximises log-likelihood − |z|²/2, and the precision of z is
    I + Fᵀ W F with F = X G and W the curvature of the log-likelihood at the mode: the prior precision is part of it.
    Evidence is kept as counts and sums and the mode found afresh, so order and batches do not matter.

    family: link and log-partition. features: (K, d). prior_mean (d,), prior_cov (d, d): of θ. counts, sums: all
    evidence, (…, K). mode: ẑ, (…, rank of cov). arms: names, payloads, direction.
    """

    family: GLM
    features: Array
    prior_mean: Array
    prior_cov: Array
    root: Array
    counts: Array
    sums: Array
    mode: Array
    arms: Arms

    exact: ClassVar[bool] = False

    @property
    def binary(self) -> bool:
        """Whether rewards are 0 or 1, by the family."""
        return self.family.binary

    @classmethod
    def of(
        cls,
        family: GLM,
        features: ArrayLike,
        mean: ArrayLike,
        cov: ArrayLike,
        names: Sequence[str] | None = None,
        direction: str = "maximize",
        payloads: Sequence[Any] | None = None,
    ) -> "GeneralizedLinear":
        """The prior: features (K, d), mean (d,) and cov (d, d) of the coefficients."""
        if not isinstance(family, GLM):
            raise InputError(f"family is {shown(family)}; expected one of bestarm.models.glm, such as LOGISTIC")
        x = real_array(features, "features", ndim=2)
        theta = vector(mean, "mean")
        if x.shape[0] == 0 or x.shape[1] != theta.shape[0]:
            raise InputError(f"features has shape {x.shape}; expected (arms, {theta.shape[0]}) to go with mean")
        spread = real_array(cov, "cov", ndim=2)
        root = covariance_root(spread, len(theta), "cov")
        zero = np.zeros(len(x))
        over = Arms.of(len(x), names, direction, payloads)
        return cls(family, x, theta, spread, root, zero, zero, np.zeros(root.shape[1]), over)

    # ------------------------------------------------------------------ what is believed

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The leading axes; () for a single belief."""
        return self.mode.shape[:-1]

    @cached_property
    def _design(self) -> tuple[Array, Array]:
        """X·mean and F = X G."""
        return self.features @ self.prior_mean, self.features @ self.root

    @cached_property
    def link(self) -> Gaussian:
        """The Laplace posterior of the scores x_k·θ; noise 1."""
        offset, factor = self._design
        score = offset + self.mode @ factor.T
        _, weight = self.family.score_and_weight(score, self.counts, self.sums)
        precision = np.eye(factor.shape[1]) + np.einsum("...k,kp,kq->...pq", weight, factor, factor, optimize=True)
        inverse = np.linalg.inv(np.linalg.cholesky(precision))
        after = np.matmul(factor, np.swapaxes(inverse, -1, -2))
        own = Covariance(after, np.zeros(after.shape[:-1]))
        return Gaussian(score, own, np.ones(self.num_arms), self.arms)

    @property
    def link_mean(self) -> Array:
        """Score of each arm at the posterior mode, (…, K): the logit for logistic arms."""
        return self.link.mean

    @property
    def link_var(self) -> Array:
        """Posterior variance of each score, (…, K)."""
        return self.link.var

    @cached_property
    def mean(self) -> Array:
        """Expected reward of each arm, E φ(x_k·θ), (…, K): the success probability for logistic arms."""
        return read_only(np.asarray(self.family.predicted(self.link.mean, self.link.var)))

    @property
    def var(self) -> Array:
        """Variance of each arm's mean reward, (…, K), by Gauss-Hermite quadrature."""
        node, weight = np.polynomial.hermite_e.hermegauss(32)
        score = self.link.mean[..., None] + np.sqrt(self.link.var)[..., None] * node
        reward, share = self.family.mean(score), weight / weight.sum()
        return np.asarray(np.maximum((reward**2) @ share - (reward @ share) ** 2, 0.0))

    def prob_best(self, rng: Any = 0) -> Estimate:
        """Chance of each arm to be the best, (…, K): that of its score to be, as the link increases."""
        return self.link.prob_best(rng)

    def expected_regret(self, rng: Any = 0) -> Estimate:
        """How far each arm's mean reward is expected to fall short of the best one's, (…, K), with a standard error."""
        random = generator(rng)
        means = []
        for z in normal_replicates(1024, self.root.shape[1], random, REPLICATES):
            reward = self.arms.sign * self.family.mean(self._scores(z))
            means.append((reward.max(axis=-1, keepdims=True) - reward).mean(axis=0))
        return Estimate(np.mean(means, axis=0), np.std(means, axis=0, ddof=1) / np.sqrt(REPLICATES))

    def _scores(self, z: Array) -> Array:
        """Scores at standard normals (points, rank), (points, …, K)."""
        return np.asarray(self.link.mean + np.einsum("...kq,nq->n...k", self.link.covariance.factor, z))

    def gaussian(self, fisher: bool = True) -> Gaussian:
        """The Gaussian view on the scale of the scores, which plans are made on: order is the same on both scales.

        fisher: noise variance 1/I(η) at the mode, what one reward tells of its score; False: noise 1 for all, as if the
        bandit were linear Gaussian (the paper's choice for its G-optimal design).
        """
        if not fisher:
            return self.link
        information = np.maximum(self.family.information(self.link.mean), _LEAST_INFORMATION)
        return replace(self.link, noise_var=1 / information)

    def after(self, counts: ArrayLike) -> Covariance:
        """Approximate covariance of the scores after `counts` more evaluations, with Fisher's information at the mode;
        here the covariance depends on the rewards.
        """
        return self.gaussian().after(counts)

    # ------------------------------------------------------------------ evidence

    def _check_rewards(self, rewards: Array) -> None:
        expected = "0 or 1" if self.family.binary else "a whole number of at least 0"
        bad = (rewards < 0) | (rewards != np.floor(rewards)) | (self.family.binary & (rewards > 1))
        if bad.any():
            where = int(np.argmax(bad))
            raise InputError(f"rewards[{where}] is {rewards[where]:g}; expected {expected}")

    def _check_means(self, means: Array, name: str) -> None:
        most = 1.0 if self.family.binary else np.inf
        if (bad := (means < 0) | (means > most)).any():
            raise InputError(f"{name} has {means[bad].flat[0]:g}; expected numbers from 0 to {most:g}")

    def _check_totals(self, counts: Array, sums: Array) -> None:
        if ((sums < 0) | (sums != np.floor(sums)) | (self.family.binary & (sums > counts))).any():
            limit = ", and of 0 or 1 each" if self.family.binary else ""
            raise InputError(f"sums is {shown(sums.tolist())}; expected whole numbers of at least 0{limit}")

    def _conditioned(self, counts: Array, sums: Array) -> "GeneralizedLinear":
        n, s = self.counts + counts, self.sums + sums
        offset, factor = self._design
        batch = np.broadcast_shapes(n.shape, s.shape)[:-1]
        start = np.broadcast_to(self.mode, (*batch, factor.shape[1]))
        n, s = np.broadcast_to(n, (*batch, self.num_arms)), np.broadcast_to(s, (*batch, self.num_arms))
        runs = int(np.prod(batch))
        flat = [part.reshape(runs, part.shape[-1]) for part in (n, s, start)]
        mode = newton(self.family, offset, factor, *flat)
        return replace(self, counts=n, sums=s, mode=mode.reshape(*batch, factor.shape[1]))

    def _after_one(self, arm: IntArray, reward: Array) -> "GeneralizedLinear":
        """One reward of one arm in each of R runs, (R,) each."""
        rows = np.arange(len(arm))
        counts, sums = np.zeros((len(arm), self.num_arms)), np.zeros((len(arm), self.num_arms))
        counts[rows, arm], sums[rows, arm] = 1.0, reward
        return self._conditioned(counts, sums)

    def _marginal(self) -> Bernoulli | Gaussian:
        """Beta beliefs of the same means and variances where rewards are 0 or 1, normal ones where they are counts."""
        mean, var = self.mean, self.var
        if self.family.binary:
            worth = np.maximum(mean * (1 - mean) / np.maximum(var, 1e-12) - 1, 1e-3)
            return Bernoulli(mean * worth, (1 - mean) * worth, self.arms)
        return Gaussian(mean, Covariance(np.zeros((*var.shape, 0)), var), mean, self.arms)

    def _runs(self, runs: int) -> "GeneralizedLinear":
        def many(part: Array) -> Array:
            return np.broadcast_to(part, (runs, part.shape[-1]))

        return replace(self, counts=many(self.counts), sums=many(self.sums), mode=many(self.mode))

    # ------------------------------------------------------------------ worlds

    def sample(self, size: int | tuple[int, ...] | None = None, rng: Any = None) -> Array:
        """Mean rewards drawn from the (Laplace) belief, (*size, …, K)."""
        return self.family.mean(self.link.sample(size, rng))

    def sample_sums(self, means: Array, counts: Array, rng: np.random.Generator, moments: int = 1) -> Array:
        if moments != 1:
            raise InputError(
                f"truth has {self.family.name} rewards; expected Gaussian ones for a model of unknown noise"
            )
        return self.family.draw(means, counts, rng)

    def _one_reward(self, means: Array, arms: IntArray, rng: np.random.Generator) -> Array:
        return self.family.draw(means, np.ones_like(means), rng)

    def _draw(self, rng: np.random.Generator) -> Array:
        link = self.link if self.batch_shape else self.link._runs(1)
        return self.family.mean(link._draw(rng))

    def __repr__(self) -> str:
        batch = f", batch {self.batch_shape}" if self.batch_shape else ""
        return f"{self.family.name.capitalize()}({self.num_arms} arms, {len(self.prior_mean)} features{batch})"


def Logistic(
    features: ArrayLike,
    mean: ArrayLike,
    cov: ArrayLike,
    names: Sequence[str] | None = None,
    direction: str = "maximize",
    payloads: Sequence[Any] | None = None,
) -> GeneralizedLinear:
    """A logistic bandit: rewards 0 or 1, success probability 1/(1 + e^{−x_k·θ}), θ ~ N(mean, cov).

    features: (K, d); mean: (d,); cov: (d, d). Posteriors are Laplace's approximation. `.mean` is the success
    probability, `.link_mean` the logit.
    """
    return GeneralizedLinear.of(LOGISTIC, features, mean, cov, names, direction, payloads)


def newton(family: GLM, offset: Array, factor: Array, counts: Array, sums: Array, start: Array) -> Array:
    """The maximum of log-likelihood − |z|²/2 over z for each of R data sets, (R, q), by damped Newton steps.

    counts, sums: (R, K); start: (R, q). The objective is strictly concave and a step is halved until it gains enough,
    so that this converges from anywhere, on separable data too.
    """
    z = start.copy()

    def objective(at: Array, rows: IntArray) -> Array:
        score = offset + at @ factor.T
        value = family.log_likelihood(score, counts[rows], sums[rows]) - 0.5 * np.einsum("rq,rq->r", at, at)
        return np.where(np.isnan(value), -np.inf, value)

    rows = np.arange(len(z))
    value = objective(z, rows)
    outer = (factor[:, :, None] * factor[:, None, :]).reshape(len(factor), -1)
    size = factor.shape[1]
    for _ in range(_MOST_STEPS):
        score = offset + z[rows] @ factor.T
        slope, weight = family.score_and_weight(score, counts[rows], sums[rows])
        gradient = slope @ factor - z[rows]
        hessian = np.eye(size) + (weight @ outer).reshape(len(rows), size, size)
        step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        gain = np.einsum("rq,rq->r", gradient, step)
        length, short = np.ones(len(rows)), np.zeros(len(rows), dtype=bool)
        for _halving in range(_HALVINGS):
            trial = z[rows] + length[:, None] * step
            reached = objective(trial, rows)
            short = reached < value[rows] + 1e-4 * length * gain - 1e-12 * np.abs(value[rows])
            if not short.any():
                break
            length[short] /= 2
        length[short] = 0.0  # no step gains anything: rounding
        trial[short], reached[short] = z[rows][short], value[rows][short]
        z[rows], value[rows] = trial, reached
        rows = rows[np.abs(length[:, None] * step).max(axis=1, initial=0.0) > _SMALL_STEP]
        if not rows.size:
            break
    return z
