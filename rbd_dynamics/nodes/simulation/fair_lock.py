# SPDX-License-Identifier: Apache-2.0
"""Threads that compute in turns: many that compete for the interpreter would starve the thread that answers."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

SLICE = 0.02  # s that one computes while others wait


class FairLock:
    """One thread computes at a time, the others wait in a queue."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queue: deque[Turn] = deque()

    @contextmanager
    def taken(self) -> Iterator[Turn]:
        """Wait for a turn, and give it back at the end."""
        turn = Turn(self)
        self._wait(turn)
        try:
            yield turn
        finally:
            self._leave()

    def _wait(self, turn: Turn) -> None:
        with self._changed:
            self._queue.append(turn)
            self._changed.wait_for(lambda: self._queue[0] is turn)
        turn.since = time.monotonic()

    def _leave(self) -> None:
        with self._changed:
            self._queue.popleft()
            self._changed.notify_all()

    def pass_on(self, turn: Turn) -> None:
        """Go to the end of the queue, where anybody else is in it."""
        if len(self._queue) > 1:
            self._leave()
            self._wait(turn)


class Turn:
    """What a thread computes in."""

    def __init__(self, lock: FairLock) -> None:
        self._lock, self.since = lock, 0.0

    def offer(self) -> None:
        """Let others compute, when this thread has had its slice; costs little where nobody waits."""
        if time.monotonic() - self.since > SLICE:
            self._lock.pass_on(self)
