"""The expected error and regret after fixed counts by plain simulation: for families without a faster way."""

from typing import Any

import numpy as np

from bestarm.error.evaluation import Evaluation, averaged
from bestarm.validation import Array

__all__ = ["evaluate_by_simulation"]

_DRAWS, _BAYES_DRAWS = 8192, 128  # at a time; deciding by chances takes long
_MOST_DRAWS = 2**22


def evaluate_by_simulation(
    model: Any,
    counts: Array,
    rule: str,
    assumed: Any,
    margin: float,
    target: float | None,
    rng: np.random.Generator,
) -> Evaluation:
    """Worlds drawn from the model, rewards from the worlds, decisions by the posterior of `assumed`; 0 or 1 each."""
    believed = model if assumed is None else assumed
    short, draws = np.zeros(0), _DRAWS if rule == "mean" else _BAYES_DRAWS
    while True:
        worlds, source = model._worlds(draws, rng)
        posterior = believed._conditioned(counts, source.sample_sums(worlds, counts, rng, believed.moments))
        score = posterior.arms.sign * posterior.mean if rule == "mean" else np.asarray(posterior.prob_best().value)
        means = model.arms.sign * worlds
        picked = means[np.arange(len(means)), np.argmax(score, axis=-1)]
        short = np.concatenate([short, means.max(axis=1) - picked])
        wrong = short > margin * (1 + 1e-12)
        error, regret = (averaged(part) for part in (wrong.astype(np.float64), short))
        if target is None or error.stderr <= target or len(short) >= _MOST_DRAWS:
            return Evaluation(error, regret)
