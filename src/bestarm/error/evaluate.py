"""`ba.evaluate`: how often the decision after fixed counts is wrong, whatever the family of the arms."""

from collections.abc import Callable
from typing import Any, Literal

from numpy.typing import ArrayLike

from bestarm.error.bernoulli import evaluate_bernoulli
from bestarm.error.evaluation import Evaluation, checked_assumed, checked_counts
from bestarm.error.exact import evaluate_gaussian
from bestarm.error.simulated import evaluate_by_simulation
from bestarm.errors import InputError
from bestarm.estimate import Estimate
from bestarm.models.belief import Belief
from bestarm.models.bernoulli import Bernoulli
from bestarm.models.gaussian import Gaussian
from bestarm.validation import choice, generator, non_negative, positive, whole

__all__ = ["FAMILIES", "error_probability", "evaluate"]

_MOST = 1e9  # evaluations of an arm whose rewards are not Gaussian

# how a family is evaluated; any other is simulated
FAMILIES: dict[Any, Callable[..., Evaluation]] = {Gaussian: evaluate_gaussian, Bernoulli: evaluate_bernoulli}


def evaluate(
    model: Belief,
    counts: ArrayLike,
    decide: Literal["mean", "bayes"] = "mean",
    assumed: Belief | None = None,
    margin: float = 0.0,
    target_stderr: float | None = None,
    rng: Any = 0,
) -> Evaluation:
    """Expected error probability and simple regret of deciding after `counts[k]` evaluations of each arm.

    decide: "mean" picks the largest posterior mean (the paper's rule), "bayes" the arm most likely to be best.
    assumed: what the decision maker believes instead of `model`, from which the truth comes: other means,
    variances, structure or noise over the same arms. margin: only an arm more than this below the best is an error.
    Exact ties are no errors. Gaussian counts may be fractions.

    Gaussian arms: exact (stderr 0) for one or two. Otherwise `stderr` comes from 16 independent randomisations; effort
    is fixed (a fraction of a second up to a few hundred arms) or, with `target_stderr`, what that error needs. Yes/no
    arms: exact wherever outcomes can be summed. Other families: by simulation.
    """
    n = checked_counts(model, counts)
    rule = choice(decide, "decide", ("mean", "bayes"))
    believed = checked_assumed(model, assumed)
    slack = float(non_negative(margin, "margin", ndim=0))
    target = None if target_stderr is None else float(positive(target_stderr, "target_stderr", ndim=0))
    if not isinstance(model, Gaussian):
        n = whole(counts, "counts")
        if (n > _MOST).any():
            raise InputError(f"counts has {n.max():g}; expected at most {_MOST:g} of each arm")
    how: Callable[..., Evaluation] = FAMILIES.get(type(model), evaluate_by_simulation)
    return how(model, n, rule, believed, slack, target, generator(rng))


def error_probability(
    model: Belief,
    counts: ArrayLike,
    decide: Literal["mean", "bayes"] = "mean",
    assumed: Belief | None = None,
    margin: float = 0.0,
    target_stderr: float | None = None,
    rng: Any = 0,
) -> Estimate:
    """The paper's expected probability of error, P_n: `evaluate(...).error`."""
    return evaluate(model, counts, decide, assumed, margin, target_stderr, rng).error
