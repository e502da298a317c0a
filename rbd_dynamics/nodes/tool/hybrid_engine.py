# SPDX-License-Identifier: Apache-2.0
"""What `hybrid_controller` works with: one model, one task, and the control law for both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.constraints import ConstraintSet
from rbd_dynamics.control.contact.sensor_tool import SensorTool
from rbd_dynamics.control.feedforward import per_joint
from rbd_dynamics.control.hybrid.checks import LARGEST_ANGLE, force_problem
from rbd_dynamics.control.hybrid.controller import HybridController
from rbd_dynamics.control.hybrid.free_reading import FreeReading
from rbd_dynamics.control.hybrid.gains import HybridGains
from rbd_dynamics.control.hybrid.law import HybridOutput
from rbd_dynamics.control.hybrid.limits import HybridLimits
from rbd_dynamics.control.hybrid.multiplier_sensor import MultiplierSensor
from rbd_dynamics.control.hybrid.normal import NormalEstimator, NormalOptions
from rbd_dynamics.control.hybrid.placement import Placement
from rbd_dynamics.control.hybrid.stability import Plant, contact_problem, hold_problem, task_problem
from rbd_dynamics.control.hybrid.supervisor import HybridSupervisor
from rbd_dynamics.control.hybrid.task import HybridTask, turns
from rbd_dynamics.control.motion.desired_motion import DesiredMotion
from rbd_dynamics.control.motion.joint_room import usable_speeds
from rbd_dynamics.control.motion.limits import MotionLimits
from rbd_dynamics.control.motion.trajectory import TrajectoryError, Waypoints
from rbd_dynamics.control.motion.trajectory_message import TrajectoryMessage, decoded
from rbd_dynamics.control.safety.safe_stop import SafeStop
from rbd_dynamics.joint_states.reader import JointStateReader
from rbd_dynamics.model.model import Model
from rbd_dynamics.nodes.interface.hybrid_controller import HybridControllerParameters
from rbd_dynamics.nodes.managed.description_text import Prefix, Progress
from rbd_dynamics.nodes.tool.fixed_frames import FixedFrames
from rbd_dynamics.nodes.tool.tool_engine import ToolEfforts, controlled_joints, reader_of, root_frames
from rbd_dynamics.nodes.torque.safeguards import Bounds
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]


@dataclass
class HybridEngine(ToolEfforts):
    """Everything about one robot model and one task."""

    model: Model
    robot: Robot
    supervisor: HybridSupervisor
    sensor: MultiplierSensor
    safe_stop: SafeStop
    reader: JointStateReader
    prefix: Prefix
    task: HybridTask  # as it was given
    normal: NormalEstimator | None  # None where there is no surface
    joints: NDArray[np.intp]  # of the model's order, as `joints` orders the efforts
    root: str  # what the root frame is called in messages
    free: FreeReading  # of the wrench
    frames: FixedFrames  # in which it may come

    @property
    def controller(self) -> HybridController:
        return self.supervisor.controller

    @property
    def motion(self) -> DesiredMotion:
        return self.supervisor.motion

    @property
    def output(self) -> HybridOutput | None:
        return self.supervisor.output


def build_engine(model: Model, params: HybridControllerParameters, progress: Progress) -> HybridEngine:
    """An engine with all kernels compiled. Raises ValueError or KeyError for parameters that do not fit the model."""
    prefix = Prefix(params.tf_prefix, model)
    robot = Robot(model)
    given = task_of(params, prefix)
    constraints, task = given.sets(model)
    check_gains(params)
    if params.sensor_tool:
        try:
            SensorTool.known(params.sensor_tool, model.gravity)
        except ValueError as error:
            raise ValueError(f"parameter sensor_tool: {error}") from None
    inside, joints = controlled_joints(robot, params, prefix)
    progress("hybrid_position_force", 1, 2)
    controller = HybridController(robot, constraints, task, law=params.law, gains=_gains(params))
    progress("multiplier_sensor", 2, 2)
    sensor_frame = prefix.inside(params.sensor_frame or params.tool_frame)
    sensor = MultiplierSensor(robot, constraints, sensor_frame)
    motion = DesiredMotion(task.row_names, options=params.motion_options)
    supervisor = HybridSupervisor(controller, motion, _limits(params))
    normal = NormalEstimator(supervisor, sensor_frame) if params.surface != "none" else None
    reader = reader_of(model, params, prefix)
    safe_stop = SafeStop(robot, joints=inside)
    root = root_frames(model, prefix)[0]
    engine = HybridEngine(
        model,
        robot,
        supervisor,
        sensor,
        safe_stop,
        reader,
        prefix,
        given,
        normal,
        joints,
        root,
        FreeReading(),
        FixedFrames(model, sensor_frame),
    )
    _tune(engine, params)
    robot.compile("inverse_dynamics", "mass_matrix", batches=False)
    robot.compile_constrained(constraints, "constraint_rows", batches=False)
    robot.compile_constrained(task, "constraint_rows", batches=False)
    robot.pose(reader.q, sensor_frame)
    for frame in {sensor_frame, prefix.inside(params.tool_frame)} if normal is not None else ():
        robot.pose(reader.q, frame), robot.jacobian(reader.q, frame)
    try:  # the first calls, out of the way; a posture where they have no result is told when engaging
        sensor.multipliers(reader.q, np.zeros(6))
        controller.step(reader.q, reader.v, np.zeros(controller.k))
    except ArithmeticError:
        pass
    return engine


def apply(engine: HybridEngine, params: HybridControllerParameters) -> None:
    """What needs no building. Raises ValueError, and then changes nothing.

    Where the robot presses, the task frame goes to another place on a way within the limits.
    """
    given = task_of(params, engine.prefix)
    goal, moves = Placement.of(given), given != engine.task  # else an estimated normal stays
    if moves:
        engine.supervisor.may_place(goal)
    _tune(engine, params)
    engine.supervisor.hold_shares = engine.shares
    if moves:
        limits = limits_of_task(engine, params)
        engine.supervisor.place(goal, limits.velocity, limits.acceleration)
    engine.task = given


def _tune(engine: HybridEngine, params: HybridControllerParameters) -> None:
    """Numbers of the law. Raises ValueError, and then changes nothing."""
    controller, supervisor = engine.controller, engine.supervisor
    check_force(params, controller.constraints, supervisor.unilateral)
    check_gains(params)
    chosen = [engine.model.joints[k] for k in engine.joints]
    default = [joint.limits.effort for joint in chosen]
    names = [joint.name for joint in chosen]
    limits = per_joint("effort_limits", params.effort_limits, names, default)
    described = [joint.limits.velocity for joint in chosen]
    velocities = per_joint("joint_velocity_limits", params.joint_velocity_limits, names, described)
    engine.safe_stop.check(params.stop_options)
    limits_of_task(engine, params)
    supervisor.motion.options = params.motion_options  # raises for tolerances that do not fit
    controller.tune(_gains(params))
    controller.velocity_limits[engine.joints] = usable_speeds(velocities)
    controller.reaction_time = params.reaction_time
    if supervisor.governor.reachable is not None:
        supervisor.governor.reachable.room.velocity_limits = controller.velocity_limits
    engine.safe_stop.tune(params.stop_options, effort_limits=params.effort_limits)
    controller.effort_limits[engine.joints] = limits
    supervisor.limits = _limits(params)
    letting_go, bounds = supervisor.contact.letting_go, Bounds.of(names, params)
    letting_go.rates[engine.joints] = bounds.urgent_rates
    rates = np.full(engine.model.nv, np.inf)
    rates[engine.joints] = bounds.rates_of(limits)
    supervisor.effort_rates = rates
    letting_go.lag = params.actuator_lag
    supervisor.hold.load.plant = _plant(params)
    if engine.normal is not None:
        engine.normal.options = NormalOptions(largest_tilt=params.largest_tilt)


def task_of(params: HybridControllerParameters, prefix: Prefix) -> HybridTask:
    """The task. Raises ValueError where no tool is named."""
    if not params.tool_frame:
        raise ValueError("parameter 'tool_frame' is empty: it names the link or joint that touches")
    return HybridTask(
        tool_frame=prefix.inside(params.tool_frame),
        tool_position=params.tool_position,
        tool_orientation=params.tool_orientation,
        task_position=params.task_position,
        task_orientation=params.task_orientation,
        surface=params.surface,
        surface_radius=params.surface_radius,
        contact_offset=params.contact_offset,
        constrained=params.constrained,
        controlled=params.controlled,
    )


def limits_of_task(engine: HybridEngine, params: HybridControllerParameters) -> MotionLimits:
    """Limits of the wanted motion of the task rows. Raises ValueError for another number of them."""
    rows = engine.motion.joints
    velocity = per_joint("velocity_limits", params.velocity_limits, rows)
    acceleration = per_joint("acceleration_limits", params.acceleration_limits, rows)
    reach = np.where(turns(rows), min(params.reach, LARGEST_ANGLE), params.reach)
    return MotionLimits.of(
        rows,
        lower=-reach,
        upper=reach,
        velocity=np.where(velocity > 0.0, velocity, np.inf),
        acceleration=np.where(acceleration > 0.0, acceleration, np.inf),
    )


def check_force(params: HybridControllerParameters, constraints: ConstraintSet, unilateral: NDArray[np.bool_]) -> None:
    """Raise ValueError where the desired force has not one number for each constraint row, or none, or may not be."""
    force = params.desired_force
    if force and len(force) != len(constraints):
        rows = ", ".join(constraints.row_names) or "no rows"
        raise ValueError(f"parameter 'desired_force' has {len(force)} values for {rows}")
    if force and (problem := force_problem(force, constraints.row_names, unilateral, params.largest_force)):
        raise ValueError(f"parameter 'desired_force': {problem}")
    if params.contact_force >= params.largest_force:
        raise ValueError(
            f"parameter 'contact_force' = {params.contact_force:g} must be below largest_force "
            f"({params.largest_force:g})"
        )


def check_wanted(engine: HybridEngine, params: HybridControllerParameters, before: HybridControllerParameters) -> None:
    """Raise ValueError where what is wanted now is beyond limits that are to be."""
    force, which = engine.supervisor.desired, "largest_force': the wanted "
    if params.desired_force != before.desired_force:
        which = "desired_force': "
        if len(params.desired_force) not in (0, len(force)):
            return  # of other rows
        force = np.asarray(params.desired_force or np.zeros(len(force)))
    supervisor = engine.supervisor
    names = engine.controller.constraints.row_names
    if problem := force_problem(force, names, supervisor.unilateral, params.largest_force):
        raise ValueError(f"parameter '{which}{problem}")
    if supervisor.engaged and supervisor.motion.mode != "none":
        try:
            limits_of_task(engine, params).check_state(supervisor.motion.state() * [[1.0], [0.0], [0.0]])
        except TrajectoryError as error:
            raise ValueError(f"parameter 'reach': what is wanted now is beyond it: {error}") from None


@dataclass(frozen=True)
class TaskDecoder:
    """Reads trajectories of task rows; refuses orientations that no angle has."""

    def __call__(self, raw: bytes | bytearray, largest: int, *, positions: bool = False) -> TrajectoryMessage:
        message = decoded(raw, largest, positions=positions)
        if message.waypoints is not None:
            check_turns(message.waypoints)
        return message


def check_turns(points: Waypoints) -> None:
    """Raise TrajectoryError where rotations of a point together are more than half a turn."""
    rows = [k for k, name in enumerate(points.joint_names) if name.rsplit(".")[-1] in ("rx", "ry", "rz")]
    sizes = np.linalg.norm(np.nan_to_num(np.asarray(points.positions)[:, rows]), axis=1) if rows else np.zeros(0)
    if sizes.size and sizes.max() > LARGEST_ANGLE * (1.0 + 1e-9):
        raise TrajectoryError(
            f"point {int(sizes.argmax())} turns the tool by {sizes.max():.4g} rad from the task frame, more than "
            "half a turn, beyond which no angle is unique"
        )


def check_gains(params: HybridControllerParameters, period: float = 0.0) -> None:
    """Raise ValueError where gains are not stable with the actuators and sensors that the parameters tell.

    period: of the states, s, as it was measured; 0: it is not known. Of less than 1 ms, 1 ms counts.
    """
    plant = _plant(params, period)
    gains = _gains(params)
    problem = (
        contact_problem(gains, plant)
        or task_problem(gains, params.law, plant)
        or hold_problem(params.hold_stiffness, params.hold_damping, plant)
    )
    if problem:
        raise ValueError(f"parameter {problem}")


def _plant(params: HybridControllerParameters, period: float = 0.0) -> Plant:
    """period: of the states, s; of less than 1 ms, 1 ms counts."""
    return Plant(
        actuator_bandwidth=params.actuator_bandwidth, sensor_delay=params.sensor_delay, state_delay=params.sensor_delay,
        period=max(period, Plant.period),
    )  # fmt: skip


def _gains(params: HybridControllerParameters) -> HybridGains:
    return HybridGains(
        kp=params.kp or None,
        kd=params.kd or None,
        task_ki=params.task_ki,
        task_integral_limit=params.task_integral_limit,
        ki=params.ki,
        integral_limit=params.integral_limit,
        normal_damping=params.normal_damping,
        posture_kp=params.posture_kp,
        posture_kd=params.posture_kd,
    )


def _limits(params: HybridControllerParameters) -> HybridLimits:
    return HybridLimits(
        sensor_timeout=params.sensor_timeout,
        state_timeout=params.state_timeout or 1e9,
        contact_force=params.contact_force,
        contact_debounce=params.contact_debounce,
        contact_timeout=params.contact_timeout,
        largest_force=params.largest_force,
        largest_side_force=params.largest_side_force,
        largest_moment=params.largest_moment,
        largest_power=params.largest_power,
        normal_speed=params.normal_speed,
        constraint_tolerance=params.constraint_tolerance,
        press_tolerance=params.press_tolerance,
        reach=params.reach,
        force_rate=params.force_rate,
        approach_speed=params.approach_speed,
        approach_force=params.approach_force,
        approach_distance=params.approach_distance,
        approach_timeout=params.approach_timeout,
        tare=params.tare_on_engage,
        hold_stiffness=params.hold_stiffness,
        hold_damping=params.hold_damping,
        hold_tolerance=params.hold_tolerance,
        hold_load=params.hold_load,
    )
