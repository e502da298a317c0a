# SPDX-License-Identifier: Apache-2.0
"""Stops and contacts of links that motors drive: what touches in a step, and the forces after which its laws hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.actuators import DrivenRobot
from rbd_dynamics.contacts import Contact, ContactFinder, ContactSet
from rbd_dynamics.model.model import Model
from rbd_dynamics.simulation.contact import ImpulsesOfSteps, StepImpulses
from rbd_dynamics.simulation.integrators import FASTEST_CHANGE, NEAR, q_index_of
from rbd_dynamics.simulation.simulation import contact_set, position_limits

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
MOST_ROUNDS = 30
FINE, ROUGH = 1e-10, 1e-5  # of the largest impulse: how much less rounds shall change it, and must


class Touching:
    """Contacts near a state: rows A (3n, nv), their velocities before (3n), what these gain in a step by the motion
    of the rows (3n), gaps (n), and the law of their impulses."""

    def __init__(self, A: Array, before: Array, gained: Array, gap: Array, impulses: StepImpulses) -> None:
        self.A, self.before, self.gained, self.gap, self.impulses = A, before, gained, gap, impulses


class LinkLimits:
    """What links of a driven robot may run into.

    Parameters:
        contacts: of the robot's model, with or without what it says of drives. stops: position limits count.

    Raises TypeError for what are no contacts, ValueError for those of another model.
    """

    def __init__(
        self, robot: DrivenRobot, h: float, contacts: Sequence[Contact] | ContactSet | ContactFinder, stops: bool
    ) -> None:
        self.robot, self.h = robot, h
        links = robot.links.model
        if isinstance(contacts, ContactSet) and without_drives(contacts.model) == without_drives(links):
            contacts = ContactSet(links, contacts.contacts, cone=contacts.cone)
        if isinstance(contacts, ContactFinder) and without_drives(contacts.model) == without_drives(links):
            found: ContactSet | ContactFinder | None = contacts
        else:
            found = contact_set(links, contacts)
        self._set = found if isinstance(found, ContactSet) else None
        self._finder = found if isinstance(found, ContactFinder) else None
        if found is not None:
            machine_code = robot.links.backend == "llvm"
            self._impulses = ImpulsesOfSteps(h, cone=found.cone, machine_code=machine_code)
        lower, upper = position_limits(links, stops)
        #: degrees of freedom with a stop, where their positions are, and these stops
        self.dofs: Indices = np.flatnonzero(np.isfinite(lower) | np.isfinite(upper)).astype(np.intp)
        self.places: Indices = np.array([q_index_of(robot.links, int(dof)) for dof in self.dofs], dtype=np.intp)
        self.lower, self.upper = lower[self.dofs], upper[self.dofs]
        #: of the last step: contacts that were near, and their mean forces (contacts, 3) along normal and tangents, N
        self.contacts: tuple[Contact, ...] = () if self._set is None else self._set.contacts
        self.forces = np.zeros((len(self.contacts), 3))

    def sides(self, q: Array) -> NDArray[np.int64]:
        """Side of each stop: +1 where q is beyond the upper one, -1 beyond the lower one, else 0."""
        at = q[self.places]
        tolerance = 1e-12 + 1e-9 * np.abs(at)
        return np.where(at > self.upper + tolerance, 1, np.where(at < self.lower - tolerance, -1, 0))

    def stops(self, sides: NDArray[np.int64]) -> Array:
        """Positions of the stops at which they stand, of those where they do."""
        return np.where(sides > 0, self.upper, self.lower)[sides != 0]

    def touching(self, q: Array, v: Array) -> Touching | None:
        """What may touch in the step that begins here."""
        h = self.h
        if self._finder is not None:
            found = self._finder.found(q, v, margin=max(NEAR, FASTEST_CHANGE * h**2), duration=h)
            self.contacts, self.forces = found.contacts, np.zeros((len(found), 3))
            if not len(found):
                return None
            return Touching(found.A, found.velocity, h * found.bias, found.gap, self._impulses(found.contacts))
        self.forces[:] = 0.0
        if self._set is None:
            return None
        distance, A, bias = self.robot.links.constraint_rows(q, v, self._set.rows)
        before = A @ v
        if not (distance[::3] + h * before[::3] < max(NEAR, FASTEST_CHANGE * h**2)).any():
            return None
        return Touching(A, before, h * bias, distance[::3], self._impulses(self.contacts))

    def pushed(
        self, near: Touching | None, held: Indices, response: Array, solve: Callable[[Array | float], Array]
    ) -> tuple[Array, Array]:
        """(unknowns of the step, generalised force (nv) of the contacts), such that the laws of contact hold.

        Parameters:
            held: degrees of freedom that stand at stops, which nothing moves.
            response: (nv, nv) of the links' accelerations to generalised forces.
            solve: of a generalised force (nv) gives the unknowns, accelerations of links first.

        Raises ArithmeticError where no forces are found.
        """
        nv, h = self.robot.model.nv, self.h
        force = np.zeros(nv)
        x = solve(force)
        if near is None:
            return x, force
        A = near.A.copy()
        A[:, held] = 0.0
        G = A @ response @ A.T
        G = 0.5 * (G + G.T)  # but for gyroscopic terms within the step it is
        pushes, last = np.zeros(len(A)), np.inf
        for _ in range(MOST_ROUNDS):
            velocity = near.before + near.gained + h * (near.A @ x[:nv])
            new = near.impulses(G, velocity - G @ pushes, near.gap, near.before).reshape(-1)
            change = float(np.abs(new - pushes).max())
            pushes = new
            if not change:
                break
            force = near.A.T @ pushes / h
            x = solve(force)
            scale = float(np.abs(new).max())
            if change <= FINE * scale or (change <= ROUGH * scale and change >= 0.5 * last):
                break
            last = change
        else:
            raise ArithmeticError("no forces of the contacts were found")
        self.forces[:] = pushes.reshape(-1, 3) / h
        return x, force


def without_drives(model: Model) -> Model:
    """The same links."""
    bodies = (replace(body, joint=replace(body.joint, drive=None, armature=0.0)) for body in model.bodies)
    return replace(model, bodies=tuple(bodies))
