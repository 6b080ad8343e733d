"""Tables of past results: the same rows give the same table whatever holds them; what cannot be read is refused."""

import contextlib
import csv
import gzip
import io
import os
import sqlite3
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestarm.errors import InputError
from bestarm.learning.reading import delimited, evidence, sql
from bestarm.learning.tables import Table, read_table
from tolerances import ROUNDING

ARMS = ["b", "a", "b", "c", "a", "b", "d"]
REWARDS = [0.1, 2.5, -1.0 / 3, 1e-3, 7.25, 12345.678, None]


def written(tmp_path, text, name="results.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def read(tmp_path, text, **options):
    return read_table(written(tmp_path, text), **options)


def refused(message, source, **options):
    with pytest.raises(InputError, match=message):
        read_table(source, **options)


def assert_same(one: Table, other: Table):
    assert one.names == other.names
    for a, b in ((one.counts, other.counts), (one.sums, other.sums), (one.squares, other.squares)):
        np.testing.assert_allclose(a, b, rtol=ROUNDING, atol=ROUNDING)
    assert (one.digest, one.rows, one.skipped, one.binary) == (other.digest, other.rows, other.skipped, other.binary)
    assert one.groups == other.groups
    assert one.feature_names == other.feature_names
    if one.features is None or other.features is None:
        assert one.features is other.features
    else:
        np.testing.assert_array_equal(one.features, other.features)


def text_of(columns, delimiter=",", end="\r\n"):
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator=end)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return out.getvalue()


# ---------------------------------------------------------------------- what it gives


def test_sums_by_hand():
    table = read_table({"arm": ["x", "y", "x", "z", "x"], "reward": [1.0, 4.0, 2.0, None, 6.0]})
    assert table.names == ("x", "y", "z")
    assert table.num_arms == 3
    np.testing.assert_array_equal(table.counts, [3, 1, 0])
    np.testing.assert_array_equal(table.sums, [9, 4, 0])
    np.testing.assert_allclose(table.squares, [41, 16, 0], rtol=ROUNDING)
    np.testing.assert_array_equal(table.means, [3, 4, np.nan])
    assert (table.rows, table.skipped, table.binary) == (4, 1, False)
    assert table.groups is None
    assert table.features is None
    assert not table.counts.flags.writeable
    assert "3 arms, 4 rows" in repr(table)


def test_squares_keep_the_scatter_of_large_rewards():
    rng = np.random.default_rng(0)
    rewards = 1e6 + rng.normal(size=1000)
    table = read_table({"arm": ["a"] * 1000 + ["same"] * 7, "reward": [*rewards, *[0.1] * 7]})
    scatter = table.squares - table.sums**2 / table.counts
    # the sum of squares itself, 1e15, is held to 0.1
    np.testing.assert_allclose(scatter, [((rewards - rewards.mean()) ** 2).sum(), 0], atol=0.5)
    assert scatter[1] == 0


def test_binary():
    assert read_table({"arm": ["a", "b"], "reward": [0, 1]}).binary
    table = read_table({"arm": ["a"] * 7, "reward": [True, False, False, True, True, False, False]})
    assert table.binary
    np.testing.assert_array_equal(table.squares, table.sums)


# ---------------------------------------------------------------------- the same rows in any format

COLUMNS = {
    "arm": ARMS,
    "reward": REWARDS,
    "kind": ["u", "v", "u", "u", "v", "u", "v"],
    "size": [1.5, 2.0, 1.5, -3.0, 2.0, 1.5, 0.0],
    "index": [1, 2, 3, 4, 5, 6, 7],
}


def as_csv(tmp_path):
    return written(tmp_path, text_of(COLUMNS))


def as_tsv_gz(tmp_path):
    return written(tmp_path, gzip.compress(text_of(COLUMNS, "\t", "\n").encode()), "results.tsv.gz")


def as_large_csv(tmp_path):
    pytest.importorskip("duckdb", reason="large files are read by DuckDB")
    return as_csv(tmp_path)


def as_parquet(tmp_path):
    duckdb = pytest.importorskip("duckdb", reason="Parquet is read by DuckDB")
    pyarrow = pytest.importorskip("pyarrow.parquet", reason="writes the file")
    del duckdb
    pyarrow.write_table(as_arrow(tmp_path), tmp_path / "results.parquet")
    return str(tmp_path / "results.parquet")


def as_parts(tmp_path):
    arrow = as_arrow(tmp_path)
    pytest.importorskip("duckdb", reason="Parquet is read by DuckDB")
    pyarrow = pytest.importorskip("pyarrow.parquet", reason="writes the files")
    for i, (start, length) in enumerate([(0, 3), (3, 1), (4, 3)]):
        pyarrow.write_table(arrow.slice(start, length), tmp_path / f"part-{i}.parquet")
    return tmp_path / "part-*.parquet"


def as_arrow(tmp_path):
    return pytest.importorskip("pyarrow", reason="an optional library").table(COLUMNS)


def as_pandas(tmp_path):
    return pytest.importorskip("pandas", reason="an optional library").DataFrame(COLUMNS)


def as_polars(tmp_path):
    return pytest.importorskip("polars", reason="an optional library").DataFrame(COLUMNS)


def as_lazy(tmp_path):
    return as_polars(tmp_path).lazy()


def as_duckdb(tmp_path):
    duckdb = pytest.importorskip("duckdb", reason="an optional library")
    path = tmp_path / "it's.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(
            'CREATE TABLE "my ""results" (arm VARCHAR, reward DOUBLE, kind VARCHAR, size DOUBLE, "index" INT)'
        )
        connection.executemany(
            'INSERT INTO "my ""results" VALUES (?, ?, ?, ?, ?)', list(zip(*COLUMNS.values(), strict=True))
        )
    return path


def as_sqlite(tmp_path):
    path = tmp_path / "results #1?.db"
    connection = sqlite3.connect(path)
    connection.execute('CREATE TABLE "my ""results" (arm, reward, kind, size, "index")')
    connection.executemany('INSERT INTO "my ""results" VALUES (?, ?, ?, ?, ?)', zip(*COLUMNS.values(), strict=True))
    connection.execute('CREATE INDEX covering ON "my ""results" (arm, reward)')  # which would change the order
    connection.commit()
    connection.close()
    return path


def as_rows(tmp_path):
    return [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]


def as_array(tmp_path):
    kinds = [("arm", "U3"), ("reward", float), ("kind", "S3"), ("size", float), ("index", int)]
    return np.array([tuple(row.values()) for row in as_rows(tmp_path)], dtype=kinds)


FORMATS = [as_csv, as_tsv_gz, as_large_csv, as_parquet, as_parts, as_arrow, as_pandas, as_polars, as_lazy, as_duckdb,
           as_sqlite, as_rows, as_array]  # fmt: skip


@pytest.mark.parametrize("options", [{}, {"group": "kind", "features": ["size"]}, {"features": "auto"}], ids=str)
@pytest.mark.parametrize("make", FORMATS)
def test_same_rows_same_table(tmp_path, monkeypatch, make, options):
    if make is as_large_csv:
        monkeypatch.setattr(delimited, "_LARGE", 0)
        monkeypatch.setattr(evidence.Evidence, "_rewards", None)  # not row by row
    table = read_table(make(tmp_path), **options)
    monkeypatch.undo()
    assert_same(table, read_table(COLUMNS, **options))
    assert table.names == ("b", "a", "c", "d")
    assert table.skipped == 1
    if "features" in options:
        assert table.feature_names == ("size",)
        np.testing.assert_array_equal(table.features, [[1.5], [2.0], [-3.0], [0.0]])
    if "group" in options:
        assert table.groups == ("u", "v", "u", "v")


def test_digest_knows_rows_in_any_order_and_tells_others():
    rng = np.random.default_rng(1)
    arms, rewards = rng.choice(["a", "b", "c"], 2000).tolist(), rng.normal(size=2000).tolist()
    order = rng.permutation(2000)
    digest = read_table({"arm": arms, "reward": rewards}).digest
    again = read_table({"arm": np.array(arms)[order], "reward": np.array(rewards)[order]})
    assert again.digest == digest
    rewards[500] += 1e-12
    assert read_table({"arm": arms, "reward": rewards}).digest != digest
    assert len(digest) == 64


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e9, 1e40])
def test_duckdb_adds_up_as_python_does(tmp_path, scale):
    pytest.importorskip("duckdb", reason="Parquet is read by DuckDB")
    parquet = pytest.importorskip("pyarrow.parquet", reason="writes the file")
    pyarrow = pytest.importorskip("pyarrow", reason="writes the file")
    rng = np.random.default_rng(2)
    columns = {"arm": [f"arm-{i}" for i in rng.integers(0, 30, 20_000)], "reward": rng.normal(3, 1, 20_000) * scale}
    parquet.write_table(pyarrow.table(columns), tmp_path / "r.parquet")
    one, other = read_table(columns), read_table(tmp_path / "r.parquet")
    assert (one.names, one.digest) == (other.names, other.digest)
    np.testing.assert_allclose(other.sums, one.sums, rtol=ROUNDING)
    np.testing.assert_allclose(other.squares, one.squares, rtol=ROUNDING)


# ---------------------------------------------------------------------- CSV as it is in the wild

PLAIN = read_table({"arm": ["a", "b", "a"], "reward": [1.5, 2.0, -0.25]})

WILD = {
    "semicolons": "arm;reward\na;1.5\nb;2\na;-.25\n",
    "tabs": "arm\treward\na\t1.5\nb\t2\na\t-0.25\n",
    "pipes": "arm|reward\na|1.5\nb|2.\na|-0.25\n",
    "decimal comma": "arm;reward\na;1,5\nb;2\na;-0,25\n",
    "decimal comma, quoted names with commas": 'arm;reward;note\na;1,5;"x, y"\nb;2;\na;-0,25;z\n',
    "carriage returns": "arm,reward\r\na,1.5\r\nb,2\r\na,-0.25\r\n",
    "old Macintosh": "arm,reward\ra,1.5\rb,2\ra,-0.25",
    "byte-order mark": "\ufeffarm,reward\na,1.5\nb,2\na,-0.25",
    "byte-order mark and quotes": '\ufeff"arm","reward"\n"a","1.5"\n"b","2"\n"a","-0.25"',
    "UTF-16": "arm,reward\na,1.5\nb,2\na,-0.25\n".encode("utf-16"),
    "UTF-16, the other way": b"\xfe\xff" + "arm,reward\na,1.5\nb,2\na,-0.25\n".encode("utf-16-be"),
    "UTF-32": "arm,reward\na,1.5\nb,2\na,-0.25\n".encode("utf-32"),
    "blank lines": "\n\narm,reward\n\na,1.5\n   \nb,2\n,\na,-0.25\n\n\n",
    "other columns in between": "id,Reward ,x, ARM\n1,1.5,9,a\n2,2,9,b\n3,-0.25,9,a\n",
    "spaces around numbers": "arm,reward\na, 1.5\nb, 2 \na,\t-0.25\n",
    "spaces after delimiters": 'reward, arm\n1.5, "a"\n2, b\n-0.25, a\n',
    "exponents": "arm,reward\na,15e-1\nb,+2E0\na,-2.5e-01\n",
    "one delimiter in names": "arm;reward\na;1.5\nb;2.0\na;-0.25\n",
}


@pytest.mark.parametrize("case", WILD)
def test_csv_in_the_wild(tmp_path, case):
    assert_same(read(tmp_path, WILD[case]), PLAIN)


@pytest.mark.parametrize("case", WILD)
def test_csv_in_the_wild_when_large(tmp_path, monkeypatch, case):
    pytest.importorskip("duckdb", reason="large files are read by DuckDB")
    monkeypatch.setattr(delimited, "_LARGE", 0)
    assert_same(read(tmp_path, WILD[case]), PLAIN)


def test_options_of_text(tmp_path):
    assert_same(read(tmp_path, 'arm,reward\na,"1,5"\nb,2\na,"-0,25"\n', decimal=","), PLAIN)
    assert_same(read(tmp_path, "arm reward\na 1.5\nb 2\na -0.25\n", delimiter=" "), PLAIN)
    assert_same(read(tmp_path, "arm\treward\na\t1.5\nb\t2\na\t-0.25\n", delimiter="tab"), PLAIN)
    assert_same(read(tmp_path, "arm,reward\na,1.5\nb,2\na,-0.25\n".encode("utf-16-le"), encoding="utf-16-le"), PLAIN)
    assert_same(read(tmp_path, "A,B\na,1.5\nb,2\na,-0.25\n", arm="a", reward="B"), PLAIN)
    assert_same(read_table({"arm": ["a", "b", "a"], "reward": ["1,5", "2", "-0,25"]}, decimal=","), PLAIN)


def test_latin_1(tmp_path):
    assert read(tmp_path, "arm,reward\nn°1 – é,1\n".encode("cp1252")).names == ("n°1 – é",)
    assert read(tmp_path, b"arm,reward\n\x81\xe9,1\n").names == ("\x81é",)
    assert read(tmp_path, "arm,reward\né,1\n".encode("cp437"), encoding="cp437").names == ("é",)
    refused("not text in utf-16", written(tmp_path, b"\xff\xfeabc"))
    refused(r"not text in ascii.*--encoding", written(tmp_path, "arm,reward\né,1\n"), encoding="ascii")


def test_quoted_newlines_and_lines_are_counted(tmp_path):
    table = read(tmp_path, 'arm,reward\n"two\nlines",1\n"a ""b""",2\n')
    assert table.names == ("two\nlines", 'a "b"')
    refused("line 4: reward is 'x'", written(tmp_path, 'arm,reward\n"two\nlines",1\nb,x\n'))
    refused("line 5: reward is 'x'", written(tmp_path, 'arm,reward\n\n\na,1\n"b\nc",x\n'))


@pytest.mark.parametrize(
    ("yes", "no"),
    [("yes", "No"), ("TRUE", "false"), ("pass", "FAIL"), ("Success", "failure"), ("1", "0"), ("t", "F"), ("Y", "n")],
)
@pytest.mark.parametrize("large", [False, True])
def test_words(tmp_path, monkeypatch, yes, no, large):
    if large:
        pytest.importorskip("duckdb", reason="large files are read by DuckDB")
        monkeypatch.setattr(delimited, "_LARGE", 0)
    table = read(tmp_path, f"arm,reward\na,{yes}\nb,{no}\na,\na,1\nb, {yes} \n")
    assert table.binary
    np.testing.assert_array_equal(table.sums, [2, 1])
    np.testing.assert_array_equal(table.counts, [2, 2])


def test_words_among_numbers(tmp_path):
    refused(
        "line 3: reward is 'yes', where line 2 has '2.5'; expected numbers throughout",
        written(tmp_path, "arm,reward\na,2.5\na,yes\n"),
    )
    refused("line 2: reward is 'no', where line 4 has '3'", written(tmp_path, "arm,reward\na,no\na,1\na,3\n"))


def test_missing_rewards(tmp_path):
    cells = ["", "NA", "n/a", "NaN", "NULL", "None", "-", " "]
    table = read(tmp_path, "arm,reward\nb,1\n" + "".join(f"a,{cell}\n" for cell in cells))
    assert (table.rows, table.skipped) == (1, len(cells))
    np.testing.assert_array_equal(table.counts, [1, 0])
    table = read_table({"arm": list("aaaaa"), "reward": [1, None, np.nan, np.datetime64("NaT"), np.float64(2)]})
    assert (table.rows, table.skipped) == (2, 3)


def test_missing_rewards_in_frames():
    pandas = pytest.importorskip("pandas", reason="an optional library")
    frame = pandas.DataFrame({"arm": ["a", "a", "b"], "reward": pandas.array([1, None, 3], dtype="Int64")})
    table = read_table(frame)
    assert (table.rows, table.skipped, table.sums.tolist()) == (2, 1, [1, 3])
    frame["arm"] = pandas.Categorical(["a", None, "b"])
    refused("a pandas DataFrame: row 1: arm is empty", frame)


def test_stream(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"arm;reward\na;1,5\nb;2\na;-0,25\n")))
    table = read_table("-")
    assert_same(table, PLAIN)
    assert table.source == "standard input"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(b"arm,reward\na,x\n"))))
    refused("standard input: line 2: reward is 'x'", "-")
    monkeypatch.setattr(sys, "stdin", io.StringIO("arm,reward\na,1.5\nb,2\na,-0.25"))
    assert_same(read_table("-"), PLAIN)
    monkeypatch.setattr(sys, "stdin", None)
    refused("no standard input", "-")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["sh", "-c", f"printf 'arm,reward\\na,1.5\\nb,2\\na,-0.25' > {tmp_path}/pipe"]):
        assert_same(read_table(tmp_path / "pipe"), PLAIN)


ODD = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(str.strip)


@settings(max_examples=200, deadline=None)
@given(names=st.lists(ODD, min_size=1, max_size=5, unique_by=str.strip), delimiter=st.sampled_from(",;\t|"))
def test_odd_names_survive(tmp_path_factory, names, delimiter):
    path = tmp_path_factory.mktemp("odd") / "results.csv"
    columns = {"reward": list(range(len(names))), "arm": names}
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(text_of(columns, delimiter))
    table = read_table(path)
    assert table.names == tuple(names)
    assert table.digest == read_table(columns).digest


@settings(max_examples=50, deadline=None)
@given(names=st.lists(ODD, min_size=1, max_size=5, unique_by=str.strip))
def test_odd_names_survive_when_large(tmp_path_factory, names):
    pytest.importorskip("duckdb", reason="large files are read by DuckDB")
    path = tmp_path_factory.mktemp("odd") / "results.csv"
    columns = {"reward": list(range(len(names))), "arm": names}
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(text_of(columns))
    before, delimited._LARGE = delimited._LARGE, 0
    try:
        table = read_table(path)
    finally:
        delimited._LARGE = before
    assert (table.names, table.digest) == (tuple(names), read_table(columns).digest)


@settings(max_examples=200, deadline=None)
@given(rewards=st.lists(st.floats(-1e50, 1e50), min_size=1, max_size=10))
def test_numbers_survive(tmp_path_factory, rewards):
    columns = {"arm": ["a"] * len(rewards), "reward": rewards}
    path = tmp_path_factory.mktemp("numbers") / "results.csv"
    path.write_text(text_of(columns), encoding="utf-8", newline="")
    assert_same(read_table(path), read_table(columns))


# ---------------------------------------------------------------------- names, groups, features


def test_names_of_any_kind():
    table = read_table({"arm": [1, 2.5, True, b"bytes", np.str_("text"), np.int64(7)], "reward": [0.5] * 6})
    assert table.names == ("1", "2.5", "True", "bytes", "text", "7")


def test_columns_are_found(tmp_path):
    assert read(tmp_path, "ARM,arm,reward\nx,y,1\n").names == ("y",)
    assert read(tmp_path, "arm,reward,Reward\ny,1,5\n").sums.tolist() == [1]
    refused(
        "there are several columns 'Arm', 'ARM'; expected one column 'arm'", written(tmp_path, "Arm,ARM,reward\n1,2,3")
    )
    refused("several columns 'arm', 'arm'", written(tmp_path, "arm,arm,reward\n1,2,3"))
    assert read(tmp_path, "arm,x,x,,,reward\na,1,2,3,4,5\n", features="auto").features is None
    refused("several columns 'x', 'x'", written(tmp_path, "arm,x,x,reward\na,1,2,3\n"), features=["x"])


def test_missing_columns(tmp_path):
    path = written(tmp_path, "name,score\na,1\n")
    refused(
        r"results.csv: expected a column 'arm'; there are 'name', 'score'; name yours with arm= \(--arm-column\)", path
    )
    refused(r"expected a column 'reward'; .*reward= \(--reward-column\)$", path, arm="name")
    refused(r"expected a column 'points'; .*reward= \(--reward-column\)", path, arm="name", reward="points")
    refused(r"expected a column 'g'; .*group= \(--group\)", path, arm="name", reward="score", group="g")
    refused(r"expected a column 'f'; .*features= \(--features\)", path, arm="name", reward="score", features=["f"])
    refused("there are 'a', '0.5'; .*the first line seems to hold data", written(tmp_path, "a,0.5\nb,0.25\n"))
    refused("there is only 'hello'", written(tmp_path, "hello\n"))


def test_groups(tmp_path):
    table = read(tmp_path, "arm,reward,Team\nb,1,x\na,2,y\nb,3,\n", group="team")
    assert table.groups == ("x", "y")
    text = "arm,reward,team\nb,1,x\na,2,y\nb,3,z\n"
    refused("line 4: group of arm 'b' is 'z', where it was 'x'; expected one", written(tmp_path, text), group="team")
    refused("group of arm 'a' is empty", written(tmp_path, "arm,reward,g\na,1,\n"), group="g")


def test_features(tmp_path):
    text = "arm;reward;size;kind;when;depth\na;1;2,5;u;1;1e3\nb;2;-1;v;2;\na;3;2,5;u;3;1000\nb;1;;v;4;7\n"
    path = written(tmp_path, text)
    for features in ("auto", ["size", "depth"]):
        table = read_table(path, features=features)
        assert table.feature_names == ("size", "depth")
        np.testing.assert_array_equal(table.features, [[2.5, 1000], [-1, 7]])
    refused("line 4: when of arm 'a' is 3, where it was 1; expected features", path, features=["when"])
    refused("line 2: kind is 'u'; expected a number", path, features=["kind"])
    refused("size of arm 'b' is empty", written(tmp_path, "arm,reward,size\na,1,2\nb,1,\n"), features=["size"])
    assert read(tmp_path, "arm,reward,size\na,1,2\nb,1,\n", features="auto").features is None
    refused(
        "line 2: size is '1e60'; expected a number of size",
        written(tmp_path, "arm,reward,size\na,1,1e60\n"),
        features=["size"],
    )


def test_features_refused_in_parquet_as_in_text(tmp_path):
    pytest.importorskip("duckdb", reason="Parquet is read by DuckDB")
    path = as_parquet(tmp_path)
    refused("row 2: index of arm 'b' is 3, where it was 1", path, features=["index"])
    refused("row 0: kind is 'u'; expected a number", path, features=["kind"])
    refused("row 2: group of arm 'b' is '3', where it was '1'", path, group="index")


# ---------------------------------------------------------------------- summaries instead of rewards


@pytest.mark.parametrize("spread", ["sd", "SEM"])
def test_summaries(tmp_path, spread):
    rng = np.random.default_rng(3)
    rewards = {name: rng.normal(i, 1 + i, 5 + i) for i, name in enumerate("abc")}
    lines = [f"Arm,MEAN,N,{spread}"]
    for name, values in rewards.items():
        for part in (values[:3], values[3:]):
            mean, sd = float(part.mean()), float(part.std(ddof=1))
            lines.append(f"{name},{mean!r},{len(part)},{sd if spread == 'sd' else sd / len(part) ** 0.5!r}")
    table = read(tmp_path, "\n".join(lines))
    raw = read_table(
        {"arm": [name for name in rewards for _ in rewards[name]], "reward": np.concatenate(list(rewards.values()))}
    )
    np.testing.assert_array_equal(table.counts, raw.counts)
    np.testing.assert_allclose(table.sums, raw.sums, rtol=ROUNDING)
    np.testing.assert_allclose(table.squares, raw.squares, rtol=ROUNDING)
    assert (table.rows, table.binary) == (6, False)


def test_summaries_row_by_row():
    table = read_table({"arm": ["a", "b", "c"], "mean": [1, 0, None], "n": [1, 4.0, None], "sd": [None, 2, None]})
    assert (table.rows, table.skipped) == (2, 1)
    np.testing.assert_array_equal(table.squares, [1, 12, 0])
    for n in (0, 1.5, None, -2):
        refused(
            "row 0: n is .*; expected a whole number of at least 1", {"arm": ["a"], "mean": [1], "n": [n], "sd": [1]}
        )
    refused("row 0: sd is None; expected a number of at least 0", {"arm": ["a"], "mean": [1], "n": [2], "sd": [None]})
    refused("row 0: sem is -1", {"arm": ["a"], "mean": [1], "n": [2], "sem": [-1]})
    refused("row 0: mean is 'x'; expected a number", {"arm": ["a"], "mean": ["x"], "n": [2], "sem": [1]})
    refused("expected a column 'reward'; there are 'arm', 'mean', 'n'", {"arm": ["a"], "mean": [1], "n": [2]})
    assert read_table({"arm": ["a"], "mean": [1], "n": [2], "sd": [1]}, reward="mean").rows == 1


def test_summaries_in_parquet(tmp_path):
    pytest.importorskip("duckdb", reason="Parquet is read by DuckDB")
    pyarrow = pytest.importorskip("pyarrow", reason="writes the file")
    parquet = pytest.importorskip("pyarrow.parquet", reason="writes the file")
    columns = {"arm": ["a", "b"], "mean": [1.0, 0.5], "n": [3, 4], "sd": [1.0, 2.0], "size": [1, 2]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "s.parquet")
    assert_same(read_table(tmp_path / "s.parquet", features="auto"), read_table(columns, features="auto"))


# ---------------------------------------------------------------------- what is refused

BAD_TEXT = {
    "no number": ("arm,reward\na,1\nb,abc\n", "line 3: reward is 'abc'; expected a number, or yes/no"),
    "percent": ("arm,reward\na,50%\n", "line 2: reward is '50%'"),
    "thousands": ('arm,reward\na,"1,234.5"\n', "line 2: reward is '1,234.5'"),
    "decimal comma among points": ("arm;reward\na;1.5\nb;1,5\n", "line 3: reward is '1,5'; expected a number, with decimal point"),
    "decimal comma between commas": ('arm,reward\na,"1,5"\n', r"decimal point \(decimal=, --decimal\)"),
    "underscores": ("arm,reward\na,1_000\n", "line 2: reward is '1_000'"),
    "other digits": ("arm,reward\na,１２\n", "line 2: reward is '１２'"),
    "infinite": ("arm,reward\na,-inf\n", "line 2: reward is '-inf'; expected a finite number"),
    "infinite once read": ("arm,reward\na,1e999\n", "line 2: reward is '1e999'; expected a finite number"),
    "too large": ("arm,reward\na,1e60\n", r"expected a number of size at most 1e\+50"),
    "too many fields": ("arm,reward\na,1\nb,1,2\n", "line 3 has 3 fields, between delimiters ','; expected 2"),
    "too few fields": ("arm,reward,x\na,1,1\n\nb,1\n", "line 4 has 2 fields"),
    "empty arm": ("arm,reward\na,1\n,2\n", "line 3: arm is empty"),
    "blank arm": ("arm,reward\na,1\n  ,2\n", "line 3: arm is empty"),
    "no rows": ("arm,reward\n", "there are no rows"),
    "no rewards": ("arm,reward\na,\nb,NA\n", "there are no rows; the rewards of all 2 rows are empty"),
    "nothing": ("", "there is nothing in it"),
    "blank": ("\n \n", "there is nothing in it"),
    "open quote": ('arm,reward\na,1\n"b,2\nc,3\n', "line 3: .*expected fields whose quotes are closed"),
    "text after a quote": ('arm,reward\n"a"b,2\n', "line 2: .*expected fields whose quotes are closed"),
    "huge field": ("arm,reward\na," + "1" * 200_000 + "x\n", "line 2: field larger"),
    "NUL": ("arm,reward\na\0,1\n", "not text .it has NUL bytes.; expected CSV"),
    "UTF-16 without a mark": ("arm,reward\na,1\n".encode("utf-16-le"), "NUL bytes"),
    "an image": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0", "NUL bytes"),
    "two spellings": ("arm,reward\na,1\na ,2\n", "arm is 'a ' in some rows and 'a' in others"),
    "a long row of digits": ("arm,reward\na," + "1" * 100_000 + "x\n", "line 2: reward is '111"),
}  # fmt: skip


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("case", BAD_TEXT)
def test_bad_text(tmp_path, monkeypatch, case, large):
    text, message = BAD_TEXT[case]
    if large:
        pytest.importorskip("duckdb", reason="large files are read by DuckDB")
        monkeypatch.setattr(delimited, "_LARGE", -1)
    refused("results.csv.*" + message, written(tmp_path, text))


BAD_FRAMES = {
    "a number": (7, "source is 7; expected the name of a file, a data frame"),
    "nothing": (None, "source is None"),
    "no name": ("", "source is ''"),
    "a name with NUL": ("a\0b", "source is 'a.x00b'"),
    "a plain array": (np.zeros((2, 2)), r"source is an array of shape \(2, 2\)"),
    "no rows": ([], "there are no columns"),
    "no columns": ({}, "there are no columns"),
    "empty columns": ({"arm": [], "reward": []}, "there are no rows"),
    "rows that are none": ([{"arm": "a", "reward": 1}, 3], r"source\[1\] is 3; expected a row"),
    "lengths": ({"arm": ["a"], "reward": [1, 2]}, "column 'reward' has 2 entries, where 'arm' has 1"),
    "a scalar": ({"arm": ["a"], "reward": 1}, "column 'reward' is 1; expected a list"),
    "a string": ({"arm": "ab", "reward": [1, 2]}, "column 'arm' is 'ab'; expected a list"),
    "infinite": ({"arm": ["a"], "reward": [np.inf]}, "row 0: reward is inf; expected a finite number"),
    "too long": ({"arm": ["a"], "reward": [10**400]}, "row 0: reward is 1000"),
    "a list": ({"arm": ["a"], "reward": [[1]]}, r"row 0: reward is \[1\]"),
    "complex": ({"arm": ["a"], "reward": [1j]}, "row 0: reward is 1j"),
    "surrogate": ({"arm": ["a\ud800"], "reward": [1]}, "row 0: arm is .*; expected valid Unicode text"),
    "bytes": ({"arm": [b"\xff"], "reward": [1]}, "row 0: arm is .*; expected text"),
    "a list of arms": ({"arm": [["a"]], "reward": [1]}, "row 0: arm is .*; expected text or a number"),
    "no arm": ({"arm": ["a", None], "reward": [1, 2]}, "row 1: arm is empty"),
    "NaN": ({"arm": ["a", np.nan], "reward": [1, 2]}, "row 1: arm is empty"),
    "a row without arm": ([{"arm": "a", "reward": 1}, {"reward": 1}], "row 1: arm is empty"),
    "group": ({"arm": ["a"], "reward": [1], "g": [b"\xff"]}, "row 0: group is .*; expected text", {"group": "g"}),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_FRAMES)
def test_bad_frames(case):
    source, message, *options = BAD_FRAMES[case]
    refused(message, source, **(options[0] if options else {}))


BAD_OPTIONS = {
    "arm": (7, "arm is 7; expected the name of a column"),
    "reward": (None, "reward is None; expected the name of a column"),
    "group": (1, "group is 1; expected the name of a column"),
    "table": (1, "table is 1; expected the name of a table"),
    "features": ("size", "features is 'size'; expected a list of names of columns, or 'auto'"),
    "delimiter": (";;", "delimiter is ';;'; expected one character"),
    "decimal": ("'", r"decimal is \"'\"; expected one of '.', ','"),
    "encoding": ("hex", "encoding is 'hex'; expected the name of one"),
}


@pytest.mark.parametrize("option", BAD_OPTIONS)
def test_bad_options(option):
    value, message = BAD_OPTIONS[option]
    refused(message, {"arm": ["a"], "reward": [1]}, **{option: value})


def test_bad_files(tmp_path):
    refused("nothing.csv cannot be read: No such file", tmp_path / "nothing.csv")
    refused("cannot be read: no file of that pattern", str(tmp_path / "*.parquet"))
    refused("is a folder; expected a file, or a pattern such as .*parquet", tmp_path)
    refused("cannot be read: File name too long", "x" * 5000)
    cut = gzip.compress(b"arm,reward\n" + b"a,1\n" * 10_000)
    for bad in (cut[:60], cut[:40] + b"xx" + cut[42:], cut[:-4] + b"1234"):
        refused("results.csv cannot be read: ", written(tmp_path, bad))
    refused("expected it only with a database", written(tmp_path, "arm,reward\na,1\n"), table="t")
    refused("expected it only with a database", {"arm": ["a"], "reward": [1]}, table="t")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file(tmp_path):
    path = written(tmp_path, "arm,reward\na,1\n")
    path.chmod(0)
    refused("cannot be read: Permission denied", path)


def test_bad_parquet(tmp_path):
    pytest.importorskip("duckdb", reason="Parquet is read by DuckDB")
    refused("bad.parquet cannot be read: ", written(tmp_path, "arm,reward\na,1\n", "bad.parquet"))
    with open(as_parquet(tmp_path), "rb") as file:
        whole = file.read()
    refused("cut.pq cannot be read: ", written(tmp_path, whole[:-20], "cut.pq"))


def test_parquet_needs_duckdb(tmp_path, monkeypatch):
    path = written(tmp_path, b"PAR1", "results")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    refused(r"reading Parquet needs duckdb; expected `pip install bestarm\[learn\]`", path)
    monkeypatch.setattr(delimited, "_LARGE", 0)
    assert read(tmp_path, "arm,reward\na,1\n").rows == 1


def test_duckdb_is_quiet_and_fetches_nothing():
    pytest.importorskip("duckdb", reason="an optional library")
    with contextlib.ExitStack() as stack:
        connection = sql.connect("Parquet", stack)
        for name in ("enable_progress_bar", "autoinstall_known_extensions", "autoload_known_extensions"):
            assert connection.execute(f"SELECT current_setting('{name}')::BOOLEAN").fetchone() == (False,)


def test_bad_rewards_in_parquet(tmp_path):
    pytest.importorskip("duckdb", reason="Parquet is read by DuckDB")
    pyarrow = pytest.importorskip("pyarrow", reason="writes the file")
    parquet = pytest.importorskip("pyarrow.parquet", reason="writes the file")

    def refused_columns(message, **columns):
        parquet.write_table(pyarrow.table(columns), tmp_path / "r.parquet")
        refused(message, tmp_path / "r.parquet")

    refused_columns("row 1: reward is inf; expected a finite", arm=["a", "b"], reward=[1.0, np.inf])
    refused_columns("row 1: reward is 'x'", arm=["a", "b"], reward=["1", "x"])
    refused_columns("row 1: arm is empty", arm=["a", None], reward=[1, 2])
    refused_columns("there are no rows", arm=pyarrow.array([], "string"), reward=pyarrow.array([], "float64"))
    refused_columns(r"row 0: reward is \[1\]", arm=["a"], reward=[[1]])


def test_parquet_of_other_types(tmp_path):
    pytest.importorskip("duckdb", reason="Parquet is read by DuckDB")
    pyarrow = pytest.importorskip("pyarrow", reason="writes the file")
    parquet = pytest.importorskip("pyarrow.parquet", reason="writes the file")
    decimals = pyarrow.array([1.5, 2, -0.25]).cast(pyarrow.decimal128(10, 2))
    for arms, rewards in [
        (["a", "b", "a"], ["1.5", " 2 ", "-0.25"]),
        (["a", "b", "a"], decimals),
        (pyarrow.array([b"a", b"b", b"a"]), pyarrow.array([1.5, 2, -0.25], "float32")),
        (pyarrow.array(["a", "b", "a"]).dictionary_encode(), [1.5, 2, -0.25]),
    ]:
        # columns that differ by case only, one with others inside, and names that SQL must not stumble on
        inside = [{"x": 1, "reward": {"y": [2]}}] * 3
        columns = {
            "inside": inside,
            "Reward": [9.0] * 3,
            "reward": rewards,
            "seen": [0] * 3,
            'a "b"; --': [5] * 3,
            "arm": arms,
        }
        parquet.write_table(pyarrow.table(columns), tmp_path / "r [1]*.parquet")
        table = read_table(tmp_path / "r [1]*.parquet", features=['a "b"; --', "seen"])
        assert table.digest == PLAIN.digest
        np.testing.assert_array_equal(table.features, [[5, 0], [5, 0]])
    parquet.write_table(pyarrow.table({"arm": ["a", "b"], "reward": [True, False]}), tmp_path / "b.parquet")
    assert read_table(tmp_path / "b.parquet").binary


def test_databases(tmp_path):
    path = as_sqlite(tmp_path)
    whole = read_table(COLUMNS)
    assert_same(read_table(path, table='my "results'), whole)
    refused(r"table is 'x'; expected one of 'my \"results'", path, table="x")
    refused("cannot be read: No such file", f"sqlite:///{tmp_path}/nothing.db", table="x")
    plain = tmp_path / "plain.db"
    plain.write_bytes(path.read_bytes())
    table = read_table(f"sqlite:///{plain}", table='my "results')
    assert_same(table, whole)
    assert table.source == str(plain)
    connection = sqlite3.connect(plain)
    connection.execute('CREATE VIEW other AS SELECT arm, reward FROM "my ""results" WHERE reward > 1')
    connection.execute("CREATE TABLE bad AS SELECT CAST(x'ff' AS TEXT) AS arm, 1 AS reward")
    connection.commit()
    connection.close()
    assert read_table(plain, table="other").rows == 3
    refused("table is None; expected one of", plain)
    refused("plain.db", plain, table="bad")
    refused("plain.db cannot be read", written(tmp_path, plain.read_bytes()[:5000], "plain.db"), table="bad")


def test_duckdb_databases(tmp_path):
    pytest.importorskip("duckdb", reason="an optional library")
    path = as_duckdb(tmp_path)
    refused(r"table is 'x'; expected one of 'my \"results'", path, table="x")
    refused("cannot be read", written(tmp_path, path.read_bytes()[:3000], "cut.duckdb"))


def test_urls_with_passwords_are_not_shown():
    for url in ("postgresql://me:secret@host/db", "sqlite://me:secret@host/x", "https://host/x.csv?key=secret"):
        with pytest.raises(InputError, match="source is a URL of") as caught:
            read_table(url)
        assert "secret" not in str(caught.value)


def test_csv_needs_no_other_library(tmp_path):
    path = written(tmp_path, "arm,reward\na,1\n")
    program = textwrap.dedent(f"""
        import sys
        for name in ("pandas", "polars", "pyarrow", "duckdb"):
            sys.modules[name] = None
        from bestarm.learning.tables import read_table
        assert read_table({str(path)!r}).rows == 1
        assert read_table({{"arm": ["a"], "reward": [1]}}).rows == 1
    """)
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)
