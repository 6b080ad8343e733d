"""1,000 kill -9, many processes at once, 10,000 malformed inputs: tests/torture.py at full size, on both databases."""

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import servers
import torture

KILLS, PROCESSES, EVALUATIONS, INPUTS = 1000, 8, 2000, 10_000


def main() -> None:
    """One line for each; an assertion ends it where something was lost."""
    with tempfile.TemporaryDirectory() as folder, servers.postgres(durable=True) as server:
        for kind, url in (("SQLite", f"sqlite:///{folder}/torture.db"), ("PostgreSQL", server)):
            if url is None:
                print(f"{kind}: no server can be started here")
                continue
            notes = Path(folder) / kind
            notes.mkdir()
            began = time.perf_counter()
            acknowledged = torture.kills(url, notes, KILLS)
            print(
                f"{kind}: {KILLS:,} kill -9 of 4 workers, {acknowledged:,} evaluations acknowledged, none lost, every "
                f"budget spent exactly, every sum as the log says, none stuck ({time.perf_counter() - began:.0f} s)",
                flush=True,
            )
            rate = torture.crowd(url, notes, PROCESSES, EVALUATIONS)
            print(f"{kind}: {PROCESSES} processes, exactly {EVALUATIONS:,} spent, {rate:.0f} a second", flush=True)
        refused = torture.malformed(folder, INPUTS)
        print(f"{INPUTS:,} malformed inputs: {refused:,} refused in a sentence and not stored; the others were valid")


if __name__ == "__main__":
    main()
