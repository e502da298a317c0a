# SPDX-License-Identifier: Apache-2.0
"""Torques and tool speeds of some joints of a robot, the others of which stand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.algorithms.passive_forces import friction_torque
from rbd_dynamics.common.real_numbers import real_array
from rbd_dynamics.control.feedforward import single_freedom_indices
from rbd_dynamics.control.motion.trajectory import TrajectoryError
from rbd_dynamics.control.terms import CORIOLIS, FRICTION, GRAVITY, INERTIA, SPRING, checked_terms
from rbd_dynamics.model.joints import Continuous
from rbd_dynamics.model.model import Model
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]


def continuous_joints(model: Model, joints: Iterable[str]) -> tuple[str, ...]:
    """Those of some joints that turn without end, as `Path` takes them. KeyError for an unknown one."""
    return tuple(name for name in joints if isinstance(model.joint(name).kind, Continuous))


class GroupDynamics:
    """Torques of some joints of a robot whose other joints stand.

    Parameters:
        robot: without friction, all joints of one degree of freedom.
        joints: those that move, by name, in their order.
        terms: of inverse dynamics.
        others: q (nq) of the whole robot, of which the joints that do not move are taken. Default: its neutral one.
    """

    def __init__(self, robot: Robot, joints: tuple[str, ...], terms: Iterable[str], others: Array | None) -> None:
        if robot.friction:
            raise TrajectoryError("the robot has friction in its equation of motion: here friction is one of the terms")
        self.robot, self.joints, self.terms = robot, joints, checked_terms(terms)
        self.index = single_freedom_indices(robot, joints)
        held = robot.model.neutral() if others is None else np.array(others, dtype=float)
        if held.shape != (robot.model.nq,) or not np.isfinite(held).all():
            raise TrajectoryError(f"others must be {robot.model.nq} finite numbers, a configuration of the whole robot")
        self.held = held
        self._all = len(self.index) == robot.model.nv and bool((self.index == np.arange(robot.model.nv)).all())

    def whole(self, q: Array) -> Array:
        """Configurations (N, nq) of the robot from positions (N, joints)."""
        if self._all:
            return np.ascontiguousarray(q)
        every = np.repeat(self.held[None], len(q), axis=0)
        every[:, self.index] = q
        return every

    def rates(self, v: Array) -> Array:
        """Velocities or accelerations (N, nv) of the robot from those of the joints (N, joints)."""
        if self._all:
            return np.ascontiguousarray(v)
        every = np.zeros((len(v), self.robot.model.nv))
        every[:, self.index] = v
        return every

    def rigid(self, q: Array, v: Array, a: Array) -> Array:
        """Torques (N, joints) of the terms but friction."""
        every = self.whole(q)
        v = self.rates(v if CORIOLIS in self.terms else np.zeros_like(v))
        a = self.rates(a if INERTIA in self.terms else np.zeros_like(a))
        tau = self.robot.inverse_dynamics(every, v, a)
        if GRAVITY not in self.terms:
            tau -= self.robot.gravity(every)
        if SPRING not in self.terms:
            tau -= self.robot.spring_torque(every)
        return np.ascontiguousarray(tau[:, self.index])

    def friction(self, v: Array) -> Array:
        """Torques (N, joints) that overcome friction."""
        if FRICTION not in self.terms:
            return np.zeros_like(v)
        every = np.ascontiguousarray(self.rates(v).T)
        torque = friction_torque(self.robot.model, every)  # type: ignore[arg-type]
        found = np.zeros_like(v)
        for column, dof in enumerate(self.index):
            found[:, column] = torque[dof]
        return found

    def torque(self, q: Array, v: Array, a: Array) -> Array:
        """Torque of all terms (N, joints)."""
        return self.rigid(q, v, a) + self.friction(v)

    def tool_speeds(self, frame: str, q: Array, v: Array) -> Array:
        """Speeds of the frame's origin (N,), m/s."""
        jacobian = self.robot.jacobian(self.whole(q), frame)[:, 3:]
        return np.linalg.norm(np.einsum("nij,nj->ni", jacobian, self.rates(v)), axis=1)


def configuration_of(robot: Robot, others: ArrayLike | Mapping[str, float] | None) -> Array | None:
    """Posture of the joints that do not move: q (nq), or positions by name and the neutral ones. None: neutral."""
    if others is None:
        return None
    if isinstance(others, Mapping):
        q = robot.model.neutral()
        for name, position in others.items():
            joint = robot.model.joint(name)
            if joint.kind.nq != 1:
                raise TrajectoryError(f"others: joint {name!r} has {joint.kind.nq} coordinates")
            q[joint.q_index] = position
        return np.asarray(q, dtype=float)
    return real_array(others, "others")
