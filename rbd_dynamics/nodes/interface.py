# SPDX-License-Identifier: Apache-2.0
"""Everything the nodes show to the outside, as tables: parameters, topics and services.

The nodes declare their parameters from here; docs/nodes.md is written from here; tests compare both, and
config/*.yaml, with the running nodes. Nothing here imports ROS.
"""

from __future__ import annotations

from dataclasses import dataclass

from rbd_dynamics.constraints import DIRECTIONS
from rbd_dynamics.control.feedforward import EVALUATE_AT
from rbd_dynamics.control.feedforward import LAWS as FEEDFORWARD_LAWS
from rbd_dynamics.control.hybrid_position_force import LAWS
from rbd_dynamics.control.hybrid_task import SURFACES
from rbd_dynamics.control.terms import TERMS
from rbd_dynamics.control.trajectory import INTERPOLATIONS
from rbd_dynamics.joint_states.reader import MISSING_VELOCITY
from rbd_dynamics.nodes.parameters import Parameter
from rbd_dynamics.simulation.simulation import INTEGRATORS, STABILIZATIONS


@dataclass(frozen=True)
class Topic:
    """A topic of a node; relative names are in its name space, ~/ is the node's own."""

    name: str
    kind: str
    published: bool
    description: str


@dataclass(frozen=True)
class Service:
    """A service of a node."""

    name: str
    kind: str
    description: str


@dataclass(frozen=True)
class Interface:
    """All of one node, besides what every life-cycle node of ROS 2 has."""

    executable: str
    summary: str
    parameters: tuple[Parameter, ...]
    topics: tuple[Topic, ...]
    services: tuple[Service, ...]
    actions: tuple[Service, ...] = ()


COMMON_PARAMETERS = (
    Parameter("robot_description", "string", "",
              "URDF of the robot. Empty: from the topic robot_description", dynamic=True),
    Parameter("gravity", "double_array", [0.0, 0.0, -9.81], "Gravity in the root frame, m/s^2"),
    Parameter("locked_joints", "string_array", [], "Joints that do not move, by name"),
    Parameter("locked_positions", "double_array", [], "Where they are, rad or m. Empty: at zero"),
    Parameter("tf_prefix", "string", "",
              "Put before joint and frame names in messages, where the description does not have it already"),
    Parameter("autostart", "bool", True, "Configure and activate at once; false: a life-cycle manager does"),
    Parameter("executor", "string", "auto",
              "What calls the callbacks; auto: the events executor where it works, else the single-threaded one",
              choices=("auto", "events", "single_threaded")),
)  # fmt: skip


FEEDFORWARD_PARAMETERS = (
    *COMMON_PARAMETERS,
    Parameter("joints", "string_array", [], "Controlled joints, which order the efforts. Empty: all of the robot"),
    Parameter("terms", "string_array", ["inertia", "coriolis", "gravity"],
              "Terms of the feedforward torque; leave out what the robot compensates itself",
              choices=TERMS, dynamic=True),
    Parameter("evaluate_at", "string", "measured", "State at which the model is evaluated",
              choices=EVALUATE_AT, dynamic=True),
    Parameter("law", "string", "feedforward",
              "feedforward: the PD adds torque; computed_torque: it adds acceleration, so that all joints' errors die "
              "out alike, and its gains are in 1/s^2 and 1/s", choices=FEEDFORWARD_LAWS, dynamic=True),
    Parameter("kp", "double_array", [], "Position gains, N m/rad or N/m: none, one for all or one for each joint",
              minimum=0.0, dynamic=True),
    Parameter("kd", "double_array", [], "Velocity gains, N m s/rad or N s/m: none, one for all or one for each joint",
              minimum=0.0, dynamic=True),
    Parameter("effort_limits", "double_array", [],
              "Efforts are cut off there, N m or N: one for all or one for each joint. Empty: the description's",
              minimum=0.0, dynamic=True),
    Parameter("state_timeout", "double", 0.1,
              "A joint state whose stamp is off by more (s) is stale and not answered. 0: any stamp is good",
              minimum=0.0, maximum=60.0, dynamic=True),
    Parameter("missing_velocity", "string", "differentiate",
              "Where a joint state lacks velocities: find them from two positions, or refuse it",
              choices=MISSING_VELOCITY),
    Parameter("interpolation", "string", "smooth",
              "Between trajectory points: smooth computes missing derivatives, as_given does what "
              "joint_trajectory_controller would", choices=INTERPOLATIONS, dynamic=True),
    Parameter("start_tolerance", "double", 0.1,
              "A trajectory that begins farther than this (rad, m) from the robot is refused",
              minimum=0.0, dynamic=True),
    Parameter("setpoint_timeout", "double", 0.5,
              "When set-points stop for longer (s), the robot is held: at the last one, or where it is if that is "
              "farther than `start_tolerance` from it. 0: never",
              minimum=0.0, maximum=60.0, dynamic=True),
)  # fmt: skip

DYNAMICS_SERVER_PARAMETERS = (
    *COMMON_PARAMETERS,
    Parameter("constraints_file", "string", "",
              "YAML file of constraints that requests may name, see docs/constraints.md. Empty: none are known"),
    Parameter("base", "string", "fixed", "floating: the root link moves freely, by the joint root_joint",
              choices=("fixed", "floating")),
    Parameter("terms", "string_array", list(TERMS),
              "Terms of inverse dynamics where a request names none; friction acts in forward and hybrid "
              "dynamics too if it is among them", choices=TERMS, dynamic=True),
)  # fmt: skip

SIMULATOR_PARAMETERS = (
    *COMMON_PARAMETERS,
    Parameter("base", "string", "fixed", "floating: the root link moves freely", choices=("fixed", "floating")),
    Parameter("joints", "string_array", [], "Order of ~/commands and joint_states. Empty: all of the robot"),
    Parameter("step", "double", 1e-3, "Step of the integration, s", minimum=1e-6, maximum=0.1),
    Parameter("publish_rate", "double", 500.0, "Joint states per second of simulated time",
              minimum=0.1, maximum=10000.0),
    Parameter("real_time_factor", "double", 1.0,
              "Simulated seconds per second. Other than 1 needs publish_clock here and use_sim_time elsewhere",
              minimum=0.001, maximum=100.0),
    Parameter("integrator", "string", "semi_implicit_euler", "Integration method", choices=INTEGRATORS),
    Parameter("scene_file", "string", "",
              "YAML file of constraints that hold and surfaces that may be touched, see docs/constraints.md. Contact "
              "needs the semi-implicit method. Empty: free motion"),
    Parameter("stabilization", "string", "none",
              "projection: after each step position and velocity are put on the constraints", choices=STABILIZATIONS),
    Parameter("wrench_frame", "string", "", "Link or joint of a force-torque sensor. Empty: there is none"),
    Parameter("wrench_noise", "double", 0.0, "Standard deviation of its forces, N; of torques a tenth of it, N m",
              minimum=0.0),
    Parameter("publish_clock", "bool", False, "Publish /clock; joint states are then stamped with simulated time"),
    Parameter("initial_joints", "string_array", [], "Joints that do not start at zero, by name"),
    Parameter("initial_positions", "double_array", [], "Where those start, rad or m"),
    Parameter("friction", "bool", True, "Joint damping and Coulomb friction act"),
    Parameter("joint_damping", "double_array", [],
              "Instead of the description's damping, N m s/rad or N s/m: one for all or one for each joint",
              minimum=0.0),
    Parameter("joint_friction", "double_array", [],
              "Instead of the description's Coulomb friction, N m or N: one for all or one for each joint",
              minimum=0.0),
    Parameter("effort_limits", "bool", True, "Commands are cut off at the description's effort limits"),
    Parameter("position_limits", "bool", True, "Joints stop at the description's position limits, without rebound"),
    Parameter("command_timeout", "double", 0.0,
              "When commands stop for longer (s of simulated time), all efforts are zero. 0: never",
              minimum=0.0, maximum=60.0),
    Parameter("lockstep", "bool", False,
              "After each joint state wait for its command, so that a run does not depend on how fast the "
              "machine is. Use it with publish_clock, and use_sim_time elsewhere"),
    Parameter("start_braked", "bool", True, "Brakes hold the robot until the first command"),
    Parameter("inertia_error", "double", 0.0,
              "Each body's mass, centre of mass and inertia are off by up to this fraction, at random",
              minimum=0.0, maximum=0.9),
    Parameter("inertia_seed", "int", 0, "Which random errors", minimum=0),
    Parameter("payload_frame", "string", "", "Link or joint that carries a load. Empty: none does"),
    Parameter("payload_mass", "double", 0.0, "Mass of that load, kg", minimum=0.0),
    Parameter("payload_com", "double_array", [0.0, 0.0, 0.0], "Its centre of mass in that frame, m"),
)  # fmt: skip

HYBRID_CONTROLLER_PARAMETERS = (
    *COMMON_PARAMETERS,
    Parameter("joints", "string_array", [], "Order of the efforts. Empty: the robot's; all must be there or be locked"),
    Parameter("tool_frame", "string", "", "Link or joint that touches"),
    Parameter("tool_position", "double_array", [0.0, 0.0, 0.0], "The tool's point in that frame, m", dynamic=True),
    Parameter("tool_orientation", "double_array", [0.0, 0.0, 0.0],
              "The tool's axes in that frame: roll, pitch, yaw, rad", dynamic=True),
    Parameter("task_position", "double_array", [0.0, 0.0, 0.0], "Task frame in the root frame, m", dynamic=True),
    Parameter("task_orientation", "double_array", [0.0, 0.0, 0.0],
              "Its axes: roll, pitch, yaw, rad. The tool's are moved relative to these", dynamic=True),
    Parameter("surface", "string", "plane",
              "What the tool's point touches, in the task frame: z = 0, a sphere about its origin, a cylinder about "
              "its z axis", choices=SURFACES, dynamic=True),
    Parameter("surface_radius", "double", 1.0, "Of sphere or cylinder, m", minimum=1e-6, maximum=1e6, dynamic=True),
    Parameter("contact_offset", "double", 0.0,
              "Distance of the tool's point from the surface, m: the radius of a ball", dynamic=True),
    Parameter("constrained", "string_array", [],
              "Directions of the task frame that are held by something else than the surface",
              choices=DIRECTIONS, dynamic=True),
    Parameter("controlled", "string_array", ["rx", "ry", "rz", "x", "y"],
              "Directions of the task frame along which the tool is moved", choices=DIRECTIONS, dynamic=True),
    Parameter("law", "string", "geometric", "Control law: see theory.md section 8", choices=LAWS, dynamic=True),
    Parameter("sensor_frame", "string", "",
              "Link or joint at which the wrench is measured, fixed to the tool. Empty: tool_frame"),
    Parameter("wrench_of_robot", "bool", False,
              "The sensor tells the wrench that the robot exerts; false: the one that acts on the robot", dynamic=True),
    Parameter("desired_force", "double_array", [],
              "Force (N) or moment (N m) of each constraint row on the robot; positive presses on a surface. Empty: "
              "zero, or what ~/desired_wrench says", dynamic=True),
    Parameter("kp", "double_array", [], "Position gains of the controlled directions, 1/s^2 (1/s for the "
              "gauge-invariant law): one for all or one for each. Empty: 100", minimum=0.0, dynamic=True),
    Parameter("kd", "double_array", [], "Velocity gains, 1/s, likewise. Empty: 20", minimum=0.0, dynamic=True),
    Parameter("ki", "double", 5.0, "Gain of the force error's integral, 1/s",
              minimum=0.0, maximum=1000.0, dynamic=True),
    Parameter("integral_limit", "double", 10.0, "Largest force that the integral may add, N or N m",
              minimum=0.0, dynamic=True),
    Parameter("normal_damping", "double", 30.0, "Damping of motion against the constraints, 1/s",
              minimum=0.0, maximum=1000.0, dynamic=True),
    Parameter("posture_kp", "double", 0.0,
              "Stiffness, 1/s^2, of what the task leaves free, towards where it was when it engaged",
              minimum=0.0, dynamic=True),
    Parameter("posture_kd", "double", 5.0, "Damping of that, 1/s", minimum=0.0, maximum=1000.0, dynamic=True),
    Parameter("effort_limits", "double_array", [],
              "Efforts are cut off there, N m or N: one for all or one for each joint. Empty: the description's",
              minimum=0.0, dynamic=True),
    Parameter("state_timeout", "double", 0.1,
              "A joint state whose stamp is off by more (s) is stale; longer without one stops. 0: never",
              minimum=0.0, maximum=60.0, dynamic=True),
    Parameter("sensor_timeout", "double", 0.05, "Longer without a wrench (s) stops",
              minimum=1e-3, maximum=10.0, dynamic=True),
    Parameter("contact_force", "double", 1.0, "Less than this is no contact, N", minimum=0.0, dynamic=True),
    Parameter("contact_timeout", "double", 0.1, "Longer without contact (s) stops",
              minimum=0.0, maximum=10.0, dynamic=True),
    Parameter("largest_force", "double", 50.0, "More than this stops, and is not taken as a wish, N or N m",
              minimum=0.0, dynamic=True),
    Parameter("constraint_tolerance", "double", 0.01,
              "A constraint that is violated by more (m, rad) is not where it should be, which stops",
              minimum=0.0, dynamic=True),
    Parameter("reach", "double", 0.5, "A controlled direction farther from the task frame (m, rad) stops",
              minimum=0.0, dynamic=True),
    Parameter("force_rate", "double", 20.0, "How fast the force changes to the desired one, N/s",
              minimum=0.0, dynamic=True),
    Parameter("approach_speed", "double", 0.02,
              "Speed towards a surface that is not touched when the controller is engaged, m/s. 0: that is refused",
              minimum=0.0, maximum=0.5, dynamic=True),
    Parameter("hold_stiffness", "double", 400.0, "Of holding, 1/s^2", minimum=0.0, dynamic=True),
    Parameter("hold_damping", "double", 40.0, "Of holding, 1/s", minimum=0.0, maximum=1000.0, dynamic=True),
    Parameter("missing_velocity", "string", "differentiate",
              "Where a joint state lacks velocities: find them from two positions, or refuse it",
              choices=MISSING_VELOCITY),
    Parameter("interpolation", "string", "smooth",
              "Between trajectory points: smooth computes missing derivatives, as_given does what "
              "joint_trajectory_controller would", choices=INTERPOLATIONS, dynamic=True),
    Parameter("start_tolerance", "double", 0.01,
              "A trajectory that begins farther than this (m, rad) from the tool is refused",
              minimum=0.0, dynamic=True),
    Parameter("setpoint_timeout", "double", 0.5,
              "When set-points stop for longer (s), the tool is held where it is. 0: never",
              minimum=0.0, maximum=60.0, dynamic=True),
)  # fmt: skip

MONITOR_PARAMETERS = (
    *COMMON_PARAMETERS,
    Parameter("joints", "string_array", [], "Monitored joints, which order the messages. Empty: all of the robot"),
    Parameter("terms", "string_array", ["inertia", "coriolis", "gravity"],
              "What the measured efforts contain; friction is the description's", choices=TERMS, dynamic=True),
    Parameter("cutoff", "double", 5.0, "Of the residual's filter, Hz; it comes 1 / (pi cutoff) later",
              minimum=0.01, maximum=1000.0, dynamic=True),
    Parameter("observer_rate", "double", 30.0, "Of the external torque, which lags 1 / observer_rate behind, 1/s",
              minimum=0.1, maximum=1000.0, dynamic=True),
    Parameter("contact_thresholds", "double_array", [],
              "External torque of a contact, N m or N: one for all or one for each joint, 0: it does not count. Empty: "
              "contact is not told", minimum=0.0, dynamic=True),
    Parameter("contact_duration", "double", 0.02, "For how long a threshold must be passed, s",
              minimum=0.0, maximum=10.0, dynamic=True),
    Parameter("longest_gap", "double", 0.1, "Of joint states (s); after a longer one all begins anew",
              minimum=1e-3, maximum=10.0, dynamic=True),
    Parameter("missing_velocity", "string", "differentiate",
              "Where a joint state lacks velocities: find them from two positions, or refuse it",
              choices=MISSING_VELOCITY),
)  # fmt: skip

ROBOT_DESCRIPTION = Topic(
    "robot_description",
    "std_msgs/msg/String",
    False,
    "URDF, latched; only if the parameter is empty. A new one is taken over between two cycles",
)
DIAGNOSTICS = Topic("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray", True, "State of the node, once a second")
SET_PAYLOAD = Service(
    "~/set_payload", "rbd_dynamics_interfaces/srv/SetPayload", "Attach a load to a frame, replace it, or detach it"
)

FEEDFORWARD = Interface(
    "feedforward",
    "Torques for a desired motion: every complete joint state is answered by one effort message, or by none and a "
    "reason in the diagnostics.",
    FEEDFORWARD_PARAMETERS,
    (
        Topic("joint_states", "sensor_msgs/msg/JointState", False,
              "Measured state, best effort: any order, other joints, NaN and missing velocities are understood; a "
              "state may come in several messages"),
        Topic("~/joint_trajectory", "trajectory_msgs/msg/JointTrajectory", False,
              "Desired motion: several points are a trajectory in time, from header.stamp (zero: now), that starts "
              "without a jump, and may name some of the joints; one point is a set-point that counts at once and names "
              "all of them; no point means hold. Positions outside the description's limits are refused"),
        ROBOT_DESCRIPTION,
        Topic("~/commands", "std_msgs/msg/Float64MultiArray", True,
              "Efforts in the order of `joints`, to be remapped to an effort controller"),
        Topic("~/effort", "sensor_msgs/msg/JointState", True,
              "The same with joint names and the stamp of the state that it answers"),
        DIAGNOSTICS,
    ),
    (SET_PAYLOAD,),
)  # fmt: skip

DYNAMICS_SERVER = Interface(
    "dynamics_server",
    "Dynamics as services, each for one state or a whole trajectory in a call; arrays travel with joint names, in "
    "the order of the request. A request that makes no sense gets success = false and what is wrong with it.",
    DYNAMICS_SERVER_PARAMETERS,
    (
        Topic("joint_states", "sensor_msgs/msg/JointState", False,
              "Where joints are that a trajectory does not name, best effort"),
        ROBOT_DESCRIPTION,
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
        Service("~/dynamics_terms", "rbd_dynamics_interfaces/srv/DynamicsTerms",
                "Mass matrix, Coriolis, gravity and friction torques, energies"),
        Service("~/fill_trajectory_efforts", "rbd_dynamics_interfaces/srv/FillTrajectoryEfforts",
                "A trajectory comes back with velocities, accelerations and efforts at every point"),
        SET_PAYLOAD,
    ),
)  # fmt: skip

SIMULATOR = Interface(
    "simulator",
    "Forward dynamics in real time: effort commands in, joint states out, with friction, limits and brakes of a real "
    "robot. A state that has diverged is never published.",
    SIMULATOR_PARAMETERS,
    (
        Topic("~/commands", "std_msgs/msg/Float64MultiArray", False, "Efforts in the order of `joints`"),
        Topic("~/effort", "sensor_msgs/msg/JointState", False, "Efforts by joint name; the others keep theirs"),
        ROBOT_DESCRIPTION,
        Topic("joint_states", "sensor_msgs/msg/JointState", True, "Position, velocity and the effort that acts"),
        Topic("~/wrench", "geometry_msgs/msg/WrenchStamped", True,
              "What constraints and contacts exert on the robot at `wrench_frame`, if there is one"),
        Topic("/clock", "rosgraph_msgs/msg/Clock", True, "Simulated time, if `publish_clock`"),
        DIAGNOSTICS,
    ),
    (
        Service("~/reset", "std_srvs/srv/Trigger", "Back to the start, at rest, brakes on; time goes on"),
        Service("~/pause", "std_srvs/srv/SetBool", "true: stop time; false: go on"),
        Service("~/step", "rbd_dynamics_interfaces/srv/Step", "Some steps of a paused simulation"),
        SET_PAYLOAD,
    ),
    (
        Service("~/simulate", "rbd_dynamics_interfaces/action/Simulate",
                "A rollout of any length from any state, apart from the live simulation, with feedback and cancel"),
    ),
)  # fmt: skip

HYBRID_CONTROLLER = Interface(
    "hybrid_controller",
    "Hybrid position/force control: holds the robot until it is engaged, finds the surface, presses with the desired "
    "force and moves along it. It goes back to holding, and says why, when the sensor or the joint states fall "
    "silent, contact is lost, the force is too large, or the surface is not where it should be.",
    HYBRID_CONTROLLER_PARAMETERS,
    (
        Topic("joint_states", "sensor_msgs/msg/JointState", False, "Measured state, best effort"),
        Topic("wrench", "geometry_msgs/msg/WrenchStamped", False,
              "Wrench on the robot at `sensor_frame`, best effort, without the tool's weight"),
        Topic("~/joint_trajectory", "trajectory_msgs/msg/JointTrajectory", False,
              "Desired motion of the controlled directions, named tool.x, tool.rz...: several points are a trajectory "
              "in time, one point is a set-point that counts at once, no point means hold. Only while engaged"),
        Topic("~/desired_wrench", "geometry_msgs/msg/WrenchStamped", False,
              "What the sensor is to read; only the constrained part of it counts"),
        ROBOT_DESCRIPTION,
        Topic("~/commands", "std_msgs/msg/Float64MultiArray", True,
              "Efforts in the order of `joints`, to be remapped to an effort controller"),
        Topic("~/effort", "sensor_msgs/msg/JointState", True,
              "The same with joint names and the stamp of the state that it answers"),
        Topic("~/task_state", "sensor_msgs/msg/JointState", True,
              "While engaged: value and speed of the controlled directions; then of each constraint its violation, the "
              "violation's rate, and the measured force as effort"),
        DIAGNOSTICS,
    ),
    (
        Service("~/engage", "std_srvs/srv/SetBool", "true: approach and press; false: hold"),
        Service("~/tare", "std_srvs/srv/Trigger",
                "The present reading of the sensor counts as zero; not while engaged"),
        SET_PAYLOAD,
    ),
)  # fmt: skip

MONITOR = Interface(
    "monitor",
    "What the model gets wrong and what touches the robot, from its joint states: measured less predicted torque, "
    "external torques by generalised momentum, and contact.",
    MONITOR_PARAMETERS,
    (
        Topic("joint_states", "sensor_msgs/msg/JointState", False,
              "Measured state with efforts, best effort; joints without an effort are left out of what is told"),
        ROBOT_DESCRIPTION,
        Topic("~/residual", "sensor_msgs/msg/JointState", True,
              "Measured less predicted torque as effort, under the stamp of the joint state, filtered at `cutoff`; "
              "after a gap only once the filter has settled"),
        Topic("~/external_torque", "sensor_msgs/msg/JointState", True,
              "What something besides the actuators exerts, as effort"),
        Topic("~/contact", "std_msgs/msg/Bool", True,
              "Whether something is touched, on change; latched. Only with `contact_thresholds`"),
        DIAGNOSTICS,
    ),
    (SET_PAYLOAD,),
)  # fmt: skip

INTERFACES = (FEEDFORWARD, DYNAMICS_SERVER, SIMULATOR, HYBRID_CONTROLLER, MONITOR)
