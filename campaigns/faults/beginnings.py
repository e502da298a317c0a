# SPDX-License-Identifier: Apache-2.0
"""Faults of how control begins: first states, who says them, hands that guide the arm, and whose description counts."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

from campaigns.faults.robot import JOINTS, Motion, description
from campaigns.faults.sender import REFUSED

STALE = 0.2  # s without states, after which the half that is not sent is too old, whatever else waited
HALVES, ZEROS = 60, 150  # messages
EVERY = 0.004  # s


class Beginnings:
    """Part of `Faults`, which has all of these."""

    client: Any
    control: Any
    motion: Motion
    rng: random.Random
    tell: Callable[..., None]
    deactivated: Callable[[], None]
    _begins: Callable[[], float]
    _excused: Callable[..., None]
    _transition: Callable[..., bool]
    _change: Callable[[str, Any], None]
    _publish_description: Callable[[str, str | None], None]

    def half_states(self) -> None:
        """Some joints are measured again after a silence and others are not: no state is whole."""
        from sensor_msgs.msg import JointState

        begin = self._begins()
        self.tell("unsettled")
        self.control[1] = 1.0
        time.sleep(STALE)
        names = self.rng.sample(JOINTS, self.rng.randrange(1, len(JOINTS)))
        for _ in range(HALVES):
            stamp, message = self._stamped(JointState())
            q, v = self.motion.state(stamp)
            message.name = names
            message.position = [float(q[JOINTS.index(name)]) for name in names]
            message.velocity = [float(v[JOINTS.index(name)]) for name in names]
            self.client.states.publish(message)
            time.sleep(EVERY)
        self.control[1] = 0.0
        self.tell("unsettled")
        self._excused(begin)

    def two_publishers(self) -> None:
        """One that knows nothing says zeros beside the robot's own states."""
        from sensor_msgs.msg import JointState

        begin = self._begins()
        for _ in range(ZEROS):
            _, message = self._stamped(JointState(name=list(JOINTS)))
            message.position = message.velocity = [0.0] * len(JOINTS)
            self.client.states.publish(message)
            time.sleep(EVERY)
        time.sleep(0.2)
        self.deactivated()  # and active anew: control may have ended
        self._excused(begin, 2.0)

    def another_robot(self) -> None:
        """A description of that name: nothing changes, unless somebody agrees."""
        from std_srvs.srv import Trigger

        self._transition(3)  # what commands nothing takes it
        number = self.rng.randrange(-30, 40)
        key = f"other {number}"
        if self.rng.random() < 0.6:
            self._publish_description(description(key), None)
            time.sleep(1.0)
        else:
            begin = self._begins()
            self._publish_description(description(key), key)
            self.client.call("accept_description", Trigger.Request())
            self.tell("unsettled")
            time.sleep(self.rng.choice((0.1, 1.0)))
            self._excused(begin, 3.0)
        begin = self._begins()
        self._publish_description(description("panda"), "panda")
        self.client.call("accept_description", Trigger.Request())
        self.tell("unsettled")
        self._excused(begin, 3.0)

    def hand_guiding(self) -> None:
        """Without gains the arm goes where it is led; what gains come then hold it where it is.

        Some are soft, and some are refused at the rates of a busy machine: then it is led on.
        """
        times = self.rng.choice((1.0, 1.0, 8.0))
        for name, low, high in (("kp", 0.0, 0.0), ("kd", 0.0, 0.0), ("kd", 0.3, 0.6), ("kp", 5.0, 15.0)):
            self.tell("unsettled")
            self._change(name, [times * self.rng.uniform(low, high)])
            self.tell("unsettled")
            time.sleep(self.rng.uniform(0.0, 1.0))

    @staticmethod
    def _stamped(message: Any) -> tuple[int, Any]:
        """With a time that says that it must be refused."""
        stamp = time.time_ns() // 1000 * 1000 + REFUSED
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
        return stamp, message
