# SPDX-License-Identifier: Apache-2.0
"""The interface of node `hybrid_controller`."""

from __future__ import annotations

from dataclasses import dataclass

from rbd_dynamics.constraints import DIRECTIONS
from rbd_dynamics.control.hybrid.law import Law
from rbd_dynamics.control.hybrid.task import SURFACES
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
from rbd_dynamics.nodes.interface.tables import Interface, Service, Topic
from rbd_dynamics.nodes.interface.tool import CONTINUED_EFFORT, HAND_OVER, ToolParameters
from rbd_dynamics.nodes.interface.torque import EFFORT


@dataclass(frozen=True)
class HybridControllerParameters(ToolParameters):
    """Parameters of node `hybrid_controller`."""

    tool_frame: str = parameter("", "Link or joint of the tool")
    tool_position: tuple[float, ...] = parameter((0.0, 0.0, 0.0), "The tool's point in `tool_frame`, m", dynamic=True)
    tool_orientation: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0), "The tool's axes in `tool_frame`: roll, pitch, yaw, rad", dynamic=True
    )
    task_position: tuple[float, ...] = parameter((0.0, 0.0, 0.0), "Task frame in the root frame, m", dynamic=True)
    task_orientation: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0),
        "Axes of the task frame in the root frame: roll, pitch, yaw, rad. The tool moves relative to these",
        dynamic=True,
    )
    surface: str = parameter(
        "plane",
        "What the tool's point touches, in the task frame: z = 0, a sphere about its origin, a cylinder about its z "
        "axis",
        choices=SURFACES,
        dynamic=True,
    )
    surface_radius: float = parameter(1.0, "Radius of a sphere or cylinder, m", minimum=1e-6, maximum=1e6, dynamic=True)
    contact_offset: float = parameter(
        0.0, "Distance of the tool's point from the surface, m: the radius of a ball", dynamic=True
    )
    constrained: tuple[str, ...] = parameter(
        (),
        "Directions of the task frame held by something other than the surface",
        choices=DIRECTIONS,
        dynamic=True,
    )
    controlled: tuple[str, ...] = parameter(
        ("rx", "ry", "rz", "x", "y"),
        "Directions of the task frame along which the tool is moved",
        choices=DIRECTIONS,
        dynamic=True,
    )
    law: Law = parameter("geometric", "Control law: see theory.md section 8", dynamic=True)
    sensor_frame: str = parameter(
        "", "Link or joint at which the wrench is measured, fixed to the tool. Empty: tool_frame"
    )
    sensor_tool: tuple[float, ...] = parameter(
        (),
        "Tool and bias that are subtracted from the readings, as `~/calibrate_sensor` or `rbd_dynamics sensor-tool` "
        "found them: mass, kg, centre of mass (3), m, bias of torque (3), N m, and of force (3), N, in "
        "`sensor_frame`. Empty: none",
    )
    wrench_of_robot: bool = parameter(
        False, "The sensor reports the wrench that the robot exerts; false: the one that acts on it", dynamic=True
    )
    desired_force: tuple[float, ...] = parameter(
        (),
        "Force (N) or moment (N m) of each constraint row on the robot; positive presses on a surface. Empty: zero, "
        "or what ~/desired_wrench says",
        dynamic=True,
    )
    kp: tuple[float, ...] = parameter(
        (),
        "Position gains of the controlled directions, 1/s^2 (1/s for the gauge-invariant law): one for all or one "
        "for each. Empty: 1200 (30)",
        minimum=0.0,
        maximum=1e5,
        dynamic=True,
    )
    kd: tuple[float, ...] = parameter(
        (), "Velocity gains, 1/s, likewise. Empty: 70 (40)", minimum=0.0, maximum=1000.0, dynamic=True
    )
    task_ki: float = parameter(
        8.0,
        "Gain of the integral of the controlled directions' error, 1/s: kp (e + task_ki int e). 0: none",
        minimum=0.0,
        maximum=1000.0,
        dynamic=True,
    )
    task_integral_limit: float = parameter(
        20.0,
        "Largest acceleration that this integral may add, m/s^2 or rad/s^2",
        minimum=0.0,
        maximum=1e4,
        dynamic=True,
    )
    ki: float = parameter(
        5.0,
        "Gain of the force error's integral, 1/s. Must be below normal_damping",
        minimum=0.0,
        maximum=1000.0,
        dynamic=True,
    )
    integral_limit: float = parameter(
        20.0, "Largest force that the integral may add, N or N m", minimum=0.0, maximum=1e4, dynamic=True
    )
    normal_damping: float = parameter(
        30.0, "Damping of motion against the constraints, 1/s", minimum=0.0, maximum=1000.0, dynamic=True
    )
    posture_kp: float = parameter(
        25.0,
        "Stiffness, 1/s^2, of the joints' free motion, towards the posture when engaged",
        minimum=0.0,
        maximum=1e5,
        dynamic=True,
    )
    posture_kd: float = parameter(
        10.0, "Damping of the joints' free motion, 1/s", minimum=0.0, maximum=1000.0, dynamic=True
    )
    state_timeout: float = parameter(
        0.1,
        "A joint state whose stamp is off by more (s) is stale; none for longer: stop. 0: never",
        minimum=0.0,
        maximum=60.0,
        dynamic=True,
    )
    sensor_timeout: float = parameter(
        0.05, "Stop if no wrench for longer (s)", minimum=1e-3, maximum=10.0, dynamic=True
    )
    contact_force: float = parameter(
        1.0, "A rise of the reading by this is contact, less is not, N", minimum=0.01, maximum=1e4, dynamic=True
    )
    contact_debounce: float = parameter(0.005, "How long the rise must last, s", minimum=0.0, maximum=1.0, dynamic=True)
    tare_on_engage: bool = parameter(
        True,
        "What the sensor reads in free motion, on the way to the surface, counts as zero; false: readings are taken"
        " as they are, and contact_force is contact at once",
        dynamic=True,
    )
    contact_timeout: float = parameter(0.1, "Longest loss of contact, s", minimum=0.0, maximum=10.0, dynamic=True)
    largest_force: float = parameter(
        50.0, "Stop above this; refuse a desired force above it, N or N m", minimum=0.0, dynamic=True
    )
    largest_side_force: float = parameter(
        0.0,
        "Stop where the sensor reads a larger force beside the constraints, as of friction or a wall, N. 0: as "
        "largest_force",
        minimum=0.0,
        dynamic=True,
    )
    largest_moment: float = parameter(
        10.0,
        "Stop where the sensor reads a larger moment about the tool's point beside the constraints, N m",
        minimum=0.0,
        dynamic=True,
    )
    largest_power: float = parameter(
        20.0, "Stop where the tool does more work on what it touches, W", minimum=0.0, dynamic=True
    )
    normal_speed: float = parameter(
        0.05,
        "Largest speed into a surface while pressing, m/s: the force gives way before, so that a tool does not run "
        "away where contact is lost. 0: any",
        minimum=0.0,
        maximum=10.0,
        dynamic=True,
    )
    constraint_tolerance: float = parameter(
        0.01,
        "A constraint violated by more (m, rad) is not where it should be: stop; for the surface, only before it is"
        " touched",
        minimum=0.0,
        maximum=10.0,
        dynamic=True,
    )
    press_tolerance: float = parameter(
        0.03,
        "Farther than this (m) from its place while it is pressed, the surface is not where it should be: stop. It "
        "may yield, tilt or curve by as much",
        minimum=0.0,
        maximum=10.0,
        dynamic=True,
    )
    estimate_normal: bool = parameter(
        False,
        "Estimate the surface normal from force and motion while the tool moves, and turn the task frame with it",
        dynamic=True,
    )
    largest_tilt: float = parameter(
        0.35, "By how much an estimated normal may turn the task frame, rad", minimum=0.0, maximum=1.0, dynamic=True
    )
    reach: float = parameter(
        0.5,
        "A controlled direction farther from the task frame (m, rad) stops. Rotations stop at half a turn in any case, "
        "beyond which no angle is unique",
        minimum=0.0,
        dynamic=True,
    )
    force_rate: float = parameter(20.0, "How fast the force approaches the desired one, N/s", minimum=0.1, dynamic=True)
    approach_speed: float = parameter(
        0.01,
        "Speed towards a surface not yet touched when engaging, m/s. 0: engaging is refused. The impact force is "
        "about speed * sqrt(stiffness * effective mass)",
        minimum=0.0,
        maximum=0.5,
        dynamic=True,
    )
    approach_force: float = parameter(
        20.0, "Largest force to keep that speed, N, against errors of the model", minimum=0.0, maximum=1e4,
        dynamic=True,
    )  # fmt: skip
    approach_distance: float = parameter(0.1, "Longest way without contact, m", minimum=0.0, maximum=10.0, dynamic=True)
    approach_timeout: float = parameter(
        30.0, "Longest time without contact, s", minimum=0.0, maximum=3600.0, dynamic=True
    )
    hold_stiffness: float = parameter(
        400.0, "Stiffness with which the tool is held while not engaged, 1/s^2", minimum=0.0, maximum=1e5, dynamic=True
    )
    soften_unstable_gains: bool = soften_unstable_gains_parameter()
    hold_damping: float = parameter(
        40.0, "Damping with which the tool is held while not engaged, 1/s", minimum=0.0, maximum=1000.0, dynamic=True
    )
    hold_load: bool = parameter(
        True,
        "While not engaged: make up for what acts on the arm beside its model, such as a load it does not know, within "
        "a tenth of its effort limits; it is held more stiffly by that",
        dynamic=True,
    )
    hold_tolerance: float = parameter(
        0.2,
        "While not engaged: a joint found farther than this (rad, m) from where it is held is held at its new place, "
        "and the diagnostics have an error until `~/engage`. 0: it is drawn back from anywhere",
        minimum=0.0,
        dynamic=True,
    )
    start_tolerance: float = parameter(
        0.01, "A trajectory that begins farther than this (m, rad) from the tool is refused", minimum=0.0, dynamic=True
    )
    setpoint_timeout: float = parameter(
        0.5,
        "When setpoints stop for longer (s), the tool is held where it is. 0: never",
        minimum=0.0,
        maximum=60.0,
        dynamic=True,
    )

    setpoint_tolerance: float = parameter(
        0.02, "A setpoint farther than this (m, rad) from the desired pose is refused. 0: any", minimum=0.0,
        dynamic=True,
    )  # fmt: skip
    velocity_limits: tuple[float, ...] = parameter(
        (1.0,),
        "Velocity limits of the desired motion, also between points, m/s or rad/s: one for all or one for each of "
        "`controlled`; 0 or empty: none",
        minimum=0.0,
        dynamic=True,
    )
    acceleration_limits: tuple[float, ...] = parameter(
        (10.0,),
        "Acceleration limits of the desired motion, also between points, m/s^2 or rad/s^2: as `velocity_limits`",
        minimum=0.0,
        dynamic=True,
    )
    path_tolerance: tuple[float, ...] = parameter(
        (0.1,),
        "A tool farther than this (m, rad) from its desired pose ends the motion and is held where it is: one for "
        "all or one for each of `controlled`; 0 or empty: never",
        minimum=0.0,
        dynamic=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_vector("task_position", self.task_position)
        check_vector("task_orientation", self.task_orientation)
        check_vector("tool_position", self.tool_position)
        check_vector("tool_orientation", self.tool_orientation)


HYBRID_CONTROLLER = Interface(
    "hybrid_controller",
    "Hybrid position/force control: holds the robot until it is engaged, finds the surface, presses with the "
    "desired force and moves along it. It goes back to holding, and says why, when the sensor or the joint states "
    "fall silent, contact is lost, the force is too large, or the surface is not found or not where it should be.",
    HybridControllerParameters,
    (
        Topic("joint_states", "sensor_msgs/msg/JointState", False, "Measured state, best effort"),
        Topic("wrench", "geometry_msgs/msg/WrenchStamped", False,
              "Wrench on the robot at `sensor_frame`, best effort, without the tool's weight, unless "
              "`~/calibrate_sensor` has found it"),
        Topic("~/joint_trajectory", "trajectory_msgs/msg/JointTrajectory", False,
              "Desired motion of the controlled directions, named tool.x, tool.rz...: several points are a "
              "trajectory in time, one at time zero is a setpoint that takes effect at once, no point means hold; "
              "all within the limits, even between points. Only while engaged"),
        Topic("~/desired_wrench", "geometry_msgs/msg/WrenchStamped", False,
              "What the sensor should read; only the constrained part of it counts"),
        CONTINUED_EFFORT,
        ROBOT_DESCRIPTION,
        COMMANDS,
        EFFORT,
        Topic("~/task_state", "rbd_dynamics_interfaces/msg/TaskState", True,
              "While engaged: the controlled directions, measured and desired; for each constraint the violation, "
              "its rate, and the force, measured and desired; with estimate_normal also the surface's tilt"),
        Topic("~/surface_normal", "geometry_msgs/msg/PoseStamped", True,
              "While engaged with a `surface`: the tool's point in the root frame, with the x axis along the "
              "outward normal, estimated or else as given; viewers draw it as an arrow"),
        PAYLOADS,
        DIAGNOSTICS,
    ),
    (
        Service("~/engage", "std_srvs/srv/SetBool", "true: approach and press; false: hold"),
        Service("~/tare", "std_srvs/srv/Trigger",
                "Make the sensor's present reading its zero; not while engaged"),
        Service("~/calibrate_sensor", "std_srvs/srv/Trigger",
                "Take a reading in the present pose, at rest and touching nothing, to find the tool on the sensor and "
                "the sensor's bias; the answer says what is known, and which orientation is still needed. Once known, "
                "both are subtracted in every orientation. Not while engaged or moving"),
        Service("~/forget_calibration", "std_srvs/srv/Trigger",
                "Stop subtracting tool and bias from the readings, and begin anew; not while engaged"),
        HAND_OVER, ACCEPT_DESCRIPTION, SET_PAYLOAD,
    ),
    examples=(
        "--ros-args --params-file hybrid_controller.yaml",
        '--ros-args --params-file hybrid_controller.yaml -p desired_force:="[5.0]"',
    ),
)  # fmt: skip
