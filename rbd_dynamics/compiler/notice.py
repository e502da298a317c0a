# SPDX-License-Identifier: Apache-2.0
"""A word to users who wait for a compiler: once in a process, with how long it will take.

By logging, as a warning of the logger "rbd_dynamics", which shows in a terminal and in a notebook without any setting:
nothing is wrong, so it is no Python warning that somebody turns into an error. Who tells users of progress otherwise,
as the nodes do, turns it off.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator

LONG = 1.0  # s
PER_OPERATION = 6.0e-5  # s, on a machine of 2020 to 2025; half of it where much of a long program shares its code

_log = logging.getLogger("rbd_dynamics")
_here = threading.local()
_said: set[str] = set()


def estimate(operations: int) -> float:
    """Seconds that machine code for so many operations takes to make, of one sample or of batches; within a factor of
    about two.
    """
    return operations * PER_OPERATION


def compiling(name: str, operations: int) -> None:
    """Say that a kernel is being compiled, where that takes long and nothing was said before."""
    seconds = estimate(operations)
    if seconds < LONG or getattr(_here, "silent", False) or _said:
        return
    _said.add(name)
    _log.warning(
        "compiling %s: about %s s, once; it is kept for later, also for other processes. Other methods may take as "
        "long when they are first called; `rbd_dynamics compile ROBOT` or Robot.compile do it ahead of time",
        name,
        f"{seconds:.0f}",
    )


def turn_off() -> None:
    """Say nothing from now on, in this process."""
    _said.add("")


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """Say nothing in this thread: users see what is done in another way."""
    before = getattr(_here, "silent", False)
    _here.silent = True
    try:
        yield
    finally:
        _here.silent = before
