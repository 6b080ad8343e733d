"""Priors from past results: recovery of what was simulated, calibration, shrinkage, groups, features, mixtures, sources."""

import numpy as np
import pytest

import bestarm as ba
from bestarm.learning.empirical_bayes import beta_population, normal_population
from bestarm.learning.features import evidence_ridge
from bestarm.learning.learn import learn
from bestarm.learning.mixture import gaussian_mixture, named_groups
from bestarm.learning.tables import read_table
from bestarm.models.files import source_of


def results(means, counts, noise=1.0, seed=0, **columns):
    """Raw rewards of arms with these means, as columns."""
    rng = np.random.default_rng(seed)
    index = np.repeat(np.arange(len(means)), counts)
    rewards = rng.normal(np.asarray(means)[index], noise)
    more = {name: [values[k] for k in index] for name, values in columns.items()}
    return {"arm": [f"arm {k}" for k in index], "reward": rewards, **more}


def test_a_population_is_recovered():
    """100 simulated populations of 40 arms: estimates of mean, sd and noise are right on average within 4.5 errors."""
    found = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        table = read_table(results(rng.normal(3, 0.5, 40), rng.integers(2, 20, 40), 1.2, seed))
        population = normal_population(table)
        found.append([population.mean, population.sd, population.noise])
    error = np.std(found, axis=0) / 10
    assert (np.abs(np.mean(found, axis=0) - [3, 0.5, 1.2]) < 4.5 * error + [0, 0.01, 0]).all()


def test_a_beta_population_is_recovered():
    """60 populations of 60 arms from Beta(4, 16): mean 0.2 and worth 20 on average (worth in logs, within 15 %)."""
    found = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        p, n = rng.beta(4, 16, 60), rng.integers(10, 60, 60)
        index = np.repeat(np.arange(60), n)
        data = {"arm": [str(k) for k in index], "reward": (rng.random(len(index)) < p[index]).astype(int)}
        beta = beta_population(read_table(data))
        found.append([beta.alpha / (beta.alpha + beta.beta), np.log(beta.alpha + beta.beta)])
    middle, worth = np.mean(found, axis=0)
    assert abs(middle - 0.2) < 4.5 * np.std(found, axis=0)[0] / np.sqrt(60)
    assert abs(worth - np.log(20)) < 0.15


@pytest.mark.parametrize("yes_no", [False, True])
def test_intervals_cover_under_the_learned_prior(yes_no):
    """150 simulated histories of 25 arms: posterior intervals at 90 % cover 90 % of the true means within 2.5 %."""
    covered = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        if yes_no:
            means = rng.beta(4, 8, 25)
            index = np.repeat(np.arange(25), rng.integers(3, 40, 25))
            data = {"arm": [str(k) for k in index], "reward": (rng.random(len(index)) < means[index]).astype(int)}
        else:
            means = rng.normal(3, 0.5, 25)
            data = results(means, rng.integers(2, 20, 25), 1.2, seed)
        model = learn(read_table(data)).model
        draws = model.sample(4000, seed)
        low, high = np.quantile(draws, [0.05, 0.95], axis=0)
        covered.append(((low < means) & (means < high)).mean())
    assert abs(np.mean(covered) - 0.9) < 0.025


def test_shrinkage_and_arms_without_data():
    found = learn(results([1.0, 2.0, 3.0, 2.5], [2, 50, 50, 50], seed=1), arms=["new", "arm 0"])
    average = found.table.sums / np.maximum(found.table.counts, 1)
    assert found.model.names == ("arm 0", "arm 1", "arm 2", "arm 3", "new")
    assert abs(found.model.mean[0] - found.model.mean[4]) < abs(average[0] - found.model.mean[4])
    assert found.model.var[4] > found.model.var[:4].max()
    assert found.model.mean[2] == pytest.approx(average[2], abs=0.15)


def test_yes_no_rewards_give_betas():
    found = learn({"arm": ["a"] * 4 + ["b"] * 4, "reward": ["yes", "no", "no", "no", "yes", "yes", "yes", "no"]})
    assert isinstance(found.model, ba.Bernoulli)
    assert found.model.mean[1] > found.model.mean[0]
    assert "Beta(" in found.notes[1]


def test_features():
    """A line through 30 arms: the coefficients come back, an irrelevant feature is shrunk away, new arms are predicted."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 2)) * [5.0, 1.0] + [100, 0]
    means = 2 + 0.3 * (x[:, 0] - 100)
    data = results(means, np.full(30, 10), 1.0, 1, price=x[:, 0], luck=x[:, 1])
    table = read_table(data, features=["price", "luck"])
    fit = evidence_ridge(table)
    assert fit.mean[1] == pytest.approx(0.3 * x[:, 0].std(), rel=0.1)
    assert abs(fit.mean[2]) < 0.06
    new = fit.design(np.array([[110.0, 0.0]])) @ fit.mean
    assert new[0] == pytest.approx(5.0, abs=0.3)
    model = learn(table).model
    np.testing.assert_allclose(model.mean, fit.design(x) @ fit.mean)
    assert model.covariance.rank == 3
    full = evidence_ridge(table, full=True)
    np.testing.assert_allclose(np.diagonal(full.cov), np.diagonal(fit.cov))


def test_named_groups():
    """Arms of a group share: one without data is expected where its group is."""
    rng = np.random.default_rng(2)
    means = np.concatenate([rng.normal(0, 0.2, 6), rng.normal(3, 0.2, 6)])
    group = ["low"] * 6 + ["high"] * 6
    data = results(means, [15] * 12, 1.0, 3, kind=group)
    model = learn(data, group="kind").model
    assert np.abs(model.mean - means).max() < 0.6
    effects = named_groups(read_table(data, group="kind"))
    assert effects.labels == ("low", "high")
    assert effects.arm_sd < 0.7
    assert np.sqrt(effects.effect_cov[0, 0]) > 1


def test_gaussian_mixture():
    rng = np.random.default_rng(2)
    means = np.concatenate([rng.normal(0, 0.1, 8), rng.normal(5, 0.1, 8)])
    found = gaussian_mixture(read_table(results(means, [20] * 16, 1.0, 3)), effects=2)
    np.testing.assert_allclose(found.mixing.sum(axis=1), 1)
    np.testing.assert_allclose(np.sort(found.effect_mean), [0, 5], atol=0.4)
    model = learn(results(means, [20] * 16, 1.0, 3), kind="mixture", effects=2).model
    assert np.abs(model.mean - means).max() < 0.6


def test_summaries_need_no_raw_rewards():
    raw = results([1.0, 2.0, 1.5], [20, 30, 25], 1.0, 5)
    table = read_table(raw)
    sd = np.sqrt((table.squares - table.sums**2 / table.counts) / (table.counts - 1))
    summary = {"arm": list(table.names), "mean": table.sums / table.counts, "sd": sd, "n": table.counts}
    np.testing.assert_allclose(learn(summary).model.mean, learn(raw).model.mean, rtol=1e-9)


def test_the_file_says_where_it_is_from(tmp_path):
    data = results([1.0, 2.0], [20, 30], 1.0, 5)
    found = learn(data)
    found.save(tmp_path / "prior.yaml", units="points")
    about = source_of(tmp_path / "prior.yaml")
    assert about["rows"] == 50
    assert about["sha256"] == found.table.digest == read_table(data).digest
    assert "restricted maximum likelihood" in about["method"]
    np.testing.assert_array_equal(ba.load(tmp_path / "prior.yaml").mean, found.model.mean)
    ba.save(found.model, tmp_path / "plain.json")
    assert source_of(tmp_path / "plain.json") == {}


def test_bad_input():
    one = {"arm": ["a", "b"], "reward": [1.0, 2.0]}
    for call, message in [
        (lambda: learn(one), "one evaluation of each arm.*noise="),
        (lambda: learn({"arm": ["a", "a", "b"], "reward": [1.5, 1.5, 2.5]}), "the same whenever"),
        (lambda: learn(one, kind="x"), "kind is 'x'"),
        (lambda: learn(one, kind="linear", noise=1.0), "features is None"),
        (lambda: learn(one, kind="groups", noise=1.0), "group is None"),
        (lambda: learn(one, kind="mixture", noise=1.0, effects=5), "effects is 5"),
        (lambda: learn(one, kind="mixture", noise=1.0, arms=["z"]), "arms is given"),
        (lambda: learn(one, noise=-1.0), "noise is -1"),
        (lambda: learn({"arm": ["a"], "reward": [None]}), "reward"),
    ]:
        with pytest.raises(ba.InputError, match=message):
            call()
    assert learn(one, noise=1.0).model.noise[0] == 1.0
    assert learn({"arm": ["a"] * 3, "reward": [1.0, 2.0, 4.0]}).model.num_arms == 1
