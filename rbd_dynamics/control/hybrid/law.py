# SPDX-License-Identifier: Apache-2.0
"""The two laws of hybrid position/force control over generic scalars (theory.md section 8; 001 section 5).

A whole step is one kernel: `hybrid_kernel` says what goes in, `HybridOutput` what comes out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.algorithms.constrained_dynamics import transposed_times
from rbd_dynamics.algorithms.coriolis_matrix import coriolis_matrix
from rbd_dynamics.algorithms.hybrid_control import (
    ControlledRows,
    actuated_torque,
    clamped,
    gauge_invariant_torque,
    geometric_torque,
)
from rbd_dynamics.algorithms.inverse_dynamics import inverse_dynamics
from rbd_dynamics.algorithms.joint_speed_bound import Distances, SpeedBound, distances, foreseen, from_outside
from rbd_dynamics.algorithms.passive_forces import add_passive_torque
from rbd_dynamics.compiler.program import Argument, Function, Signature
from rbd_dynamics.constraints.constraint_set import ConstraintSet
from rbd_dynamics.control.hybrid.task import turns
from rbd_dynamics.control.motion.joint_room import PositionLimits
from rbd_dynamics.kernels.arguments import arguments, sizes_of
from rbd_dynamics.kernels.inputs import Inputs
from rbd_dynamics.kernels.specialise import function_of
from rbd_dynamics.model.model import Model
from rbd_dynamics.spatial.scalar import Scalar, dot, less, reciprocal, where

Array = NDArray[np.float64]
Vector = Sequence[Scalar]
Law = Literal["geometric", "gauge_invariant"]
LAWS = ("geometric", "gauge_invariant")
STUCK = 0.25  # of the rate with which an integral brings a free tool to its target
STILL = 1e-4  # m/s, rad/s: no motion is wanted
NEAR = 2e-3  # m, rad
STOPS = 0.03  # of the margin to a limit of position: so far before it a joint stops, as what pushes it is learnt late


class HybridOutput(NamedTuple):
    """What one step found; the same two sets of arrays in turn.

    tau (nv): the command. wanted (nv): the same without effort limits. theta, rate (k): task rows and
    their velocity. h, drift (m): how far the constraints are from being met, and how fast they leave.
    force (m): commanded multipliers. integral (m): of the force error. task_integral (k): of the task error.
    lacking (nv): torque that joints without actuator would need. rank: of constraints and task together.
    braking: how far joints are kept from their limits of velocity, 0 (not) to 1. outside, driven (nv): what accelerates
    joints beside the command and what is measured, as far as it has been seen, and what these do, rad/s^2 or m/s^2.
    """

    tau: Array
    wanted: Array
    theta: Array
    rate: Array
    h: Array
    drift: Array
    force: Array
    integral: Array
    task_integral: Array
    lacking: Array
    rank: Array
    braking: Array
    outside: Array
    driven: Array


@dataclass(frozen=True)
class HybridLaw:
    """One step of `HybridController`, whose documentation says what it is.

    rows: the m constraints, then the k task rows. holonomic: which task rows have an h. turned: which of them turn the
    tool. limited (nv): which degrees of freedom have limits of position.
    """

    law: Law
    m: int
    k: int
    holonomic: tuple[bool, ...]
    actuated: tuple[bool, ...]
    limited: tuple[bool, ...]
    turned: tuple[bool, ...]
    rows: ConstraintSet

    def __call__(self, x: Inputs) -> list[Vector]:
        """Outputs of the law, in the order of `HybridOutput`."""
        m, k = self.m, self.k
        # a row without h has no position to return to: its one gain is kd, on the error of its rate
        kp = [p if flag else 0.0 for p, flag in zip(x.gains[:k], self.holonomic)]
        kd = x.gains[k : 2 * k]
        ki, limit, damping, posture_kp, posture_kd, task_ki, task_limit = x.gains[2 * k : 2 * k + 7]
        reaction_time, has_posture, dt = x.gains[2 * k + 7 :]
        held = x.rows()
        theta, h = held.position[m:], held.position[:m]
        rates = [dot(row, x.v) for row in held.matrix]
        error = [(a - b) if flag else 0.0 for a, b, flag in zip(theta, x.theta, self.holonomic)]
        slip = [a - b for a, b in zip(rates[m:], x.rate)]
        rows = ControlledRows.of(x.mass_matrix(), held, m)

        geometric = self.law == "geometric"
        slope = [p * task_ki for p in kp]  # of what the integral adds to acceleration or velocity, as its limit is
        most = task_limit if geometric else task_limit * reciprocal(kd[0] + 1e-300)
        grows = [moves(task_ki, *row) for row in zip(error, rates[m:], x.rate)]
        task_integral = [
            clamped_integral(before + dt * g * e, s, most)
            for before, g, e, s in zip(x.task_integral, grows, error, slope)
        ]
        stopping = [-1.0 * damping * (is_ - should) for is_, should in zip(rates, x.approach)]
        # what pushes from beside moves the tool, but neither the constraints nor its orientation
        pushed = rows.pushed(x.beside)
        stopping = [a - b for a, b in zip(stopping, pushed)]
        made = pushed if geometric else rows.pushed_along(x.beside)
        off = [a if turned else a - free for a, free, turned in zip(made[m:], pushed[m:], self.turned)]
        acceleration = [a - b for a, b in zip(x.acceleration, off)]
        pull = self._posture(x, has_posture * posture_kp, posture_kd if geometric else 0.0)
        if geometric:
            terms = zip(acceleration, kd, slip, kp, error, slope, task_integral)
            wanted = [a - d * s - p * e - i * total for a, d, s, p, e, i, total in terms]
            torque = geometric_torque(rows, stopping, wanted, pull)
            bias = x.bias()
        else:
            reference = [r - p * e - i * z for r, p, e, i, z in zip(x.rate, kp, error, slope, task_integral)]
            reference_rate = [a - p * s - i * e for a, p, s, i, e in zip(acceleration, kp, slip, slope, error)]
            rates_of_matrix = self.rows.matrix_rate(x.q, x.v, x.parameters[2:])
            C = coriolis_matrix(x.model, x.inertias, x.q, x.v)
            torque = gauge_invariant_torque(
                rows, rates_of_matrix, C, x.v, stopping, reference, reference_rate, kd[0], pull
            )
            static = inverse_dynamics(x.model, x.inertias, x.q, x.still, x.still)
            bias = add_passive_torque(x.model, static, None, x.v if x.friction else None)

        integral = [
            clamped_integral(before + dt * (is_ - should), ki, limit)
            for before, is_, should in zip(x.integral, x.measured, x.force)
        ]
        force = [should - ki * total for should, total in zip(x.force, integral)]
        pressed = transposed_times(held.matrix[:m], force)
        full = [t + b - p for t, b, p in zip(torque, bias, pressed)]
        # joints that near their limits of velocity or position are not driven faster, but braked
        touched = [a + b for a, b in zip(transposed_times(held.matrix[:m], x.measured), x.aside)]
        ahead, left = foreseen(x.v, x.v_before, x.span[0], reaction_time), self._left(x)
        bound = SpeedBound.of(ahead, x.speeds, reaction_time, left, near_only=True)
        moved = [f + t - b for f, t, b in zip(full, touched, bias)]
        grown = [now - then for now, then in zip(x.v, x.v_before)]
        outside = from_outside(x.outside, x.driven, grown, x.span[0], dt)
        driven = rows.W.solve_transposed(rows.W.solve(moved))
        braking = [a - b for a, b in zip(bound.within(driven, outside, rows.W.inverse()), driven)]
        full = [f + b for f, b in zip(full, rows.W.times(rows.W.times_transposed(braking)))]
        tau, lacking = actuated_torque(rows, full, list(self.actuated))
        within = [clamped(t, bound) for t, bound in zip(tau, x.limits)]
        cut = sum((where(less(bound * bound, t * t), 1.0, 0.0) for t, bound in zip(tau, x.limits)), 0.0)
        integral = [not_growing(cut, before, new) for before, new in zip(x.integral, integral)]
        task_integral = [not_growing(cut, before, new) for before, new in zip(x.task_integral, task_integral)]
        acts = rows.W.solve_transposed(rows.W.solve([f + t - b for f, t, b in zip(within, touched, bias)]))
        return [
            within, tau, theta, rates[m:], h, rates[:m], force, integral, task_integral, lacking, [rows.all.rank],
            [bound.largest], outside, acts,
        ]  # fmt: skip

    def _left(self, x: Inputs) -> list[Distances]:
        """How far the degrees of freedom (nv) are from their limits of position."""
        positions: list[Scalar] = [0.0] * x.model.nv
        for joint in x.model.joints:
            if self.limited[joint.v_index]:
                positions[joint.v_index] = x.q[joint.q_index]
        stops = [STOPS * margin for margin in x.margins]
        return distances(positions, x.lower, x.upper, x.margins, stops, self.limited)

    def _posture(self, x: Inputs, stiffness: Scalar, damping: Scalar) -> list[Scalar]:
        """Acceleration towards the posture, of joints with one degree of freedom, and against motion."""
        pull = [-1.0 * damping * rate for rate in x.v]
        for joint in x.model.joints:
            if joint.kind.nv == joint.kind.nq == 1:
                away = x.q[joint.q_index] - x.posture[joint.v_index]
                pull[joint.v_index] = pull[joint.v_index] - stiffness * away
        return pull


def moves(ki: Scalar, error: Scalar, rate: Scalar, wanted: Scalar) -> Scalar:
    """1; 0 where a tool that is to stand near its target is stuck, as friction holds it.

    An integral that grew on would find its way into the constraints' forces, as far as inertias are not known.
    """
    slow = STUCK * ki * error
    stuck = less(rate * rate, slow * slow) * less(wanted * wanted, STILL * STILL) * less(error * error, NEAR * NEAR)
    return where(stuck, 0.0, 1.0)


def clamped_integral(integral: Scalar, ki: Scalar, limit: Scalar) -> Scalar:
    """So that ki times it stays within the limit."""
    bound = limit / (ki + 1e-300)
    return clamped(integral, bound)


def not_growing(cut: Scalar, before: Scalar, new: Scalar) -> Scalar:
    """The integral after the step: where an effort limit cut the torque off, it may only shrink."""
    grows = where(less(before * before, new * new), cut, 0.0)
    return where(less(0.5, grows), before, new)


def gain_count(k: int) -> int:
    """How many numbers the kernel takes as `gains`, with k task rows."""
    return 2 * k + 10


def output_sizes(nv: int, m: int, k: int) -> list[tuple[int, ...]]:
    """Shapes of the outputs, in the order of `HybridOutput`."""
    joints, rows, task = (nv,), (m,), (k,)
    return [joints, joints, task, task, rows, rows, rows, rows, task, joints, (), (), joints, joints]


def hybrid_kernel(
    model: Model,
    constraints: ConstraintSet,
    task: ConstraintSet,
    *,
    law: Law = "geometric",
    actuated: NDArray[np.bool_] | None = None,
    friction: bool = False,
) -> tuple[Signature, Function]:
    """The whole law as a kernel's function, with what goes in and out.

    Its rows are those of the constraints (m), then of the task (k). actuated (nv): joints with a motor;
    default all. friction: whether the model's friction is compensated.
    """
    rows = ConstraintSet(model, (*constraints.constraints, *task.constraints))
    m, k, nv = (len(constraints),), (len(task),), (model.nv,)
    sizes = sizes_of(model, len(rows), len(rows.parameters))
    own = {"theta": k, "rate": k, "acceleration": k, "force": m, "approach": m, "measured": m, "integral": m}
    own |= {"task_integral": k, "beside": nv, "aside": nv, "posture": nv, "v_before": nv, "span": (1,)}
    own |= {"outside": nv, "driven": nv}
    shared = {"gains": (gain_count(len(task)),)}
    shared |= dict.fromkeys(("limits", "speeds", "lower", "upper", "margins"), nv)
    named = {name: Argument(name, shape) for name, shape in own.items()}
    named |= {name: Argument(name, shape, shared=True) for name, shape in shared.items()}
    results = zip(HybridOutput._fields, output_sizes(model.nv, len(constraints), len(task)))
    outputs = tuple(Argument(f"{name}_found", size) for name, size in results)
    signature = Signature(arguments(f"q v {' '.join(named)} parameters inertia", sizes, named), outputs)
    motors = (True,) * model.nv if actuated is None else tuple(actuated.tolist())
    limited = tuple(PositionLimits.of(model).limited.tolist())
    algorithm = HybridLaw(
        law, len(constraints), len(task), tuple(task.holonomic.tolist()), motors, limited, turns(task.row_names), rows
    )  # fmt: skip
    return signature, function_of(model, signature, algorithm, friction=friction, constraints=rows)
