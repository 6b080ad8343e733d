"""Loops that NumPy is too slow for: tie plans for many posteriors at once, and greedy designs.

Pure functions of arrays, one run after the other, compiled by Numba when first called. They hold no lock and start no
threads, so that any executor may run them, forked processes too. Larger rewards are better in here. What they compute
is `tie_weights` and `minimise` of a `PairSum`, to the percent that a plan for a batch needs; the tests compare them
with those.
"""

import math

import numpy as np
from numba import njit

__all__ = ["error_given_counts", "greedy_design", "tie_shares_independent", "tie_shares_structured"]

_ROOT2 = math.sqrt(2.0)
_DENSITY = 1 / math.sqrt(2 * math.pi)
_CELL = 0.6  # of the narrowest standard deviation: the trapezoidal rule is exact to 1e-6 for Gaussians at that
_NODES = 160


@njit(cache=True)
def _cdf(z):  # type: ignore[no-untyped-def]
    return 0.5 * math.erfc(-z / _ROOT2)


@njit(cache=True)
def _ties_independent(m, var, kappa):  # type: ignore[no-untyped-def]
    """κ_ij = ∫ G h_i h_j into kappa (K, K), scaled so that the largest is 1; False where no two arms may tie."""
    arms = len(m)
    widest = math.sqrt(var.max())
    kappa[:] = 0.0
    if widest == 0.0:
        return False
    s = np.maximum(np.sqrt(var), 1e-3 * widest)
    low = (m - 3.5 * s).max()
    active = np.flatnonzero(m + 4.0 * s > low)
    high, narrow = -np.inf, np.inf
    for k in active:
        high = max(high, m[k] + 4.0 * s[k])
        narrow = min(narrow, s[k])
    nodes = min(_NODES, max(16, math.ceil((high - low) / (_CELL * narrow))))
    dx = (high - low) / nodes
    hazard = np.empty((nodes, len(active)))
    for x in range(nodes):
        at, logs = low + (x + 0.5) * dx, 0.0
        for a in range(len(active)):
            k = active[a]
            z = (at - m[k]) / s[k]
            if z > 8.0:
                hazard[x, a] = 0.0
            else:
                cdf = max(_cdf(z), 1e-300)
                logs += math.log(cdf)
                hazard[x, a] = math.exp(-0.5 * z * z) / (s[k] * cdf)
        root = math.exp(0.5 * logs)
        for a in range(len(active)):
            hazard[x, a] *= root
    largest = 0.0
    for a in range(len(active)):
        for b in range(a):
            total = 0.0
            for x in range(nodes):
                total += hazard[x, a] * hazard[x, b]
            kappa[active[a], active[b]] = total
            kappa[active[b], active[a]] = total
            largest = max(largest, total)
    if largest < 1e-250:
        return False
    for i in range(arms):
        for j in range(arms):
            kappa[i, j] /= largest
    return True


@njit(cache=True)
def _last_resort(m, var, costs, shares):  # type: ignore[no-untyped-def]
    """Nothing is in doubt any more: half for the best arm, half for the one most likely to beat it."""
    best, rival, highest = int(np.argmax(m)), 0, -np.inf
    for k in range(len(m)):
        if k != best:
            spread = math.sqrt(var[k] + var[best])
            height = (m[k] - m[best]) / spread if spread > 0 else -1e300
            if height > highest:
                rival, highest = k, height
    shares[:] = 0.0
    shares[best] += 0.5
    shares[rival] += 0.5


@njit(cache=True, nogil=True)
def tie_shares_independent(mean, var, noise_var, costs, budget, shares, steps):  # type: ignore[no-untyped-def]
    """Shares of spend (R, K) of the tie plan for each of R beliefs about independent arms; `shares` is the start.

    mean, var, noise_var: (R, K).
    Each step minimises Σ π_k C_k(n_k), a bound from above that touches the objective, in closed form:
    n_k = √(π_k v_k/(λ c_k)) − v_k/s_k or 0 (design.tie.ManyTies.majorised).
    """
    runs, arms = mean.shape
    for r in range(runs):
        kappa = np.empty((arms, arms))
        if arms == 1 or not _ties_independent(mean[r], var[r], kappa):
            _last_resort(mean[r], var[r], costs, shares[r])
            continue
        prior = np.empty(arms)
        for k in range(arms):
            prior[k] = noise_var[r, k] / var[r, k] if var[r, k] > 0 else np.inf
        n = shares[r] * budget[r] / costs
        left, root, level = np.empty(arms), np.empty(arms), np.empty(arms)
        for _ in range(steps):
            for k in range(arms):
                left[k] = noise_var[r, k] / (prior[k] + n[k]) if prior[k] < np.inf else 0.0
            for k in range(arms):
                pull = 0.0
                for j in range(arms):
                    if kappa[k, j] > 0:
                        pull += kappa[k, j] / math.sqrt(left[k] + left[j])
                root[k] = math.sqrt(0.5 * pull * noise_var[r, k] / costs[k])
                level[k] = prior[k] / root[k] if root[k] > 0 else np.inf
            order = np.argsort(level)
            spent, slope, price = budget[r], 0.0, 0.0
            for k in order:
                if level[k] == np.inf or (slope > 0 and level[k] >= price):
                    break
                spent += costs[k] * prior[k]
                slope += costs[k] * root[k]
                price = spent / slope
            change = 0.0
            for k in range(arms):
                new = max(0.0, price * root[k] - prior[k]) if level[k] < np.inf else 0.0
                change = max(change, abs(new - n[k]))
                n[k] = new
            if change < 1e-3 * budget[r] / costs.max():
                break
        total = 0.0
        for k in range(arms):
            total += n[k] * costs[k]
        for k in range(arms):
            shares[r, k] = n[k] * costs[k] / total if total > 0 else 1.0 / arms


@njit(cache=True)
def _ties_given_others(m, f, d, normals, kappa):  # type: ignore[no-untyped-def]
    """κ by sampling where every arm has variance of its own: density of r_i at its rival, given all others."""
    arms, rank = f.shape
    inner = np.eye(rank)
    for k in range(arms):
        for p in range(rank):
            for q in range(rank):
                inner[p, q] += f[k, p] * f[k, q] / d[k]
    inverse = np.linalg.inv(inner)
    g = np.empty((arms, rank))  # rows of diag(1/D) F inner⁻¹
    precision = np.empty(arms)
    for k in range(arms):
        along = 0.0
        for p in range(rank):
            total = 0.0
            for q in range(rank):
                total += inverse[p, q] * f[k, q]
            g[k, p] = total / d[k]
            along += total * f[k, p]
        precision[k] = 1 / d[k] - along / (d[k] * d[k])
    kappa[:] = 0.0
    root = np.sqrt(d)
    away, pulled = np.empty(arms), np.empty(rank)
    for t in range(len(normals)):
        pulled[:] = 0.0
        first, second = -1, -1
        for k in range(arms):
            total = root[k] * normals[t, rank + k]
            for p in range(rank):
                total += f[k, p] * normals[t, p]
            away[k] = total
            for p in range(rank):
                pulled[p] += total * f[k, p] / d[k]
            if first < 0 or m[k] + total > m[first] + away[first]:
                second, first = first, k
            elif second < 0 or m[k] + total > m[second] + away[second]:
                second = k
        for k in range(arms):
            rival = second if k == first else first
            score = away[k] / d[k]
            for p in range(rank):
                score -= g[k, p] * pulled[p]
            gap = m[rival] + away[rival] - (m[k] + away[k]) + score / precision[k]
            exponent = 0.5 * precision[k] * gap * gap
            if exponent < 15.0:
                density = math.sqrt(precision[k]) * math.exp(-exponent)
                kappa[k, rival] += density
                kappa[rival, k] += density


@njit(cache=True)
def _ties_along_lines(m, f, d, normals, kappa):  # type: ignore[no-untyped-def]
    """κ from the corners of upper envelopes along random lines, where some arms have no variance of their own."""
    arms, rank = f.shape
    level, slope, u = np.empty(arms), np.empty(arms), np.empty(rank)
    kappa[:] = 0.0
    for t in range(len(normals)):
        norm, along = 0.0, 0.0
        for p in range(rank):
            norm += normals[t, rank + p] ** 2
        for p in range(rank):
            u[p] = normals[t, rank + p] / math.sqrt(norm)
            along += normals[t, p] * u[p]
        now = 0
        for k in range(arms):
            total, step = math.sqrt(d[k]) * normals[t, 2 * rank + k] if d[k] > 0 else 0.0, 0.0
            for p in range(rank):
                total += f[k, p] * (normals[t, p] - along * u[p])
                step += f[k, p] * u[p]
            level[k], slope[k] = m[k] + total, step
            if step < slope[now] or (step == slope[now] and level[k] > level[now]):
                now = k
        at = -np.inf
        while True:
            following, until = -1, np.inf
            for k in range(arms):
                rise = slope[k] - slope[now]
                if rise > 1e-12:
                    cross = max(at, (level[now] - level[k]) / rise)
                    if cross < until:
                        following, until = k, cross
            if following < 0 or until > 5.0:
                break
            if until > -5.0:
                density = math.exp(-0.5 * until * until) / (slope[following] - slope[now])
                kappa[now, following] += density
                kappa[following, now] += density
            now, at = following, until


@njit(cache=True, nogil=True)
def tie_shares_structured(mean, factor, diag, noise_var, costs, budget, shares, steps, normals):  # type: ignore[no-untyped-def]
    """As `tie_shares_independent` for correlated arms: factor (R, K, q), normals (M, 2q + K) shared by all runs.

    Multiplicative steps w ← w √(−g), which never increase the objective (THEORY: g_k = −(C L C)_kk / v_k).
    """
    runs, arms, rank = factor.shape
    for r in range(runs):
        f, d, m = factor[r], diag[r], mean[r]
        var = d.copy()
        for k in range(arms):
            for p in range(rank):
                var[k] += f[k, p] * f[k, p]
        kappa = np.empty((arms, arms))
        if d.min() > 1e-4 * var.max():
            _ties_given_others(m, f, d, normals, kappa)
        else:
            _ties_along_lines(m, f, d, normals, kappa)
        largest = kappa.max()
        if not largest > 1e-250:
            _last_resort(m, var, costs, shares[r])
            continue
        # pairs worth a thousandth of the foremost
        first, second, weight = np.empty(arms * arms, np.int64), np.empty(arms * arms, np.int64), np.empty(arms * arms)
        pairs = 0
        for i in range(arms):
            for j in range(i):
                if kappa[i, j] > 1e-3 * largest:
                    first[pairs], second[pairs], weight[pairs] = i, j, kappa[i, j]
                    pairs += 1
        w = np.maximum(shares[r], 1e-4 / arms)
        w /= w.sum()
        t, keep = np.empty(arms), np.empty(arms)
        left, own = np.empty((arms, rank)), np.empty(arms)
        lf, degree = np.empty((arms, rank)), np.empty(arms)
        middle = np.empty((rank, rank))
        for _ in range(steps):
            a = np.eye(rank)
            for k in range(arms):
                n = w[k] * budget[r] / costs[k]
                t[k] = noise_var[r, k] + n * d[k]
                keep[k] = noise_var[r, k] / t[k]
                own[k] = keep[k] * d[k]
                if n > 1e-9:
                    for p in range(rank):
                        scaled = n / t[k] * f[k, p]
                        for q in range(p + 1):
                            a[p, q] += scaled * f[k, q]
            chol = np.linalg.cholesky(a)  # lower triangle only is read
            for k in range(arms):
                for p in range(rank):
                    total = keep[k] * f[k, p]
                    for q in range(p):
                        total -= chol[p, q] * left[k, q]
                    left[k, p] = total / chol[p, p]
            lf[:] = 0.0
            degree[:] = 0.0
            for e in range(pairs):
                i, j = first[e], second[e]
                v = own[i] + own[j]
                for p in range(rank):
                    v += (left[i, p] - left[j, p]) ** 2
                if v > 0:
                    pull = weight[e] / math.sqrt(v)
                    degree[i] += pull
                    degree[j] += pull
                    for p in range(rank):
                        apart = pull * (left[i, p] - left[j, p])
                        lf[i, p] += apart
                        lf[j, p] -= apart
            middle[:] = 0.0
            for k in range(arms):
                if degree[k] > 0:
                    for p in range(rank):
                        for q in range(rank):
                            middle[p, q] += left[k, p] * lf[k, q]
            total, gap = 0.0, 0.0
            for k in range(arms):
                g = own[k] * own[k] * degree[k]
                for p in range(rank):
                    g += 2 * own[k] * lf[k, p] * left[k, p]
                    inner = 0.0
                    for q in range(rank):
                        inner += middle[p, q] * left[k, q]
                    g += inner * left[k, p]
                g = max(g, 0.0) / (noise_var[r, k] * costs[k])
                t[k] = g
                total += w[k] * g
                gap = max(gap, g)
            if total <= 0:
                break
            norm = 0.0
            for k in range(arms):
                w[k] = max(w[k] * math.sqrt(t[k] / total), 1e-7)
                norm += w[k]
            for k in range(arms):
                w[k] /= norm
            if gap < 1.02 * total:
                break
        shares[r] = w


@njit(cache=True, nogil=True)
def error_given_counts(mean, factor, diag, noise_var, counts, normals, union):  # type: ignore[no-untyped-def]
    """Expected error of deciding after `counts` (R, K), for each of R beliefs, on the same normals (M, 2q + K + 1).

    One value a point, (R, M): the chance that some arm is above the one picked, given the data and the low-rank part;
    with `union` the anchored bound instead, Σ_{i≠J} Φ(−(m̂_J − m̂_i)/√V_iJ).
    """
    runs, arms, rank = factor.shape
    points = len(normals)
    out = np.empty((runs, points))
    for r in range(runs):
        f, d, m = factor[r], diag[r], mean[r]
        a = np.eye(rank)
        t, keep, spread, own = np.empty(arms), np.empty(arms), np.empty(arms), np.empty(arms)
        for k in range(arms):
            n = counts[r, k]
            t[k] = noise_var[r, k] + n * d[k]
            keep[k] = noise_var[r, k] / t[k]
            own[k] = keep[k] * d[k]
            spread[k] = math.sqrt(n * t[k])
            for p in range(rank):
                for q in range(rank):
                    a[p, q] += n / t[k] * f[k, p] * f[k, q]
        chol = np.linalg.cholesky(a)
        left, post = np.empty((arms, rank)), np.empty((arms, rank))  # F L⁻ᵀ and diag(a) of it
        for k in range(arms):
            for p in range(rank):
                total = f[k, p]
                for q in range(p):
                    total -= chol[p, q] * left[k, q]
                left[k, p] = total / chol[p, p]
                post[k, p] = keep[k] * left[k, p]
        level, pull = np.empty(arms), np.empty(rank)
        for x in range(points):
            pull[:] = 0.0
            for k in range(arms):
                residual = 0.0
                if counts[r, k] > 0:
                    residual = spread[k] * normals[x, 2 * rank + k]
                    for p in range(rank):
                        residual += counts[r, k] * f[k, p] * normals[x, p]
                    for p in range(rank):
                        pull[p] += left[k, p] * residual / t[k]
                level[k] = m[k] + d[k] * residual / t[k]
            picked = 0
            for k in range(arms):
                for p in range(rank):
                    level[k] += post[k, p] * pull[p]
                if level[k] > level[picked]:
                    picked = k
            if union:
                total = 0.0
                for k in range(arms):
                    v = own[k] + own[picked]
                    for p in range(rank):
                        v += (post[k, p] - post[picked, p]) ** 2
                    if k != picked and v > 0:
                        total += _cdf(-(level[picked] - level[k]) / math.sqrt(v))
                out[r, x] = total
                continue
            for k in range(arms):
                for p in range(rank):
                    level[k] += post[k, p] * normals[x, rank + p]
            bar = level[picked] + math.sqrt(own[picked]) * normals[x, 2 * rank + arms]
            stays = 1.0
            for k in range(arms):
                if k != picked:
                    if own[k] > 0:
                        stays *= _cdf((bar - level[k]) / math.sqrt(own[k]))
                    elif level[k] > bar:
                        stays = 0.0
            out[r, x] = 1.0 - stays
    return out


@njit(cache=True, nogil=True)
def greedy_design(gram, alive, budget):  # type: ignore[no-untyped-def]
    """Counts (S, K) of greedy G-optimal designs for S sets of arms; gram: X Xᵀ, (K, K). See gse.greedy_counts."""
    sets, arms = alive.shape
    counts = np.zeros((sets, arms))
    for s in range(sets):
        inside = np.flatnonzero(alive[s])
        m = len(inside)
        p = np.empty((m, m))
        for a in range(m):
            for b in range(m):
                p[a, b] = gram[inside[a], inside[b]]
        # X A⁻¹ Xᵀ with A = I is X Xᵀ itself
        for _ in range(budget):
            best, least = 0, np.inf
            for k in range(m):
                worst = 0.0
                for j in range(m):
                    v = p[j, j] - p[j, k] * p[j, k] / (1 + p[k, k])
                    if v > worst:
                        worst = v
                        if worst >= least:
                            break
                if worst < least - 1e-12:
                    best, least = k, worst
            column = p[:, best].copy()
            scale = 1 / (1 + column[best])
            for a in range(m):
                for b in range(m):
                    p[a, b] -= column[a] * column[b] * scale
            counts[s, inside[best]] += 1
    return counts
