"""Who holds a trial: which process of which machine, so that the next one sees whether it is still there."""

import functools
import os
import socket
import uuid
from pathlib import Path

__all__ = ["is_dead", "this_process"]


def this_process() -> str:
    """machine:process@start, where start tells processes apart that have the same number after each other."""
    return _named(os.getpid())


@functools.lru_cache(maxsize=1)
def _named(number: int) -> str:
    return f"{_machine()}:{number}@{_began(number)}"


@functools.cache
def _machine() -> str:
    """Name and network address, and on Linux the space of its process numbers: containers have their own."""
    try:
        space = os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:
        space = ""
    node = uuid.getnode()
    address = "" if node >> 40 & 1 else f"{node:x}"  # made up where that bit is set
    return f"{socket.gethostname()[:80]}/{address}/{space}"


def _began(number: int) -> str:
    """When a process began: on Linux which boot and how many ticks after it, whatever clocks are set to; "" of none."""
    import psutil

    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot[:13]}+{Path(f'/proc/{number}/stat').read_text().rpartition(')')[2].split()[19]}"
    except FileNotFoundError:
        try:
            return f"{psutil.Process(number).create_time():.0f}" if not Path("/proc/self").exists() else ""
        except psutil.Error:
            return ""


def is_dead(worker: str) -> bool:
    """Whether this is a process of this machine that is no more; False of any other name."""
    machine, _, process = worker.rpartition(":")
    number, at, began = process.partition("@")
    return machine == _machine() and bool(at) and number.isdigit() and len(number) < 10 and _began(int(number)) != began
