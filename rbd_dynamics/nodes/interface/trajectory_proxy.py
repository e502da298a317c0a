# SPDX-License-Identifier: Apache-2.0
"""The interface of node `trajectory_proxy`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rbd_dynamics.control.terms import TERMS, WITHOUT_FRICTION
from rbd_dynamics.nodes.interface.common import DIAGNOSTICS, PAYLOADS, ROBOT_DESCRIPTION, SET_PAYLOAD, CommonParameters
from rbd_dynamics.nodes.interface.parameters import parameter
from rbd_dynamics.nodes.interface.tables import Interface, Service, Topic
from rbd_dynamics.trajectories.prepared import Preparation, Retiming

Efforts = Literal["auto", "always", "never"]
FOLLOW = "control_msgs/action/FollowJointTrajectory"
CONTROLLER = "joint_trajectory_controller"


@dataclass(frozen=True)
class TrajectoryProxyParameters(CommonParameters):
    """Parameters of node `trajectory_proxy`."""

    controller: str = parameter(
        CONTROLLER,
        "The joint_trajectory_controller behind this node: trajectories are passed on to "
        "CONTROLLER/follow_joint_trajectory and CONTROLLER/joint_trajectory. Relative to the node's namespace, "
        "unless it begins with /",
    )
    terms: tuple[str, ...] = parameter(
        WITHOUT_FRICTION,
        "Terms of the efforts that are filled in, spring for the joints' springs; leave out what the robot "
        "compensates itself. Limits are checked with all terms",
        choices=TERMS,
        dynamic=True,
    )
    efforts: Efforts = parameter(
        "auto",
        "Whether efforts are filled in. joint_trajectory_controller refuses them unless effort is among its "
        "command_interfaces: auto asks it for that parameter before each goal",
        dynamic=True,
    )
    longest_interval: float = parameter(
        0.02,
        "Where efforts are filled in, points are added so that none are farther apart (s): the controller "
        "interpolates efforts linearly. 0: none are added",
        minimum=0.0,
        maximum=10.0,
        dynamic=True,
    )
    retime: Retiming = parameter(
        "never",
        "What happens to a trajectory that exceeds a limit of velocity, acceleration or effort. never: it is "
        "refused, with joint, time and number; slower: all of it is slowed down until it exceeds none; fastest: the"
        " path through its points is retimed, from rest to rest, as fast as the limits allow and no faster than "
        "requested",
        dynamic=True,
    )
    most_slowdown: float = parameter(
        10.0, "A trajectory that would have to be slowed down by more than this is refused", minimum=1.0,
        maximum=1000.0, dynamic=True,
    )  # fmt: skip
    velocity_limits: tuple[float, ...] = parameter(
        (),
        "Velocity limits of trajectories, also between points, rad/s or m/s: one for all or one for each joint of the "
        "robot; 0: none. Empty: the description's",
        minimum=0.0,
        dynamic=True,
    )
    acceleration_limits: tuple[float, ...] = parameter(
        (),
        "Acceleration limits of trajectories, also between points, rad/s^2 or m/s^2: one for all or one for each "
        "joint of the robot; 0: none. Empty: the description's, if it has any",
        minimum=0.0,
        dynamic=True,
    )
    effort_limits: tuple[float, ...] = parameter(
        (),
        "Limits of what the motors supply, N m or N: one for all or one for each joint of the robot; 0: none. Empty: "
        "the description's",
        minimum=0.0,
        dynamic=True,
    )
    largest_trajectory: int = parameter(
        20_000, "A trajectory of more points is refused", minimum=1, maximum=1_000_000, dynamic=True
    )
    server_timeout: float = parameter(
        1.0,
        "How long (s) the controller's action server may be missing, before a goal is passed on and while it is "
        "followed",
        minimum=0.0,
        maximum=60.0,
        dynamic=True,
    )
    response_timeout: float = parameter(
        2.0,
        "How long (s) the controller may take to accept a goal, report its command_interfaces, and end what is "
        "cancelled",
        minimum=0.01,
        maximum=60.0,
        dynamic=True,
    )
    feedback_timeout: float = parameter(
        1.0,
        "A controller that stops sending feedback for this long (s) counts as dead: the goal is aborted. 0: never",
        minimum=0.0,
        maximum=60.0,
        dynamic=True,
    )
    result_timeout: float = parameter(
        10.0,
        "A controller without feedback has this long (s) after the trajectory's end and goal_time_tolerance to send"
        " the result. 0: forever",
        minimum=0.0,
        maximum=3600.0,
        dynamic=True,
    )

    @property
    def preparation(self) -> Preparation:
        return Preparation(
            terms=self.terms,
            velocity_limits=self.velocity_limits,
            acceleration_limits=self.acceleration_limits,
            effort_limits=self.effort_limits,
            retime=self.retime,
            most_slowdown=self.most_slowdown,
            longest_interval=self.longest_interval,
        )


TRAJECTORY_PROXY = Interface(
    "trajectory_proxy",
    "Stands in front of a joint_trajectory_controller: what MoveIt sends is checked against limits and torques, "
    "slowed down on request, completed with velocities, accelerations and efforts, and passed on; feedback, result "
    "and cancel work as without it. docs/ros2_control.md shows the one line to change in MoveIt's controller list.",
    TrajectoryProxyParameters,
    (
        Topic("~/joint_trajectory", "trajectory_msgs/msg/JointTrajectory", False,
              "A trajectory outside an action: it is passed on in the same way, or refused with the reason in the "
              "log and the diagnostics"),
        Topic(f"{CONTROLLER}/joint_trajectory", "trajectory_msgs/msg/JointTrajectory", True,
              "The controller's topic, according to parameter `controller`"),
        Topic("joint_states", "sensor_msgs/msg/JointState", False,
              "Positions of the joints that a trajectory does not name, best effort"),
        ROBOT_DESCRIPTION,
        PAYLOADS,
        DIAGNOSTICS,
    ),
    (SET_PAYLOAD,),
    actions=(
        Service("~/follow_joint_trajectory", FOLLOW,
                "As in joint_trajectory_controller; only where control_msgs is installed. What is refused here ends"
                " with INVALID_GOAL, INVALID_JOINTS or OLD_HEADER_TIMESTAMP and the reason"),
    ),
    used_actions=(Service(f"{CONTROLLER}/follow_joint_trajectory", FOLLOW, "The controller's"),),
    used_services=(
        Service(f"{CONTROLLER}/get_parameters", "rcl_interfaces/srv/GetParameters", "The controller's, for `efforts`"),
    ),
    examples=(
        "--ros-args -p controller:=/panda_arm_controller -p retime:=slower",
        "--ros-args --params-file trajectory_proxy.yaml",
    ),
)  # fmt: skip
