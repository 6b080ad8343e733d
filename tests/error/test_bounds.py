"""Bounds are bounds, in order, equal to the paper's forms, and quiet about what nobody could get wrong."""

import numpy as np
import pytest

import bestarm as ba
from bestarm.error import study
from oracles import paper_bounds as paper
from random_models import SETTINGS, random_counts, random_model
from tolerances import ROUNDING


def above(bound, error, z=4.5):
    return bound.value >= error.value - z * np.hypot(error.stderr, bound.stderr) - 1e-12


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("seed", range(12))
def test_order(setting, seed):
    """error ≤ anchored ≤ orthant ≤ pairwise/4: each of them an upper bound, each looser than the one before."""
    rng = np.random.default_rng([seed, SETTINGS.index(setting)])
    model = random_model(setting, rng, direction=["maximize", "minimize"][seed % 2])
    counts = random_counts(model.num_arms, rng, whole=bool(seed % 2))
    error = ba.error_probability(model, counts)
    anchored, orthant, pairwise = (ba.error_bound(model, counts, kind) for kind in ("anchored", "orthant", "pairwise"))
    assert above(anchored, error)
    assert above(orthant, anchored)
    assert pairwise.value / 4 >= orthant.value - 1e-12


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("seed", range(12))
def test_orthant_holds_under_assumed_models(setting, seed):
    rng = np.random.default_rng([seed, 5, SETTINGS.index(setting)])
    k = int(rng.integers(2, 6))
    model, assumed = random_model(setting, rng, arms=k), random_model(SETTINGS[seed % 3], rng, arms=k)
    counts = random_counts(k, rng)
    assert above(
        ba.error_bound(model, counts, "orthant", assumed=assumed), ba.error_probability(model, counts, assumed=assumed)
    )


@pytest.mark.parametrize("setting", SETTINGS)
def test_orthant_is_the_error_of_two_arms(setting):
    rng = np.random.default_rng(1)
    for seed in range(30):
        model = random_model(setting, rng, arms=2, corners=bool(seed % 2))
        counts = random_counts(2, rng)
        assumed = random_model(SETTINGS[seed % 3], rng, arms=2) if seed % 3 else None
        error = ba.error_probability(model, counts, assumed=assumed).value
        assert abs(ba.error_bound(model, counts, "orthant", assumed=assumed).value - error) <= ROUNDING


def test_assuming_the_truth_changes_no_orthant():
    for setting in SETTINGS:
        rng = np.random.default_rng(2)
        model = random_model(setting, rng, arms=6, corners=False)
        counts = random_counts(6, rng)
        a, b = (ba.error_bound(model, counts, "orthant", assumed=m).value for m in (None, model))
        np.testing.assert_allclose(a, b, rtol=1e-9)


@pytest.mark.parametrize("kind", ["pairwise", "orthant", "anchored"])
def test_limits(kind):
    distinct = ba.Gaussian.independent([0, 0.5, 1], [0.5, 0.4, 0.3])
    assert ba.error_bound(distinct, [1e14] * 3, kind).value < 1e-5
    assert ba.error_bound(ba.Gaussian.independent([1], [1]), [3], kind).value == 0
    # nothing learned, equal means: each pair counts a half (pairwise: 2)
    nothing = ba.error_bound(ba.Gaussian.independent([1, 1, 1], 1), [0, 0, 0], kind).value
    np.testing.assert_allclose(nothing, {"pairwise": 6, "orthant": 1.5, "anchored": 1}[kind])
    # certain gaps and copies add nothing
    assert ba.error_bound(ba.Gaussian.independent([0, 1, 1], 0), [1, 1, 1], kind).value == 0
    copies = ba.Gaussian.linear([[1.0], [1.0]], [0], [[1]])
    assert ba.error_bound(copies, [1, 0], kind).value == 0


def test_paper_independent():
    rng = np.random.default_rng(3)
    for _ in range(20):
        k, n = int(rng.integers(2, 8)), 50
        mean, sd, noise, w = rng.normal(size=k), rng.uniform(0.1, 1, k), rng.uniform(0.3, 2), rng.dirichlet(np.ones(k))
        want = paper.independent_bound(mean, sd, noise, w, n)
        got = ba.error_bound(ba.Gaussian.independent(mean, sd, noise), n * w).value
        np.testing.assert_allclose(got, want, rtol=1e-10)


def random_linear(rng, k=5, d=3):
    root = rng.normal(size=(d, d))
    counts = rng.integers(0, 9, k).astype(float)
    return rng.normal(size=(k, d)), rng.normal(size=d), root @ root.T + 0.1 * np.eye(d), rng.uniform(0.5, 2), counts


def test_paper_linear():
    rng = np.random.default_rng(4)
    for _ in range(20):
        x, mean, cov, noise, counts = random_linear(rng)
        want = paper.linear_bound(x, mean, cov, noise, counts)
        got = ba.error_bound(ba.Gaussian.linear(x, mean, cov, noise), counts).value
        np.testing.assert_allclose(got, want, rtol=1e-10)


def test_paper_hierarchical():
    rng = np.random.default_rng(5)
    for _ in range(20):
        b, nu, cov, noise, counts = random_linear(rng)
        arm_sd = rng.uniform(0.1, 0.8, 5)
        want = paper.hierarchical_bound(b, nu, cov, arm_sd, noise, counts)
        model = ba.Gaussian.hierarchical(b, nu, cov, arm_sd, noise)
        np.testing.assert_allclose(ba.error_bound(model, counts).value, want, rtol=1e-10)
        i, j = np.indices((5, 5))
        gained = model.covariance.diff_var(i, j) - model.after(counts).diff_var(i, j)
        np.testing.assert_allclose(paper.hierarchical_c(b, cov, arm_sd, noise, counts), gained, atol=1e-9)


def test_printing_stops_at_one():
    model = ba.Gaussian.independent(np.linspace(0, 1, 10), np.linspace(0.1, 0.5, 10))
    loose = ba.error_bound(model, np.full(10, 12))
    assert loose.vacuous
    assert str(loose) == "1 (vacuous: the sum is 37.5)"  # where the error itself is 0.315
    np.testing.assert_allclose(ba.error_probability(model, np.full(10, 12)).value, 0.315, atol=0.001)
    tight = ba.error_bound(ba.Gaussian.independent([0, 3], 1), [5, 5], "orthant")
    assert not tight.vacuous
    assert "vacuous" not in str(tight)


def test_shown_in_any_way_it_stops_at_one():
    """As str, in an f-string, in a format and as a REPL shows it; other estimates and evaluations read well too."""
    loose, tight = ba.Bound(37.5, 0.0), ba.Bound(0.25, 0.0)
    assert f"{loose}" == "1 (vacuous: the sum is 37.5)"
    assert repr(loose) == "Bound(1 (vacuous: the sum is 37.5))"
    assert f"{loose:.2f}" == "1.00 (vacuous)"
    assert (repr(tight), f"{tight:.0%}") == ("Bound(0.25)", "25%")
    half = ba.Estimate(0.12345, 0.001)
    assert (str(half), repr(half), f"{half:.2f}") == ("0.1235 ± 0.0010", "Estimate(0.1235 ± 0.0010)", "0.12")
    assert f"{ba.Estimate(np.array([0.5, 0.25]), np.zeros(2)):.1f}" == "[0.5, 0.2]"
    assert repr(ba.Evaluation(half, half)) == "Evaluation(error 0.1235 ± 0.0010, regret 0.1235 ± 0.0010)"


def test_too_many_arms_for_pairs():
    wide = ba.Gaussian.independent(np.zeros(100_000), 1.0)
    for kind in ("pairwise", "orthant"):
        with pytest.raises(ba.InputError, match=rf"model has 100000 arms; .* 20000 for kind '{kind}'.*try 'anchored'"):
            ba.error_bound(wide, np.ones(100_000), kind)


# ---------------------------------------------------------------------- bounds for study


def test_bayes_elim_and_lower_bound_bracket_two_arms():
    for n in (10, 100, 1000):
        for gap in (0.0, 0.5):
            model = ba.Gaussian.independent([0, gap], 0.5)
            error = ba.error_probability(model, [n / 2, n / 2]).value
            ours = ba.error_bound(model, [n / 2, n / 2]).value
            assert study.two_arm_lower_bound([0, gap], 0.5, 1, n) <= error <= ours
            # with two arms log2 K = 1, and the two upper bounds are the same
            np.testing.assert_allclose(study.bayes_elim_bound([0, gap], 0.5, 1, n).value, ours, rtol=1e-12)


def test_bayes_elim_is_looser_by_the_paper_factor():
    """The ratio of the bounds tends to log2(K)^{3/2} for uniform counts and one prior variance."""
    mean, k, n = np.linspace(0, 0.3, 8), 8, 1e9
    ours = ba.error_bound(ba.Gaussian.independent(mean, 0.4), np.full(k, n / k)).value
    np.testing.assert_allclose(study.bayes_elim_bound(mean, 0.4, 1, n).value / ours, 3**1.5, rtol=1e-6)


def test_the_papers_comparison():
    """Its bound lies below BayesElim's for all four weightings and both settings; none is below the optimised one."""
    weightings = {
        "uniform": lambda model, budget: np.full(3, 1 / 3),
        "heuristic": lambda model, budget: ba.plan(model, budget, "heuristic").weights,
        "optimised": lambda model, budget: ba.plan(model, budget, "bound").weights,
    }
    for seed in range(10):
        draw = np.random.default_rng(seed).random(3)  # not every weighting: one that nearly leaves out an arm fails
        draw /= draw.sum()
        weightings[f"random {seed}"] = lambda model, budget, draw=draw: draw
    table = study.bound_comparison(weightings, [50, 100, 500])
    assert len(table) == 2 * 13 * 3
    assert (table["bound"] < table["bayes_elim"]).all()
    for part in table.reshape(2, 13, 3):
        assert (part["bound"][2] <= part["bound"] * (1 + 1e-6)).all()  # the gap that plans certify
    # one number by hand: homogeneous, uniform, n = 50: V/V⁰ = 1/(1 + (50/3)·0.09) = 0.4
    gaps = np.array([0.9, 1.0, 0.1])
    want = 2 * np.sqrt(0.4) * np.exp(-(gaps**2) / 0.36).sum()
    np.testing.assert_allclose(table["bound"][0], want, rtol=1e-12)


def test_misspecification_bound():
    """The corrected lemma bounds the exact error under a wrong prior, and is above the orthant bound."""
    rng = np.random.default_rng(6)
    for _ in range(30):
        k = int(rng.integers(2, 5))
        mean, wrong = rng.normal(size=k), rng.normal(size=k)
        sd, wrong_sd, n = *rng.uniform(0.2, 1, 2), 60
        model, assumed = ba.Gaussian.independent(mean, sd), ba.Gaussian.independent(wrong, wrong_sd)
        counts = np.full(k, n / k)
        lemma = study.misspecification_bound(mean, sd, wrong, wrong_sd, 1, n)
        printed = study.misspecification_bound(mean, sd, wrong, wrong_sd, 1, n, printed=True)
        orthant = ba.error_bound(model, counts, "orthant", assumed=assumed)
        assert above(orthant, ba.error_probability(model, counts, assumed=assumed))
        assert orthant.value <= lemma.value <= printed.value
    # the right prior gives back the theorem
    right = study.misspecification_bound(mean, sd, mean, sd, 1, n).value
    np.testing.assert_allclose(right, ba.error_bound(model, counts).value, rtol=1e-12)


def test_study_refuses_bad_input():
    for call, message in (
        (lambda: study.bayes_elim_bound([1], 1, 1, 10), "mean has 1 entries"),
        (lambda: study.bayes_elim_bound([1, 2], 0, 1, 10), "sd is 0"),
        (lambda: study.bayes_elim_bound([1, 2], 1, 1, -1), "budget is -1"),
        (lambda: study.two_arm_lower_bound([1, 2, 3], 1, 1, 10), "mean has 3 entries; expected 2"),
        (lambda: study.misspecification_bound([1, 2], 1, [1], 1, 1, 10), "assumed_mean has 1 entries"),
        (lambda: study.g_optimal_bound(ba.Gaussian.independent([0, 1], 1, [1, 2]), [1, 1], 2), "different noise"),
        (lambda: study.g_optimal_bound(ba.Gaussian.independent([0, 1], 1), [1, 1], 0), "dimension is 0"),
    ):
        with pytest.raises(ba.InputError, match=message):
            call()
