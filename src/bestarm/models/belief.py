"""What every family of models answers: the seam between what is believed and all that is done with it."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from bestarm.errors import InputError, PrecisionWarning
from bestarm.models.arms import Arms, Direction
from bestarm.validation import Array, IntArray, generator, real_array, shown, whole

__all__ = ["Belief", "FromSquares", "Model", "OverArms", "checked_single"]

Model = TypeVar("Model", bound="Belief")  # of one family


@runtime_checkable
class Belief(Protocol):
    """A belief about arm means, prior and posterior alike, with optional leading batch axes.

    `gaussian()` is the moment-matched view that plans are made on. Methods that begin with an underscore are the same
    without checks, over R runs at once: the inner loops of policies and of the simulator.
    """

    @property
    def arms(self) -> Arms: ...

    @property
    def num_arms(self) -> int: ...

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def direction(self) -> Direction: ...

    @property
    def batch_shape(self) -> tuple[int, ...]: ...

    @property
    def mean(self) -> Array: ...

    @property
    def var(self) -> Array: ...

    def sample(self, size: Any = None, rng: Any = None) -> Array: ...

    def prob_best(self, rng: Any = 0) -> Any: ...

    def gaussian(self) -> Any: ...

    def _conditioned(self, counts: Array, sums: Array) -> Any: ...

    def _draw(self, rng: np.random.Generator) -> Array: ...


def checked_single(model: Model, name: str = "model") -> Model:
    """A model of any family, without batch axes."""
    if not isinstance(model, Belief):
        raise InputError(f"{name} is {shown(model)}; expected a model of bestarm")
    if model.batch_shape:
        raise InputError(f"{name} has batch axes {model.batch_shape}; expected a single belief")
    return model


class OverArms:
    """What all families share: their arms, and evidence checked once, where it enters.

    What differs is in the hooks at the end: which rewards there can be, what of them matters, Bayes' rule, and how a
    reward is drawn.
    """

    arms: Arms
    exact: ClassVar[bool] = True  # the posterior is the posterior, not an approximation of it
    moments: ClassVar[int] = 1  # what matters of rewards: their sum, or with 2 their squares' sum as well

    if TYPE_CHECKING:

        @property
        def mean(self) -> Array: ...

        @property
        def batch_shape(self) -> tuple[int, ...]: ...

        def sample(self, size: int | tuple[int, ...] | None = None, rng: Any = None) -> Array: ...

    @property
    def binary(self) -> bool:
        """Whether rewards are 0 or 1."""
        return False

    @property
    def num_arms(self) -> int:
        return self.arms.count

    @property
    def names(self) -> tuple[str, ...]:
        return self.arms.names

    @property
    def payloads(self) -> tuple[Any, ...] | None:
        return self.arms.payloads

    @property
    def direction(self) -> Direction:
        return self.arms.direction

    @property
    def best(self) -> int | IntArray:
        """The arm that the mean rule picks: largest mean, or smallest when minimising; ties to the lowest index."""
        picked = np.argmax(self.arms.sign * self.mean, axis=-1)
        return int(picked) if picked.ndim == 0 else picked

    # ------------------------------------------------------------------ evidence

    def update(self, arms: ArrayLike | str | Sequence[str | int], rewards: ArrayLike) -> Self:
        """The posterior after raw observations: `rewards[t]` came from `arms[t]` (an index or a name)."""
        index = np.atleast_1d(self.arms.index(arms))
        values = np.atleast_1d(real_array(rewards, "rewards"))
        if index.ndim != 1 or index.shape != values.shape:
            raise InputError(
                f"arms has shape {index.shape} and rewards has shape {values.shape}; expected one reward per arm pulled"
            )
        self._check_rewards(values)
        counts, *powers = (
            np.bincount(index, weights=values**p, minlength=self.num_arms).astype(np.float64)
            for p in range(self.moments + 1)
        )
        if self.moments == 1:
            return self._conditioned(counts, powers[0])
        centred = values - (powers[0] / np.maximum(counts, 1))[index]
        within = np.bincount(index, weights=centred**2, minlength=self.num_arms)
        if ((within > 0) & (within < 1e-10 * powers[1])).any():
            warnings.warn(
                "some rewards are so far from 0 that their scatter is lost in the sums of their squares; subtract a "
                "constant from all of them",
                PrecisionWarning,
                stacklevel=2,
            )
        return self._conditioned(*self._checked_squares(counts, *powers))

    def condition(self, counts: ArrayLike, sums: ArrayLike) -> Self:
        """The posterior after `counts[k]` evaluations of arm k whose rewards add up to `sums[k]`; (…, K) each."""
        n, s = self._checked_sums(counts, sums, "sums")
        self._check_totals(n, s)
        return self._conditioned(n, s)

    def _checked_sums(self, counts: ArrayLike, sums: ArrayLike, name: str) -> tuple[Array, Array]:
        n = self._per_arm(whole(counts, "counts"), "counts")
        s = self._per_arm(real_array(sums, name), name)
        if n.shape[:-1] != s.shape[:-1] and n.ndim > 1 and s.ndim > 1:
            raise InputError(f"counts has shape {n.shape} and {name} has shape {s.shape}; expected shapes that agree")
        stray = (n == 0) & (s != 0)
        if stray.any():
            *_, k = np.unravel_index(int(np.argmax(stray)), stray.shape)
            raise InputError(f"{name} is not 0 for arm {self.names[k]!r}, which counts says was never evaluated")
        return n, s

    def _checked_squares(self, counts: ArrayLike, sums: ArrayLike, squares: ArrayLike | None) -> tuple[Array, Array]:
        """Counts, and sums with the sums of squares behind, of rewards that there may have been."""
        if squares is None:
            raise InputError("squares is None; expected the sums of squared rewards, from which the noise is learned")
        n, s = self._checked_sums(counts, sums, "sums")
        _, q = self._checked_sums(counts, squares, "squares")
        if (n * q < s * s * (1 - 1e-9)).any():
            raise InputError("squares is less than sums²/counts for some arm; expected sums of squares of real rewards")
        return n, np.stack(np.broadcast_arrays(s, q), axis=-1)

    def _per_arm(self, array: Array, name: str) -> Array:
        if array.ndim == 0 or array.shape[-1] != self.num_arms:
            raise InputError(f"{name} has shape {array.shape}; expected one number per arm ({self.num_arms})")
        try:
            np.broadcast_shapes(array.shape[:-1], self.batch_shape)
        except ValueError:
            raise InputError(
                f"{name} has shape {array.shape}; expected leading axes that broadcast with {self.batch_shape}"
            ) from None
        return array

    # ------------------------------------------------------------------ worlds

    def _worlds(self, runs: int, rng: np.random.Generator) -> tuple[Array, Any]:
        """Arm means drawn for each of `runs` worlds, (R, K), and the model that rewards in them are drawn from."""
        return self.sample(runs, rng), self

    def sample_rewards(self, means: ArrayLike, arms: ArrayLike | str | Sequence[str | int], rng: Any = None) -> Array:
        """One reward for each of `arms`, in a world where the arm means are `means`, (…, K).

        arms: (T,) pulls the same arms in every world; (…, T) as the worlds have it. Returns (…, T), or a number
        for one arm in one world.
        """
        world = real_array(means, "means")
        self._check_means(world, "means")
        if world.ndim == 0 or world.shape[-1] != self.num_arms:
            raise InputError(f"means has shape {world.shape}; expected one number per arm ({self.num_arms})")
        index = self.arms.index(arms)
        pulls = np.atleast_1d(index)
        try:
            lead = np.broadcast_shapes(world.shape[:-1], pulls.shape[:-1])
        except ValueError:
            raise InputError(
                f"arms has shape {index.shape}; expected leading axes as means has, {world.shape}"
            ) from None
        level = np.take_along_axis(
            np.broadcast_to(world, (*lead, self.num_arms)),
            np.broadcast_to(pulls, (*lead, pulls.shape[-1])),
            axis=-1,
        )
        rewards = self._one_reward(level, pulls, generator(rng))
        return rewards[..., 0] if index.ndim == 0 else rewards

    # ------------------------------------------------------------------ hooks

    def _check_rewards(self, rewards: Array) -> None:
        """Refuse rewards that there cannot be."""

    def _check_means(self, means: Array, name: str) -> None:
        """Refuse arm means that there cannot be."""

    def _check_totals(self, counts: Array, sums: Array) -> None:
        """Refuse sums that so many rewards cannot have."""

    def _marginal(self) -> Any:
        """A belief about each arm on its own, on the scale of rewards: what is left when structure is ignored."""
        raise NotImplementedError

    def _conditioned(self, counts: Array, sums: Array) -> Self:
        """As `condition`, unchecked: the inner loop of every simulation."""
        raise NotImplementedError

    def _one_reward(self, means: Array, arms: IntArray, rng: np.random.Generator) -> Array:
        """One reward each of arms with these means; arms has the shape of means, or its last axis."""
        raise NotImplementedError

    def sample_sums(self, means: Array, counts: Array, rng: np.random.Generator, moments: int = 1) -> Array:
        """Sums of `counts` rewards of each arm at once, (R, K), in worlds with these arm means; counts (R, K) or (K,).

        moments = 2: with the sums of their squares behind, (R, K, 2).
        """
        raise NotImplementedError


class FromSquares(OverArms):
    """Families that learn the noise: they keep counts, sums and sums of squares, (…, K), and refit to all of them."""

    counts: Array
    sums: Array
    squares: Array
    moments: ClassVar[int] = 2

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The leading axes; () for a single belief."""
        return np.broadcast_shapes(self.counts.shape, self.sums.shape, self.squares.shape)[:-1]

    def condition(self, counts: ArrayLike, sums: ArrayLike, squares: ArrayLike | None = None) -> Self:
        """The posterior after `counts[k]` evaluations of arm k whose rewards add up to `sums[k]` and their squares to
        `squares[k]`; (…, K) each.
        """
        return self._conditioned(*self._checked_squares(counts, sums, squares))

    def _with(self, counts: Array, sums: Array, squares: Array) -> Self:
        """The same belief after other evidence."""
        return replace(self, counts=counts, sums=sums, squares=squares)  # type: ignore[type-var]

    def _conditioned(self, counts: Array, sums: Array) -> Self:
        total = (self.counts + counts, self.sums + sums[..., 0], self.squares + sums[..., 1])
        return self._with(*np.broadcast_arrays(*total))

    def _after_one(self, arm: IntArray, reward: Array) -> Self:
        """One reward of one arm in each of R runs, (R,) each."""
        rows = np.arange(len(arm))
        counts, sums, squares = self.counts.copy(), self.sums.copy(), self.squares.copy()
        counts[rows, arm] += 1
        sums[rows, arm] += reward
        squares[rows, arm] += reward**2
        return self._with(counts, sums, squares)

    def _runs(self, runs: int) -> Self:
        shape = (runs, self.num_arms)
        return self._with(*(np.broadcast_to(part, shape) for part in (self.counts, self.sums, self.squares)))
