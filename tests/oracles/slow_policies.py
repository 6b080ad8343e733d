"""Every sequential policy once more: one run, one round at a time, dense algebra, plain Python.

They consume random numbers in the order in which the policies do for a single run, so that choices agree one by one.
"""

import math

import numpy as np


class World:
    """One world: arm means and a stream of rewards."""

    def __init__(self, model, means, rng):
        self.model, self.means, self.rng = model, means, rng

    def one(self, arm):
        return self.means[arm] + self.model.noise[arm] * self.rng.standard_normal(1)[0]

    def sums(self, counts):
        noise = self.rng.standard_normal((1, len(counts)))[0]
        return counts * self.means + np.sqrt(counts) * self.model.noise * noise


class Dense:
    """A Gaussian belief as a mean vector and a covariance matrix."""

    def __init__(self, model, joint):
        self.mean, self.cov = model.mean.copy(), model.cov.copy()
        if not joint:
            self.cov = np.diag(np.diagonal(self.cov))
        self.noise_var = model.noise_var

    def see(self, arm, reward):
        column = self.cov[:, arm].copy()
        scale = self.noise_var[arm] + self.cov[arm, arm]
        self.mean = self.mean + column * (reward - self.mean[arm]) / scale
        self.cov = self.cov - np.outer(column, column) / scale


def thompson(model, world, budget, rng):
    """Independent arms: one normal an arm for each draw."""
    belief, pulled = Dense(model, joint=False), []
    for _ in range(budget):
        normals = rng.standard_normal((1, len(belief.mean)))[0]
        arm = int(np.argmax(belief.mean + np.sqrt(np.diagonal(belief.cov)) * normals))
        belief.see(arm, world.one(arm))
        pulled.append(arm)
    return pulled, int(np.argmax(belief.mean))


def top_two(model, world, budget, rng, rule, beta=0.5, published=False):
    """T3C and TS-TCI on independent arms. published: as in the authors' code."""
    belief, pulled = Dense(model, joint=False), []
    arms = len(belief.mean)
    for _ in range(budget):
        var = np.diagonal(belief.cov)
        if published:
            leader = int(np.argmax(belief.mean))
        else:
            leader = int(np.argmax(belief.mean + np.sqrt(var) * rng.standard_normal((1, arms))[0]))
        arm = leader
        if rng.random(1)[0] >= beta:
            costs = []
            for j in range(arms):
                behind = max(belief.mean[leader] - belief.mean[j], 0.0)
                cost = behind**2 / (2 * (var[leader] + var[j]))
                if rule == "ts-tci":
                    cost += math.log(model.noise_var[j] / var[j])
                costs.append(math.inf if j == leader and not published else cost)
            if published:
                arm = sorted(range(arms), key=lambda j: costs[j])[1]
            elif rule == "t3c":
                least = [j for j in range(arms) if costs[j] == min(costs)]
                arm = least[int(rng.random(1)[0] * len(least))]
            else:
                arm = costs.index(min(costs))
        belief.see(arm, world.one(arm))
        pulled.append(arm)
    return pulled, int(np.argmax(belief.mean))


def bayes_gap(model, world, budget, epsilon=1e-5):
    """Hoffman et al., Algorithm 1, line by line, on the joint posterior."""
    belief, pulled = Dense(model, joint=True), []
    arms = len(belief.mean)
    information = max(budget - arms, 0) + np.sum(model.noise_var / np.diagonal(model.cov))
    least, decision = math.inf, 0
    for _ in range(budget):
        m, s = belief.mean, np.sqrt(np.diagonal(belief.cov))
        gaps = [abs(max(m[i] + 3 * s[i] for i in range(arms) if i != k) - (m[k] - 3 * s[k])) for k in range(arms)]
        hardness = sum(
            v * max((gap + epsilon) / 2, epsilon) ** -2 for v, gap in zip(model.noise_var, gaps, strict=True)
        )
        beta = math.sqrt(information / (4 * hardness))
        upper, lower = m + beta * s, m - beta * s
        bounds = [max(upper[i] for i in range(arms) if i != k) - lower[k] for k in range(arms)]
        leader = int(np.argmin(bounds))
        rival = max((k for k in range(arms) if k != leader), key=lambda k: (upper[k], -k))
        if bounds[leader] < least:
            least, decision = bounds[leader], leader
        arm = leader if s[leader] >= s[rival] else rival
        belief.see(arm, world.one(arm))
        pulled.append(arm)
    return pulled, decision


def halving(model, world, budget, rng):
    """Sequential Halving; what does not divide is carried into the next round."""
    arms = model.num_arms
    order = rng.random((1, arms))[0]
    rounds = math.ceil(math.log2(arms))
    alive, left, counts = list(range(arms)), 0, np.zeros(arms)
    means = np.full(arms, -math.inf)
    for r in range(rounds):
        part = budget // rounds + (1 if r >= rounds - budget % rounds else 0) + left
        each = part // len(alive)
        left = part - each * len(alive)
        now = np.zeros(arms)
        now[alive] = each
        if r == rounds - 1:
            now[sorted(alive)[:left]] += 1
        if now.any():
            sums = world.sums(now)
        counts += now
        means = np.array([sums[k] / now[k] if now[k] else -math.inf for k in range(arms)])
        alive = sorted(alive, key=lambda k: (-means[k], order[k]))[: math.ceil(len(alive) / 2)]
    return counts, alive[0]


def rejects(model, world, budget, rng, rerank=False):
    """Successive Rejects; what the formula leaves goes to the last two. rerank: all arms after each phase."""
    arms = model.num_arms
    order = rng.random((1, arms))[0]
    log_bar = 0.5 + sum(1 / i for i in range(2, arms + 1))
    alive, counts, total, before = list(range(arms)), np.zeros(arms), np.zeros(arms), 0
    for k in range(1, arms):
        until = max(math.ceil((budget - arms) / (log_bar * (arms + 1 - k))), 0)
        now = np.zeros(arms)
        now[alive] = until - before
        if k == arms - 1:
            rest = budget - int(counts.sum() + now.sum())
            now[alive] += rest // 2
            now[sorted(alive)[: rest % 2]] += 1
        before = until
        if now.any():
            total += world.sums(now)
        counts += now
        means = np.array([total[a] / counts[a] if counts[a] else -math.inf for a in range(arms)])
        ranked = range(arms) if rerank else alive
        alive = sorted(ranked, key=lambda a: (-means[a], order[a]))[: arms - k]
    return counts, alive[0]


def bayes_elim(model, world, budget, rng):
    """BayesElim on independent arms of equal noise."""
    arms = model.num_arms
    order = rng.random((1, arms))[0]
    rounds = math.ceil(math.log2(arms))
    alive, counts = list(range(arms)), np.zeros(arms)
    for r in range(rounds):
        part = budget // rounds + (1 if r >= rounds - budget % rounds else 0)
        now = np.zeros(arms)
        now[alive] = part // len(alive)
        now[sorted(alive, key=lambda k: -order[k])[: part % len(alive)]] += 1
        sums = world.sums(now)
        counts += now
        precision = 1 / model.var + now / model.noise_var
        means = (model.mean / model.var + sums / model.noise_var) / precision
        alive = sorted(alive, key=lambda k: (-means[k], order[k]))[: math.ceil(len(alive) / 2)]
    return counts, alive[0]
