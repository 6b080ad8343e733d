"""Model files: a small versioned YAML or JSON document, one entry per arm, that people can read and edit.

    bestarm: 1
    family: gaussian
    direction: maximize
    arms:
    - {name: "short prompt", mean: 0.62, sd: 0.1, noise: 1.0}
    - {name: "long prompt", mean: 0.58, sd: 0.2, noise: 1.0}

An arm may say `var` for `sd` and `noise_var` for `noise`, carry a `payload`, and, where arms are correlated, a
`factor`: its row of F. Numbers are written so that they are read back bit for bit. YAML is read by the rules of
version 1.2: only true and false are booleans (`NO` is a name), and 1e-3 is a number.
"""

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from bestarm.errors import InputError
from bestarm.models.gaussian import Gaussian
from bestarm.validation import Array, shown

__all__ = ["SCHEMA", "load", "save"]

SCHEMA = 1


def save(model: Gaussian, path: str | Path) -> None:
    """Write `model` to `path`: JSON where it ends in .json, YAML otherwise. `load` gives back the same numbers."""
    if not isinstance(model, Gaussian):
        raise InputError(f"model is {shown(model)}; expected a model of bestarm")
    if model.batch_shape:
        raise InputError(f"model has batch axes {model.batch_shape}; expected a single belief")
    document = _document(model)
    target = Path(path)
    if target.suffix.lower() == ".json":
        text = json.dumps(document, ensure_ascii=False, indent=1) + "\n"
    else:
        text = yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**20)
    target.write_text(text, encoding="utf-8")


def load(path: str | Path) -> Gaussian:
    """Read a model that `save` wrote, or that a person did."""
    source = Path(path)
    try:
        text = source.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"path is {str(source)!r}; there is no file of that name") from None
    except UnicodeDecodeError:
        raise InputError(f"{source} is not UTF-8 text; expected a model file") from None
    try:
        document = json.loads(text) if source.suffix.lower() == ".json" else yaml.load(text, Loader=_Loader)
    except (json.JSONDecodeError, yaml.YAMLError, RecursionError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{source} cannot be read as a model file: {reason}") from None
    try:
        return _model(document)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


# ---------------------------------------------------------------------- the document


def _document(model: Gaussian) -> dict[str, Any]:
    factor = model.covariance.factor
    arms = []
    for k, name in enumerate(model.names):
        arm: dict[str, Any] = {"name": _Text(name), "mean": float(model.mean[k])}
        arm |= _spread("sd", "var", float(model.covariance.diag[k]))
        arm |= _spread("noise", "noise_var", float(model.noise_var[k]))
        if model.covariance.rank:
            arm["factor"] = [float(entry) for entry in factor[k]]
        if model.payloads is not None and model.payloads[k] is not None:
            arm["payload"] = model.payloads[k]
        arms.append(arm)
    return {"bestarm": SCHEMA, "family": "gaussian", "direction": model.direction, "arms": arms}


def _spread(sd_key: str, var_key: str, var: float) -> dict[str, float]:
    """A standard deviation where its square is the variance to the last bit; the variance itself otherwise."""
    sd = math.sqrt(var)
    return {sd_key: sd} if sd * sd == var else {var_key: var}


_TOP = {"bestarm", "family", "direction", "arms", "units", "source"}
_ARM = {"name", "mean", "sd", "var", "noise", "noise_var", "factor", "payload"}


def _model(document: Any) -> Gaussian:
    if not isinstance(document, dict):
        raise InputError(f"the document is {shown(document)}; expected keys bestarm, family, direction, arms")
    _refuse_unknown(document, _TOP, "the document")
    version = document.get("bestarm")
    if type(version) is not int or version < 1:
        raise InputError(f"bestarm is {shown(version)}; expected the version of the file format ({SCHEMA})")
    if version > SCHEMA:
        raise InputError(f"bestarm is {version}: this file needs a newer bestarm (this one reads up to {SCHEMA})")
    if document.get("family") != "gaussian":
        raise InputError(f"family is {shown(document.get('family'))}; expected gaussian")
    arms = document.get("arms")
    if not isinstance(arms, list) or not arms:
        raise InputError(f"arms is {shown(arms)}; expected a list of arms, each with name, mean and sd")
    for k, arm in enumerate(arms):
        if not isinstance(arm, dict):
            raise InputError(f"arms[{k}] is {shown(arm)}; expected keys name, mean, sd")
        _refuse_unknown(arm, _ARM, f"arms[{k}]")
        if "name" not in arm:
            raise InputError(f"arms[{k}] has no name")
    payloads = [arm.get("payload") for arm in arms]
    return Gaussian.low_rank(
        mean=[_number(arm, k, "mean") for k, arm in enumerate(arms)],
        factor=_factor(arms),
        var=[_variance(arm, k, "sd", "var") for k, arm in enumerate(arms)],
        noise_var=[_variance(arm, k, "noise", "noise_var") for k, arm in enumerate(arms)],
        names=[arm["name"] for arm in arms],
        direction=document.get("direction", "maximize"),
        payloads=payloads if any(payload is not None for payload in payloads) else None,
    )


def _refuse_unknown(mapping: dict[Any, Any], known: set[str], where: str) -> None:
    for key in mapping:
        if key not in known:
            raise InputError(f"{where} has the key {shown(key)}; expected only {', '.join(sorted(known))}")


def _number(arm: dict[str, Any], k: int, key: str) -> float:
    if key not in arm:
        raise InputError(f"arms[{k}] ({shown(arm['name'])}) has no {key}")
    return _float(arm[key], f"arms[{k}].{key}")


def _variance(arm: dict[str, Any], k: int, sd_key: str, var_key: str) -> float:
    if (sd_key in arm) == (var_key in arm):
        both = "both" if sd_key in arm else "neither"
        raise InputError(f"arms[{k}] ({shown(arm['name'])}) has {both} {sd_key} and {var_key}; expected one of them")
    key = sd_key if sd_key in arm else var_key
    number = _number(arm, k, key)
    floor = "above" if sd_key == "noise" else "of at least"
    if number < 0 or (sd_key == "noise" and number == 0):
        raise InputError(f"arms[{k}].{key} is {number:g}; expected a number {floor} 0")
    return number * number if key == sd_key else number


def _factor(arms: list[dict[str, Any]]) -> Array:
    rows = [arm.get("factor", []) for arm in arms]
    rank = len(rows[0]) if isinstance(rows[0], list) else 0
    for k, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != rank:
            raise InputError(f"arms[{k}].factor is {shown(row)}; expected a list of numbers, as many as for arms[0]")
    values = [[_float(entry, f"arms[{k}].factor") for entry in row] for k, row in enumerate(rows)]
    return np.array(values, dtype=np.float64).reshape(len(rows), rank)


def _float(value: Any, where: str) -> float:
    try:
        number = float(value) if type(value) in (int, float) else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"{where} is {shown(value)}; expected a finite number")
    return number


# ---------------------------------------------------------------------- YAML, by the rules of version 1.2


class _Text(str):
    """A name: always written in double quotes, so that no reader takes it for anything else."""

    __slots__ = ()


class _Dumper(yaml.CSafeDumper):
    """Names in quotes, no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_Dumper.add_representer(
    _Text, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style='"')
)


class _Loader(yaml.CSafeLoader):
    """Safe loading with the core schema of YAML 1.2, and duplicate keys refused."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  (PyYAML's own protocol)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if not isinstance(key, str):
                raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} is not text", node.start_mark)
        if len(set(keys)) < len(keys):
            twice = next(key for key in keys if keys.count(key) > 1)
            raise yaml.constructor.ConstructorError(None, None, f"the key {twice!r} comes twice", node.start_mark)
        return super().construct_mapping(node, deep)


for _tag, _pattern, _starts in (
    ("null", r"null|Null|NULL|~|", ["n", "N", "~", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+", list("-+0123456789")),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), _starts)


def _int(loader: _Loader, node: Any) -> int:
    return int(loader.construct_scalar(node))


def _core_float(loader: _Loader, node: Any) -> float:
    return float(loader.construct_scalar(node).lower().replace(".inf", "inf").replace(".nan", "nan"))


_Loader.add_constructor("tag:yaml.org,2002:int", _int)
_Loader.add_constructor("tag:yaml.org,2002:float", _core_float)
