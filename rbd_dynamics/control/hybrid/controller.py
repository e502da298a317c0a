# SPDX-License-Identifier: Apache-2.0
"""Hybrid position/force control of a robot under constraints (theory.md section 8; 001 section 5)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.algorithms.joint_speed_bound import LIMIT_MARGIN
from rbd_dynamics.constraints.constraint_set import ConstraintSet
from rbd_dynamics.control.hybrid.gains import HybridGains, quotient
from rbd_dynamics.control.hybrid.law import LAWS, HybridOutput, Law, gain_count, hybrid_kernel, output_sizes
from rbd_dynamics.control.motion.joint_room import PositionLimits, usable_speeds
from rbd_dynamics.control.safety.foresight import RecentVelocities
from rbd_dynamics.kernels.evaluation import Evaluation
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial.se3 import Transform

Array = NDArray[np.float64]


class HybridController:
    """Moves along constraints and presses against them: task rows follow theta_d(t), multipliers lambda_d.

    Geometric law: tau = M J (thetadd_d - K_v e' - K_p (e + K_i int e)) + (M Jdot + C J) thetad + N
    - A^T (lambda_d - K_I int(lambda - lambda_d)). Gauge-invariant law: theory.md section 8, without any
    choice of a basis. Neither needs minimal coordinates: the task is a set of rows, as constraints are,
    and what both leave free is damped towards a posture. lambda_d is what the constraints are to exert on the
    robot: positive along a surface's outward normal to press on it. One kernel, nothing allocated.

    Parameters:
        robot: with its payload; payloads set later count as well.
        constraints: what the environment imposes, m rows.
        task: rows whose values are controlled, k of them: frame directions, joint couplings, or rows
            without h (then their velocity is).
        law: "geometric" or "gauge_invariant".
        actuated (nv) bool: joints with a motor; default all. With fewer, the torque nearest to the full
            one that makes the same motion: internal forces stay as near to lambda_d as they can.
        gains: see `HybridGains`; `tune` changes them.
        effort_limits: (nv), default the model's.
        velocity_limits: (nv), default the model's: joints that near them are not driven faster, but braked. Zero: none.
            Towards its limits of position, the model's, a joint moves the slower the nearer it is.
        reaction_time: s, from a velocity to the torque that answers it.

    Raises ValueError for gains or limits that do not fit, and for a task that repeats a constraint's name.
    """

    def __init__(
        self,
        robot: Robot,
        constraints: ConstraintSet,
        task: ConstraintSet,
        *,
        law: Law = "geometric",
        actuated: ArrayLike | None = None,
        gains: HybridGains | None = None,
        effort_limits: ArrayLike | None = None,
        velocity_limits: ArrayLike | None = None,
        reaction_time: float = 0.01,
    ) -> None:
        if law not in LAWS:
            raise ValueError(f"law is {law!r}, expected one of {', '.join(LAWS)}")
        nv = robot.model.nv
        self.robot, self.constraints, self.task, self.law = robot, constraints, task, law
        self.m, self.k = len(constraints), len(task)
        self.actuated = np.ones(nv, bool) if actuated is None else np.array(actuated, dtype=bool)
        if self.actuated.shape != (nv,):
            raise ValueError(f"actuated has shape {self.actuated.shape}, expected ({nv},)")
        self._rows = ConstraintSet(robot.model, (*constraints.constraints, *task.constraints))
        limits = [x for joint in robot.model.joints for x in [joint.limits.effort] * joint.kind.nv]
        self.effort_limits = np.array(limits if effort_limits is None else effort_limits, dtype=float)
        if self.effort_limits.shape != (nv,) or not (self.effort_limits >= 0).all():
            raise ValueError(f"effort_limits must be {nv} numbers >= 0")
        speeds = [x for joint in robot.model.joints for x in [joint.limits.velocity] * joint.kind.nv]
        given = np.array(speeds if velocity_limits is None else velocity_limits, dtype=float)
        if given.shape != (nv,) or not (given >= 0.0).all():
            raise ValueError(f"velocity_limits must be {nv} numbers >= 0")
        self.velocity_limits = usable_speeds(given)
        self._positions = PositionLimits.of(robot.model)
        self._margins = self._positions.margins(LIMIT_MARGIN)
        self._numbers = np.zeros(gain_count(self.k))
        self.reaction_time = reaction_time
        self._recent = RecentVelocities()
        # the integral is read and written: two sets of arrays take turns
        sizes = output_sizes(nv, self.m, self.k)
        self._output, self._work = (HybridOutput(*map(np.zeros, sizes)) for _ in range(2))
        self.tune(gains or HybridGains())
        self._none = np.zeros(self.m), np.zeros(self.k), np.zeros(nv)
        signature, function = hybrid_kernel(
            robot.model, constraints, task, law=law, actuated=self.actuated, friction=robot.friction
        )
        self._kernel: Evaluation = robot.custom_kernel("hybrid_position_force", signature, function)
        self._call = self._kernel.fast

    def tune(self, gains: HybridGains) -> None:
        """Change gains while it runs; what integrals give stays. Raises ValueError, and then changes nothing."""
        gains = gains.of_law(self.law)
        numbers = gains.numbers(self.law, self.task.row_names)
        force, acceleration = self.force_integral, -self._slope * self._output.task_integral
        self.gains = gains
        self._numbers[: len(numbers)] = numbers
        self._own, self._share = self._numbers.copy(), 1.0  # as they are where nothing is softer
        kp, kd = (float(each.max(initial=0.0)) for each in (numbers[: self.k], numbers[self.k : 2 * self.k]))
        #: 1/s, of the task error: the largest of all rows
        self.task_damping = kd if self.law == "geometric" else kp + kd
        self.preset(force=force, acceleration=acceleration)

    def soften(self, share: float) -> None:
        """Use so much of the damping of task and posture, of their stiffness its square, of the integral the cube.

        share: 0 (excluded) to 1.
        """
        if share == self._share:
            return
        k, stiffness = self.k, share * share
        own, numbers = self._own, self._numbers
        # the gauge-invariant law's stiffness is kp kd
        numbers[:k] = own[:k] * (stiffness if self.law == "geometric" else share)
        numbers[k : 2 * k] = own[k : 2 * k] * share
        numbers[2 * k + 3 : 2 * k + 6] = own[2 * k + 3 : 2 * k + 6] * (stiffness, share, share)
        self._output.task_integral[:] *= (self._share / share) ** 3  # what it gives stays
        self._share = share

    def move(self, constraints: ConstraintSet, task: ConstraintSet) -> None:
        """Other placements, radii and the like, between two steps.

        Raises ValueError for rows of another kind, which need another controller.
        """
        rows = ConstraintSet(self.robot.model, (*constraints.constraints, *task.constraints))
        if rows.key != self._rows.key or len(constraints) != self.m:
            raise ValueError(f"{rows} does not have the structure of {self._rows}")
        self.constraints, self.task, self._rows = constraints, task, rows

    def place(self, reference: Transform) -> None:
        """Another reference placement of all constraints and task rows between frames, in a fraction of a millisecond.

        Raises ValueError, see `ConstraintSet.placed`.
        """
        self.renumber(lambda rows: rows.placed(reference))

    def renumber(self, change: Callable[[ConstraintSet], ConstraintSet]) -> None:
        """Other numbers of the constraints and task rows; `change` makes one set of another, as `renumbered` does."""
        constraints, task = change(self.constraints), change(self.task)
        moved = {each.name: each for each in (*constraints.constraints, *task.constraints)}
        rows = self._rows.renumbered(lambda each: moved[each.name])
        self.constraints, self.task, self._rows = constraints, task, rows

    @property
    def rows(self) -> ConstraintSet:
        """The constraints above the task."""
        return self._rows

    def reset(self) -> None:
        """Forget the integrals of force and task error, and how fast the joints were."""
        self.preset()
        self._recent.forget()
        self._output.outside[:] = self._output.driven[:] = 0.0

    def preset(self, *, force: ArrayLike = 0.0, acceleration: ArrayLike | None = 0.0) -> None:
        """Let the integrals begin with what is known already, so that nothing jumps.

        force (m): what the force error's integral adds to the commanded multipliers. acceleration (k): what the task
        error's adds to the acceleration of the task rows; None leaves it as it is. Without a gain there is no
        integral, which then stays zero.
        """
        self._output.integral[:] = quotient(-np.asarray(force, dtype=float), self._numbers[2 * self.k])
        if acceleration is not None:
            self._output.task_integral[:] = quotient(-np.asarray(acceleration, dtype=float), self._slope)

    @property
    def force_integral(self) -> Array:
        """(m) what the force error's integral adds to the commanded multipliers."""
        return np.asarray(-self._numbers[2 * self.k] * self._output.integral)

    @property
    def _slope(self) -> Array:
        """(k) what the task error's integrals are multiplied by."""
        gains, k = self._numbers, self.k
        return np.asarray(gains[:k] * gains[2 * k + 5] * (1.0 if self.law == "geometric" else gains[k]))

    def step(
        self,
        q: Array,
        v: Array,
        theta: Array,
        *,
        rate: Array | None = None,
        acceleration: Array | None = None,
        force: Array | None = None,
        measured: Array | None = None,
        dt: float = 0.0,
        posture: Array | None = None,
        approach: Array | None = None,
        beside: Array | None = None,
        aside: Array | None = None,
    ) -> HybridOutput:
        """The command for one measured state.

        Parameters:
            q (nq), v (nv): measured.
            theta, rate, acceleration (k): wanted of the task rows; the latter two zero by default.
            force (m): wanted multipliers, by default zero.
            measured (m): multipliers by a sensor, see `multipliers`; None leaves the integral as it is.
            dt: s since the last step, for the integral.
            posture (nv): where joints of one degree of freedom are drawn to, as far as they are free.
            approach (m): velocity of the constraint rows that the normal damping aims at, by default zero:
                negative to find a surface.
            beside (nv): efforts of what pushes the robot beside the constraints, such as friction or a wall. It is
                made up for as far as it would move the constraints or turn the tool; by default nothing.
            aside (nv): the same as it is at this moment, by one reading; by default nothing. With `measured` and the
                efforts it tells what accelerates joints that are braked near their limits; what is not measured is
                learnt from how velocities change, which is later.

        Raises ValueError for what is not finite, ArithmeticError where the result is not: nothing may be
        commanded then, and the integral stays.
        """
        out = self._output
        no_force, no_motion, no_push = self._none
        force = no_force if force is None else force
        self._numbers[-1] = dt
        self._numbers[-3] = self.reaction_time
        self._numbers[-2] = 0.0 if posture is None else 1.0
        inputs = (
            q, v, theta,
            no_motion if rate is None else rate,
            no_motion if acceleration is None else acceleration,
            force, no_force if approach is None else approach, force if measured is None else measured, out.integral,
            out.task_integral, no_push if beside is None else beside,
            no_push if aside is None else aside, v if posture is None else posture,
            self._recent.before(v, dt), self._recent.span, out.outside, out.driven, self._numbers,
            self.effort_limits, self.velocity_limits, self._positions.lower, self._positions.upper, self._margins,
            self._rows.parameters, self.robot.inertia_input,
        )  # fmt: skip
        if self._call(*inputs, *self._work) is None:
            self._kernel(inputs, self._work)
        self._recent.add(v, dt)
        self._output, self._work = self._work, out
        return self._output
