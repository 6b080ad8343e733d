"""The package as a thing: what importing it costs, its version, the samples in its docs."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import bestarm as ba

ROOT = Path(__file__).parent.parent
HEAVY = ("pandas", "matplotlib", "sqlalchemy", "numba", "click", "scipy.stats", "sklearn", "duckdb")


def test_importing_is_light():
    code = f"import sys, bestarm; sys.exit(','.join(set({HEAVY!r}) & set(sys.modules)) or 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_version_is_the_distributions():
    assert ba.__version__ == importlib.metadata.version("bestarm")
    assert f"## {ba.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert f"version: {ba.__version__}" in (ROOT / "CITATION.cff").read_text()


def test_typed_and_complete():
    assert (Path(ba.__file__).parent / "py.typed").exists()
    assert all(hasattr(ba, name) for name in ba.__all__)


def test_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "bestarm", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"bestarm, version {ba.__version__}\n")


def test_what_is_unchecked_is_not_public():
    assert not hasattr(ba, "Covariance")


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_samples_in_the_docs_run(page, tmp_path, monkeypatch, capsys):
    """All ```python blocks of a page, in order, in one namespace; a block's `# prints: …` is compared."""
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL):
        exec(compile(block, str(page), "exec"), namespace)
        printed = capsys.readouterr().out.splitlines()
        expected = re.findall(r"# prints: (.*)", block)
        assert printed[: len(expected)] == expected or not expected


def test_locks_name_no_index():
    for lock in (ROOT / "locks").glob("*.txt"):
        text = lock.read_text()
        assert "://" not in text
        assert "--index" not in text
        # every requirement is pinned, and by hash
        for requirement in re.split(r"\n(?=\S)", text.strip()):
            assert "==" in requirement.splitlines()[0]
            assert "--hash=sha256:" in requirement


@pytest.mark.skipif(shutil.which("awk") is None or shutil.which("sh") is None, reason="needs a POSIX shell")
def test_the_walk_through_of_the_readme(tmp_path):
    """The shell block of the README, as a new user would paste it: no prior at all, a command, a decision, a report."""
    (block,) = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-e", "-c", block],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PATH": path},
    )
    assert done.returncode == 0, done.stderr
    decision, report = done.stdout.splitlines()
    assert decision.startswith("Choose 'with examples'")
    assert report == "report.html"
    assert "with examples" in (tmp_path / "report.html").read_text(encoding="utf-8")
