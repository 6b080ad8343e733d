"""The names of all policies, in one visible dict: `ba.policy("rolling", stages=24)`."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from bestarm.errors import InputError
from bestarm.policies.bayes_elim import BayesElim, Elimination
from bestarm.policies.bayesgap import BayesGap
from bestarm.policies.contract import Policy
from bestarm.policies.fixed import Fixed
from bestarm.policies.gse import GSE
from bestarm.policies.halving import SequentialHalving
from bestarm.policies.rejects import SuccessiveRejects
from bestarm.policies.rolling import Rolling
from bestarm.policies.thompson import ThompsonSampling
from bestarm.policies.top_two import TopTwo
from bestarm.policies.warmup import Warmup
from bestarm.validation import shown

__all__ = ["POLICIES", "names", "policy"]

# what a name stands for: a class, and the options that the name fixes
POLICIES: dict[str, tuple[Callable[..., Policy], dict[str, Any]]] = {
    "uniform": (Fixed, {"method": "uniform"}),
    "heuristic": (Fixed, {"method": "heuristic"}),
    "g": (Fixed, {"method": "g"}),
    "bound": (Fixed, {"method": "bound"}),
    "bound-mix": (Fixed, {"method": "bound", "mix": 0.5}),
    "tie": (Fixed, {"method": "tie"}),
    "anchored": (Fixed, {"method": "anchored"}),
    "warmup-ts": (Warmup, {"rule": "ts"}),
    "warmup-ttts": (Warmup, {"rule": "ttts"}),
    "warmup-t3c": (Warmup, {"rule": "t3c"}),
    "warmup-ts-tci": (Warmup, {"rule": "ts-tci"}),
    "rolling": (Rolling, {}),
    "sh": (SequentialHalving, {}),
    "sr": (SuccessiveRejects, {}),
    "bayes-elim": (BayesElim, {}),
    "ts": (ThompsonSampling, {}),
    "ttts": (TopTwo, {"rule": "ttts"}),
    "t3c": (TopTwo, {"rule": "t3c"}),
    "ts-tci": (TopTwo, {"rule": "ts-tci"}),
    "joint-ts": (ThompsonSampling, {"joint": True}),
    "joint-ttts": (TopTwo, {"rule": "ttts", "joint": True}),
    "joint-t3c": (TopTwo, {"rule": "t3c", "joint": True}),
    "joint-ts-tci": (TopTwo, {"rule": "ts-tci", "joint": True}),
    "bayesgap": (BayesGap, {}),
    "gse": (GSE, {}),
    "gse-greedy": (GSE, {"design": "greedy"}),
    "elim:uniform": (Elimination, {"method": "uniform"}),
    "elim:heuristic": (Elimination, {"method": "heuristic"}),
    "elim:g": (Elimination, {"method": "g"}),
    "elim:bound": (Elimination, {"method": "bound"}),
    "elim:bound-mix": (Elimination, {"method": "bound", "mix": 0.5}),
    "elim:tie": (Elimination, {"method": "tie"}),
    "elim:anchored": (Elimination, {"method": "anchored"}),
}


def names() -> list[str]:
    """All names, in the order of the docs."""
    return list(POLICIES)


def policy(name: str, **options: Any) -> Policy:
    """The policy of that name, with options of its class, such as `ba.policy("rolling", stages=24)`."""
    if not isinstance(name, str) or name not in POLICIES:
        raise InputError(f"policy is {shown(name)}; expected one of {', '.join(POLICIES)}")
    make, fixed = POLICIES[name]
    if clash := sorted(fixed.keys() & options.keys()):
        raise InputError(f"{clash[0]} is given and policy is '{name}', which fixes it")
    known = [each.name for each in fields(make) if each.name not in fixed]  # type: ignore[arg-type]
    for option in options:
        if option not in known:
            raise InputError(f"{option} is no option of policy '{name}'; expected one of {', '.join(known) or 'none'}")
    return make(**fixed, **options)
