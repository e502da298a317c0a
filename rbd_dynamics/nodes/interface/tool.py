# SPDX-License-Identifier: Apache-2.0
"""What the interfaces of nodes that control a tool, and take over from each other, have in common."""

from __future__ import annotations

from dataclasses import dataclass

from rbd_dynamics.nodes.interface.parameters import parameter
from rbd_dynamics.nodes.interface.tables import Service, Topic
from rbd_dynamics.nodes.interface.torque import TorqueParameters


@dataclass(frozen=True)
class ToolParameters(TorqueParameters):
    """Parameters of nodes that control a tool."""

    joints: tuple[str, ...] = parameter((), "Order of the efforts. Empty: the robot's; all must be listed or locked")
    standby: bool = parameter(
        False,
        "Start on standby when activated: another node commands until `~/hand_over` is called here",
        dynamic=True,
    )


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
