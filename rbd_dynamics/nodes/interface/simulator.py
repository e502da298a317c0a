# SPDX-License-Identifier: Apache-2.0
"""The interface of node `simulator`."""

from __future__ import annotations

from dataclasses import dataclass

from rbd_dynamics.nodes.interface.common import (
    DIAGNOSTICS,
    PAYLOADS,
    ROBOT_DESCRIPTION,
    SET_PAYLOAD,
    Base,
    CommonParameters,
    check_vector,
)
from rbd_dynamics.nodes.interface.parameters import parameter, per_name
from rbd_dynamics.nodes.interface.tables import Interface, Service, Topic
from rbd_dynamics.simulation.simulation import Integrator, Stabilization


@dataclass(frozen=True)
class SimulatorParameters(CommonParameters):
    """Parameters of node `simulator`."""

    base: Base = parameter("fixed", "floating: the root link moves freely")
    joints: tuple[str, ...] = parameter((), "Order of ~/commands and joint_states. Empty: all joints")
    step: float = parameter(0.001, "Integration step, s", minimum=1e-6, maximum=0.1)
    publish_rate: float = parameter(500.0, "Joint states per second of simulated time", minimum=0.1, maximum=10000.0)
    real_time_factor: float = parameter(
        1.0,
        "Simulated seconds per second. Unless 1, it needs publish_clock here and use_sim_time elsewhere",
        minimum=0.001,
        maximum=100.0,
    )
    integrator: Integrator = parameter("semi_implicit_euler", "Integration method")
    scene_file: str = parameter(
        "",
        "YAML file of constraints, and of surfaces or shapes that may be touched, see docs/constraints.md and "
        "docs/contacts.md. Contact always uses the semi-implicit method, whatever the integrator. Empty: free "
        "motion",
    )
    stabilization: Stabilization = parameter(
        "none", "projection: put position and velocity onto the constraints after each step"
    )
    wrench_frame: str = parameter("", "Link or joint of a force-torque sensor. Empty: there is none")
    wrench_noise: float = parameter(0.0, "Standard deviation of its forces, N; for torques a tenth, N m", minimum=0.0)
    publish_clock: bool = parameter(False, "Publish /clock; joint states are then stamped with simulated time")
    initial_joints: tuple[str, ...] = parameter((), "Joints that do not start at zero, by name")
    initial_positions: tuple[float, ...] = parameter((), "Initial positions of `initial_joints`, rad or m")
    friction: bool = parameter(
        True, "Joint damping and Coulomb friction act, the latter with semi_implicit_euler alone"
    )
    joint_damping: tuple[float, ...] = parameter(
        (),
        "Joint damping in place of the description's, N m s/rad or N s/m: one for all or one for each joint",
        minimum=0.0,
    )
    joint_friction: tuple[float, ...] = parameter(
        (), "Coulomb friction in place of the description's, N m or N: one for all or one for each joint", minimum=0.0
    )
    effort_limits: bool = parameter(True, "Commands are clipped at the description's effort limits")
    position_limits: bool = parameter(True, "Joints stop at the description's position limits, without rebound")
    command_timeout: float = parameter(
        0.0,
        "When commands stop for longer (s of simulated time), all efforts are zero. 0: never",
        minimum=0.0,
        maximum=60.0,
    )
    lockstep: bool = parameter(
        False,
        "Wait for the command after each joint state, so that a run does not depend on the machine's speed. Use it "
        "with publish_clock, and use_sim_time elsewhere",
    )
    start_braked: bool = parameter(True, "Brakes hold the robot until the first command")
    inertia_error: float = parameter(
        0.0,
        "Each body's mass, centre of mass and inertia are off by up to this fraction, at random",
        minimum=0.0,
        maximum=0.9,
    )
    inertia_seed: int = parameter(0, "Seed of the errors", minimum=0)
    payload_frame: str = parameter("", "Link or joint that carries a load. Empty: none")
    payload_mass: float = parameter(0.0, "Mass of the load on `payload_frame`, kg", minimum=0.0)
    payload_com: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0), "Centre of mass of the load in the frame `payload_frame`, m"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        per_name("parameter 'initial_positions'", self.initial_joints, self.initial_positions)
        check_vector("payload_com", self.payload_com)
        if 1.0 / self.publish_rate < self.step * (1.0 - 1e-9):
            raise ValueError("parameter 'publish_rate' is higher than one message for each step")

    @property
    def root(self) -> Base:
        return self.base


SIMULATOR = Interface(
    "simulator",
    "Forward dynamics in real time: effort commands in, joint states out, with the friction, limits and brakes of a"
    " real robot. A state that has diverged is never published.",
    SimulatorParameters,
    (
        Topic("~/commands", "std_msgs/msg/Float64MultiArray", False, "Efforts in the order of `joints`"),
        Topic("~/effort", "sensor_msgs/msg/JointState", False, "Efforts by joint name; the other joints keep theirs"),
        ROBOT_DESCRIPTION,
        Topic("joint_states", "sensor_msgs/msg/JointState", True, "Position, velocity and the effort that acts"),
        Topic("~/wrench", "geometry_msgs/msg/WrenchStamped", True,
              "Wrench of constraints and contacts on the robot at `wrench_frame`, if that is set"),
        Topic("/clock", "rosgraph_msgs/msg/Clock", True, "Simulated time, if `publish_clock`"),
        PAYLOADS,
        DIAGNOSTICS,
    ),
    (
        Service("~/reset", "std_srvs/srv/Trigger", "Back to the start, at rest, brakes on; time goes on"),
        Service("~/pause", "std_srvs/srv/SetBool", "true: stop time; false: go on"),
        Service("~/step", "rbd_dynamics_interfaces/srv/Step", "Advance a paused simulation by some steps"),
        SET_PAYLOAD,
    ),
    (
        Service("~/simulate", "rbd_dynamics_interfaces/action/Simulate",
                "A rollout of any length from any state, separate from the live simulation, with feedback and "
                "cancel"),
    ),
    examples=(
        "--ros-args -p real_time_factor:=0.5",
        "--ros-args --params-file simulator.yaml -p base:=floating",
    ),
)  # fmt: skip
