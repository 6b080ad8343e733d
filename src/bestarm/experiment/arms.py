"""Files of arms: a text file (one name a line), CSV or JSONL (a name and what comes with it)."""

import csv
import io
import json
from pathlib import Path
from typing import Any

from bestarm.errors import InputError
from bestarm.validation import shown

__all__ = ["read_arms"]

_LARGEST = 100_000_000  # bytes


def read_arms(path: str | Path) -> dict[str, Any]:
    """Name and payload of each arm, in the order of the file.

    .csv: a column name (or arm); payload is the column of that name, or all other columns. .jsonl: a line is a name, or
    an object with name and payload (or with all else as payload). Anything else: a name a line, blank lines aside.
    """
    source = Path(path)
    try:
        if source.stat().st_size > _LARGEST:
            raise InputError(f"{source} has more than {_LARGEST:,} bytes; expected a list of arms")
        text = source.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{source} is not UTF-8 text; expected a list of arms") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{source} cannot be read: {reason}") from None
    if "\0" in text:
        raise InputError(f"{source} is not text; expected a list of arms")
    kind = source.suffix.lower()
    if kind == ".csv":
        rows = _from_csv(text, source)
    elif kind in (".jsonl", ".ndjson"):
        rows = _from_jsonl(text, source)
    else:
        rows = [(number, line.strip(), None) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    arms: dict[str, Any] = {}
    for number, name, payload in rows:
        if name in arms:
            raise InputError(f"{source}, line {number}: the name {shown(name)} comes twice; expected distinct names")
        arms[name] = payload
    if not arms:
        raise InputError(f"{source} has no arms; expected one a line")
    return arms


def _from_csv(text: str, source: Path) -> list[tuple[int, str, Any]]:
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        heads = list(reader.fieldnames or [])
        if len(set(heads)) < len(heads):
            raise InputError(f"{source} has two columns of one name; expected distinct names")
        key = next((head for head in heads if head.strip().lower() in ("name", "arm")), None)
        if key is None:
            raise InputError(f"{source} has the columns {shown(heads)}; expected one called name")
        rows = []
        for row in reader:
            name, others = (row.pop(key) or "").strip(), row
            if None in others or None in others.values():
                raise InputError(f"{source}, line {reader.line_num}: has not {len(heads)} cells, as the first line has")
            if not name:
                raise InputError(f"{source}, line {reader.line_num}: the name is empty")
            payload: Any = others.get("payload", others) if others else None
            rows.append((reader.line_num, name, payload))
    except csv.Error as error:
        raise InputError(f"{source} cannot be read as CSV: {error}") from None
    return rows


def _from_jsonl(text: str, source: Path) -> list[tuple[int, str, Any]]:
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            raise InputError(
                f"{source}, line {number}: is not JSON; expected a name or an object with a name"
            ) from None
        others = dict(entry) if isinstance(entry, dict) else {"name": entry}
        name = others.pop("name", None)
        if not isinstance(name, str) or not name:
            raise InputError(f"{source}, line {number}: name is {shown(name)}; expected text")
        rows.append((number, name, others.get("payload", others) if others else None))
    return rows
