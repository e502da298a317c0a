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
from rbd_dynamics.nodes.interface.parameters import parameter
from rbd_dynamics.nodes.interface.tables import Interface, Service, Topic


@dataclass(frozen=True)
class DynamicsServerParameters(CommonParameters):
    """Parameters of node `dynamics_server`."""

    constraints_file: str = parameter(
        "", "YAML file of constraints that requests may name, see docs/constraints.md. Empty: none are known"
    )
    contacts_file: str = parameter(
        "", "YAML file of contacts that requests may name, see docs/contacts.md. Empty: none are known"
    )
    base: Base = parameter("fixed", "floating: the root link moves freely, by the joint root_joint")
    terms: tuple[str, ...] = parameter(
        TERMS,
        "Terms of inverse dynamics if a request names none, spring for the joints' springs. With given efforts "
        "springs always act, friction if it is listed; after a change the old dynamics answer until the new ones "
        "are compiled",
        choices=TERMS,
        dynamic=True,
    )
    most_trajectory_points: int = parameter(
        20_000,
        "A trajectory of more points is not checked, retimed or produced; one of ten times as many, not filled. Nor "
        "is inverse kinematics solved for more samples",
        minimum=2,
        maximum=1_000_000,
        dynamic=True,
    )
    retiming_points: int = parameter(
        1000,
        "Approximate points of a retimed trajectory if a request does not say; no fewer than its path",
        minimum=2,
        maximum=1_000_000,
        dynamic=True,
    )

    @property
    def root(self) -> Base:
        return self.base


DYNAMICS_SERVER = Interface(
    "dynamics_server",
    "Dynamics as services, each for one state or a whole trajectory per call; arrays come with joint names, in the "
    "order of the request. A request that makes no sense is answered with success = false and the reason.",
    DynamicsServerParameters,
    (
        Topic("joint_states", "sensor_msgs/msg/JointState", False,
              "Positions of the joints that a trajectory does not name, best effort"),
        ROBOT_DESCRIPTION,
        PAYLOADS,
        DIAGNOSTICS,
    ),
    (
        Service("~/inverse_dynamics", "rbd_dynamics_interfaces/srv/InverseDynamics", "Efforts for accelerations"),
        Service("~/forward_dynamics", "rbd_dynamics_interfaces/srv/ForwardDynamics", "Accelerations under efforts"),
        Service("~/hybrid_dynamics", "rbd_dynamics_interfaces/srv/HybridDynamics",
                "The remaining accelerations and efforts, given the accelerations of some joints and the efforts of"
                " the others"),
        Service("~/constrained_inverse_dynamics", "rbd_dynamics_interfaces/srv/ConstrainedInverseDynamics",
                "Actuator efforts for a motion that the constraints allow"),
        Service("~/constrained_forward_dynamics", "rbd_dynamics_interfaces/srv/ConstrainedForwardDynamics",
                "Accelerations and constraint forces under efforts"),
        Service("~/constrained_hybrid_dynamics", "rbd_dynamics_interfaces/srv/ConstrainedHybridDynamics",
                "As hybrid dynamics, under constraints"),
        Service("~/contact_inverse_dynamics", "rbd_dynamics_interfaces/srv/ContactInverseDynamics",
                "Actuator efforts and contact forces for a motion"),
        Service("~/contact_forward_dynamics", "rbd_dynamics_interfaces/srv/ContactForwardDynamics",
                "Accelerations and contact forces under efforts: contacts push, slide, and let go"),
        Service("~/contact_impulse", "rbd_dynamics_interfaces/srv/ContactImpulse",
                "Velocities after the impact of everything that touches and is approaching"),
        Service("~/dynamics_terms", "rbd_dynamics_interfaces/srv/DynamicsTerms",
                "Mass matrix, Coriolis, gravity, spring and friction torques, energies"),
        Service("~/inverse_kinematics", "rbd_dynamics_interfaces/srv/InverseKinematics",
                "Positions that bring frames to poses, within limits; the nearest where a pose is out of reach. The "
                "first request of other frames waits for the compiler"),
        Service("~/fill_trajectory_efforts", "rbd_dynamics_interfaces/srv/FillTrajectoryEfforts",
                "The trajectory, with velocities, accelerations and efforts at every point"),
        Service("~/check_trajectory", "rbd_dynamics_interfaces/srv/CheckTrajectory",
                "Which limit a trajectory exceeds, at which joint, when and by how much, and what margin is left "
                "elsewhere"),
        Service("~/retime_trajectory", "rbd_dynamics_interfaces/srv/RetimeTrajectory",
                "The fastest motion along the path of a trajectory within limits, including those of efforts"),
        SET_PAYLOAD,
    ),
    examples=(
        '--ros-args -p terms:="[inertia, coriolis, gravity]"',
        "--ros-args --params-file dynamics_server.yaml -r __ns:=/left",
    ),
)  # fmt: skip
