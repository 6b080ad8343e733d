"""What a hostile tester found: each was once a traceback or a silently wrong number."""

import numpy as np
import pytest

import bestarm as ba
from bestarm.checks.conflict import conflict
from bestarm.design.batch import gain_of
from bestarm.models.glm import POISSON
from bestarm.models.logistic import GeneralizedLinear

GAUSS = ba.Gaussian.independent([0, 0], 1.0)


def test_looking_ahead_is_the_same_when_minimising():
    up = ba.Bernoulli.independent([2, 2, 3], [2, 2, 3])._runs(1)
    down = ba.Bernoulli.independent([2, 2, 3], [2, 2, 3], direction="minimize")._runs(1)
    np.testing.assert_allclose(gain_of(1, up), gain_of(1, down), atol=1e-12)
    assert gain_of(1, up).max() > 0


def test_out_tells_truths_apart(tmp_path):
    path = tmp_path / "f"
    ba.simulate(GAUSS, "tie", 6, runs=100, truth=ba.Evaluations([[0.0, 0.0], [1.0, 1.0]]), out=path)
    with pytest.raises(ba.InputError, match="another simulation"):
        ba.simulate(GAUSS, "tie", 6, runs=100, truth=ba.Evaluations([[1.0, 1], [0.0, 3]]), out=path)
    other = tmp_path / "g"
    ba.simulate(GAUSS, "tie", 6, runs=10, truth=lambda runs, rng: np.zeros((runs, 2)), out=other)
    with pytest.raises(ba.InputError, match="another simulation"):
        ba.simulate(GAUSS, "tie", 6, runs=10, truth=lambda runs, rng: np.ones((runs, 2)), out=other)


def test_evaluations_go_by_name():
    model = ba.Gaussian.independent([10, 0], 0.001, names=["a", "b"])
    truth = ba.Evaluations({"b": [0.0, 0], "a": [10.0, 10]})
    assert ba.simulate(model, "uniform", 2, runs=50, truth=truth).estimate("uniform", 2.0).value == 0
    with pytest.raises(ba.InputError, match="no evaluations of arm 'b'"):
        ba.simulate(model, "uniform", 2, runs=5, truth=ba.Evaluations({"a": [1.0], "z": [1.0]}))
    masked = np.ma.masked_array([[0.0, 5.0], [99.0, 6.0]], mask=[[False, False], [True, False]])
    assert [len(pool) for pool in ba.Evaluations(masked).pools] == [1, 2]


def test_rare_errors_keep_a_standard_error():
    rare = ba.evaluate(ba.Logistic([[1, 0], [0, 1]], [3.0, -3.0], np.eye(2)), [200, 200])
    assert rare.error.stderr >= 1 / 8192 / 2
    drawn = ba.evaluate(ba.Bernoulli.independent([1, 2, 3], [3, 2, 1]), [10**9] * 3, rng=3)
    assert drawn.error.stderr >= 1 / 4096 / 2


def test_scatter_lost_far_from_zero_is_said():
    x = np.array([0.0, 1, 2, 3, 1, 2, 3, 4])
    model = ba.Gaussian.independent([1e9] * 2, 1.0, noise=ba.UnknownNoise(2, 1))
    with pytest.warns(ba.PrecisionWarning, match="subtract a constant"):
        model.update([0] * 4 + [1] * 4, 1e9 + x)
    with pytest.raises(ba.InputError, match="subtract a constant"):
        ba.learn({"arm": ["a"] * 4 + ["b"] * 4, "reward": 1.7e12 + x})


def test_counts_of_any_size_have_a_mode():
    model = GeneralizedLinear.of(POISSON, [[1.0]], [0], [[1.0]])
    for rewards in (1e3, 1e9, 1e15):
        assert model.update([0], [rewards]).family.mean(model.update([0], [rewards]).link_mean)[0] == pytest.approx(
            rewards, rel=0.1
        )


def test_batches_of_learned_beliefs():
    for model in (ba.from_nothing(3), ba.Gaussian.independent([0, 0, 0], 1, ba.UnknownNoise(2, 1))):
        batch = model.condition([[1] * 3, [2] * 3], [1, 2, 3], [1, 4, 9])
        one = model.condition([2] * 3, [1, 2, 3], [1, 4, 9])
        np.testing.assert_allclose(batch.mean[1], one.mean)
        assert batch.prob_best().value.shape == (2, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ba.from_nothing(3).condition([10] * 3, [10, 20, 30], [-5] * 3), "less than sums"),
        (lambda: ba.from_nothing(2, yes_no="no"), "yes_no is 'no'"),
        (lambda: ba.from_nothing(10**13), "arms is"),
        (lambda: ba.from_nothing(3).sample_rewards([0, 0, 0], [0]), "draws no rewards"),
        (lambda: ba.evaluate(ba.from_nothing(3), [1, 1, 1]), "no truth to draw from"),
        (lambda: ba.evaluate(GeneralizedLinear.of(POISSON, [[1.0, 0], [0, 1]], [1, 1], np.eye(2)), [5, 5], assumed=ba.Logistic([[1.0, 0], [0, 1]], [0, 0], np.eye(2))), "expected the family"),
        (lambda: ba.evaluate(ba.Bernoulli.independent([1, 1], [1, 1]), [1e19, 1]), "counts has 1e"),
        (lambda: ba.simulate(ba.Bernoulli.independent([1, 1], [1, 1]), "tie", 9, runs=2, truth=ba.Evaluations([[7.0, 0], [3, 5]])), "expected 0 or 1"),
        (lambda: ba.simulate(ba.Bernoulli.independent([1, 1], [1, 1]), "tie", 9, runs=2, truth=lambda n, rng: np.full((n, 2), 3.0)), "expected probabilities"),
        (lambda: ba.simulate(GAUSS, "tie", 9, runs=2, truth=GAUSS.condition([[1, 1], [2, 2]], [0, 0])), "truth has batch axes"),
        (lambda: ba.simulate(GAUSS, "tie", 9, runs=2, truth=lambda n: n), "expected a function of"),
        (lambda: ba.simulate(GAUSS, "tie", 9, runs=2, executor=3), "executor is 3"),
        (lambda: ba.simulate(GAUSS, ba.policies.TopTwo, 9, runs=2), "policies has"),
        (lambda: ba.simulate(GAUSS, "tie", 9, runs=2, out=3), "out is 3"),
        (lambda: ba.simulate(GAUSS, "tie", 9, runs=2, out="/nowhere/f"), "cannot be written"),
        (lambda: ba.simulate(GAUSS, "tie", 9, runs=2, out="/"), "cannot be"),
        (lambda: conflict(ba.Bernoulli.independent([1, 1], [1, 1]), [[1, 1]], [[1, 1]]), "counts has shape"),
        (lambda: ba.Evaluations([]), "values has shape"),
        (lambda: ba.Evaluations("abc"), "values is 'abc'"),
        (lambda: ba.Gaussian.independent([0], 1, ba.UnknownNoise(2, 1)).interval(95), "level is 95"),
        (lambda: ba.UnknownNoise.plug_in(["a", "a"], [1.0, 2.0], shared="no"), "shared is 'no'"),
        (lambda: ba.UnknownNoise.plug_in([{}, {}], [1.0, 2.0]), "expected names"),
        (lambda: ba.learn({"arm": ["a", "a"], "reward": [1.0, 2.0]}, arms="new"), "arms is 'new'"),
        (lambda: ba.learn({"arm": ["a", "a"], "reward": [1.0, 2.0]}, arms=5), "arms is 5"),
        (lambda: ba.learn({"arm": ["a", "a"], "reward": [1.0, 2.0]}, kind="mixture", effects=1.5), "effects is 1.5"),
        (lambda: ba.policy("bayesgap", epsilon=float("nan")), "epsilon is nan"),
        (lambda: ba.policy("ttts", beta=5), "beta is 5"),
        (lambda: ba.policy("sh", remainder="x"), "remainder is 'x'"),
        (lambda: ba.simulate(GAUSS, ba.policy("warmup-ts", length="x"), 9, runs=2), "length is 'x'"),
        (lambda: GeneralizedLinear.of("poisson", [[1.0]], [0], [[1.0]]), "family is 'poisson'"),
        (lambda: ba.Bernoulli.independent([1], [1]).sample_rewards([2.0], [0]), "expected probabilities"),
    ],
)  # fmt: skip
def test_refused(call, message):
    with pytest.raises(ba.InputError, match=message):
        call()


def test_damaged_files_are_refused(tmp_path):
    """400 files of results with bytes changed, cut or added: read as far as they go, or refused, never anything else."""
    path = tmp_path / "f"
    ba.simulate(GAUSS, ["tie", "ts"], [4, 8], runs=np.int64(60), out=path)
    whole = path.read_bytes()
    for seed in range(400):
        rng = np.random.default_rng(seed)
        data = bytearray(whole)
        at = int(rng.integers(0, min(len(data), 1500)))
        if seed % 3 == 0:
            data[at] = int(rng.integers(0, 256))
        elif seed % 3 == 1:
            del data[at : at + int(rng.integers(1, 200))]
        else:
            data[at:at] = rng.bytes(20)
        path.write_bytes(bytes(data))
        try:
            ba.Results.load(path)
        except ba.InputError as error:
            assert "\n" not in str(error)  # noqa: PT017
