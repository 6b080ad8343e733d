"""The report: one file, in words first; hostile names are harmless, and a browser has nothing to complain of or to fetch."""

import html.parser
import shutil
from pathlib import Path

import numpy as np
import pytest

import bestarm as ba

HOSTILE = [
    "<script>document.title='hacked'; console.error('hacked')</script>",
    "\"><img src=x onerror=console.error('hacked')>",
    "</title><h1>&amp;&lt;",
    "\u202eevil\u202c",
    "a" * 300,
    "{{7*7}} ${x} ';--",
]


def reported(folder, names, budget=60, model=None, evaluations=40, **options):
    experiment = ba.Experiment.create(
        f"{folder}/r{len(names)}.db", "<b>report</b>", names if model is None else model, budget, **options
    )
    rng = np.random.default_rng(1)
    for _ in range(evaluations):
        for trial in experiment.ask():
            experiment.tell(trial, float(0.3 * (trial.arm % 7) + rng.standard_normal()))
    path = Path(folder) / "report.html"
    experiment.report(path)
    return experiment, path


class Reader(html.parser.HTMLParser):
    """The tags and the text of a page; tables by their first cells."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text, self.addresses = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.addresses += [value for key, value in attrs if key in ("src", "href") or key.startswith("on")]

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    return reported(tmp_path_factory.mktemp("hostile"), HOSTILE)


def test_the_decision_is_in_the_text_and_names_are_escaped(hostile):
    experiment, path = hostile
    page = Reader(path.read_text(encoding="utf-8"))
    found = experiment.recommend()
    text = "".join(page.text)
    shown = "".join(c if c.isprintable() else "�" for c in found.name)
    assert shown in text
    assert f"{float(found.chance):.1%}" in text
    assert found.text[:20] in text
    assert not set(page.tags) & {"script", "img", "iframe", "object", "link rel=stylesheet"}
    assert page.addresses == ["data:,"]
    assert page.tags.count("h1") == 1
    assert page.tags.count("table") >= 4
    assert "\u202e" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["many", "one", "nothing told", "minimise", "linear", "yes/no", "history"])
def test_every_kind_of_experiment_has_a_report(kind, quick):
    if kind == "many":
        experiment, path = reported(quick, [f"arm {k}" for k in range(700)], budget=2000, evaluations=30)
        assert path.stat().st_size < 1_000_000
        assert "600 more are left out" in path.read_text()
        return
    options = {
        "one": {"names": ["only"]},
        "nothing told": {"names": ["a", "b"], "evaluations": 0},
        "minimise": {"names": ["a", "b"], "direction": "minimize"},
        "linear": {"names": "xyz", "model": ba.Gaussian.linear([[1, 0], [0, 1], [1, 1]], [0, 0], np.eye(2))},
        "yes/no": {"names": "xy", "model": ba.Bernoulli.independent([1, 2], [2, 2]), "evaluations": 0},
        "history": {"names": ["a", "b"], "evaluations": 1},
    }[kind]
    experiment, path = reported(quick, **options)
    if kind == "history":
        experiment.add("a", values=[0.1, 0.2])
        experiment.fail(experiment.ask()[0])
        experiment.extend(5)
        experiment.report(path)
        text = path.read_text(encoding="utf-8")
        for said in ("2 evaluations made elsewhere", "1 evaluation of", "extended by 5"):
            assert said in text
    text = path.read_text(encoding="utf-8")
    assert "nan" not in text.lower().replace("finance", "")
    assert f"<strong><bdi>{experiment.recommend().name}</bdi></strong>" in text


@pytest.fixture(scope="module")
def browser():
    """A real Chromium, driven over its own protocol."""
    program = next(
        (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
    )
    if program is None:
        pytest.skip("no Chromium is installed: the report is not looked at in a browser here")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.mark.parametrize("width", [375, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser(hostile, browser, width, scheme):
    experiment, path = hostile
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    errors, requests = [], []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_timeout(100)
    found = experiment.recommend()
    assert errors == []
    assert [url for url in requests if not url.startswith("data:")] == [path.as_uri()]
    assert page.title() == "Experiment <b>report</b>"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    text = page.inner_text("body")
    assert f"{float(found.chance):.1%}" in text
    ink, paper = page.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    assert contrast(ink, paper) > 7
    small = page.evaluate("[...document.querySelectorAll('.track i')].map(e => e.getBoundingClientRect().width)")
    assert max(small) > 60  # bars that can be seen
    page.close()


def test_in_print(hostile, browser, tmp_path):
    _, path = hostile
    page = browser.new_page()
    page.goto(path.as_uri())
    page.emulate_media(media="print")
    paper = page.pdf(path=tmp_path / "report.pdf")
    assert paper.startswith(b"%PDF")
    page.close()


def test_the_page_of_the_paper(browser, tmp_path):
    """Every picture is there with its alternative text, and nothing scrolls sideways but tables."""
    pytest.importorskip("matplotlib")
    from bestarm.paper.figures import make
    from bestarm.paper.lab import Lab
    from bestarm.report.curves import spoken
    from bestarm.report.gallery import gallery
    from bestarm.report.plots import draw

    lab = Lab(tmp_path / "lab", runs=4, deep_runs=2, budgets=2)
    figures = [make(name, lab) for name in ("fig-bounds", "fig-main-independent", "fig-weights")]
    for figure in figures:
        draw(figure, tmp_path)
    path = tmp_path / "index.html"
    path.write_text(gallery("The paper", ["Figures."], figures, lab.choices, []), encoding="utf-8")
    page = browser.new_page(viewport={"width": 375, "height": 800})
    errors = []
    page.on("console", lambda message: errors.append(message.text))
    page.goto(path.as_uri())
    page.evaluate("document.querySelectorAll('img').forEach(i => i.loading = 'eager')")
    page.wait_for_timeout(300)
    assert errors == []
    pictures = page.evaluate("[...document.images].map(i => [i.naturalWidth, i.alt])")
    assert [alt for _, alt in pictures] == [spoken(figure) for figure in figures]
    assert min(width for width, _ in pictures) > 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    page.close()


def contrast(first, second):
    """WCAG's ratio of two colours, rgb(…)."""

    def light(colour):
        parts = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(first), light(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)
