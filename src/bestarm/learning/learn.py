"""`ba.learn`: a model from a table of past results, with what was done in words."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from bestarm.errors import InputError
from bestarm.learning.empirical_bayes import beta_population, normal_arms, normal_population
from bestarm.learning.features import Regression, evidence_ridge
from bestarm.learning.mixture import Effects, gaussian_mixture, named_groups
from bestarm.learning.tables import Table, read_table
from bestarm.models.bernoulli import Bernoulli
from bestarm.models.files import save
from bestarm.models.gaussian import Gaussian
from bestarm.validation import choice, positive, shown

__all__ = ["KINDS", "Learned", "learn"]

Kind = Literal["auto", "independent", "linear", "groups", "mixture"]
KINDS = ("auto", "independent", "linear", "groups", "mixture")


@dataclass(frozen=True, eq=False)
class Learned:
    """model: what is now believed of each arm. table: what was read. method, notes: how, in sentences. fit: of a linear
    prior, with the standardisation that new arms need (`fit.design(features)`).
    """

    model: Any
    table: Table
    method: str
    notes: tuple[str, ...]
    fit: Regression | None = None

    @property
    def source(self) -> dict[str, Any]:
        """Where the model is from, for its file: rows, their hash, the method, the day."""
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        about = {"what": self.table.source, "rows": int(self.table.rows), "sha256": self.table.digest}
        about |= {"method": self.method, "date": today}
        if self.fit is not None:
            names = self.table.feature_names
            parts = zip(names, self.fit.shift.tolist(), self.fit.scale.tolist(), strict=True)
            about["standardised"] = [{"feature": name, "shift": a, "scale": b} for name, a, b in parts]
            about["coefficients"] = {"mean": self.fit.mean.tolist(), "cov": self.fit.cov.tolist()}
        return about

    def save(self, path: str | Path, units: str | None = None) -> None:
        """Write the model file, its source included."""
        save(self.model, path, source=self.source, units=units)


def learn(
    source: Any,
    kind: Kind = "auto",
    *,
    arms: Sequence[str] | None = None,
    noise: float | None = None,
    effects: int = 3,
    full: bool = False,
    direction: str = "maximize",
    **read: Any,
) -> Learned:
    """Learn a model from past results: a CSV or Parquet file, a database, a frame, columns, or a `Table`.

    kind
        "independent": each arm shrunk towards all of them (empirical Bayes); yes/no rewards give Beta beliefs.
        "linear": ridge regression on feature columns, chosen by the evidence. "groups": mixed effects of named groups.
        "mixture": the paper's Gaussian mixture of arm averages. "auto": groups or features where they are given, else
        independent.
    arms
        Names of further arms, of which there are no results: they get the population's prior ("independent" only).
    noise
        Sd of one evaluation, where the table cannot tell. effects: clusters of a mixture. full: keep the covariance of
        linear coefficients, not just its diagonal.
    read
        As in `read_table`: arm, reward, group, features (names of columns), delimiter, decimal, encoding, table.
    """
    name = choice(kind, "kind", KINDS)
    own = None if noise is None else float(positive(noise, "noise", ndim=0))
    table = source if isinstance(source, Table) else read_table(source, **read)
    if not (table.counts > 0).any():
        raise InputError("reward has no value for any arm; expected at least one")
    if name == "auto":
        name = "groups" if table.groups is not None else "linear" if table.features is not None else "independent"
    if arms is not None and (isinstance(arms, str) or not isinstance(arms, Sequence)):
        raise InputError(f"arms is {shown(arms)}; expected a list of names")
    if not isinstance(effects, int) or isinstance(effects, bool):
        raise InputError(f"effects is {shown(effects)}; expected a whole number")
    if arms is not None and name != "independent":
        raise InputError(f"arms is given and kind is '{name}'; expected kind 'independent' for arms without results")
    notes = [_read_note(table)]
    if name == "independent":
        return _independent(_extended(table, arms), own, direction, notes)
    about: dict[str, Any] = {"names": table.names, "direction": direction}
    if name == "linear":
        fit = evidence_ridge(table, full, own)
        notes.append(fit.status)
        model = Gaussian.linear(fit.design(table.features), fit.mean, fit.cov, fit.noise, **about)  # type: ignore[arg-type]
        return Learned(model, table, "ridge regression by maximum evidence", tuple(notes), fit)
    found: Effects = named_groups(table, own) if name == "groups" else gaussian_mixture(table, effects, own)
    prior = Gaussian.hierarchical(found.mixing, found.effect_mean, found.effect_cov, found.arm_sd, found.noise, **about)
    notes.append(
        f"effects {', '.join(found.labels[:6])}{', ...' if len(found.labels) > 6 else ''}: sd "
        f"{np.sqrt(np.diagonal(found.effect_cov)).mean():.3g} between them, {found.arm_sd:.3g} between arms of one"
    )
    how = "mixed effects of named groups" if name == "groups" else "Gaussian mixture of arm averages"
    return Learned(prior.condition(table.counts, table.sums), table, how, tuple(notes))


def _extended(table: Table, arms: Sequence[str] | None) -> Table:
    """With further arms that have no results."""
    if arms is None:
        return table
    more = [arm for arm in arms if arm not in table.names]
    if not all(isinstance(arm, str) for arm in arms):
        raise InputError(f"arms is {shown(list(arms))}; expected names")
    zero = np.zeros(len(more))
    parts = (np.concatenate([part, zero]) for part in (table.counts, table.sums, table.squares))
    counts, sums, squares = parts
    fields = {"names": (*table.names, *more), "counts": counts, "sums": sums, "squares": squares}
    return Table(**{**vars(table), **fields, "groups": None, "features": None})


def _independent(table: Table, noise: float | None, direction: str, notes: list[str]) -> Learned:
    if table.binary and noise is None:
        beta = beta_population(table)
        model = Bernoulli.independent(
            beta.alpha + table.sums, beta.beta + table.counts - table.sums, table.names, direction
        )
        notes.append(
            f"success probabilities of arms are like Beta({beta.alpha:.3g}, {beta.beta:.3g}): around "
            f"{beta.alpha / (beta.alpha + beta.beta):.3g}, worth {beta.alpha + beta.beta:.3g} evaluations"
        )
        return Learned(model, table, "empirical Bayes, beta-binomial", tuple(notes))
    population = normal_population(table, noise)
    mean, sd = normal_arms(table, population)
    notes.append(
        f"arms differ by about {population.sd:.3g} around {population.mean:.3g}; one evaluation is off by about "
        f"{population.noise:.3g}"
    )
    made = Gaussian.independent(mean, sd, population.noise, table.names, direction)
    return Learned(made, table, "empirical Bayes, restricted maximum likelihood", tuple(notes))


def _read_note(table: Table) -> str:
    skipped = f", {table.skipped} without a reward left out" if table.skipped else ""
    empty = [name for name, n in zip(table.names, table.counts, strict=True) if n == 0]
    without = f"; no reward for {', '.join(map(repr, empty[:5]))}{', ...' if len(empty) > 5 else ''}" if empty else ""
    kind = "yes/no" if table.binary else "numbers"
    return f"{table.rows} rows{skipped}; {table.num_arms} arms{without}; rewards are {kind}"
