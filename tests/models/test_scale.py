"""Large problems never allocate K×K, and batches go in one call."""

import tracemalloc

import numpy as np

import bestarm as ba
from bestarm.models.covariance import thin_product


def peak_megabytes(call):
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def test_ten_thousand_hierarchical_arms_under_64_megabytes():
    rng = np.random.default_rng(0)
    k, effects = 10_000, 20
    model = ba.Gaussian.hierarchical(rng.random((k, effects)), np.zeros(effects), np.eye(effects), 0.3)
    ordinary, billion = rng.integers(0, 5, k), np.where(np.arange(k) % 2, 1e9, 0)
    precise = ba.Gaussian.linear(rng.random((k, effects)), np.zeros(effects), np.eye(effects), 1e-3)
    for belief, counts in ((model, ordinary), (model, billion), (precise, billion)):
        sums = counts * rng.random(k)
        assert peak_megabytes(lambda b=belief, n=counts, s=sums: b.condition(n, s).var) < 64


def test_a_million_independent_arms():
    k = 1_000_000
    model = ba.Gaussian.independent(np.zeros(k), 1.0)
    # a few passes: not more than a dozen arrays of K at a time
    assert peak_megabytes(lambda: model.condition(np.ones(k), np.ones(k))) < 12 * 8
    np.testing.assert_allclose(model.condition(np.ones(k), np.ones(k)).mean, 0.5)


def test_ten_thousand_posteriors_in_one_call():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 9, (10_000, 10)).astype(float)
    sums = counts * rng.normal(size=counts.shape)
    for model in (
        ba.Gaussian.independent(np.zeros(10), 1.0),
        ba.Gaussian.linear(rng.normal(size=(10, 4)), np.zeros(4), np.eye(4)),
    ):
        batch = model.condition(counts, sums)
        assert batch.mean.shape == batch.var.shape == (10_000, 10)
        assert batch.best.shape == (10_000,)
        np.testing.assert_allclose(batch.mean[77], model.condition(counts[77], sums[77]).mean, rtol=1e-9, atol=1e-12)


def test_thin_products_wake_no_threads():
    """BLAS starts threads beyond 2^18 multiplications: each slice stays below, and together they are the product."""
    sizes = []

    class Watched(np.ndarray):
        def __matmul__(self, other):
            sizes.append(len(self) * other.size)
            return np.asarray(self) @ other

    rng = np.random.default_rng(1)
    for shape in ((5000, 60), (3, 700, 60), (0, 60), (60,), (5, 0)):
        many, few = rng.normal(size=shape), rng.normal(size=(shape[-1], 10))
        np.testing.assert_allclose(thin_product(many.view(Watched), few), many @ few, rtol=1e-12, atol=1e-12)
    assert max(sizes) <= 2**18
    assert len(sizes) > 10
