# SPDX-License-Identifier: Apache-2.0
"""A watchdog of what should be done all the time. No ROS: whoever uses it says what time it is."""

from __future__ import annotations


class Watchdog:
    """Times are in s of a clock that never jumps, those of a simulated clock in ns.

    Attributes:
        done: when it was last done.
    """

    def __init__(self) -> None:
        self.done = 0.0
        self._simulated = 0

    def feed(self, time: float, simulated: int = 0) -> None:
        """It was done now."""
        self.done, self._simulated = time, simulated

    def barks(self, time: float, timeout: float, simulated: int | None = None) -> bool:
        """Was it done too long ago? With a simulated clock by both: where that stands still, so does the robot."""
        if time - self.done <= timeout:
            return False
        return simulated is None or abs(simulated - self._simulated) > 1e9 * timeout
