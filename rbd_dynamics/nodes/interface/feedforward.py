# SPDX-License-Identifier: Apache-2.0
"""The interface of node `feedforward`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rbd_dynamics.control.feedforward import EvaluateAt, Law
from rbd_dynamics.control.motion.options import MotionOptions, PointEffortsUse
from rbd_dynamics.control.terms import TERMS, WITHOUT_FRICTION
from rbd_dynamics.nodes.interface.common import (
    ACCEPT_DESCRIPTION,
    COMMANDS,
    DIAGNOSTICS,
    PAYLOADS,
    ROBOT_DESCRIPTION,
    SET_PAYLOAD,
    soften_unstable_gains_parameter,
)
from rbd_dynamics.nodes.interface.parameters import parameter
from rbd_dynamics.nodes.interface.tables import Interface, Service, Topic
from rbd_dynamics.nodes.interface.torque import EFFORT, TorqueParameters


@dataclass(frozen=True)
class FeedforwardParameters(TorqueParameters):
    """Parameters of node `feedforward`."""

    terms: tuple[str, ...] = parameter(
        WITHOUT_FRICTION,
        "Terms of the feedforward torque, spring for the joints' springs; leave out what the robot compensates itself",
        choices=TERMS,
        dynamic=True,
    )
    evaluate_at: EvaluateAt = parameter("measured", "State at which the model is evaluated", dynamic=True)
    law: Law = parameter(
        "feedforward",
        "feedforward: the PD adds torque; computed_torque: it adds acceleration, so that all joints' errors decay "
        "alike, and its gains are in 1/s^2 and 1/s",
        dynamic=True,
    )
    kp: tuple[float, ...] = parameter(
        (), "Position gains, N m/rad or N/m: none, one for all or one for each joint", minimum=0.0, dynamic=True
    )
    kd: tuple[float, ...] = parameter(
        (), "Velocity gains, N m s/rad or N s/m: none, one for all or one for each joint", minimum=0.0, dynamic=True
    )
    soften_unstable_gains: bool = soften_unstable_gains_parameter()
    point_efforts: PointEffortsUse = parameter(
        "ignored",
        "Efforts that the points of a trajectory have beside their positions. ignored: the law finds its own; added: "
        "they are added to the law's, linear between points, within effort_limits, and stay as at the last point until "
        "the next motion. Leave out of `terms` what the planner has put into them",
        dynamic=True,
    )
    actuator_bandwidth: float = parameter(
        0.0,
        "Bandwidth of the slowest actuator's torque, as a first-order lag, Hz: gains that are unstable with it, at "
        "the rate of the joint states and the present posture, are refused. 0: no lag",
        minimum=0.0,
        maximum=100_000.0,
        dynamic=True,
    )
    effort_offsets_file: str = parameter(
        "",
        "YAML file of torques that joints need beyond the model, {joint: N m or N} at its top or under "
        "effort_offsets, like the offsets.yaml that `rbd_dynamics replay` writes with its corrected description. "
        "They are added to the torques, within effort_limits, which no offset may exceed, but not while the robot "
        "is held in a silence. Read when the node configures, and with each new description. Empty: none",
    )

    @property
    def motion_options(self) -> MotionOptions:
        return replace(super().motion_options, point_efforts=self.point_efforts)


FEEDFORWARD = Interface(
    "feedforward",
    "Torques for a desired motion: every complete joint state is answered with one effort message, or with none and"
    " the reason in the diagnostics.",
    FeedforwardParameters,
    (
        Topic("joint_states", "sensor_msgs/msg/JointState", False,
              "Measured state, best effort: joints in any order, other joints, NaN and missing velocities are "
              "understood; a state may be spread over several messages"),
        Topic("~/joint_trajectory", "trajectory_msgs/msg/JointTrajectory", False,
              "Desired motion. Several points are a trajectory in time, from header.stamp (zero: as soon as it is "
              "planned, some milliseconds), which starts without a jump, ends at rest, and may name only some of "
              "the joints. One point at time zero is a setpoint, which takes effect at once, names all joints and "
              "lies within setpoint_tolerance. No point means hold. A motion that exceeds the limits of position, "
              "velocity or acceleration anywhere, even between points, is refused"),
        Topic("~/set_points", "std_msgs/msg/Float64MultiArray", False,
              "Positions of all joints in the order of `joints`, each message a setpoint as above: this is what "
              "MoveIt Servo and others stream to a forward_position_controller"),
        ROBOT_DESCRIPTION,
        COMMANDS,
        EFFORT,
        Topic("~/tracking_error", "sensor_msgs/msg/JointState", True,
              "Desired minus measured positions and velocities of `joints`, for each state that is answered"),
        PAYLOADS,
        DIAGNOSTICS,
    ),
    (ACCEPT_DESCRIPTION, SET_PAYLOAD,),
    actions=(
        Service("~/follow_joint_trajectory", "control_msgs/action/FollowJointTrajectory",
                "The same with a result, feedback at 20 Hz and cancel, as in joint_trajectory_controller; only "
                "where control_msgs is installed. A new goal replaces the current one, and so does a message on "
                "`~/joint_trajectory`. A tolerance of 0 means that of the parameters, -1 means none; tolerances of "
                "accelerations are ignored. A goal of one point at time zero is treated as due in 0.2 s"),
    ),
    examples=(
        "--ros-args --params-file feedforward.yaml",
        '--ros-args -p terms:="[gravity]" -p kp:="[0.0]" -p kd:="[0.0]"',
    ),
)  # fmt: skip
