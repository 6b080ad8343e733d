"""What can go wrong: one root for errors, one for warnings.

A bad input is refused where it enters, in one sentence: which argument, what came, what was expected.
"""

__all__ = ["BestarmError", "BestarmWarning", "InputError", "PrecisionWarning", "StoreError", "ToldTwiceWarning"]


class BestarmError(Exception):
    """The root of every error that this package raises on purpose."""


class InputError(BestarmError, ValueError):
    """An argument, a file or a value that cannot be used as it stands."""


class StoreError(BestarmError):
    """A store that cannot be read or written just now; nothing of the step is stored, and it may be tried again."""


class BestarmWarning(UserWarning):
    """The root of every warning that this package gives."""


class ToldTwiceWarning(BestarmWarning):
    """A trial was told again; what was told first stands."""


class PrecisionWarning(BestarmWarning):
    """A result that double precision cannot give to the accuracy promised in the docs."""
