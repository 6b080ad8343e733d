"""Who holds a trial: which process of which machine, so that the next one sees whether it is still there."""

import functools
import os
import socket

__all__ = ["is_dead", "this_process"]

_SAME = 5.0  # seconds by which two readings of when a process started may differ


def this_process() -> str:
    """host:number@start: numbers of processes come again, after a power loss above all."""
    return _named(os.getpid())


@functools.lru_cache(maxsize=1)
def _named(number: int) -> str:
    import psutil

    return f"{socket.gethostname()}:{number}@{psutil.Process(number).create_time():.0f}"


def is_dead(worker: str) -> bool:
    """Whether this is a process of this machine that is no more; False of any other name."""
    import psutil

    host, _, process = worker.rpartition(":")
    number, _, started = process.partition("@")
    if host != socket.gethostname() or not (number.isdigit() and started.isdigit()):
        return False
    try:
        return abs(psutil.Process(int(number)).create_time() - int(started)) > _SAME
    except (psutil.NoSuchProcess, OverflowError):
        return True
    except psutil.Error:
        return False
