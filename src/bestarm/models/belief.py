"""What every family of models answers: the seam between what is believed and all that is done with it."""

from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from bestarm.errors import InputError
from bestarm.models.arms import Arms
from bestarm.validation import Array, shown

__all__ = ["Belief", "checked_single"]

Model = TypeVar("Model")


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
