"""MovieLens 1M (Harper and Konstan 2015), as the paper uses it: a million ratings, 1 to 5, by 6,040 users of movies.

The data may be used for research and not be passed on: none of it is in this project. Of the 3,883 movies that
movies.dat lists, numbered up to 3,952 with gaps, 3,706 have ratings.
"""

import http.client
import io
import os
import urllib.request
import uuid
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bestarm.errors import InputError
from bestarm.validation import Array, IntArray, read_only, shown

__all__ = ["ADDRESS", "RandomUser", "Ratings", "download_movielens", "load_movielens"]

ADDRESS = "https://files.grouplens.org/datasets/movielens/ml-1m.zip"
_REBUILT = "ratings_rebuilt.parquet"
_STARS = {str(stars): float(stars) for stars in range(1, 6)}

Lines = Callable[[str], list[str]]  # of the file of that name


@dataclass(frozen=True, eq=False, repr=False)
class Ratings:
    """N ratings. users, items: who rated what, indices from 0, (N,); ratings: 1 to 5, (N,).

    titles: one per item, in the order of movies.dat, rated or not, (n,). user_ids, item_ids: what the files call each
    user, (m,), and each item, (n,).
    """

    users: IntArray
    items: IntArray
    ratings: Array
    titles: tuple[str, ...]
    user_ids: IntArray
    item_ids: IntArray

    @property
    def shape(self) -> tuple[int, int]:
        """Users and items, for `factorise`."""
        return len(self.user_ids), len(self.item_ids)

    def __repr__(self) -> str:
        return f"Ratings({len(self.ratings)} ratings by {len(self.user_ids)} users of {len(self.item_ids)} items)"


@dataclass(frozen=True, eq=False)
class RandomUser:
    """Where instances come from: what a random user thinks of each movie. rewards: (users, movies)."""

    rewards: Array

    def __call__(self, runs: int, rng: np.random.Generator) -> Array:
        return np.asarray(self.rewards[rng.integers(len(self.rewards), size=runs)])


def load_movielens(path: str | Path) -> Ratings:
    """The ratings in the official folder ml-1m, or in its zip file.

    path: a folder or zip file with ratings.dat, movies.dat and users.dat, there or in ml-1m/ inside it. A folder may
    also hold ratings_rebuilt.parquet (columns user, movie, rating) for ratings.dat: that needs duckdb.
    """
    if not isinstance(path, str | Path) or not str(path):
        raise InputError(f"path is {shown(path)}; expected the folder ml-1m or its zip file")
    source = Path(path)
    if source.is_dir():
        folder = source / "ml-1m" if (source / "ml-1m").is_dir() else source
        rebuilt = folder / _REBUILT
        from_parquet = rebuilt if rebuilt.is_file() and not (folder / "ratings.dat").exists() else None
        return _loaded(lambda name: _text_lines(folder / name), from_parquet)
    if not source.exists():
        raise InputError(
            f"path is {shown(str(source))}; there is nothing of that name, `download_movielens` fetches it"
        )
    try:
        with zipfile.ZipFile(source) as archive:
            return _loaded(lambda name: _zipped_lines(archive, source, name), None)
    except (OSError, RuntimeError, zlib.error, zipfile.BadZipFile) as error:  # RuntimeError: it asks for a password
        raise InputError(f"path is {shown(str(source))}; expected a folder or a zip file: {error}") from None


def download_movielens(folder: str | Path) -> Path:
    """Fetch ml-1m.zip (6 MB) from its makers into `folder`, if it is not there yet; where it is now."""
    if not isinstance(folder, str | Path) or not str(folder):
        raise InputError(f"folder is {shown(folder)}; expected the name of a folder")
    target = Path(folder) / "ml-1m.zip"
    if target.exists():
        return target
    try:
        with urllib.request.urlopen(ADDRESS, timeout=60) as answer:
            content = answer.read()
    except (OSError, http.client.HTTPException) as error:  # no network, no permission, no such page, cut off
        raise InputError(
            f"{ADDRESS} cannot be fetched ({error}); expected a network that allows it, or the file, fetched by other "
            "means, as the path of `load_movielens`"
        ) from None
    if not zipfile.is_zipfile(io.BytesIO(content)):
        raise InputError(f"{ADDRESS} gave {len(content)} bytes that are no zip file; expected the data set")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = target.with_name(f".{uuid.uuid4().hex}")  # all of the file or nothing
        try:
            beside.write_bytes(content)
            os.replace(beside, target)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"folder is {shown(str(folder))}; it cannot be written: {error}") from None
    return target


def _loaded(lines: Lines, parquet: Path | None) -> Ratings:
    movies = _records(lines("movies.dat"), "movies.dat", "MovieID::Title::Genres", 3)
    people = _records(lines("users.dat"), "users.dat", "UserID::Gender::Age::Occupation::Zip-code", 5)
    user_ids = _ids([person[0] for person in people], "users.dat")
    item_ids = _ids([movie[0] for movie in movies], "movies.dat")
    user_of = {str(number): index for index, number in enumerate(user_ids.tolist())}
    item_of = {str(number): index for index, number in enumerate(item_ids.tolist())}
    name, rows = (_REBUILT, _parquet_rows(parquet)) if parquet else ("ratings.dat", lines("ratings.dat"))
    users, items, values = [], [], []
    for number, line in enumerate(rows, 1):
        try:
            user, movie, rating, _ = line.split("::")
            users.append(user_of[user])
            items.append(item_of[movie])
            values.append(_STARS[rating])
        except (ValueError, KeyError):
            raise InputError(
                f"{name}, line {number} is {shown(line)}; expected UserID::MovieID::Rating::Timestamp, a user of "
                "users.dat, a movie of movies.dat and a rating from 1 to 5"
            ) from None
    if not values:
        raise InputError(f"{name} is empty; expected lines of UserID::MovieID::Rating::Timestamp")
    titles = tuple(movie[1] for movie in movies)
    r = read_only(np.array(values, dtype=np.float64))
    return Ratings(np.array(users, dtype=np.intp), np.array(items, dtype=np.intp), r, titles, user_ids, item_ids)


def _records(lines: list[str], name: str, form: str, fields: int) -> list[list[str]]:
    records = [line.split("::") for line in lines]
    for number, record in enumerate(records, 1):
        if len(record) != fields or not (record[0].isascii() and record[0].isdigit()):
            raise InputError(f"{name}, line {number} is {shown(lines[number - 1])}; expected {form}")
    if not records:
        raise InputError(f"{name} is empty; expected lines of {form}")
    return records


def _ids(texts: list[str], name: str) -> IntArray:
    first: dict[int, int] = {}
    for number, text in enumerate(texts, 1):
        if (line := first.setdefault(int(text), number)) != number:
            raise InputError(f"{name}, line {number} has the number {text}, as has line {line}; expected each once")
    return np.array(list(first), dtype=np.intp)


# ---------------------------------------------------------------------- where lines come from


def _lines(content: bytes) -> list[str]:
    """Lines of a file, which end in line feeds only: in Latin-1, `splitlines` would break titles at more."""
    return content.decode("latin-1").replace("\r\n", "\n").rstrip("\n").split("\n") if content.strip() else []


def _text_lines(file: Path) -> list[str]:
    try:
        return _lines(file.read_bytes())
    except FileNotFoundError:
        raise InputError(f"{file.parent} has no {file.name}; expected ratings.dat, movies.dat and users.dat") from None
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error}") from None


def _zipped_lines(archive: zipfile.ZipFile, source: Path, name: str) -> list[str]:
    for inside in (f"ml-1m/{name}", name):
        if inside in archive.namelist():
            return _lines(archive.read(inside))
    raise InputError(f"{source} has no ml-1m/{name}; expected the official ml-1m.zip")


def _parquet_rows(file: Path) -> list[str]:
    try:
        import duckdb
    except ImportError:
        raise InputError(f"{file.name} needs duckdb; expected `pip install bestarm[learn]`, or ratings.dat") from None
    try:
        with duckdb.connect() as connection:
            query = "SELECT concat_ws('::', \"user\", movie, rating, 0) FROM read_parquet(?)"
            return [line for (line,) in connection.execute(query, [str(file)]).fetchall()]
    except duckdb.Error as error:
        raise InputError(f"{file} cannot be read: {error}") from None
