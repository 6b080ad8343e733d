"""Elimination schedules against tables written by hand, one round a line."""

import numpy as np
import pytest

from bestarm.policies import halving, rejects, rounds


@pytest.mark.parametrize(
    ("arms", "budget", "remainder", "table"),
    [
        # arms in the round, evaluations of each, one more for so many
        (8, 24, "spend", [(8, 1, 0), (4, 2, 0), (2, 4, 0)]),
        (8, 24, "leave", [(8, 1, 0), (4, 2, 0), (2, 4, 0)]),
        (8, 31, "leave", [(8, 1, 0), (4, 2, 0), (2, 5, 0)]),
        # 10, 10, 11: 2 left of the first round, then 12 for 4 arms, then 11 for 2
        (8, 31, "spend", [(8, 1, 0), (4, 3, 0), (2, 5, 1)]),
        (10, 300, "leave", [(10, 7, 0), (5, 15, 0), (3, 25, 0), (2, 37, 0)]),
        # 75 a round: 5 left, then 80 for 5, 75 for 3, 75 for 2
        (10, 300, "spend", [(10, 7, 0), (5, 16, 0), (3, 25, 0), (2, 37, 1)]),
        # fewer evaluations than the first round needs: carried on
        (10, 20, "spend", [(10, 0, 0), (5, 2, 0), (3, 1, 0), (2, 3, 1)]),
        (2, 7, "spend", [(2, 3, 1)]),
        (2, 7, "leave", [(2, 3, 0)]),
        (1, 5, "spend", []),
        # ⌊20/(3.32 |S|)⌋ in three rounds, halves rounded down
        (10, 20, "published", [(10, 0, 0), (5, 1, 0), (2, 3, 0)]),
        (60, 150, "published", [(60, 0, 0), (30, 0, 0), (15, 1, 0), (7, 3, 0), (3, 8, 0)]),
        (8, 24, "published", [(8, 1, 0), (4, 2, 0), (2, 4, 0)]),
        (1, 5, "published", []),
    ],
)
def test_sequential_halving(arms, budget, remainder, table):
    found = halving.schedule(arms, budget, remainder)
    assert found.tolist() == [list(row) for row in table]
    if remainder == "spend" and table:
        assert found[:, 0] @ found[:, 1] + found[:, 2].sum() == budget


@pytest.mark.parametrize(
    ("arms", "budget", "remainder", "table"),
    [
        # loḡ 4 = 1/2 + 1/2 + 1/3 + 1/4 = 19/12; n_k = ⌈16·12/(19 (5 − k))⌉ = 3, 4, 6
        (4, 20, "leave", [(4, 3, 0), (3, 1, 0), (2, 2, 0)]),
        # 12 + 3 + 4 = 19 of 20: one more for the first of the last two
        (4, 20, "spend", [(4, 3, 0), (3, 1, 0), (2, 2, 1)]),
        # loḡ 3 = 4/3; n_k = ⌈27·3/(4 (4 − k))⌉ = 7, 11
        (3, 30, "leave", [(3, 7, 0), (2, 4, 0)]),
        (3, 30, "spend", [(3, 7, 0), (2, 4, 1)]),
        (2, 9, "spend", [(2, 4, 1)]),
        # fewer evaluations than arms: all of them in the last phase
        (5, 4, "spend", [(5, 0, 0), (4, 0, 0), (3, 0, 0), (2, 2, 0)]),
        (1, 5, "spend", []),
    ],
)
def test_successive_rejects(arms, budget, remainder, table):
    found = rejects.schedule(arms, budget, remainder)
    assert found.tolist() == [list(row) for row in table]
    if remainder == "spend" and table:
        assert found[:, 0] @ found[:, 1] + found[:, 2].sum() == budget


def test_rounds_of_a_budget():
    assert rounds.split(23, 4, "spend") == [5, 6, 6, 6]
    assert rounds.split(23, 4, "leave") == [5, 5, 5, 5]
    assert sum(rounds.split(3, 5, "spend")) == 3
    assert [rounds.halved(10, s) for s in range(5)] == [10, 5, 3, 2, 1]
    assert np.all([rounds.halved(k, int(np.ceil(np.log2(k)))) == 1 for k in range(2, 70)])
