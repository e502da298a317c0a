# SPDX-License-Identifier: Apache-2.0
"""Ends of what a run has started: with it, whatever ends it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator

LOOKS = 0.5  # s between two looks at whether the parent is still there
PARENT_DEATH = 1  # PR_SET_PDEATHSIG, of Linux


@contextlib.contextmanager
def deaf_children() -> Iterator[None]:
    """Processes that are started inside never hear a SIGINT of the terminal: whoever started them ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_with(parent: int) -> None:
    """Let this process end when its parent does, however that ends: at once on Linux, else within half a second."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None, use_errno=True).prctl(PARENT_DEATH, signal.SIGKILL)

    def look() -> None:
        while os.getppid() == parent:
            threading.Event().wait(LOOKS)
        os._exit(1)

    if os.getppid() != parent:
        os._exit(1)
    threading.Thread(target=look, daemon=True).start()


def within(seconds: float, action: Callable[[], object]) -> None:
    """Do it, but wait no longer than that: what has gone away may never answer."""

    def quietly() -> None:
        with contextlib.suppress(Exception):
            action()

    thread = threading.Thread(target=quietly, daemon=True)
    thread.start()
    thread.join(seconds)
