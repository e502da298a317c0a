# SPDX-License-Identifier: Apache-2.0
"""The laws of Cartesian impedance and operational-space control over generic scalars (theory.md section 13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from rbd_dynamics.algorithms.cartesian_control import (
    DampedRows,
    ToolMotion,
    WantedMotion,
    manipulability,
    tool_frame,
)
from rbd_dynamics.algorithms.cartesian_impedance import (
    damping_of,
    limit_torque,
    singularity_torque,
    spring_energy,
    spring_wrench,
    stiffen,
    within,
)
from rbd_dynamics.algorithms.coriolis_matrix import coriolis_matrix
from rbd_dynamics.algorithms.hybrid_control import clamped
from rbd_dynamics.algorithms.inverse_dynamics import inverse_dynamics
from rbd_dynamics.algorithms.joint_speed_bound import EnergyBound, SpeedBound, distances, foreseen, from_outside
from rbd_dynamics.algorithms.modal_damping import ModalDamping
from rbd_dynamics.algorithms.passive_forces import friction_torque, spring_torque
from rbd_dynamics.algorithms.tree_factor import MassFactor
from rbd_dynamics.control.cartesian.gains import GainNumbers
from rbd_dynamics.control.motion.joint_room import MARGIN
from rbd_dynamics.kernels.inputs import Inputs
from rbd_dynamics.model.model import Frame
from rbd_dynamics.spatial.lie import log_so3, right_jacobian_inverse_so3
from rbd_dynamics.spatial.scalar import Scalar, atan2, cos, dot, less, reciprocal, sin, where
from rbd_dynamics.spatial.se3 import Transform
from rbd_dynamics.spatial.so3 import IDENTITY3, Mat3, Vec3, add3, cross, matmul, matvec, scale3, sub3, transpose

Vector = Sequence[Scalar]
Law = Literal["impedance", "operational_space"]
LAWS = ("impedance", "operational_space")
SINGULAR = 0.01  # of a row's mobility alone: where the others leave less to it, it is kept up
LEAST_ROOM = 0.05  # share of an effort limit that is left to motion, whatever gravity takes
STOPS = 0.5  # of the margin to a limit of position: so far before it a joint stops, but not before the wanted motion
LIMIT_SPRING = 0.3  # over the reaction time: what keeps a joint from its limit, critically damped, is stable at that


class Reference(NamedTuple):
    """Twist and acceleration (6, root axes) that the tool's point should have where it is."""

    twist: Vector
    acceleration: Vector


@dataclass(frozen=True)
class CartesianLaw:
    """One step of `CartesianController`, whose documentation says what it is.

    continuous (nv): joints whose angle counts modulo one turn. limited (nv): joints with
    limits of position. free: the tool can be moved in all six directions.
    """

    law: Law
    continuous: tuple[bool, ...]
    limited: tuple[bool, ...]
    free: bool

    def __call__(self, x: Inputs) -> list[Vector]:
        """Outputs of the law, in the order of `CartesianOutput`."""
        gains, impedance = GainNumbers(*x.gains), self.law == "impedance"
        model, q, v = x.model, x.q, x.v
        frame = tool_frame(x.frame, Transform((tuple(x.tool[:9]),), tuple(x.tool[9:])))
        tool = ToolMotion.of(model, q, v, frame)
        wanted = WantedMotion.of(tuple(x.base), x.theta, x.rate, x.acceleration)
        twist = [dot(row, v) for row in tool.jacobian]
        with_tool, with_wanted = x.carrier
        carrier = tuple(where(with_tool, a, where(with_wanted, b, c)) for a, b, c in zip(tool.R, wanted.R, IDENTITY3))
        axes = matmul(carrier, tuple(x.axes))

        # from here on in the axes of stiffness
        rotation, off = log_so3(matmul(wanted.R, transpose(tool.R))), sub3(wanted.p, tool.p)
        reference = self._reference(tool, wanted, twist, off, with_tool + with_wanted)
        error = into(axes, [*rotation, *off])
        wanted_twist = into(axes, reference.twist)
        slip = [a - b for a, b in zip(wanted_twist, into(axes, twist))]
        M = x.mass_matrix()
        least = [gains.least_rotation] * 3 + [gains.least_translation] * 3
        W = MassFactor.of(M)
        jacobian = rows_into(axes, tool.jacobian)
        if not impedance:  # a stiffness per inertia pushes hardest where the tool can least be moved
            alone = [dot(x, x) for x in map(W.solve, jacobian)]
            least = [where(less(low, SINGULAR * m), SINGULAR * m, low) for low, m in zip(least, alone)]
        rows = DampedRows.of(W, jacobian, least)
        felt = [a + b for a, b in zip(into(axes, x.wrench[:6]), into(axes, turned(tool.R, x.wrench[6:])))]

        # spring and damper
        now, then = square(x.stiffness), square(x.wanted_stiffness)
        ratios = [gains.rotation_ratio] * 3 + [gains.translation_ratio] * 3
        if impedance:
            damped = ModalDamping.of(x.damping, ratios, now, tool_mobility(rows, least)).times(slip)
        else:
            damped = [d * s for d, s in zip(damping_of(x.damping, ratios, now), slip)]
        power = dot(damped, slip) if impedance else 0.0
        share = where(gains.stiffness_time, x.dt[0] * reciprocal(gains.stiffness_time + x.dt[0] + 1e-300), 1.0)
        K, tank = stiffen(now, then, error, x.tank[0], gains.tank_size, gains.tank_share * x.dt[0] * power, share)
        if impedance:
            pull = spring_wrench(K, error, with_tool)
            pulled = within([a + b for a, b in zip(pull, felt)], gains.largest_moment, gains.largest_force)
            wrench = [a + b for a, b in zip(pulled, damped)]
        else:
            pull = rows.feasible_inertia_times([dot(row, error) + d for row, d in zip(K, damped)])
            wrench = within([a + b for a, b in zip(pull, felt)], gains.largest_moment, gains.largest_force)

        # the model: M a_r + C v_r + ..., of the motion that is wanted of the tool
        v_wanted = W.solve_transposed(rows.quasi(wanted_twist))
        v_model = v_wanted if impedance else v
        rate = into(axes, [dot(row, v_model) for row in tool.rate])
        a_wanted = rows.quasi([a - b for a, b in zip(into(axes, reference.acceleration), rate)])
        inertial, coriolis, gravity, springs, frictional = x.weights
        held, friction = spring_torque(model, q), friction_torque(model, v_wanted)
        weight = inverse_dynamics(model, x.inertias, q, x.still, x.still, springs=False)
        centrifugal = self._coriolis(x, v_model)
        moved = W.times([inertial * a for a in a_wanted])
        drawn = W.times(rows.left_over(W.times_transposed(self._posture(x, gains))))
        at_tool = turned(axes, wrench)
        pushed = [sum((row[k] * f for row, f in zip(tool.jacobian, at_tool)), 0.0) for k in range(model.nv)]
        kept, measure = self._kept(x, M, frame, gains)
        torque = [
            sum(terms, 0.0)
            for terms in zip(
                moved,
                [coriolis * c for c in centrifugal],
                [gravity * g for g in weight],
                [springs * s for s in held],
                [frictional * f for f in friction],
                drawn,
                pushed,
                kept,
            )
        ]
        opposed = [gravity * g + springs * s + coriolis * c for g, s, c in zip(weight, held, centrifugal)]
        ahead = foreseen(v, x.v_before, x.span[0], gains.reaction_time)
        left = distances(x.q, x.lower, x.upper, x.margins, _stops(x), self.limited)
        bound = SpeedBound.of(ahead, x.speeds, gains.reaction_time, left)
        outside = from_outside(x.outside, x.driven, [a - b for a, b in zip(v, x.v_before)], x.span[0], x.dt[0])
        driven = W.solve_transposed(W.solve([a - b for a, b in zip(torque, opposed)]))
        bounded = W.times_transposed(bound.within(driven, outside, W.inverse()))  # W^T of the acceleration
        whole = EnergyBound.of(W.times_transposed(ahead), gains.largest_energy, gains.reaction_time)
        slowed = whole.change(bounded)
        changed = [a + b - c for a, b, c in zip(bounded, slowed, W.times_transposed(driven))]
        torque = [a + b for a, b in zip(torque, W.times(changed))]
        braking = where(less(bound.largest, whole.share), whole.share, bound.largest)
        limited = [clamped(t, bound) for t, bound in zip(shortened(torque, opposed, x.limits), x.limits)]
        turned_by = log_so3(matmul(transpose(tuple(x.base)), tool.R))
        chart_rate = right_jacobian_inverse_so3(turned_by, matvec(transpose(tool.R), tuple(twist[:3])))
        energy = spring_energy(K, error)
        return [
            limited, torque, [*turned_by, *tool.p], [*chart_rate, *twist[3:]], [*tool.R, *tool.p], twist, error, slip,
            at_tool, [entry for row in K for entry in row], [tank], [measure], [energy], [power], [braking],
            outside, W.solve_transposed(W.solve([a - b for a, b in zip(limited, opposed)])),
        ]  # fmt: skip

    @staticmethod
    def _reference(tool: ToolMotion, wanted: WantedMotion, twist: Vector, off: Vec3, turning: Scalar) -> Reference:
        """The wanted motion, carried to where the tool is, so that what it lacks does the spring's work.

        turning: the axes of stiffness turn, 1 or 0.
        """
        w: Vec3 = (twist[0], twist[1], twist[2])
        velocity: Vec3 = (twist[3], twist[4], twist[5])
        own = matvec(tool.R, wanted.w)  # the wanted rates about the tool's own axes
        own_rate = add3(matvec(tool.R, wanted.w_rate), cross(w, own))
        w_d, w_d_rate = matvec(wanted.R, wanted.w), matvec(wanted.R, wanted.w_rate)
        closing = sub3(wanted.velocity, velocity)
        carried = scale3(turning, cross(w_d, off))
        carried_rate = scale3(turning, add3(cross(w_d_rate, off), cross(w_d, closing)))
        return Reference(
            [*(where(turning, a, b) for a, b in zip(w_d, own)), *sub3(wanted.velocity, carried)],
            [*(where(turning, a, b) for a, b in zip(w_d_rate, own_rate)), *sub3(wanted.acceleration, carried_rate)],
        )

    def _coriolis(self, x: Inputs, v_model: Vector) -> list[Scalar]:
        """C v_r, with the C of Christoffel symbols; C v of the operational-space law needs no matrix."""
        if self.law == "impedance":
            C = coriolis_matrix(x.model, x.inertias, x.q, x.v)
            return [dot(row, v_model) for row in C]
        return inverse_dynamics(x.model, x.inertias, x.q, x.v, x.still, gravity=False, springs=False)

    def _posture(self, x: Inputs, gains: GainNumbers) -> list[Scalar]:
        """Acceleration towards the posture and its motion, of which counts what does not move the tool."""
        pull: list[Scalar] = []
        for q, at, v, v_r, wraps in zip(x.q, x.posture, x.v, x.posture_rate, self.continuous):
            away = at - q
            if wraps:  # the shorter way round
                away = atan2(sin(away), cos(away))
            pull.append(gains.posture_kp * away + gains.posture_kd * (v_r - v))
        return pull

    def _kept(self, x: Inputs, M: Sequence[Vector], frame: Frame, gains: GainNumbers) -> tuple[list[Scalar], Scalar]:
        """Torques that keep joints from their limits and the arm from singular postures; and the measure of these."""
        kept: list[Scalar] = [0.0] * x.model.nv
        for k, has in enumerate(self.limited):
            if has:
                bounds = x.lower[k], x.upper[k], x.margins[k], x.limit_torques[k]
                fastest = LIMIT_SPRING * reciprocal(gains.reaction_time)
                kept[k] = limit_torque(x.q[k], x.v[k], *bounds, M[k][k], fastest)
        if not self.free:
            return kept, 0.0
        measure, gradient = manipulability(x.model, x.q, frame)
        away = singularity_torque(measure, gradient, gains.least_measure, gains.singularity_stiffness)
        return [a + b for a, b in zip(kept, away)], measure


def _stops(x: Inputs) -> list[Scalar]:
    """How far before its limits each joint stops (nv): what pushes it is learnt late, as where a wrist is stretched."""
    found: list[Scalar] = []
    for low, high, margin in zip(x.lower, x.upper, x.margins):
        stop, most = STOPS * margin, MARGIN[1] * (high - low)
        most = where(less(most, MARGIN[0]), most, MARGIN[0])
        found.append(where(less(stop, most), stop, most))
    return found


def shortened(torque: Vector, opposed: Vector, limits: Vector) -> list[Scalar]:
    """Torques (nv) within limits, as far as those that are `opposed`, which alone accelerate nothing, leave room.

    The others are shortened together, so that the acceleration keeps its direction: on joints whose axes are nearly
    in line, one that is cut off by itself turns braking into driving.
    """
    share: Scalar = 1.0
    for t, held, limit in zip(torque, opposed, limits):
        more = t - held
        room = where(less(0.0, more), limit - held, limit + held)
        room = where(less(room, LEAST_ROOM * limit), LEAST_ROOM * limit, room)
        fits = room * reciprocal(where(less(more, 0.0), -more, more) + 1e-300)
        share = where(less(fits, share), fits, share)
    short = less(share, 1.0)  # else they are as they were, to the last digit: none has reached its limit
    return [where(short, held + share * (t - held), t) for t, held in zip(torque, opposed)]


def tool_mobility(rows: DampedRows, least: Vector) -> list[list[Scalar]]:
    """J M^-1 J^T (6, 6), with the least mobilities on its diagonal: what cannot move has the largest inertia."""
    found = [[dot(a, b) for b in rows.X[: i + 1]] for i, a in enumerate(rows.X)]
    return [[found[max(i, j)][min(i, j)] + (low if i == j else 0.0) for j in range(6)] for i, low in enumerate(least)]


def into(axes: Mat3, six: Vector) -> list[Scalar]:
    """Both parts of a 6-vector by their components along the columns of `axes`."""
    back = transpose(axes)
    return [*matvec(back, (six[0], six[1], six[2])), *matvec(back, (six[3], six[4], six[5]))]


def turned(axes: Mat3, six: Vector) -> list[Scalar]:
    """The inverse of `into`."""
    return into(transpose(axes), six)


def rows_into(axes: Mat3, rows: Sequence[Vector]) -> list[list[Scalar]]:
    """Rows (6, nv) likewise."""
    columns = [into(axes, column) for column in zip(*rows)]
    return [list(row) for row in zip(*columns)]


def square(entries: Vector) -> list[list[Scalar]]:
    """Rows of a (6, 6) matrix."""
    return [list(entries[k : k + 6]) for k in range(0, 36, 6)]
