"""Makes schema1.db as the first version of the store made it: run it by hand, never again.

    python tests/experiment/data/make_schema1.py

The store is made by this version; then the derived tables are put back into the form of schema 1, in which arms had no
sums of squares. The log is the same in both.
"""

import sqlite3
from pathlib import Path

import bestarm as ba

if __name__ == "__main__":
    path = Path(__file__).with_name("schema1.db")
    path.unlink(missing_ok=True)
    experiment = ba.Experiment.create(path, "old", ["a", "b", "c"], budget=20, seed=1)
    for number, trial in enumerate(experiment.ask(6)):
        experiment.tell(trial, 0.1 * number)
    experiment.add("b", values=[0.5, 0.75])
    del experiment
    with sqlite3.connect(path, isolation_level=None) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        for column in ("squares", "history_squares"):
            connection.execute(f"ALTER TABLE arms DROP COLUMN {column}")
        connection.execute('UPDATE bestarm SET "schema" = 1')
        connection.execute("VACUUM")
    connection.close()
