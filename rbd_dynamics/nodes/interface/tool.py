# SPDX-License-Identifier: Apache-2.0
"""What the interfaces of nodes that control a tool, and take over from each other, have in common."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rbd_dynamics.nodes.interface.parameters import parameter
from rbd_dynamics.nodes.interface.tables import Service, Topic
from rbd_dynamics.nodes.interface.torque import TorqueParameters

LEAST_REACTION_TIME = 0.001  # s: of a cycle


@dataclass(frozen=True)
class ToolParameters(TorqueParameters):
    """Parameters of nodes that control a tool."""

    joints: tuple[str, ...] = parameter((), "Order of the efforts. Empty: the robot's; all must be listed or locked")
    standby: bool = parameter(
        False,
        "Start on standby when activated: another node commands until `~/hand_over` is called here",
        dynamic=True,
    )
    actuator_bandwidth: float = parameter(
        30.0,
        "Bandwidth of the slowest actuator's torque, as a first-order lag, Hz: gains that it makes unstable are "
        "refused. 0: no lag",
        minimum=0.0,
        maximum=1e4,
        dynamic=True,
    )
    sensor_delay: float = parameter(
        0.005,
        "Delay of joint states, and of the wrench where one is read, s: gains that it makes unstable are refused",
        minimum=0.0,
        maximum=0.05,
        dynamic=True,
    )
    joint_velocity_limits: tuple[float, ...] = parameter(
        (),
        "Velocity limits of the joints, rad/s or m/s: the tool's target moves no faster than 0.65 of them allow, "
        "and joints that come close to them are braked. One for all or one for each joint, 0: none. Empty: the "
        "description's",
        minimum=0.0,
        dynamic=True,
    )

    @property
    def reaction_time(self) -> float:
        """How long it takes from a state to the torque that answers it, s."""
        return LEAST_REACTION_TIME + self.sensor_delay + self.actuator_lag

    @property
    def actuator_lag(self) -> float:
        """Time constant of the actuators, s."""
        return 1.0 / (2.0 * math.pi * self.actuator_bandwidth) if self.actuator_bandwidth else 0.0


CONTINUED_EFFORT = Topic(
    "~/continued_effort",
    "sensor_msgs/msg/JointState",
    False,
    "Efforts of the node that this one takes over from, or hands over to: remap it to that node's ~/effort",
)
HAND_OVER = Service(
    "~/hand_over",
    "std_srvs/srv/Trigger",
    "Take over from the node on ~/continued_effort, beginning with its last effort; that node then goes on standby",
)
