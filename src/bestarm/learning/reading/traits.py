"""The groups and the features of arms, which are the same in all rows of an arm."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from bestarm.errors import InputError
from bestarm.learning.reading.cells import Cells
from bestarm.validation import LARGEST, Array, read_only, shown

__all__ = ["Traits"]


@dataclass
class Traits:
    """What is known of arms so far. auto: a column that cannot be a feature is left out, not refused."""

    auto: bool
    groups: dict[str, str] = field(default_factory=dict)
    features: dict[str, dict[str, float]] = field(default_factory=dict)  # of each feature: value of each arm

    def look_for(self, features: Iterable[str]) -> None:
        """These are the features, whatever there was before."""
        self.features = {name: self.features.get(name, {}) for name in features}

    def leave_out(self, feature: str) -> None:
        self.features.pop(feature, None)

    def add_group(self, name: str, group: str | None, where: str) -> None:
        if group is not None and self.groups.setdefault(name, group) != group:
            raise InputError(
                f"{where}group of arm {shown(name)} is {shown(group)}, where it was {shown(self.groups[name])}; "
                "expected one group for each arm"
            )

    def add_cell(self, name: str, feature: str, cell: object, cells: Cells, where: str) -> None:
        """One feature of an arm, as one row has it."""
        if feature not in self.features:
            return  # found not to be one
        x = cells.number(cell)
        if x is None or (x == x and not abs(x) <= LARGEST):
            if not self.auto:
                expected = "a number" if x is None else f"a number of size at most {LARGEST:g}"
                raise InputError(f"{where}{feature} is {shown(cell)}; expected {expected}, as for every feature")
            self.leave_out(feature)
        elif x == x:
            self.add_feature(name, feature, x, where)

    def add_feature(self, name: str, feature: str, x: float, where: str) -> None:
        if feature in self.features and (before := self.features[feature].setdefault(name, x)) != x:
            if not self.auto:
                raise InputError(
                    f"{where}{feature} of arm {shown(name)} is {x:g}, where it was {before:g}; "
                    "expected features that are the same in all rows of an arm"
                )
            self.leave_out(feature)

    def features_of(self, names: Sequence[str]) -> Array | None:
        """(K, d), None if there are no features."""
        for feature, values in list(self.features.items()):
            without = next((name for name in names if name not in values), None)
            if without is not None and not self.auto:
                raise InputError(f"{feature} of arm {shown(without)} is empty; expected a number, as for every feature")
            if without is not None:
                self.leave_out(feature)
        if not self.features:
            return None
        rows = [[values[name] for values in self.features.values()] for name in names]
        return read_only(np.array(rows, dtype=np.float64))

    def groups_of(self, names: Sequence[str]) -> tuple[str, ...]:
        if without := next((name for name in names if name not in self.groups), None):
            raise InputError(f"group of arm {shown(without)} is empty; expected the name of a group")
        return tuple(self.groups[name] for name in names)
