"""Tables of past results under torture: 2,000 broken files, and 100 million rows in little memory."""

import json
import random
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bestarm.errors import InputError
from bestarm.learning.reading import delimited
from bestarm.learning.tables import Table, read_table

FILES, ROWS, TARGET = 2_000, 100_000_000, 2.0  # GB


def main() -> None:
    broken_files()
    memory()
    print("tables: every broken file was read or refused")


# ---------------------------------------------------------------------- broken files


def sound(rng: random.Random) -> bytes:
    """A file that can be read: of any delimiter, encoding, decimal mark, with quotes, words and gaps."""
    delimiter, words, comma = rng.choice(",;\t|"), rng.random() < 0.2, rng.random() < 0.3
    header = rng.choice([["arm", "reward"], ["arm", "size", "id", " Reward "], ["arm", "mean", "n", "sd"]])
    rows = [header]
    for i in range(rng.randrange(1, 40)):
        number = rng.choice(["yes", "no", "1", "NA"] if words else [f"{rng.gauss(0, 1):.3f}", "", "1e5", "-7"])
        if comma and delimiter != ",":
            number = number.replace(".", ",")
        name = rng.choice(["a", "b", f"arm {i % 5}", '"quoted\nname"', '"say ""so"""', "é", "名前"])
        rows.append([name, number, str(rng.randrange(1, 5)), "2" if header[1] == "mean" else number][: len(header)])
    text = rng.choice(["\n", "\r\n", "\r"]).join(delimiter.join(row) for row in rows)
    return text.encode(rng.choice(["utf-8", "utf-8-sig", "utf-16", "cp1252", "utf-32"]), "replace")


def flipped(data: bytearray, rng: random.Random) -> bytes:
    for _ in range(rng.randrange(1, 10)):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def truncated(data: bytearray, rng: random.Random) -> bytes:
    return bytes(data[: rng.randrange(len(data) + 1)])


def repeated(data: bytearray, rng: random.Random) -> bytes:
    lines = bytes(data).splitlines(keepends=True)
    for _ in range(rng.randrange(1, 5)):
        lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))
    return b"".join(lines)


def swapped(data: bytearray, rng: random.Random) -> bytes:
    old, new = rng.sample([b",", b";", b"\t", b"|", b"\n", b'"', b".", b" "], 2)
    return bytes(data).replace(old, new, rng.choice([-1, 1, 3]))


def inserted(data: bytearray, rng: random.Random) -> bytes:
    text = "".join(chr(rng.choice([rng.randrange(128), rng.randrange(0xD800), rng.randrange(0xE000, 0x110000)]))
                   for _ in range(rng.randrange(1, 30)))  # fmt: skip
    at = rng.randrange(len(data) + 1)
    return bytes(data[:at]) + text.encode(rng.choice(["utf-8", "utf-16-le"])) + bytes(data[at:])


def swollen(data: bytearray, rng: random.Random) -> bytes:
    at, what = rng.randrange(len(data) + 1), rng.choice([b"1", b"x", b'"', b",", b"\n", b"9.", b"e"])
    return bytes(data[:at]) + what * rng.choice([1_000, 140_000, 300_000]) + bytes(data[at:])


def noise(data: bytearray, rng: random.Random) -> bytes:
    return rng.randbytes(rng.randrange(1, 3_000))


MUTATIONS: list[Callable[[bytearray, random.Random], bytes]] = [
    flipped, truncated, repeated, swapped, inserted, swollen, noise,
]  # fmt: skip


def broken_files() -> None:
    """Each file is read as a small one and, where DuckDB is there, as a large one."""
    counts: Counter[str] = Counter()
    sizes, started = delimited._LARGE, time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "broken.csv"
        for seed in range(FILES):
            rng = random.Random(seed)
            data = sound(rng)
            for mutate in rng.choices(MUTATIONS, k=rng.choice([0, 1, 1, 2, 3])):
                data = mutate(bytearray(data or b" "), rng)
            path.write_bytes(data)
            options: dict[str, Any] = {"features": rng.choice([None, "auto"]), "decimal": rng.choice([None, None, ","])}
            found = []
            for large in (False, True) if seed % 4 == 0 else (False,):
                delimited._LARGE = -1 if large else sizes
                try:
                    outcome = read_table(path, **options)
                except InputError as error:
                    found.append(str(error))
                except BaseException:
                    print(f"seed {seed}: neither a table nor an InputError")
                    traceback.print_exc(file=sys.stdout)
                    raise SystemExit(1) from None
                else:
                    found.append(f"table {outcome.digest} {outcome.names} {outcome.rows} {outcome.skipped}")
                    counts["wrong"] += not isinstance(outcome, Table) or not outcome.rows > 0
            delimited._LARGE = sizes
            counts["read" if found[0].startswith("table ") else "refused"] += 1
            if len(set(found)) > 1:
                print(f"seed {seed}: DuckDB and the plain reader differ: {[each[:300] for each in found]}")
                raise SystemExit(1)
            if counts["wrong"]:
                print(f"seed {seed}: a table without rows")
                raise SystemExit(1)
    seconds = time.perf_counter() - started
    print(f"{FILES} files, most of them broken: {counts['read']} read, {counts['refused']} refused, {seconds:.0f} s")


# ---------------------------------------------------------------------- memory

READ = """
import json, resource, sys, time
from bestarm.learning.tables import read_table
started = time.perf_counter()
table = read_table(sys.argv[1])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(json.dumps([table.num_arms, table.rows, time.perf_counter() - started, peak / 1e9]))
"""


def memory() -> None:
    """Parquet larger than the memory it may take, read by a process of its own."""
    try:
        import duckdb
    except ImportError:
        print("memory: not measured, without duckdb")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "large.parquet")
        connection = duckdb.connect(config={"memory_limit": "1GB", "temp_directory": folder})
        connection.execute(
            "COPY (SELECT 'arm-' || (hash(range) % 1000) AS arm, random() + random() AS reward "
            f"FROM range({ROWS})) TO '{path}' (FORMAT parquet)"
        )
        connection.close()
        size = Path(path).stat().st_size / 1e9
        done = subprocess.run([sys.executable, "-c", READ, path], check=True, capture_output=True, text=True)
    arms, rows, seconds, peak = json.loads(done.stdout)
    print(
        f"Parquet of {rows:,} rows ({size:.2f} GB), {arms} arms: {seconds:.1f} s, peak {peak:.2f} GB of {TARGET:g} GB"
    )
    if rows != ROWS or peak > TARGET:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
