"""Empirical Bayes for independent arms: how different arms are, learned from past results of many of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betaln

from bestarm.errors import InputError
from bestarm.learning.tables import Table
from bestarm.validation import Array

__all__ = ["BetaPopulation", "Population", "beta_population", "normal_population", "pooled_noise"]


@dataclass(frozen=True)
class Population:
    """Arms come from N(mean, sd²); one evaluation has noise sd `noise`. mean_se: how well the mean is known."""

    mean: float
    sd: float
    noise: float
    mean_se: float


@dataclass(frozen=True)
class BetaPopulation:
    """Success probabilities come from Beta(alpha, beta)."""

    alpha: float
    beta: float


def pooled_noise(table: Table, noise: float | None = None) -> float:
    """Noise sd from the scatter within arms, or as given."""
    if noise is not None:
        return noise
    n = np.maximum(table.counts, 1)
    within = np.maximum(table.squares - table.sums**2 / n, 0.0).sum()
    freedom = np.maximum(table.counts - 1, 0).sum()
    if freedom == 0:
        raise InputError(
            "reward has one evaluation of each arm, so that noise cannot be told from differences between arms; "
            "expected several of some arm, or the noise sd: noise= (--noise)"
        )
    if within <= 1e-14 * max(table.squares.sum(), 1e-300):
        raise InputError(
            "reward is the same whenever an arm is evaluated again, or so far from 0 that its scatter is lost; "
            "expected noisy rewards (subtract a constant from large ones), or the noise sd: noise= (--noise)"
        )
    return float(np.sqrt(within / freedom))


def normal_population(table: Table, noise: float | None = None) -> Population:
    """Mean and sd of arms by restricted maximum likelihood: averages are N(mean, sd² + noise²/n).

    With one arm, or arms no more different than noise makes them, the sd is put at its median under a flat prior, so
    that nobody is told that all arms are equal.
    """
    own = pooled_noise(table, noise)
    seen = table.counts > 0
    average, sampling = table.sums[seen] / table.counts[seen], own**2 / table.counts[seen]
    if len(average) == 1:
        spread = float(max(np.sqrt(sampling[0]), abs(average[0]) / 2, own / 4))
        return Population(float(average[0]), spread, own, float(np.sqrt(sampling[0])))

    def restricted(sd: float) -> tuple[float, float, float]:
        w = 1 / (sd**2 + sampling)
        mean = float((w * average).sum() / w.sum())
        value = 0.5 * (np.log(w).sum() - np.log(w.sum()) - (w * (average - mean) ** 2).sum())
        return float(value), mean, float(1 / np.sqrt(w.sum()))

    # on a grid, so that the likelihood of "no difference" is weighed against the others
    top = 4 * float(average.std(ddof=1)) + float(np.sqrt(sampling.mean()))
    grid = np.linspace(0, top, 400)
    values = np.array([restricted(sd)[0] for sd in grid])
    best = float(grid[int(np.argmax(values))])
    if best > 0:
        from scipy import optimize  # slow to import

        step = grid[1]
        found = optimize.minimize_scalar(
            lambda sd: -restricted(sd)[0], bounds=(max(best - step, 0.0), best + step), method="bounded"
        )
        best = float(found.x)
    chance = np.exp(values - values.max())
    median = float(grid[int(np.searchsorted(np.cumsum(chance) / chance.sum(), 0.5))])
    sd = best if best > 0.25 * median else median
    _, mean, error = restricted(sd)
    return Population(mean, sd, own, error)


def normal_arms(table: Table, population: Population) -> tuple[Array, Array]:
    """Posterior mean and sd of each arm of the table, shrunk towards the population; its own where there is no data."""
    between, noise_var = population.sd**2, population.noise**2
    keep = noise_var / (noise_var + table.counts * between)  # how much of the population's mean stays
    average = np.divide(table.sums, table.counts, out=np.zeros(table.num_arms), where=table.counts > 0)
    mean = keep * population.mean + (1 - keep) * average
    return mean, np.sqrt(keep * between + (keep * population.mean_se) ** 2)


def beta_population(table: Table) -> BetaPopulation:
    """Maximum marginal likelihood of the beta-binomial, α + β having prior density ∝ (1 + α + β)⁻²."""
    n, s = table.counts, table.sums
    if table.num_arms == 1:
        return BetaPopulation(float(s[0] + 0.5), float(n[0] - s[0] + 0.5))

    from scipy import optimize

    def minus(parameters: Array) -> float:
        middle, worth = 1 / (1 + np.exp(-parameters[0])), np.exp(parameters[1])
        a, b = middle * worth, (1 - middle) * worth
        value = (betaln(a + s, b + n - s) - betaln(a, b)).sum()
        return -float(value - 2 * np.log1p(worth) + parameters[1] + np.log(middle * (1 - middle)) / 2)

    share = (s.sum() + 0.5) / (n.sum() + 1)
    starts = [(np.log(share / (1 - share)), np.log(worth)) for worth in (2.0, 20.0, 200.0)]
    found: Any = min(
        (optimize.minimize(minus, start, method="Nelder-Mead", options={"xatol": 1e-6}) for start in starts),
        key=lambda each: each.fun,
    )
    middle, worth = 1 / (1 + np.exp(-found.x[0])), np.exp(found.x[1])
    return BetaPopulation(float(middle * worth), float((1 - middle) * worth))
