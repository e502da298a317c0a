# SPDX-License-Identifier: Apache-2.0
"""A step of time in contact in three calls of compiled code: dynamics, the solver, and the carrying over of momentum.

For what most robots are: on a pedestal, or on one floating base; without joint friction, constraints, and joints whose
rate of position is not their velocity. Everything else, and each step in which something is rare (a rebound, a limit
that is reached, contacts that take more than sweeps), goes the long way, which comes to the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.contacts import ContactSet
from rbd_dynamics.contacts.solver import solver_loops
from rbd_dynamics.robot import Robot
from rbd_dynamics.simulation.contact import StepImpulses
from rbd_dynamics.simulation.step_end import StepEnd
from rbd_dynamics.simulation.step_loops import velocity_after

Array = NDArray[np.float64]


class ContactStep:
    """One step of a robot in contact.

    Parameters:
        impulses: of these contacts, for the step h (s); its solver is used here too.
        lower, upper: position limits of each degree of freedom, infinite where there are none.
        forces: (contacts, 3), where each step leaves the mean forces, N.
    """

    def __init__(
        self,
        robot: Robot,
        contacts: ContactSet,
        impulses: StepImpulses,
        h: float,
        lower: Array,
        upper: Array,
        forces: Array,
    ) -> None:
        model, rows = robot.model, contacts.rows
        n, nv = 3 * len(contacts), model.nv
        self.robot, self._parameters = robot, rows.parameters
        self._dynamics = robot.constrained_kernel("contact_dynamics", rows, rows.key).fast
        self._a, self._v, self._reached = np.zeros(nv), np.zeros(nv), np.zeros(nv)
        delassus, response = np.zeros((n, n)), np.zeros((n, nv))
        acceleration, velocity, gap = np.zeros(n), np.zeros(n), np.zeros(n)
        self._terms = (delassus, response, self._a, acceleration, velocity, gap)
        machine_code = robot.backend == "llvm"
        self._solve = solver_loops(contacts.friction_law, velocity_after, machine_code=machine_code).bind(
            len(contacts), nv, impulses.most, np.array([h]), impulses.tolerance, *self._terms, self._v,
            *impulses.laws, *impulses.arrays, np.zeros(3), np.zeros(3), forces, self._reached,
        ).run  # fmt: skip
        self._end = StepEnd(robot, self._reached, h, lower, upper)

    def step(self, q: Array, v: Array, tau: Array) -> tuple[Array, Array, Array] | None:
        """(q', v', the acceleration in between); None: this step goes the long way."""
        inertia = self.robot.inertia_input
        self._v[:] = v
        if self._dynamics(q, self._v, tau, self._parameters, inertia, *self._terms) is None or not self._solve():
            return None
        velocity = self._end.of(q, self._v)
        return None if velocity is None else (self._end.position.copy(), velocity.copy(), self._a.copy())
