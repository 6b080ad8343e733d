"""How to spend a budget step by step: PI-BAI with any plan, rolling plans, and the rivals, one algorithm a file."""

from bestarm.policies.bayes_elim import BayesElim, Elimination
from bestarm.policies.bayesgap import BayesGap
from bestarm.policies.contract import Policy, Problem, Pulls, State
from bestarm.policies.fixed import Fixed
from bestarm.policies.gse import GSE
from bestarm.policies.halving import SequentialHalving
from bestarm.policies.registry import names, policy
from bestarm.policies.rejects import SuccessiveRejects
from bestarm.policies.rolling import Rolling
from bestarm.policies.thompson import ThompsonSampling
from bestarm.policies.top_two import TopTwo
from bestarm.policies.warmup import Warmup

__all__ = [
    "BayesElim",
    "BayesGap",
    "Elimination",
    "Fixed",
    "GSE",
    "Policy",
    "Problem",
    "Pulls",
    "Rolling",
    "SequentialHalving",
    "State",
    "SuccessiveRejects",
    "ThompsonSampling",
    "TopTwo",
    "Warmup",
    "names",
    "policy",
]
