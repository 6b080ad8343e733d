"""A linear prior from arms with features: ridge regression whose penalty is chosen by the evidence."""

from dataclasses import dataclass

import numpy as np

from bestarm.errors import InputError
from bestarm.learning.empirical_bayes import pooled_noise
from bestarm.learning.tables import Table
from bestarm.validation import Array

__all__ = ["Regression", "evidence_ridge"]

_SWEEPS = 500


@dataclass(frozen=True, eq=False)
class Regression:
    """Coefficients θ ~ N(mean, cov) on standardised features with a leading 1: x = (1, (raw − shift)/scale).

    shift, scale: (d,), the standardisation to be applied to new arms. noise: sd of one evaluation. status: a sentence.
    """

    mean: Array
    cov: Array
    shift: Array
    scale: Array
    noise: float
    status: str

    def design(self, features: Array) -> Array:
        """The columns that go with `mean` and `cov`, (K, d + 1)."""
        raw = np.asarray(features, dtype=np.float64)
        return np.column_stack([np.ones(len(raw)), (raw - self.shift) / self.scale])


def evidence_ridge(table: Table, full: bool = False, noise: float | None = None) -> Regression:
    """θ_j ~ N(0, τ_j²) after the data, with τ_j by maximum evidence (MacKay, 1992): one for the intercept, one each.

    full: the posterior covariance of θ as it is; otherwise its diagonal, as in the paper's settings. Directions in
    which the arms do not vary keep their prior.
    """
    if table.features is None:
        raise InputError("features is None; expected feature columns: features=[...] (--features)")
    seen = table.counts > 0
    raw = np.asarray(table.features, dtype=np.float64)
    shift, spread = raw[seen].mean(axis=0), raw[seen].std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    own = pooled_noise(table, noise)
    x = np.column_stack([np.ones(int(seen.sum())), (raw[seen] - shift) / scale])
    average, weight = table.sums[seen] / table.counts[seen], table.counts[seen] / own**2
    gram, right = (x.T * weight) @ x, (x.T * weight) @ average
    level = max(float(np.abs(average).max()), own)
    tau = np.full(x.shape[1], level**2)
    for _ in range(_SWEEPS):
        cov = np.linalg.inv(gram + np.diag(1 / tau))
        mean = cov @ right
        known = np.clip(1 - np.diagonal(cov) / tau, 1e-12, 1.0)
        # what the data fix of a coefficient, over how large it is; never narrower than the doubt that is left
        new = np.maximum(mean**2 / known, 1e-8 * level**2)
        new[0] = level**2  # the intercept is not shrunk
        if np.abs(np.log(new / tau)).max() < 1e-6:
            break
        tau = new
    cov = np.linalg.inv(gram + np.diag(1 / tau))
    status = f"{x.shape[1] - 1} features, {int(seen.sum())} arms with data; coefficients shrunk by maximum evidence"
    return Regression(cov @ right, cov if full else np.diag(np.diagonal(cov)), shift, scale, own, status)
