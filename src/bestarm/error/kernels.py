"""Integrals over independent arms, run by run, compiled by Numba when first called: how likely a decision is right."""

import math

import numpy as np
from numba import njit

__all__ = ["chosen_independent", "gains_independent"]

_MOST_NODES = 600  # an arm so narrow that it needs more is left to the tie plan


@njit(cache=True, nogil=True)
def chosen_independent(mean, sd, picked):  # type: ignore[no-untyped-def]
    """1 − ∫ f_J ∏_{k≠J} F_k and E max r − m_J in each run, (R,): trapezoidal rule, half the narrowest sd."""
    runs, arms = mean.shape
    error, regret = np.empty(runs), np.empty(runs)
    for r in range(runs):
        low, high, narrow = -np.inf, -np.inf, np.inf
        for k in range(arms):
            low = max(low, mean[r, k] - 6.5 * sd[r, k])
            high = max(high, mean[r, k] + 6.5 * sd[r, k])
            narrow = min(narrow, sd[r, k])
        nodes = math.ceil((high - low) / (0.5 * narrow))
        dx = (high - low) / nodes
        j = picked[r]
        chance, above = 0.0, 0.0
        for x in range(nodes):
            at = low + (x + 0.5) * dx
            z = (at - mean[r, j]) / sd[r, j]
            density = math.exp(-0.5 * z * z) / (sd[r, j] * math.sqrt(2 * math.pi))
            others = 1.0
            for k in range(arms):
                if k != j:
                    u = (at - mean[r, k]) / sd[r, k]
                    if u < 7.0:
                        others *= 0.5 * math.erfc(-u / math.sqrt(2.0))
            chance += density * others
            above += 1.0 - others * 0.5 * math.erfc(-z / math.sqrt(2.0))
        error[r] = min(max(1.0 - chance * dx, 0.0), 1.0)
        regret[r] = max(low + above * dx - mean[r, j], 0.0)
    return error, regret


@njit(cache=True)
def _cdf(z):  # type: ignore[no-untyped-def]
    return 0.5 * math.erfc(-z / math.sqrt(2.0)) if z < 7.0 else 1.0


@njit(cache=True)
def _pdf(z):  # type: ignore[no-untyped-def]
    return math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)


@njit(cache=True, nogil=True)
def gains_independent(mean, sd, weight, new_mean, new_sd, turns):  # type: ignore[no-untyped-def]
    """How much likelier the decision by mean is right after one more evaluation of arm k, (R, K).

    mean, sd: (R, K); weight, new_mean, new_sd: of the Z outcomes of evaluating each arm, (R, K, Z); turns: arms that
    are looked at. One grid a run: products over the other arms are made once for all outcomes.
    """
    runs, arms = mean.shape
    outcomes = weight.shape[2]
    gain = np.zeros((runs, arms))
    for r in range(runs):
        low, high, narrow = -np.inf, -np.inf, np.inf
        for k in range(arms):
            low = max(low, mean[r, k] - 6.5 * sd[r, k])
            high = max(high, mean[r, k] + 6.5 * sd[r, k])
            narrow = min(narrow, sd[r, k])
            if turns[r, k]:
                for z in range(outcomes):
                    narrow = min(narrow, new_sd[r, k, z])
                    high = max(high, new_mean[r, k, z] + 6.5 * new_sd[r, k, z])
        if not turns[r].any() or not high - low < _MOST_NODES * 0.7 * narrow:
            continue
        nodes = math.ceil((high - low) / (0.7 * narrow))
        dx = (high - low) / nodes
        cdf = np.empty((nodes, arms))
        for x in range(nodes):
            at = low + (x + 0.5) * dx
            for k in range(arms):
                cdf[x, k] = _cdf((at - mean[r, k]) / sd[r, k])
        best = int(np.argmax(mean[r]))
        now = 0.0
        for x in range(nodes):
            others = _pdf((low + (x + 0.5) * dx - mean[r, best]) / sd[r, best]) / sd[r, best]
            for i in range(arms):
                if i != best:
                    others *= cdf[x, i]
            now += others * dx
        without, rival = np.empty(nodes), np.empty(nodes)
        for k in range(arms):
            if not turns[r, k]:
                continue
            top = -1
            for i in range(arms):
                if i != k and (top < 0 or mean[r, i] > mean[r, top]):
                    top = i
            for x in range(nodes):
                at = low + (x + 0.5) * dx
                rest = 1.0
                for i in range(arms):
                    if i != k and i != top:
                        rest *= cdf[x, i]
                without[x] = rest * cdf[x, top] * dx
                rival[x] = rest * _pdf((at - mean[r, top]) / sd[r, top]) / sd[r, top] * dx
            after = 0.0
            for z in range(outcomes):
                m, s = new_mean[r, k, z], new_sd[r, k, z]
                right = 0.0
                if m > mean[r, top] or (m == mean[r, top] and k < top):
                    for x in range(nodes):
                        right += _pdf((low + (x + 0.5) * dx - m) / s) / s * without[x]
                else:
                    for x in range(nodes):
                        right += _cdf((low + (x + 0.5) * dx - m) / s) * rival[x]
                after += weight[r, k, z] * right
            gain[r, k] = after - now
    return gain
