"""Where the paper's figures get their numbers: simulations kept in a folder.

A run that was cut short goes on from there, and figures that show the same simulation run it once.
"""

import hashlib
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

import bestarm
from bestarm.models.gaussian import Gaussian
from bestarm.paper.settings import CHOICES, checked_readings, prior
from bestarm.policies.bayes_elim import BayesElim
from bestarm.policies.contract import Policy
from bestarm.policies.halving import SequentialHalving
from bestarm.policies.registry import policy
from bestarm.policies.rejects import SuccessiveRejects
from bestarm.policies.top_two import TopTwo
from bestarm.policies.warmup import Warmup
from bestarm.report.curves import Curve
from bestarm.simulation.engine import fingerprint, simulate
from bestarm.simulation.results import Outcome, Results
from bestarm.simulation.worlds import truth_of

__all__ = ["Lab", "NOT_PUBLISHED", "PUBLISHED", "Variant"]


@dataclass(frozen=True)
class Variant:
    """A policy as in the authors' published code, and how that differs from what the name stands for elsewhere."""

    policy: Policy
    differs: str


_DISCARDED = "warm-up rewards are discarded"
_SECOND = "leader by posterior mean, challenger the second least cost, the leader's own included"
_ROUNDS = "budget divided by a real log2 K, but ⌊log2 K⌋ rounds; counts and halves rounded down, the rest unspent"
PUBLISHED = {
    "warmup-ts": Variant(Warmup(rule="ts", keep=False), _DISCARDED),
    "warmup-ttts": Variant(Warmup(rule="ttts", keep=False), _DISCARDED),
    "warmup-t3c": Variant(Warmup(rule="t3c", keep=False, published=True), f"{_SECOND}; {_DISCARDED}"),
    "warmup-ts-tci": Variant(Warmup(rule="t3c", keep=False, published=True), "plays warmup-t3c under that name"),
    "ts-tci": Variant(TopTwo(rule="ts-tci", published=True), _SECOND),
    "sh": Variant(SequentialHalving(remainder="published"), f"{_ROUNDS}; arms never evaluated rank first"),
    "sr": Variant(
        SuccessiveRejects(remainder="leave", rerank=True),
        "all arms are ranked again after each phase, rejected ones return; what the formula leaves is unspent",
    ),
    "bayes-elim": Variant(BayesElim(remainder="published"), _ROUNDS),
}
# the list of all differences is in docs/policies.md
NOT_PUBLISHED = (
    "No option brings back: plans with counts rounded down or drawn at random, heuristic weights by variances, blends "
    "normalised in L2, objectives with half the exponent, the rounds of GSE, BayesGap's first evaluations, the wrong "
    "hierarchical covariance, and instances counted twice."
)


@dataclass
class Lab:
    """runs: of each cell. deep_runs: of rolling where arms are hierarchical. budgets: at most so many of each setting,
    0 for all. published: the authors' variants. readings: names of `READINGS` to take instead. folder: for finished
    simulations. movies: path to MovieLens, or None. used: what was run or found, in order.
    """

    folder: Path
    runs: int = 10_000
    deep_runs: int = 2_000
    budgets: int = 0
    seed: int = 0
    published: bool = False
    readings: tuple[str, ...] = ()
    movies: str | None = None
    executor: Executor | None = None
    progress: bool = False
    used: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.readings = checked_readings(self.readings)

    def prior(self, name: str) -> Gaussian:
        """The prior of one of the six settings, as this lab reads the paper."""
        return prior(name, self.seed, self.readings)

    def policy(self, name: str) -> Any:
        """The policy of that name, as this lab plays it."""
        if self.published and name in PUBLISHED:
            return PUBLISHED[name].policy
        made = policy(name)
        return replace(made, keep=False) if isinstance(made, Warmup) and "warm-up" in self.readings else made

    def thinned(self, budgets: Sequence[int]) -> list[int]:
        """All budgets, or a few evenly spaced ones with both ends."""
        if not self.budgets or len(budgets) <= self.budgets:
            return list(budgets)
        which = np.unique(np.round(np.linspace(0, len(budgets) - 1, self.budgets)).astype(int))
        return [budgets[k] for k in which]

    def results(
        self,
        model: Any,
        policies: Sequence[str] | Mapping[str, Any],
        budgets: Sequence[int],
        runs: int | None = None,
        thin: bool = True,
        part: bool = False,
        truth: Any = None,
        repeats: int = 1,
        outcome: Literal["conditional", "realised"] = "conditional",
    ) -> Results:
        """A simulation, run now or found in the folder, where each policy has a file of its own: what several figures
        show, or a lab that plays other variants, is run once. thin: at fewer budgets, if the lab is told to. part: it
        is one of several that make a cell.
        """
        chosen: dict[str, Any] = dict(policies) if isinstance(policies, Mapping) else {each: each for each in policies}
        amounts = self.thinned(budgets) if thin else list(budgets)
        number = self.runs if runs is None else runs
        self.folder.mkdir(parents=True, exist_ok=True)
        world = fingerprint(model, truth_of(model, truth))
        blocks: dict[tuple[str, float, int], Outcome] = {}
        settings: dict[str, Any] = {}
        for label, each in chosen.items():
            played = self.policy(each) if isinstance(each, str) else each
            about = repr((world, played, amounts, number, self.seed, repeats, outcome))
            digest = hashlib.sha256(about.encode()).hexdigest()[:16]
            found = simulate(
                model,
                {played.name: played},
                amounts,
                number,
                self.seed,
                truth,
                executor=self.executor,
                out=self.folder / f"{played.name.replace(':', '-')}-{digest}.bin",
                progress=self.progress,
                repeats=repeats,
                outcome=outcome,
            )
            blocks |= {(label, budget, block): one for (_, budget, block), one in found.blocks.items()}
            settings = found.settings
        together = Results({**settings, "policies": list(chosen), "options": {}}, blocks)
        if not part:
            self.used.append({key: together.settings[key] for key in ("policies", "runs", "repeats")})
        return together

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
        if self.readings:
            about["readings"] = " ".join(self.readings)
        return about

    @property
    def choices(self) -> list[tuple[str, str, str, str]]:
        """Rows of `CHOICES`: what, in the paper, what this lab takes, and the name of the other reading."""
        taken = {*self.readings, "warm-up"} if self.published else set(self.readings)
        return [
            (each.what, each.paper, f"{each.other} (the other reading)", each.reading)
            if each.reading in taken
            else (each.what, each.paper, each.here, each.reading)
            for each in CHOICES
        ]
