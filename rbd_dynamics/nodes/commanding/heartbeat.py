# SPDX-License-Identifier: Apache-2.0
"""Whether this process itself stood still: stopped, suspended or starved, while messages waited in its queues."""

from __future__ import annotations

import time

PERIOD = 0.02  # s: how often `beat` is to be called
STALL = 100_000_000  # ns without a beat: longer than a busy machine delays one


class Heartbeat:
    """Beats as long as the process runs. Times are of the steady clock, ns."""

    def __init__(self) -> None:
        self._last = self._stalled = time.monotonic_ns()

    def beat(self) -> None:
        """The process runs: to be called every PERIOD."""
        now = time.monotonic_ns()
        if now - self._last > STALL:
            self._stalled = now
        self._last = now

    def since_stall(self, now: int) -> int:
        """How long ago it ran again after standing still, or began to beat; zero: it only just does."""
        if now - self._last > STALL:
            self.beat()
        return now - self._stalled
