"""Where the truth of a simulation comes from: a model, a function, or a table of real evaluations.

`Truth.worlds(runs, rng)` opens that many worlds; a world knows the arm means and draws rewards, one evaluation or many
at a time (sums are all that policies need).
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from bestarm.errors import InputError
from bestarm.models.belief import checked_single
from bestarm.policies.contract import Pulls
from bestarm.validation import Array, real_array, shown

__all__ = ["Evaluations", "FromFunction", "FromModel", "Truth", "World", "truth_of"]


class World(Protocol):
    """R worlds opened. means: of the arms, (R, K)."""

    @property
    def means(self) -> Array: ...

    def draw(self, pulls: Pulls, rng: np.random.Generator, moments: int = 1) -> Array:
        """Sums of rewards: (R,) for one evaluation in each run, (R, K) for counts; with moments = 2 (R, K, 2), the sums
        of their squares behind.
        """
        ...


class Truth(Protocol):
    """A source of worlds."""

    def worlds(self, runs: int, repeats: int, rng: np.random.Generator) -> World: ...


@dataclass(frozen=True, eq=False)
class _Sampled:
    """Arm means drawn beforehand; rewards from a model (with its noise in each world, where that was drawn too)."""

    means: Array
    source: Any

    def draw(self, pulls: Pulls, rng: np.random.Generator, moments: int = 1) -> Array:
        if pulls.arms is None:
            assert pulls.counts is not None
            return np.asarray(self.source.sample_sums(self.means, pulls.counts, rng, moments))
        return np.asarray(self.source._one_reward(self.means[np.arange(len(pulls.arms)), pulls.arms], pulls.arms, rng))


def _repeated(means: Array, source: Any, repeats: int) -> _Sampled:
    if source.batch_shape:
        source = replace(source, noise_var=np.repeat(source.noise_var, repeats, axis=0))
    return _Sampled(np.repeat(means, repeats, axis=0), source)


@dataclass(frozen=True, eq=False)
class FromModel:
    """Arm means and rewards drawn from a model."""

    model: Any

    def worlds(self, runs: int, repeats: int, rng: np.random.Generator) -> World:
        means, source = self.model._worlds(runs, rng)
        return _repeated(means, source, repeats)


@dataclass(frozen=True, eq=False)
class FromFunction:
    """Arm means from `function(runs, rng)`, (runs, K); rewards drawn as the model says they are."""

    function: Callable[[int, np.random.Generator], ArrayLike]
    model: Any

    def __post_init__(self) -> None:
        try:
            inspect.signature(self.function).bind(1, np.random.default_rng(0))
        except TypeError:
            raise InputError(f"truth is {shown(self.function)}; expected a function of (runs, rng)") from None
        except ValueError:
            pass  # a function that does not tell its signature

    def worlds(self, runs: int, repeats: int, rng: np.random.Generator) -> World:
        means = real_array(self.function(runs, rng), "truth(runs, rng)")
        if means.shape != (runs, self.model.num_arms):
            raise InputError(f"truth returned shape {means.shape}; expected ({runs}, {self.model.num_arms}) arm means")
        self.model._check_means(means, "truth(runs, rng)")
        return _repeated(means, self.model._worlds(runs, rng)[1], repeats)


class Evaluations:
    """Real evaluations, drawn again: `ba.Evaluations(table)`.

    values: (items, K), one column an arm, NaN where missing; or a pool a arm, as a mapping or list of vectors.
    replace: draw with replacement. shared: the t-th evaluation of every arm is of the same item (the same question put
    to every arm), in a random order for each run; needs a full table and draws without replacement. The truth is the
    average of each pool.
    """

    def __init__(self, values: Any, replace: bool = True, shared: bool = False) -> None:
        self.names: tuple[str, ...] | None = None
        if isinstance(values, Mapping):
            self.names = tuple(map(str, values))
            pools = [real_array(pool, f"values[{shown(arm)}]", ndim=1) for arm, pool in values.items()]
        elif isinstance(values, Sequence) and not isinstance(values, str) and len(values) and np.ndim(values[0]) == 1:
            pools = [real_array(pool, f"values[{k}]", ndim=1) for k, pool in enumerate(values)]
        else:
            try:
                table = np.asarray(np.ma.filled(np.ma.asarray(values, dtype=np.float64), np.nan))
            except (TypeError, ValueError):
                raise InputError(f"values is {shown(values)}; expected a table of numbers, (items, arms)") from None
            if table.ndim != 2 or not table.size:
                raise InputError(f"values has shape {table.shape}; expected (items, arms)")
            pools = [real_array(column[~np.isnan(column)], f"values[:, {k}]") for k, column in enumerate(table.T)]
        for k, pool in enumerate(pools):
            if not len(pool):
                raise InputError(f"values has no evaluation of arm {k}; expected at least one")
        if shared and len({len(pool) for pool in pools}) > 1:
            raise InputError("shared is True and the pools differ in size; expected a table without missing values")
        self.pools, self.replace, self.shared = pools, replace and not shared, shared

    def in_order(self, names: Sequence[str]) -> "Evaluations":
        """The same with pools in the order of these arms, where pools have names."""
        if self.names is None:
            return self
        for name in names:
            if name not in self.names:
                raise InputError(f"truth has no evaluations of arm {name!r}; there are {', '.join(self.names[:5])}")
        pools = dict(zip(self.names, self.pools, strict=True))
        return Evaluations({name: pools[name] for name in names}, self.replace, self.shared)

    def worlds(self, runs: int, repeats: int, rng: np.random.Generator) -> World:
        return _Drawn(self, runs * repeats, rng)


class _Drawn:
    """Pools drawn from run by run; without replacement each run has its own order of each pool."""

    def __init__(self, truth: Evaluations, runs: int, rng: np.random.Generator) -> None:
        self._truth = truth
        self.means = np.broadcast_to(np.array([pool.mean() for pool in truth.pools]), (runs, len(truth.pools)))
        self._used = np.zeros((runs, len(truth.pools)), dtype=np.intp)
        self._totals: list[Array] = []
        if not truth.replace:
            order = None
            for pool in truth.pools:
                if order is None or not truth.shared:
                    order = np.argsort(rng.random((runs, len(pool))), axis=1)
                # running totals of rewards and squares: a sum of evaluations a…b is a difference
                values = np.stack([pool[order], pool[order] ** 2], axis=-1)
                self._totals.append(np.concatenate([np.zeros((runs, 1, 2)), np.cumsum(values, axis=1)], axis=1))

    def draw(self, pulls: Pulls, rng: np.random.Generator, moments: int = 1) -> Array:
        runs, arms = self._used.shape
        rows = np.arange(runs)
        if self._truth.replace:
            if pulls.arms is not None:
                size = np.array([len(pool) for pool in self._truth.pools])[pulls.arms]
                item = np.floor(rng.random(runs) * size).astype(np.intp)
                padded = _padded(self._truth.pools)
                return np.asarray(padded[pulls.arms, item])
            sums = np.zeros((runs, arms, moments))
            for k, column in enumerate(pulls.per_arm(runs, arms).T.astype(np.intp)):
                pool = self._truth.pools[k]
                drawn = pool[rng.integers(0, len(pool), int(column.sum()))]
                for p in range(moments):
                    sums[:, k, p] = np.bincount(np.repeat(rows, column), weights=drawn ** (p + 1), minlength=runs)
            return sums if moments > 1 else sums[..., 0]
        counts = pulls.per_arm(runs, arms).astype(np.intp)
        until = self._used + counts
        sums = np.zeros((runs, arms, 2))
        for k, total in enumerate(self._totals):
            if (until[:, k] >= total.shape[1]).any():
                raise InputError(
                    f"the pool of arm {k} has {total.shape[1] - 1} evaluations and a policy wants more; expected "
                    "larger pools, or replace=True"
                )
            sums[:, k] = total[rows, until[:, k]] - total[rows, self._used[:, k]]
        self._used = until
        if pulls.arms is not None:
            return np.asarray(sums[rows, pulls.arms, 0])
        return sums if moments > 1 else sums[..., 0]


def _padded(pools: list[Array]) -> Array:
    width = max(len(pool) for pool in pools)
    return np.array([np.pad(pool, (0, width - len(pool))) for pool in pools])


def truth_of(model: Any, truth: Any) -> Truth:
    """What `simulate` was given as truth, as a source of worlds."""
    if truth is None:
        return FromModel(model)
    if isinstance(truth, Evaluations):
        if len(truth.pools) != model.num_arms:
            raise InputError(f"truth has evaluations of {len(truth.pools)} arms; expected {model.num_arms}")
        for pool in truth.pools:
            model._check_rewards(pool)
        return truth.in_order(model.names) if model.arms.given_names is not None else truth
    if hasattr(truth, "sample_sums"):
        checked_single(truth, "truth")
        if truth.num_arms != model.num_arms or truth.direction != model.direction:
            raise InputError(
                f"truth has {truth.num_arms} arms ({truth.direction}); expected those of model: {model.num_arms} "
                f"({model.direction})"
            )
        return FromModel(truth)
    if callable(truth):
        return FromFunction(truth, model)
    raise InputError(f"truth is {shown(truth)}; expected a model, a function (runs, rng) or ba.Evaluations")
