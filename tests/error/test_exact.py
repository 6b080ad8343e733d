"""The exact error: limits, closed forms, reductions, and agreement with plain simulation of raw rewards."""

import itertools

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.integrate import quad
from scipy.special import ndtr

import bestarm as ba
from random_models import SETTINGS, random_counts, random_model
from tolerances import ROUNDING


def simulate(model, counts, runs, rng, assumed=None, margin=0.0):
    """Draw worlds, draw every reward, decide by posterior mean, count: (error, its se, regret, its se)."""
    sign, believed = 1 if model.direction == "maximize" else -1, assumed or model
    means = model.sample(runs, rng)
    pulls = rng.permutation(np.repeat(np.arange(model.num_arms), np.asarray(counts, dtype=int)))
    rewards = model.sample_rewards(means, pulls, rng)
    sums = rewards @ (pulls[:, None] == np.arange(model.num_arms))
    picked = believed.condition(counts, sums).best
    for world in range(10):  # and reward by reward, as a person would
        assert believed.update(pulls, rewards[world]).best == picked[world]
    loss = (sign * means).max(axis=1) - (sign * means)[np.arange(runs), picked]
    wrong = loss > margin + 1e-9  # copies of an arm are equal up to rounding
    return wrong.mean(), wrong.std() / np.sqrt(runs), loss.mean(), loss.std() / np.sqrt(runs)


def agree(evaluation, simulated, z=4.0):
    error, error_se, regret, regret_se = simulated
    assert abs(evaluation.error.value - error) <= z * np.hypot(error_se, evaluation.error.stderr)
    assert abs(evaluation.regret.value - regret) <= z * np.hypot(regret_se, evaluation.regret.stderr)


# 20 problems × 2 numbers × 3 settings at 4 standard errors each: a correct program fails the whole table
# once in 130 such suites (P(|z| > 4) = 6e-5 per number; the mean of 100 or more errors is near enough to normal).
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("seed", range(20))
def test_agrees_with_simulation_of_raw_rewards(setting, seed):
    """Three to eight arms; problems in which 20,000 runs see fewer than 100 errors are drawn again."""
    rng = np.random.default_rng([seed, SETTINGS.index(setting)])
    for _ in range(20):
        model = random_model(setting, rng, arms=int(rng.integers(3, 9)), direction=["maximize", "minimize"][seed % 2])
        counts = random_counts(model.num_arms, rng)
        simulated = simulate(model, counts, 20_000, rng)
        if simulated[0] >= 0.005:
            break
    assert simulated[0] >= 0.005
    agree(ba.evaluate(model, counts), simulated)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("seed", range(8))
def test_agrees_with_simulation_under_wrong_priors(setting, seed):
    rng = np.random.default_rng([seed, 7, SETTINGS.index(setting)])
    k = int(rng.integers(2, 7))
    model = random_model(setting, rng, arms=k)
    assumed = random_model(SETTINGS[seed % 3], rng, arms=k)
    counts, margin = random_counts(k, rng), float(seed % 2) * 0.3
    got = ba.evaluate(model, counts, assumed=assumed, margin=margin)
    agree(got, simulate(model, counts, 20_000, rng, assumed, margin))


@pytest.mark.parametrize("setting", SETTINGS)
def test_margins(setting):
    rng = np.random.default_rng(3)
    model = random_model(setting, rng, arms=5, corners=False)
    counts = random_counts(5, rng)
    errors = [ba.error_probability(model, counts, margin=m).value for m in (0, 0.1, 0.5, 2, 50)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] == 0
    agree(ba.evaluate(model, counts, margin=0.1), simulate(model, counts, 20_000, rng, margin=0.1))


def bayes_by_simulation(model, counts, runs, rng, assumed=None):
    """The Bayes decision on simulated data, with the exact chances of each posterior (independent arms)."""
    means = model.sample(runs, rng)
    sums = counts * means + np.sqrt(counts) * model.noise * rng.standard_normal(means.shape)
    picked = np.argmax((assumed or model).condition(counts, sums).prob_best().value, axis=1)
    loss = means.max(axis=1) - means[np.arange(runs), picked]
    wrong = loss > 0
    return wrong.mean(), wrong.std() / np.sqrt(runs), loss.mean(), loss.std() / np.sqrt(runs)


@pytest.mark.parametrize("seed", range(4))
def test_bayes_decision_for_independent_arms(seed):
    rng = np.random.default_rng(seed)
    model = random_model("independent", rng, arms=4, corners=False)
    assumed = random_model("independent", rng, arms=4, corners=False) if seed % 2 else None
    counts = random_counts(4, rng)
    got = ba.evaluate(model, counts, decide="bayes", assumed=assumed)
    agree(got, bayes_by_simulation(model, counts, 20_000, rng, assumed))
    if assumed is None:  # the best rule there is
        other = ba.error_probability(model, counts)
        assert got.error.value <= other.value + 4 * np.hypot(got.error.stderr, other.stderr)


def test_bayes_beats_mean_where_they_differ():
    """A sure second-best against many unsure arms: the likeliest best is not the one with the largest mean."""
    model = ba.Gaussian.independent([0.1, 0, 0, 0], [0.01, 1, 1, 1])
    mean, bayes = (ba.error_probability(model, np.zeros(4), decide=rule).value for rule in ("mean", "bayes"))
    np.testing.assert_allclose(mean, 1 - model.prob_best().value[0], atol=1e-3)
    np.testing.assert_allclose(bayes, 1 - model.prob_best().value[1], atol=1e-3)
    assert bayes < mean - 0.1


@pytest.mark.parametrize("setting", ["linear", "hierarchical"])
def test_bayes_decision_for_correlated_arms(setting):
    rng = np.random.default_rng(5)
    model = random_model(setting, rng, arms=4, corners=False)
    counts = np.array([2.0, 0, 1, 3])
    mean, bayes = (ba.error_probability(model, counts, decide=rule) for rule in ("mean", "bayes"))
    assert bayes.value <= mean.value + 4 * np.hypot(mean.stderr, bayes.stderr)
    chance = model.prob_best()
    prior = ba.error_probability(model, np.zeros(4), decide="bayes")
    np.testing.assert_allclose(
        prior.value, 1 - chance.value.max(), atol=5 * (chance.stderr.max() + prior.stderr) + 1e-6
    )


# 10 problems × 2 structures × 2 numbers at 4 combined standard errors: a correct program fails once in 400 suites.
@pytest.mark.parametrize("seed", range(10))
def test_bayes_decision_does_not_depend_on_how_the_belief_is_written(seed, monkeypatch):
    """One almost certain arm among uncertain ones, where the rules differ most: the exact rule against the draws."""
    monkeypatch.setattr("bestarm.error.exact._BAYES_WORK", 50_000)
    rng, k = np.random.default_rng(seed), 5
    mean, sd = np.r_[0.3, rng.normal(0, 0.2, k - 1)], np.r_[0.05, rng.uniform(0.6, 1.5, k - 1)]
    counts = rng.integers(0, 4, k)
    integrated = ba.evaluate(ba.Gaussian.independent(mean, sd), counts, decide="bayes")
    for model in (
        ba.Gaussian.linear(np.eye(k), mean, np.diag(sd**2)),
        ba.Gaussian.hierarchical(np.eye(k), mean, np.diag(sd**2) / 2, sd / np.sqrt(2)),
    ):
        drawn = ba.evaluate(model, counts, decide="bayes")
        for a, b in ((integrated.error, drawn.error), (integrated.regret, drawn.regret)):
            assert abs(a.value - b.value) <= 4 * np.hypot(a.stderr, b.stderr)


def test_bayes_decision_knows_what_its_draws_leave_in_doubt(monkeypatch):
    """With fewer draws the chosen arm is less surely the likeliest, and the standard error grows with it."""
    model, results = ba.Gaussian.linear(np.eye(4), [0, 0.1, 0.1, 0], np.eye(4)), []
    for rounds in (1, 16):
        monkeypatch.setattr("bestarm.error.exact._ROUNDS", rounds)
        results.append(ba.evaluate(model, [1, 2, 0, 1], decide="bayes"))
    few, many = results
    assert few.error.stderr > many.error.stderr
    assert abs(few.error.value - many.error.value) <= 4 * few.error.stderr


def test_bayes_decision_counts_copies_together():
    """Two copies of one arm share their wins with nobody: doubling an arm changes no decision."""
    single = ba.Gaussian.linear([[1.0, 0], [0, 1], [0.5, 0.5]], [0.1, 0], np.eye(2))
    doubled = ba.Gaussian.linear([[1.0, 0], [0, 1], [0.5, 0.5], [1, 0]], [0.1, 0], np.eye(2))
    a = ba.error_probability(single, [1, 2, 0], decide="bayes")
    b = ba.error_probability(doubled, [1, 2, 0, 0], decide="bayes")
    np.testing.assert_allclose(a.value, b.value, atol=4 * np.hypot(a.stderr, b.stderr))


# ---------------------------------------------------------------------- limits


@pytest.mark.parametrize("setting", SETTINGS)
def test_no_evaluations_leave_the_prior_error(setting):
    model = random_model(setting, np.random.default_rng(6), arms=5, corners=False)
    got, chance, regret = ba.evaluate(model, np.zeros(5)), model.prob_best(), model.expected_regret()
    tolerance = 5 * np.hypot(got.error.stderr, chance.stderr[model.best]) + 1e-6
    np.testing.assert_allclose(got.error.value, 1 - chance.value[model.best], atol=tolerance)
    tolerance = 5 * np.hypot(got.regret.stderr, regret.stderr[model.best]) + 1e-6
    np.testing.assert_allclose(got.regret.value, regret.value[model.best], atol=tolerance)


@pytest.mark.parametrize("setting", SETTINGS)
def test_endless_evaluations_leave_no_error(setting):
    model = random_model(setting, np.random.default_rng(7), arms=5, corners=False)
    got = ba.evaluate(model, np.full(5, 1e12))
    assert got.error.value < 1e-4
    assert got.regret.value < 1e-6


@pytest.mark.parametrize("sd", [1e-9, 0.0])
def test_certain_priors(sd):
    unique = ba.Gaussian.independent([0, 1, 2, 1.5], sd)
    assert ba.evaluate(unique, [1, 1, 1, 1]).error.value == 0
    equal = ba.evaluate(ba.Gaussian.independent([1, 1, 1, 1], sd), [1, 1, 1, 1]).error
    np.testing.assert_allclose(equal.value, 0.75 if sd else 0, atol=5e-4)  # exact ties are no errors


def test_one_arm_is_never_wrong():
    got = ba.evaluate(ba.Gaussian.independent([1], [2]), [3])
    assert got.error.value == got.error.stderr == got.regret.value == 0


def test_copies_are_no_errors():
    x = np.array([[1.0, 0], [0, 1], [1, 0], [0.3, 0.4]])
    doubled = ba.Gaussian.linear(x, [0.1, 0], np.eye(2))
    single = ba.Gaussian.linear(x[[0, 1, 3]], [0.1, 0], np.eye(2))
    a, b = ba.evaluate(doubled, [2, 1, 1, 0]), ba.evaluate(single, [3, 1, 0])
    np.testing.assert_allclose(a.error.value, b.error.value, atol=4 * np.hypot(a.error.stderr, b.error.stderr))
    np.testing.assert_allclose(a.regret.value, b.regret.value, atol=4 * np.hypot(a.regret.stderr, b.regret.stderr))


# ---------------------------------------------------------------------- two arms


def two_arms_by_integration(model, counts, margin):
    """E over the deciding gap M of the chance that the other arm is better by more than the margin."""
    law_before, law_after = model.covariance.diff_var(0, 1), model.after(counts).diff_var(0, 1)
    gap, sd_m = model.mean[0] - model.mean[1], np.sqrt(law_before - law_after)
    corner, width = -gap / sd_m, np.sqrt(law_after) / sd_m

    def chance(z):
        return np.exp(-z * z / 2) / np.sqrt(2 * np.pi) * ndtr(-(abs(gap + sd_m * z) + margin) / np.sqrt(law_after))

    corners = np.unique(np.clip(np.r_[-9, corner + width * np.array([-9, -3, -1, 0, 1, 3, 9]), 9], -9, 9))
    return sum(quad(chance, a, b, epsabs=1e-14, epsrel=1e-13)[0] for a, b in itertools.pairwise(corners))


@pytest.mark.parametrize("setting", SETTINGS)
def test_two_arms_in_closed_form(setting):
    rng = np.random.default_rng(8)
    for _ in range(10):
        model = random_model(setting, rng, arms=2, corners=False)
        counts = rng.integers(1, 20, 2)
        for margin in (0.0, 0.2):
            got = ba.evaluate(model, counts, margin=margin)
            assert got.error.stderr == got.regret.stderr == 0
            np.testing.assert_allclose(got.error.value, two_arms_by_integration(model, counts, margin), atol=ROUNDING)
        agree(got, simulate(model, counts, 20_000, rng, margin=margin))


def test_two_equal_arms_are_an_arcsine():
    model = ba.Gaussian.independent([1, 1], [0.5, 0.5])
    for n in (0.0, 1.0, 1e6, 1e18):
        sine = np.sqrt(1 / (1 + n * 0.25))
        np.testing.assert_allclose(ba.error_probability(model, [n, n]).value, np.arcsin(sine) / np.pi, rtol=1e-9)


@pytest.mark.parametrize("gap", [0.0, 0.3, 5.0])
@pytest.mark.parametrize("count", [0.0, 0.1, 3.0, 30.0, 1e6, 1e18])
def test_two_arm_regret_keeps_its_digits(gap, count):
    """E[D⁺] − E[M⁺] in 60 digits; at 10¹⁸ evaluations each the two agree in their first 17."""
    with mp.workdps(60):
        var, left, mean = mpf(2), 2 / (1 + mpf(count)), mpf(gap)

        def positive_part(sd):
            return mean * mp.ncdf(mean / sd) + sd * mp.npdf(mean / sd) if sd > 0 else mean

        want = float(positive_part(mp.sqrt(var)) - positive_part(mp.sqrt(var - left)))
    got = ba.evaluate(ba.Gaussian.independent([0, gap], 1.0), [count, count]).regret
    np.testing.assert_allclose(got.value, want, rtol=ROUNDING)


# ---------------------------------------------------------------------- what must not matter


@pytest.mark.parametrize("setting", SETTINGS)
def test_permutation_scaling_and_direction(setting):
    rng = np.random.default_rng(9)
    model = random_model(setting, rng, arms=5, corners=False)
    counts = random_counts(5, rng)
    order = rng.permutation(5)
    f, d, v = model.covariance.factor, model.covariance.diag, model.noise_var
    low_rank = ba.Gaussian.low_rank
    same = ba.evaluate(model, counts)
    for other, n, unit in (
        (low_rank(model.mean[order], f[order], d[order], v[order]), counts[order], 1),
        (low_rank(10 * model.mean, 10 * f, 100 * d, 100 * v), counts, 10),
        (low_rank(model.mean + 7, f, d, v), counts, 1),
        (low_rank(-model.mean, -f, d, v, direction="minimize"), counts, 1),
    ):
        got = ba.evaluate(other, n)
        tolerance = 4 * np.hypot(got.error.stderr, same.error.stderr)
        np.testing.assert_allclose(got.error.value, same.error.value, atol=tolerance)
        tolerance = 4 * np.hypot(got.regret.stderr, unit * same.regret.stderr)
        np.testing.assert_allclose(got.regret.value, unit * same.regret.value, atol=tolerance)


def test_hierarchical_is_lifted_linear():
    rng = np.random.default_rng(10)
    b, arm_sd = rng.normal(size=(4, 2)), rng.uniform(0.2, 0.5, 4)
    short = ba.Gaussian.hierarchical(b, [0.1, -0.2], np.eye(2), arm_sd)
    cov = np.diag(np.r_[1, 1, arm_sd**2])
    lifted = ba.Gaussian.linear(np.hstack([b, np.eye(4)]), [0.1, -0.2, 0, 0, 0, 0], cov)
    a, c = ba.evaluate(short, [1, 2, 3, 0]), ba.evaluate(lifted, [1, 2, 3, 0])
    np.testing.assert_allclose(a.error.value, c.error.value, atol=4 * np.hypot(a.error.stderr, c.error.stderr))
    np.testing.assert_allclose(a.regret.value, c.regret.value, atol=4 * np.hypot(a.regret.stderr, c.regret.stderr))


def test_assuming_the_truth_changes_nothing():
    for setting in SETTINGS:
        rng = np.random.default_rng(11)
        model = random_model(setting, rng, arms=4, corners=False)
        a, b = ba.evaluate(model, [1, 2, 0, 3]), ba.evaluate(model, [1, 2, 0, 3], assumed=model)
        np.testing.assert_allclose(a.error.value, b.error.value, atol=4 * np.hypot(a.error.stderr, b.error.stderr))


# ---------------------------------------------------------------------- standard errors


@pytest.mark.parametrize("setting", SETTINGS)
def test_standard_errors_are_honest(setting, monkeypatch):
    """Over 200 seeds the truth (their mean) is within 2 stderr in 90-99 % of cases."""
    monkeypatch.setattr("bestarm.error.exact._WORK", 400_000)  # the same rule with fewer points
    model = random_model(setting, np.random.default_rng(12), arms=6, corners=False)
    counts = np.array([3.0, 5, 0, 2, 8, 1])
    results = [ba.evaluate(model, counts, rng=seed) for seed in range(200)]
    for part in ("error", "regret"):
        values = np.array([[getattr(r, part).value, getattr(r, part).stderr] for r in results])
        inside = np.mean(np.abs(values[:, 0] - values[:, 0].mean()) <= 2 * values[:, 1])
        assert 0.90 <= inside <= 0.99


def test_target_stderr_is_reached():
    model = ba.Gaussian.independent(np.linspace(0, 1, 10), np.linspace(0.1, 0.5, 10))
    assert ba.error_probability(model, np.full(10, 6), target_stderr=2e-5).stderr <= 2e-5


def test_a_target_out_of_reach_is_said(monkeypatch):
    monkeypatch.setattr("bestarm.error.exact._MOST_WORK", 8_000_000)
    model = ba.Gaussian.independent(np.linspace(0, 1, 10), np.linspace(0.1, 0.5, 10))
    with pytest.warns(ba.PrecisionWarning, match="target_stderr 1e-09 was not reached"):
        ba.error_probability(model, np.full(10, 6), target_stderr=1e-9)


def test_the_seed_decides():
    model = random_model("hierarchical", np.random.default_rng(13), arms=4, corners=False)
    a, b, c = (ba.error_probability(model, [1, 1, 1, 1], rng=seed).value for seed in (1, 1, 2))
    assert a == b != c


# ---------------------------------------------------------------------- bad input

MODEL = ba.Gaussian.independent([0, 1, 2], 1, names=["a", "b", "c"])
BAD = {
    "model": (lambda: ba.evaluate("m", [1]), "model is 'm'; expected a model"),
    "batch": (lambda: ba.evaluate(MODEL.condition(np.ones((2, 3)), np.ones((2, 3))), [1, 1, 1]), "batch axes"),
    "counts": (lambda: ba.evaluate(MODEL, [1, 1]), r"counts has shape \(2,\); expected one number per arm \(3\)"),
    "negative": (lambda: ba.evaluate(MODEL, [1, -1, 1]), r"counts\[1\] is -1"),
    "decide": (lambda: ba.evaluate(MODEL, [1, 1, 1], decide="best"), "decide is 'best'; expected one of 'mean', 'bayes'"),
    "margin": (lambda: ba.evaluate(MODEL, [1, 1, 1], margin=-1), "margin is -1"),
    "target": (lambda: ba.evaluate(MODEL, [1, 1, 1], target_stderr=0), "target_stderr is 0"),
    "assumed": (lambda: ba.evaluate(MODEL, [1, 1, 1], assumed="x"), "assumed is 'x'"),
    "arms": (lambda: ba.evaluate(MODEL, [1, 1, 1], assumed=ba.Gaussian.independent([0, 1], 1)), "assumed has 2 arms"),
    "direction": (
        lambda: ba.evaluate(MODEL, [1, 1, 1], assumed=ba.Gaussian.independent([0, 1, 2], 1, direction="minimize")),
        r"assumed has 3 arms \(minimize\)",
    ),
    "names": (
        lambda: ba.evaluate(MODEL, [1, 1, 1], assumed=ba.Gaussian.independent([0, 1, 2], 1, names=["a", "c", "b"])),
        "assumed calls arm 1 'c'; expected the arms of model: 'b'",
    ),
    "rng": (lambda: ba.evaluate(MODEL, [1, 1, 1], rng="x"), "rng is 'x'"),
    "kind": (lambda: ba.error_bound(MODEL, [1, 1, 1], kind="best"), "kind is 'best'"),
    "assumed and kind": (
        lambda: ba.error_bound(MODEL, [1, 1, 1], kind="pairwise", assumed=MODEL),
        "assumed is given and kind is 'pairwise'; expected kind 'orthant'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_refused(case):
    call, message = BAD[case]
    with pytest.raises(ba.InputError, match=message):
        call()


def test_rounding_of_the_closed_form():
    """1e-12 for two arms, where every count is far apart."""
    model = ba.Gaussian.independent([0.0, 0.3], [1.0, 1e-3])
    np.testing.assert_allclose(
        ba.error_probability(model, [1e6, 3]).value, two_arms_by_integration(model, [1e6, 3], 0), atol=ROUNDING
    )
    assert abs(ba.error_probability(model, [0, 0]).value - ndtr(-0.3 / np.hypot(1, 1e-3))) < ROUNDING


# ---------------------------------------------------------------------- found by an attack


@pytest.mark.parametrize("far", [-10.0, -1e8, -1e11])
def test_an_excluded_arm_disturbs_nobody(far):
    """A hopeless third arm leaves the error of two, in all three ways to integrate."""
    linear = ba.Gaussian.linear(np.eye(3), [0, 0.05, far], 0.01 * np.eye(3))
    pair = ba.Gaussian.independent([0, 0.05], 0.1)
    got, want = ba.error_probability(linear, [1e4, 1e4, 0]), ba.error_probability(pair, [1e4, 1e4]).value
    np.testing.assert_allclose(got.value, want, atol=4.5 * got.stderr)
    still = ba.Gaussian.independent([0, 0.05, far], [0.1, 0, 0.1])
    pair = ba.Gaussian.independent([0, 0.05], [0.1, 0])
    got, want = ba.error_probability(still, [100, 100, 0]), ba.error_probability(pair, [100, 100]).value
    np.testing.assert_allclose(got.value, want, atol=4.5 * got.stderr)


def test_bayes_counts_tied_certain_arms_together():
    model = ba.Gaussian.independent([0, 0, -0.1], [0, 0, 1])
    got = ba.error_probability(model, [0, 0, 0], decide="bayes")
    np.testing.assert_allclose(got.value, ndtr(-0.1), atol=4.5 * got.stderr + 1e-9)


def test_an_error_too_rare_to_see_is_not_called_exact():
    model = ba.Gaussian.low_rank([0, 0.8, -3], [[0.1, 0], [0, 0.1], [0, 0]], [0, 0, 0.01])
    got = ba.evaluate(model, [10, 10, 10])
    orthant = ba.error_bound(model, [10, 10, 10], "orthant").value
    assert 0 < got.error.stderr <= 1e-6
    assert abs(got.error.value - orthant) <= 2 * got.error.stderr
    assert got.regret.stderr > 0


def test_everything_certain_and_zero():
    for model in (ba.Gaussian.independent([0, 0, 0], 0.0), ba.Gaussian.linear(np.zeros((3, 2)), [0, 0], np.eye(2))):
        for rule in ("mean", "bayes"):
            got = ba.evaluate(model, [1, 2, 3], decide=rule)
            assert got.error.value == got.error.stderr == got.regret.value == 0


def test_a_gap_that_is_the_margin_is_no_error():
    for extra in ([], [0.0]):
        model, wrong = ba.Gaussian.independent([1, 1.1, *extra], 0.0), ba.Gaussian.independent([1, 0, *extra], 0.0)
        assert ba.error_probability(model, np.zeros(model.num_arms), assumed=wrong, margin=0.1).value == 0
