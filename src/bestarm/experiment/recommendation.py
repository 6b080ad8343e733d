"""Which arm to pick, how sure that is, and why, in numbers and in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bestarm.checks.conflict import conflict, noise_conflict
from bestarm.error.evaluate import evaluate
from bestarm.estimate import Estimate, legible
from bestarm.learning.from_nothing import LearnedBernoulli, LearnedGaussian
from bestarm.models.bernoulli import Bernoulli
from bestarm.models.gaussian import Gaussian
from bestarm.validation import Array

__all__ = ["Evidence", "Recommendation", "chance_wrong", "intervals", "recommended"]

LEVEL = 0.9  # of intervals
_DRAWS = 20_000
_SAME = 0.05  # a chance to be better from which on another arm cannot be told apart
_DIGITS = 1e-10  # of sums of squares, below which nothing is left of a scatter
_DOUBTFUL = 1e-3  # a p-value from which on the prior is doubted


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
    doubts: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, eq=False)
class Evidence:
    """prior: the model before it. counts, sums, squares: of all rewards, history included; failed: trials, (K,)."""

    prior: Any
    counts: Array
    sums: Array
    squares: Array
    failed: Array

    def doubts(self) -> tuple[str, ...]:
        """Whether the data contradict a prior that was given: sentences. Choices that depend on what was seen do not
        make false alarms more frequent (tests/experiment/test_recommendation.py).
        """
        said: list[str] = []
        if isinstance(self.prior, Gaussian):
            p, times = noise_conflict(self.prior, self.counts, self.sums, self.squares)
            if p < _DOUBTFUL:
                said.append(f"Careful: one evaluation scatters {times:.1f} times as much as the model's noise says.")
        if isinstance(self.prior, Gaussian | Bernoulli):
            found = conflict(self.prior, self.counts, self.sums)
            if found.p < _DOUBTFUL:
                said.append(f"Careful: {found.sentence}.")
        total = float(self.counts.sum())
        if self.prior.moments == 2 and total > 1:
            scatter = float(self.squares.sum()) - float(self.sums.sum()) ** 2 / total
            if scatter < _DIGITS * float(self.squares.sum()):
                said.append(
                    "Careful: values differ by next to nothing, compared with how far they are from 0, and digits are "
                    "lost there; subtract a constant from all of them."
                )
        return tuple(said)


def recommended(posterior: Any, evidence: Evidence, margin: float) -> Recommendation:
    """What to pick, given the posterior and what it came from."""
    names, arm = posterior.names, int(posterior.best)
    best, loss = posterior.prob_best(), posterior.expected_regret()
    chance = Estimate(*(float(np.asarray(part)[arm]) for part in (best.value, best.stderr)))
    if margin > 0 and len(names) > 1:
        chance = _within(posterior, arm, margin)
    expected = Estimate(*(float(np.asarray(part)[arm]) for part in (loss.value, loss.stderr)))
    others = [k for k in range(len(names)) if k != arm]
    rival = max(others, key=lambda k: (float(np.asarray(best.value)[k]), -k)) if others else None
    better = _better(posterior, arm, margin)
    tied = [k for k in others if better[k] >= _SAME]
    tied.sort(key=lambda k: -float(np.asarray(best.value)[k]))
    low, high = (float(bound[arm]) for bound in intervals(posterior))
    doubts = evidence.doubts()
    said = [
        *_words(posterior, arm, chance, expected, margin, rival, tied, evidence, (low, high)),
        *doubts,
    ]
    return Recommendation(
        arm,
        names[arm],
        float(posterior.mean[arm]),
        (low, high),
        chance,
        margin,
        expected,
        None if rival is None else names[rival],
        tuple(names[k] for k in tied),
        " ".join(said),
        doubts,
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


def _better(posterior: Any, arm: int, margin: float) -> Array:
    """P(each arm is better than that one by more than the margin), by the Gaussian view, (K,)."""
    from scipy.special import ndtr

    view = posterior.gaussian()
    gap = view.arms.sign * (view.mean - view.mean[arm]) - margin
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
    evidence: Evidence,
    interval: tuple[float, float],
) -> list[str]:
    """The sentences of a recommendation, but for doubts."""
    names, counts = posterior.names, evidence.counts
    way = "largest" if posterior.arms.sign > 0 else "smallest"
    if rival is None:
        return [f"Choose {names[arm]!r}: there is no other."]
    near = "best" if margin == 0 else f"within {margin:g} of the best"
    if not counts.any():
        alone = f"choose {names[arm]!r}, {near} with a chance of {_percent(float(chance))}"
        return [f"Nothing has been evaluated yet; by the prior alone, {alone}.", *_failures(names, evidence)]
    spread = (interval[1] - interval[0]) / 2
    low, high, mean = (legible(each, spread) for each in (*interval, posterior.mean[arm]))
    said = [
        f"Choose {names[arm]!r}: its mean, {mean} ({low} to {high}), is the {way} that the data and the prior support, "
        f"and it is {near} with a chance of {_percent(float(chance))}."
    ]
    costs = f"{float(loss):.2g}" if float(loss) > spread / 1000 else "next to nothing"
    said.append(f"Averaged over all that may be true, picking it costs {costs} against the best.")
    if tied:
        said.append(f"It cannot be told apart from {_listed(names, tied)}.")
    elif margin == 0 and float(chance) > 0.75:
        said.append(f"The runner-up, {names[rival]!r}, is clearly behind.")
    elif margin == 0:
        said.append("None of the others is likely to be better, but one of them may well be: there are many.")
    if counts[arm] == 0:
        said.append(f"{names[arm]!r} itself was never evaluated: the prior speaks for it.")
    elif counts[arm] == 1:
        said.append("That rests on a single evaluation of it.")
    return [*said, *_shrinkage(posterior, arm, evidence), *_failures(names, evidence)]


def _shrinkage(posterior: Any, arm: int, evidence: Evidence) -> list[str]:
    """Why an arm with a better average is not the one."""
    names, sign, counts = posterior.names, posterior.arms.sign, evidence.counts
    raw = np.divide(evidence.sums, counts, out=np.full(len(counts), -np.inf * sign), where=counts > 0)
    ahead = int(np.argmax(sign * raw))
    if counts[arm] == 0 or ahead == arm or raw[ahead] == raw[arm]:
        return []
    spread = min(abs(raw[ahead] - raw[arm]), float(np.sqrt(posterior.var[ahead])))
    more, less, its = (legible(each, spread) for each in (raw[ahead], raw[arm], posterior.mean[ahead]))
    side = "higher" if sign > 0 else "lower"
    number = f"{counts[ahead]:,.0f} evaluation{'s' if counts[ahead] != 1 else ''} against {counts[arm]:,.0f}"
    few = ": extreme averages of few evaluations are mostly luck" if 2 * counts[ahead] <= counts[arm] else ""
    return [
        f"{names[ahead]!r} has a {side} raw mean ({more} against {less}, from {number}), but with what is known of all "
        f"arms, its own is put at {its}{few}."
    ]


def _failures(names: tuple[str, ...], evidence: Evidence) -> list[str]:
    """Arms of which nobody knows anything, since all their evaluations failed."""
    silent = np.flatnonzero((evidence.failed > 0) & (evidence.counts == 0)).tolist()
    if not silent:
        return []
    number = evidence.failed[silent].sum()
    tries = f"{number:,.0f} evaluation{'s' if number > 1 else ''} of {'it' if len(silent) == 1 else 'them'}"
    return [f"Of {_listed(names, silent)} nothing is known but the prior: {tries}, all failed."]


def _listed(names: tuple[str, ...], which: Sequence[int]) -> str:
    """The first three by name."""
    rest = f" and {len(which) - 3} more" if len(which) > 3 else ""
    return ", ".join(repr(names[k]) for k in which[:3]) + rest


def _percent(chance: float) -> str:
    """A chance that is not quite certain is not called so."""
    if 0 < chance < 0.005:
        return "less than 1%"
    if 0.995 < chance < 1:
        return "more than 99%"
    return f"{chance:.0%}"
