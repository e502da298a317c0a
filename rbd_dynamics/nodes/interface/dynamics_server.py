# SPDX-License-Identifier: Apache-2.0
"""The interface of node `dynamics_server`."""

from __future__ import annotations

from dataclasses import dataclass

from rbd_dynamics.control.terms import TERMS
from rbd_dynamics.nodes.interface.common import (
    DIAGNOSTICS,
    PAYLOADS,
    ROBOT_DESCRIPTION,
    SET_PAYLOAD,
    Base,
    CommonParameters,
)
from rbd_dynamics.nodes.interface.tables import Interface, Service, Topic
from rbd_dynamics.nodes.parameters import parameter


@dataclass(frozen=True)
class DynamicsServerParameters(CommonParameters):
    """Of node `dynamics_server`."""

    constraints_file: str = parameter(
        "", "YAML file of constraints that requests may name, see docs/constraints.md. Empty: none are known"
    )
    contacts_file: str = parameter(
        "", "YAML file of contacts that requests may name, see docs/contacts.md. Empty: none are known"
    )
    base: Base = parameter("fixed", "floating: the root link moves freely, by the joint root_joint")
    terms: tuple[str, ...] = parameter(
        TERMS,
        "Terms of inverse dynamics where a request names none, spring for the joints' springs. Under given efforts "
        "springs always act, friction if it is among them; when that changes, the old dynamics answer until the "
        "new ones are compiled",
        choices=TERMS,
        dynamic=True,
    )
    most_trajectory_points: int = parameter(
        20_000,
        "A trajectory of more points is neither checked nor retimed, nor is one made; of ten times as many, not filled",
        minimum=2,
        maximum=1_000_000,
        dynamic=True,
    )
    retiming_points: int = parameter(
        1000,
        "About how many points a retimed trajectory has where a request does not say; no fewer than its path",
        minimum=2,
        maximum=1_000_000,
        dynamic=True,
    )

    @property
    def root(self) -> Base:
        return self.base


DYNAMICS_SERVER = Interface(
    "dynamics_server",
    "Dynamics as services, each for one state or a whole trajectory in a call; arrays travel with joint names, in "
    "the order of the request. A request that makes no sense gets success = false and what is wrong with it.",
    DynamicsServerParameters,
    (
        Topic("joint_states", "sensor_msgs/msg/JointState", False,
              "Where joints are that a trajectory does not name, best effort"),
        ROBOT_DESCRIPTION,
        PAYLOADS,
        DIAGNOSTICS,
    ),
    (
        Service("~/inverse_dynamics", "rbd_dynamics_interfaces/srv/InverseDynamics", "Efforts for accelerations"),
        Service("~/forward_dynamics", "rbd_dynamics_interfaces/srv/ForwardDynamics", "Accelerations under efforts"),
        Service("~/hybrid_dynamics", "rbd_dynamics_interfaces/srv/HybridDynamics",
                "Some joints' accelerations and the others' efforts are given: the rest of both"),
        Service("~/constrained_inverse_dynamics", "rbd_dynamics_interfaces/srv/ConstrainedInverseDynamics",
                "Actuator efforts for a motion that constraints allow"),
        Service("~/constrained_forward_dynamics", "rbd_dynamics_interfaces/srv/ConstrainedForwardDynamics",
                "Accelerations and constraint forces under efforts"),
        Service("~/constrained_hybrid_dynamics", "rbd_dynamics_interfaces/srv/ConstrainedHybridDynamics",
                "As hybrid dynamics, while constraints hold"),
        Service("~/contact_inverse_dynamics", "rbd_dynamics_interfaces/srv/ContactInverseDynamics",
                "Actuator efforts and contact forces for a motion"),
        Service("~/contact_forward_dynamics", "rbd_dynamics_interfaces/srv/ContactForwardDynamics",
                "Accelerations and contact forces under efforts: contacts push, slide, and let go"),
        Service("~/contact_impulse", "rbd_dynamics_interfaces/srv/ContactImpulse",
                "Velocities after the impacts of what touches and approaches"),
        Service("~/dynamics_terms", "rbd_dynamics_interfaces/srv/DynamicsTerms",
                "Mass matrix, Coriolis, gravity, spring and friction torques, energies"),
        Service("~/fill_trajectory_efforts", "rbd_dynamics_interfaces/srv/FillTrajectoryEfforts",
                "A trajectory comes back with velocities, accelerations and efforts at every point"),
        Service("~/check_trajectory", "rbd_dynamics_interfaces/srv/CheckTrajectory",
                "Which limit a trajectory passes, at which joint and time and by how much, and what is left elsewhere"),
        Service("~/retime_trajectory", "rbd_dynamics_interfaces/srv/RetimeTrajectory",
                "The fastest motion on the path of a trajectory within limits, those of efforts among them"),
        SET_PAYLOAD,
    ),
    examples=(
        '--ros-args -p terms:="[inertia, coriolis, gravity]"',
        "--ros-args --params-file dynamics_server.yaml -r __ns:=/left",
    ),
)  # fmt: skip
