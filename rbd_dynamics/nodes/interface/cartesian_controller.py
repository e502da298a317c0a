# SPDX-License-Identifier: Apache-2.0
"""The interface of node `cartesian_controller`."""

from __future__ import annotations

from dataclasses import dataclass

from rbd_dynamics.control.cartesian.controller import Carrier
from rbd_dynamics.control.cartesian.gains import CartesianGains
from rbd_dynamics.control.cartesian.law import Law
from rbd_dynamics.control.terms import TERMS, WITHOUT_FRICTION
from rbd_dynamics.nodes.interface.common import (
    ACCEPT_DESCRIPTION,
    COMMANDS,
    DIAGNOSTICS,
    PAYLOADS,
    ROBOT_DESCRIPTION,
    SET_PAYLOAD,
    check_vector,
    soften_unstable_gains_parameter,
)
from rbd_dynamics.nodes.interface.parameters import parameter
from rbd_dynamics.nodes.interface.tables import Interface, Topic
from rbd_dynamics.nodes.interface.tool import CONTINUED_EFFORT, HAND_OVER, ToolParameters
from rbd_dynamics.nodes.interface.torque import EFFORT

DEFAULTS = CartesianGains()
RATES_ANSWER = 0.02  # s: efforts that change no faster than usual answer a velocity no sooner


def _axes(description: str, largest: float) -> tuple[float, ...]:
    return parameter((), description, minimum=0.0, maximum=largest, dynamic=True)


@dataclass(frozen=True)
class CartesianControllerParameters(ToolParameters):
    """Parameters of node `cartesian_controller`."""

    tool_frame: str = parameter("", "Link or joint that the tool is on")
    tool_position: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0), "The tool's point in `tool_frame`, m. Changes only while it holds", dynamic=True
    )
    tool_orientation: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0),
        "The tool's axes in `tool_frame`: roll, pitch, yaw, rad. Changes only while it holds",
        dynamic=True,
    )
    law: Law = parameter(
        "impedance",
        "impedance: the robot keeps its inertia, contact feels a passive spring and damper; operational_space: the "
        "error is decoupled, stiffness and damping are per effective inertia, in 1/s^2 and 1/s",
        dynamic=True,
    )
    terms: tuple[str, ...] = parameter(
        WITHOUT_FRICTION,
        "Terms of the model that are compensated; leave out what the robot compensates itself. gravity and spring "
        "alone make a plain J^T impedance",
        choices=TERMS,
        dynamic=True,
    )
    stiffness: tuple[float, ...] = _axes(
        "Stiffness along its axes, N/m (impedance) or 1/s^2 (operational_space): one for all or one for each of x, "
        "y, z. Empty: 500 N/m, or 400 1/s^2",
        1e5,
    )
    rotational_stiffness: tuple[float, ...] = _axes(
        "Stiffness about the axes of stiffness, N m/rad or 1/s^2: one for all or one for each. Empty: 30 N m/rad, or "
        "400 1/s^2",
        1e5,
    )
    damping: tuple[float, ...] = _axes(
        "Damping along the axes of stiffness, N s/m or 1/s. Empty: by `damping_ratio`, with the inertia that moves",
        1e4,
    )
    rotational_damping: tuple[float, ...] = _axes(
        "Damping about the axes of stiffness, N m s/rad or 1/s. Empty: by `damping_ratio`, with the inertia that moves",
        1e4,
    )
    damping_ratio: float = parameter(
        DEFAULTS.damping_ratio,
        "Damping ratio of all swings of the tool; 1 is critical",
        minimum=0.0,
        maximum=10.0,
        dynamic=True,
    )
    stiffness_axes: Carrier = parameter(
        "root", "What the axes of stiffness turn with: root (not at all), tool, wanted (the desired tool)",
        dynamic=True,
    )  # fmt: skip
    stiffness_orientation: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0),
        "Angles of the axes of stiffness to what they turn with (`stiffness_axes`): roll, pitch, yaw, rad",
        dynamic=True,
    )
    stiffness_time: float = parameter(
        DEFAULTS.stiffness_time, "Time constant of a change of stiffness, s", minimum=0.0, maximum=10.0, dynamic=True
    )
    largest_stiffness: tuple[float, ...] = parameter(
        (5000.0, 500.0),
        "Largest stiffness accepted on ~/target_stiffness: N/m and N m/rad, or 1/s^2. More is refused",
        minimum=0.0,
        dynamic=True,
    )
    tank_size: float = parameter(
        DEFAULTS.tank_size,
        "Energy that may be put into a spring that becomes stiffer before damping gives some back, J: so the robot "
        "stays passive. 0: as much as it takes",
        minimum=0.0,
        maximum=1e3,
        dynamic=True,
    )
    tank_share: float = parameter(
        DEFAULTS.tank_share,
        "Fraction of the energy that damping takes out that fills the tank",
        minimum=0.0,
        maximum=1.0,
        dynamic=True,
    )
    posture: tuple[float, ...] = parameter(
        (),
        "Posture towards which the joints are pulled as far as the tool leaves them free, rad or m, in the order of"
        " `joints`. Empty: that when it began to hold, or as ~/target_joint says",
        dynamic=True,
    )
    posture_kp: float = parameter(
        DEFAULTS.posture_kp, "Stiffness of the pull towards the posture, 1/s^2", minimum=0.0, maximum=1e4, dynamic=True
    )
    posture_kd: float = parameter(
        DEFAULTS.posture_kd, "Damping of the pull towards the posture, 1/s", minimum=0.0, maximum=1e3, dynamic=True
    )
    soften_unstable_gains: bool = soften_unstable_gains_parameter()
    largest_force: float = parameter(
        DEFAULTS.largest_force,
        "Largest force of spring and desired wrench together, N; a ~/target_wrench beyond it is refused",
        minimum=0.0,
        dynamic=True,
    )
    largest_moment: float = parameter(
        DEFAULTS.largest_moment,
        "Largest moment of spring and desired wrench together, N m; a ~/target_wrench beyond it is refused",
        minimum=0.0,
        dynamic=True,
    )
    wrench_rate: float = parameter(
        100.0, "How fast the desired wrench is approached, N/s and N m/s", minimum=0.0, dynamic=True
    )
    wrench_timeout: float = parameter(
        0.0,
        "When target wrenches stop for longer (s), none applies any more. 0: the last one stays",
        minimum=0.0,
        maximum=60.0,
        dynamic=True,
    )
    largest_mass: float = parameter(
        DEFAULTS.largest_mass,
        "Largest effective mass assumed in any direction, kg: it bounds the efforts near singular postures",
        minimum=1e-3,
        maximum=1e6,
        dynamic=True,
    )
    largest_inertia: float = parameter(
        DEFAULTS.largest_inertia,
        "Largest effective inertia assumed about any direction, kg m^2: it bounds the efforts near singular postures",
        minimum=1e-6,
        maximum=1e6,
        dynamic=True,
    )
    largest_energy: float = parameter(
        0.0,
        "Largest kinetic energy of the robot, J: a motion takes some 0.42 of it, and a robot that nears it is "
        "braked, whatever drives it. 0: that of the joints' velocity limits, each with the largest inertia it meets",
        minimum=0.0,
        dynamic=True,
    )
    joint_limit_margin: float = parameter(
        DEFAULTS.joint_limit_margin,
        "Distance at which joint limits begin to repel, rad or m",
        minimum=0.0,
        maximum=10.0,
        dynamic=True,
    )
    joint_limit_torque: tuple[float, ...] = parameter(
        (),
        "Repulsion at the limit itself, N m or N: one for all or one for each joint. Empty: 0.3 of the "
        "description's effort limit. 0: none",
        minimum=0.0,
        dynamic=True,
    )
    least_manipulability: float = parameter(
        DEFAULTS.least_manipulability,
        "sqrt(det(J J^T)), as in the diagnostics, below which singular postures repel the arm. 0: never",
        minimum=0.0,
        dynamic=True,
    )
    singularity_stiffness: float = parameter(
        DEFAULTS.singularity_stiffness,
        "Energy of the repulsion from singular postures, J",
        minimum=0.0,
        maximum=1e4,
        dynamic=True,
    )
    follow_rate: float = parameter(
        20.0,
        "Rate at which a target pose is approached, and a stream of poses followed, 1/s",
        minimum=0.1,
        maximum=200.0,
        dynamic=True,
    )
    workspace_lower: tuple[float, ...] = parameter(
        (), "Lower bounds of the tool's targets, m in the root frame: x, y, z. Empty: none", dynamic=True
    )
    workspace_upper: tuple[float, ...] = parameter(
        (), "Upper bounds of the tool's targets, m in the root frame: x, y, z. Empty: none", dynamic=True
    )
    start_tolerance: float = parameter(
        0.05, "A trajectory that begins farther than this (m, rad) from the tool is refused", minimum=0.0, dynamic=True
    )
    setpoint_timeout: float = parameter(
        0.5,
        "When target twists stop for longer (s), the tool is stopped and held. 0: never. Target poses stay",
        minimum=0.0,
        maximum=60.0,
        dynamic=True,
    )
    setpoint_tolerance: float = parameter(
        0.02, "A trajectory of one point at time zero that is farther from the desired pose is refused. 0: any",
        minimum=0.0, dynamic=True,
    )  # fmt: skip
    velocity_limits: tuple[float, ...] = parameter(
        (1.0, 1.0, 1.0, 0.5, 0.5, 0.5),
        "Velocity limits of the tool's desired motion, rad/s and m/s: one for all or one for each of rx, ry, rz, x, "
        "y, z; 0: none",
        minimum=0.0,
        dynamic=True,
    )
    acceleration_limits: tuple[float, ...] = parameter(
        (10.0, 10.0, 10.0, 5.0, 5.0, 5.0),
        "Acceleration limits of the tool's desired motion, rad/s^2 and m/s^2: as `velocity_limits`",
        minimum=0.0,
        dynamic=True,
    )
    path_tolerance: tuple[float, ...] = parameter(
        (0.2,),
        "A tool farther than this (rad, m) from its desired pose, in a motion or while it is held, ends the motion and "
        "is held where it is: one for all or one for each of rx, ry, rz, x, y, z; 0 or empty: never",
        minimum=0.0,
        dynamic=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("tool_position", "tool_orientation", "stiffness_orientation"):
            check_vector(name, getattr(self, name))
        for name in ("workspace_lower", "workspace_upper"):
            if getattr(self, name):
                check_vector(name, getattr(self, name))
        if len(self.largest_stiffness) != 2:
            raise ValueError(f"parameter 'largest_stiffness' must have 2 numbers, got {len(self.largest_stiffness)}")

    @property
    def _braking_time(self) -> float:
        """How far ahead joints that near their limits are braked, s.

        Efforts that change no faster than their rates answer later than drives do; looking much farther ahead than
        drives are late is feedback of accelerations, which swings.
        """
        soon, may_jump = self.reaction_time, bool(self.effort_rate_limits) and not any(self.effort_rate_limits)
        return soon if may_jump else max(soon, min(RATES_ANSWER, 2.0 * soon))

    @property
    def gains(self) -> CartesianGains:
        return CartesianGains(
            stiffness=self.stiffness or None,
            rotational_stiffness=self.rotational_stiffness or None,
            damping=self.damping or None,
            rotational_damping=self.rotational_damping or None,
            damping_ratio=self.damping_ratio,
            reaction_time=self._braking_time,
            stiffness_time=self.stiffness_time,
            tank_size=self.tank_size,
            tank_share=self.tank_share,
            posture_kp=self.posture_kp,
            posture_kd=self.posture_kd,
            largest_force=self.largest_force,
            largest_moment=self.largest_moment,
            largest_mass=self.largest_mass,
            largest_inertia=self.largest_inertia,
            joint_limit_margin=self.joint_limit_margin,
            joint_limit_torque=self.joint_limit_torque or None,
            largest_energy=self.largest_energy or None,
            least_manipulability=self.least_manipulability,
            singularity_stiffness=self.singularity_stiffness,
        )


CARTESIAN_CONTROLLER = Interface(
    "cartesian_controller",
    "Cartesian impedance and operational-space control: the tool compliantly follows poses, twists and "
    "trajectories. It is held where it is until one of these arrives.",
    CartesianControllerParameters,
    (
        Topic("joint_states", "sensor_msgs/msg/JointState", False, "Measured state, best effort"),
        Topic("~/target_pose", "geometry_msgs/msg/PoseStamped", False,
              "Where the tool should be, in the root frame (frame_id: its link, or empty): it goes there within the"
              " limits, from wherever it is, and stays there; streams are followed"),
        Topic("~/target_twist", "geometry_msgs/msg/TwistStamped", False,
              "How the tool should move, in root axes, or in its own if frame_id is `tool_frame`; valid for "
              "`setpoint_timeout`"),
        Topic("~/cartesian_trajectory", "trajectory_msgs/msg/MultiDOFJointTrajectory", False,
              "Desired motion of the tool in the root frame, of one joint, named as `tool_frame` or `tool`: points "
              "in time, from header.stamp (zero: as soon as it is planned), that start without a jump and end at "
              "rest. No point means hold. A trajectory that exceeds the limits anywhere, even between points, is "
              "refused"),
        Topic("~/target_wrench", "geometry_msgs/msg/WrenchStamped", False,
              "What the tool should press with in addition, at its point, in root axes, or in its own if frame_id "
              "is `tool_frame`"),
        Topic("~/target_stiffness", "std_msgs/msg/Float64MultiArray", False,
              "Stiffness until the parameters change: six numbers x, y, z, rx, ry, rz, or 36 of the matrix in that "
              "order, row by row, along the axes of stiffness"),
        Topic("~/target_joint", "sensor_msgs/msg/JointState", False,
              "Posture towards which the joints are pulled as far as the tool leaves them free; some joints or all"),
        CONTINUED_EFFORT,
        ROBOT_DESCRIPTION,
        COMMANDS,
        EFFORT,
        Topic("~/current_pose", "geometry_msgs/msg/PoseStamped", True, "Where the tool is, in the root frame"),
        Topic("~/wanted_pose", "geometry_msgs/msg/PoseStamped", True,
              "The tool's present desired pose, on the way to the target, in the root frame"),
        Topic("~/current_twist", "geometry_msgs/msg/TwistStamped", True, "How its point moves, in root axes"),
        Topic("~/current_wrench", "geometry_msgs/msg/WrenchStamped", True,
              "The wrench of spring, damper and desired wrench together, in root axes"),
        PAYLOADS,
        DIAGNOSTICS,
    ),
    (HAND_OVER, ACCEPT_DESCRIPTION, SET_PAYLOAD,),
    examples=(
        "--ros-args --params-file cartesian_controller.yaml",
        '--ros-args -p tool_frame:=tool0 -p stiffness:="[800.0, 800.0, 200.0]"',
    ),
)  # fmt: skip
