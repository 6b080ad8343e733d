"""The robustness table is the exact error under other truths, and says when the prior does harm."""

import numpy as np
import pytest

import bestarm as ba
from bestarm.checks.robustness import robustness, robustness_sentence

MODEL = ba.Gaussian.independent([0.0, 0.3, 0.5], [0.1, 0.3, 0.4], 1.0, ["a", "b", "c"])


def test_no_shift_is_the_plans_error():
    plan = ba.plan(MODEL, 60)
    table = robustness(MODEL, plan.counts, (0.0, 3.0), (1.0,))
    assert table["error"][0] == pytest.approx(plan.evaluation.error.value, abs=5 * table["stderr"][0] + 1e-4)
    behind = table["error"] - table["even"]
    assert behind[0] < 0 < behind[1], "right, the prior helps; three sds off, it does harm"
    assert (table["stderr"] >= 0).all()


def test_other_truths_by_simulation():
    """Factor 2, no shift: 20,000 worlds of twice the sds, decided with the prior; 4.5 standard errors."""
    counts = np.array([10, 20, 30])
    table = robustness(MODEL, counts, (0.0,), (2.0,))
    truth = ba.Gaussian.independent(MODEL.mean, 2 * np.sqrt(MODEL.var), 1.0)
    rng = np.random.default_rng(0)
    means = truth.sample(20_000, rng)
    picked = MODEL.condition(counts, truth.sample_sums(means, counts * 1.0, rng)).best
    wrong = (means.max(axis=1) > means[np.arange(20_000), picked]).mean()
    assert abs(wrong - table["error"][0]) < 4.5 * np.sqrt(wrong * (1 - wrong) / 20_000)


def test_sentences():
    assert "does more harm than good" in robustness_sentence(
        ba.Gaussian.independent([0.0, 0.01, 0.02], 0.01, 1.0), [4000, 4000, 4000]
    )
    assert "Uniform is as good here" in robustness_sentence(ba.Gaussian.independent([0.0, 0.0], 1.0), [50, 50])


def test_bad_input():
    for call, message in [
        (lambda: robustness(ba.Bernoulli.independent([1], [1]), [1]), "expected Gaussian arms"),
        (lambda: robustness(MODEL, [1, 2]), "one number per arm"),
        (lambda: robustness(MODEL, [1, 2, 3], factors=(0.0,)), "factors"),
    ]:
        with pytest.raises(ba.InputError, match=message):
            call()
