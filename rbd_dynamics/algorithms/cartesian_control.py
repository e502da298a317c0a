# SPDX-License-Identifier: Apache-2.0
"""A tool's motion and what moves it, for control in Cartesian space (theory.md section 13).

Twists, wrenches and their rows have the angular part first. They are taken at the tool's point in axes that do not
turn, the root frame's where nothing else is said, so that a rate is the derivative of what it is the rate of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from rbd_dynamics.algorithms.constrained_dynamics import orthonormal_basis, squares
from rbd_dynamics.algorithms.frames import frame_jacobian, frame_jacobian_dot, frame_pose
from rbd_dynamics.algorithms.kinematics import combine, joint_motion, joint_variation, support
from rbd_dynamics.model.model import Frame, Model
from rbd_dynamics.spatial.jets import moving, rate_of, value_of
from rbd_dynamics.spatial.lie import exp_so3, right_jacobian_so3
from rbd_dynamics.spatial.rank import ROUNDING
from rbd_dynamics.spatial.scalar import Scalar, dot, less, reciprocal, sqrt, where
from rbd_dynamics.spatial.se3 import Transform, Vec6, ad, dot6, twist_to_child
from rbd_dynamics.spatial.so3 import Mat3, Vec3, add3, cross, matmul, matvec

Vector = Sequence[Scalar]
#: translations come before rotations: near singular postures they are what is kept
PRIORITY = (3, 4, 5, 0, 1, 2)


class ToolMotion(NamedTuple):
    """Motion of a point and axes on a frame: rotation R, place p, rows of J and of its rate (6, nv)."""

    R: Mat3
    p: Vec3
    jacobian: list[list[Scalar]]
    rate: list[list[Scalar]]

    @classmethod
    def of(cls, model: Model, q: Vector, v: Vector, frame: Frame) -> ToolMotion:
        """Motion of a frame that is the tool's."""
        pose = frame_pose(model, q, frame)
        R = pose.rotation
        columns, rates = frame_jacobian(model, q, frame), frame_jacobian_dot(model, q, v, frame)
        w = combine(columns, v)[:3]
        turned = [(*matvec(R, c[:3]), *matvec(R, c[3:])) for c in columns]
        rate = [
            (*matvec(R, add3(cross(w, c[:3]), dc[:3])), *matvec(R, add3(cross(w, c[3:]), dc[3:])))
            for c, dc in zip(columns, rates)
        ]
        return cls(R, pose.p, [list(row) for row in zip(*turned)], [list(row) for row in zip(*rate)])


def tool_frame(frame: Frame, placement: Transform) -> Frame:
    """The frame of a tool with this pose in `frame`."""
    whole = frame.placement @ placement
    return replace(frame, placement=Transform.of(whole.rotation, whole.p))


class WantedMotion(NamedTuple):
    """Wanted pose of the tool and its motion: w, wdot in its own axes, pdot and pddot in the root's."""

    R: Mat3
    p: Vec3
    w: Vec3
    w_rate: Vec3
    velocity: Vec3
    acceleration: Vec3

    @classmethod
    def of(cls, base: Mat3, theta: Vector, rate: Vector, acceleration: Vector) -> WantedMotion:
        """Wanted motion from theta = (phi, p) with R = base exp(phi), and its two derivatives (6 each)."""
        moved = moving([*theta[:3], *rate[:3]], [*rate[:3], *acceleration[:3]])
        level = moved[0].level
        w = right_jacobian_so3((moved[0], moved[1], moved[2]), (moved[3], moved[4], moved[5]))
        return cls(
            matmul(base, exp_so3(tuple(theta[:3]))),
            tuple(theta[3:]),
            tuple(value_of(x, level) for x in w),
            tuple(rate_of(x, level) for x in w),
            tuple(rate[3:]),
            tuple(acceleration[3:]),
        )


class Metric(Protocol):
    """How joints are weighed: the factor W of a matrix W W^T, such as the mass matrix."""

    def solve(self, b: Vector) -> list[Scalar]:
        """W^-1 b (nv)."""


class DampedRows(NamedTuple):
    """Rows J in the metric of W W^T, kinetic energy or another: X = W^-1 J^T, R^T R = X^T X + diag(damping).

    The damping of a row is zero unless its mobility, with the rows of higher priority held, is below four times the
    least one; then it grows smoothly so that the mobility never is below the least. Without damping R^T R is
    J M^-1 J^T and the columns of Q are orthonormal.
    """

    X: list[list[Scalar]]  # columns, one a row of J, each (nv)
    Q: list[list[Scalar]]  # columns in order of priority
    R: list[list[Scalar]]  # upper triangular, in order of priority
    inverse: list[Scalar]  # of its diagonal
    priority: Sequence[int]

    @classmethod
    def of(cls, W: Metric, rows: Sequence[Vector], least: Vector, priority: Sequence[int] = PRIORITY) -> DampedRows:
        """rows (n, nv); least (n): mobilities that are kept up, 1/(kg m^2), 1/kg of a tool's; priority (n): of rows."""
        X = [W.solve(row) for row in rows]
        n = len(priority)
        Q: list[list[Scalar]] = []
        R: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
        inverse: list[Scalar] = []
        for j, row in enumerate(priority):
            rest: list[Scalar] = [*X[row], *[0.0] * n]  # below: what the damping adds
            for i in range(j):
                R[i][j] = dot(Q[i], rest)
                rest = [x - R[i][j] * y for x, y in zip(rest, Q[i])]
            mobility = dot(rest, rest)
            short = 1.0 - 0.25 * mobility * reciprocal(least[row])
            damping = where(less(0.0, short), least[row] * short * short, 0.0)
            rest[len(X[row]) + j] = sqrt(damping + 1e-300)
            R[j][j] = sqrt(mobility + damping)
            inverse.append(reciprocal(R[j][j]))
            Q.append([inverse[j] * x for x in rest])
        nv = len(X[0])
        return cls(X, [column[:nv] for column in Q], R, inverse, priority)

    def _forward(self, x: Vector) -> list[Scalar]:
        """R^-T x, in order of priority."""
        c: list[Scalar] = []
        for j, row in enumerate(self.priority):
            known = sum((self.R[i][j] * c[i] for i in range(j)), 0.0)
            c.append(self.inverse[j] * (x[row] - known))
        return c

    def quasi(self, twist: Vector) -> list[Scalar]:
        """W^T v of the v of least kinetic energy with J v = twist, or W^T a likewise."""
        c = self._forward(twist)
        return [sum((q[k] * x for q, x in zip(self.Q, c)), 0.0) for k in range(len(self.X[0]))]

    def inertia_times(self, x: Vector) -> list[Scalar]:
        """(J M^-1 J^T)^-1 x: the wrench (6) that makes an acceleration x (6)."""
        return self._backward(self._forward(x))

    def feasible_inertia_times(self, x: Vector) -> list[Scalar]:
        """Likewise, but nothing along what is lost near singular postures: there `inertia_times` is largest."""
        moved = self.quasi(x)
        return self._backward([dot(column, moved) for column in self.Q])

    def _backward(self, c: Vector) -> list[Scalar]:
        """R^-1 c, c in order of priority."""
        n = len(c)
        found: list[Scalar] = [0.0] * n
        for i in reversed(range(n)):
            known = sum((self.R[i][k] * found[k] for k in range(i + 1, n)), 0.0)
            found[i] = self.inverse[i] * (c[i] - known)
        ordered: list[Scalar] = [0.0] * n
        for value, row in zip(found, self.priority):
            ordered[row] = value
        return ordered

    def left_over(self, quasi: Vector) -> list[Scalar]:
        """W^T a without what moves the tool."""
        parts = [dot(column, quasi) for column in self.Q]
        return [value - sum((column[k] * x for column, x in zip(self.Q, parts)), 0.0) for k, value in enumerate(quasi)]


def manipulability(model: Model, q: Vector, frame: Frame) -> tuple[Scalar, list[Scalar]]:
    """sqrt(det(J J^T)) of a frame (rad, m), and its derivative by q (nv)."""
    nv = model.nv
    columns: list[Vec6] = [(0.0,) * 6] * nv
    found: list[tuple[int, int, Vec6]] = []  # depth, dof, column: from the frame towards the base
    slopes: list[tuple[int, int, Vec6]] = []  # dof that moves, dof whose column changes, by what
    still: list[Scalar] = [0.0] * nv
    to_frame = frame.placement
    for depth, index in enumerate(reversed(support(model, frame.body))):
        body = model.bodies[index]
        motion = joint_motion(body, q)
        for dof, column in zip(motion.dofs, motion.columns):
            here = twist_to_child(to_frame, column)
            columns[dof] = tuple(x + y for x, y in zip(columns[dof], here))
            found.append((depth, dof, here))
        varied = joint_variation(body, q, still)
        if varied is not None:
            for by, changed in zip(motion.dofs, varied.slopes):
                slopes += [(by, dof, twist_to_child(to_frame, s)) for dof, s in zip(motion.dofs, changed)]
        to_frame = motion.transform @ to_frame
        to_frame = Transform.of(to_frame.rotation, to_frame.p)
    # what is nearer to the frame turns the columns of what is farther away
    for near, by, turning in found:
        for far, dof, column in found:
            if far > near:
                slopes.append((by, dof, tuple(-x for x in ad(turning, column))))
    basis = orthonormal_basis([list(row) for row in zip(*columns)], squares(columns), tolerance=ROUNDING)
    measure: Scalar = 1.0
    for k in range(6):
        measure = measure * basis.R[k][k]
    units = [[float(i == k) for i in range(6)] for k in range(6)]
    inverse = [basis.combine(basis.solve_transposed(unit)) for unit in units]  # columns of J^T (J J^T)^-1
    gradient: list[Scalar] = [0.0] * nv
    for by, dof, change in slopes:
        gradient[by] = gradient[by] + dot6(tuple(column[dof] for column in inverse), change)
    return measure, [measure * x for x in gradient]
