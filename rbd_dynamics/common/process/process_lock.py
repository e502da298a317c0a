# SPDX-License-Identifier: Apache-2.0
"""Locks in a process that forks: a child has only the thread that forked, so nobody there would release the others'."""

from __future__ import annotations

import os
import threading
from types import TracebackType


class ProcessLock:
    """A lock that is free in a forked child, whoever held it. For what is whole at any time, as one assignment is."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()


class QuietLock:
    """A lock that a fork waits for, so that a child finds what it guards at rest, as the inside of a library.

    The thread that holds it may take it again, and may fork.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        os.register_at_fork(
            before=self._lock.acquire, after_in_parent=self._lock.release, after_in_child=self._lock.release
        )

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()
