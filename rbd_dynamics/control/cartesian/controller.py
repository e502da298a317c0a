# SPDX-License-Identifier: Apache-2.0
"""Cartesian impedance and operational-space control of a tool (theory.md section 13)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.control.cartesian.gains import CartesianGains, GainNumbers, stiffness_matrix
from rbd_dynamics.control.cartesian.kernel import CartesianOutput, cartesian_kernel, output_sizes
from rbd_dynamics.control.cartesian.law import LAWS, Law
from rbd_dynamics.control.cartesian.pose_chart import PoseChart
from rbd_dynamics.control.feedforward import per_joint, single_freedom_indices
from rbd_dynamics.control.motion.joint_room import PositionLimits, largest_inertias, usable_speeds
from rbd_dynamics.control.safety.foresight import RecentVelocities
from rbd_dynamics.control.safety.softening import ALL, Shares
from rbd_dynamics.control.terms import TERMS, WITHOUT_FRICTION, checked_terms
from rbd_dynamics.kernels.evaluation import Evaluation
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]
Carrier = Literal["root", "tool", "wanted"]
CARRIERS = ("root", "tool", "wanted")
POSTURE = [GainNumbers._fields.index(name) for name in ("posture_kp", "posture_kd")]
HASTE = 0.7  # share of a velocity limit, more than a motion takes: a joint that will have it soon is in haste
LIMIT_SHARE = 0.3  # of a joint's effort limit, that keeps it from its limit of position


@dataclass(frozen=True)
class Compliance:
    """Axes of stiffness and damping: `carrier` says what they turn with, `orientation` (3, 3) how they stand on it.

    carrier: "root": fixed; "tool": with the tool as it is; "wanted": with the tool as it is wanted.
    """

    _: KW_ONLY
    carrier: Carrier = "root"
    orientation: ArrayLike = ()

    def numbers(self) -> tuple[Array, Array]:
        """Stiffness and damping as the law takes them. Raises ValueError."""
        if self.carrier not in CARRIERS:
            raise ValueError(f"the axes of stiffness turn with {self.carrier!r}, expected one of {', '.join(CARRIERS)}")
        turned = np.asarray(self.orientation, dtype=float)
        axes = np.eye(3) if turned.size == 0 else turned
        if axes.shape != (3, 3) or not np.allclose(axes @ axes.T, np.eye(3), atol=1e-9) or np.linalg.det(axes) < 0:
            raise ValueError("the orientation of the axes of stiffness is not a rotation matrix (3, 3)")
        return np.array([self.carrier == "tool", self.carrier == "wanted"], dtype=float), axes.reshape(-1)


class Tuning(NamedTuple):
    """What may change while a `CartesianController` runs, checked."""

    gains: CartesianGains
    terms: frozenset[str]
    compliance: Compliance
    stiffness: Array  # (36) wanted
    vectors: tuple[Array, ...]  # as the kernel takes them
    speed_limits: Array
    effort_limits: Array


class CartesianController:
    """A tool follows a pose, compliantly: tau = M a_r + C v_r + N + J^T F + null space + what keeps from limits.

    Law "impedance": F = K e + D edot + wanted wrench. The robot keeps its inertia; v_r is the joint velocity of
    least kinetic energy that moves the tool as wanted, a_r likewise. What pushes against the tool finds a passive
    spring and damper, and the tool follows a motion without error. Law "operational_space": F = (J M^-1 J^T)^-1
    (K e + D edot) + wanted wrench: the error decouples, e'' + D e' + K e = 0 in each axis; stiffness and damping are
    per effective inertia. What the tool leaves free is drawn to a posture, in the metric of M, without moving it.

    The wanted pose is given in a chart: theta = (phi, p), R = base exp(phi), so that polynomials describe a
    motion; |phi| < 2 pi. With the terms (gravity, spring) the impedance law is the plain J^T one. One kernel,
    nothing is allocated.

    Parameters:
        robot: without friction, all joints of one degree of freedom; payloads set later count.
        frame: link or joint that the tool is on. tool: its pose in that frame (4, 4), default the frame itself.
        law: "impedance" or "operational_space".
        others: see `tuning`.

    Raises KeyError for an unknown frame, ValueError for what does not fit.
    """

    def __init__(
        self,
        robot: Robot,
        frame: str,
        *,
        law: Law = "impedance",
        tool: ArrayLike | None = None,
        gains: CartesianGains | None = None,
        compliance: Compliance | None = None,
        terms: Iterable[str] = WITHOUT_FRICTION,
        effort_limits: ArrayLike = (),
        velocity_limits: ArrayLike = (),
    ) -> None:
        if law not in LAWS:
            raise ValueError(f"law is {law!r}, expected one of {', '.join(LAWS)}")
        model = robot.model
        self.robot, self.frame, self.law = robot, frame, law
        model.frame(frame)  # raises KeyError with near matches
        single_freedom_indices(robot, model.joint_names)
        self.joints = tuple(model.joint_names)
        self.tool = np.eye(4) if tool is None else np.array(tool, dtype=float)
        self._positions = PositionLimits.of(model)
        nv = model.nv
        self._inertias = largest_inertias(robot)
        self._zeros, self._still = np.zeros(6), np.zeros(nv)
        self._wrenches, self._dt = np.zeros(12), np.zeros(1)
        self.base = np.eye(3)
        self._wanted: Array | None = None  # theta at the last step
        self._output, self._work, self._scratch = (
            CartesianOutput(*(np.zeros(size) for size in output_sizes(nv))) for _ in range(3)
        )
        self.compliance = compliance or Compliance()
        self._recent, self._in_haste = RecentVelocities(), False
        self._softer: Shares | None = None  # of the gains, that are in use; None: all
        first = self.tuning(
            gains=gains,
            compliance=compliance,
            terms=terms,
            effort_limits=effort_limits,
            velocity_limits=velocity_limits,
        )
        self.use(first)
        self._kernel = self._build()
        self._call = self._kernel.fast
        self.reset()

    # --- what may change --------------------------------------------------------------------------

    def tuning(
        self,
        *,
        gains: CartesianGains | None = None,
        compliance: Compliance | None = None,
        terms: Iterable[str] = WITHOUT_FRICTION,
        effort_limits: ArrayLike = (),
        velocity_limits: ArrayLike = (),
    ) -> Tuning:
        """What `use` takes, and `attempt`. Raises ValueError.

        Parameters:
            gains: see `CartesianGains`. compliance: the axes of stiffness.
            terms: of "inertia", "coriolis", "gravity", "spring", "friction"; friction at the wanted velocity.
            effort_limits: N m or N, one for all or one for each joint; default the model's.
            velocity_limits: rad/s or m/s, likewise; joints that near them are not driven faster, but braked.
        """
        gains, compliance = gains or CartesianGains(), compliance or Compliance()
        chosen = checked_terms(terms)
        weights = np.array([term in chosen for term in TERMS], dtype=float)
        joints = self.robot.model.joints
        efforts = [joint.limits.effort for joint in joints]
        share = [LIMIT_SHARE * e if math.isfinite(e) else 0.0 for e in efforts]
        given = () if gains.joint_limit_torque is None else gains.joint_limit_torque
        torques = per_joint("joint_limit_torque", given, self.joints, share)
        limits = per_joint("effort_limits", effort_limits, self.joints, efforts)
        carrier, axes = compliance.numbers()
        speeds = [joint.limits.velocity for joint in joints]
        velocities = usable_speeds(per_joint("velocity_limits", velocity_limits, self.joints, speeds))
        energy = 0.5 * float(self._inertias @ velocities**2) if gains.largest_energy is None else gains.largest_energy
        numbers = replace(gains, largest_energy=energy).numbers()
        _, lower, upper = self._positions
        margins = self._positions.margins(gains.joint_limit_margin)
        vectors = (numbers, gains.dampings(), carrier, axes, weights, lower, upper, margins, torques)
        stiffness = gains.stiffness_of(self.law).reshape(-1)
        return Tuning(gains, chosen, compliance, stiffness, vectors, velocities, limits)

    def use(self, tuning: Tuning) -> None:
        """Use this tuning from the next step on; the stiffness is approached in `stiffness_time`, as the tank lets it.

        Where the axes are others, it begins with what acts, seen from them.
        """
        if self._wanted is not None and tuning.compliance is not self.compliance:
            turn = np.zeros((6, 6))
            turn[:3, :3] = turn[3:, 3:] = self._axes(tuning.compliance).T @ self._axes(self.compliance)
            self._output.stiffness[:] = (turn @ self.stiffness @ turn.T).reshape(-1)
        self.gains, self.terms, self.compliance, self._wanted_stiffness, self._vectors = tuning[:5]
        self.velocity_limits, self.effort_limits = tuning.speed_limits, tuning.effort_limits

    def soften(self, share: float) -> None:
        """Use so much of the damping from the next step on, of the stiffness its square; those of the posture likewise.

        share: 0 (excluded) to 1.
        """
        self._softer = None if share == 1.0 else ALL.softer(share)

    def want_stiffness(self, stiffness: ArrayLike) -> None:
        """Another stiffness than the gains', until `use`: see `stiffness_matrix`, which raises ValueError."""
        self._wanted_stiffness = stiffness_matrix(stiffness).reshape(-1)

    @property
    def largest_energy(self) -> float:
        """J, kinetic, from which the robot is kept."""
        return float(self._vectors[0][GainNumbers._fields.index("largest_energy")])

    @property
    def stiffness(self) -> Array:
        """(6, 6) that acts now."""
        return self._output.stiffness.reshape(6, 6)

    @property
    def wanted_stiffness(self) -> Array:
        """(6, 6) that is approached."""
        return self._wanted_stiffness.reshape(6, 6)

    @property
    def axes(self) -> Array:
        """Axes of stiffness (3, 3) in root axes, at the last step."""
        return self._axes(self.compliance)

    def _axes(self, compliance: Compliance) -> Array:
        """Axes of stiffness (3, 3), where the tool was and was wanted at the last step."""
        own = compliance.numbers()[1].reshape(3, 3)
        if compliance.carrier == "root" or self._wanted is None:
            return own
        if compliance.carrier == "tool":
            return np.asarray(self._output.pose[:9].reshape(3, 3) @ own)
        return np.asarray(PoseChart(self.base).pose(self._wanted)[:3, :3] @ own)

    def reset(self) -> None:
        """The wanted stiffness acts at once, the tank is full; velocities and what is outside are not known."""
        self.forget_motion()
        self.settle_stiffness()
        self._output.tank[...] = self.gains.tank_size

    def settle_stiffness(self) -> None:
        """The wanted stiffness acts from the next step on."""
        self._output.stiffness[:] = self._wanted_stiffness

    def forget_motion(self) -> None:
        """Velocities before and what is outside are not known: after a gap they say nothing of now."""
        self._recent.forget()
        self._output.outside[:] = self._output.driven[:] = 0.0

    # --- steps ------------------------------------------------------------------------------------

    @property
    def in_haste(self) -> bool:
        """Whether a joint was, or became, so fast at the last step that efforts have to change as fast as they can."""
        return self._in_haste

    def step(
        self,
        q: Array,
        v: Array,
        theta: Array,
        *,
        rate: Array | None = None,
        acceleration: Array | None = None,
        wrench: Array | None = None,
        tool_wrench: Array | None = None,
        posture: Array | None = None,
        posture_rate: Array | None = None,
        dt: float = 0.0,
    ) -> CartesianOutput:
        """The command for one measured state.

        Parameters:
            q, v (nv): measured.
            theta, rate, acceleration (6): wanted, in the chart at `base`; the latter two zero by default.
            wrench, tool_wrench (6): that the tool is to exert besides, at its point, in root and in tool axes.
            posture (nv): where joints are drawn to, as far as the tool leaves them free; default: damped only.
            posture_rate (nv): how that moves, rad/s or m/s; default: not.
            dt: s since the last step, for what changes with time.

        Raises ValueError for what is not finite, ArithmeticError where the result is not: nothing may be commanded
        then, and nothing has changed.
        """
        inputs = self._inputs(q, v, theta, rate, acceleration, wrench, tool_wrench, posture, posture_rate, dt)
        _, _, before, *_ = inputs
        self._in_haste = self._recent.soon_beyond(v, before, self.gains.reaction_time, HASTE * self.velocity_limits)
        self._recent.add(v, dt)
        if self._call(*inputs, *self._work) is None:
            self._kernel(inputs, self._work)
        self._output, self._work = self._work, self._output
        if self._softer is not None:
            self._output.stiffness[:] /= self._softer.stiffness
        self._wanted = theta
        return self._output

    def attempt(self, q: Array, v: Array, theta: Array, tuning: Tuning) -> CartesianOutput:
        """What a step at rest would give with another tuning, its stiffness at once; nothing changes.

        Raises as `step` does.
        """
        inputs = list(self._inputs(q, v, theta, None, None, None, None, q, None, 0.0))
        at = self._places["stiffness"]
        inputs[at : at + 2] = [tuning.stiffness, tuning.stiffness]
        at = self._places["gains"]
        inputs[at : at + len(tuning.vectors) + 2] = [*tuning.vectors, tuning.speed_limits, tuning.effort_limits]
        self._kernel(tuple(inputs), self._scratch)
        return self._scratch

    def chart(self, q: Array) -> Array:
        """theta (6) of the tool at q."""
        return PoseChart(self.base).coordinates(self.pose(q))

    def pose(self, q: Array) -> Array:
        """(4, 4) of the tool in the root frame."""
        return np.asarray(self.robot.pose(q, self.frame) @ self.tool)

    def _inputs(
        self,
        q: Array,
        v: Array,
        theta: Array,
        rate: Array | None,
        acceleration: Array | None,
        wrench: Array | None,
        tool_wrench: Array | None,
        posture: Array | None,
        posture_rate: Array | None,
        dt: float,
    ) -> tuple[Array, ...]:
        zeros = self._zeros
        self._wrenches[:6] = zeros if wrench is None else wrench
        self._wrenches[6:] = zeros if tool_wrench is None else tool_wrench
        self._dt[0] = dt
        before = self._recent.before(v, dt)
        stiffness, wanted, vectors = self._output.stiffness, self._wanted_stiffness, self._vectors
        if self._softer is not None:
            less, damping = self._softer
            numbers = vectors[0].copy()
            numbers[POSTURE] *= self._softer
            stiffness, wanted, vectors = less * stiffness, less * wanted, (numbers, damping * vectors[1], *vectors[2:])
        return (
            q, v, before, self._recent.span, self.base, theta,
            zeros if rate is None else rate,
            zeros if acceleration is None else acceleration,
            self._wrenches, q if posture is None else posture,
            self._still if posture_rate is None else posture_rate,
            stiffness, wanted, self._output.tank, self._dt,
            self._output.outside, self._output.driven,
            self._tool, *vectors, self.velocity_limits, self.effort_limits, self.robot.inertia_input,
        )  # fmt: skip

    @property
    def tool(self) -> Array:
        """Pose (4, 4) of the tool in its frame."""
        return self._tool_pose

    @tool.setter
    def tool(self, pose: Array) -> None:
        pose = np.asarray(pose, dtype=float)
        turned = pose[:3, :3] if pose.shape == (4, 4) else np.zeros((3, 3))
        if not np.isfinite(pose).all() or not np.allclose(turned @ turned.T, np.eye(3), atol=1e-9):
            raise ValueError("the tool is not a pose (4, 4)")
        self._tool_pose = pose
        self._tool = np.concatenate([pose[:3, :3].reshape(-1), pose[:3, 3]])

    def _build(self) -> Evaluation:
        signature, function = cartesian_kernel(self.robot.model, self.frame, self.law)
        self._places = {argument.name: place for place, argument in enumerate(signature.inputs)}
        return self.robot.custom_kernel("cartesian_control", signature, function)
