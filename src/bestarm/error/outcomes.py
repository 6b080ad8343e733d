"""What the evaluations may say: draws of the posterior means that fixed counts will lead to.

Before the evaluations, m̂ ~ N(m, S − C(n)). That matrix is singular where an arm is not evaluated or D = 0, so m̂ is
drawn through the data: ρ = n∘Fz + √(n(nD + v))∘η, and the posterior means of the model, and of whatever else the
decision maker assumes, are affine in ρ. In a linear bandit data enter through q coordinates alone.
"""

import numpy as np

from bestarm.error.pairs import residual_sd
from bestarm.models.covariance import thin_product
from bestarm.models.gaussian import Gaussian
from bestarm.validation import Array

__all__ = ["Outcomes"]


class Outcomes:
    """Posterior means as functions of standard normals. Larger rewards are better in here, whatever the direction.

    mean: prior means less the largest, (K,). left: the covariance after the counts. size: how many normals a draw
    takes; the ones that matter most come first. every_arm: the same normals mean the same whatever the counts, for
    plans that are compared on common draws.
    """

    def __init__(
        self, model: Gaussian, counts: Array, assumed: Gaussian | None = None, every_arm: bool = False
    ) -> None:
        # only differences between arms matter: told from the largest, so that a common offset costs no digits
        sign = model.arms.sign
        self.mean = sign * model.mean - (sign * model.mean).max()
        self._update = model.covariance.after(counts, model.noise_var)
        self.left = self._update.covariance
        self._counts, self._prior = counts, model.covariance
        self._spread = residual_sd(model, counts)
        self._root: Array | None = None
        self._assumed_mean: Array | None = None
        if assumed is not None:
            self._assumed_mean = sign * assumed.mean - (sign * assumed.mean).max()
            self._offset = counts * sign * (model.mean - assumed.mean)
            self._assumed_update = assumed.covariance.after(counts, assumed.noise_var)
            self.believed = self._assumed_update.covariance
        else:
            self.believed = self.left
            if not model.covariance.diag.any():
                self._root = _root_of_gain(model, counts)
        promising = np.argsort(-(self.mean + 2 * np.sqrt(model.var)), kind="stable")
        self._measured = promising if every_arm else promising[counts[promising] > 0]
        rank = model.covariance.rank
        self.size = self._root.shape[1] if self._root is not None else rank + len(self._measured)

    def posterior_means(self, normals: Array) -> tuple[Array, Array]:
        """Posterior means under the model, and those that decide, (points, K) each."""
        if self._root is not None:
            mean = self.mean + thin_product(normals, self._root.T)
            return mean, mean
        own, common = np.split(normals, [len(self._measured)], axis=1)
        residual = np.zeros((len(normals), len(self.mean)))
        residual[:, self._measured] = own
        residual *= self._spread
        if self._prior.rank:
            residual += self._counts * thin_product(common, self._prior.factor.T)
        mean = self.mean + self._update.shift(residual)
        if self._assumed_mean is None:
            return mean, mean
        return mean, self._assumed_mean + self._assumed_update.shift(residual + self._offset)


def _root_of_gain(model: Gaussian, counts: Array) -> Array:
    """W with W Wᵀ = S − C(n) where D = 0: F U √(g/(1 + g)) Uᵀ, from Fᵀ diag(n/v) F = U diag(g) Uᵀ.

    The symmetric root, so that nearby counts make nearby roots.
    """
    factor = model.covariance.factor
    weighted = np.sqrt(counts / model.noise_var)[:, None] * factor
    _, values, right = np.linalg.svd(weighted, full_matrices=False)
    return np.asarray((factor @ right.T) * (values / np.hypot(1.0, values)) @ right)
