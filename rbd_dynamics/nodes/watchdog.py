# SPDX-License-Identifier: Apache-2.0
"""For how long nothing has been done that should be done all the time. No ROS: whoever uses it says what time it is."""

from __future__ import annotations


class Watchdog:
    """Times are in s of a clock that never jumps, those of a simulated clock in ns.

    Attributes:
        done: when it was last done.
        woke: when the process last went on after it had stood still: what waited in its queues meanwhile is old.
    """

    def __init__(self) -> None:
        self.done = self.woke = self._awake = 0.0
        self._simulated = 0

    def start(self, time: float) -> None:
        """Standing still counts from here."""
        self._awake = time

    def stood_still(self, time: float, timeout: float) -> bool:
        """A sign of life; True where there was none for longer than the time-out: the process itself was stopped."""
        stood = time - self._awake > timeout
        self._awake = time
        if stood:
            self.woke = time
        return stood

    def feed(self, time: float, simulated: int = 0) -> None:
        """It was done now."""
        self.done, self._simulated = time, simulated

    def barks(self, time: float, timeout: float, simulated: int | None = None) -> bool:
        """Was it done too long ago? With a simulated clock by both: where that stands still, so does the robot."""
        if time - self.done <= timeout:
            return False
        return simulated is None or abs(simulated - self._simulated) > 1e9 * timeout
