# SPDX-License-Identifier: Apache-2.0
"""The end of a step of time in compiled code: positions, and velocities of floating bases, whose momentum is kept."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.algorithms.time_step import ACCURATE
from rbd_dynamics.compiler.loops import Loops
from rbd_dynamics.model.joints import Floating
from rbd_dynamics.robot import Robot
from rbd_dynamics.simulation.step_loops import between_limits, carried_on

Array = NDArray[np.float64]


class StepEnd:
    """Ends steps of robots on pedestals and on floating bases.

    Parameters:
        reached: (nv) where each step leaves v + h a. h: the step, s.
        lower, upper: position limits of each degree of freedom, infinite where there are none.

    Attributes:
        position: (nq) after the last step.
    """

    def __init__(self, robot: Robot, reached: Array, h: float, lower: Array, upper: Array) -> None:
        model, machine_code = robot.model, robot.backend == "llvm"
        self.position = np.zeros(model.nq)
        self._robot, self._reached, self._step = robot, reached, np.array(h)
        self._velocity, self._change, self._q = np.zeros(model.nv), np.zeros(()), np.zeros(model.nq)
        base = any(isinstance(joint.kind, Floating) for joint in model.joints)
        self._carry = robot.evaluation("free_base_step").fast if base else None
        plain = Loops(carried_on, machine_code=machine_code)
        self._move = plain.bind(0 if base else model.nv, np.array([h]), self._q, reached, self.position).run
        limited = np.flatnonzero(np.isfinite(lower) | np.isfinite(upper))
        self._within = None
        if len(limited):
            places = {joint.v_index: joint.q_index for joint in model.joints}
            own = np.array([places[dof] for dof in limited.tolist()], dtype=np.int64)
            limits = np.ascontiguousarray(lower[limited]), np.ascontiguousarray(upper[limited])
            loops = Loops(between_limits, machine_code=machine_code)
            self._within = loops.bind(len(own), own, self.position, *limits).run

    def of(self, q: Array, v: Array) -> Array | None:
        """The velocity (nv) at the end of the step from q and v; None for what goes the long way.

        That is a base that turns too far for the step, and a limit that is reached.
        """
        velocity = self._reached
        if self._carry is None:
            self._q[:] = q
            self._move()
        else:
            ends = (self.position, self._velocity, self._change)
            if self._carry(q, v, velocity, self._step, self._robot.inertia_input, *ends) is None:
                return None
            if self._change.item() > ACCURATE**2:
                return None
            velocity = self._velocity
        if self._within is not None and not self._within():
            return None
        return velocity
