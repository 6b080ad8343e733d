"""Each other reading of the paper changes what it says and nothing else, and is written on everything made with it."""

import numpy as np
import pytest
from click.testing import CliRunner

import bestarm as ba
from bestarm.cli.main import cli
from bestarm.paper.claims_page import claims_page
from bestarm.paper.figures import FIGURES, make
from bestarm.paper.lab import PUBLISHED, Lab
from bestarm.paper.settings import CHOICES, READINGS, checked_readings, logistic_settings, prior, settings
from bestarm.report.curves import as_csv

pytest.importorskip("matplotlib")


def every(readings=(), seed=3):
    """Mean and covariance of all ten priors; of the logistic ones on the scale of the scores."""
    models = [*settings(seed, readings), *logistic_settings(seed, readings)]
    views = {name: getattr(model, "link", model) for name, model, _ in models}
    return {name: (view.mean, view.cov) for name, view in views.items()}


# what each reading changes: means, covariances
LINEAR = {"linear, fixed", "d = 3, fixed", "d = 4, fixed"}
HIERARCHICAL = {"hierarchical, fixed", "hierarchical, random"}
CHANGES = {
    "variances": (set(), set(every())),
    "linear-mean": (LINEAR, set()),
    "nu": ({"hierarchical, fixed"}, set()),
    "mixing": (HIERARCHICAL, HIERARCHICAL),
    "warm-up": (set(), set()),
}


@pytest.mark.parametrize("reading", READINGS)
def test_a_reading_changes_what_it_says_and_nothing_else(reading):
    before, after = every(), every([reading])
    means, covs = ({name for name in before if not np.array_equal(before[name][i], after[name][i])} for i in (0, 1))
    assert (means, covs) == CHANGES[reading]


def test_variances():
    spaced = np.linspace(0.1, 0.5, 10)
    np.testing.assert_allclose(prior("independent, fixed", 0, ["variances"]).var, spaced)
    np.testing.assert_allclose(prior("independent, random", 0).var, spaced**2)
    # the factor of a linear prior is X root(Σ0), of a hierarchical one B root(Σ)
    for kind, count in (("linear", 4), ("hierarchical", 10)):
        first, second = (prior(f"{kind}, random", 0, each) for each in ([], ["variances"]))
        ratio = second.covariance.factor / first.covariance.factor
        np.testing.assert_allclose(ratio, np.broadcast_to(np.linspace(0.1, 0.5, count) ** -0.5, ratio.shape))
    np.testing.assert_allclose(second.covariance.diag, np.linspace(0.1, 0.5, 60))


def test_means_of_fixed_settings():
    """Rows of the features have 1-norm 1, and mixing rows sum to 1: arms lie within the range of what is drawn."""
    for name, model, _ in logistic_settings(0, ["linear-mean"]):
        assert name.endswith("random") or ((model.prior_mean < 1) & (model.prior_mean > 0)).all()
    linear, hierarchical = prior("linear, fixed", 0, ["linear-mean"]), prior("hierarchical, fixed", 0, ["nu"])
    assert np.abs(linear.mean).max() <= 1
    assert np.abs(hierarchical.mean).max() <= 1
    assert np.ptp(prior("linear, fixed", 1, ["linear-mean"]).mean - linear.mean) > 0


def test_mixing_weights_have_norm_one():
    model = prior("hierarchical, fixed", 0, ["mixing"])
    mixing = model.covariance.factor / np.linspace(0.1, 0.5, 10)
    np.testing.assert_allclose(np.abs(mixing).sum(axis=1), 1)
    assert 0.4 < (mixing < 0).mean() < 0.6


def test_without_readings_the_draws_are_in_the_order_of_the_table():
    """Written out once more: a draw more or less would move all that follow."""
    rng, found = np.random.default_rng(3), {name: model for name, model, _ in settings(3)}
    sds = np.linspace(0.1, 0.5, 10)
    want = {"independent, random": ba.Gaussian.independent(rng.random(10), sds)}
    x = rng.normal(1, 1, (30, 4))
    x /= np.abs(x).sum(axis=1, keepdims=True)
    want["linear, random"] = ba.Gaussian.linear(x, rng.random(4), np.diag(np.linspace(0.1, 0.5, 4) ** 2))
    mixing = rng.random((60, 10))
    mixing /= mixing.sum(axis=1, keepdims=True)
    nu, arm_sd = rng.uniform(-1, 1, 10), np.linspace(0.1, 0.5, 60)
    want["hierarchical, random"] = ba.Gaussian.hierarchical(mixing, nu, np.diag(sds**2), arm_sd)
    want["hierarchical, fixed"] = ba.Gaussian.hierarchical(mixing, np.linspace(-1, 1, 10), np.diag(sds**2), arm_sd)
    for name, model in want.items():
        np.testing.assert_array_equal(found[name].mean, model.mean)
        np.testing.assert_array_equal(found[name].cov, model.cov)


def test_without_readings_policies_are_those_of_their_names(tmp_path):
    """And a simulation is the one that `ba.simulate` makes without any of this."""
    lab = Lab(tmp_path, runs=50, budgets=2)
    assert all(lab.policy(name) == ba.policy(name) for name in ba.policies.names())
    names = ("uniform", "warmup-ts", "sh", "sr", "bayes-elim", "ts-tci")
    found = lab.results(lab.prior("independent, random"), names, [20, 60])
    plain = ba.simulate(prior("independent, random", 0), names, [20, 60], runs=50)
    for name in names:
        for budget in (20.0, 60.0):
            np.testing.assert_array_equal(found.outcome(name, budget), plain.outcome(name, budget))
    assert "readings" not in lab.settings


def test_warm_up_rewards(tmp_path):
    lab = Lab(tmp_path, readings=("warm-up",))
    names = [name for name in ba.policies.names() if name.startswith("warmup")]
    assert [lab.policy(name) for name in names] == [ba.policy(name, keep=False) for name in names]
    assert all(lab.policy(name) == ba.policy(name) for name in set(ba.policies.names()) - set(names))


@pytest.mark.parametrize(
    ("reading", "panels"),
    [
        ("variances", {"independent", "linear", "hierarchical"}),
        ("linear-mean", {"linear"}),
        ("nu", {"hierarchical"}),
        ("mixing", {"hierarchical"}),
        ("warm-up", {"independent", "linear", "hierarchical"}),
    ],
)
def test_the_fixed_settings_by_each_reading(reading, panels, plain, tmp_path):
    found = make("fig-fixed", Lab(tmp_path, runs=10, budgets=2, readings=(reading,)))
    changed = {
        (a.title.split(",")[0], c.label)
        for a, b in zip(found.panels, plain.panels, strict=True)
        for c, d in zip(a.curves, b.curves, strict=True)
        if not np.array_equal(c.y, d.y)
    }
    assert {title for title, _ in changed} == panels
    if reading == "warm-up":
        assert {label for _, label in changed} == {"warmup-ts"}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return make("fig-fixed", Lab(tmp_path_factory.mktemp("plain"), runs=10, budgets=2))


@pytest.fixture(scope="module", params=["published", "readings"])
def lab(request, tmp_path_factory):
    readings = tuple(READINGS) if request.param == "readings" else ()
    folder = tmp_path_factory.mktemp(request.param)
    return Lab(folder, runs=10, deep_runs=5, budgets=2, readings=readings, published=request.param == "published")


@pytest.mark.parametrize("name", [name for name in FIGURES if name != "fig-main-movielens"])
def test_every_figure(name, lab):
    figure = make(name, lab)
    assert all(np.isfinite(curve.y).all() for panel in figure.panels for curve in panel.curves)
    said = "# variants: as published" if lab.published else "# readings: variances linear-mean nu mixing warm-up"
    assert said in as_csv(figure).splitlines()


def test_readings_share_a_folder(tmp_path):
    """Whichever comes first, each finds its own simulations: with the numbers of a folder to itself."""
    both = [Lab(tmp_path / "one", runs=10, budgets=2, readings=each) for each in ((), ("nu",), ("nu", "mixing"))]
    alone = [Lab(tmp_path / str(i), runs=10, budgets=2, readings=each.readings) for i, each in enumerate(both)]
    for shared, single in zip(both * 2, alone * 2, strict=True):
        a, b = (shared.results(each.prior("hierarchical, fixed"), ["uniform"], [150]) for each in (shared, single))
        np.testing.assert_allclose(a.outcome("uniform", 150.0), b.outcome("uniform", 150.0))
    assert len(list((tmp_path / "one").iterdir())) == 3


def test_unknown_readings_are_refused(tmp_path):
    said = "reading is 'sds'; expected one of variances, linear-mean, nu, mixing, warm-up"
    for call in (lambda: Lab(tmp_path, readings=("sds",)), lambda: prior("linear, fixed", 0, ["nu", "sds"])):
        with pytest.raises(ba.InputError, match=said):
            call()
    for names in ([], ["fig-bounds"]):
        done = CliRunner().invoke(cli, ["paper", *names, "--reading", "sds", "--out", str(tmp_path / "out")])
        assert str(done.exception) == said
        assert not (tmp_path / "out").exists()
    assert checked_readings(["nu", "variances", "nu"]) == ("variances", "nu")


def test_choices_name_their_readings(tmp_path):
    for choice in CHOICES:
        assert bool(choice.reading) == bool(choice.other)
    rows = {row[3]: row[2] for row in Lab(tmp_path, readings=("nu",)).choices}
    assert rows["nu"] == "U[−1, 1], drawn once (the other reading)"
    assert rows["mixing"] == READINGS["mixing"].here
    assert {row[3]: row[2] for row in Lab(tmp_path, published=True).choices}["warm-up"].startswith("discarded")


def test_command(tmp_path):
    run = CliRunner().invoke
    listed = run(cli, ["paper"]).output
    figures, readings = listed.split("--reading NAME")
    assert all(f"\n{name} " in readings and f"\n{name} " not in figures for name in READINGS)
    options = ["--reading", "nu", "--reading", "variances", "--as-published", "--quick", "--jobs", "1"]
    assert run(cli, ["paper", "fig-bounds", *options, "--out", str(tmp_path)]).exit_code == 0
    page = (tmp_path / "index.html").read_text()
    assert page.count("(the other reading)") == 3, "as published, warm-up rewards are discarded"
    assert all(f"<td>{name}</td>" in page for name in (*READINGS, *PUBLISHED))
    assert "No option brings back" in page
    for suffix in ("csv", "svg"):
        assert "readings: variances nu" in (tmp_path / f"fig-bounds.{suffix}").read_text()
    assert b"readings: variances nu" in (tmp_path / "fig-bounds.png").read_bytes()


def test_claims_page_says_what_was_played(lab):
    page = claims_page(lab)
    assert page.count("| here | as published |") == (0 if lab.published else page.count("| difference |") + 1)
    assert ("warm-up rewards are discarded" in page) != lab.published
    assert "Under “as published”" in page
