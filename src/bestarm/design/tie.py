"""How likely two arms are to tie for first place: the weights that make a pair's uncertainty matter.

As counts grow, P_n ≈ √(2/π) Σ_{i<j} κ_ij √V_ij(n), κ_ij = density at 0 of r_i − r_j where no other arm is above them,
for correlated arms as well (docs/planning.md). Three ways to the same numbers: a Gram matrix for independent arms;
given all other arms, where every arm has variance of its own; corners of upper envelopes along random lines, where
some have none.
"""

import numpy as np
from scipy.special import ndtr

from bestarm.models import best
from bestarm.models.best import envelope, normal_replicates
from bestarm.models.gaussian import Gaussian
from bestarm.validation import Array, IntArray

__all__ = ["ManyTies", "arms_that_matter", "tie_weights"]

_DRAWS = 8192
_BLOCK = 4_000_000
_DENSITY = 1 / np.sqrt(2 * np.pi)


def tie_weights(model: Gaussian, draws: int = _DRAWS) -> Array:
    """κ, (K, K), symmetric with zero diagonal. Exact for independent arms, else from the same draws every time."""
    mean = model.arms.sign * model.mean
    covariance = model.covariance
    if covariance.rank == 0:
        return _independent(mean, np.sqrt(covariance.diag))
    rng = np.random.default_rng(0)
    if covariance.diag.min() > 1e-4 * covariance.var.max():
        return _given_the_others(model, mean, draws, rng)
    return _along_lines(model, mean, draws, rng)


def _independent(mean: Array, sd: Array) -> Array:
    """κ_ij = ∫ G h_i h_j with h = f/F and G = ∏ F; a deterministic arm at the top takes part where it stands."""
    x, weight = best.shared_nodes(mean, sd)
    kappa = np.zeros((len(mean), len(mean)))
    moving = sd > 0
    m, s = mean[moving], sd[moving]
    ij = np.ix_(moving, moving)
    for start in range(0, len(x), max(1, _BLOCK // len(mean))):
        part = slice(start, start + max(1, _BLOCK // len(mean)))
        hazard, joint = _hazard(x[part], m, s)
        scaled = hazard * np.sqrt(weight[part] * joint)[:, None]
        kappa[ij] += scaled.T @ scaled
    if not moving.all():
        top = mean[~moving].max()
        tops = np.flatnonzero(~moving & (mean == top))
        hazard, joint = _hazard(np.array([top]), m, s)
        for j in tops:  # copies of the top arm share what it has
            kappa[j, moving] = kappa[moving, j] = hazard[0] * joint[0] / len(tops)
    np.fill_diagonal(kappa, 0.0)
    return kappa


def _hazard(x: Array, mean: Array, sd: Array) -> tuple[Array, Array]:
    """f_k/F_k at each x, (N, K), and ∏ F."""
    z = np.clip((x[:, None] - mean) / sd, -30, 50)
    cdf = ndtr(z)
    return _DENSITY * np.exp(-0.5 * z * z) / sd / cdf, cdf.prod(axis=1)


def _given_the_others(model: Gaussian, mean: Array, draws: int, rng: np.random.Generator) -> Array:
    """Average of 1{j = argmax_{k≠i} r_k} · density of r_i at r_j given all others.

    With P = S⁻¹ that density is normal with mean r_i − (P(r − m))_i/P_ii and variance 1/P_ii.
    """
    f, d = model.covariance.factor, model.covariance.diag
    arms, rank = f.shape
    scaled = f / d[:, None]
    inner = np.linalg.inv(np.eye(rank) + f.T @ scaled)
    precision = 1 / d - np.einsum("kq,qp,kp->k", scaled, inner, scaled)
    kappa = np.zeros((arms, arms))
    rows = max(1, _BLOCK // arms)
    normals = next(normal_replicates(draws, arms + rank, rng, 1))
    for start in range(0, draws, rows):
        part = normals[start : start + rows]
        away = model.covariance.root_times(part[:, arms:], part[:, :arms])
        r = mean + away
        pulled = away / d - (away @ scaled) @ inner @ scaled.T
        others = r - pulled / precision  # E[r_i | all others]
        every = np.arange(len(r))
        first = np.argmax(r, axis=1)
        without = r.copy()
        without[every, first] = -np.inf
        second = np.argmax(without, axis=1)
        bar = np.repeat(r[every, first][:, None], arms, axis=1)
        bar[every, first] = r[every, second]
        rival = np.repeat(first[:, None], arms, axis=1)
        rival[every, first] = second
        density = np.sqrt(precision) * _DENSITY * np.exp(-0.5 * precision * (bar - others) ** 2)
        np.add.at(kappa, (np.broadcast_to(np.arange(arms), r.shape), rival), density)
    # two estimates of each pair's number: from i's side and from j's
    return (kappa + kappa.T) / (2 * draws)


def _along_lines(model: Gaussian, mean: Array, draws: int, rng: np.random.Generator) -> Array:
    """Average over random lines of φ(t)/|slope_i − slope_j| at the corners t of the upper envelope."""
    f, d = model.covariance.factor, model.covariance.diag
    arms, rank = f.shape
    own = np.flatnonzero(d)
    kappa = np.zeros((arms, arms))
    rows = max(1, _BLOCK // arms)
    normals = next(normal_replicates(draws, 2 * rank + len(own), rng, 1))
    for start in range(0, draws, rows):
        part = normals[start : start + rows]
        e = np.zeros((len(part), arms))
        e[:, own] = part[:, 2 * rank :]
        direction = part[:, rank : 2 * rank]
        direction = direction / np.linalg.norm(direction, axis=1, keepdims=True)
        z = part[:, :rank]
        z = z - direction * np.einsum("nq,nq->n", z, direction)[:, None]
        level, slope = mean + model.covariance.root_times(z, e), direction @ f.T
        for row, arm, _, following, until in envelope(level, slope):
            corner = np.isfinite(until)
            i, j, t = arm[corner], following[corner], until[corner]
            apart = slope[row[corner], j] - slope[row[corner], i]
            np.add.at(kappa, (i, j), _DENSITY * np.exp(-0.5 * t * t) / apart)
    return (kappa + kappa.T) / draws


class ManyTies:
    """The tie objective of many independent arms, in time and memory that grow with K and not with K².

    κ_ij = Σ_x H_xi H_xj over quadrature nodes x, and √y = c_0 + c_1 y + Σ_u a_u (1 − e^{−b_u y}) to 1e-8 on the range
    that V_ij = C_i + C_j can have (the trapezoidal rule for ∫ (1 − e^{−sy}) s^{-3/2} ds/(2√π) in log s): then the
    double sum over arms factors. And √ is concave: replacing it by its tangent never underestimates, and the sum of
    π_k C_k(n_k) that is left is minimised in closed form. Such steps halve the gap or better.
    """

    def __init__(self, model: Gaussian, smallest_var: float) -> None:
        self._prior, self._noise = model.covariance, model.noise_var
        mean, sd = model.arms.sign * model.mean, np.sqrt(model.covariance.diag)
        moving, top = sd > 0, mean[sd == 0].max(initial=-np.inf)
        x, weight = best.shared_nodes(mean, sd)
        self._h = np.zeros((len(x), len(mean)))
        hazard, joint = _hazard(x, mean[moving], sd[moving])
        self._h[:, moving] = hazard * np.sqrt(weight * joint)[:, None]
        self._alone = np.zeros(len(mean))  # ties with the best deterministic arm
        if np.isfinite(top):
            hazard, joint = _hazard(np.array([top]), mean[moving], sd[moving])
            self._alone[moving] = hazard[0] * joint[0]
        self._self = (self._h**2).sum(axis=0)
        self._degree = self._h.T @ self._h.sum(axis=1) - self._self

        step = 0.5
        low, high = np.log(1e-4 / (2 * float(self._prior.diag.max()))), np.log(40 / smallest_var)
        s = np.exp(np.arange(low, high + step, step))
        self._a, self._b = step / (2 * np.sqrt(np.pi) * np.sqrt(s)), s
        geometric = np.exp(-step / 2)  # ratio of neighbours in both tails, summed to infinity
        self._c0 = self._a[-1] * geometric / (1 - geometric)
        self._c1 = self._a[0] * s[0] * geometric / (1 - geometric)

    def _left(self, counts: Array) -> Array:
        return self._prior.after(counts, self._noise).covariance.diag

    def value(self, counts: Array) -> float:
        return self._parts(counts)[0]

    def gradient(self, counts: Array) -> tuple[float, Array]:
        value, pull, left = self._parts(counts)
        return value, -pull * left**2 / self._noise

    def _parts(self, counts: Array) -> tuple[float, Array, Array]:
        """The objective, π_k = ∂f/∂C_k, and C."""
        left = self._left(counts)
        decay = np.exp(-np.outer(self._b, left))  # (U, K)
        shared = decay @ self._h.T  # (U, nodes)
        together = (shared**2).sum(axis=1) - decay**2 @ self._self  # Σ_{i≠j} κ_ij e^{−b(C_i + C_j)}
        whole = self._degree.sum()
        value = (self._c0 + self._a.sum()) * whole / 2 + self._c1 * (self._degree @ left) - self._a @ together / 2
        slope = decay * (shared @ self._h - decay * self._self)
        pull = self._c1 * self._degree + (self._a * self._b) @ slope
        root = np.sqrt(left)
        value += self._alone @ root
        pull = pull + np.divide(self._alone, 2 * root, out=np.zeros_like(root), where=root > 0)
        return float(value), np.maximum(pull, 0.0), left

    def hessian(self, counts: Array, free: IntArray) -> Array:
        """The diagonal of the concave bound's second derivatives, 2 π_k C_k³/v_k²: above the true matrix."""
        _, pull, left = self._parts(counts)
        return np.diag((2 * pull * left**3 / self._noise**2)[free])

    def majorised(self, counts: Array, costs: Array, budget: float) -> Array:
        """The least of the tangent bound Σ π_k C_k(n_k): n_k = √(π_k v_k/(λ c_k)) − v_k/s_k, or 0."""
        _, pull, _ = self._parts(counts)
        prior = np.divide(self._noise, self._prior.diag, out=np.full_like(pull, np.inf), where=self._prior.diag > 0)
        root = np.sqrt(pull * self._noise / costs)
        usable = np.flatnonzero((root > 0) & np.isfinite(prior))
        # arms come in as the price level falls, in the order of prior/root
        usable = usable[np.argsort(prior[usable] / root[usable], kind="stable")]
        level = (budget + np.cumsum((costs * prior)[usable])) / np.cumsum((costs * root)[usable])
        inside = int((level * root[usable] > prior[usable]).sum())
        chosen = usable[:inside]
        moved = np.zeros_like(counts)
        moved[chosen] = level[inside - 1] * root[chosen] - prior[chosen]
        return moved


def arms_that_matter(model: Gaussian, most: int) -> tuple[IntArray, float]:
    """Arms worth planning for, and what all the others together can add to the tie objective at most.

    Arm i adds at most Σ_j κ_ij √V⁰_ij, whatever the counts. The least of these are left out while together they stay
    below 1e-9 of the whole; where more than `most` arms remain, only that many are kept, and the loss says so. For
    independent arms this takes O(K) integrals and no pair of arms is looked at; correlated ones are all kept up to
    `most`, beyond which their marginals decide.
    """
    if model.num_arms <= 200 or (model.covariance.rank and model.num_arms <= most):
        return np.arange(model.num_arms), 0.0
    mean, sd = model.arms.sign * model.mean, np.sqrt(model.var)
    moving = np.flatnonzero(sd > 0)
    still = np.flatnonzero(sd == 0)
    x, weight = best.shared_nodes(mean, sd)
    share = np.zeros(len(moving))
    for start in range(0, len(x), max(1, _BLOCK // len(mean))):
        part = slice(start, start + max(1, _BLOCK // len(mean)))
        hazard, joint = _hazard(x[part], mean[moving], sd[moving])
        share += ((weight[part] * joint)[:, None] * hazard * (hazard.sum(axis=1, keepdims=True) - hazard)).sum(axis=0)
    most_apart = np.sqrt(sd[moving] ** 2 + (sd**2).max())
    top = still[mean[still] == mean[still].max()] if len(still) else still
    if len(top):
        hazard, joint = _hazard(mean[top[:1]], mean[moving], sd[moving])
        share += hazard[0] * joint[0]
    loss = share * most_apart
    order = np.argsort(loss)
    total = np.cumsum(loss[order])
    dropped = int(np.searchsorted(total, 1e-9 * total[-1]))
    dropped = max(dropped, len(moving) - most)
    keep = np.sort(np.concatenate([moving[order[dropped:]], top]))
    return keep, float(total[dropped - 1]) if dropped else 0.0
