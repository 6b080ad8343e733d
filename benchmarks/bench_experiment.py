"""Ask and tell on SQLite, K = 100: how long one of each takes, early and after 10,000 observations.

Against the disk's own sync: the same number of writes of 4 kB, each followed by fsync, in the same folder.
"""

import os
import tempfile
import time
from pathlib import Path

import numpy as np

import bestarm as ba
from bestarm.policies.rolling import Rolling

ARMS, OBSERVATIONS, TIMED = 100, 10_000, 300
MODEL = ba.Gaussian.independent(np.linspace(0, 1, ARMS), 0.3)


def synced(folder: Path, number: int) -> np.ndarray:
    """Seconds of each of so many small writes that reach the disk."""
    seconds = np.zeros(number)
    with (folder / "synced").open("wb") as file:
        for k in range(number):
            began = time.perf_counter()
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())
            seconds[k] = time.perf_counter() - began
    return seconds


def steps(experiment: ba.Experiment, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Seconds of each ask and each tell, and whether the ask planned."""
    rng = np.random.default_rng(0)
    asks, tells, planned = np.zeros(number), np.zeros(number), np.zeros(number, dtype=bool)
    for k in range(number):
        player = experiment._player
        planned[k] = player is None or not player.queue
        began = time.perf_counter()
        (trial,) = experiment.ask()
        asks[k] = time.perf_counter() - began
        began = time.perf_counter()
        experiment.tell(trial, float(rng.standard_normal()))
        tells[k] = time.perf_counter() - began
    return asks, tells, planned


def said(values: np.ndarray) -> str:
    """Median and 95th percentile, in milliseconds."""
    return (
        f"{1e3 * np.median(values):7.2f} {1e3 * np.quantile(values, 0.95):7.2f}"
        if len(values)
        else f"{'-':>7} {'-':>7}"
    )


def main() -> None:
    """One row for each policy and moment."""
    policies = {
        "uniform": ba.policy("uniform"),
        "rolling": Rolling(),
        "rolling, each": Rolling(batch=1),
        "ts-tci": ba.policy("ts-tci"),
    }
    print(f"K = {ARMS}, {TIMED} steps timed; milliseconds, median and 95th percentile")
    print(f"{'policy':<14}{'told before':>12}{'ask, planning':>18}{'ask, not':>18}{'tell':>18}{'fsync':>18}")
    for name, policy in policies.items():
        with tempfile.TemporaryDirectory(dir=".") as made:
            folder = Path(made)
            budget = OBSERVATIONS + 3 * TIMED
            experiment = ba.Experiment.create(folder / "e.db", "e", MODEL, budget, policy=policy)
            steps(experiment, 5)
            for before in (0, OBSERVATIONS):
                while experiment.status().told < before:
                    for trial in experiment.ask(500):
                        experiment.tell(trial, 0.5)
                told = experiment.status().told
                disk = synced(folder, TIMED)
                asks, tells, planned = steps(experiment, TIMED)
                row = f"{said(asks[planned]):>18}{said(asks[~planned]):>18}{said(tells):>18}{said(disk):>18}"
                print(f"{name:<14}{told:>12,}{row}", flush=True)
            began = time.perf_counter()
            ba.Experiment.open(folder / "e.db", "e").ask()
            print(f"{name:<14}{'a new worker, open and first ask':>40}: {1e3 * (time.perf_counter() - began):.0f} ms")


if __name__ == "__main__":
    main()
