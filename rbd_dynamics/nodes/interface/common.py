# SPDX-License-Identifier: Apache-2.0
"""What the interfaces of several nodes have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rbd_dynamics.control.safety.safe_stop import OnSilence, StopOptions
from rbd_dynamics.joint_states.reader import MissingVelocity
from rbd_dynamics.nodes.interface.parameters import ParameterSet, parameter, per_name
from rbd_dynamics.nodes.interface.tables import Service, Topic

Executor = Literal["auto", "events", "single_threaded"]
Base = Literal["fixed", "floating"]


@dataclass(frozen=True)
class CommonParameters(ParameterSet):
    """Parameters of every node."""

    robot_description: str = parameter(
        "", "URDF or SDF of the robot. Empty: from the topic robot_description", dynamic=True
    )
    model: str = parameter("", "Which model, by name, where an SDF has several. Empty: the only one with joints")
    largest_description: int = parameter(
        30_000_000, "A larger robot_description (bytes) is refused unread", minimum=1, dynamic=True
    )
    description_timeout: float = parameter(
        10.0,
        "How long (s) `configure` waits for the topic robot_description where a lifecycle manager asks for it; then it "
        "fails. 0: not at all; `activate` then fails until there is a robot. With autostart the node waits for ever",
        minimum=0.0,
        maximum=3600.0,
        dynamic=True,
    )
    most_links: int = parameter(
        1000,
        "A robot_description with more moving links is refused: compiling would take hours",
        minimum=1,
        dynamic=True,
    )
    gravity: tuple[float, ...] = parameter((0.0, 0.0, -9.81), "Gravity in the root frame, m/s^2")
    locked_joints: tuple[str, ...] = parameter((), "Joints that do not move, by name")
    locked_positions: tuple[float, ...] = parameter((), "Positions of `locked_joints`, rad or m. Empty: zero")
    given_inertias: bool = parameter(
        False,
        "Take inertias as they are even where they are far from those of any rigid body, instead of refusing the "
        "description; the log names the links",
    )
    tf_prefix: str = parameter("", "Prefix of joint and frame names in messages, unless the description already has it")
    autostart: bool = parameter(
        True, "Configure, and activate as soon as there is a robot; false: a lifecycle manager does"
    )
    executor: Executor = parameter(
        "auto",
        "What runs the callbacks; auto: the events executor if it works, else the single-threaded one",
    )
    largest_message: int = parameter(
        65_536,
        "A larger message (bytes) is refused unread; trajectories and descriptions have limits of their own",
        minimum=1_024,
        dynamic=True,
    )

    def __post_init__(self) -> None:
        check_vector("gravity", self.gravity)
        per_name("parameter 'locked_positions'", self.locked_joints, self.locked_positions)

    @property
    def root(self) -> Base:
        """How the root link is held."""
        return "fixed"


def check_vector(name: str, value: Sequence[float]) -> None:
    """Raise ValueError where a parameter of three numbers has not as many."""
    if len(value) != 3:
        raise ValueError(f"parameter {name!r} must have 3 numbers, got {len(value)}")


class Silencing:
    """What nodes that command a robot are told of silence: the class beside this one has the parameters."""

    on_silence: OnSilence
    silence_duration: float
    silence_damping: tuple[float, ...]

    @property
    def stop_options(self) -> StopOptions:
        return StopOptions(on_silence=self.on_silence, duration=self.silence_duration, damping=self.silence_damping)


def missing_velocity_parameter() -> MissingVelocity:
    return parameter(
        "differentiate", "If a joint state lacks velocities: compute them from two positions, or refuse it"
    )


def soften_unstable_gains_parameter() -> bool:
    return parameter(
        True,
        "Whether stiffness and damping are reduced if they are unstable at the posture and the rate of states at which "
        "the node is activated, or if the robot swings by them later. An error then says so, with the values in use, "
        "until others are set. false: the error alone, for arms whose description lacks the inertia of their rotors",
    )


def on_silence_parameter() -> OnSilence:
    return parameter(
        "gravity",
        "What is commanded when commands end, for whatever reason. gravity: hold the robot against gravity and "
        "springs, damped, for `silence_duration`, then zero; zero: at once; nothing: for controllers with their own"
        " timeout",
        dynamic=True,
    )


def silence_duration_parameter() -> float:
    return parameter(
        1.5,
        "How long the robot is held (s); in the last 0.2 s the efforts ramp to zero. launch kills a process after 5"
        " s or more",
        minimum=0.0,
        maximum=4.0,
        dynamic=True,
    )


def plausible_velocity_parameter() -> float:
    return parameter(
        2.0,
        "A joint state is refused if a velocity exceeds this many times its limit, or a position cannot have been "
        "reached at that velocity since the last state; after 0.1 s without states, a joint that is found elsewhere "
        "is believed once 3 states in a row agree. 0: any finite state is plausible",
        minimum=0.0,
        dynamic=True,
    )


def silence_damping_parameter() -> tuple[float, ...]:
    return parameter(
        (),
        "Damping while a silent node holds the robot, N m s/rad or N s/m: one for all or one for each joint. Empty: "
        "from the mass matrix, all velocities decay at 10 1/s",
        minimum=0.0,
        dynamic=True,
    )


ROBOT_DESCRIPTION = Topic(
    "robot_description",
    "std_msgs/msg/String",
    False,
    "URDF, latched; only if the parameter is empty. A new one is taken over between two cycles",
)
COMMANDS = Topic(
    "~/commands",
    "std_msgs/msg/Float64MultiArray",
    True,
    "Efforts in the order of `joints`, to be remapped to an effort controller",
)
DIAGNOSTICS = Topic("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray", True, "State of the node, once a second")
PAYLOADS = Topic(
    "~/payloads",
    "rbd_dynamics_interfaces/msg/Payloads",
    True,
    "The loads that the node takes into account, latched; published again at each change",
)
SET_PAYLOAD = Service(
    "~/set_payload", "rbd_dynamics_interfaces/srv/SetPayload", "Attach a load to a frame, replace it, or detach it"
)
ACCEPT_DESCRIPTION = Service(
    "~/accept_description",
    "std_srvs/srv/Trigger",
    "Take over a description of the topic that was refused because it may be of another robot",
)
