"""What an experiment is, as its first event says it: arms and prior, budget, policy, prices, pool, seed, lease."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import bestarm.policies
from bestarm.errors import InputError
from bestarm.learning.from_nothing import LearnedBernoulli, LearnedGaussian, from_nothing
from bestarm.models.belief import Belief, checked_single
from bestarm.models.files import dumps, loads
from bestarm.policies.contract import Policy, Problem, checked_fit
from bestarm.policies.registry import policy as named_policy
from bestarm.validation import Array, IntArray, broadcast, choice, positive, shown, size

__all__ = ["KEYS", "Settings", "checked_budget"]

_LONGEST_POOL = 10**6
KEYS = ("model", "policy", "costs", "pool", "seed", "budget")  # the same whenever an experiment is gone on with


@dataclass(frozen=True, eq=False)
class Settings:
    """model: before the first evaluation. costs: of one evaluation of each arm, (K,). pool: items that each arm is
    evaluated on at most once, or None. lease: seconds after which a trial that nobody told is handed out again.
    """

    model: Any
    budget: float
    policy: Policy
    costs: Array
    priced: bool
    pool: tuple[Any, ...] | None
    seed: int
    lease: float

    @classmethod
    def of(
        cls,
        model: Any,
        budget: float,
        prior: str = "learn",
        pool: int | Sequence[Any] | None = None,
        policy: str | Policy = "rolling",
        direction: str | None = None,
        costs: ArrayLike | None = None,
        seed: int = 0,
        lease: float = 3600.0,
        yes_no: bool = False,
    ) -> "Settings":
        """Settings that have been checked; `Experiment.create` says what each is."""
        believed = _believed(model, prior, direction, yes_no)
        price = np.ones(believed.num_arms)
        if costs is not None:
            price = np.array(broadcast(positive(costs, "costs"), believed.num_arms, "costs"))
        if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0:
            raise InputError(f"seed is {shown(seed)}; expected a whole number of at least 0")
        chosen = named_policy(policy) if isinstance(policy, str) else policy
        made = cls(
            believed,
            checked_budget(budget, "budget", costs is not None),
            chosen,
            price,
            costs is not None,
            None if pool is None else _items(pool),
            int(seed),
            float(positive(lease, "lease", ndim=0)),
        )
        _policy_document(chosen)
        checked_fit(chosen, Problem(believed, made.budget, price, 1))
        return made

    def document(self) -> dict[str, Any]:
        """As the log keeps it."""
        model = self.model
        if isinstance(model, LearnedGaussian | LearnedBernoulli):
            about = {"names": list(model.names), "payloads": model.payloads, "direction": model.direction}
            prior = {"learn": about | {"yes_no": isinstance(model, LearnedBernoulli), "pilot": model.pilot}}
        else:
            prior = {"model": json.loads(dumps(model, "json"))}
        return {
            **prior,
            "budget": self.budget,
            "policy": _policy_document(self.policy),
            "costs": self.costs.tolist() if self.priced else None,
            "pool": None if self.pool is None else list(self.pool),
            "seed": self.seed,
            "lease": self.lease,
            "bestarm": bestarm.__version__,
        }

    def different(self, other: "Settings", keys: Sequence[str]) -> str:
        """What of `keys` is not the same, in words; budgets are the experiment's business."""
        mine, theirs = self.document(), other.document()
        for key in keys:
            if key == "model":
                if (mine.get("model"), mine.get("learn")) != (theirs.get("model"), theirs.get("learn")):
                    odd = set(self.model.names) ^ set(other.model.names)
                    return f"arms or prior ({min(odd)!r} is in one of them only)" if odd else "arms or prior"
            elif key != "budget" and mine[key] != theirs[key]:
                return key
        return ""

    @classmethod
    def read(cls, document: dict[str, Any]) -> "Settings":
        """From the log."""
        if "learn" in document:
            about = document["learn"]
            model: Any = from_nothing(
                about["names"], about["yes_no"], about["pilot"], about["direction"], about["payloads"]
            )
        else:
            model = loads(json.dumps(document["model"]))
        made = document["policy"]
        rule = getattr(bestarm.policies, made["class"])(**_tuples(made["options"]))
        costs, pool = document["costs"], document["pool"]
        price = np.ones(model.num_arms) if costs is None else np.array(costs)
        items = None if pool is None else tuple(pool)
        return cls(
            model, document["budget"], rule, price, costs is not None, items, document["seed"], document["lease"]
        )

    @property
    def slack(self) -> float:
        """What sums of costs may be off by."""
        return 1e-9 * float(self.costs.min())

    @cached_property
    def order(self) -> IntArray:
        """The order of the items of the pool, the same for all arms."""
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(4,)))
        return rng.permutation(len(self.pool or ()))


def checked_budget(budget: Any, name: str, priced: bool) -> float:
    """Money, or a whole number of evaluations."""
    amount = float(positive(budget, name, ndim=0))
    if not priced and (amount != int(amount) or amount > 1e9):
        raise InputError(f"{name} is {shown(budget)}; expected a whole number of evaluations up to 1e9 (or give costs)")
    return amount


def _believed(model: Any, prior: str, direction: str | None, yes_no: bool) -> Any:
    if isinstance(model, Belief):
        known = checked_single(model)
        if direction is not None and choice(direction, "direction", ("maximize", "minimize")) != known.direction:
            raise InputError(f"direction is '{direction}' and model says '{known.direction}'; expected one of them")
        if yes_no:
            raise InputError("yes_no is given with a model; expected it only with a list of arms")
        if isinstance(known, LearnedGaussian | LearnedBernoulli) and np.any(known.counts):
            raise InputError("model has evidence that a store cannot keep; expected a prior from nothing, and `add`")
        return known
    if choice(prior, "prior", ("learn",)) == "learn" and isinstance(model, Mapping):
        names = list(model)
        return from_nothing(names, yes_no, direction=direction or "maximize", payloads=[model[n] for n in names])
    if isinstance(model, str) or not isinstance(model, Sequence | np.ndarray) or not len(model):
        raise InputError(f"model is {shown(model)}; expected a model of bestarm, or a list of the names of the arms")
    return from_nothing([*model], yes_no, direction=direction or "maximize")


def _items(pool: Any) -> tuple[Any, ...]:
    if isinstance(pool, int | np.integer) and not isinstance(pool, bool):
        (number,) = size(int(pool), "pool")
        items: list[Any] = list(range(min(number, _LONGEST_POOL + 1)))
    elif isinstance(pool, Sequence) and not isinstance(pool, str):
        items = list(pool)
    else:
        raise InputError(f"pool is {shown(pool)}; expected a list of items, or how many there are")
    if not 1 <= len(items) <= _LONGEST_POOL:
        raise InputError(f"pool has {len(items):,} items; expected 1 to {_LONGEST_POOL:,}")
    try:  # JSON's own types from the start: every worker sees the same items
        text = json.dumps(items, allow_nan=False, ensure_ascii=False)
        text.encode()
        return tuple(json.loads(text))
    except (TypeError, ValueError, RecursionError):
        raise InputError("pool has an item that JSON cannot hold; expected text, numbers, lists or maps") from None


def _policy_document(policy: Any) -> dict[str, Any]:
    name = type(policy).__name__
    if not is_dataclass(policy) or getattr(bestarm.policies, name, None) is not type(policy):
        raise InputError(
            f"policy is {shown(policy)}; expected a name or a policy of bestarm, which every worker can make again"
        )
    options = {each.name: getattr(policy, each.name) for each in fields(policy)}
    plain = {key: np.array(v).tolist() if isinstance(v, tuple | np.generic) else v for key, v in options.items()}
    return {"class": name, "options": plain}


def _tuples(options: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in options.items()}
