"""Hierarchical priors: a Gaussian mixture of arm averages (the paper's recipe), or mixed effects of named groups."""

from dataclasses import dataclass

import numpy as np

from bestarm.errors import InputError
from bestarm.learning.empirical_bayes import normal_population, pooled_noise
from bestarm.learning.tables import Table
from bestarm.validation import Array

__all__ = ["Effects", "gaussian_mixture", "named_groups"]


@dataclass(frozen=True, eq=False)
class Effects:
    """θ_i ~ N(b_i·μ, arm_sd²), μ ~ N(effect_mean, effect_cov): mixing b is (K, L), the rest as in
    `Gaussian.hierarchical`.

    labels: what each effect is called.
    """

    mixing: Array
    effect_mean: Array
    effect_cov: Array
    arm_sd: float
    noise: float
    labels: tuple[str, ...]


def gaussian_mixture(table: Table, effects: int = 3, noise: float | None = None, seed: int = 0) -> Effects:
    """Clusters of arm averages by scikit-learn's GaussianMixture; soft memberships are the mixing weights.

    Effect l has the mean of its cluster, and the variance with which its members' average is known; arms stray from
    their mix by what is left of the variance between arms. Arms without data belong to all clusters by their shares.
    """
    try:
        from sklearn.mixture import GaussianMixture  # type: ignore[import-untyped]
    except ImportError:
        raise InputError("kind is 'mixture', which needs scikit-learn; expected `pip install bestarm[learn]`") from None
    own = pooled_noise(table, noise)
    seen = table.counts > 0
    average = (table.sums[seen] / table.counts[seen])[:, None]
    if not 1 <= effects <= len(average):
        raise InputError(f"effects is {effects}; expected a number from 1 to the {len(average)} arms that have data")
    fitted = GaussianMixture(effects, random_state=seed, n_init=5).fit(average)
    mixing = np.tile(fitted.weights_, (table.num_arms, 1))
    mixing[seen] = fitted.predict_proba(average)
    member = mixing[seen]
    sampling = own**2 / table.counts[seen]
    inside = np.maximum(fitted.covariances_.ravel() - member.T @ sampling / np.maximum(member.sum(axis=0), 1e-9), 0.0)
    size = np.maximum(member.sum(axis=0), 1.0)
    arm_var = float(np.average(inside, weights=fitted.weights_))
    between = normal_population(table, own).sd ** 2
    arm_var = max(arm_var, 0.01 * between)
    labels = tuple(f"cluster {label + 1}" for label in range(effects))
    cov = np.diag((arm_var + float(sampling.mean())) / size)
    return Effects(mixing, fitted.means_.ravel(), cov, float(np.sqrt(arm_var)), own, labels)


def named_groups(table: Table, noise: float | None = None) -> Effects:
    """Mixed effects with the groups of the table: variances between groups and between arms of a group by moments.

    Effects before the data: all groups alike. Conditioning on the table then shrinks arms towards their group, and
    groups towards all of them.
    """
    if table.groups is None:
        raise InputError("group is None; expected the name of a column of groups: group= (--group)")
    own = pooled_noise(table, noise)
    labels = tuple(dict.fromkeys(str(group) for group in table.groups))
    mixing = np.array([[float(str(group) == label) for label in labels] for group in table.groups])
    seen = table.counts > 0
    average, sampling = table.sums[seen] / table.counts[seen], own**2 / table.counts[seen]
    member = mixing[seen]
    size = member.sum(axis=0)
    centre = (member.T @ average) / np.maximum(size, 1)
    freedom = float(len(average) - (size > 0).sum())
    total = normal_population(table, own)
    arm_var = total.sd**2 / 2  # one arm a group: half of what there is
    if freedom > 0:
        left = float(((average - member @ centre) ** 2).sum() / freedom - sampling.mean())
        arm_var = max(left, 0.01 * total.sd**2)
    group_var = total.sd**2 / 2  # one group: likewise
    if (size > 0).sum() > 1:
        known = (arm_var + (member.T @ sampling)[size > 0] / size[size > 0]) / size[size > 0]
        group_var = max(float(centre[size > 0].var(ddof=1) - known.mean()), 0.01 * total.sd**2)
    cov = np.diag(np.full(len(labels), group_var))
    return Effects(mixing, np.full(len(labels), total.mean), cov, float(np.sqrt(arm_var)), own, labels)
