"""Evaluate trials one after the other, or several at once, until there is nothing more to do."""

import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from bestarm.errors import BestarmError, InputError, OverBudget, RewardError
from bestarm.experiment.recommendation import chance_wrong
from bestarm.validation import shown

if TYPE_CHECKING:
    from bestarm.experiment.experiment import Experiment, Trial

__all__ = ["TooManyFailures", "run"]

_BEAT = 0.5  # seconds between two looks at evaluations that others hold


class TooManyFailures(BestarmError):
    """So many evaluations failed in a row that more of them would only waste the budget."""


def run(
    experiment: "Experiment",
    function: Callable[["Trial"], Any],
    jobs: int = 1,
    stop_at: float | None = None,
    retries: int = 0,
    catch: type[BaseException] | tuple[type[BaseException], ...] = (),
    max_failures: int = 10,
    on_change: Callable[["Trial", Any], None] | None = None,
) -> None:
    """As `Experiment.run` says; on_change: called with a trial and its value, or the error it failed with."""
    _check(function, jobs, stop_at, retries, max_failures)
    caught = catch if isinstance(catch, tuple) else (catch,)
    if not all(isinstance(each, type) and issubclass(each, BaseException) for each in caught):
        raise InputError(f"catch is {shown(catch)}; expected an exception class, or a tuple of them")
    experiment.release_dead()
    running: dict[Future[Any], Trial] = {}
    failures = 0
    renewed = time.monotonic()
    with ThreadPoolExecutor(jobs) as pool:
        try:
            stopping = _sure(experiment, stop_at)
            while True:
                while not stopping and len(running) < jobs and (asked := experiment.ask(jobs - len(running))):
                    for trial in asked:
                        running[pool.submit(_tried, function, trial, retries)] = trial
                if not running:
                    if stopping or not _others_matter(experiment):
                        return
                    time.sleep(_BEAT)
                    continue
                done, _ = wait(running, timeout=_BEAT, return_when=FIRST_COMPLETED)
                for future in done:
                    error = _told_or_why_not(experiment, running[future], future)
                    if error is None:
                        failures = 0
                    elif isinstance(error, caught):
                        experiment.fail(running[future], message=str(error))
                        failures += 1
                    else:
                        raise error
                    trial = running.pop(future)
                    if on_change is not None:
                        on_change(trial, error or getattr(future.result(), "value", future.result()))
                    if failures >= max_failures:
                        raise TooManyFailures(f"{failures} evaluations in a row failed, the last one: {error}")
                if done:
                    stopping = stopping or _sure(experiment, stop_at)
                if running and time.monotonic() - renewed > experiment.settings.lease / 3:
                    renewed = time.monotonic()
                    experiment.renew(list(running.values()))
        except BaseException:
            getattr(function, "stop", lambda: None)()  # a program that runs is ended
            begun = [future for future in running if not future.cancel()]
            wait(begun)  # threads cannot be ended, but what they still find out can be kept
            for future in begun:
                with suppress(BestarmError):
                    if _told_or_why_not(experiment, running[future], future) is None:
                        del running[future]
            if running:
                experiment.release(list(running.values()))
            raise


def _told_or_why_not(experiment: "Experiment", trial: "Trial", future: Future[Any]) -> BaseException | None:
    """Tell what an evaluation gave; the error where it gave none, or what cannot be one."""
    error = future.exception()
    if error is None:
        try:
            _tell(experiment, trial, future.result())
        except RewardError as refused:
            return refused
    return error


def _sure(experiment: "Experiment", stop_at: float | None) -> bool:
    """Whether the chance of being wrong is below stop_at; noted in the log."""
    if stop_at is None or (chance := chance_wrong(experiment.posterior())) >= stop_at:
        return False
    experiment._note_stop(stop_at, chance)
    return True


def _others_matter(experiment: "Experiment") -> bool:
    """Whether what others hold can lead to more evaluations: where budget is left that the policy waits to plan."""
    status = experiment.status()
    settings = experiment.settings
    return status.state == "open" or (
        status.state == "waiting" and status.left + settings.slack >= float(settings.costs.min())
    )


def _tried(function: Callable[["Trial"], Any], trial: "Trial", retries: int) -> Any:
    for left in range(retries, -1, -1):
        try:
            return function(trial)
        except Exception:
            if not left:
                raise
    raise AssertionError


def _tell(experiment: "Experiment", trial: "Trial", result: Any) -> None:
    output = getattr(result, "output", None)
    value = getattr(result, "value", result)
    if value is None:
        raise InputError(f"function returned None for {trial.name!r}; expected a number")
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim):
        try:
            experiment.tell(trial, values=value, output=output)
        except OverBudget as error:  # they have been made: what there is no money for is evidence all the same
            experiment.tell(trial, values=value[: error.room], output=output)
            experiment.add(trial.arm, values=value[error.room :])
    else:
        experiment.tell(trial, value, output=output)


def _check(function: Any, jobs: Any, stop_at: Any, retries: Any, max_failures: Any) -> None:
    if not callable(function):
        raise InputError(f"function is {shown(function)}; expected something that takes a trial and gives its value")
    for name, value, least in (("jobs", jobs, 1), ("retries", retries, 0), ("max_failures", max_failures, 1)):
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= 10_000:
            raise InputError(f"{name} is {shown(value)}; expected a whole number from {least} to 10,000")
    if stop_at is not None and (not isinstance(stop_at, int | float) or not 0 < stop_at < 1):
        raise InputError(f"stop_at is {shown(stop_at)}; expected a chance of being wrong, between 0 and 1")
