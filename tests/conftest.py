"""What all tests share."""

import os
import tempfile

import pytest


@pytest.fixture
def quick():
    """A folder in memory, where there is one: for what is computed, not for what survives."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        yield folder
