"""The paper's theorems in its own letters: as corrected here and, with printed=True, as printed (docs/errata.md)."""

import numpy as np


def pairs_sum(terms):
    """Σ over ordered pairs i ≠ j of a (K, K) array."""
    return terms.sum() - np.trace(terms)


def phi(mean_sd, noise, weights, n):
    """φ_ij(ω) of the theorem for independent arms, (K, K)."""
    s, v, w = mean_sd**2, noise**2, weights
    own = s**2 * w  # σ_{0,i}⁴ ω_i
    rest = v / n + w * s  # σ²/n + ω_i σ_{0,i}²
    top = own[:, None] * rest[None, :] + own[None, :] * rest[:, None]
    bottom = v * s[:, None] * rest[None, :] + v * s[None, :] * rest[:, None]
    return top / bottom


def independent_bound(mean, sd, noise, weights, n):
    gap = (mean[:, None] - mean) ** 2 / (2 * (sd[:, None] ** 2 + sd**2))
    return pairs_sum(np.exp(-gap) / np.sqrt(1 + n * phi(sd, noise, weights, n)))


def linear_mean_cov(x, cov, noise, counts, printed=False):
    """Cov(μ̂_n). As printed, the sum over pairs of rounds leaves out pairs of rounds of the same arm."""
    post = np.linalg.inv(np.linalg.inv(cov) + x.T @ np.diag(counts) @ x / noise**2)
    prior = x @ cov @ x.T
    middle = x.T @ np.diag(counts * (noise**2 + np.diagonal(prior))) @ x
    cross = np.outer(counts, counts) * prior
    middle = middle + x.T @ (cross - np.diag(np.diagonal(cross))) @ x
    if not printed:
        middle = middle + x.T @ np.diag(counts * (counts - 1) * np.diagonal(prior)) @ x
    return post @ middle @ post / noise**4, post


def linear_bound(x, mean, cov, noise, counts, printed=False):
    mean_cov, post = linear_mean_cov(x, cov, noise, counts, printed)
    d = x[:, None, :] - x
    c, left, before = (np.einsum("ijp,pq,ijq->ij", d, m, d) for m in (mean_cov, post, cov))
    gap = (d @ mean) ** 2
    np.fill_diagonal(left, 1.0)
    np.fill_diagonal(before, 1.0)
    with np.errstate(invalid="ignore"):
        return pairs_sum(np.exp(-gap / (2 * before)) / np.sqrt(1 + c / left))


def hierarchical_c(b, effect_cov, arm_sd, noise, counts, printed=False):
    """The long c_ij = V(μ̂_i − μ̂_j), term by term, (K, K)."""
    k = len(b)
    s, v, n = arm_sd**2, noise**2, counts
    t = s * n + v
    sb = np.linalg.inv(np.linalg.inv(effect_cov) + b.T @ np.diag(n / t) @ b)
    h = b @ sb @ b.T  # b_kᵀ Σ̆ b_i
    cov = np.outer(n, n) * (b @ effect_cov @ b.T)
    var = n * v + n**2 * (s + np.diagonal(b @ effect_cov @ b.T))
    full = cov.copy()
    np.fill_diagonal(full, var)  # cov(B_k, B_k') off, V(B_k) on the diagonal

    def off(column, skip, target):
        """Σ_{k ≠ skip} b_kᵀΣ̆b_column / t_k · cov(B_k, B_target)."""
        keep = np.arange(k) != skip
        return (h[keep, column] / t[keep] * full[keep, target]).sum()

    c = np.zeros((k, k))
    for i in range(k):
        for j in range(k):
            if i == j:
                continue
            ti, tj = t[i], t[j]
            value = s[i] ** 2 / ti**2 * var[i] + s[j] ** 2 / tj**2 * var[j]
            for arm, ta in ((i, ti), (j, tj)):
                g = h[:, arm] / t
                value += v**2 / ta**2 * (g @ full @ g)
            value -= 2 * v**2 / (ti * tj) * ((h[:, i] / t) @ full @ (h[:, j] / t))
            value -= 2 * s[i] * s[j] / (ti * tj) * cov[i, j]
            value += 2 * v * s[i] / ti**2 * (off(i, i, i) + h[i, i] / ti * var[i])
            last = h[j, i] if printed else h[j, j]
            value += 2 * v * s[j] / tj**2 * (off(j, j, j) + last / tj * var[j])
            value -= 2 * v * s[j] / (ti * tj) * (off(i, j, i if printed else j) + h[j, i] / tj * var[j])
            value -= 2 * v * s[i] / (tj * ti) * (off(j, i, j if printed else i) + h[i, j] / ti * var[i])
            c[i, j] = value
    return c


def hierarchical_bound(b, nu, effect_cov, arm_sd, noise, counts, denominator="gap"):
    """The hierarchical theorem. denominator: "gap" is V(r_i − r_j | H); "printed" adds standard deviations;
    "variances" adds the marginal posterior variances, without their covariance.
    """
    t = arm_sd**2 * counts + noise**2
    sb = np.linalg.inv(np.linalg.inv(effect_cov) + b.T @ np.diag(counts / t) @ b)
    own, keep = arm_sd**2 * noise**2 / t, noise**2 / t
    scaled = keep[:, None] * b
    post = np.diag(own) + scaled @ sb @ scaled.T
    var = np.diagonal(post)
    left = var[:, None] + var
    if denominator == "gap":
        left = left - 2 * post
    elif denominator == "printed":
        left = np.sqrt(var)[:, None] + np.sqrt(var)
    d = b[:, None, :] - b
    before = np.einsum("ijp,pq,ijq->ij", d, effect_cov, d) + arm_sd[:, None] ** 2 + arm_sd**2
    c = hierarchical_c(b, effect_cov, arm_sd, noise, counts)
    np.fill_diagonal(left, 1.0)
    return pairs_sum(np.exp(-((d @ nu) ** 2) / (2 * before)) / np.sqrt(1 + c / left))
