# SPDX-License-Identifier: Apache-2.0
"""Measurements that wait for a quiet machine, are repeated where it was not, and in the end say so."""

from __future__ import annotations

import contextlib
import glob
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from benchmarks.measuring.timing import processor_time

QUIET = 0.1  # of one processor: what others may use
LOOK = 0.5  # s
T = TypeVar("T")


class NotMeasuredError(Exception):
    """This time it did not work; its text says why."""


class Guard:
    """Runs measurements.

    Parameters:
        patience: how long to wait for a quiet machine, in all, s.
        attempts: how often each of them is tried at most.
    """

    def __init__(self, *, patience: float = 600.0, attempts: int = 3) -> None:
        self._patience, self._attempts = patience, attempts

    @classmethod
    def of(cls, *, quick: bool) -> Guard:
        return cls(patience=0.0, attempts=1) if quick else cls()

    def run(self, title: str, measure: Callable[[], T]) -> tuple[T, str]:
        """What the quietest attempt gave, and what may have disturbed it, or "".

        Raises NotMeasuredError if each attempt did.
        """
        print(title, end=" ", file=sys.stderr, flush=True)
        found: list[tuple[float, T]] = []
        problem = NotMeasuredError()
        for _ in range(self._attempts):
            self.wait()
            load = Load()
            try:
                result = measure()
            except NotMeasuredError as error:
                problem = error
                print(f"({error})", end=" ", file=sys.stderr, flush=True)
                continue
            found.append((load.others(), result))
            if found[-1][0] <= QUIET:
                break
            print(f"(others used {found[-1][0]:.2f} of a processor)", end=" ", file=sys.stderr, flush=True)
        print(file=sys.stderr)
        if not found:
            raise problem
        others, result = min(found, key=lambda pair: pair[0])
        return result, "" if others <= QUIET else f"measured while others used {others:.1f} of a processor"

    def wait(self) -> None:
        """Until the machine is quiet, or patience is over."""
        while self._patience > 0.0:
            load = Load()
            time.sleep(LOOK)
            if load.others() <= QUIET:
                return
            self._patience -= LOOK


class Load:
    """What others use of the processors from now on: neither this process nor those that it has started."""

    def __init__(self) -> None:
        self._begin, self._busy, self._own = time.monotonic(), busy_time(), own_time()

    def others(self) -> float:
        """In processors, e.g. 1.5 of them; 0 where the operating system does not tell."""
        used = (busy_time() - self._busy) - (own_time() - self._own)
        return max(0.0, used / (time.monotonic() - self._begin))


def busy_time() -> float:
    """Of all processors since the start of the machine, s, with what its host gave to others."""
    try:
        first = Path("/proc/stat").read_text().partition("\n")[0]
    except OSError:
        return 0.0
    user, nice, system, _, _, interrupt, soft, stolen = map(int, first.split()[1:9])
    return (user + nice + system + interrupt + soft + stolen) / os.sysconf("SC_CLK_TCK")


def own_time() -> float:
    """Processor time of this process and of all that it has started, s; 0 where the operating system does not tell."""
    return sum(map(_time_of, (os.getpid(), *_started_by(os.getpid()))))


def _started_by(pid: int) -> list[int]:
    """Processes that run, and those that they have started."""
    found: list[int] = []
    for file in glob.glob(f"/proc/{pid}/task/*/children"):
        with contextlib.suppress(OSError):  # a thread that has ended meanwhile
            found += map(int, Path(file).read_text().split())
    return [*found, *(below for child in found for below in _started_by(child))]


def _time_of(pid: int) -> float:
    try:
        return processor_time(pid)
    except OSError:
        return 0.0
