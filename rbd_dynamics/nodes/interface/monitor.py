# SPDX-License-Identifier: Apache-2.0
"""The interface of node `monitor`."""

from __future__ import annotations

from dataclasses import dataclass

from rbd_dynamics.control.terms import TERMS, WITHOUT_FRICTION
from rbd_dynamics.joint_states.reader import MissingVelocity
from rbd_dynamics.nodes.interface.common import (
    DIAGNOSTICS,
    PAYLOADS,
    ROBOT_DESCRIPTION,
    SET_PAYLOAD,
    CommonParameters,
    missing_velocity_parameter,
)
from rbd_dynamics.nodes.interface.parameters import parameter
from rbd_dynamics.nodes.interface.tables import Interface, Topic


@dataclass(frozen=True)
class MonitorParameters(CommonParameters):
    """Parameters of node `monitor`."""

    joints: tuple[str, ...] = parameter((), "Monitored joints, in the order of the messages. Empty: all")
    terms: tuple[str, ...] = parameter(
        WITHOUT_FRICTION,
        "What the measured efforts contain; friction and springs (spring) are the description's",
        choices=TERMS,
        dynamic=True,
    )
    cutoff: float = parameter(
        5.0,
        "Cutoff frequency of the residual's filter, Hz; its delay is 1 / (pi cutoff)",
        minimum=0.01,
        maximum=1000.0,
        dynamic=True,
    )
    observer_rate: float = parameter(
        30.0,
        "Rate of the observer of external torques, which lag by 1 / observer_rate, 1/s",
        minimum=0.1,
        maximum=1000.0,
        dynamic=True,
    )
    contact_thresholds: tuple[float, ...] = parameter(
        (),
        "External torque of a contact, beyond its recent level, N m or N: one for all or one for each joint, 0: "
        "ignored. Empty: contact is not reported",
        minimum=0.0,
        dynamic=True,
    )
    contact_breakaway: tuple[float, ...] = parameter(
        (),
        "Torque that friction may hold at rest, N m or N: one for all or one for each joint. At rest contact must "
        "be larger by that. Empty: 1.3 times the description's Coulomb friction",
        minimum=0.0,
        dynamic=True,
    )
    contact_duration: float = parameter(
        0.02, "How long a threshold must be exceeded, s", minimum=0.0, maximum=10.0, dynamic=True
    )
    longest_gap: float = parameter(
        0.1,
        "Longest gap in joint states (s); a longer one restarts filter and observer",
        minimum=1e-3,
        maximum=10.0,
        dynamic=True,
    )
    wrench_frame: str = parameter(
        "", "Link or joint at which ~/external_wrench tells the external wrench. Empty: nowhere", dynamic=True
    )
    missing_velocity: MissingVelocity = missing_velocity_parameter()


MONITOR = Interface(
    "monitor",
    "What the model gets wrong and what touches the robot, from its joint states: measured minus predicted torque, "
    "external torques by generalised momentum, and contact.",
    MonitorParameters,
    (
        Topic("joint_states", "sensor_msgs/msg/JointState", False,
              "Measured state with efforts, best effort; joints without an effort are left out of what is published"),
        ROBOT_DESCRIPTION,
        Topic("~/residual", "sensor_msgs/msg/JointState", True,
              "Measured minus predicted torque as effort, with the stamp of the joint state, filtered at `cutoff`; "
              "after a gap only once the filter has settled"),
        Topic("~/external_torque", "sensor_msgs/msg/JointState", True,
              "Torques that something other than the actuators exerts, as effort"),
        Topic("~/external_wrench", "rbd_dynamics_interfaces/msg/WrenchEstimate", True,
              "The wrench at `wrench_frame` that explains these torques, with its covariance and what joints do not "
              "tell; at most 100 a second, once the observer has settled"),
        Topic("~/contact", "std_msgs/msg/Bool", True,
              "Whether something is touched, published on change; latched. Only with `contact_thresholds`; false "
              "while brakes hold the robot"),
        PAYLOADS,
        DIAGNOSTICS,
    ),
    (SET_PAYLOAD,),
    examples=(
        "--ros-args --params-file monitor.yaml",
        "--ros-args -p cutoff:=10.0 -r joint_states:=/arm/joint_states",
    ),
)  # fmt: skip
