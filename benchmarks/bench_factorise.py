"""Completing a table of a million ratings, against a Python loop over users and against sweeps without balancing.

The environment variable ML1M may name a folder or zip file for `load_movielens`: then the same for the real ratings.
"""

import os
import time

import numpy as np

from bestarm.learning.factorise import Grouped, best_rows, factorise, grouped
from bestarm.paper.movielens import load_movielens
from bestarm.validation import Array, IntArray

RANK, RIDGE, TOLERANCE = 5, 0.1, 1e-4
SCANNED = 100  # users for whom the loop looks for their ratings


def synthetic(m: int = 6040, n: int = 3952, count: int = 1_000_000) -> tuple[IntArray, IntArray, Array]:
    """A constant and four more directions, seen in a million different places with noise 0.9."""
    rng = np.random.default_rng(0)
    places = rng.choice(m * n, count, replace=False)
    users, items = places // n, places % n
    left, right = rng.normal(size=(m, RANK)) * 0.6, rng.normal(size=(n, RANK)) * 0.6
    left[:, 0], right[:, 0] = 1.9, 1.9 + 0.3 * rng.normal(size=n)
    return users, items, (left[users] * right[items]).sum(axis=1) + 0.9 * rng.normal(size=count)


def looped(table: Grouped, other: Array) -> Array:
    """One half-sweep: numpy.linalg.solve for each row, whose ratings stand together already."""
    out, penalty = np.zeros((len(table.starts) - 1, RANK)), RIDGE * np.eye(RANK)
    for row, (low, high) in enumerate(zip(table.starts[:-1].tolist(), table.starts[1:].tolist(), strict=True)):
        z = other[table.across[low:high]]
        out[row] = np.linalg.solve(z.T @ z + penalty, z.T @ table.ratings[low:high])
    return out


def scanned(users: IntArray, items: IntArray, ratings: Array, other: Array) -> None:
    """As `looped`, for a few users whose ratings are looked for among all."""
    penalty = RIDGE * np.eye(RANK)
    for user in range(SCANNED):
        own = users == user
        z = other[items[own]]
        np.linalg.solve(z.T @ z + penalty, z.T @ ratings[own])


def report(label: str, users: IntArray, items: IntArray, ratings: Array, m: int, n: int) -> None:
    start = time.perf_counter()
    made = factorise(users, items, ratings, RANK, RIDGE, TOLERANCE, shape=(m, n))
    taken = time.perf_counter() - start
    error = np.sqrt(np.mean((ratings - (made.users[users] * made.items[items]).sum(axis=1)) ** 2))
    print(f"\n{label}: {len(ratings):,} ratings, {m:,} × {n:,}, rank {RANK}, ridge {RIDGE:g}")
    print(f"  {taken:.2f} s to a relative change of {TOLERANCE:g} (target 10), {made.sweeps} sweeps; error {error:.3f}")

    by_user, by_item = grouped(users, items, ratings, m), grouped(items, users, ratings, n)
    left = np.random.default_rng(0).standard_normal((m, RANK))
    ours, loop = [], []
    for _ in range(5):
        start = time.perf_counter()
        right, _ = best_rows(by_item, left, RIDGE)
        best_rows(by_user, right, RIDGE)
        ours.append(time.perf_counter() - start)
        start = time.perf_counter()
        looped(by_user, looped(by_item, left))
        loop.append(time.perf_counter() - start)
    start = time.perf_counter()
    scanned(users, items, ratings, right)
    scan = (time.perf_counter() - start) * (m + n) / SCANNED
    print(f"  a sweep: {1e3 * min(ours):.1f} ms; numpy.linalg.solve for each user and item in a Python loop")
    print(f"    over sorted ratings: {1e3 * min(loop):,.0f} ms, {min(loop) / min(ours):.0f} times as long (target 20)")
    print(f"    looking for each one's ratings: {scan:.1f} s, {scan / min(ours):,.0f} times (from {SCANNED} users)")

    sweeps, total, objective = 0, float(ratings @ ratings), np.inf
    while objective > 1.01 * made.objective and sweeps < 500:
        right, _ = best_rows(by_item, left, RIDGE)
        left, explained = best_rows(by_user, right, RIDGE)
        objective, sweeps = total - explained + RIDGE * float((right**2).sum()), sweeps + 1
    reached = "" if objective <= 1.01 * made.objective else " and not there yet"
    print(f"  to within 1 % of that objective without balancing: {sweeps} sweeps{reached}, in that loop over sorted")
    print(f"    ratings {sweeps * min(loop):.1f} s, {sweeps * min(loop) / taken:.0f} times as long (extrapolated)")


def main() -> None:
    users, items, ratings = synthetic()
    factorise(users[:1000], items[:1000], ratings[:1000])  # compiles, or loads what was compiled
    report("synthetic", users, items, ratings, 6040, 3952)
    if path := os.environ.get("ML1M"):
        start = time.perf_counter()
        real = load_movielens(path)
        print(f"\nMovieLens 1M loaded in {time.perf_counter() - start:.1f} s")
        report("MovieLens 1M", real.users, real.items, real.ratings, *real.shape)


if __name__ == "__main__":
    main()
