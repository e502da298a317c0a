# SPDX-License-Identifier: Apache-2.0
"""The interface of node `guard`."""

from __future__ import annotations

from dataclasses import dataclass

from rbd_dynamics.control.safety.command_gate import GateOptions
from rbd_dynamics.control.safety.safe_stop import OnSilence
from rbd_dynamics.control.terms import TERMS, WITHOUT_FRICTION
from rbd_dynamics.joint_states.reader import MissingVelocity
from rbd_dynamics.nodes.interface.common import (
    ACCEPT_DESCRIPTION,
    COMMANDS,
    DIAGNOSTICS,
    PAYLOADS,
    ROBOT_DESCRIPTION,
    SET_PAYLOAD,
    CommonParameters,
    Silencing,
    missing_velocity_parameter,
    on_silence_parameter,
    plausible_velocity_parameter,
    silence_damping_parameter,
    silence_duration_parameter,
)
from rbd_dynamics.nodes.interface.parameters import parameter
from rbd_dynamics.nodes.interface.tables import Interface, Service, Topic


@dataclass(frozen=True)
class GuardParameters(Silencing, CommonParameters):
    """Parameters of node `guard`."""

    joints: tuple[str, ...] = parameter((), "Commanded joints, as in the torque node. Empty: all")
    terms: tuple[str, ...] = parameter(
        WITHOUT_FRICTION,
        "Terms of the model that hold the robot, as in the torque node: leave out what it compensates itself",
        choices=TERMS,
        dynamic=True,
    )
    effort_limits: tuple[float, ...] = parameter(
        (),
        "Larger commands do not pass, N m or N: one for all or one for each joint. Empty: the description's",
        minimum=0.0,
        dynamic=True,
    )
    command_timeout: float = parameter(
        0.05, "Time without a good command (s) until the guard takes over", minimum=0.001, maximum=10.0, dynamic=True
    )
    resume_after: float = parameter(
        0.1,
        "Good commands must arrive for this long (s), without a gap, before they are passed on again",
        minimum=0.0,
        maximum=60.0,
        dynamic=True,
    )
    most_silences: int = parameter(
        3,
        "When commands stop more often than this within a minute, they are passed on again only after `~/resume`",
        minimum=0,
        maximum=1000,
        dynamic=True,
    )
    state_timeout: float = parameter(
        0.1,
        "A joint state whose stamp is off by more (s) is stale and not used. 0: any stamp is good",
        minimum=0.0,
        maximum=60.0,
        dynamic=True,
    )
    plausible_velocity: float = plausible_velocity_parameter()
    missing_velocity: MissingVelocity = missing_velocity_parameter()
    on_silence: OnSilence = on_silence_parameter()
    silence_duration: float = silence_duration_parameter()
    silence_damping: tuple[float, ...] = silence_damping_parameter()

    @property
    def gate_options(self) -> GateOptions:
        return GateOptions(
            timeout=self.command_timeout, resume_after=self.resume_after, most_silences=self.most_silences
        )


GUARD = Interface(
    "guard",
    "Stands between a torque node and the effort controller: good commands are passed on at once, byte for byte; "
    "when they stop, because the torque node was killed, hangs or commands nonsense, it leaves the robot safe.",
    GuardParameters,
    (
        Topic("~/unguarded_commands", "std_msgs/msg/Float64MultiArray", False,
              "The torque node's `~/commands`. Zeros for all joints let go of the robot: when commands stop after "
              "them, that does not count as silence"),
        Topic("joint_states", "sensor_msgs/msg/JointState", False, "Measured state, as for the torque node"),
        ROBOT_DESCRIPTION,
        COMMANDS,
        PAYLOADS,
        DIAGNOSTICS,
    ),
    (
        Service("~/resume", "std_srvs/srv/Trigger", "Pass commands on again after they have stopped too often, or "
                "have come from a new process while there is a payload"),
        ACCEPT_DESCRIPTION, SET_PAYLOAD,
    ),
    examples=(
        "--ros-args --params-file guard.yaml",
        "--ros-args -p command_timeout:=0.02 -p on_silence:=gravity",
    ),
)  # fmt: skip
