"""What an evaluation is, and the checks that every way of making one shares."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bestarm.errors import InputError
from bestarm.estimate import Estimate
from bestarm.models.belief import Belief, Model, checked_single
from bestarm.validation import Array, non_negative, shown

__all__ = ["Evaluation", "averaged", "checked_assumed", "checked_counts"]


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation:
    """How often a decision is wrong, and how far the chosen arm is expected to fall short of the best one."""

    error: Estimate
    regret: Estimate

    def __str__(self) -> str:
        return f"error {self.error}, regret {self.regret}"

    def __repr__(self) -> str:
        return f"Evaluation({self})"


def averaged(outcomes: Array) -> Estimate:
    """Mean and standard error; one draw's worth of the largest outcome where nearly nothing was seen of it."""
    mean, number = float(outcomes.mean()), len(outcomes)
    stderr = float(outcomes.std(ddof=1) / np.sqrt(number))
    if mean * number < 10:
        stderr = max(stderr, max(1.0, float(outcomes.max())) / number)
    return Estimate(mean, stderr)


def checked_counts(model: Belief, counts: ArrayLike) -> Array:
    """Counts for a single model, one per arm."""
    checked_single(model)
    n = non_negative(counts, "counts")
    if n.shape != (model.num_arms,):
        raise InputError(f"counts has shape {n.shape}; expected one number per arm ({model.num_arms})")
    return n


def checked_assumed(model: Model, assumed: Model | None) -> Model | None:
    """Another model of the same family over the same arms."""
    if assumed is None:
        return None
    if not isinstance(assumed, type(model)) or assumed.batch_shape:
        raise InputError(f"assumed is {shown(assumed)}; expected a single {type(model).__name__} model, as model is")
    if getattr(assumed, "family", None) is not getattr(model, "family", None):
        raise InputError(f"assumed is {shown(assumed)}; expected the family of model, {shown(model)}")
    if assumed.num_arms != model.num_arms or assumed.direction != model.direction:
        raise InputError(
            f"assumed has {assumed.num_arms} arms ({assumed.direction}); "
            f"expected the arms of model: {model.num_arms} ({model.direction})"
        )
    named = model.arms.given_names is not None and assumed.arms.given_names is not None
    if named and model.names != assumed.names:
        k = next(k for k in range(model.num_arms) if model.names[k] != assumed.names[k])
        raise InputError(f"assumed calls arm {k} {assumed.names[k]!r}; expected the arms of model: {model.names[k]!r}")
    return assumed
