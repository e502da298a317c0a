# SPDX-License-Identifier: Apache-2.0
"""Two torque nodes take over a robot from each other without a jump: who commands, and from which effort on.

A node that stands by hears the other's efforts. Asked to take over, it begins with the last of them and marks its own
for a while; the other hears that and commands no more. So somebody commands all the time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from rbd_dynamics.control.safety.effort_continuation import EffortContinuation
from rbd_dynamics.nodes.entity_node import EntityNode
from rbd_dynamics.nodes.messages import COMMANDS, nanoseconds

Array = NDArray[np.float64]
MARK = "took over"  # in header.frame_id of efforts
RECENT = 0.1  # s: an effort that is older does not act any more
WAITS = 0.5  # s: with a state that comes later after the other's last effort, nothing is taken over
GRACE = 0.5  # s after taking over, in which the other may still be heard


class HandOver:
    """Of one node.

    Parameters:
        node: whose topics and service these are.
        may: called when somebody asks to take over; raises ValueError with the reason why not.
        yields: called when another has taken over.

    Attributes:
        standing_by: the node answers no state.
        taking: with the next state it begins.
    """

    def __init__(self, node: EntityNode[Any], may: Callable[[], None], yields: Callable[[], None]) -> None:
        self._node, self._may, self._yields = node, may, yields
        self.standing_by = self.taking = False
        self.continuation = EffortContinuation(0)
        self._names: list[str] = []
        self._last: Array | None = None  # efforts of the other, in our order
        self._heard = self._taken = -GRACE  # monotonic, s

    def open(self) -> None:
        """Topic and service."""
        self._node.subscribe(JointState, "~/continued_effort", self._on_effort, COMMANDS, urgent=True)
        self._node.serve(Trigger, "~/hand_over", self._on_request)

    def begin(self, names: list[str], standing_by: bool) -> None:
        """On activation, or for another robot: the joints of the efforts."""
        self._names, self.standing_by, self.taking = list(names), standing_by, False
        self.continuation, self._last = EffortContinuation(len(names)), None
        self._taken = -GRACE

    @property
    def mark(self) -> str:
        """Of the efforts that are published now."""
        return MARK if time.monotonic() - self._taken < GRACE else ""

    def last(self) -> Array:
        """The other's last efforts, where the node is about to take over. Raises ValueError: it goes on standing by."""
        self.taking = False
        if self._last is None or time.monotonic() - self._heard > WAITS:
            raise ValueError("it cannot take over: the other's efforts have stopped meanwhile")
        return self._last

    def take(self) -> None:
        """The node commands from now on."""
        self.standing_by, self._taken = False, time.monotonic()

    def _on_effort(self, message: JointState) -> None:
        numbers = dict(zip(message.name, message.effort))
        if len(message.effort) != len(message.name) or any(name not in numbers for name in self._names):
            self._node.refuse("continued effort ignored: it lacks joints of this robot")
            return
        efforts = np.array([numbers[name] for name in self._names])
        if not np.isfinite(efforts).all() or not nanoseconds(message.header.stamp):
            self._node.refuse("continued effort ignored: it is not finite, or has no stamp")
            return
        self._last, self._heard = efforts, time.monotonic()
        if self.standing_by:
            return
        ours = self._heard - self._taken < GRACE
        if message.header.frame_id == MARK and not ours:
            self.standing_by = True
            self._node.get_logger().info("another node has taken over: standing by")
            self._yields()
        elif not ours and self._taken > 0.0:
            self._node.refuse("another node commands as well: it does not hear ours (~/continued_effort)")

    def _on_request(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            if not self.standing_by:
                raise ValueError("this node commands already")
            if self._last is None or time.monotonic() - self._heard > RECENT:
                raise ValueError("no efforts arrive on ~/continued_effort: there is nobody to take over from")
            self._may()
            self.taking = True
            response.success, response.message = True, "takes over with the next joint state"
        except ValueError as error:
            response.success, response.message = False, f"cannot take over: {error}"
        return response
