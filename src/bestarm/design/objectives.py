"""What a plan minimises: functions of the counts, with gradients and, where convex, second derivatives.

A new criterion is a new objective: value and gradient in counts (whole or not). The solver and the rounding know
nothing else. All of them rest on dC/dn_k = −C[:,k] C[k,:]/v_k for the covariance C(n) after n evaluations.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from bestarm.models.covariance import Covariance
from bestarm.models.gaussian import Gaussian
from bestarm.validation import Array, IntArray

__all__ = ["LogDet", "Objective", "PairSum", "all_diff_var", "bound_weights"]

_PAIR_WORK = 3e9  # pairs × arms² of one second derivative: about a second
_PAIR_BLOCK = 4_000_000  # pairs × arms held at a time by a second derivative


class Objective(Protocol):
    """A function of counts (K,) to be made small."""

    def value(self, counts: Array) -> float:
        """The objective at these counts."""
        ...

    def gradient(self, counts: Array) -> tuple[float, Array]:
        """The objective and its derivative in each count."""
        ...

    def hessian(self, counts: Array, free: IntArray) -> Array:
        """Second derivatives among the free arms, or a matrix above them where they would cost too much."""
        ...


@dataclass(frozen=True, eq=False)
class LogDet:
    """Bayesian D/G-optimal design: −log det(I + diag(n/v) S), the log-volume of what is left to learn. Convex.

    Its gradient is −C_kk/v_k: at the optimum no measured arm's variance is above any other's (per cost).
    """

    model: Gaussian

    def value(self, counts: Array) -> float:
        return self.gradient(counts)[0]

    def gradient(self, counts: Array) -> tuple[float, Array]:
        prior, noise = self.model.covariance, self.model.noise_var
        t = noise + counts * prior.diag
        weighted = np.sqrt(counts / t)[:, None] * prior.factor
        _, log_det = np.linalg.slogdet(np.eye(prior.rank) + weighted.T @ weighted)
        after = prior.after(counts, noise).covariance
        return -float(log_det + np.log(t / noise).sum()), -after.var / noise

    def hessian(self, counts: Array, free: IntArray) -> Array:
        """C_kl²/(v_k v_l)."""
        after = self.model.covariance.after(counts, self.model.noise_var).covariance
        block = after.factor[free] @ after.factor[free].T + np.diag(after.diag[free])
        noise = self.model.noise_var[free]
        return np.asarray(block**2 / np.outer(noise, noise))


@dataclass(frozen=True, eq=False)
class PairSum:
    """Σ_{i<j} κ_ij √V_ij(n): every pair of arms costs what remains uncertain of its difference. Convex.

    With κ_ij = exp(−Δ²/(2V⁰))/√V⁰ this is half the paper's bound; with the density of a tie for first place it is
    what the expected error becomes as counts grow (theory: docs/planning.md). weights: κ, (K, K), symmetric.
    """

    model: Gaussian
    weights: Array

    def _parts(self, counts: Array) -> tuple[Covariance, Array, Array]:
        after = self.model.covariance.after(counts, self.model.noise_var).covariance
        v = all_diff_var(after)
        return after, v, np.sqrt(v)

    def value(self, counts: Array) -> float:
        _, _, root = self._parts(counts)
        return float((self.weights * root).sum() / 2)

    def gradient(self, counts: Array) -> tuple[float, Array]:
        after, _, root = self._parts(counts)
        pull = np.divide(self.weights, 2 * root, out=np.zeros_like(root), where=root > 0)  # c_ij = ∂f/∂V_ij
        degree = pull.sum(axis=1)
        if after.rank == 0:
            spread = after.diag**2 * degree
        else:
            f, d = after.factor, after.diag
            lf = degree[:, None] * f - pull @ f
            spread = np.einsum("kq,qp,kp->k", f, f.T @ lf, f) + 2 * d * np.einsum("kq,kq->k", lf, f) + d**2 * degree
        return float((self.weights * root).sum() / 2), -spread / self.model.noise_var

    def hessian(self, counts: Array, free: IntArray) -> Array:
        """2 C_kl (C L C)_kl − Σ_pairs ¼ κ V^{-3/2} d_k² d_l², over v_k v_l, with d_k = C_ik − C_jk."""
        after, v, _ = self._parts(counts)
        noise = self.model.noise_var[free]
        safe = np.where(v > 0, v, 1.0)
        pull = np.where(v > 0, self.weights / (2 * np.sqrt(safe)), 0.0)
        bend = np.where(v > 0, self.weights / (4 * safe * np.sqrt(safe)), 0.0)
        if after.rank == 0:
            c = after.diag[free]
            matrix = -np.outer(c**2, c**2) * bend[np.ix_(free, free)]
            np.fill_diagonal(matrix, 2 * c**3 * pull[free].sum(axis=1) - c**4 * bend[free].sum(axis=1))
            return np.asarray(matrix / np.outer(noise, noise))
        i, j = np.nonzero(np.triu(self.weights > 1e-12 * self.weights.max(), 1))
        most = max(1, int(_PAIR_WORK / len(free) ** 2))
        if len(i) > most:
            # what is left out is subtracted: the matrix stays above the true one, and steps along it safe
            weighty = np.argpartition(-(bend * v**2)[i, j], most)[:most]
            i, j = i[weighty], j[weighty]
        columns = after.factor @ after.factor[free].T  # C[:, free]
        columns[free, np.arange(len(free))] += after.diag[free]
        laplacian = np.diag(pull.sum(axis=1)) - pull
        matrix = 2 * columns[free] * (columns.T @ (laplacian @ columns))
        for start in range(0, len(i), max(1, _PAIR_BLOCK // max(1, len(free)))):
            part = slice(start, start + max(1, _PAIR_BLOCK // max(1, len(free))))
            squares = (columns[i[part]] - columns[j[part]]) ** 2
            matrix -= squares.T @ (bend[i[part], j[part]][:, None] * squares)
        return np.asarray(matrix / np.outer(noise, noise))


def all_diff_var(covariance: Covariance) -> Array:
    """V_ij for all pairs, one column of F at a time: no cancellation, no (K, K, q) array."""
    v = covariance.diag[:, None] + covariance.diag
    for column in covariance.factor.T:
        v += (column[:, None] - column) ** 2
    np.fill_diagonal(v, 0.0)
    return v


def bound_weights(model: Gaussian) -> Array:
    """κ of the paper's pairwise bound: Σ_{i<j} κ_ij √V_ij is half of it. 0 where the difference is certain."""
    before = all_diff_var(model.covariance)
    gap = model.mean[:, None] - model.mean
    safe = np.where(before > 0, before, 1.0)
    return np.where(before > 0, np.exp(-(gap**2) / (2 * safe)) / np.sqrt(safe), 0.0)
