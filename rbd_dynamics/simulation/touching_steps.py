# SPDX-License-Identifier: Apache-2.0
"""Steps in machine code of contacts that are always the same: dynamics, the solver, the carrying over of momentum."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.compiler.loops import Argument, Loops
from rbd_dynamics.contacts import Contact, ContactSet, FoundContacts
from rbd_dynamics.contacts.solver import solver_loops
from rbd_dynamics.simulation.contact import StepImpulses
from rbd_dynamics.simulation.contact_march import LOOPS, march_touching
from rbd_dynamics.simulation.step_loops import velocity_after
from rbd_dynamics.simulation.steps_in_contact import Settings, StepsInContact

Array = NDArray[np.float64]


class TouchingSteps(StepsInContact):
    """Parameters: as of `StepsInContact`; impulses: of these contacts, for the step of the settings."""

    def __init__(self, settings: Settings, contacts: ContactSet, impulses: StepImpulses, states: int | None) -> None:
        super().__init__(settings, states)
        count, n, nv = self.states, 3 * len(contacts), settings.robot.model.nv
        self._contacts = contacts.contacts
        self._forces = np.zeros((count, len(contacts), 3))
        self._impulses = impulses.last[None] if self.single else np.zeros((count, n))
        evaluation = self.robot.constrained_kernel("contact_dynamics", contacts.rows, contacts.rows.key)
        delassus, response = np.zeros((count, n, n)), np.zeros((count, n, nv))
        acceleration, velocity, gap = np.zeros((3, count, n))
        inputs = self.q, self.v, self.tau, contacts.rows.parameters, self.inertia
        outputs = delassus, response, self.a, acceleration, velocity, gap
        dynamics, dynamics_at = self.kernel(evaluation, inputs, outputs)
        own = {
            "G": delassus, "response": response, "a": self.a, "acceleration": acceleration, "velocity": velocity,
            "gap": gap, "v": self.v, "f": self._impulses, "forces": self._forces, "reached": self.reached,
        }  # fmt: skip
        closing, gain, softness, restitution, mu = impulses.laws
        loops = solver_loops(contacts.friction_law, velocity_after, machine_code=True)
        solve = loops.bind_named(
            contacts=len(contacts), nv=nv, most=impulses.most, numbers=np.array([self.h]),
            tolerance=impulses.tolerance, closing=closing, gain=gain, softness=softness, restitution=restitution,
            mu=mu, D=np.zeros((n, n)), free=np.zeros(n), own=np.zeros(3), work=np.zeros(3), **own,
        )  # fmt: skip
        self._alive += [solve]
        self._own: dict[str, Argument] = {
            "dynamics": dynamics, "dynamics_at": dynamics_at, "solve": solve.function, "solve_plan": solve.plan,
            "solve_moves": self.moves(loops, **own),
        }  # fmt: skip

    def _march(self) -> tuple[Loops, dict[str, Argument]]:
        return _loops(), self._own

    def forget(self, state: int = 0) -> None:
        self._impulses[state] = 0.0

    def results(self) -> tuple[tuple[Contact, ...], Array, tuple[FoundContacts, Array] | None]:
        return self._contacts, self._forces[0].copy(), None


def touching_steps(
    settings: Settings, contacts: ContactSet, impulses: StepImpulses, states: int | None
) -> TouchingSteps | None:
    """Steps of a set of contacts; None where there is no machine code for them."""
    if settings.robot.backend != "llvm" or not _loops().compiled:
        return None
    return TouchingSteps(settings, contacts, impulses, states)


@functools.cache
def _loops() -> Loops:
    return Loops(*LOOPS, march_touching, machine_code=True)
