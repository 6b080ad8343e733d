"""Bad input is refused where it enters: the argument, what came, what was expected."""

import json

import numpy as np
import pytest

import bestarm as ba

G = ba.Gaussian
NAN, INF = float("nan"), float("inf")
MODEL = G.independent([0, 1, 2], 1, names=["a", "b", "c"])

BOTTOMLESS: list = []
for _ in range(100_000):
    BOTTOMLESS = [BOTTOMLESS]

CASES = {
    "mean: a hole": (lambda: G.independent([0, NAN], 1), r"mean\[1\] is nan; expected a finite number"),
    "mean: infinite": (lambda: G.independent([0, -INF], 1), r"mean\[1\] is -inf"),
    "mean: text": (lambda: G.independent(["x", "y"], 1), r"mean is \['x', 'y'\]; expected real numbers"),
    "mean: None": (lambda: G.independent([None, 1], 1), r"mean"),
    "mean: complex": (lambda: G.independent([1j, 1], 1), r"mean"),
    "mean: ragged": (lambda: G.independent([[1, 2], [3]], 1), r"mean is .*regular array"),
    "mean: a matrix": (lambda: G.independent([[1, 2], [3, 4]], 1), r"mean has shape \(2, 2\)"),
    "mean: empty": (lambda: G.independent([], 1), r"mean has 0 entries; expected at least 1"),
    "mean: how many arms": (lambda: G.independent(0, 1), r"mean is 0, one number; expected a list"),
    "sd: negative": (lambda: G.independent([0, 1], [1, -0.5]), r"sd\[1\] is -0.5; expected a number of at least 0"),
    "sd: too few": (lambda: G.independent([0, 1, 2], [1, 1]), r"sd has shape \(2,\); expected .* \(3\)"),
    "noise: zero": (lambda: G.independent([0, 1], 1, noise=0), r"noise is 0; expected a number above 0"),
    "noise: per arm": (lambda: G.independent([0, 1], 1, noise=[1, -1]), r"noise\[1\] is -1"),
    "names: too few": (lambda: G.independent([0, 1], 1, names=["a"]), r"names has 1 entries; expected one per arm \(2\)"),
    "names: duplicate": (lambda: G.independent([0, 1], 1, names=["a", "a"]), r"names\[1\] is 'a', as is names\[0\]"),
    "names: a number": (lambda: G.independent([0, 1], 1, names=["a", 3]), r"names\[1\] is 3 \(int\); expected a string"),
    "names: one string": (lambda: G.independent([0, 1], 1, names="ab"), r"names is 'ab'; expected a list of 2 strings"),
    "names: empty": (lambda: G.independent([0, 1], 1, names=["a", ""]), r"names\[1\] is empty"),
    "names: surrogate": (lambda: G.independent([0, 1], 1, names=["a", "\ud800"]), r"names\[1\].*Unicode"),
    "payloads: too few": (lambda: G.independent([0, 1], 1, payloads=[1]), r"payloads has 1 entries"),
    "payloads: an object": (lambda: G.independent([0, 1], 1, payloads=[1, object()]), r"payloads\[1\].*JSON"),
    "direction": (lambda: G.independent([0, 1], 1, direction="up"), r"direction is 'up'; expected one of 'maximize', 'minimize'"),
    "features: shape": (lambda: G.linear(np.ones((3, 2)), [0, 0, 0], np.eye(3)), r"features has shape \(3, 2\); expected \(arms, 3\)"),
    "features: a vector": (lambda: G.linear([1, 2], [0, 0], np.eye(2)), r"features has shape \(2,\); expected a matrix"),
    "features: no arms": (lambda: G.linear(np.ones((0, 2)), [0, 0], np.eye(2)), r"features has shape \(0, 2\)"),
    "cov: shape": (lambda: G.linear(np.ones((3, 2)), [0, 0], np.eye(3)), r"cov has shape \(3, 3\); expected \(2, 2\)"),
    "cov: asymmetric": (lambda: G.linear(np.eye(2), [0, 0], [[1, 0.5], [0.2, 1]]), r"cov is not symmetric: \[0, 1\] is 0.5 and \[1, 0\] is 0.2"),
    "cov: indefinite": (lambda: G.linear(np.eye(2), [0, 0], [[1, 2], [2, 1]]), r"cov is not positive semi-definite: .* smallest eigenvalue is -1;"),
    "cov: zero variance, covariance": (lambda: G.linear(np.eye(2), [0, 0], [[0, 0.1], [0.1, 1]]), r"cov is not positive semi-definite"),
    "cov: negative variance": (lambda: G.linear(np.eye(2), [0, 0], [[1, 0], [0, -1]]), r"cov\[1, 1\] is -1"),
    "effect_cov": (lambda: G.hierarchical(np.eye(2), [0, 0], [[1, 2], [2, 1]], 1), r"effect_cov is not positive"),
    "effect_mean": (lambda: G.hierarchical(np.eye(2), [0, 0, 0], np.eye(3), 1), r"mixing has shape \(2, 2\); expected \(arms, 3\)"),
    "arm_sd": (lambda: G.hierarchical(np.eye(2), [0, 0], np.eye(2), [1, -1]), r"arm_sd\[1\] is -1"),
    "factor": (lambda: G.low_rank([0, 1], np.ones((3, 1)), 1), r"factor has shape \(3, 1\); expected \(2, rank\)"),
    "var": (lambda: G.low_rank([0, 1], np.ones((2, 1)), [1, -1]), r"var\[1\] is -1"),
    "update: unknown name": (lambda: MODEL.update(["a", "z"], [1, 2]), r"arms has 'z'; expected an index from 0 to 2 or one of the names 'a', 'b', 'c'"),
    "update: index": (lambda: MODEL.update([0, 3], [1, 2]), r"arms has 3"),
    "update: negative index": (lambda: MODEL.update([-1], [1]), r"arms has -1"),
    "update: a fraction": (lambda: MODEL.update([0.5], [1]), r"arms has 0.5"),
    "update: a truth value": (lambda: MODEL.update([True], [1]), r"arms has True"),
    "update: lengths": (lambda: MODEL.update([0, 1], [1]), r"arms has shape \(2,\) and rewards has shape \(1,\)"),
    "update: a hole": (lambda: MODEL.update([0], [NAN]), r"rewards\[0\] is nan"),
    "condition: negative": (lambda: MODEL.condition([1, -1, 0], [0, 0, 0]), r"counts\[1\] is -1"),
    "condition: a fraction": (lambda: MODEL.condition([1, 1.5, 0], [0, 0, 0]), r"counts\[1\] is 1.5; expected a whole number"),
    "condition: shape": (lambda: MODEL.condition([1, 1], [0, 0, 0]), r"counts has shape \(2,\); expected one number per arm \(3\)"),
    "condition: scalar": (lambda: MODEL.condition(1, [0, 0, 0]), r"counts has shape \(\)"),
    "condition: stray sum": (lambda: MODEL.condition([1, 0, 1], [1, 2, 3]), r"sums is not 0 for arm 'b'"),
    "condition: batches": (lambda: MODEL.condition(np.ones((2, 3)), np.ones((4, 3))), r"counts has shape \(2, 3\) and sums has shape \(4, 3\)"),
    "after: negative": (lambda: MODEL.after([1, 2, -3]), r"counts\[2\] is -3"),
    "after: infinite": (lambda: MODEL.after([1, 2, INF]), r"counts\[2\] is inf"),
    "diff_var": (lambda: MODEL.after([1, 2, 3]).diff_var(0, 3), r"j is 3; expected arm indices from 0 to 2"),
    "sample_rewards: means": (lambda: MODEL.sample_rewards([1, 2], 0), r"means has shape \(2,\)"),
    "sample_rewards: arms": (lambda: MODEL.sample_rewards(np.ones((2, 3)), np.zeros((4, 1), int)), r"arms has shape \(4, 1\)"),
    "mean: too large": (lambda: G.independent([1, 1e60], 1), r"mean\[1\] is 1e\+60; expected a number of size at most 1e\+50"),
    "mean: masked": (lambda: G.independent(np.ma.array([1, 9], mask=[0, 1]), 1), r"mean has masked entries"),
    "mean: text as objects": (lambda: G.independent(np.array(["1", "2"], dtype=object), 1), r"mean is"),
    "mean: bottomless": (lambda: G.independent(BOTTOMLESS, 1), r"mean is"),
    "sd: vanishing": (lambda: G.independent([0, 1], 1e-160), r"sd is 1e-160; expected 0 or at least 1e-50"),
    "noise: vanishing": (lambda: G.independent([0, 1], 1, noise=1e-200), r"noise is 1e-200; expected a number of at least"),
    "noise: shape": (lambda: G.linear(np.eye(2), [0, 0], np.eye(2), noise=[1, 2, 3]), r"noise has shape \(3,\)"),
    "names: a set": (lambda: G.independent([0, 1], 1, names={"a", "b"}), r"names is .*; expected a list"),
    "names: a number of them": (lambda: G.independent([0, 1], 1, names=2), r"names is 2; expected a list"),
    "payloads: a map": (lambda: G.independent([0, 1], 1, payloads={"a": 1, "b": 2}), r"payloads is"),
    "payloads: number keys": (lambda: G.independent([0, 1], 1, payloads=[{1: 2}, None]), r"payloads\[0\].*text as keys"),
    "payloads: surrogate": (lambda: G.independent([0, 1], 1, payloads=["\ud800", None]), r"payloads\[0\]"),
    "names: no axis": (lambda: G.independent([0, 1], 1, names=np.array(5.0)), r"names is array\(5.\); expected a list of 2 strings"),
    "payloads: no axis": (lambda: G.independent([0, 1], 1, payloads=np.array(5.0)), r"payloads is array\(5.\); expected a list"),
    "payloads: too long a number": (lambda: G.independent([0, 1], 1, payloads=[10**5000, None]), r"payloads\[0\]"),
    "payloads: deep": (lambda: G.independent([0, 1], 1, payloads=[None, json.loads("[" * 101 + "]" * 101)]), r"payloads\[1\].*at most 100 inside each other"),
    "payloads: bottomless": (lambda: G.independent([0, 1], 1, payloads=[BOTTOMLESS, None]), r"payloads\[0\]"),
    "cov: absurd": (lambda: G.linear(np.eye(2), [0, 0], [[1e-30, 1e30], [1e30, 1]]), r"cov is not positive semi-definite"),
    "cov: tiny against zero": (lambda: G.linear(np.eye(2), [0, 0], [[0, 1e-20], [1e-20, 1e-20]]), r"cov is not positive"),
    "update: masked": (lambda: MODEL.update(np.ma.array([0, 1], mask=[0, 1]), [1, 2]), r"arms has masked"),
    "update: huge index": (lambda: MODEL.update(np.array([2**64 - 1], np.uint64), [1]), r"arms has 18446744073709551615"),
    "sample: negative": (lambda: MODEL.sample(-1), r"size is -1; expected a whole number"),
    "sample: beyond any count": (lambda: MODEL.sample([10**30]), r"size is \[10+\], 3e\+30 numbers in all; expected at most 1e\+10"),
    "sample: beyond any memory": (lambda: MODEL.sample(10**11), r"size is 100000000000, 3e\+11 numbers in all"),
    "sample: axes": (lambda: MODEL.sample((1,) * 70), r"size has 70 axes; expected at most 16"),
    "sample: a fraction": (lambda: MODEL.sample((2, 2.5)), r"size is \(2, 2.5\)"),
    "diff_var: shapes": (lambda: MODEL.covariance.diff_var([0, 1], [1, 2, 0]), r"i has shape \(2,\) and j has shape \(3,\)"),
    "rng: where it is not needed": (lambda: MODEL.prob_best(rng="x"), r"rng is 'x'"),
    "rng: bottomless": (lambda: MODEL.sample(rng=BOTTOMLESS), r"rng is"),
    "rng": (lambda: MODEL.sample(rng="x"), r"rng is 'x'; expected a seed"),
    "rng: negative": (lambda: MODEL.sample(rng=-1), r"rng is -1"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_refused(case):
    call, message = CASES[case]
    with pytest.raises(ba.InputError, match=message) as caught:
        call()
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, ba.BestarmError)
    assert "\n" not in str(caught.value)


def test_what_looks_odd_and_is_fine():
    ba.Gaussian.linear(np.eye(2), [0, 0], [[1, 1], [1, 1]])  # singular
    ba.Gaussian.linear(np.eye(2), [0, 0], np.zeros((2, 2)))
    ba.Gaussian.independent([1], [0])
    ba.Gaussian.independent(np.array([1, 2], dtype=np.float32), np.int8(1), names=np.array(["x", "y"]))
    MODEL.update([], [])
    MODEL.condition([1.0, 2, 0], [0, 0, 0])
