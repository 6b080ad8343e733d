import pytest


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """An eighth of the default effort: every comparison here is made in standard errors."""
    monkeypatch.setattr("bestarm.error.exact._WORK", 1_000_000)
