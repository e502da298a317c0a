# SPDX-License-Identifier: Apache-2.0
"""Many steps of a robot that touches nothing in one call of compiled code: dynamics, friction, limits, integration.

The same as `SemiImplicitEuler`, `ExplicitEuler` and `RungeKutta4` do one by one, to rounding; see
`algorithms/time_step.py` and `algorithms/runge_kutta_stage.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.algorithms.runge_kutta_stage import MEMORY, RK4, moves_plainly
from rbd_dynamics.algorithms.time_step import is_plain
from rbd_dynamics.constraints import ConstraintSet
from rbd_dynamics.model.model import Model
from rbd_dynamics.robot import Robot

if TYPE_CHECKING:
    from rbd_dynamics.compiler.native import NativeKernel

Array = NDArray[np.float64]
NO_LIMIT = 1e300


class StepKernel(NamedTuple):
    """A kernel whose evaluations, one after the other, are steps.

    Attributes:
        memory: how many vectors of nv numbers it leaves to the next evaluation.
        evaluations: a step takes so many, or at least so many.
        suits: whether it can do the steps of a model.
    """

    name: str
    memory: int
    evaluations: int
    suits: Callable[[Model], bool]


SEMI_IMPLICIT = StepKernel("time_step", 1, 1, is_plain)
#: by integrator
STEP_KERNELS = {
    "semi_implicit_euler": SEMI_IMPLICIT,
    "explicit_euler": StepKernel("explicit_euler_stage", MEMORY, 1, moves_plainly),
    "rk4": StepKernel("rk4_stage", MEMORY, len(RK4.weights), moves_plainly),
}


def step_kernel(integrator: str, model: Model, robot: Robot, constraints: ConstraintSet | None) -> StepKernel | None:
    """What does a robot's steps here, as long as nothing is touched; None where nothing does."""
    kernel = STEP_KERNELS.get(integrator)
    possible = robot.backend == "llvm" and constraints is None and model.nv > 0
    return kernel if kernel is not None and possible and kernel.suits(model) else None


def machine_code(robot: Robot, kernel: StepKernel = SEMI_IMPLICIT) -> NativeKernel:
    """Machine code of a step, made where there is none yet."""
    return cast("NativeKernel", robot.evaluation(kernel.name).kernel)


def time_step_inputs(h: float, lower: Array, upper: Array) -> tuple[Array, Array, Array]:
    """Step and position limits of each degree of freedom, infinite where there are none, as the kernel takes them."""
    return np.array(h), np.maximum(lower, -NO_LIMIT), np.minimum(upper, NO_LIMIT)


class QuickSteps:
    """One robot's.

    Parameters:
        robot: with friction where it acts.
        h: the step, s. lower, upper: position limits of each degree of freedom, infinite where there are none.
        kernel: that does the steps.
    """

    def __init__(self, robot: Robot, h: float, lower: Array, upper: Array, kernel: StepKernel = SEMI_IMPLICIT) -> None:
        model, nv = robot.model, robot.model.nv
        self.robot, self.kernel = robot, kernel
        self._step, self._lower, self._upper = time_step_inputs(h, lower, upper)
        self._q, self._v, self._tau = np.zeros(model.nq), np.zeros(nv), np.zeros(nv)
        self._a, self._memory, self._count = np.zeros(nv), np.zeros((kernel.memory, nv)), np.zeros(2)
        self._inertia = np.array(robot.inertia_input)
        self._repeat: Callable[[int], int] | None = None

    @property
    def ready(self) -> bool:
        """Nothing has to be compiled."""
        return self._repeat is not None or self.kernel.name in self.robot.ready_kernels

    def _bound(self) -> Callable[[int], int]:
        state = (self._q, self._v, self._a)
        limits, ends = (self._step, self._lower, self._upper), (self._memory, self._count)
        inputs = (*state, self._tau, *limits, *ends, self._inertia)
        return machine_code(self.robot, self.kernel).repeated(inputs, (*state, *ends))

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
            evaluations = self.kernel.evaluations * left
            if repeat(evaluations) < evaluations:
                break
            left = int(self._count[0])
        left = abs(int(self._count[0]))
        return steps - left, self._q.copy(), self._v.copy(), self._a.copy()

    def forget(self) -> None:
        """The state is another one: nothing is known of who stands at a limit."""
        self._memory[:] = 0.0
