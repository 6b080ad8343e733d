"""Every figure at tiny size: numbers that are numbers, with standard errors; files beside each other; the page; claims."""

import csv
import re
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from click.testing import CliRunner

import bestarm as ba
from bestarm.cli.main import cli
from bestarm.paper.claims import CLAIMS, Gap, verdict
from bestarm.paper.claims_page import claims_page
from bestarm.paper.figures import FIGURES, make
from bestarm.paper.lab import PUBLISHED, Lab
from bestarm.paper.settings import BUDGETS, prior, settings
from bestarm.paper.simulations import OURS
from bestarm.report.curves import Curve, Figure, Panel, as_csv, spoken
from bestarm.report.gallery import gallery
from bestarm.report.plots import ORDER, draw, style

EXACT = ("fig-bounds", "fig-structure")
pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    return Lab(tmp_path_factory.mktemp("lab"), runs=20, deep_runs=10, budgets=2)


@pytest.mark.parametrize("name", [name for name in FIGURES if name != "fig-main-movielens"])
def test_every_figure(name, lab, tmp_path):
    figure = make(name, lab)
    assert figure.panels
    assert figure.settings["runs"] == 20
    for panel in figure.panels:
        for curve in panel.curves:
            assert np.isfinite(curve.y).all()
            assert len(curve.x) == len(curve.y) == len(curve.stderr)
            assert (curve.stderr >= 0).all()
    noisy = [curve.stderr.max() for panel in figure.panels for curve in panel.curves]
    assert (max(noisy) == 0) == (name in EXACT), "Monte Carlo carries a standard error, and nothing else does"
    png, svg = draw(figure, tmp_path)
    assert png.read_bytes().startswith(b"\x89PNG")
    assert "<svg" in svg.read_text()
    rows = list(csv.reader(line for line in as_csv(figure).splitlines() if not line.startswith("#")))
    assert len(rows) == 1 + sum(len(curve.x) for panel in figure.panels for curve in panel.curves)


def test_simulated_errors_are_the_exact_ones(tmp_path):
    """Fixed allocations of the main figures, first, middle and last budget, 2,000 runs: within 4 standard errors."""
    lab = Lab(tmp_path, runs=2000, budgets=3)
    for kind in ("independent", "linear", "hierarchical"):
        model = prior(f"{kind}, random", 0)
        results = lab.results(model, ("uniform", "bound-mix", "g"), BUDGETS[kind])
        for policy, mix in (("uniform", None), ("bound-mix", 0.5), ("g", None)):
            for budget in results.budgets:
                exact = ba.plan(model, budget, policy.removesuffix("-mix"), mix=mix).evaluation.error
                found = results.estimate(policy, budget)
                assert abs(found.value - exact.value) < 4 * np.hypot(found.stderr, exact.stderr)


def test_a_simulation_is_run_once(tmp_path, monkeypatch):
    lab = Lab(tmp_path, runs=20, budgets=2)
    first = make("fig-main-independent", lab)
    monkeypatch.setattr("bestarm.simulation.engine._Job.__call__", lambda self: 1 / 0)
    again = make("fig-main-independent", lab)
    for a, b in zip(first.panels[0].curves, again.panels[0].curves, strict=True):
        np.testing.assert_allclose(a.y, b.y, rtol=1e-6)


def test_as_published_changes_the_variants(tmp_path):
    plain, published = (Lab(tmp_path, runs=200, budgets=2, published=p) for p in (False, True))
    a, b = (make("fig-main-independent", each).panels[0].curves for each in (plain, published))
    same = {x.label: np.allclose(x.y, y.y) for x, y in zip(a, b, strict=True)}
    assert same["uniform"]
    assert not same["warmup-ts"]
    assert not any(same[name] for name in ("ts-tci", "sh", "sr", "bayes-elim"))
    assert set(PUBLISHED) <= set(ba.policies.names())


def test_published_warm_ups_are_the_same_in_all_figures(tmp_path):
    """The one that its authors call TS-TCI plays T3C; lengths are K, 2 K, 3 K."""
    lab = Lab(tmp_path, runs=20, budgets=2, published=True)
    ts, t3c, tci = make("fig-warmup-length", lab).panels
    for a, b in zip(t3c.curves, tci.curves, strict=True):
        np.testing.assert_allclose(a.y, b.y, rtol=1e-6)  # files keep single precision
    assert not np.allclose(ts.curves[0].y, t3c.curves[0].y)
    for name in ("warmup-ts", "warmup-ttts", "warmup-t3c", "warmup-ts-tci"):
        assert not lab.policy(name).keep
    assert lab.policy("warmup-ts-tci") == ba.policies.Warmup(rule="t3c", keep=False, published=True)
    assert lab.policy("warmup-ts-tci").rule == lab.policy("warmup-t3c").rule == "t3c"
    assert lab.policy("joint-ts-tci") == ba.policy("joint-ts-tci"), "not in the paper"


def test_movielens(tmp_path):
    """A small folder in the official format."""
    rng = np.random.default_rng(0)
    folder = tmp_path / "ml-1m"
    folder.mkdir()
    users, movies = 60, 120
    u, v = rng.normal(1, 0.3, (users, 2)), rng.normal(1, 0.3, (movies, 2))
    lines = [
        f"{i + 1}::{j + 1}::{int(np.clip(round(u[i] @ v[j]), 1, 5))}::1"
        for i in range(users)
        for j in range(movies)
        if rng.random() < 0.7
    ]
    (folder / "ratings.dat").write_text("\n".join(lines) + "\n", encoding="latin-1")
    (folder / "movies.dat").write_text(
        "\n".join(f"{j + 1}::Movie {j + 1}::Drama" for j in range(movies)) + "\n", encoding="latin-1"
    )
    (folder / "users.dat").write_text(
        "\n".join(f"{i + 1}::M::25::1::0" for i in range(users)) + "\n", encoding="latin-1"
    )
    with ProcessPoolExecutor(1) as pool:  # as the command does it: all of it can be sent there
        figure = make(
            "fig-main-movielens", Lab(tmp_path / "lab", runs=40, budgets=2, movies=str(folder), executor=pool)
        )
    assert {curve.label for curve in figure.panels[0].curves} >= {"g", "gse", "uniform"}


def test_colours_and_markers_are_told_apart():
    """The eight of the main figure have eight colours; no two policies share colour, marker and dash."""
    main = [style(name) for name in (*OURS, "ts-tci", "sh", "sr", "bayes-elim")]
    assert len({look["color"] for look in main}) == 8
    assert len({tuple(style(name).values()) for name in ORDER}) == len(ORDER)
    assert set(ba.policies.names()) - set(ORDER) <= {"elim:bound"}


def test_verdicts():
    assert verdict([Gap("a", -1, 0.1), Gap("b", -0.5, 0.1)]) == "held"
    assert verdict([Gap("a", -1, 0.1), Gap("b", 0.5, 0.1)]) == "did not hold"
    assert verdict([Gap("a", -1, 0.1), Gap("b", 0.05, 0.1)]) == "undecided"
    assert verdict([Gap("exact", -0.1)]) == "held"
    assert verdict([Gap("exact", 0.1)]) == "did not hold"
    assert verdict([]) == "not computed"


def test_claims_page(lab):
    """Every claim has a verdict as played here and one as published, and every difference its number."""
    page = claims_page(lab)
    verdicts = r"\*\*(held|did not hold|undecided|not computed)\*\*"
    for number, claim in enumerate(CLAIMS, 1):
        (row,) = re.findall(rf"^\| {number} \| .*$", page, re.MULTILINE)
        assert claim.statement in row
        assert len(re.findall(verdicts, row)) == 2
    assert page.count("not computed") == 2, "MovieLens alone, without its data"
    assert "standard errors apart" in page
    gaps = CLAIMS[1].gaps(lab)
    assert all(f"| {gap.what} | {gap} " in page for gap in gaps)


def test_claims_are_differences_of_the_means_in_the_figures(lab):
    """The first claim about errors, computed again from the curves that the figure draws."""
    curves = {curve.label: curve.y.mean() for curve in make("fig-main-linear", lab).panels[0].curves}
    ours = min(OURS, key=curves.get)
    rival = min(set(curves) - set(OURS), key=curves.get)
    (gap,) = (gap for gap in CLAIMS[1].gaps(lab) if gap.what.startswith("linear"))
    assert gap.what == f"linear, random: {ours} less {rival}"
    assert gap.value == pytest.approx(curves[ours] - curves[rival], abs=1e-6)
    assert gap.stderr > 0


def test_gallery_escapes_and_needs_no_network():
    curve = Curve("<b>", np.array([1.0]), np.array([0.5]), np.array([0.1]))
    figure = Figure("fig", "<script>", "x", 'alt "quoted"', (Panel("<p>", "n", "e", (curve,)),), {"seed": 0})
    page = gallery("T", ["a & b"], [figure], [("<what>", "theirs", "ours", "name")])
    assert "played as published" not in page
    page = gallery("T", ["a & b"], [figure], [("<what>", "theirs", "ours", "name")], [("sr", "<b>never</b>")])
    assert "<td>sr</td><td>&lt;b&gt;never&lt;/b&gt;</td>" in page
    assert "<script>" not in page
    assert "&lt;b&gt;" in page
    assert "http" not in page
    assert "alt='alt &quot;quoted&quot;. &lt;p&gt;, e: &lt;b&gt; 0.5 at 1, &lt;b&gt; 0.5 at 1'" in page


def test_a_picture_in_words():
    x = np.array([20.0, 300.0])
    low, high = (Curve(name, x, np.array(y), np.zeros(2)) for name, y in (("g", [0.3, 0.1]), ("sh", [0.25, 0.2])))
    figure = Figure("fig", "t", "w", "Curves", (Panel("arms", "budget n", "error", (low, high)),), {})
    assert spoken(figure) == (
        "Curves. arms, error: at budget n 20 from sh 0.25 to g 0.3, at budget n 300 from g 0.1 to sh 0.2"
    )


def test_command(tmp_path):
    run = CliRunner().invoke
    listed = run(cli, ["paper"])
    assert all(name in listed.output for name in FIGURES)
    done = run(cli, ["paper", "fig-bounds", "fig-weights", "--quick", "--out", str(tmp_path), "--jobs", "1"])
    assert done.exit_code == 0
    assert {f"fig-bounds.{suffix}" for suffix in ("png", "svg", "csv")} <= {path.name for path in tmp_path.iterdir()}
    assert "fig-weights.svg" in (tmp_path / "index.html").read_text()
    assert "expected 'all' or one of" in str(run(cli, ["paper", "fig-x"]).exception)
    assert "--movies" in str(run(cli, ["paper", "fig-main-movielens"]).exception)


def test_settings_are_reproducible():
    for (a, model, _), (b, again, _) in zip(settings(3), settings(3), strict=True):
        assert a == b
        np.testing.assert_array_equal(model.mean, again.mean)
