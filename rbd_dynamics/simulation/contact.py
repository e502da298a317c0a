# SPDX-License-Identifier: Apache-2.0
"""Contacts and joints in a step of time: impulses after which their laws hold at the end of it.

Rigid contact acts on velocities: after a step no ball moves into its surface, and friction holds it, or brakes it with
mu times the normal force, opposite to where it slides. So a force that a controller presses with is the force that a
sensor reads, without a stiffness that has to be chosen. A compliant contact pushes as its spring does at the end of
the step, f_n = -(gap + h u_n) / compliance - damping u_n, which no stiffness makes unstable: it is the same problem
with compliance / (h (h + damping compliance)) added to the response of its normal (theory.md section 10). Joints that
dry friction may hold, or that are at their stops, are rows of the same problem (theory.md section 12).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.contacts import Contact, ContactSolver
from rbd_dynamics.contacts.impacts import SLOWEST_BOUNCE, Impact, rebounds
from rbd_dynamics.contacts.joint_law import NO_JOINTS, JointLaw
from rbd_dynamics.contacts.laws import LAWS
from rbd_dynamics.contacts.solver import SWEEPS

Array = NDArray[np.float64]

DEPTH_GAIN = 0.2  # part of a penetration that a step takes back
ACCURACY = 1e-10  # of the largest impulse


class StepImpulses:
    """Impulses of n contacts and of joints in steps of h (s); each starts from those of the one before.

    machine_code: as `ContactSolver` has it.
    """

    def __init__(self, contacts: Sequence[Contact], h: float, *, cone: str = LAWS[0].name, machine_code: bool) -> None:
        self.h, n = h, len(contacts)
        self._made = functools.partial(ContactSolver, n, cone=cone, machine_code=machine_code)
        self._solver = self._made()
        self._with_joints: dict[int, ContactSolver] = {}  # by the number of joints
        self._impacts = ContactSolver(n, cone=cone, machine_code=machine_code)
        friction = [contact.friction_coefficient for contact in contacts]
        self._solver.friction[:] = self._impacts.friction[:] = friction
        self._restitution = np.array([contact.restitution for contact in contacts], dtype=float)
        compliance = np.array([contact.compliance for contact in contacts], dtype=float)
        #: time in which a gap is to close: where it is rigid the step, and more where it is damped
        self._closing = h + compliance * np.array([contact.damping for contact in contacts], dtype=float)
        self._gain = np.where(compliance > 0.0, 1.0, DEPTH_GAIN) / self._closing
        self._softness = compliance / (h * self._closing)
        self._normals = np.arange(0, 3 * n, 3)
        self.converged = True
        #: for `step_loops`
        self.tolerance = np.array([ACCURACY])
        self.most = SWEEPS
        self.laws = (self._closing, self._gain, self._softness, self._restitution, self._solver.friction)
        self.last = self._solver.forces  # (3n) impulses that the next step starts from

    def __call__(self, G: Array, velocity: Array, gap: Array, before: Array) -> Array:
        """Impulses (n, 3) of contacts alone: see `with_joints`."""
        return self.with_joints(G, velocity, gap, before, NO_JOINTS)[0]

    def with_joints(
        self, G: Array, velocity: Array, gap: Array, before: Array, joints: JointLaw
    ) -> tuple[Array, Array]:
        """Impulses after which all laws hold: (n, 3) of contacts along normals and tangents, and (m) of joints, N s.

        Parameters:
            G (3n + m, 3n + m): change of the rows' velocities per impulse, those of joints last.
            velocity (3n + m): of the rows after the step without these impulses. before (3n): at its begin.
            gap (n): distance from the surfaces, m.
            joints: levels are impulses.
        """
        n, rebounding = len(before), np.zeros(len(before))
        least = np.where(self._softness > 0.0, np.inf, np.maximum(SLOWEST_BOUNCE, gap / self.h))
        if ((self._restitution > 0.0) & (before[::3] <= -least)).any():  # friction and stops have no time to act
            rebounding = rebounds(
                self._impacts, G[:n, :n], Impact(rebounding, before), self._restitution, least
            ).impulses
            velocity = velocity + G[:, :n] @ rebounding
        solver = self._solver_of(joints)
        solver.free[:] = velocity
        solver.free[:n:3] += self._allowed(gap)
        if not len(joints) and solver.free[:n:3].min(initial=0.0) >= 0.0:  # none comes to touch
            solver.forces[:], self.converged = 0.0, True
        else:
            solver.delassus[:] = G
            solver.delassus[self._normals, self._normals] += self._softness
            self.converged = solver.solve(tolerance=ACCURACY)
        return (rebounding + solver.forces[:n]).reshape(-1, 3), solver.forces[n:]

    def forget(self) -> None:
        """Start from no impulses."""
        for solver in (self._solver, self._impacts, *self._with_joints.values()):
            solver.forces[:] = 0.0

    def _solver_of(self, joints: JointLaw) -> ContactSolver:
        """One that has their law, and starts from the last impulses of contacts."""
        m = len(joints)
        if not m:
            return self._solver
        if m not in self._with_joints:
            self._with_joints[m] = self._made(joints=m)
            self._with_joints[m].friction[:] = self._solver.friction
        solver = self._with_joints[m]
        solver.joints.level[:], solver.joints.lower[:], solver.joints.upper[:] = (
            joints.level,
            joints.lower,
            joints.upper,
        )
        return solver

    def _allowed(self, gap: Array) -> Array:
        """Normal velocity into the surface that a contact may have (n); negative: it has to leave."""
        allowed: Array = gap * np.where(gap > 0.0, 1.0 / self._closing, self._gain)
        return allowed


class ImpulsesOfSteps:
    """`StepImpulses` of contacts that come and go; a set that was there before starts from its last impulses."""

    MOST = 64  # sets that are kept

    def __init__(self, h: float, *, cone: str, machine_code: bool) -> None:
        self.h, self.cone, self.machine_code = h, cone, machine_code
        self._known: dict[tuple[str, ...], StepImpulses] = {}

    def __call__(self, contacts: Sequence[Contact]) -> StepImpulses:
        """Impulses of these contacts; contacts of one name obey one law."""
        names = tuple(contact.name for contact in contacts)
        if names not in self._known:
            if len(self._known) >= self.MOST:
                self._known.clear()
            self._known[names] = StepImpulses(contacts, self.h, cone=self.cone, machine_code=self.machine_code)
        return self._known[names]

    def forget(self) -> None:
        """Each set starts from none."""
        for impulses in self._known.values():
            impulses.forget()
