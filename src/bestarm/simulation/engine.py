"""`simulate`: every policy, every budget, the same instances.

Runs come in blocks of a size that depends on the model alone. A block has three streams of random numbers, for
instances, rewards and the policy's own choices, each a child of SeedSequence(seed) named by purpose, block, policy and
budget: so results depend on the seed, not on executor, workers, order, or which other policies are there.
"""

import hashlib
import pickle
import sys
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from bestarm.error.given import error_given_data
from bestarm.errors import InputError
from bestarm.models.belief import checked_single
from bestarm.policies.contract import Policy, Problem, checked_fit
from bestarm.policies.registry import policy as named_policy
from bestarm.simulation.results import Outcome, Results, header, record
from bestarm.simulation.worlds import Evaluations, FromModel, Truth, truth_of
from bestarm.validation import Array, IntArray, broadcast, choice, positive, shown, vector

__all__ = ["fingerprint", "simulate"]

_INSTANCES, _REWARDS, _CHOICES, _JUDGE = range(4)
_ENTRIES = 200_000  # numbers a block's beliefs hold: what a cache holds


@dataclass(frozen=True, eq=False)
class _Job:
    """One block of one policy: at one budget, or at all of them in one pass."""

    model: Any
    truth: Truth
    policy: Policy
    label: str
    budgets: tuple[float, ...]
    costs: Array
    batch: int | None
    seed: int
    block: int
    instances: int
    repeats: int
    conditional: bool

    def __call__(self) -> list[Outcome]:
        """One outcome for each budget."""
        runs = self.instances * self.repeats
        last = self.budgets[-1]
        world = self.truth.worlds(self.instances, self.repeats, self._stream(_INSTANCES))
        rewards, choices, judge = (self._stream(p, last) for p in (_REWARDS, _CHOICES, _JUDGE))
        started = time.perf_counter()
        problem = Problem(self.model, None if self.policy.anytime else last, self.costs, runs, self.batch)
        state = self.policy.start(problem, choices)
        judged = self.truth.model if self.conditional and isinstance(self.truth, FromModel) else None
        judged = judged if judged is not None and judged.exact else None
        moments = max(self.model.moments, 1 if judged is None else judged.moments)
        counts = np.zeros((runs, self.model.num_arms))
        sums = np.zeros((*counts.shape, moments)[: 1 + moments])
        spent: Array | float = 0.0
        rows, outcomes = np.arange(runs), []
        for budget in self.budgets:
            while True:
                room = budget - spent
                if self.batch is not None:
                    room = np.minimum(room, self.batch * self.costs.max())
                if np.max(room) <= 0:
                    break
                state, pulls = self.policy.next(state, room, choices)
                if pulls.none:
                    break
                cost = pulls.spent(self.costs)
                if np.any(cost > np.asarray(room) + 1e-9):
                    raise InputError(
                        f"policy '{self.label}' asked for {np.max(cost):g}; expected at most {np.min(room):g}"
                    )
                got = world.draw(pulls, rewards, moments)
                if pulls.arms is not None:
                    counts[rows, pulls.arms] += 1
                    if moments == 1:
                        sums[rows, pulls.arms] += got
                    else:
                        sums[rows, pulls.arms] += np.stack([got, got**2], axis=-1)
                else:
                    counts += pulls.counts
                    sums += got
                    got = got[..., 0] if moments > self.model.moments else got
                spent = spent + (1.0 if pulls.arms is not None and not problem.priced else cost)
                state = self.policy.observe(state, pulls, got)
            picked = self.policy.recommend(state)
            seconds = time.perf_counter() - started
            outcomes.append(self._judged(world.means, picked, judged, counts, sums, judge, seconds))
        return outcomes

    def _judged(
        self,
        means: Array,
        picked: IntArray,
        judged: Any,
        counts: Array,
        sums: Array,
        rng: np.random.Generator,
        seconds: float,
    ) -> Outcome:
        """judged: the truth, where its exact posterior can say how likely the decision is wrong; else None."""
        upright = self.model.arms.sign * means
        shortfall = upright.max(axis=1) - upright[np.arange(len(picked)), picked]
        wrong = (shortfall > 0).astype(np.float64)
        if judged is None:
            return Outcome(wrong, shortfall, wrong, shortfall, seconds)
        same = bool((counts == counts[0]).all())  # a fixed plan: one covariance for all runs
        total = sums if sums.ndim == 2 or judged.moments == 2 else sums[..., 0]
        posterior = judged._conditioned(counts[0] if same else counts, total)
        return Outcome(*error_given_data(posterior, picked, rng), wrong, shortfall, seconds)

    def _stream(self, purpose: int, budget: float | None = None) -> np.random.Generator:
        key: tuple[int, ...] = (purpose, self.block)
        if budget is not None:
            key = (
                *key,
                zlib.crc32(self.label.encode()),
                0 if self.policy.anytime else zlib.crc32(repr(budget).encode()),
            )
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))


def simulate(
    model: Any,
    policies: str | Policy | Sequence[str | Policy] | Mapping[str, str | Policy],
    budgets: float | ArrayLike,
    runs: int = 10_000,
    seed: int = 0,
    truth: Any = None,
    costs: ArrayLike | None = None,
    executor: Executor | None = None,
    out: str | Path | None = None,
    progress: bool = False,
    repeats: int = 1,
    outcome: Literal["conditional", "realised"] = "conditional",
    batch: int | None = None,
) -> Results:
    """Run every policy at every budget on the same random instances.

    policies
        Names or policy objects; a mapping gives them labels of your own.
    truth
        Where instances come from, if not from `model` itself: another model (then `model` is a wrong prior), a function
        (runs, rng) -> arm means, or `ba.Evaluations`.
    runs, repeats
        Instances, and how often each is run.
    outcome
        "conditional": the exact chance, given the data of a run, that its decision is wrong (Rao-Blackwell), wherever
        truth is a model with exact posteriors; "realised": 0 or 1. Both are kept where both are known.
    executor
        None runs here; any concurrent.futures.Executor gets one job for each block.
    out
        A file that every finished block is appended to, and that a second call with the same settings goes on from.
    batch
        The most evaluations between two observations.

    Ctrl-C returns what is finished; `Results.complete` says whether that is all.
    """
    chosen = _labelled(policies)
    checked_single(model)
    amounts = [float(b) for b in vector(np.atleast_1d(positive(budgets, "budgets")), "budgets")]
    if len(set(amounts)) < len(amounts):
        raise InputError(f"budgets is {shown(budgets)}; expected distinct numbers")
    amounts.sort()
    price = np.ones(model.num_arms) if costs is None else broadcast(positive(costs, "costs"), model.num_arms, "costs")
    if costs is None and any(b != int(b) for b in amounts):
        raise InputError(f"budgets is {shown(budgets)}; expected whole numbers of evaluations (or give costs)")
    for name, value in (("runs", runs), ("repeats", repeats), ("batch", batch)):
        if value is not None and (not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1):
            raise InputError(f"{name} is {shown(value)}; expected a whole number of at least 1")
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0:
        raise InputError(f"seed is {shown(seed)}; expected a whole number of at least 0")
    kind = choice(outcome, "outcome", ("conditional", "realised"))
    if executor is not None and not hasattr(executor, "submit"):
        raise InputError(f"executor is {shown(executor)}; expected None or an executor of concurrent.futures")
    source = truth_of(model, truth)

    size = max(1, _block_size(model) // repeats)
    blocks = -(-runs // size)
    settings = {
        "version": 1,
        "policies": list(chosen),
        "options": {label: repr(each) for label, each in chosen.items()},
        "budgets": amounts,
        "runs": int(runs),
        "repeats": int(repeats),
        "seed": int(seed),
        "blocks": int(blocks),
        "batch": None if batch is None else int(batch),
        "costs": price.tolist(),
        "outcome": kind,
        "model": fingerprint(model, source),
    }
    try:
        results, log = _opened(settings, out)
    except OSError as error:
        raise InputError(f"out is {shown(str(out))}; it cannot be written: {error.strerror or error}") from None
    jobs = []
    for label, each in chosen.items():
        for part in [tuple(amounts)] if each.anytime else [(b,) for b in amounts]:
            fit = Problem(model, None if each.anytime else part[-1], price, 1, batch)
            checked_fit(each, fit)
            prepare = getattr(each, "prepared", None)  # what does not depend on the run is done once
            if all((label, b, block) in results.blocks for b in part for block in range(blocks)):
                continue
            ready = each if prepare is None else prepare(fit)
            for block in range(blocks):
                if all((label, b, block) in results.blocks for b in part):
                    continue
                instances = min(size, runs - block * size)
                common = (model, source, ready, label, part, price, batch, int(seed), block, instances, repeats)
                jobs.append(_Job(*common, conditional=kind == "conditional"))

    done, started = 0, time.perf_counter()
    try:
        for job, outcomes in _finished(jobs, executor):
            for budget, found in zip(job.budgets, outcomes, strict=True):
                key = job.label, budget, job.block
                results.blocks[key] = found
                if log is not None:
                    log.write(record(key, found))
            if log is not None:
                log.flush()
            done += 1
            if progress:
                _tell(done, len(jobs), time.perf_counter() - started)
    except KeyboardInterrupt:
        print(
            f"\nsimulate: interrupted after {done} of {len(jobs)} blocks; what is finished is returned", file=sys.stderr
        )
    finally:
        if log is not None:
            log.close()
        if progress and jobs:
            print(file=sys.stderr)
    return results


def _labelled(policies: Any) -> dict[str, Policy]:
    if isinstance(policies, Mapping):
        pairs = list(policies.items())
    else:
        many = policies if isinstance(policies, Iterable) and not isinstance(policies, str) else [policies]
        pairs = [(each if isinstance(each, str) else getattr(each, "name", shown(each)), each) for each in many]
    if not pairs:
        raise InputError("policies is empty; expected at least one name or policy")
    chosen: dict[str, Policy] = {}
    for label, each in pairs:
        made = named_policy(each) if isinstance(each, str) else each
        if not hasattr(made, "recommend") or isinstance(made, type):
            raise InputError(f"policies has {shown(each)}; expected a name or a policy object")
        if label in chosen:
            raise InputError(f"policies has two called {label!r}; expected distinct names: give a mapping of labels")
        chosen[str(label)] = made
    return chosen


def _block_size(model: Any) -> int:
    """Runs in a block: a power of two from 64 to 2,048, by what a belief about one run holds."""
    rank = model.gaussian().covariance.rank
    return 1 << int(np.clip(np.log2(_ENTRIES / (model.num_arms * (rank + 1))), 6, 11))


def _finished(jobs: list[_Job], executor: Executor | None) -> Iterator[tuple[_Job, list[Outcome]]]:
    """Jobs with their outcomes, as they are done."""
    if executor is None:
        for job in jobs:
            yield job, job()
        return
    if jobs and isinstance(executor, ProcessPoolExecutor):
        try:
            pickle.dumps(jobs[0])
        except (AttributeError, TypeError, pickle.PicklingError) as error:
            raise InputError(
                f"truth or a policy cannot be sent to other processes ({error}); expected a function or class of a "
                "module, or executor=None"
            ) from None
    running: dict[Future[list[Outcome]], _Job] = {executor.submit(job): job for job in jobs}
    try:
        for future in as_completed(running):
            yield running.pop(future), future.result()
    finally:
        for future in running:
            future.cancel()


def _opened(settings: dict[str, Any], out: str | Path | None) -> tuple[Results, Any]:
    """Results so far, and the log to append to."""
    results = Results(settings)
    if out is None:
        return results, None
    if not isinstance(out, str | Path) or not str(out):
        raise InputError(f"out is {shown(out)}; expected the name of a file")
    path = Path(out)
    if path.exists() and path.stat().st_size:
        earlier = Results.load(path)
        different = [key for key in settings if earlier.settings.get(key) != settings[key]]
        if different:
            key = different[0]
            raise InputError(
                f"out is {shown(str(out))}, which holds another simulation ({key} was "
                f"{shown(earlier.settings.get(key))}, is {shown(settings[key])}); expected a new file or equal settings"
            )
        results.blocks.update(earlier.blocks)
        earlier.save(path)  # without a last record cut short
    else:
        path.write_bytes(header(settings))
    return results, path.open("ab")


def fingerprint(model: Any, truth: Truth) -> str:
    """A digest of the numbers of both, to tell other simulations' files."""
    digest = hashlib.sha256()
    for belief in (model, truth.model if isinstance(truth, FromModel) else None):
        if belief is None:
            # of a table its values, of a function what it gives
            drawn = truth.worlds(8, 1, np.random.default_rng(0)).means
            kept = (truth.pools, truth.replace, truth.shared) if isinstance(truth, Evaluations) else drawn.tolist()
            digest.update(f"{type(truth).__name__} {kept!r}".encode())
            continue
        view = belief.gaussian()
        for array in (view.mean, view.covariance.factor, view.covariance.diag, view.noise_var):
            digest.update(np.ascontiguousarray(array).tobytes())
        digest.update(f"{type(belief).__name__} {belief.direction} {getattr(belief, 'pilot', '')}".encode())
    return digest.hexdigest()[:16]


def _tell(done: int, total: int, seconds: float) -> None:
    left = seconds / done * (total - done)
    print(f"\rsimulate: {done}/{total} blocks, about {left:.0f} s left   ", end="", file=sys.stderr, flush=True)
