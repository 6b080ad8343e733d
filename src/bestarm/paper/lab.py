"""Where the paper's figures get their numbers: simulations kept in a folder.

A run that was cut short goes on from there, and figures that show the same simulation run it once.
"""

import hashlib
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import bestarm
from bestarm.policies.bayes_elim import BayesElim
from bestarm.policies.contract import Policy
from bestarm.policies.halving import SequentialHalving
from bestarm.policies.registry import policy
from bestarm.policies.warmup import Warmup
from bestarm.report.curves import Curve
from bestarm.simulation.engine import simulate
from bestarm.simulation.results import Results

__all__ = ["Lab", "PUBLISHED"]

# options that bring a policy nearer to the authors' published code (docs/policies.md); the others are as they are
PUBLISHED: dict[str, Policy] = {
    "warmup-ts": Warmup(rule="ts", keep=False),
    "warmup-ts-tci": Warmup(rule="t3c", keep=False),
    "warmup-t3c": Warmup(rule="t3c", keep=False),
    "sh": SequentialHalving(remainder="leave"),
    "bayes-elim": BayesElim(remainder="leave"),
}


@dataclass
class Lab:
    """runs: of each cell. deep_runs: of rolling where arms are hierarchical. budgets: at most so many of each setting,
    0 for all. published: the authors' variants. folder: for finished simulations. movies: path to MovieLens, or None.
    """

    folder: Path
    runs: int = 10_000
    deep_runs: int = 2_000
    budgets: int = 0
    seed: int = 0
    published: bool = False
    movies: str | None = None
    executor: Executor | None = None
    progress: bool = False
    used: list[Results] = field(default_factory=list)

    def thinned(self, budgets: Sequence[int]) -> list[int]:
        """All budgets, or a few evenly spaced ones with both ends."""
        if not self.budgets or len(budgets) <= self.budgets:
            return list(budgets)
        which = np.unique(np.round(np.linspace(0, len(budgets) - 1, self.budgets)).astype(int))
        return [budgets[k] for k in which]

    def results(
        self,
        name: str,
        model: Any,
        policies: Sequence[str] | Mapping[str, Any],
        budgets: Sequence[int],
        runs: int | None = None,
        thin: bool = True,
        **options: Any,
    ) -> Results:
        """A simulation, run now or found in the folder. thin: at fewer budgets, if the lab is told to."""
        chosen: dict[str, Any] = dict(policies) if isinstance(policies, Mapping) else {each: each for each in policies}
        if self.published:
            chosen = {
                label: PUBLISHED.get(each, each) if isinstance(each, str) else each for label, each in chosen.items()
            }
        amounts = self.thinned(budgets) if thin else list(budgets)
        number = self.runs if runs is None else runs
        made = {label: policy(each) if isinstance(each, str) else each for label, each in chosen.items()}
        about = repr((name, made, amounts, number, self.seed, sorted(options)))
        self.folder.mkdir(parents=True, exist_ok=True)
        kept = (
            self.folder
            / f"{name.replace(', ', '-').replace(' ', '-')}-{hashlib.sha256(about.encode()).hexdigest()[:12]}.bin"
        )
        found = simulate(
            model,
            made,
            amounts,
            number,
            seed=self.seed,
            out=kept,
            executor=self.executor,
            progress=self.progress,
            **options,
        )
        self.used.append(found)
        return found

    def curves(self, results: Results, what: str = "error") -> list[Curve]:
        """One curve a policy: its mean outcome over budgets, with standard errors."""
        x = np.array(results.budgets)
        out = []
        for label in results.policies:
            cells = [results.estimate(label, budget, what) for budget in results.budgets]
            out.append(
                Curve(label, x, np.array([float(c.value) for c in cells]), np.array([float(c.stderr) for c in cells]))
            )
        return out

    @property
    def settings(self) -> dict[str, Any]:
        """What is written into every file."""
        about: dict[str, Any] = {"bestarm": bestarm.__version__, "seed": self.seed, "runs": self.runs}
        if self.published:
            about["variants"] = "as published"
        return about
