# SPDX-License-Identifier: Apache-2.0
"""Limits of a motion along a path q(s), as rows that are linear in x = (ds/dt)^2 and u = d^2 s/dt^2 at each s.

With q' and q'' the derivatives by s: acceleration = q' u + q'' x, torque = (M q') u + (M q'' + C(q, q') q') x + N,
plus friction, which is neither. Source: Bobrow, Dubowsky, Gibson, Time-optimal control of robotic manipulators along
specified paths (1985); the linear form in x: Verscheure and others, Time-optimal path tracking for robots: a convex
optimization approach (2009).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.motion.trajectory import TrajectoryError
from rbd_dynamics.control.terms import FRICTION
from rbd_dynamics.model.passive_forces import COULOMB_SPEED
from rbd_dynamics.trajectories.group import GroupDynamics
from rbd_dynamics.trajectories.limits import Limits
from rbd_dynamics.trajectories.path import Path

Array = NDArray[np.float64]
SLOWEST = 1e-3  # of the largest speed ds/dt: below it, friction is taken as it is there, not with its slope


@dataclass
class Rows:
    """What limits allow at nodes s (N,) of a path.

    lower <= a u + b x + c <= upper, each (N, rows), accelerations before torques; x <= fastest (N,).
    q, dq, ddq: the path and its derivatives (N, joints).
    """

    s: Array
    q: Array
    dq: Array
    ddq: Array
    a: Array
    b: Array
    c: Array
    lower: Array
    upper: Array
    fastest: Array
    torque_columns: NDArray[np.intp]  # of the joints: those of the torque rows

    @property
    def accelerations(self) -> int:
        """How many rows are of accelerations."""
        return self.a.shape[1] - len(self.torque_columns)

    def with_friction(self, dynamics: GroupDynamics, x: Array) -> tuple[Array, Array]:
        """b and c with friction at the speeds sqrt(x) (N,), and its slope by x there."""
        columns, first = self.torque_columns, self.accelerations
        if FRICTION not in dynamics.terms or not len(columns):
            return self.b, self.c
        x = np.concatenate([x[1:2], x[1:]])  # it is there as soon as the motion begins
        speed = np.sqrt(np.maximum(x, 0.0))
        level = dynamics.friction(self.dq * speed[:, None])[:, columns]
        least = SLOWEST * speed.max()
        near = np.maximum(speed, least) * (1.0 + 1e-4)
        slope = (dynamics.friction(self.dq * near[:, None])[:, columns] - level) / (near * near - x)[:, None]
        slope[speed < least] = 0.0
        b, c = self.b.copy(), self.c.copy()
        b[:, first:] += slope
        c[:, first:] += level - slope * x[:, None]
        return b, c


def rows_along(path: Path, s: Array, full: Limits, dynamics: GroupDynamics, share: float) -> Rows:
    """The rows at s (N,), without friction, for a share of the limits.

    Raises TrajectoryError where a torque limit does not hold the robot.
    """
    q, dq, ddq = path.at(s), path.at(s, order=1), path.at(s, order=2)
    rows = rows_of(s, q, dq, ddq, full.scaled(share), dynamics)
    if len(rows.torque_columns):
        _check_held(path, s, full, dynamics, dynamics.rigid(q, np.zeros_like(q), np.zeros_like(q)), dq, share)
    return rows


def rows_of(s: Array, q: Array, dq: Array, ddq: Array, limits: Limits, dynamics: GroupDynamics) -> Rows:
    """The rows, without friction, at states of any parameter s (N,): q and its derivatives by it (N, joints)."""
    still = np.zeros_like(q)
    fastest = np.full(len(s), np.inf)
    with np.errstate(divide="ignore"):
        for joint in np.flatnonzero(np.isfinite(limits.velocity)):
            fastest = np.minimum(fastest, (limits.velocity[joint] / dq[:, joint]) ** 2)
        for frame, speed in limits.tool_speed.items():
            fastest = np.minimum(fastest, (speed / dynamics.tool_speeds(frame, q, dq)) ** 2)
    speeding = np.flatnonzero(np.isfinite(limits.acceleration))
    torques = np.flatnonzero(np.isfinite(limits.effort))
    n, count = len(s), len(speeding) + len(torques)
    a, b, c, upper = (np.empty((n, count)) for _ in range(4))
    first = len(speeding)
    a[:, :first], b[:, :first], c[:, :first] = dq[:, speeding], ddq[:, speeding], 0.0
    upper[:, :first] = limits.acceleration[speeding]
    if len(torques):
        static = dynamics.rigid(q, still, still)
        a[:, first:] = (dynamics.rigid(q, still, dq) - static)[:, torques]
        b[:, first:] = (dynamics.rigid(q, dq, ddq) - static)[:, torques]
        c[:, first:] = static[:, torques]
        upper[:, first:] = limits.effort[torques]
    return Rows(s, q, dq, ddq, a, b, c, -upper, upper, fastest, torques)


def _check_held(
    path: Path, s: Array, limits: Limits, dynamics: GroupDynamics, static: Array, dq: Array, share: float
) -> None:
    """Torques must suffice for a motion that is as slow as it may be."""
    slow = dq / np.maximum(np.abs(dq).max(axis=1, keepdims=True), 1e-300) * (10.0 * COULOMB_SPEED)
    needed = np.maximum(np.abs(static), np.abs(static + dynamics.friction(slow)))
    short = needed > share * limits.effort
    if short.any():
        k, joint = np.argwhere(short)[0]
        place = int(np.argmin(np.abs(path.knots - s[k])))
        raise TrajectoryError(
            f"near point {place} of the path joint {path.joint_names[joint]!r} needs {needed[k, joint]:.6g} to be held "
            f"and to begin to move: more than {share * limits.effort[joint]:.6g}, which is what its effort limit of "
            f"{limits.effort[joint]:.6g} leaves after {100.0 * (1.0 - share):.2g} % are held back"
        )
