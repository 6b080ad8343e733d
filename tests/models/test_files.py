"""Model files: what is saved comes back bit for bit, what a person writes is read as meant or refused by key."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bestarm as ba
from random_models import SETTINGS, random_counts, random_data, random_model

FILES = Path(__file__).parent / "files"


def assert_same(a, b):
    np.testing.assert_array_equal(a.mean, b.mean)
    np.testing.assert_array_equal(a.covariance.factor, b.covariance.factor)
    np.testing.assert_array_equal(a.covariance.diag, b.covariance.diag)
    np.testing.assert_array_equal(a.noise_var, b.noise_var)
    assert a.names == b.names
    assert a.payloads == b.payloads
    assert a.direction == b.direction


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("seed", range(5))
def test_exact_round_trip(tmp_path, setting, suffix, seed):
    rng = np.random.default_rng(seed)
    model = random_model(setting, rng, direction=["maximize", "minimize"][seed % 2])
    counts = random_counts(model.num_arms, rng)
    for belief in (model, model.condition(counts, random_data(model, counts, rng))):
        ba.save(belief, tmp_path / f"m{suffix}")
        assert_same(ba.load(tmp_path / f"m{suffix}"), belief)


NAMES = ["NO", "1e3", "a, b", "🦜🏽", "null", "true", "~", "- x", "#c", "'", '"', "\\", "a: b", " lead", "tab\tnew\nline",
         "\u2028", "\x07", "名前", "0x10", "12:30:45", "2024-01-01", "=", "<<", "{}", "%", "@", "\ufeff"]  # fmt: skip


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_awkward_names_survive(tmp_path, suffix):
    payloads = [
        None,
        {"deep": ["NO", 1, 2.5, None, True]},
        "text: more",
        "1e3",
        "08",
        {"1e3": "+1e3"},
        *range(len(NAMES) - 6),
    ]
    model = ba.Gaussian.independent(range(len(NAMES)), 1, names=NAMES, payloads=payloads)
    ba.save(model, tmp_path / f"m{suffix}")
    assert_same(ba.load(tmp_path / f"m{suffix}"), model)


@settings(max_examples=100, deadline=None)
@given(
    names=st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=5, unique=True)
)
def test_any_text_is_a_name(tmp_path_factory, names):
    model = ba.Gaussian.independent(np.zeros(len(names)), 1, names=names)
    for suffix in (".yaml", ".json"):
        path = tmp_path_factory.mktemp("names") / f"m{suffix}"
        ba.save(model, path)
        assert_same(ba.load(path), model)


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_depth_is_not_counted_in_text(tmp_path, suffix):
    nested = 1
    for level in range(100):
        nested = [nested] if level % 2 else {"k": nested}
    bins = [f"[{i}, {i + 1})" for i in range(300)]
    for names, payloads in (
        (bins, None),
        (["[" * 201, "- " * 201], ["{" * 201, "? " * 201]),
        (["a", "b"], [nested, {"k" * 2000: 1}]),
    ):
        model = ba.Gaussian.independent(np.zeros(len(names)), 1, names=names, payloads=payloads)
        ba.save(model, tmp_path / f"m{suffix}")
        assert_same(ba.load(tmp_path / f"m{suffix}"), model)


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_extremes_come_back_or_are_refused(tmp_path, suffix):
    tiny = ba.Gaussian.independent([0, 1], 1e-45, 1e-45).condition([1e12, 1e13], [0, 0])
    ba.save(tiny, tmp_path / f"m{suffix}")
    assert_same(ba.load(tmp_path / f"m{suffix}"), tiny)
    huge = ba.Gaussian.linear(np.full((2, 3), 1e50), np.full(3, 1e50), np.eye(3))
    with pytest.raises(ba.InputError, match=r"numbers that no file may hold: mean\[0\] is 3e\+100"):
        ba.save(huge, tmp_path / f"m{suffix}")
    assert_same(ba.load(tmp_path / f"m{suffix}"), tiny)  # what was there is there


def test_all_of_a_file_or_nothing(tmp_path, monkeypatch):
    """A save that fails half way leaves the old file and nothing beside it; the rights of a file stay."""
    path, model = tmp_path / "m.yaml", ba.Gaussian.independent([0, 1], 1)
    ba.save(model, path)
    path.chmod(0o600)
    ba.save(model, path)
    assert path.stat().st_mode & 0o777 == 0o600
    written = Path.write_text

    def full_disk(self, text, **options):
        written(self, text[:50], **options)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full_disk)
    with pytest.raises(ba.InputError, match="No space left"):
        ba.save(ba.Gaussian.independent([2, 3], 1), path)
    assert_same(ba.load(path), model)
    assert list(tmp_path.iterdir()) == [path]


def test_schema_1_opens():
    model = ba.load(FILES / "schema1.yaml")
    assert model.names == ("NO", "1e3", "plain words")
    assert model.direction == "minimize"
    assert model.payloads == ({"temperature": 0.2}, None, None)
    np.testing.assert_array_equal(model.mean, [0.1, -3, 1e-3])
    np.testing.assert_array_equal(model.var, [0.25, 0, 0.30000000000000004])
    np.testing.assert_array_equal(model.noise_var, [4, 1e-3 * 1e-3, 3])
    model = ba.load(FILES / "schema1.json")
    assert model.direction == "maximize"
    np.testing.assert_array_equal(model.covariance.factor, [[0.5, 0.25], [0, -1]])


def test_yaml_1_2_booleans_and_numbers(tmp_path):
    path = tmp_path / "m.yaml"
    path.write_text("bestarm: 1\nfamily: gaussian\narms:\n- {name: NO, mean: 1e-3, sd: 1, noise: 1}\n")
    assert ba.load(path).names == ("NO",)
    assert ba.load(path).mean[0] == 1e-3


ARM = "{name: a, mean: 0, sd: 1, noise: 1}"
BAD = {
    "": "the document is None",
    "- 1": "the document is",
    "bestarm: 1\nfamily: gaussian\narms: []": "arms is",
    "bestarm: 1\nfamily: gaussian": "arms is None",
    "family: gaussian\narms: [{}]": "bestarm is None",
    "bestarm: 2\nfamily: gaussian\narms: [{}]": "needs a newer bestarm",
    "bestarm: true\nfamily: gaussian\narms: [{}]": "bestarm is True",
    "bestarm: 1\nfamily: gamma\narms: [{}]": "family is 'gamma'",
    f"bestarm: 1\nfamily: gaussian\nfancy: 1\narms: [{ARM}]": "the document has the key 'fancy'",
    "bestarm: 1\nfamily: gaussian\narms: [{mean: 0, sd: 1, noise: 1}]": r"arms\[0\] has no name",
    "bestarm: 1\nfamily: gaussian\narms: [3]": r"arms\[0\] is 3",
    "bestarm: 1\nfamily: gaussian\narms: [{name: a, sd: 1, noise: 1}]": r"arms\[0\] \('a'\) has no mean",
    "bestarm: 1\nfamily: gaussian\narms: [{name: a, mean: x, sd: 1, noise: 1}]": r"arms\[0\].mean is 'x'",
    "bestarm: 1\nfamily: gaussian\narms: [{name: a, mean: true, sd: 1, noise: 1}]": r"arms\[0\].mean is True",
    "bestarm: 1\nfamily: gaussian\narms: [{name: a, mean: .nan, sd: 1, noise: 1}]": r"arms\[0\].mean is nan",
    "bestarm: 1\nfamily: gaussian\narms: [{name: a, mean: .INF, sd: 1, noise: 1}]": r"arms\[0\].mean is inf",
    "bestarm: 1\nfamily: gaussian\narms: [{name: a, mean: 0, sd: -1, noise: 1}]": r"arms\[0\].sd is -1",
    "bestarm: 1\nfamily: gaussian\narms: [{name: a, mean: 0, sd: 1, noise: 0}]": r"arms\[0\].noise is 0",
    "bestarm: 1\nfamily: gaussian\narms: [{name: a, mean: 0, sd: 1, var: 1, noise: 1}]": "has both sd and var",
    "bestarm: 1\nfamily: gaussian\narms: [{name: a, mean: 0, noise: 1}]": "has neither sd and var",
    "bestarm: 1\nfamily: gaussian\narms: [{name: 3, mean: 0, sd: 1, noise: 1}]": r"names\[0\] is 3 \(int\); .* quotes",
    f"bestarm: 1\nfamily: gaussian\ndirection: up\narms: [{ARM}]": "direction is 'up'",
    f"bestarm: 1\nfamily: gaussian\narms: [{ARM}, {ARM}]": r"names\[1\] is 'a', as is names\[0\]",
    "bestarm: 1\nfamily: gaussian\narms: [{name: a, mean: 0, sd: 1, noise: 1, factor: 3}]": r"arms\[0\].factor is 3",
    "bestarm: 1\nbestarm: 1": "the key 'bestarm' comes twice",
    "bestarm: [": "cannot be read as a model file",
    "1: 2": "the key 1 is not text",
    "!!python/object/apply:os.system ['true']": "cannot be read as a model file",
    "a: &a [*a]": "cannot be read",
    "bestarm: 1\nfamily: gaussian\narms: [{name: a, mean: " + "9" * 400 + ", sd: 1, noise: 1}]": r"arms\[0\].mean",
    "bestarm: 1\nfamily: gaussian\narms: [{name: a, mean: " + "9" * 5000 + ", sd: 1, noise: 1}]": "cannot be read",
    "bestarm: !!bool maybe": "cannot be read",
    "bestarm: !!timestamp x": "cannot be read",
    "!!map [a]": "cannot be read",
    "bestarm: !!int '1_0'": "cannot be read",
    "- " * 100_000 + "a": "nested too deeply",
    "[" * 100_000: "nested too deeply",
    "{a: " * 5_000: "nested too deeply",
    "bestarm: 1\nfamily: gaussian\narms: [{name: a, mean: 0, sd: 1e-200, noise: 1}]": r"sd is 1e-200",
}


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_refused_by_key(tmp_path, text):
    path = tmp_path / "m.yaml"
    path.write_text(text)
    with pytest.raises(ba.InputError, match=BAD[text]) as caught:
        ba.load(path)
    assert "m.yaml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_other_refusals(tmp_path):
    (tmp_path / "m.json").write_text("{")
    with pytest.raises(ba.InputError, match="cannot be read"):
        ba.load(tmp_path / "m.json")
    (tmp_path / "m.json").write_text("[" * 100_000)
    with pytest.raises(ba.InputError, match="nested too deeply"):
        ba.load(tmp_path / "m.json")
    (tmp_path / "m.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ba.InputError, match="not UTF-8"):
        ba.load(tmp_path / "m.yaml")
    (tmp_path / "m.json").write_text('{"bestarm": 1, "bestarm": 1}')
    with pytest.raises(ba.InputError, match="comes twice"):
        ba.load(tmp_path / "m.json")
    for path in (tmp_path / "missing.yaml", tmp_path, tmp_path / ("x" * 300), "", None, 3, "\0"):
        with pytest.raises(ba.InputError, match="path is"):
            ba.load(path)
        if path != tmp_path / "missing.yaml":
            with pytest.raises(ba.InputError, match="path is"):
                ba.save(ba.Gaussian.independent([0, 1], 1), path)
    with pytest.raises(ba.InputError, match="batch axes"):
        ba.save(
            ba.Gaussian.independent([0, 1], 1).condition(np.ones((2, 2)), np.ones((2, 2))),
            tmp_path / "m.yaml",
        )
    with pytest.raises(ba.InputError, match="expected a model"):
        ba.save("model", tmp_path / "m.yaml")


FAMILIES = {
    "bernoulli": ba.Bernoulli.independent([0.1, 2, 1e6], [1 / 3, 2, 5], ["NO", "1e3", "é, \U0001f600"], "minimize", [None, {"t": 1}, "x"]),
    "logistic": ba.Logistic([[1, 0.1], [0.3, 2], [1, 1]], [0.2, -1 / 3], [[1, 0.1], [0.1, 0.5]], ["a", "b", "c"]).condition([3, 0, 9], [2, 0, 4]),
    "unknown noise": ba.Gaussian.independent([0.1, 1 / 3], [0.5, 0.7], ba.UnknownNoise(2, 1 / 3, False)).update([0, 0, 1], [1.0, 2.5, 0.1]),
    "unknown noise, no data": ba.Gaussian.hierarchical([[0.2, 0.8], [1, 0]], [0, 1], np.eye(2), 0.1, ba.UnknownNoise(2, 1)),
}  # fmt: skip


@pytest.mark.parametrize("suffix", ["yaml", "json"])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_comes_back(tmp_path, family, suffix):
    model = FAMILIES[family]
    path = tmp_path / f"m.{suffix}"
    ba.save(model, path)
    again = ba.load(path)
    assert type(again) is type(model)
    assert (again.names, again.payloads, again.direction) == (model.names, model.payloads, model.direction)
    for name in ("alpha", "beta", "counts", "sums", "squares", "features", "prior_mean", "prior_cov", "law"):
        if hasattr(model, name):
            assert np.array_equal(getattr(again, name), getattr(model, name))
    np.testing.assert_allclose(again.mean, model.mean, rtol=1e-12)
    again_path = tmp_path / f"n.{suffix}"
    ba.save(again, again_path)
    assert again_path.read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bestarm: 1\nfamily: bernoulli\narms:\n- {name: a, alpha: 0, beta: 1}\n", "alpha"),
        ("bestarm: 1\nfamily: bernoulli\narms:\n- {name: a, alpha: 1}\n", "has no beta"),
        ("bestarm: 1\nfamily: bernoulli\narms:\n- {name: a, alpha: 1, beta: 1, sd: 2}\n", "the key 'sd'"),
        ("bestarm: 1\nfamily: logistic\narms:\n- {name: a, features: [1]}\n", "coefficients is None"),
        ("bestarm: 1\nfamily: logistic\ncoefficients: {mean: 3}\narms:\n- {name: a, features: [1]}\n", "coefficients has no mean"),
        ("bestarm: 1\nfamily: logistic\ncoefficients: {mean: [0], cov: [[1]]}\narms:\n- {name: a, features: [1], evaluations: 2}\n", "has no total"),
        ("bestarm: 1\nfamily: gaussian\nnoise: 3\narms:\n- {name: a, mean: 0, sd: 1}\n", "noise is 3"),
        ("bestarm: 1\nfamily: gaussian\nnoise: {shape: 1}\narms:\n- {name: a, mean: 0, sd: 1}\n", "noise.scale is None"),
        ("bestarm: 1\nfamily: gaussian\nnoise: {shape: 1, scale: 1}\narms:\n- {name: a, mean: 0, sd: 1, noise: 2}\n", "the key 'noise'"),
    ],
)  # fmt: skip
def test_families_are_refused_by_key(tmp_path, text, message):
    path = tmp_path / "m.yaml"
    path.write_text(text)
    with pytest.raises(ba.InputError, match=message):
        ba.load(path)
