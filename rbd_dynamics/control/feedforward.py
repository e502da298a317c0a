"""Feedforward torque of a desired motion, with an optional PD around it (theory.md section 8)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.control.terms import CORIOLIS, FRICTION, GRAVITY, INERTIA, checked_terms
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]
EvaluateAt = Literal["measured", "desired"]
EVALUATE_AT = ("measured", "desired")


class Feedforward:
    """tau = (chosen terms of) M a_d + C v + N + friction(v_d) + kp (q_d - q) + kd (v_d - v), within limits.

    M, C and N are taken at the measured or at the desired state. Joints of the robot that are not
    controlled are taken at the measured state, with no acceleration. Friction is that of the desired
    velocity: at the measured one it would chatter around standstill. Nothing is allocated once it runs.

    Parameters:
        robot: without friction, all joints of one degree of freedom.
        joints: the controlled ones; they order everything below. Default: all.
        terms: of "inertia", "coriolis", "gravity", "friction".
        kp, kd: gains (N m/rad, N m s/rad or N/m, N s/m): none, one for all, or one for each.
        effort_limits: likewise; default: the model's.
    """

    def __init__(
        self,
        robot: Robot,
        joints: Sequence[str] = (),
        *,
        terms: Iterable[str] = (INERTIA, CORIOLIS, GRAVITY),
        evaluate_at: EvaluateAt = "measured",
        kp: ArrayLike = (),
        kd: ArrayLike = (),
        effort_limits: ArrayLike = (),
    ) -> None:
        model = robot.model
        self.robot = robot
        self.joints = tuple(joints) or tuple(model.joint_names)
        self.index = single_freedom_indices(robot, self.joints)
        chosen = [model.joint(name) for name in self.joints]
        self.continuous = np.array([joint.kind.name == "continuous" for joint in chosen], dtype=bool)
        self.terms = checked_terms(terms)
        self.evaluate_at = evaluate_at
        self.kp, self.kd = self.per_joint("kp", kp), self.per_joint("kd", kd)
        model_limits = [joint.limits.effort for joint in chosen]
        self.effort_limits = self.per_joint("effort_limits", effort_limits, model_limits)
        self.saturated = np.zeros(len(self.joints), dtype=bool)

        n, count = model.nv, len(self.joints)
        self.controls_all = np.array_equal(self.index, np.arange(n))
        self._q, self._v, self._a, self._zero = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
        self._tau, self._gravity, self._friction = np.zeros(n), np.zeros(n), np.zeros(n)
        self._efforts, self._error = np.zeros(count), np.zeros(count)
        self._lower = np.empty(count)
        self._wraps = bool(self.continuous.any())

    @property
    def kernels(self) -> tuple[str, ...]:
        """Names of the kernels that `compute` uses, for `robot.compile`."""
        names = ["inverse_dynamics"]
        names += [] if GRAVITY in self.terms else ["gravity"]
        return (*names, "friction") if FRICTION in self.terms else tuple(names)

    def per_joint(self, what: str, values: ArrayLike, default: Sequence[float] | float = 0.0) -> Array:
        """One number for each controlled joint out of none, one or as many. Raises ValueError."""
        given = np.asarray(values, dtype=float).reshape(-1)
        count = len(self.joints)
        if given.size == 0:
            given = np.asarray(default, dtype=float).reshape(-1)
        if given.size not in (1, count):
            raise ValueError(f"{what} has {given.size} values for {count} joints: {', '.join(self.joints)}")
        wrong = np.flatnonzero(~(given >= 0.0))
        if wrong.size:
            name = self.joints[wrong[0]] if given.size == count else "every joint"
            raise ValueError(f"{what} of {name} is {given[wrong[0]]}, expected a number >= 0")
        return np.ascontiguousarray(np.broadcast_to(given, (count,)), dtype=float)

    def compute(self, q: Array, v: Array, desired: Array) -> Array:
        """Efforts of the controlled joints, the same array each time; `saturated` says which hit their limit.

        q, v: measured, all joints of the robot in its order. desired: position, velocity, acceleration
        (3, joints). Raises ValueError or ArithmeticError where a number is not finite.
        """
        tau = self._model_torque(q, v, desired)
        efforts = self._efforts
        if self.controls_all:
            efforts[:] = tau
            self._add_pd(q, v, desired)
        else:
            np.take(tau, self.index, out=efforts, mode="clip")
            self._add_pd(q[self.index], v[self.index], desired)
        np.abs(efforts, out=self._error)
        np.greater(self._error, self.effort_limits, out=self.saturated)
        np.negative(self.effort_limits, out=self._lower)
        np.minimum(efforts, self.effort_limits, out=efforts)
        np.maximum(efforts, self._lower, out=efforts)
        return efforts

    def _model_torque(self, q: Array, v: Array, desired: Array) -> Array:
        terms, index = self.terms, self.index
        if self.evaluate_at == "desired":
            self._q[:], self._v[:] = q, v
            self._q[index], self._v[index] = desired[0], desired[1]
            q, v = self._q, self._v
        if INERTIA in terms:
            self._a[index] = desired[2]
        tau = self._tau
        a = self._a if INERTIA in terms else self._zero
        self.robot.inverse_dynamics(q, v if CORIOLIS in terms else self._zero, a, out=tau)
        if GRAVITY not in terms:
            self.robot.gravity(q, out=self._gravity)
            np.subtract(tau, self._gravity, out=tau)
        if FRICTION in terms:
            self._v[:] = 0.0
            self._v[index] = desired[1]
            self.robot.friction_torque(self._v, out=self._friction)
            np.add(tau, self._friction, out=tau)
        return tau

    def _add_pd(self, q: Array, v: Array, desired: Array) -> None:
        error, efforts = self._error, self._efforts
        np.subtract(desired[0], q, out=error)
        if self._wraps:  # the shorter way round
            error -= np.where(self.continuous, 2.0 * np.pi * np.round(error / (2.0 * np.pi)), 0.0)
        np.multiply(error, self.kp, out=error)
        np.add(efforts, error, out=efforts)
        np.subtract(desired[1], v, out=error)
        np.multiply(error, self.kd, out=error)
        np.add(efforts, error, out=efforts)


def single_freedom_indices(robot: Robot, joints: Sequence[str]) -> NDArray[np.intp]:
    """Where `joints` are in q and in v. Raises ValueError for an unknown or repeated one.

    All joints of the robot must have one degree of freedom, as in sensor_msgs/JointState.
    """
    for joint in robot.model.joints:
        if joint.kind.nv != 1 or joint.kind.nq != 1:
            raise ValueError(
                f"joint {joint.name!r} has {joint.kind.nv} degrees of freedom, which a JointState cannot carry: lock it"
            )
    for name in joints:
        if list(joints).count(name) > 1:
            raise ValueError(f"joint {name!r} is named twice")
    try:
        return np.array([robot.model.joint(name).v_index for name in joints], dtype=np.intp)
    except KeyError as error:
        raise ValueError(str(error.args[0])) from None
