# SPDX-License-Identifier: Apache-2.0
"""What the interfaces of nodes that answer joint states by torques have in common."""

from __future__ import annotations

from dataclasses import dataclass

from rbd_dynamics.control.desired_motion import MotionOptions
from rbd_dynamics.control.trajectory import Interpolation
from rbd_dynamics.joint_states.reader import MissingVelocity
from rbd_dynamics.nodes.interface.common import CommonParameters, missing_velocity_parameter
from rbd_dynamics.nodes.interface.tables import Topic
from rbd_dynamics.nodes.parameters import parameter


@dataclass(frozen=True)
class TorqueParameters(CommonParameters):
    """Of nodes that answer joint states by torques."""

    joints: tuple[str, ...] = parameter((), "Controlled joints, which order the efforts. Empty: all of the robot")
    effort_limits: tuple[float, ...] = parameter(
        (),
        "Efforts are cut off there, N m or N: one for all or one for each joint. Empty: the description's",
        minimum=0.0,
        dynamic=True,
    )
    state_timeout: float = parameter(
        0.1,
        "A joint state whose stamp is off by more (s) is stale and not answered. 0: any stamp is good",
        minimum=0.0,
        maximum=60.0,
        dynamic=True,
    )
    plausible_velocity: float = parameter(
        2.0,
        "A joint state with a velocity beyond so many times its limit is refused, and one with a position that cannot "
        "have been reached at that velocity since the last state. 0: any finite state is plausible",
        minimum=0.0,
        dynamic=True,
    )
    plausible_effort: tuple[float, ...] = parameter(
        (),
        "A joint state whose effort is farther from what was commanded during the last tenth of a second is refused, "
        "N m or N: one for all or one for each joint, 0 for any. Empty: efforts are not looked at",
        minimum=0.0,
        dynamic=True,
    )
    most_refused: int = parameter(
        20,
        "So many implausible joint states in a row end the control: the node deactivates itself. 0: never",
        minimum=0,
        maximum=1_000_000,
        dynamic=True,
    )
    effort_rate_limits: tuple[float, ...] = parameter(
        (),
        "The most that an effort changes in a second, N m/s or N/s: one for all or one for each joint, 0 for any. "
        "Empty: any. The first effort after activation is not limited, nor what `on_silence` commands",
        minimum=0.0,
        dynamic=True,
    )
    missing_velocity: MissingVelocity = missing_velocity_parameter()
    interpolation: Interpolation = parameter(
        "smooth",
        "Between trajectory points: smooth computes missing derivatives, as_given does what "
        "joint_trajectory_controller would",
        dynamic=True,
    )
    start_tolerance: float = parameter(
        0.1, "A trajectory that begins farther than this (rad, m) from the robot is refused", minimum=0.0, dynamic=True
    )
    setpoint_timeout: float = parameter(
        0.5,
        "When set-points stop for longer (s), the robot is held: at the last one, or where it is if that is farther "
        "than `start_tolerance` from it. 0: never",
        minimum=0.0,
        maximum=60.0,
        dynamic=True,
    )

    @property
    def motion_options(self) -> MotionOptions:
        return MotionOptions(
            interpolation=self.interpolation,
            start_tolerance=self.start_tolerance,
            setpoint_timeout=self.setpoint_timeout,
        )


COMMANDS = Topic(
    "~/commands",
    "std_msgs/msg/Float64MultiArray",
    True,
    "Efforts in the order of `joints`, to be remapped to an effort controller",
)
EFFORT = Topic(
    "~/effort",
    "sensor_msgs/msg/JointState",
    True,
    "The same with joint names and the stamp of the state that it answers",
)
