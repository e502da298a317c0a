# SPDX-License-Identifier: Apache-2.0
"""Many steps of a robot that touches nothing in one call of compiled code: dynamics, friction, limits, integration.

The same as `SemiImplicitEuler` does one by one, to rounding; see `algorithms/time_step.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.algorithms.time_step import is_plain
from rbd_dynamics.constraints import ConstraintSet
from rbd_dynamics.model.model import Model
from rbd_dynamics.robot import Robot

if TYPE_CHECKING:
    from rbd_dynamics.compiler.native import NativeKernel

Array = NDArray[np.float64]
KERNEL = "time_step"
NO_LIMIT = 1e300


def can_be_quick(model: Model, robot: Robot, constraints: ConstraintSet | None) -> bool:
    """Whether its steps can be done here, as long as nothing is touched."""
    return robot.backend == "llvm" and constraints is None and model.nv > 0 and is_plain(model)


def machine_code(robot: Robot) -> NativeKernel:
    """Machine code of a step, made where there is none yet."""
    return cast("NativeKernel", robot.evaluation(KERNEL).kernel)


def time_step_inputs(h: float, lower: Array, upper: Array) -> tuple[Array, Array, Array]:
    """Step and position limits of each degree of freedom, infinite where there are none, as the kernel takes them."""
    return np.array(h), np.maximum(lower, -NO_LIMIT), np.minimum(upper, NO_LIMIT)


class QuickSteps:
    """One robot's.

    Parameters:
        robot: with friction where it acts.
        h: the step, s. lower, upper: position limits of each degree of freedom, infinite where there are none.
    """

    def __init__(self, robot: Robot, h: float, lower: Array, upper: Array) -> None:
        model, nv = robot.model, robot.model.nv
        self.robot = robot
        self._step, self._lower, self._upper = time_step_inputs(h, lower, upper)
        self._q, self._v, self._tau = np.zeros(model.nq), np.zeros(nv), np.zeros(nv)
        self._a, self._side, self._count = np.zeros(nv), np.zeros(nv), np.zeros(2)
        self._inertia = np.array(robot.inertia_input)
        self._repeat: Callable[[int], int] | None = None

    @property
    def ready(self) -> bool:
        """Nothing has to be compiled."""
        return self._repeat is not None or KERNEL in self.robot.ready_kernels

    def _bound(self) -> Callable[[int], int]:
        state = (self._q, self._v, self._a)
        limits, ends = (self._step, self._lower, self._upper), (self._side, self._count)
        inputs = (*state, self._tau, *limits, *ends, self._inertia)
        return machine_code(self.robot).repeated(inputs, (*state, *ends))

    def advance(self, q: Array, v: Array, a: Array, tau: Array, steps: int) -> tuple[int, Array, Array, Array]:
        """Up to so many steps: (those done, q, v, the acceleration in the last of them).

        It ends before a step that is none: of a robot that is faster than anything, or of numbers that are not finite.
        """
        repeat = self._repeat = self._repeat or self._bound()
        self._q[:], self._v[:], self._a[:], self._tau[:] = q, v, a, tau
        self._inertia[:] = self.robot.inertia_input
        self._count[:] = steps, 0.0
        left = steps
        while left > 0:
            if repeat(left) < left:
                break
            left = int(self._count[0])
        left = abs(int(self._count[0]))
        return steps - left, self._q.copy(), self._v.copy(), self._a.copy()

    def forget(self) -> None:
        """The state is another one: nothing is known of who stands at a limit."""
        self._side[:] = 0.0
