# SPDX-License-Identifier: Apache-2.0
"""Python's collector of cyclic garbage, and work that would make it run in vain: what makes much and drops nothing."""

from __future__ import annotations

import contextlib
import gc
import os
import threading
from collections.abc import Iterator

_paused: set[int] = set()  # threads for which the collector rests


@contextlib.contextmanager
def without_collector() -> Iterator[None]:
    """Let the collector rest, in all threads."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    _paused.add(threading.get_ident())
    try:
        yield
    finally:
        _paused.discard(threading.get_ident())
        gc.enable()


@contextlib.contextmanager
def with_collector() -> Iterator[None]:
    """Let it run where `without_collector` has it rest: for what waits for others."""
    if threading.get_ident() not in _paused:
        yield
        return
    _paused.discard(threading.get_ident())
    gc.enable()
    try:
        yield
    finally:
        gc.disable()
        _paused.add(threading.get_ident())


def _after_fork() -> None:
    """A child of another thread does not come back to enable it."""
    if _paused:
        _paused.clear()
        gc.enable()


os.register_at_fork(after_in_child=_after_fork)
