# SPDX-License-Identifier: Apache-2.0
"""Ends of a run: by a signal, once, and of what it has started with it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator

SIGNALS = (signal.SIGINT, signal.SIGTERM)
LOOKS = 0.5  # s between two looks at whether the parent is still there
PARENT_DEATH = 1  # PR_SET_PDEATHSIG, of Linux


@contextlib.contextmanager
def one_interrupt() -> Iterator[None]:
    """Inside, the first SIGINT or SIGTERM is a KeyboardInterrupt, and all further ones are nothing: it ends already.

    In the main thread; elsewhere signals do not arrive.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupted = False

    def end(*_: object) -> None:
        nonlocal interrupted
        interrupted = True
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, end) for number in SIGNALS}
    try:
        yield
    finally:
        if not interrupted:
            for number, handler in before.items():
                signal.signal(number, handler)


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
