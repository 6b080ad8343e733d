"""Which arm to pick, how sure that is, and why, in numbers and in words."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bestarm.error.evaluate import evaluate
from bestarm.estimate import Estimate, legible
from bestarm.learning.from_nothing import LearnedBernoulli, LearnedGaussian
from bestarm.models.bernoulli import Bernoulli
from bestarm.models.gaussian import Gaussian
from bestarm.validation import Array

__all__ = ["Recommendation", "chance_wrong", "intervals", "recommended"]

LEVEL = 0.9  # of intervals
_DRAWS = 20_000
_SAME = 0.05  # a chance to be better from which on another arm cannot be told apart


@dataclass(frozen=True)
class Recommendation:
    """arm, name: the one with the best posterior mean. mean, interval: posterior mean and 90 % interval of its value.
    chance: that it is the best, or within `margin` of it. expected_loss: what picking it costs against the best arm,
    on average. runner_up: the arm most likely to be the best of the others, or None. tied: arms that cannot be told
    apart from it (at least 5 % likely to be better). text: all that in plain words.
    """

    arm: int
    name: str
    mean: float
    interval: tuple[float, float]
    chance: Estimate
    margin: float
    expected_loss: Estimate
    runner_up: str | None
    tied: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        return self.text


def recommended(posterior: Any, counts: Array, sums: Array, margin: float) -> Recommendation:
    """counts, sums: of all rewards that the posterior has seen, (K,)."""
    names, arm = posterior.names, int(posterior.best)
    best, loss = posterior.prob_best(), posterior.expected_regret()
    chance = Estimate(*(float(np.asarray(part)[arm]) for part in (best.value, best.stderr)))
    if margin > 0 and len(names) > 1:
        chance = _within(posterior, arm, margin)
    expected = Estimate(*(float(np.asarray(part)[arm]) for part in (loss.value, loss.stderr)))
    others = [k for k in range(len(names)) if k != arm]
    rival = max(others, key=lambda k: (float(np.asarray(best.value)[k]), -k)) if others else None
    better = _better(posterior, arm)
    tied = [k for k in others if better[k] >= _SAME]
    tied.sort(key=lambda k: -float(np.asarray(best.value)[k]))
    low, high = (float(bound[arm]) for bound in intervals(posterior))
    mean = float(posterior.mean[arm])
    text = _words(posterior, arm, chance, expected, margin, rival, tied, counts, sums, (low, high))
    return Recommendation(
        arm,
        names[arm],
        mean,
        (low, high),
        chance,
        margin,
        expected,
        None if rival is None else names[rival],
        tuple(names[k] for k in tied),
        text,
    )


def chance_wrong(posterior: Any) -> float:
    """That the arm of the best posterior mean is not the best one."""
    return 1.0 - float(np.asarray(posterior.prob_best().value)[int(posterior.best)])


def intervals(posterior: Any) -> tuple[Array, Array]:
    """The 90 % interval of each arm's value, (K,) each."""
    if isinstance(posterior, Gaussian):
        reach = 1.6448536269514722 * np.sqrt(posterior.var)
        return posterior.mean - reach, posterior.mean + reach
    if isinstance(posterior, Bernoulli):
        from scipy.special import betaincinv

        return tuple(betaincinv(posterior.alpha, posterior.beta, q) for q in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))  # type: ignore[return-value]
    drawn = _draws(posterior)
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return low, high


def _draws(posterior: Any) -> Array:
    number = max(500, min(_DRAWS, 20_000_000 // posterior.num_arms))
    return np.asarray(posterior.sample(number, 0))


def _within(posterior: Any, arm: int, margin: float) -> Estimate:
    """The chance that the arm is at most `margin` short of the best."""
    if isinstance(posterior, LearnedGaussian | LearnedBernoulli):
        drawn = posterior.arms.sign * _draws(posterior)
        near = drawn.max(axis=1) - drawn[:, arm] <= margin
        return Estimate(float(near.mean()), float(max(near.std(), 1 / len(near)) / np.sqrt(len(near))))
    error = evaluate(posterior, np.zeros(posterior.num_arms), margin=margin).error
    return Estimate(1 - float(error), float(error.stderr))


def _better(posterior: Any, arm: int) -> Array:
    """P(each arm is better than that one), by the Gaussian view, (K,); a half where nothing tells them apart."""
    from scipy.special import ndtr

    view = posterior.gaussian()
    gap = view.arms.sign * (view.mean - view.mean[arm])
    spread = np.sqrt(view.covariance.diff_var(np.arange(len(gap)), arm))
    certain = np.where(gap > 0, np.inf, np.where(gap < 0, -np.inf, 0.0))
    return np.asarray(ndtr(np.divide(gap, spread, out=certain, where=spread > 0)))


def _words(
    posterior: Any,
    arm: int,
    chance: Estimate,
    loss: Estimate,
    margin: float,
    rival: int | None,
    tied: list[int],
    counts: Array,
    sums: Array,
    interval: tuple[float, float],
) -> str:
    names, sign = posterior.names, posterior.arms.sign
    way = "largest" if sign > 0 else "smallest"
    if rival is None:
        return f"Choose {names[arm]!r}: there is no other."
    if not counts.any():
        alone = f"choose {names[arm]!r}, best with a chance of {_percent(float(chance))}"
        return f"Nothing has been evaluated yet; by the prior alone, {alone}."
    near = "best" if margin == 0 else f"within {margin:g} of the best"
    low, high, mean = (legible(each, (interval[1] - interval[0]) / 2) for each in (*interval, posterior.mean[arm]))
    said = [
        f"Choose {names[arm]!r}: its mean, {mean} ({low} to {high}), is the {way} that the data and the prior support, "
        f"and it is {near} with a chance of {_percent(float(chance))}.",
        f"Averaged over all that may be true, picking it costs {float(loss):.2g} against the best.",
    ]
    if tied:
        some = ", ".join(repr(names[k]) for k in tied[:3]) + (f" and {len(tied) - 3} more" if len(tied) > 3 else "")
        said.append(f"It cannot be told apart yet from {some}.")
    else:
        said.append(f"The runner-up, {names[rival]!r}, is clearly behind.")
    raw = np.divide(sums, counts, out=np.full(len(counts), -np.inf * sign), where=counts > 0)
    ahead = int(np.argmax(sign * raw))
    if counts[arm] == 0:
        said.append(f"{names[arm]!r} itself was never evaluated: the prior speaks for it.")
    elif ahead != arm and raw[ahead] != raw[arm]:
        higher = "higher" if sign > 0 else "lower"
        number = f"{counts[ahead]:,.0f} evaluation{'s' if counts[ahead] != 1 else ''}"
        spread = min(abs(raw[ahead] - raw[arm]), float(np.sqrt(posterior.var[ahead])))
        more, less, its = (legible(each, spread) for each in (raw[ahead], raw[arm], posterior.mean[ahead]))
        said.append(
            f"{names[ahead]!r} has a {higher} raw mean ({more} against {less}), but from {number}; with what is known "
            f"of all arms, its own is put at {its}: extreme averages of few evaluations are mostly luck."
        )
    return " ".join(said)


def _percent(chance: float) -> str:
    """A chance that is not quite certain is not called so."""
    if 0 < chance < 0.005:
        return "less than 1%"
    if 0.995 < chance < 1:
        return "more than 99%"
    return f"{chance:.0%}"
