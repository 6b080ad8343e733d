"""What an experiment's report tells: how it went, evaluation by evaluation, and where it stands."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bestarm.design.budget import error_curve
from bestarm.errors import InputError
from bestarm.experiment.events import Event
from bestarm.experiment.recommendation import Recommendation, intervals
from bestarm.learning.from_nothing import LearnedBernoulli, LearnedGaussian
from bestarm.models.bernoulli import Bernoulli
from bestarm.models.gaussian import Gaussian
from bestarm.validation import Array

if TYPE_CHECKING:
    from bestarm.experiment.experiment import Experiment, Status

__all__ = ["Story", "story_of"]

_LOOKS, _FEW_LOOKS = 40, 16  # moments at which the chance to be best is computed; few where that takes draws
_MANY = 200  # arms from which on the expected error is left out
_SAID = 5  # options whose failures are told apart
_ENTRIES = 4_000_000  # numbers that all looks together may hold


@dataclass(frozen=True, eq=False)
class Story:
    """recommendation, status: now. mean, low, high, chance: of each arm now, (K,). looks: evaluations seen, (T,);
    spent: of the budget by then, (T,); chances: to be best, (T, K); wrong: that the arm picked then was not, (T,).
    budgets, expected: errors that a plan made beforehand would have, under the prior, or empty. notes: sentences.
    """

    status: "Status"
    recommendation: Recommendation
    mean: Array
    low: Array
    high: Array
    chance: Array
    looks: Array
    spent: Array
    chances: Array
    wrong: Array
    budgets: Array
    expected: Array
    notes: tuple[str, ...]
    began: str
    ended: str
    seed: int
    version: str


def story_of(experiment: "Experiment", margin: float = 0.0) -> Story:
    """The whole story, from the log."""
    log, settings = experiment.log(), experiment.settings
    model = settings.model
    evidence = [event for event in log if event.kind in ("told", "added")]
    quick = isinstance(model, Gaussian | Bernoulli) and not (isinstance(model, Gaussian) and model.covariance.rank)
    most = _LOOKS if quick else min(_FEW_LOOKS, 6 + 3000 // model.num_arms)
    looks, spent, chances, wrong = _looks(model, evidence, _spent(log), most)
    posterior = experiment.posterior()
    low, high = intervals(posterior)
    status = experiment.status()
    budgets, expected = _expected(settings, status.budget)
    return Story(
        status,
        experiment.recommend(margin),
        posterior.mean,
        np.asarray(low),
        np.asarray(high),
        np.asarray(posterior.prob_best().value),
        looks,
        spent,
        chances,
        wrong,
        budgets,
        expected,
        _notes(log, model.names),
        log[0].at,
        log[-1].at,
        settings.seed,
        log[0].payload["bestarm"],
    )


def _spent(log: list[Event]) -> Array:
    """Of the budget, at each piece of evidence: what was told or failed by then."""
    cost: dict[int, float] = {}
    total, out = 0.0, []
    for event in log:
        payload = event.payload
        if event.kind == "asked":
            cost[payload["trial"]] = payload["cost"]
        elif event.kind == "told":
            total += cost.pop(payload["trial"], 0.0) + payload["extra"]
        elif event.kind == "failed":
            total += -payload["cost"] if payload["trial"] not in cost else 0.0
            total += 0.0 if payload["refund"] else payload["cost"]
            cost.pop(payload["trial"], None)
        if event.kind in ("told", "added"):
            out.append(total)
    return np.array(out)


def _looks(model: Any, evidence: list[Event], paid: Array, most: int) -> tuple[Array, Array, Array, Array]:
    """Chances to be best as the evidence came in."""
    arm = np.array([event.payload["arm"] for event in evidence], dtype=np.intp)
    rows = np.array([[event.payload[key] for key in ("n", "sum", "squares")] for event in evidence])
    seen = np.cumsum(rows[:, 0]) if len(rows) else np.zeros(0)
    most = max(2, min(most, _ENTRIES // max(model.num_arms, 1)))
    ends = np.unique(np.round(np.linspace(0, len(evidence), most)).astype(int))
    total = np.zeros((model.num_arms, 3))
    chances, wrong, done = [], [], 0
    for end in ends:
        np.add.at(total, arm[done:end], rows[done:end] if end else np.zeros((0, 3)))
        done = end
        posterior = model
        if total[:, 0].any():
            posterior = model._conditioned(total[:, 0], total[:, 1] if model.moments == 1 else total[:, 1:])
        chance = np.asarray(posterior.prob_best().value)
        chances.append(chance)
        wrong.append(1 - float(chance[int(posterior.best)]))
    counts = np.array([float(seen[end - 1]) if end else 0.0 for end in ends])
    spent = np.array([float(paid[end - 1]) if end else 0.0 for end in ends])
    return counts, spent, np.array(chances), np.array(wrong)


def _expected(settings: Any, budget: float) -> tuple[Array, Array]:
    """Expected error of a plan made beforehand, at eight budgets up to the whole one."""
    model = settings.model
    nothing = np.zeros(0), np.zeros(0)
    if isinstance(model, LearnedGaussian | LearnedBernoulli) or model.num_arms > _MANY or not model.exact:
        return nothing
    budgets = np.unique(np.round(np.geomspace(max(budget / 50, 1), budget, 8)))
    try:
        table = error_curve(model, budgets, "tie", settings.costs if settings.priced else None)
    except InputError:  # a budget below the price of an arm, or a family whose error nobody can compute
        return nothing
    return np.asarray(table["budget"], dtype=np.float64), np.asarray(table["error"], dtype=np.float64)


def _notes(log: list[Event], names: tuple[str, ...]) -> tuple[str, ...]:
    """What happened besides evaluations."""
    said = []
    for event in log:
        at, payload = event.at[:16].replace("T", " "), event.payload
        if event.kind == "extended":
            said.append(f"{at} UTC: the budget was extended by {payload['by']:g}.")
        elif event.kind == "stopped":
            said.append(
                f"{at} UTC: stopped, as the chance of being wrong, {payload['chance']:.2%}, was below "
                f"{payload['stop_at']:.2%}."
            )
    added = sum(event.payload["n"] for event in log if event.kind == "added")
    if added:
        said.append(f"{added:,} evaluations made elsewhere were added as history; they spend nothing.")
    failed: dict[int, list[str]] = {}
    for event in log:
        if event.kind == "failed":
            failed.setdefault(event.payload["arm"], []).append(event.payload["message"] or "")
    for arm, messages in sorted(failed.items(), key=lambda each: -len(each[1]))[:_SAID]:
        number = f"{len(messages):,} evaluation{'s' if len(messages) > 1 else ''}"
        last = f"; the last one {messages[-1][:200]}" if messages[-1] else ""
        said.append(f"{number} of {names[arm]!r} failed{last}.")
    if len(failed) > _SAID:
        said.append(f"Evaluations of {len(failed) - _SAID:,} more options failed.")
    return tuple(said)
