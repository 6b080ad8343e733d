"""`bestarm demo`: the whole idea on one screen."""

import click
import numpy as np

from bestarm.design.plans import Plan, plan
from bestarm.models.gaussian import Gaussian

_ARMS = {  # name: what past experiments suggest about its score (mean, sd)
    "short prompt": (0.50, 0.10),
    "long prompt": (0.55, 0.20),
    "with examples": (0.60, 0.30),
    "step by step": (0.65, 0.30),
    "ask twice": (0.40, 0.40),
}
_NOISE = 1.0
_WIDTH = 20


@click.command()
@click.option("--budget", default=200, show_default=True, type=click.IntRange(0, 10**9), help="Evaluations to spend.")
@click.option("--seed", default=9, show_default=True, type=click.IntRange(0), help="Which simulated world.")
def demo(budget: int, seed: int) -> None:
    """Five options, a prior, a budget and a simulated world: plan, spend, learn, decide."""
    mean, sd = np.array(list(_ARMS.values())).T
    prior = Gaussian.independent(mean, sd, noise=_NOISE, names=list(_ARMS))
    rng = np.random.default_rng(seed)
    truth = prior.sample(rng=rng)

    made, even = plan(prior, budget), plan(prior, budget, "uniform")
    counts = made.counts
    noise = rng.standard_normal(prior.num_arms) * _NOISE * np.sqrt(counts)
    posterior = prior.condition(counts, counts * truth + noise)
    chance = np.asarray(posterior.prob_best().value)

    click.echo(f"Five prompts, a budget of {budget} evaluations, and a score that is noisy: one evaluation is off by")
    click.echo(f"about {_NOISE:g}, while the prompts differ by tenths. What past experiments suggest is the prior.\n")
    click.echo("Before the first one, the plan: prompts that may be best and are least known get the most.")
    click.echo(f"It picks the wrong prompt with probability {_percent(made)}; an even split with {_percent(even)}.\n")
    click.echo(f"{'prompt':<15}{'prior':>13}{'evaluations':>13}{'posterior':>15}   {'chance to be best'}")
    for k, name in enumerate(prior.names):
        bar = "█" * round(_WIDTH * chance[k])
        before, after = f"{mean[k]:.2f} ± {sd[k]:.2f}", f"{posterior.mean[k]:.2f} ± {np.sqrt(posterior.var[k]):.2f}"
        click.echo(f"{name:<15}{before:>13}{counts[k]:>13}{after:>15}   {chance[k]:>4.0%} {bar}".rstrip())
    pick = int(posterior.best)
    best = int(np.argmax(truth))
    regret = float(np.asarray(posterior.expected_regret().value)[pick])
    click.echo(
        f"\nDecision: {prior.names[pick]!r}. The chance that another prompt is better is {1 - chance[pick]:.0%};"
    )
    click.echo(f"choosing it is expected to cost {regret:.2f} against always knowing the best.")
    verdict = "the decision is right" if pick == best else f"the decision costs {truth[best] - truth[pick]:.2f}"
    click.echo(f"In this simulated world the best prompt is {prior.names[best]!r}: {verdict}.")


def _percent(made: Plan) -> str:
    return f"{float(made.evaluation.error):.1%}"
