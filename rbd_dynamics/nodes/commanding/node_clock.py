# SPDX-License-Identifier: Apache-2.0
"""What time it is for a node that commands: asked in each cycle, so by the shortest way."""

from __future__ import annotations

import time

from rclpy.node import Node

from rbd_dynamics.nodes.managed.diagnostics import Status
from rbd_dynamics.nodes.managed.part import Part

#: s of the steady clock, after which a simulated clock counts as standing still
STANDS_STILL = 2.0


class NodeClock(Part):
    """The node's clock.

    Attributes:
        simulated: parameter use_sim_time.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self.simulated = False
        self._lapse = self._steady = time.monotonic()
        self._last = 0  # ns, of the simulated clock
        self._moved = (0, self._steady)  # ns, of the simulated clock when it was last seen to go on; s, steady

    def activated(self) -> None:
        self.simulated = bool(self._node.get_parameter("use_sim_time").value)

    def now(self) -> int:
        """ns."""
        return self._node.get_clock().now().nanoseconds if self.simulated else time.time_ns()

    @property
    def simulated_now(self) -> int | None:
        """ns; None where the clock is not simulated."""
        return self.now() if self.simulated else None

    def lapse(self) -> float:
        """A time (s) that never jumps: it goes as the steady clock, and as the simulated one where that is slower.

        What shall come ten times in a simulated second may come once in a second of a slow simulation.
        """
        steady, before = time.monotonic(), self._steady
        passed, self._steady = steady - before, steady
        if self.simulated:
            now = self.now()
            passed, self._last = min(passed, max(1e-9 * (now - self._last), 0.0)), now
        self._lapse += passed
        return self._lapse

    def report(self, status: Status) -> None:
        if not self.simulated:
            return
        now, steady = self.now(), time.monotonic()
        if now != self._moved[0]:
            self._moved = now, steady
        elif steady - self._moved[1] > STANDS_STILL:
            still = f"for {steady - self._moved[1]:.3g} s" if now else "at zero: there is no /clock yet"
            status.warn(f"simulated time stands still {still}; what stops is noticed only when it goes on")
