"""The exact error of yes/no arms: against every outcome looked at, against simulation, and its special cases."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import betabinom

import bestarm as ba
from bestarm.error import bernoulli

MODEL = ba.Bernoulli.independent([1, 2, 3], [2, 2, 1])


def every_outcome(model, counts, decide="mean", assumed=None):
    """Σ over all outcomes of P(outcome) times what the posterior says of the decision."""
    error = regret = 0.0
    for sums in product(*(range(n + 1) for n in counts)):
        chance = np.prod(
            [betabinom.pmf(s, n, a, b) for s, n, a, b in zip(sums, counts, model.alpha, model.beta, strict=True)]
        )
        posterior = model.condition(counts, sums)
        believed = posterior if assumed is None else assumed.condition(counts, sums)
        picked = believed.best if decide == "mean" else int(np.argmax(believed.prob_best().value))
        error += chance * (1 - posterior.prob_best().value[picked])
        regret += chance * posterior.expected_regret().value[picked]
    return error, regret


@pytest.mark.parametrize("decide", ["mean", "bayes"])
@pytest.mark.parametrize("counts", [(0, 0, 0), (2, 0, 3), (3, 4, 2)])
def test_every_outcome(decide, counts):
    for assumed in (None, ba.Bernoulli.independent([3, 1, 1], [1, 1, 2])):
        found = ba.evaluate(MODEL, counts, decide, assumed)
        error, regret = every_outcome(MODEL, counts, decide, assumed)
        assert found.error.stderr == 0
        assert found.error.value == pytest.approx(error, abs=1e-9)
        assert found.regret.value == pytest.approx(regret, abs=1e-9)


def test_simulation_agrees():
    """200,000 worlds; 4.5 standard errors, with a margin and a wrong prior too."""
    counts, rng = np.array([30, 40, 20]), np.random.default_rng(0)
    means = MODEL.sample(200_000, rng)
    sums = rng.binomial(counts, means)
    wrong = ba.Bernoulli.independent([5, 1, 1], [1, 1, 1])
    for assumed in (None, wrong):
        picked = (assumed or MODEL).condition(counts, sums).best
        short = means.max(axis=1) - means[np.arange(len(means)), picked]
        for margin in (0.0, 0.1):
            share = (short > margin).mean()
            exact = ba.evaluate(MODEL, counts, assumed=assumed, margin=margin).error.value
            assert abs(share - exact) < 4.5 * np.sqrt(share * (1 - share) / len(short))
        assert abs(short.mean() - ba.evaluate(MODEL, counts, assumed=assumed).regret.value) < 4.5 * short.std() / 447


def test_beyond_ten_million_outcomes_it_is_drawn(monkeypatch):
    """The drawn error is the summed one within 4.5 of its own standard errors, by both rules."""
    counts = [20, 15, 18]
    for decide in ("mean", "bayes"):
        exact = ba.evaluate(MODEL, counts, decide)
        with monkeypatch.context() as patched:
            patched.setattr(bernoulli, "_MOST_OUTCOMES", 10)
            patched.setattr(bernoulli, "_MOST_ENTRIES", 10)
            drawn = ba.evaluate(MODEL, counts, decide)
            fine = ba.evaluate(MODEL, counts, decide, margin=0.05)
        assert drawn.error.stderr > 0
        assert abs(drawn.error.value - exact.error.value) < 4.5 * drawn.error.stderr
        assert abs(drawn.regret.value - exact.regret.value) < 4.5 * drawn.regret.stderr
        exact = ba.evaluate(MODEL, counts, decide, margin=0.05).error.value
        assert abs(fine.error.value - exact) < 4.5 * fine.error.stderr


def test_special_cases():
    assert ba.evaluate(MODEL, [0, 0, 0]).error.value == pytest.approx(1 - MODEL.prob_best().value[MODEL.best], abs=1e-9)
    assert ba.error_probability(MODEL, [4000, 4000, 4000]).value < 0.02
    assert ba.evaluate(ba.Bernoulli.independent([2], [3]), [5]).error.value == 0
    turned = ba.Bernoulli.independent([2, 2, 1], [1, 2, 3], direction="minimize")
    assert ba.evaluate(turned, [3, 4, 2]).error.value == pytest.approx(ba.evaluate(MODEL, [3, 4, 2]).error.value)
    assert ba.evaluate(MODEL, [9, 9, 9], "bayes").error.value <= ba.evaluate(MODEL, [9, 9, 9]).error.value + 1e-12
    order = [2, 0, 1]
    permuted = ba.Bernoulli.independent(MODEL.alpha[order], MODEL.beta[order])
    assert ba.evaluate(permuted, [7, 5, 6]).error.value == pytest.approx(ba.evaluate(MODEL, [5, 6, 7]).error.value)


def test_plans_are_judged_by_the_exact_error():
    """The view's plan is within 1 % of the best of 400 random splits, and its evaluation is the Bernoulli's own."""
    model = ba.Bernoulli.independent([1, 6, 3], [1, 4, 3])
    plan = ba.plan(model, 60)
    assert plan.model is model
    assert plan.evaluation.error.value == ba.evaluate(model, plan.counts).error.value
    rng = np.random.default_rng(0)
    others = [ba.error_probability(model, rng.multinomial(60, rng.dirichlet(np.ones(3)))).value for _ in range(400)]
    assert plan.evaluation.error.value < 1.01 * min(others)


def test_bad_input():
    for call, message in [
        (lambda: ba.evaluate(MODEL, [1.5, 0, 0]), "whole number"),
        (lambda: ba.evaluate(MODEL, [1, 0]), "one number per arm"),
        (
            lambda: ba.evaluate(MODEL, [1, 0, 0], assumed=ba.Gaussian.independent([0, 1, 2], 1)),
            "single Bernoulli model",
        ),
        (lambda: ba.error_bound(MODEL, [1, 1, 1]), "expected Gaussian arms"),
    ]:
        with pytest.raises(ba.InputError, match=message):
            call()
