"""Model files: a small versioned YAML or JSON document, one entry per arm, that people can read and edit.

    bestarm: 1
    family: gaussian
    direction: maximize
    arms:
    - {name: "short prompt", mean: 0.62, sd: 0.1, noise: 1.0}
    - {name: "long prompt", mean: 0.58, sd: 0.2, noise: 1.0}

An arm may say `var` for `sd` and `noise_var` for `noise`, carry a `payload`, and, where arms are correlated, a
`factor`: its row of F. Where the noise is unknown, `noise: {shape: 2, scale: 1, shared: true}` stands in the document.
Family bernoulli has `alpha` and `beta` in each arm; families logistic, probit and poisson have `features` in each arm
and `coefficients: {mean: [...], cov: [[...]]}` in the document. Beliefs that keep their evidence write it beside each
arm: `evaluations`, `total` and, where the noise is unknown, `squares`.

Numbers are written so that they are read back bit for bit. YAML is read by the rules of version 1.2: only true and
false are booleans (`NO` is a name), and 1e-3 is a number.
"""

import json
import math
import os
import re
import shutil
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import yaml

from bestarm.errors import InputError
from bestarm.models.arms import DEEPEST
from bestarm.models.belief import Belief, checked_single
from bestarm.models.bernoulli import Bernoulli
from bestarm.models.gaussian import Gaussian
from bestarm.models.glm import FAMILIES as GLMS
from bestarm.models.logistic import GeneralizedLinear
from bestarm.models.unknown_noise import UncertainGaussian, UnknownNoise
from bestarm.validation import SMALLEST, Array, non_negative, positive, shown, spread

__all__ = ["SCHEMA", "dumps", "load", "loads", "save", "source_of"]

SCHEMA = 1
_DEEPEST = DEEPEST + 10  # the document around a payload


def save(model: Belief, path: str | Path, source: dict[str, Any] | None = None, units: str | None = None) -> None:
    """Write `model` to `path`: JSON where it ends in .json, YAML otherwise. `load` gives back the same numbers.

    source: where the model is from (`source_of` reads it). units: of the rewards.
    """
    target = _path(path)
    text = dumps(model, "json" if target.suffix.lower() == ".json" else "yaml", source, units)
    try:
        replace_file(target, text)
    except (OSError, ValueError) as error:
        raise InputError(f"path is {shown(str(target))}; it cannot be written: {_reason(error)}") from None


def dumps(model: Belief, form: str = "yaml", source: dict[str, Any] | None = None, units: str | None = None) -> str:
    """The text of a model file."""
    document = _document(checked_single(model))
    arms = document.pop("arms")
    if units is not None:
        document["units"] = _Text(units)
    if source is not None:
        document["source"] = {key: _quoted(value) for key, value in source.items()}
    document["arms"] = arms
    try:
        _model(document)
    except InputError as error:
        raise InputError(f"model has numbers that no file may hold: {error}") from None
    if form == "json":
        return json.dumps(document, ensure_ascii=False, indent=1) + "\n"
    return str(yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**20))


def replace_file(target: Path, text: str) -> None:
    """Write all of the file or nothing: a reader, or a crash, never meets half of one."""
    if target.exists() and not target.is_file():  # a pipe or a terminal has nothing to keep; a directory is refused
        target.write_text(text, encoding="utf-8")
        return
    target = target.resolve()
    beside = target.with_name(f".{uuid.uuid4().hex}")
    try:
        beside.write_text(text, encoding="utf-8")
        if target.exists():
            shutil.copymode(target, beside)
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


def load(path: str | Path) -> Any:
    """Read a model that `save` wrote, or that a person did."""
    document, source = _read(path)
    try:
        return _model(document)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


def loads(text: str) -> Any:
    """The model in the text of a JSON model file, as `dumps` writes it."""
    return _model(json.loads(text, object_pairs_hook=_distinct))


def source_of(path: str | Path) -> dict[str, Any]:
    """Where a model file says that it is from: rows, sha256, method, date; empty where it does not say."""
    document, source = _read(path)
    about = document.get("source", {}) if isinstance(document, dict) else {}
    if not isinstance(about, dict):
        raise InputError(f"{source}: source is {shown(about)}; expected keys such as rows, sha256, method, date")
    return about


def _read(path: str | Path) -> tuple[Any, Path]:
    """The document in a file, and the file's name."""
    source = _path(path)
    try:
        text = source.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"path is {shown(str(source))}; there is no file of that name") from None
    except UnicodeDecodeError:
        raise InputError(f"{source} is not UTF-8 text; expected a model file") from None
    except (OSError, ValueError) as error:
        raise InputError(f"path is {shown(str(source))}; it cannot be read: {_reason(error)}") from None
    try:
        if source.suffix.lower() == ".json":
            document = json.loads(text, object_pairs_hook=_distinct)
        else:
            _refuse_deep(text)
            document = yaml.load(text, Loader=_Loader)
    except RecursionError:
        raise InputError(f"{source} cannot be read as a model file: it is nested too deeply") from None
    except (yaml.YAMLError, ValueError) as error:
        raise InputError(f"{source} cannot be read as a model file: {_reason(error)}") from None
    return document, source


def _path(path: str | Path) -> Path:
    if not isinstance(path, str | Path) or not str(path):
        raise InputError(f"path is {shown(path)}; expected the name of a file")
    return Path(path)


def _reason(error: Exception) -> str:
    text = " ".join(str(error.strerror if isinstance(error, OSError) and error.strerror else error).split())
    return text if len(text) <= 200 else text[:197] + "..."


def _refuse_deep(text: str) -> None:
    """PyYAML builds nested values by recursion in C, where a file nested a hundred thousand deep would end the
    process; its parser does not recurse, so that depth is looked at first.
    """
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise RecursionError


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object whose keys are all different."""
    keys = [key for key, _ in pairs]
    if len(set(keys)) < len(keys):
        raise ValueError(f"the key {shown(max(keys, key=keys.count))} comes twice")
    return dict(pairs)


# ---------------------------------------------------------------------- the document


def _document(model: Any) -> dict[str, Any]:
    """What stands in the document besides the arms, and what each arm has, family by family."""
    about: dict[str, Any] = {}
    if isinstance(model, Gaussian):
        family, arms = "gaussian", _gaussian_arms(model)
        for k, arm in enumerate(arms):
            arm |= _spread("noise", "noise_var", float(model.noise_var[k]))
    elif isinstance(model, Bernoulli):
        family = "bernoulli"
        arms = [{"alpha": a, "beta": b} for a, b in zip(model.alpha.tolist(), model.beta.tolist(), strict=True)]
    elif isinstance(model, UncertainGaussian):
        law = model.law
        family, about = "gaussian", {"noise": {"shape": law.shape, "scale": law.scale, "shared": law.shared}}
        arms = _with_evidence(_gaussian_arms(model.prior), model.counts, model.sums, model.squares)
    elif isinstance(model, GeneralizedLinear):
        family = model.family.name
        about = {"coefficients": {"mean": model.prior_mean.tolist(), "cov": model.prior_cov.tolist()}}
        arms = _with_evidence([{"features": row} for row in model.features.tolist()], model.counts, model.sums)
    else:
        raise InputError(f"model is {shown(model)}; expected a model of bestarm that a file can hold")
    payloads = model.payloads or (None,) * model.num_arms
    named = []
    for name, payload, arm in zip(model.names, payloads, arms, strict=True):
        named.append({"name": _Text(name), **arm, **({} if payload is None else {"payload": _quoted(payload)})})
    return {"bestarm": SCHEMA, "family": family, "direction": model.direction, **about, "arms": named}


def _gaussian_arms(model: Gaussian) -> list[dict[str, Any]]:
    arms = []
    for k in range(model.num_arms):
        arm: dict[str, Any] = {"mean": float(model.mean[k])}
        arm |= _spread("sd", "var", float(model.covariance.diag[k]))
        if model.covariance.rank:
            arm["factor"] = [float(entry) for entry in model.covariance.factor[k]]
        arms.append(arm)
    return arms


def _with_evidence(arms: list[dict[str, Any]], *evidence: Array) -> list[dict[str, Any]]:
    """Arms with what they have been seen to give, where they have."""
    if not evidence[0].any():
        return arms
    return [
        arm | dict(zip(_EVIDENCE, (float(part[k]) for part in evidence), strict=False)) for k, arm in enumerate(arms)
    ]


def _spread(sd_key: str, var_key: str, var: float) -> dict[str, float]:
    """A standard deviation where it may stand for its square to the last bit; the variance itself otherwise."""
    sd = math.sqrt(var)
    return {sd_key: sd} if sd * sd == var and (sd == 0 or sd >= SMALLEST) else {var_key: var}


_EVIDENCE = ("evaluations", "total", "squares")
_TOP = {"bestarm", "family", "direction", "arms", "units", "source"}
_ARM = {"name", "payload"}


def _model(document: Any) -> Any:
    if not isinstance(document, dict):
        raise InputError(f"the document is {shown(document)}; expected keys bestarm, family, direction, arms")
    version = document.get("bestarm")
    if type(version) is not int or version < 1:
        raise InputError(f"bestarm is {shown(version)}; expected the version of the file format ({SCHEMA})")
    if version > SCHEMA:
        raise InputError(f"bestarm is {version}: this file needs a newer bestarm (this one reads up to {SCHEMA})")
    family = document.get("family")
    if not isinstance(family, str) or family not in _FAMILIES:
        raise InputError(f"family is {shown(family)}; expected one of {', '.join(_FAMILIES)}")
    read, top, own = _FAMILIES[family]
    _refuse_unknown(document, _TOP | top, "the document")
    arms = document.get("arms")
    if not isinstance(arms, list) or not arms:
        raise InputError(f"arms is {shown(arms)}; expected a list of arms, each with a name")
    for k, arm in enumerate(arms):
        if not isinstance(arm, dict):
            raise InputError(f"arms[{k}] is {shown(arm)}; expected keys name, {', '.join(sorted(own)[:3])}, ...")
        _refuse_unknown(arm, _ARM | own, f"arms[{k}]")
        if "name" not in arm:
            raise InputError(f"arms[{k}] has no name")
    payloads = [arm.get("payload") for arm in arms]
    about = {
        "names": [arm["name"] for arm in arms],
        "direction": document.get("direction", "maximize"),
        "payloads": payloads if any(payload is not None for payload in payloads) else None,
    }
    return read(document, arms, about)


def _read_gaussian(document: dict[str, Any], arms: list[dict[str, Any]], about: dict[str, Any]) -> Any:
    unknown = document.get("noise")
    if unknown is None:
        for k, arm in enumerate(arms):
            _refuse_unknown(arm, _ARM | _GAUSSIAN - set(_EVIDENCE), f"arms[{k}]")
        noise_var = [_variance(arm, k, "noise", "noise_var") for k, arm in enumerate(arms)]
    else:
        for k, arm in enumerate(arms):
            _refuse_unknown(arm, _ARM | _GAUSSIAN - {"noise", "noise_var"}, f"arms[{k}]")
        noise_var = [1.0] * len(arms)
    made = Gaussian.low_rank(
        mean=[_number(arm, k, "mean") for k, arm in enumerate(arms)],
        factor=_rows(arms, "factor"),
        var=[_variance(arm, k, "sd", "var") for k, arm in enumerate(arms)],
        noise_var=noise_var,
        **about,
    )
    if unknown is None:
        return made
    if not isinstance(unknown, dict):
        raise InputError(f"noise is {shown(unknown)}; expected keys shape, scale, shared")
    _refuse_unknown(unknown, {"shape", "scale", "shared"}, "noise")
    shape, scale = (_float(unknown.get(key), f"noise.{key}") for key in ("shape", "scale"))
    model = UnknownNoise(shape, scale, unknown.get("shared", True))._over(made)
    return _seen(model, arms, _EVIDENCE)


def _read_bernoulli(document: dict[str, Any], arms: list[dict[str, Any]], about: dict[str, Any]) -> Any:
    alpha, beta = ([_number(arm, k, key) for k, arm in enumerate(arms)] for key in ("alpha", "beta"))
    return Bernoulli.independent(alpha, beta, **about)


def _read_glm(document: dict[str, Any], arms: list[dict[str, Any]], about: dict[str, Any]) -> Any:
    given = document.get("coefficients")
    if not isinstance(given, dict):
        raise InputError(f"coefficients is {shown(given)}; expected keys mean and cov")
    _refuse_unknown(given, {"mean", "cov"}, "coefficients")
    mean, cov = given.get("mean"), given.get("cov")
    if not isinstance(mean, list) or not isinstance(cov, list) or not all(isinstance(row, list) for row in cov):
        raise InputError("coefficients has no mean (a list of numbers) and cov (a list of rows)")
    mean = [_float(entry, "coefficients.mean") for entry in mean]
    cov = [[_float(entry, "coefficients.cov") for entry in row] for row in cov]
    made = GeneralizedLinear.of(GLMS[document["family"]], _rows(arms, "features"), mean, cov, **about)
    return _seen(made, arms, _EVIDENCE[:2])


def _seen(model: Any, arms: list[dict[str, Any]], keys: Sequence[str]) -> Any:
    """The model after the evidence written beside its arms, if any."""
    if not any(key in arm for arm in arms for key in _EVIDENCE):
        return model
    columns = [[_number(arm, k, key) for k, arm in enumerate(arms)] for key in keys]
    return model.condition(*columns)


_GAUSSIAN = {"mean", "sd", "var", "noise", "noise_var", "factor", *_EVIDENCE}
# for each family: how it is read, its keys in the document, its keys in an arm
_FAMILIES: dict[str, tuple[Callable[..., Any], set[str], set[str]]] = {
    "gaussian": (_read_gaussian, {"noise"}, _GAUSSIAN),
    "bernoulli": (_read_bernoulli, set(), {"alpha", "beta"}),
} | {name: (_read_glm, {"coefficients"}, {"features", *_EVIDENCE[:2]}) for name in GLMS}


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
    value, where = _number(arm, k, key), f"arms[{k}].{key}"
    if sd_key == "noise":
        number = float(positive(value, where, squared=key == var_key))
    else:
        number = float(spread(value, where) if key == sd_key else non_negative(value, where, squared=True))
    return number * number if key == sd_key else number


def _rows(arms: list[dict[str, Any]], key: str) -> Array:
    """A row of numbers for each arm, as many for all."""
    rows = [arm.get(key, []) for arm in arms]
    rank = len(rows[0]) if isinstance(rows[0], list) else 0
    for k, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != rank:
            raise InputError(f"arms[{k}].{key} is {shown(row)}; expected a list of numbers, as many as for arms[0]")
    values = [[_float(entry, f"arms[{k}].{key}") for entry in row] for k, row in enumerate(rows)]
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


def _quoted(value: Any) -> Any:
    """A payload with all its text in double quotes."""
    if isinstance(value, str):
        return _Text(value)
    if isinstance(value, list):
        return [_quoted(entry) for entry in value]
    if isinstance(value, dict):
        return {_Text(key): _quoted(entry) for key, entry in value.items()}
    return value


_Dumper.add_representer(
    _Text, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style='"')
)


class _Loader(yaml.CSafeLoader):
    """Safe loading by the core schema of YAML 1.2; duplicate keys and any other tag are refused."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  (an instance variable to PyYAML's types)
    yaml_constructors: ClassVar[dict[Any, Any]] = {}


def _refused(node: Any, what: str) -> yaml.YAMLError:
    return yaml.constructor.ConstructorError(None, None, what, node.start_mark)


def _mapping(loader: _Loader, node: Any) -> dict[str, Any]:
    if not isinstance(node, yaml.MappingNode):
        raise _refused(node, "expected a mapping")
    mapping: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str):
            raise _refused(key_node, f"the key {shown(key)} is not text")
        if key in mapping:
            raise _refused(key_node, f"the key {shown(key)} comes twice")
        mapping[key] = loader.construct_object(value_node, deep=True)
    return mapping


def _sequence(loader: _Loader, node: Any) -> list[Any]:
    if not isinstance(node, yaml.SequenceNode):
        raise _refused(node, "expected a list")
    return [loader.construct_object(entry, deep=True) for entry in node.value]


def _scalar(convert: Callable[[str], Any], pattern: str) -> Callable[[_Loader, Any], Any]:
    def construct(loader: _Loader, node: Any) -> Any:
        text = loader.construct_scalar(node)
        if not re.fullmatch(pattern, str(text), flags=re.DOTALL | re.ASCII):
            raise _refused(node, f"{shown(text)} is not what its tag says")
        return convert(str(text))

    return construct


def _core_float(text: str) -> float:
    return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))


def _unknown(loader: _Loader, node: Any) -> Any:
    raise _refused(node, f"the tag {shown(node.tag)} is not known")


_Loader.add_constructor(None, _unknown)
_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)
_Loader.add_constructor("tag:yaml.org,2002:seq", _sequence)
_Loader.add_constructor("tag:yaml.org,2002:str", _scalar(str, ".*"))
for _tag, _convert, _pattern, _starts in (
    ("null", lambda text: None, r"null|Null|NULL|~|", ["n", "N", "~", ""]),
    ("bool", lambda text: text.lower() == "true", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", int, r"[-+]?[0-9]+", list("-+0123456789")),
    (
        "float",
        _core_float,
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
):
    _name = f"tag:yaml.org,2002:{_tag}"
    _Loader.add_implicit_resolver(_name, re.compile(rf"^(?:{_pattern})$", re.ASCII), _starts)
    _Loader.add_constructor(_name, _scalar(_convert, _pattern))
