# SPDX-License-Identifier: Apache-2.0
"""A governor of what task rows are wanted to be: what the arm can do, and no faster than it can (theory.md section 8).

As for a tool in space (`cartesian.reachable`): a joint motion of its own follows the wanted rows within shares of the
joints' limits of position and velocity, slows down in and near singular postures and stops in front of limits. Values
of the constraints are taken over from the robot, so that the motion stays on the surface where that really is.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.algorithms.reachable_motion import LENGTH, JointBounds, RowTargets, reachable_rows_step
from rbd_dynamics.compiler.program import Argument, Signature
from rbd_dynamics.constraints.constraint_set import ConstraintSet
from rbd_dynamics.control.feedforward import single_freedom_indices
from rbd_dynamics.control.hybrid.task import turns
from rbd_dynamics.control.motion.joint_room import JointRoom
from rbd_dynamics.kernels.arguments import arguments, sizes_of
from rbd_dynamics.kernels.evaluation import Evaluation
from rbd_dynamics.kernels.inputs import Inputs
from rbd_dynamics.kernels.specialise import function_of
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial.scalar import Scalar

Array = NDArray[np.float64]
JUMP = 1.5  # m/s: a target that is faster jumps
LEAST_STEP = 1e-5  # s
BEHIND = 0.01  # m: a target that is so far ahead is not reached; a turn by 1 rad counts as 0.5 m


class TaskStep(NamedTuple):
    """The wanted motion of task rows (k): values, rates and accelerations."""

    theta: Array
    rate: Array
    acceleration: Array


class ReachableTask:
    """A joint motion along which task rows follow their targets, as far and as fast as the arm can.

    Parameters:
        robot: all joints of one degree of freedom.
        rows: the constraints' rows above those of the task, all with an h.
        m: how many of them are constraints.

    Attributes:
        q, v (nv): the joint motion. theta (k): of the task rows there.
        behind: how far the task is from its target, m; a turn by 1 rad counts as 0.5 m.
        room: what it may take of the joints' limits.
    """

    def __init__(self, robot: Robot, rows: ConstraintSet, m: int) -> None:
        model = robot.model
        single_freedom_indices(robot, model.joint_names)
        if not rows.holonomic.all():
            raise ValueError("rows without a value, as of rolling, cannot be followed")
        self.robot, self.m, self.k = robot, m, len(rows) - m
        self.room = JointRoom(model)
        self.rows = rows
        self._dt = np.ones(1)
        self._weights = np.where(turns(rows.row_names[m:]), LENGTH, 1.0)
        self._kernel = self._build()
        self._call = self._kernel.fast
        self._out, self._spare = ([np.zeros(size) for size in self._sizes()] for _ in range(2))
        self.q: Array = model.start_position()
        self.v: Array = np.zeros(model.nv)
        self.behind = 0.0
        self._before: Array = np.zeros(self.k)
        self.theta: Array = np.zeros(self.k)
        self._step = TaskStep(self.theta, np.zeros(self.k), np.zeros(self.k))

    def reset(self, q: Array, theta: Array) -> None:
        """Stand at q (nv), where the task rows are theta (k)."""
        self.q, self.v, self.behind = q.copy(), np.zeros_like(q), 0.0
        self._before, self.theta = theta.copy(), theta.copy()
        self._step = TaskStep(self.theta, np.zeros(self.k), np.zeros(self.k))

    @property
    def pace(self) -> float:
        """How fast a target may go on, as a share: 1 where the task is near it, 0 far behind."""
        return min(1.0, max(0.0, 1.25 - 1.25 * self.behind / BEHIND))

    def away(self, theta: Array) -> float:
        """How far the task is from values theta (k), m; a turn by 1 rad counts as 0.5 m."""
        return math.hypot(*(self._weights * (theta - self.theta)).tolist())

    def obstacle(self) -> str:
        """What keeps the task from its target: joints at their limits, or a singular posture."""
        return self.room.obstacle(self.q)

    def follow(
        self, target: Array, h: Array, dt: float, posture: Array, *, moved: Array | None = None
    ) -> TaskStep:  # fmt: skip
        """Move on for dt seconds, after which the task rows are to be `target` (k).

        h (m): of the constraints, as they are. posture (nv): where what the rows leave free goes. moved (k): by which
        the target has gone on, at a speed that is to be followed; the rest is a way to be made up for. By default all.
        Raises ArithmeticError where the result is not finite; nothing has changed then.
        """
        if dt < LEAST_STEP:  # the same state again: nothing moves, and no speed is told by that
            return self._step
        self._dt[0] = dt
        if moved is not None:
            self._before = target - moved
        if max(map(abs, (self._weights * (target - self._before)).tolist())) > JUMP * dt:
            self._before = target.copy()  # it has jumped: that is a way to be made up for
        drift = self.room.drift(self.q, posture, self.pace)
        inputs = (
            self.q, self.v, self._before, target, h, drift, self._dt,
            self.room.lower, self.room.upper, *self.room.rates(), self.rows.parameters,
        )  # fmt: skip
        if self._call(*inputs, *self._spare) is None:
            self._kernel(inputs, self._spare)
        self._out, self._spare = self._spare, self._out
        self.q, self.v, self.theta, rate, acceleration, behind = self._out
        self.behind = float(behind[0])
        self._before = target.copy()
        self._step = TaskStep(self.theta, rate, acceleration)
        return self._step

    def _sizes(self) -> list[tuple[int, ...]]:
        nv, k = (self.robot.model.nv,), (self.k,)
        return [nv, nv, k, k, k, (1,)]

    def _build(self) -> Evaluation:
        model, nv, k, m = self.robot.model, (self.robot.model.nv,), (self.k,), self.m
        own = {"before": k, "after": k, "given": (m,), "drift": nv, "dt": (1,)}
        shared = {"lower": nv, "upper": nv, "speed": nv, "acceleration": nv}
        named = {name: Argument(name, shape) for name, shape in own.items()}
        named |= {name: Argument(name, shape, shared=True) for name, shape in shared.items()}
        names = ("q_found", "v_found", "theta", "rate", "acceleration_found", "behind")
        outputs = tuple(Argument(name, size) for name, size in zip(names, self._sizes()))
        sizes = sizes_of(model, len(self.rows), len(self.rows.parameters))
        signature = Signature(arguments(f"q v {' '.join(named)} parameters", sizes, named), outputs)
        turned = turns(self.rows.row_names)
        weights = [LENGTH if each else 1.0 for each in turned]
        # the constraints first, then ways, then turns
        priority = sorted(range(len(self.rows)), key=lambda row: (row >= m, turned[row], row))

        step = functools.partial(_step, tuple(weights), tuple(priority))
        function = function_of(model, signature, step, constraints=self.rows)
        return self.robot.custom_kernel("reachable_task", signature, function)


def _step(weights: tuple[float, ...], priority: tuple[int, ...], x: Inputs) -> list[list[Scalar]]:
    targets = RowTargets(x.before, x.after, x.given, weights, priority)
    bounds = JointBounds(x.lower, x.upper, x.speed, x.acceleration)
    found = reachable_rows_step(x.rows_at, x.q, x.v, targets, x.drift, bounds, x.dt[0])
    return [found.q, found.v, found.theta, found.rate, found.acceleration, [found.left]]
