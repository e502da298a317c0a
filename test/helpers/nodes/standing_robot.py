# SPDX-License-Identifier: Apache-2.0
"""A robot that stands where it is put, whatever efforts come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helpers.nodes.ros_nodes import Conversation, joint_state, wait_until
from helpers.periodic import Periodic


class StandingRobot(Conversation, Periodic):
    """Joint states at 100 Hz to an active torque node, as long as the context lasts, and its efforts.

    stamped: a process that stood still knows then whether they are old.
    """

    def __init__(
        self, ros: Any, node: Any, joints: Sequence[str], position: Sequence[float], *, stamped: bool = False
    ) -> None:
        from rclpy.qos import qos_profile_sensor_data
        from sensor_msgs.msg import JointState

        Conversation.__init__(self, ros, node)
        Periodic.__init__(self, 0.01)
        self._clock = ros.node.get_clock() if stamped else None
        self._state = joint_state(joints, position, [0.0] * len(joints))
        self._states = ros.publisher(JointState, "joint_states", qos_profile_sensor_data)
        self.efforts = ros.collect(JointState, f"{node.name}/effort", 1000)

    def act(self) -> None:
        if self._clock is not None:
            self._state.header.stamp = self._clock.now().to_msg()
        self._states.publish(self._state)

    def __enter__(self) -> StandingRobot:
        super().__enter__()
        wait_until(lambda: self.efforts, "an effort")
        return self

    def stands_at(self, position: Sequence[float]) -> None:
        self._state.position = list(position)

    def describe(self, text: str) -> None:
        assert self.ros.set_parameters(self.node.name, robot_description=text)[0].successful

    def goes_on(self, answers: int = 20) -> None:
        count = len(self.efforts)
        wait_until(lambda: len(self.efforts) > count + answers, "more efforts")
