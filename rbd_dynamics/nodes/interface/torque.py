# SPDX-License-Identifier: Apache-2.0
"""What the interfaces of nodes that answer joint states by torques have in common."""

from __future__ import annotations

from dataclasses import dataclass

from rbd_dynamics.control.motion.options import MotionOptions
from rbd_dynamics.control.motion.trajectory import Interpolation
from rbd_dynamics.control.safety.safe_stop import OnSilence
from rbd_dynamics.joint_states.reader import MissingVelocity
from rbd_dynamics.nodes.interface.common import (
    CommonParameters,
    Silencing,
    missing_velocity_parameter,
    on_silence_parameter,
    plausible_velocity_parameter,
    silence_damping_parameter,
    silence_duration_parameter,
)
from rbd_dynamics.nodes.interface.parameters import parameter
from rbd_dynamics.nodes.interface.tables import Topic


@dataclass(frozen=True)
class TorqueParameters(Silencing, CommonParameters):
    """Parameters of nodes that answer joint states by torques."""

    joints: tuple[str, ...] = parameter((), "Controlled joints, in the order of the efforts. Empty: all")
    effort_limits: tuple[float, ...] = parameter(
        (),
        "Efforts are clipped there, N m or N: one for all or one for each joint. Empty: the description's",
        minimum=0.0,
        dynamic=True,
        infinite=True,
    )
    state_timeout: float = parameter(
        0.1,
        "A joint state whose stamp is off by more (s) is stale and not answered; a node with no answer for longer "
        "falls silent (`on_silence`). 0: any stamp is good; silent after 5 s",
        minimum=0.0,
        maximum=60.0,
        dynamic=True,
    )
    plausible_velocity: float = plausible_velocity_parameter()
    plausible_effort: tuple[float, ...] = parameter(
        (),
        "A joint state whose effort differs by more from what was commanded in the last tenth of a second is "
        "refused, N m or N: one for all or one for each joint, 0 for any. Empty: efforts are not checked",
        minimum=0.0,
        dynamic=True,
    )
    most_refused: int = parameter(
        20,
        "This many implausible joint states in a row end control: the node deactivates itself. 0: never",
        minimum=0,
        maximum=1_000_000,
        dynamic=True,
    )
    effort_rate_limits: tuple[float, ...] = parameter(
        (),
        "Largest rate of change of an effort, N m/s or N/s: one for all or one for each joint, 0 for any. Empty: the "
        "joint's effort limit within 0.1 s, at most 1000. Neither the first effort after activation nor what "
        "`on_silence` commands is limited",
        minimum=0.0,
        dynamic=True,
    )
    transition_time: float = parameter(
        0.5,
        "How long (s) efforts take to change over from the last one after a change of gains, terms, law, load or "
        "description. 0: at once, as fast as `effort_rate_limits` allow",
        minimum=0.0,
        maximum=60.0,
        dynamic=True,
    )
    check_in_command: bool = parameter(
        True,
        "Whether the node checks, by its controller's state, by measured efforts and by the motion, that its efforts "
        "reach the motors. Where they do not, it holds the robot where it is and takes no trajectories",
        dynamic=True,
    )
    controller: str = parameter(
        "",
        "The effort controller of ros2_control that gets the efforts, by name. Its state is watched, in the "
        "controller_manager of its name space, and its joints are to be the node's. Empty: the one whose topic "
        "`~/commands` is remapped to, behind a guard also",
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
        "When setpoints stop for longer (s), the robot is held: at the last one, or where it is if that is farther "
        "than `start_tolerance` from it. 0: never",
        minimum=0.0,
        maximum=60.0,
        dynamic=True,
    )

    setpoint_tolerance: float = parameter(
        0.05,
        "A setpoint farther than this (rad, m) from the desired position is refused: the step would be a jolt. A "
        "twentieth of a radian is 50 rad/s at 1 kHz, more than any stream needs. 0: any",
        minimum=0.0,
        dynamic=True,
    )
    velocity_limits: tuple[float, ...] = parameter(
        (),
        "Velocity limits of the desired motion, also between points, rad/s or m/s: one for all or one for each joint; "
        "0: none. Empty: the description's",
        minimum=0.0,
        dynamic=True,
    )
    acceleration_limits: tuple[float, ...] = parameter(
        (),
        "Acceleration limits of the desired motion, also between points, rad/s^2 or m/s^2: one for all or one for "
        "each joint; 0: none. Empty: the description's, if it has any, and what the motors can do at the present "
        "posture, twice |M^-1| tau_max",
        minimum=0.0,
        dynamic=True,
    )
    path_tolerance: tuple[float, ...] = parameter(
        (0.2,),
        "A robot farther than this (rad, m) from its desired position, in a motion or while it is held, ends the "
        "motion and is held where it is: one for all or one for each joint; 0 or empty: never. Controllers lag by less "
        "than a fifth of a radian",
        minimum=0.0,
        dynamic=True,
    )
    goal_tolerance: tuple[float, ...] = parameter(
        (),
        "A robot farther than this (rad, m) from the end of a trajectory, `goal_time` after it, has missed it: one "
        "for all or one for each joint. 0 or empty: any",
        minimum=0.0,
        dynamic=True,
    )
    goal_time: float = parameter(
        0.0,
        "How long after the end of a trajectory (s) the robot may take to come within `goal_tolerance`. 0: forever",
        minimum=0.0,
        maximum=3600.0,
        dynamic=True,
    )
    largest_trajectory: int = parameter(
        100_000, "A trajectory of more points is refused", minimum=1, maximum=10_000_000, dynamic=True
    )
    on_silence: OnSilence = on_silence_parameter()
    silence_duration: float = silence_duration_parameter()
    silence_damping: tuple[float, ...] = silence_damping_parameter()

    @property
    def motion_options(self) -> MotionOptions:
        return MotionOptions(
            interpolation=self.interpolation,
            start_tolerance=self.start_tolerance,
            setpoint_timeout=self.setpoint_timeout,
            setpoint_tolerance=self.setpoint_tolerance,
            longest_gap=self.state_timeout,
            path_tolerance=self.path_tolerance,
            goal_tolerance=self.goal_tolerance,
            goal_time=self.goal_time,
        )


EFFORT = Topic(
    "~/effort",
    "sensor_msgs/msg/JointState",
    True,
    "The same efforts, with joint names and the stamp of the state that they answer",
)
