# SPDX-License-Identifier: Apache-2.0
"""What `cartesian_controller` works with: one model, one tool, the law and the motion for both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.cartesian.controller import CartesianController, Compliance, Tuning
from rbd_dynamics.control.cartesian.gains import STIFFNESS
from rbd_dynamics.control.cartesian.kernel import CartesianOutput
from rbd_dynamics.control.cartesian.motion import CartesianMotion
from rbd_dynamics.control.cartesian.pose_chart import TOOL_ROWS, PoseChart
from rbd_dynamics.control.cartesian.reachable import FAR, LONGEST_STEP, STALL_TIME, STALLED, ReachableReference
from rbd_dynamics.control.cartesian.stability import StiffnessCheck, ToolLoop, softer_where_unstable
from rbd_dynamics.control.feedforward import per_joint
from rbd_dynamics.control.hybrid.stability import Plant, hold_problem
from rbd_dynamics.control.motion.limits import MotionLimits
from rbd_dynamics.control.motion.trajectory import TrajectoryError
from rbd_dynamics.control.safety.closed_loop import Timing
from rbd_dynamics.control.safety.safe_stop import SafeStop
from rbd_dynamics.control.safety.softening import ALL, Softening, fastest_decay
from rbd_dynamics.joint_states.reader import JointStateReader
from rbd_dynamics.model.model import Model
from rbd_dynamics.nodes.interface.cartesian_controller import CartesianControllerParameters
from rbd_dynamics.nodes.managed.description_text import Prefix, Progress
from rbd_dynamics.nodes.tool.tool_engine import ToolEfforts, controlled_joints, reader_of, root_frames
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial import adjoint, exp_so3, log_so3, pose_inverse
from rbd_dynamics.spatial.rank import inverse_response
from rbd_dynamics.spatial.so3 import rotation_from_rpy

Array = NDArray[np.float64]
JUDGED = 20_000_000  # ns, for which the damping of the joints is as it was
PERIOD = 0.001  # s, of states where nothing else is known


@dataclass
class CartesianEngine(ToolEfforts):
    """Everything about one robot model and one tool."""

    model: Model
    robot: Robot
    controller: CartesianController
    motion: CartesianMotion
    reference: ReachableReference
    check: StiffnessCheck
    usual: tuple[float, float]  # stiffness of translations and rotations where none is given
    safe_stop: SafeStop
    reader: JointStateReader
    prefix: Prefix
    joints: NDArray[np.intp]  # of the model's order, as `joints` orders the efforts
    frames: tuple[str, ...]  # what the root frame is called in messages
    tool_names: tuple[str, ...]  # what the tool is called there
    wanted_posture: Array  # (nv)
    wrench: Array = field(default_factory=lambda: np.zeros(12))  # that acts: in root axes, in the tool's
    wanted_wrench: Array = field(default_factory=lambda: np.zeros(12))
    wrench_until: int = 0  # time until which the wanted one counts, ns; 0: for ever
    output: CartesianOutput | None = None  # of the last step
    last: int = 0  # time of the last state, ns
    posture_given: bool = False  # by the parameter
    wanted: Array = field(default_factory=lambda: np.eye(4))  # where the tool is wanted, as far as the arm can
    _chart: PoseChart | None = None  # that the last step was in
    softening: Softening = field(init=False)  # while efforts cannot follow
    _stalled: float = 0.0  # s, for which the target has waited for the arm
    _judged: tuple[int, Array, float] | None = None  # when (ns), its damping (joints, joints), and that in 1/s

    def __post_init__(self) -> None:
        self.softening = Softening(len(self.joints))

    def measured(self) -> tuple[Array, Array]:
        """Coordinates and rates (6) of the tool in the motion's chart. Raises TrajectoryError before the first state.

        Those that the last step found, a cycle ago, unless the chart is another one.
        """
        if self.output is None:
            raise TrajectoryError("there are no joint states to start from")
        chart = self.motion.chart
        if self._chart is chart:
            return self.output.theta, self.output.rate
        theta = chart.coordinates(self.controller.pose(self.reader.q))
        return theta, chart.rates(theta, self.output.twist)

    def ease(self, behind: float, rates: Array) -> None:
        """Softer gains for the state that was read, where efforts come later than those want them.

        behind: s. rates: at which efforts may change, as `joints` orders them.
        """
        softening, reader = self.softening, self.reader
        if not behind and softening.share == 1.0:
            return
        if self._judged is None or abs(reader.stamp - self._judged[0]) > JUDGED:
            place = np.ix_(self.joints, self.joints)
            _, damping = self.feedback()
            self._judged = reader.stamp, damping, fastest_decay(self.robot.mass_matrix(reader.q)[place], damping)
        _, damping, decay = self._judged
        softening.rates = rates
        momentum = damping @ (reader.v - self.reference.v)[self.joints] / max(decay, 1e-9)
        passed = max(1e-9 * (reader.stamp - self.last), 0.0) if self.last else 0.0
        softening.update(momentum, decay, passed, behind=behind)
        self.controller.soften(softening.share)

    def step(self, wrench_rate: float, *, planning: bool = False) -> CartesianOutput:
        """The command for the state that was read. Raises ValueError or ArithmeticError.

        planning: a trajectory is being planned in the motion's chart.
        """
        reader, motion, controller = self.reader, self.motion, self.controller
        passed = 1e-9 * (reader.stamp - self.last) if self.last else 0.0
        if passed > LONGEST_STEP:
            controller.forget_motion()
        elapsed = min(max(passed, 0.0), LONGEST_STEP)
        if motion.mode == "none":
            pose = controller.pose(reader.q)
            motion.recentre(pose)
            motion.update(reader.stamp, motion.chart.coordinates(pose), np.zeros(6))
            self.reference.reset(reader.q)
            if not self.posture_given:
                self.wanted_posture[:] = reader.q
        else:
            if not planning:
                motion.come_along()
            motion.pace = self.reference.pace
            motion.update(reader.stamp, *self.measured())
        theta, rate, acceleration = self._reachable(elapsed)
        if self.wrench_until and reader.stamp > self.wrench_until:
            self.wanted_wrench[:] = 0.0
        change = wrench_rate * elapsed
        self.wrench += np.clip(self.wanted_wrench - self.wrench, -change, change)
        controller.base = motion.chart.base
        self.output = controller.step(
            reader.q,
            reader.v,
            theta,
            rate=rate,
            acceleration=acceleration,
            wrench=self.wrench[:6],
            tool_wrench=self.wrench[6:],
            posture=self.reference.q,
            posture_rate=self.reference.v,
            dt=elapsed,
        )
        self._chart, self.last = motion.chart, reader.stamp
        return self.output

    def _reachable(self, elapsed: float) -> tuple[Array, Array, Array]:
        """Coordinates, rates and accelerations (6) of where the tool is wanted, as far as the arm can take it."""
        motion, reference = self.motion, self.reference
        chart, target = motion.chart, motion.chart.pose(motion.state()[0])
        if motion.mode == "hold" and reference.away(target) > FAR:  # it is held where it was pushed to
            self._stand_here()
        self.wanted, twist, acceleration = reference.follow(target, elapsed, self.wanted_posture)
        theta = chart.coordinates(self.wanted)
        rate = chart.rates(theta, twist)
        waits = reference.pace < STALLED and motion.mode in ("pose", "twist", "trajectory")
        self._stalled = self._stalled + elapsed if waits else 0.0
        if self._stalled > STALL_TIME:
            self._stalled = 0.0
            motion.end(theta, f"the tool does not reach its target: {reference.obstacle()}; it is held where it is")
        return theta, rate, chart.accelerations(theta, rate, acceleration)

    def _stand_here(self) -> None:
        """Joints are wanted where they are, also as far as the tool leaves them free."""
        self.reference.reset(self.reader.q)
        if not self.posture_given:
            self.wanted_posture[:] = self.reader.q

    def gains_have_risen(self, stiffness: Array, posture_kp: float) -> None:
        """Hold the robot where it is now in the directions in which nothing drew it so far.

        stiffness (6, 6), posture_kp: those that were wanted until now.
        """
        controller, motion = self.controller, self.motion
        risen = np.asarray(~stiffness.any(axis=1) & controller.wanted_stiffness.any(axis=1), dtype=bool)
        if motion.mode != "hold" or not (risen.any() or controller.gains.posture_kp > posture_kp == 0.0):
            return
        axes, pose, here = controller.axes, motion.chart.pose(motion.state()[0]), controller.pose(self.reader.q)
        turns, moves = (axes @ np.diag(part.astype(float)) @ axes.T for part in (risen[:3], risen[3:]))
        pose[:3, :3] = exp_so3(turns @ log_so3(here[:3, :3] @ pose[:3, :3].T)) @ pose[:3, :3]
        pose[:3, 3] += moves @ (here - pose)[:3, 3]
        motion.hold_at(pose)
        self._stand_here()

    def go_on_with(self, difference: Array) -> Array:
        """Press with what an effort (nv) has more than this law at the last state; the torque (nv) of that.

        The damper is left out: it is this law's, and its motion another's.
        """
        assert self.output is not None
        reader, robot = self.reader, self.robot
        R = self.output.pose[:9].reshape(3, 3)
        turn = np.zeros((6, 6))
        turn[:3, :3] = turn[3:, 3:] = R
        J = turn @ adjoint(pose_inverse(self.controller.tool)) @ robot.jacobian(reader.q, self.controller.frame)
        inverse = np.linalg.solve(robot.mass_matrix(reader.q), J.T)
        wrench = inverse_response(J, inverse) @ (inverse.T @ (difference + J.T @ self.output.wrench))
        gains = self.controller.gains
        for part, most in ((slice(0, 3), gains.largest_moment), (slice(3, 6), gains.largest_force)):
            size = float(np.linalg.norm(wrench[part]))
            wrench[part] *= min(1.0, most / size) if size > 0.0 else 1.0
        self.wrench[:6] += wrench
        self.wanted_wrench[:], self.wrench_until = self.wrench, 0
        return np.asarray(J.T @ wrench)

    def feedback(self) -> tuple[Array, Array]:
        """Stiffness and damping (nv, nv) of the joints where the robot is, as `joints` orders them."""
        controller = self.controller
        tuning = controller.tuning(gains=controller.gains, compliance=controller.compliance)
        loop = ToolLoop.of(controller, tuning, self.reader.q)
        K, D = loop.feedback(controller.wanted_stiffness, controller.gains)
        place = np.ix_(self.joints, self.joints)
        return K[place], D[place]

    @property
    def softened(self) -> str:
        """Why the stiffness is not the usual one where none is given; empty: it is."""
        usual = STIFFNESS[self.controller.law]
        if self.usual == usual:
            return ""
        return (
            f"where no stiffness is given it is {self.usual[0]:g} N/m and {self.usual[1]:g} N m/rad, as {usual[0]:g} "
            f"and {usual[1]:g} would be unstable. {self.check.limit}"
        )

    def forget(self) -> None:
        """Wrenches are none."""
        self.wanted_wrench[:] = self.wrench[:] = 0.0


def build_engine(model: Model, params: CartesianControllerParameters, progress: Progress) -> CartesianEngine:
    """An engine with all kernels compiled. Raises ValueError or KeyError for parameters that do not fit the model."""
    prefix = Prefix(params.tf_prefix, model)
    robot = Robot(model)
    if not params.tool_frame:
        raise ValueError("parameter 'tool_frame' is empty: it names the link or joint that the tool is on")
    inside, joints = controlled_joints(robot, params, prefix)
    progress("cartesian_control", 1, 1)
    frame = prefix.inside(params.tool_frame)
    controller = CartesianController(robot, frame, law=params.law, tool=tool_of(params))
    motion = CartesianMotion(options=params.motion_options, follow_rate=params.follow_rate)
    reference = ReachableReference(robot, frame, tool=tool_of(params))
    check = StiffnessCheck(controller)
    usual = check.usual(params.gains, timing_of(params)) if params.law == "impedance" else STIFFNESS[params.law]
    start, reader, safe_stop = model.start_position(), reader_of(model, params, prefix), SafeStop(robot, joints=inside)
    engine = CartesianEngine(
        model, robot, controller, motion, reference, check, usual, safe_stop, reader, prefix, joints,
        root_frames(model, prefix), (prefix.outside(frame), "tool"), start.copy(),
    )  # fmt: skip
    apply(engine, params, attempt=False)
    try:  # the first calls, out of the way
        motion.chart.accelerations(*np.zeros((3, 6)))  # with those of exponentials and their Jacobians
        motion.recentre(controller.pose(start))
        controller.step(start, np.zeros(model.nv), motion.chart.coordinates(controller.pose(start)))
        reference.follow(controller.pose(start), 1e-3, start)
        robot.inverse_dynamics(start, np.zeros(model.nv), np.zeros(model.nv))
        robot.kinetic_energy(start, np.zeros(model.nv))
    except ArithmeticError:
        pass
    controller.reset()
    return engine


def apply(engine: CartesianEngine, params: CartesianControllerParameters, *, attempt: bool = True) -> None:
    """What needs no building, and can be taken back. Raises ValueError or ArithmeticError, and then changes nothing.

    attempt: what a step would give at the present state is tried before.
    """
    controller, motion = engine.controller, engine.motion
    tuning = tuning_of(engine, params)
    limits = limits_of(params)
    engine.safe_stop.check(params.stop_options)
    CartesianMotion(options=params.motion_options)  # raises for tolerances that do not fit
    tool = tool_of(params)
    moved = bool(np.abs(tool - controller.tool).max() > 0.0)
    if moved and motion.mode not in ("none", "hold"):
        raise ValueError("parameters 'tool_position' and 'tool_orientation' change only while the tool is held")
    posture_of(engine, params)
    if attempt and engine.output is not None:
        reader = engine.reader
        controller.attempt(reader.q, reader.v, controller.chart(reader.q), tuning)
    if moved:
        controller.tool = engine.reference.tool = tool
    before, kept = controller.gains.stiffness_of(controller.law), controller.wanted_stiffness.copy()
    posture_kp = controller.gains.posture_kp
    controller.use(tuning)
    if (before == tuning.stiffness.reshape(6, 6)).all():  # what ~/target_stiffness said stays
        controller.want_stiffness(kept)
    engine.gains_have_risen(kept, posture_kp)
    engine.reference.room.velocity_limits = controller.velocity_limits
    engine.reference.largest_energy, engine.reference.effort_limits = (
        controller.largest_energy, controller.effort_limits,
    )  # fmt: skip
    motion.limits, motion.options, motion.follow_rate = limits, params.motion_options, params.follow_rate
    engine.safe_stop.tune(params.stop_options, terms=params.terms, effort_limits=params.effort_limits)


def draw_to_posture(engine: CartesianEngine, params: CartesianControllerParameters) -> None:
    """Joints are wanted where the parameter says; where it says nothing, as before. Raises ValueError."""
    posture = posture_of(engine, params)
    engine.posture_given = posture is not None
    if posture is not None:
        engine.wanted_posture[:] = posture


def tuning_of(engine: CartesianEngine, params: CartesianControllerParameters) -> Tuning:
    """Checked. Raises ValueError that names the parameter."""
    in_order = [engine.model.joints[k].name for k in engine.joints]
    gains = softer_where_unstable(params.gains, engine.usual)
    if engine.shares != ALL:
        gains = gains.softer(engine.shares)
    if len(params.joint_limit_torque) == len(in_order):
        torques = np.zeros(len(in_order))
        torques[engine.joints] = params.joint_limit_torque
        gains = replace(gains, joint_limit_torque=tuple(torques.tolist()))
    limits = np.zeros(len(in_order))
    efforts = [engine.model.joints[k].limits.effort for k in engine.joints]
    limits[engine.joints] = per_joint("effort_limits", params.effort_limits, in_order, efforts)
    velocities = np.zeros(len(in_order))
    described = [engine.model.joints[k].limits.velocity for k in engine.joints]
    velocities[engine.joints] = per_joint("joint_velocity_limits", params.joint_velocity_limits, in_order, described)
    turned = np.array(rotation_from_rpy(*params.stiffness_orientation), dtype=float).reshape(3, 3)
    compliance = Compliance(carrier=params.stiffness_axes, orientation=turned)
    try:
        tuning = engine.controller.tuning(
            gains=gains, compliance=compliance, terms=params.terms, effort_limits=limits, velocity_limits=velocities
        )
    except ValueError as error:
        raise ValueError(f"parameter {error}") from None
    if problem := instability(engine, gains.stiffness_of(params.law), params):
        raise ValueError(f"parameter 'stiffness' or 'rotational_stiffness': {problem}")
    return tuning


def timing_of(params: CartesianControllerParameters) -> Timing:
    """How commands come to act, at a rate of 1 kHz."""
    return Timing(PERIOD, PERIOD + params.sensor_delay, params.actuator_bandwidth)


def instability(engine: CartesianEngine, K: Array, params: CartesianControllerParameters) -> str:
    """Why a stiffness (6, 6) is not stable with actuators and sensors on this arm; empty: it is."""
    if params.law == "impedance":
        return engine.check.problem(K, params.gains, timing_of(params))
    plant = Plant(
        actuator_bandwidth=params.actuator_bandwidth, sensor_delay=params.sensor_delay, state_delay=params.sensor_delay
    )
    for row, k, d in zip(TOOL_ROWS, np.diag(K), params.gains.dampings()):
        damping = d if d >= 0.0 else 2.0 * params.damping_ratio * float(np.sqrt(k))
        if hold_problem(float(k), damping, plant):
            return (
                f"{k:g} 1/s^2 with {damping:g} 1/s of {row} is unstable with actuators of "
                f"{params.actuator_bandwidth:g} Hz and states that are {params.sensor_delay:g} s late"
            )
    return ""


def tool_of(params: CartesianControllerParameters) -> Array:
    """Its pose (4, 4) in its frame."""
    pose = np.eye(4)
    pose[:3, :3] = np.array(rotation_from_rpy(*params.tool_orientation), dtype=float).reshape(3, 3)
    pose[:3, 3] = params.tool_position
    return pose


def limits_of(params: CartesianControllerParameters) -> MotionLimits:
    """Limits of the wanted motion of the tool. Raises ValueError for another number of them."""

    def bound(what: str, values: Sequence[float]) -> Array:
        found = per_joint(what, values, TOOL_ROWS)
        return np.where(found > 0.0, found, np.inf)

    lower = [*[-np.inf] * 3, *(params.workspace_lower or [-np.inf] * 3)]
    upper = [*[np.inf] * 3, *(params.workspace_upper or [np.inf] * 3)]
    if (np.array(lower) > np.array(upper)).any():
        raise ValueError("parameter 'workspace_lower' is above 'workspace_upper'")
    return MotionLimits.of(
        TOOL_ROWS,
        lower=lower,
        upper=upper,
        velocity=bound("parameter velocity_limits", params.velocity_limits),
        acceleration=bound("parameter acceleration_limits", params.acceleration_limits),
    )


def outside_workspace(engine: CartesianEngine, theta: Array) -> str:
    """Axes along which the tool at these coordinates (6) is not within the bounds; empty: it is within."""
    limits = engine.motion.limits
    rows = zip("xyz", theta[3:], limits.lower[3:], limits.upper[3:])
    return ", ".join(
        f"{axis} {at:.3f} m of {low:g} to {high:g} m" for axis, at, low, high in rows if not low <= at <= high
    )


def posture_of(engine: CartesianEngine, params: CartesianControllerParameters) -> Array | None:
    """(nv), None where none is given. Raises ValueError for another number of joints, and beyond limits."""
    if not params.posture:
        return None
    if len(params.posture) != len(engine.joints):
        raise ValueError(f"parameter 'posture' has {len(params.posture)} values for {len(engine.joints)} joints")
    for k, position in zip(engine.joints, params.posture):
        if problem := beyond_limits(engine.model, k, position):
            raise ValueError(f"parameter 'posture': {problem}")
    found = np.zeros(len(engine.joints))
    found[engine.joints] = params.posture
    return found


def beyond_limits(model: Model, joint: int, position: float) -> str:
    """Why a joint may not be drawn there: it would come to lean on its stop. Empty: it may."""
    name, limits = model.joint_names[joint], model.joints[joint].limits
    if limits.lower <= position <= limits.upper:
        return ""
    return f"{position:g} of joint {name!r} is beyond its limits, {limits.lower:g} to {limits.upper:g}"
