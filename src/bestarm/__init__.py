"""Choose the best of K options with a fixed number of noisy evaluations, using what you already believe.

    import bestarm as ba

    model = ba.Gaussian.independent(mean=[0.4, 0.5, 0.6], sd=[0.3, 0.2, 0.1], names=["a", "b", "c"])
    posterior = model.update(["a", "b", "b"], [1.1, 0.2, 0.9])
    posterior.best, posterior.prob_best()
    ba.evaluate(model, counts=[30, 30, 40])
    ba.plan(model, budget=100)
    ba.simulate(model, ["tie", "rolling", "ts-tci"], budgets=[50, 100])

A model says what is believed; conditioning on rewards gives another one; evaluating counts says how often the
decision after them is wrong; a plan chooses the counts. docs/notation.md says which letter of the paper is which
name here.
"""

from bestarm import policies
from bestarm.design.budget import budget_for, error_curve
from bestarm.design.plans import Plan, plan
from bestarm.error.bounds import Bound, error_bound
from bestarm.error.evaluate import error_probability, evaluate
from bestarm.error.evaluation import Evaluation
from bestarm.errors import BestarmError, InputError, PrecisionWarning, RewardError, StoreError
from bestarm.estimate import Estimate
from bestarm.experiment.experiment import Experiment
from bestarm.learning.from_nothing import from_nothing
from bestarm.learning.learn import learn
from bestarm.models.bernoulli import Bernoulli
from bestarm.models.files import load, save
from bestarm.models.gaussian import Gaussian
from bestarm.models.logistic import Logistic
from bestarm.models.unknown_noise import UnknownNoise
from bestarm.policies.registry import policy
from bestarm.simulation.engine import simulate
from bestarm.simulation.results import Results
from bestarm.simulation.worlds import Evaluations

__version__ = "0.1.0"

__all__ = [
    "Gaussian",
    "Bernoulli",
    "Logistic",
    "UnknownNoise",
    "Estimate",
    "plan",
    "budget_for",
    "error_curve",
    "Plan",
    "evaluate",
    "error_probability",
    "error_bound",
    "Evaluation",
    "Bound",
    "policy",
    "policies",
    "simulate",
    "Results",
    "Evaluations",
    "learn",
    "from_nothing",
    "Experiment",
    "load",
    "save",
    "BestarmError",
    "InputError",
    "PrecisionWarning",
    "RewardError",
    "StoreError",
    "__version__",
]
