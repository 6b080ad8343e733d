"""Small versions of `make torture` (benchmarks/torture_experiments.py)."""

import os

import pytest

import torture

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked, which this system cannot do")


def test_killed_workers_lose_nothing(store, tmp_path):
    assert torture.kills(store, tmp_path, number=10, each=10, budget=60) > 0


def test_many_processes_spend_the_budget_exactly(store, tmp_path):
    assert torture.crowd(store, tmp_path, processes=4, budget=80) > 0


def test_malformed_input_is_refused_in_a_sentence(quick):
    assert torture.malformed(quick, number=200) > 50
