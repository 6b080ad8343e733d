"""The solver: the least of a convex function over all ways to spend a budget, with a certificate.

Minimise f(n) over n ≥ 0, Σ c_k n_k = B, in shares of spend w_k = c_k n_k / B. Multiplicative steps w ← w √(−g) (which
never increase the objectives here) come near; projected Newton steps on the arms in use finish. An objective that
knows a closed-form step that never increases it (`majorised`) is taken there by that alone. The certificate
is the Frank-Wolfe gap: by convexity f(n) − min f ≤ ⟨g, w⟩ − min_k g_k, g in shares.
"""

from dataclasses import dataclass

import numpy as np

from bestarm.design.objectives import Objective
from bestarm.validation import Array

__all__ = ["Solution", "minimise", "quadratic_minimiser"]

TARGET = 1e-7  # relative gap aimed at: a tenth of what is promised
PROMISED = 1e-6
_NEAR, _STEPS = 40, 100


@dataclass(frozen=True)
class Solution:
    """Shares of spend (K,), the objective there, the relative gap to the optimum, and a sentence."""

    weights: Array
    objective: float
    gap: float
    status: str


def minimise(objective: Objective, costs: Array, budget: float, start: Array | None = None) -> Solution:
    """The certified minimiser of a convex objective. start: shares to begin from, all positive."""
    arms = len(costs)
    per_share = budget / costs  # counts bought by the whole budget

    def at(w: Array) -> tuple[float, Array, float]:
        value, g = objective.gradient(w * per_share)
        g = g * per_share
        gap = float(w @ g - g.min())
        scale = abs(value) if value != 0 else 1.0
        return value, g, max(gap, 0.0) / scale

    w = np.full(arms, 1.0 / arms) if start is None else start / start.sum()
    value, g, gap = at(w)
    if not np.abs(g).max() > 0:
        return Solution(w, value, 0.0, "nothing to learn: every way to spend the budget is as good")
    majorised = getattr(objective, "majorised", None)
    for _ in range(0 if majorised else _NEAR):
        if gap <= TARGET:
            break
        w = w * np.sqrt(np.maximum(-g, 0.0))
        w = np.maximum(w / w.sum(), 1e-12)
        w /= w.sum()
        value, g, gap = at(w)
    stalled = 0
    for _ in range(_STEPS):
        if gap <= TARGET or stalled >= 3:
            break
        if majorised is not None:
            better = majorised(w * per_share, costs, budget) / per_share
        else:
            better = _newton_step(objective, w, value, g, per_share)
        if better is None:
            # no progress along second derivatives: one more plain step
            better = w * np.sqrt(np.maximum(-g, 0.0))
            better /= better.sum()
        new_value, new_g, new_gap = at(better)
        stalled = stalled + 1 if new_gap >= gap * 0.999 and new_value >= value * (1 - 1e-14) else 0
        if new_value <= value + 1e-13 * abs(value):
            w, value, g, gap = better, new_value, new_g, new_gap
    if gap <= PROMISED:
        status = f"optimal: no other split is better by more than {max(gap, 1e-16):.0e} of the objective"
    else:
        status = f"stopped at a relative gap of {gap:.0e}: rounding, or too many arms"
    return Solution(w, value, gap, status)


def _newton_step(objective: Objective, w: Array, value: float, g: Array, per_share: Array) -> Array | None:
    """One projected Newton step on the simplex: arms near zero that do not want to come in are left out."""
    level = float(w @ g)
    free = np.flatnonzero((w > 1e-3 * w.max()) | (g < level))
    hessian = objective.hessian(w * per_share, free) * np.outer(per_share[free], per_share[free])
    direction = -w  # what is left of the arms left out goes
    direction[free] += quadratic_minimiser(hessian, g[free] - hessian @ w[free], w[free])
    slope = float(g @ direction)
    if slope >= 0:
        return None
    step = 1.0
    for _ in range(30):
        trial = np.maximum(w + step * direction, 0.0)
        trial /= trial.sum()
        if objective.value(trial * per_share) <= value + 1e-4 * step * slope:
            return np.asarray(trial)
        step /= 2
    return None


def quadratic_minimiser(hessian: Array, linear: Array, start: Array) -> Array:
    """Argmin ½xᵀHx + ⟨linear, x⟩ over x ≥ 0, Σx = 1, by an active-set method."""
    size = len(start)
    ridge = 1e-12 * np.trace(hessian) / size
    h = hessian + ridge * np.eye(size)
    x = start / start.sum()
    inside = x > 0
    for _ in range(6 * size + 20):
        use = np.flatnonzero(inside)
        system = np.zeros((len(use) + 1, len(use) + 1))
        system[:-1, :-1] = h[np.ix_(use, use)]
        scale = max(float(np.abs(np.diagonal(h)).max()), 1e-300)
        system[-1, :-1] = system[:-1, -1] = scale
        right = np.append(-linear[use], scale)
        try:
            solved = np.linalg.solve(system, right)
        except np.linalg.LinAlgError:
            return np.asarray(x)
        proposal, price = solved[:-1], solved[-1] * scale
        if (proposal >= 0).all():
            x = np.zeros(size)
            x[use] = proposal
            reduced = h @ x + linear + price
            reduced[use] = 0.0
            entering = int(np.argmin(reduced))
            if reduced[entering] >= -1e-10 * scale:
                return np.asarray(x)
            inside[entering] = True
        else:
            move = proposal - x[use]
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(move < 0, -x[use] / move, np.inf)
            blocking = int(np.argmin(ratio))
            x[use] += min(1.0, float(ratio[blocking])) * move
            x[use[blocking]] = 0.0
            inside[use[blocking]] = False
            if not inside.any():
                return np.asarray(start)
    return np.asarray(x)
