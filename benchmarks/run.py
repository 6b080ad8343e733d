"""`make bench`, `make torture`, `make evidence`: run what their files print, and keep it.

Every file here called <verb>_<subject>.py has a function main() that prints a table. Its output goes to the
terminal and to benchmarks/results/<verb>_<subject>.txt, under a line with version, settings and date.

    python benchmarks/run.py bench            # all of a verb
    python benchmarks/run.py bench models     # one subject
"""

import contextlib
import datetime
import importlib
import io
import os
import platform
import sys
from pathlib import Path

import numpy as np
import scipy

import bestarm

HERE = Path(__file__).parent


class Tee(io.TextIOBase):
    """Writes to several streams at once."""

    def __init__(self, *streams: io.TextIOBase) -> None:
        self.streams = streams

    def write(self, text: str) -> int:
        for stream in self.streams:
            stream.write(text)
            stream.flush()
        return len(text)


def heading() -> str:
    today = datetime.datetime.now(datetime.UTC).date()
    return (
        f"bestarm {bestarm.__version__}, {today}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"SciPy {scipy.__version__}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    )


def main(verb: str, *subjects: str) -> int:
    files = sorted(HERE.glob(f"{verb}_*.py"))
    chosen = [file for file in files if not subjects or file.stem.removeprefix(f"{verb}_") in subjects]
    if not chosen:
        print(f"nothing to run for {verb} {' '.join(subjects)}")
        return 0 if not subjects else 2
    sys.path.insert(0, str(HERE))
    (HERE / "results").mkdir(exist_ok=True)
    for file in chosen:
        kept = (HERE / "results" / f"{file.stem}.txt").open("w", encoding="utf-8")
        with kept, contextlib.redirect_stdout(Tee(sys.stdout, kept)):  # type: ignore[arg-type]
            print(heading())
            importlib.import_module(file.stem).main()
            print()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
