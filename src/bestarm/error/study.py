"""Other bounds of the paper, for study and for its figures: as corrected, and as printed where that differs.

These are functions of numbers rather than of a `Gaussian`, because each holds in one special case only. What is
corrected, and by how much it matters, is in docs/errata.md.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bestarm.error.bounds import Bound, error_bound, pairs
from bestarm.error.evaluation import checked_counts
from bestarm.errors import InputError
from bestarm.models.gaussian import Gaussian
from bestarm.validation import Array, broadcast, positive, vector

__all__ = [
    "BOUND_COMPARISON",
    "bayes_elim_bound",
    "bound_comparison",
    "g_optimal_bound",
    "misspecification_bound",
    "two_arm_lower_bound",
]

# The paper's comparison of bounds: three arms, prior means, and the two settings of prior standard deviations.
BOUND_COMPARISON: dict[str, tuple[list[float], list[float]]] = {
    "homogeneous": ([1.0, 1.9, 2.0], [0.3, 0.3, 0.3]),
    "heterogeneous": ([1.0, 1.9, 2.0], [0.1, 0.5, 0.5]),
}


def bound_comparison(
    weightings: Mapping[str, Callable[[Gaussian, float], ArrayLike]], budgets: ArrayLike
) -> NDArray[Any]:
    """The data of that comparison: the paper's bound under each weighting beside BayesElim's, noise 1.

    weightings: for each name a function of model and budget that gives shares of the budget, (3,): how to choose
    them is not known in this layer. A table with columns setting, weighting, budget, bound, bayes_elim.
    """
    rows = []
    for setting, (mean, sd) in BOUND_COMPARISON.items():
        model = Gaussian.independent(mean, sd)
        for weighting, shares in weightings.items():
            for budget in vector(budgets, "budgets"):
                ours = error_bound(model, budget * np.asarray(shares(model, float(budget))))
                theirs = bayes_elim_bound(mean, sd, 1.0, float(budget))
                rows.append((setting, weighting, budget, ours.value, theirs.value))
    columns = [("setting", "U16"), ("weighting", "U16"), ("budget", "f8"), ("bound", "f8"), ("bayes_elim", "f8")]
    return np.array(rows, dtype=columns)


def g_optimal_bound(model: Gaussian, counts: ArrayLike, dimension: int, printed: bool = False) -> Bound:
    """The corollary for G-optimal designs in a linear bandit with `dimension` features and one noise level.

    Σ_{i≠j} (1 + n c_ij/(4 d v))^{-1/2} exp(−(m_i − m_j)²/(2V⁰_ij)), c_ij = V⁰_ij − V_ij. It follows from the theorem
    because a G-optimal design has max_x ‖x‖² ≤ d v/n after n evaluations, and ‖x_i − x_j‖² ≤ 4 max ‖x‖².
    printed=True puts 2d in place of 4d, as the paper does: that does not follow (and fails for x_j = −x_i). Whether
    the counts are G-optimal is not checked; for others the number means nothing.
    """
    n, d = checked_counts(model, counts), float(positive(dimension, "dimension", ndim=0))
    noise_var = model.noise_var[0]
    if (model.noise_var != noise_var).any():
        raise InputError("model has arms of different noise; expected one noise level for all")
    after, total = model.after(n), 0.0
    for i, j in pairs(model.num_arms):
        before = model.covariance.diff_var(i, j)
        safe = np.where(before > 0, before, 1.0)
        gained = np.maximum(before - after.diff_var(i, j), 0.0)
        shrink = 1 / np.sqrt(1 + n.sum() * gained / ((2 if printed else 4) * d * noise_var))
        gap = model.mean[i] - model.mean[j]
        total += float(np.where(before > 0, shrink * np.exp(-(gap**2) / (2 * safe)), 0.0).sum())
    return Bound(2 * total, 0.0)


def bayes_elim_bound(mean: ArrayLike, sd: ArrayLike, noise: float, budget: float) -> Bound:
    """The bound of BayesElim (Atsidakou et al., 2022) as the paper states it, for one prior variance σ_0².

    Σ_{i≠j} log2(K) exp(−(m_i − m_j)²/(4σ_0²))/√(1 + nσ_0²/(K log2(K) σ²)). For unequal sds σ_0² is the average of the
    variances, as in the paper's comparison.
    """
    m, v = vector(mean, "mean", minimum=2), float(positive(noise, "noise", ndim=0)) ** 2
    var = float(np.mean(broadcast(positive(sd, "sd"), len(m), "sd") ** 2))
    n, rounds = float(positive(budget, "budget", ndim=0)), np.log2(len(m))
    shrink = 1 / np.sqrt(1 + n * var / (len(m) * rounds * v))
    return Bound(float(rounds * shrink * _gap_terms(m, var).sum()), 0.0)


def two_arm_lower_bound(mean: ArrayLike, sd: float, noise: float, budget: float) -> float:
    """The lower bound for two arms of equal prior sd (Atsidakou et al., 2022), as the paper states it.

    exp(−(m_1 − m_2)²/(4σ_0²)) / (2e √(1 + 2n(8 log(2n) + 1)σ_0²/σ²)), for n ≥ 1. It is not below the error where
    nσ_0²/σ² is small and the means are far apart (docs/errata.md).
    """
    m = vector(mean, "mean")
    if len(m) != 2:
        raise InputError(f"mean has {len(m)} entries; expected 2")
    n, var = float(positive(budget, "budget", ndim=0)), float(positive(sd, "sd", ndim=0)) ** 2
    if n < 1:
        raise InputError(f"budget is {n:g}; expected at least 1")
    slow = 1 + 2 * n * (8 * np.log(2 * n) + 1) * var / float(positive(noise, "noise", ndim=0)) ** 2
    return float(np.exp(-((m[0] - m[1]) ** 2) / (4 * var)) / (2 * np.e * np.sqrt(slow)))


def misspecification_bound(
    mean: ArrayLike,
    sd: float,
    assumed_mean: ArrayLike,
    assumed_sd: float,
    noise: float,
    budget: float,
    printed: bool = False,
) -> Bound:
    """The lemma on wrong priors: uniform counts n/K, independent arms of one prior variance, true and assumed.

    Σ_{i≠j} (1 + s)^{-1/2} exp(−Δ²/(4σ_0²)) exp(KL/(1 + s)), s = nσ_0²/(Kσ²), with KL the divergence of the prior gap
    N(Δ, 2σ_0²) from N((σ_0²/σ̃_0²)Δ̃, 2σ_0²), that is (Δ − (σ_0²/σ̃_0²)Δ̃)²/(4σ_0²). printed=True takes four times that,
    as the paper does: still a bound, and a looser one. `error_bound(kind="orthant", assumed=…)` is tighter than
    both and needs none of the special case.
    """
    m, wrong = vector(mean, "mean", minimum=2), vector(assumed_mean, "assumed_mean", minimum=2)
    if len(wrong) != len(m):
        raise InputError(f"assumed_mean has {len(wrong)} entries; expected {len(m)}")
    var, assumed_var = (float(positive(s, name, ndim=0)) ** 2 for s, name in ((sd, "sd"), (assumed_sd, "assumed_sd")))
    gained = float(positive(budget, "budget", ndim=0)) * var / (len(m) * float(positive(noise, "noise", ndim=0)) ** 2)
    gap = m[:, None] - m
    effective = var / assumed_var * (wrong[:, None] - wrong)
    divergence = (gap - effective) ** 2 / (4 * var) * (4 if printed else 1)
    with np.errstate(over="ignore"):  # an infinite bound is vacuous, and says so
        terms = np.exp(-(gap**2) / (4 * var) + divergence / (1 + gained)) / np.sqrt(1 + gained)
    return Bound(float(terms[~np.eye(len(m), dtype=bool)].sum()), 0.0)


def _gap_terms(mean: Array, var: float) -> Array:
    """exp(−(m_i − m_j)²/(4σ_0²)) for all ordered pairs i ≠ j."""
    terms = np.exp(-((mean[:, None] - mean) ** 2) / (4 * var))
    return np.asarray(terms[~np.eye(len(mean), dtype=bool)])
