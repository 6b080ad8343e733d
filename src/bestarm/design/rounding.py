"""From shares of spend to whole counts that spend the budget."""

import numpy as np

from bestarm.design.objectives import Objective
from bestarm.validation import Array

__all__ = ["largest_remainder", "polish", "share_out"]


def largest_remainder(weights: Array, costs: Array, budget: float) -> Array:
    """Whole counts near weights·budget/costs: all rounded down, then up in the order of what was cut off.

    Without costs they add up to the budget exactly; with costs what is left is less than the cheapest evaluation.
    """
    ideal = weights * budget / costs
    # a share that is a whole number up to rounding is that number
    counts = np.floor(ideal + 1e-9)
    left = budget - counts @ costs
    for k in np.argsort(-(ideal - counts), kind="stable"):
        if costs[k] <= left + 1e-9:
            counts[k] += 1
            left -= costs[k]
    while (affordable := costs <= left + 1e-9).any():  # costs that leave room for more
        k = int(np.argmax(np.where(affordable, weights, -1.0)))
        counts[k] += 1
        left -= costs[k]
    return counts


def share_out(weights: Array, total: Array | float) -> Array:
    """Largest remainders for many runs at once, without costs: (R, K) weights, whole numbers that add up to `total`."""
    amount = np.broadcast_to(np.asarray(total, dtype=np.float64), weights.shape[:-1])[..., None]
    whole = weights.sum(axis=-1, keepdims=True)
    ideal = weights * (amount / np.where(whole > 0, whole, 1.0))
    counts = np.floor(ideal + 1e-9)
    short = np.where(whole > 0, amount - counts.sum(axis=-1, keepdims=True), 0.0)
    rank = np.empty(weights.shape)
    order = np.argsort(-(ideal - counts), axis=-1, kind="stable")
    np.put_along_axis(rank, order, np.broadcast_to(np.arange(weights.shape[-1], dtype=np.float64), rank.shape), axis=-1)
    return np.asarray(counts + (rank < short))


def polish(objective: Objective, counts: Array, costs: Array, budget: float, moves: int = 200) -> Array:
    """Counts at least as good in the objective: one evaluation moves at a time while that helps.

    Which arm gives and which takes is read off the gradient; a move is kept only if the objective falls.
    """
    value, g = objective.gradient(counts)
    for _ in range(moves):
        moved = _best_move(objective, value, g, counts, costs, budget)
        if moved is None:
            break
        counts = moved
        value, g = objective.gradient(counts)
    return counts


def _best_move(
    objective: Objective, value: float, g: Array, counts: Array, costs: Array, budget: float
) -> Array | None:
    per_cost = g / costs
    givers = np.flatnonzero(counts >= 1)
    givers = givers[np.argsort(-per_cost[givers], kind="stable")][:3]
    takers = np.argsort(per_cost, kind="stable")[:3]
    for giver in givers:
        for taker in takers:
            if giver == taker or per_cost[taker] >= per_cost[giver]:
                continue
            trial = counts.copy()
            trial[giver] -= 1
            left = budget - trial @ costs
            bought = np.floor((left + 1e-9) / costs[taker])
            trial[taker] += bought
            left -= bought * costs[taker]
            while (affordable := costs <= left + 1e-9).any():
                k = int(np.argmin(np.where(affordable, per_cost, np.inf)))
                trial[k] += 1
                left -= costs[k]
            if bought >= 1 and objective.value(trial) < value * (1 - np.sign(value) * 1e-13):
                return trial
    return None
