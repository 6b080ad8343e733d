"""The loader reads the official format, from a folder or its zip file, and says which line it cannot read."""

import http.client
import io
import urllib.error
import urllib.request
import zipfile

import duckdb
import numpy as np
import pytest

import bestarm as ba
from bestarm.learning.factorise import factorise, low_rank_prior
from bestarm.paper.movielens import ADDRESS, download_movielens, load_movielens

# The format of ml-1m, made up: gaps in the numbers, a movie that nobody rated, Latin-1, a title with \x85 in it.
FILES = {
    "users.dat": "1::F::1::10::48067\n2::M::56::16::70072\n4::M::25::15::02460\n",
    "movies.dat": "1::Café Noir (1995)::Drama\n3::Wait\x85 (1995)::Comedy|Romance\n7::Nobody Saw It (1999)::Drama\n8::Alien: Again (1997)::Sci-Fi\n",
    "ratings.dat": "1::8::5::978300760\n1::1::3::978302109\n2::3::4::978301968\n4::1::2::978300275\n4::8::1::978824291\n",
}


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "ml-1m"
    made.mkdir()
    for name, text in FILES.items():
        (made / name).write_bytes(text.encode("latin-1"))
    return made


def zipped(folder, target, inside="ml-1m/"):
    with zipfile.ZipFile(target, "w") as archive:
        for file in folder.iterdir():
            archive.write(file, inside + file.name)
    return target


def check(loaded, count=5):
    assert loaded.users.tolist() == [0, 0, 1, 2, 2][:count]
    assert loaded.items.tolist() == [3, 0, 1, 0, 3][:count]
    assert loaded.ratings.tolist() == [5, 3, 4, 2, 1][:count]
    assert loaded.titles == ("Café Noir (1995)", "Wait\x85 (1995)", "Nobody Saw It (1999)", "Alien: Again (1997)")
    assert loaded.user_ids.tolist() == [1, 2, 4]
    assert loaded.item_ids.tolist() == [1, 3, 7, 8]
    assert loaded.shape == (3, 4)
    assert repr(loaded) == f"Ratings({count} ratings by 3 users of 4 items)"


def test_folder(folder):
    check(load_movielens(folder))
    check(load_movielens(str(folder)))
    check(load_movielens(folder.parent))  # the folder it was unpacked in


def test_windows_line_ends(folder):
    for name, text in FILES.items():
        (folder / name).write_bytes(text.replace("\n", "\r\n").encode("latin-1"))
    check(load_movielens(folder))


@pytest.mark.parametrize("inside", ["ml-1m/", ""])
def test_zip(folder, tmp_path, inside):
    check(load_movielens(zipped(folder, tmp_path / "data.zip", inside)))


def test_rebuilt_parquet(folder):
    rows = ", ".join(f"({','.join(line.split('::')[:3])})" for line in FILES["ratings.dat"].split())
    target = folder / "ratings_rebuilt.parquet"
    with duckdb.connect() as connection:
        connection.execute(f"COPY (FROM (VALUES {rows}) t(user, movie, rating)) TO '{target}'")
    check(load_movielens(folder))
    (folder / "ratings.dat").unlink()
    check(load_movielens(folder))
    target.write_bytes(b"no parquet")
    with pytest.raises(ba.InputError, match=r"ratings_rebuilt.parquet cannot be read"):
        load_movielens(folder)


def test_goes_into_a_prior(folder):
    loaded = load_movielens(folder)
    factors = factorise(loaded.users, loaded.items, loaded.ratings, rank=2, shape=loaded.shape)
    assert not factors.items[2].any()
    rated = np.unique(loaded.items)
    model = low_rank_prior(factors, rated, names=[loaded.titles[item] for item in rated])
    assert model.names == ("Café Noir (1995)", "Wait\x85 (1995)", "Alien: Again (1997)")


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("ratings.dat", "1::8::5", r"ratings.dat, line 6 is '1::8::5'; expected UserID::MovieID::Rating::Timestamp"),
        ("ratings.dat", "1:8:5:978300760", r"ratings.dat, line 6 is"),
        ("ratings.dat", "1::8::6::978300760", r"ratings.dat, line 6 is .*a rating from 1 to 5"),
        ("ratings.dat", "1::8::::978300760", r"ratings.dat, line 6 is"),
        ("ratings.dat", "1::8::45::978300760", r"ratings.dat, line 6 is"),
        ("ratings.dat", "3::8::5::978300760", r"ratings.dat, line 6 is .*a user of users.dat"),
        ("ratings.dat", "1::2::5::978300760", r"ratings.dat, line 6 is .*a movie of movies.dat"),
        (
            "movies.dat",
            "9::No Genre (1990)",
            r"movies.dat, line 5 is '9::No Genre \(1990\)'; expected MovieID::Title::Genres",
        ),
        ("movies.dat", "x::Title (1990)::Drama", r"movies.dat, line 5 is"),
        (
            "movies.dat",
            "3::Twice (1990)::Drama",
            r"movies.dat, line 5 has the number 3, as has line 2; expected each once",
        ),
        ("users.dat", "5::M::25", r"users.dat, line 4 is '5::M::25'; expected UserID"),
        ("users.dat", "²::M::25::15::02460", r"users.dat, line 4 is"),
    ],
)
def test_malformed_line(folder, name, line, message):
    (folder / name).write_bytes((FILES[name] + line + "\n").encode("latin-1"))
    with pytest.raises(ba.InputError, match=message):
        load_movielens(folder)


@pytest.mark.parametrize("name", FILES)
def test_empty_or_missing_file(folder, tmp_path, name):
    (folder / name).write_bytes(b"\n")
    with pytest.raises(ba.InputError, match=rf"{name} is empty; expected lines of"):
        load_movielens(folder)
    (folder / name).unlink()
    with pytest.raises(ba.InputError, match=rf"ml-1m has no {name}; expected ratings.dat, movies.dat and users.dat"):
        load_movielens(folder)
    with pytest.raises(ba.InputError, match=rf"data.zip has no ml-1m/{name}"):
        load_movielens(zipped(folder, tmp_path / "data.zip"))


def test_bad_path(folder, tmp_path):
    with pytest.raises(ba.InputError, match=r"path is 3; expected the folder"):
        load_movielens(3)
    with pytest.raises(ba.InputError, match=r"there is nothing of that name"):
        load_movielens(tmp_path / "nowhere")
    with pytest.raises(ba.InputError, match=r"expected a folder or a zip file"):
        load_movielens(folder / "ratings.dat")


def test_damaged_zip(folder, tmp_path):
    file = zipped(folder, tmp_path / "data.zip")
    content = bytearray(file.read_bytes())
    content[content.index(b"978300760")] ^= 1  # its checksum no longer holds
    file.write_bytes(content)
    with pytest.raises(ba.InputError, match=r"CRC"):
        load_movielens(file)


# ---------------------------------------------------------------------- fetching it


def answering(monkeypatch, content):
    asked = []

    def urlopen(address, timeout):
        asked.append(address)
        if isinstance(content, Exception):
            raise content
        return io.BytesIO(content)

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    return asked


def test_download(folder, tmp_path, monkeypatch):
    asked = answering(monkeypatch, zipped(folder, tmp_path / "served.zip").read_bytes())
    target = download_movielens(tmp_path / "new" / "data")
    assert target == tmp_path / "new" / "data" / "ml-1m.zip"
    check(load_movielens(target))
    assert download_movielens(tmp_path / "new" / "data") == target
    assert asked == [ADDRESS]  # the second time it is there
    assert [file.name for file in target.parent.iterdir()] == ["ml-1m.zip"]


@pytest.mark.parametrize(
    "error", [urllib.error.URLError("no route"), TimeoutError("too slow"), http.client.IncompleteRead(b"half")]
)
def test_download_without_network(tmp_path, monkeypatch, error):
    answering(monkeypatch, error)
    with pytest.raises(ba.InputError, match=r"ml-1m.zip cannot be fetched \(.*\); expected a network that allows it"):
        download_movielens(tmp_path)
    assert not any(tmp_path.iterdir())


def test_download_of_something_else(tmp_path, monkeypatch):
    answering(monkeypatch, b"<html>please log in</html>")
    with pytest.raises(ba.InputError, match=r"gave 26 bytes that are no zip file"):
        download_movielens(tmp_path)
    assert not any(tmp_path.iterdir())


def test_download_to_nowhere(folder, tmp_path, monkeypatch):
    answering(monkeypatch, zipped(folder, tmp_path / "served.zip").read_bytes())
    with pytest.raises(ba.InputError, match=r"folder is .*; it cannot be written"):
        download_movielens(folder / "ratings.dat" / "below a file")
    with pytest.raises(ba.InputError, match=r"folder is 3; expected the name of a folder"):
        download_movielens(3)
