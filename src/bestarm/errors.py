"""What can go wrong: one root for errors, one for warnings.

A bad input is refused where it enters, in one sentence: which argument, what came, what was expected.
"""

__all__ = [
    "BestarmError",
    "BestarmWarning",
    "ExperimentExists",
    "InputError",
    "NoSuchExperiment",
    "OverBudget",
    "PrecisionWarning",
    "RewardError",
    "StoreError",
    "ToldTwiceWarning",
]


class BestarmError(Exception):
    """The root of every error that this package raises on purpose."""


class InputError(BestarmError, ValueError):
    """An argument, a file or a value that cannot be used as it stands."""


class ExperimentExists(InputError):
    """A name that the store has already."""


class NoSuchExperiment(InputError):
    """A name that the store does not have, or no store."""


class OverBudget(InputError):
    """More values than the budget has room for; room: how many there are."""

    def __init__(self, message: str, room: int) -> None:
        super().__init__(message)
        self.room = room


class RewardError(InputError):
    """A value that no evaluation of this model can give."""


class StoreError(BestarmError):
    """A store that cannot be read or written just now; nothing of the step is stored, and it may be tried again."""


class BestarmWarning(UserWarning):
    """The root of every warning that this package gives."""


class ToldTwiceWarning(BestarmWarning):
    """A trial was told again; what was told first stands."""


class PrecisionWarning(BestarmWarning):
    """A result that double precision cannot give to the accuracy promised in the docs."""
