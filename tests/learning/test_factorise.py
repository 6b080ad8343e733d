"""Factors of a table with holes: what they minimise, what they recover, and the belief they give."""

import functools

import numpy as np
import pytest

import bestarm as ba
from bestarm.learning.factorise import Factors, best_rows, factorise, grouped, low_rank_prior
from tolerances import ALGEBRA, ROUNDING

USERS, ITEMS, RANK = 60, 45, 3


def planted(noise, share=0.5, seed=0):
    """A product of rank 3 seen in `share` of its entries with noise: (users, items, ratings), the product."""
    rng = np.random.default_rng(seed)
    product = rng.normal(size=(USERS, RANK)) @ rng.normal(size=(RANK, ITEMS)) + 1.0
    users, items = np.nonzero(rng.random((USERS, ITEMS)) < share)
    return (users, items, product[users, items] + noise * rng.normal(size=len(users))), product


TABLE, PRODUCT = planted(0.1)
fit = functools.partial(factorise, *TABLE, rank=4)


def objective(factors, table, ridge):
    users, items, ratings = table
    errors = ratings - (factors.users[users] * factors.items[items]).sum(axis=1)
    return (errors**2).sum() + ridge * ((factors.users**2).sum() + (factors.items**2).sum())


def test_recovers_what_was_planted():
    """Rank 4 (three and a constant), noise 0.1, half of the entries seen: the unseen ones come out to about the noise.

    60·4 + 45·4 − 16 = 404 free numbers from about 1,350 ratings: an error of 0.1·sqrt(404/1350) = 0.055 where seen.
    """
    factors = fit(ridge=0.01, tolerance=1e-7, most_sweeps=1000)
    away = factors.users @ factors.items.T - PRODUCT
    unseen = np.ones(PRODUCT.shape, dtype=bool)
    unseen[TABLE[0], TABLE[1]] = False
    assert np.sqrt((away[~unseen] ** 2).mean()) < 0.07
    assert np.sqrt((away[unseen] ** 2).mean()) < 0.12
    assert factors.status.startswith("converged")


def test_without_noise_or_holes_it_is_the_truncated_svd():
    """All entries seen and almost no ridge: Eckart and Young."""
    rng = np.random.default_rng(1)
    full = rng.normal(size=(12, 9))
    users, items = np.indices(full.shape).reshape(2, -1)
    factors = factorise(users, items, full.ravel(), rank=2, ridge=1e-9, tolerance=0, most_sweeps=2000)
    left, singular, right = np.linalg.svd(full)
    best = (left[:, :2] * singular[:2]) @ right[:2]
    assert factors.users @ factors.items.T == pytest.approx(best, abs=1e-6)  # linear convergence, cut at rounding
    assert np.diag(factors.users.T @ factors.users) == pytest.approx(singular[:2], rel=1e-6)


def test_objective_is_as_stated():
    for ridge in (1e-6, 0.1, 10.0):
        factors = fit(ridge=ridge)
        assert factors.objective == pytest.approx(objective(factors, TABLE, ridge), rel=ALGEBRA)


@pytest.mark.parametrize("ridge", [1e-8, 0.1, 30.0])
def test_objective_never_increases(ridge):
    values = [fit(ridge=ridge, tolerance=0, most_sweeps=sweeps).objective for sweeps in range(1, 30)]
    assert (np.diff(values) <= ROUNDING * values[0]).all()


def test_converged_is_a_stationary_point():
    """Neither side can be improved with the other held: both are the ridge regressions given the other."""
    factors = fit(tolerance=0, most_sweeps=5000)
    by_user, by_item = grouped(*TABLE, USERS), grouped(TABLE[1], TABLE[0], TABLE[2], ITEMS)
    assert best_rows(by_user, factors.items, 0.1)[0] == pytest.approx(factors.users, abs=1e-5)  # flat at the bottom
    assert best_rows(by_item, factors.users, 0.1)[0] == pytest.approx(factors.items, abs=1e-5)


@pytest.mark.parametrize("rank", [1, 5, 12])
def test_half_a_sweep_is_a_regression_a_user(rank):
    """Against a loop over users with numpy.linalg.solve; one user has more ratings than fit in a block, one has none."""
    rng = np.random.default_rng(2)
    counts = [0, 1, 3, 128, 129, 700]
    users = rng.permutation(np.repeat(np.arange(6), counts))
    items = rng.integers(0, 40, len(users))
    ratings, other = rng.normal(3, 1, len(users)), rng.normal(size=(40, rank))
    ours, explained = best_rows(grouped(users, items, ratings, 6), other, 0.1)
    slow, taken = np.zeros((6, rank)), 0.0
    for user in range(6):
        z, r = other[items[users == user]], ratings[users == user]
        slow[user] = np.linalg.solve(z.T @ z + 0.1 * np.eye(rank), z.T @ r)
        taken += r @ r - ((r - z @ slow[user]) ** 2).sum() - 0.1 * (slow[user] ** 2).sum()
    assert ours == pytest.approx(slow, abs=1e-10)
    assert explained == pytest.approx(taken, rel=1e-10)


def test_a_ridge_that_rounding_eats_leaves_a_solution():
    """Three ratings for five unknowns and a ridge of 1e-30: finite, and the ratings are met."""
    rng = np.random.default_rng(3)
    z, r = rng.normal(size=(3, 5)), rng.normal(size=3)
    x, _ = best_rows(grouped(np.zeros(3, dtype=int), np.arange(3), r, 1), z, 1e-30)
    assert z @ x[0] == pytest.approx(r, abs=ALGEBRA)


def test_axes_are_those_of_the_singular_vectors():
    factors = fit()
    for side in (factors.users, factors.items):
        gram = side.T @ side
        assert gram - np.diag(np.diag(gram)) == pytest.approx(0, abs=ALGEBRA * gram.max())
        assert (np.diff(np.diag(gram)) <= 0).all()
    assert np.diag(factors.users.T @ factors.users) == pytest.approx(np.diag(factors.items.T @ factors.items))
    assert (factors.items.mean(axis=0) >= 0).all()


def test_deterministic_whatever_the_order():
    first, again = fit(), fit()
    assert np.array_equal(first.users, again.users)
    assert np.array_equal(first.items, again.items)
    mixed = np.random.default_rng(4).permutation(len(TABLE[0]))
    shuffled = factorise(*(column[mixed] for column in TABLE), rank=4)
    assert shuffled.users == pytest.approx(first.users, abs=ALGEBRA)


def test_starts_agree_where_they_end():
    """The start decides nothing here: other seeds end at the same factors, signs and order of axes included."""
    first, other = (fit(tolerance=0, most_sweeps=5000, seed=seed) for seed in (0, 1))
    assert other.objective == pytest.approx(first.objective, rel=ALGEBRA)
    assert other.items == pytest.approx(first.items, abs=1e-5)  # flat at the bottom


def test_users_and_items_swap():
    """Transposing the table transposes the answer, at the bottom."""
    users, items, ratings = TABLE
    flipped = factorise(items, users, ratings, rank=4, tolerance=0, most_sweeps=5000)
    straight = fit(tolerance=0, most_sweeps=5000)
    assert flipped.users @ flipped.items.T == pytest.approx((straight.users @ straight.items.T).T, abs=1e-5)


def test_without_ratings_zero():
    users, items, ratings = TABLE
    keep = (users != 0) & (users != 7) & (items != 0) & (items != 9)
    factors = factorise(users[keep], items[keep], ratings[keep], rank=2, shape=(USERS + 3, ITEMS + 1))
    assert factors.users.shape == (USERS + 3, 2)
    assert sorted(np.flatnonzero(~factors.users.any(axis=1))) == [0, 7, USERS, USERS + 1, USERS + 2]
    assert sorted(np.flatnonzero(~factors.items.any(axis=1))) == [0, 9, ITEMS]


def test_all_zero_ratings():
    factors = factorise([0, 1, 1], [0, 1, 0], [0, 0, 0], rank=1)
    assert not factors.users.any()
    assert factors.objective == 0
    assert factors.status.startswith("converged")


def test_says_when_it_stopped_early():
    factors = fit(most_sweeps=1)
    assert factors.sweeps == 1
    assert factors.status.startswith("stopped after 1 sweeps")
    assert repr(factors).startswith("Factors(60 users, 45 items, rank 4, objective ")


# ---------------------------------------------------------------------- the belief


FACTORS = fit(tolerance=0)


def test_prior_of_the_paper():
    chosen = [3, 1, 40]
    model = low_rank_prior(FACTORS, chosen, noise=0.5, names=["a", "b", "c"])
    v = FACTORS.items
    same = ba.Gaussian.linear(v[chosen], v.mean(axis=0), np.diag(v.var(axis=0)), 0.5, ["a", "b", "c"])
    assert np.array_equal(model.mean, same.mean)
    assert np.array_equal(model.cov, same.cov)
    assert np.array_equal(model.noise, [0.5, 0.5, 0.5])
    assert model.names == ("a", "b", "c")
    assert low_rank_prior(FACTORS).num_arms == ITEMS


def test_prior_of_users_has_the_moments_of_the_completed_table():
    """Its mean and covariance over arms are those of the rows of U Vᵀ, of users with ratings."""
    padded = Factors(np.vstack([FACTORS.users, np.zeros((5, 4))]), FACTORS.items, 0.0, 1, "")
    model = low_rank_prior(padded, prior="users")
    completed = FACTORS.users @ FACTORS.items.T
    assert model.mean == pytest.approx(completed.mean(axis=0), abs=ALGEBRA)
    assert model.cov == pytest.approx(np.cov(completed.T, bias=True), abs=ALGEBRA)


def test_which_prior_depends_on_the_axes():
    turn = np.linalg.qr(np.random.default_rng(5).normal(size=(4, 4))).Q
    turned = Factors(FACTORS.users @ turn, FACTORS.items @ turn, 0.0, 1, "")
    same = [low_rank_prior(factors, prior="users").cov for factors in (FACTORS, turned)]
    other = [low_rank_prior(factors, prior="items").cov for factors in (FACTORS, turned)]
    assert same[1] == pytest.approx(same[0], abs=ALGEBRA)
    assert np.abs(other[1] - other[0]).max() > 0.1


CASES = {
    "users: negative": (
        lambda: factorise([0, -1], [0, 1], [1, 2]),
        r"users\[1\] is -1; expected a number of at least 0",
    ),
    "users: a fraction": (lambda: factorise([0, 0.5], [0, 1], [1, 2]), r"users\[1\] is 0.5; expected a whole number"),
    "users: text": (lambda: factorise(["a", "b"], [0, 1], [1, 2]), r"users is \['a', 'b'\]; expected real numbers"),
    "users: a matrix": (lambda: factorise([[0, 1]], [0, 1], [1, 2]), r"users has shape \(1, 2\); expected a vector"),
    "users: no index": (
        lambda: factorise([0, 10**12], [0, 1], [1, 2]),
        r"users\[1\] is 1000000000000; expected an index from 0",
    ),
    "items: beyond shape": (
        lambda: factorise([0, 1], [0, 7], [1, 2], shape=(2, 7)),
        r"items\[1\] is 7; expected an index from 0 to 6",
    ),
    "lengths": (lambda: factorise([0, 1], [0], [1, 2]), r"have 2, 1 and 2 entries"),
    "ratings: none": (lambda: factorise([], [], []), r"ratings has 0 entries; expected at least 1"),
    "ratings: a hole": (lambda: factorise([0], [0], [float("nan")]), r"ratings\[0\] is nan"),
    "rank: zero": (lambda: fit(rank=0), r"rank is 0; expected a whole number of at least 1"),
    "rank: a float": (lambda: fit(rank=2.0), r"rank is 2.0; expected a whole number"),
    "rank: too large": (lambda: fit(rank=46), r"rank is 46; expected at most 45, with 60 users and 45 items"),
    "ridge": (lambda: fit(ridge=0), r"ridge is 0; expected a number above 0"),
    "tolerance": (lambda: fit(tolerance=-1), r"tolerance is -1"),
    "most_sweeps": (lambda: fit(most_sweeps=0), r"most_sweeps is 0"),
    "seed": (lambda: fit(seed=-1), r"seed is -1"),
    "shape: one number": (lambda: fit(shape=60), r"shape is 60; expected a pair"),
    "shape: empty": (lambda: fit(shape=(0, 45)), r"shape is 0; expected a whole number of at least 1"),
    "prior": (lambda: low_rank_prior(FACTORS, prior="both"), r"prior is 'both'; expected one of 'items', 'users'"),
    "prior: nobody": (
        lambda: low_rank_prior(Factors(np.zeros((2, 4)), FACTORS.items, 0.0, 1, ""), prior="users"),
        "no user with ratings",
    ),
    "prior: items": (lambda: low_rank_prior(FACTORS, [45]), r"items\[0\] is 45; expected an index from 0 to 44"),
    "prior: names": (lambda: low_rank_prior(FACTORS, [0, 1], names=["a"]), r"names has 1 entries"),
}


@pytest.mark.parametrize(("call", "message"), CASES.values(), ids=CASES.keys())
def test_bad_input(call, message):
    with pytest.raises(ba.InputError, match=message):
        call()
