# SPDX-License-Identifier: Apache-2.0
"""A robot in contact: forward and inverse dynamics and impacts, at one state or many."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.common.real_numbers import real_array, real_number
from rbd_dynamics.contacts.contact import Contact, ContactLaws, ContactSet, contact_set_of
from rbd_dynamics.contacts.impacts import SLOWEST_BOUNCE, Impact, impact, rebounds
from rbd_dynamics.contacts.least_forces import Cone, Fixed, ForceSet, GivenNormal, Ray, least_forces
from rbd_dynamics.contacts.results import ContactImpulse, ContactMotion, ContactResiduals, ContactTorque, residuals
from rbd_dynamics.contacts.solver import ContactSolver
from rbd_dynamics.contacts.states import ContactStates
from rbd_dynamics.contacts.workspaces import Workspaces
from rbd_dynamics.kernels.bound_model import BoundModel
from rbd_dynamics.model.joints import Floating
from rbd_dynamics.spatial.rank import DEPENDENT, size_of, without_rounding

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Wrenches = Mapping[str, ArrayLike]
Contacts = ContactSet | Sequence[Contact]

TOUCHING = 1e-6  # m
STILL = 1e-6  # m/s, m/s^2


class ContactDynamics:
    """Dynamics of a robot with unilateral contacts; n is their number. Batches and errors as in `Robot`.

    Parameters:
        robot: what moves. contacts: a `ContactSet` of its model, or a sequence of contacts.

    Threads may share it. Raises ValueError for a set of another model, TypeError for what is no set. Source: theory.md
    section 10.
    """

    def __init__(self, robot: BoundModel, contacts: Contacts) -> None:
        self.robot, self._set = robot, contact_set_of(robot.model, contacts)
        self.contacts: ContactLaws = self._set
        self._solvers = solvers_of(robot, self.contacts)

    def compile(self) -> None:
        """Make the kernels ahead of use."""
        for name in ("contact_dynamics", "contact_dynamics_f_ext", "constraint_rows"):
            self._rows_kernel(name, batches=True)

    def _rows_kernel(self, name: str, *, batches: bool = False) -> Any:
        rows = self._set.rows
        return self.robot.constrained_kernel(name, rows, rows.key, batches=batches)

    def rows(self, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array, Array]:
        """(h (3n), A (3n, nv), Adot v (3n)) of normals and tangents."""
        h, A, bias = self._rows_kernel("constraint_rows")((q, v, self._set.rows.parameters))
        return h, A, bias

    def terms(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *, f_ext: Wrenches | None = None) -> tuple[Array, ...]:
        """(Delassus' matrix (3n, 3n), accelerations by each force (3n, nv), a (nv), the rows' accelerations and
        velocities (3n), the rows' h (3n): gaps at normals), all without contact forces."""
        parameters, inertia = self._set.rows.parameters, self.robot.inertia_input
        if f_ext is None:
            found = self._rows_kernel("contact_dynamics")((q, v, tau, parameters, inertia))
        else:
            inputs = (q, v, tau, parameters, self.robot.body_wrenches(f_ext), inertia)
            found = self._rows_kernel("contact_dynamics_f_ext")(inputs)
        return tuple(found)

    # --- forward ----------------------------------------------------------------------------------

    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *,
        f_ext: Wrenches | None = None,
        touching: float = TOUCHING,
        still: float = STILL,
    ) -> ContactMotion:
        """Acceleration and contact forces under the torque tau.

        A contact acts where its gap is at most `touching` (m) and it does not leave faster than `still` (m/s); it
        slides where it is faster than that along the surface. One that arrives is an impact: see `impulse`. Forces
        of redundant contacts are the shortest. Compliant contacts push as their springs are at this state.
        """
        check_thresholds(touching, still)
        terms = self.terms(q, v, tau, f_ext=f_ext)
        accelerations = _each(terms, "mmvvvv", lambda *own: self._acceleration(own, touching, still))
        a, forces = accelerations[0], accelerations[1]
        needed = self._inverse(q, v, a, f_ext) - real_array(tau, "tau")
        works = np.einsum("...i,...i", real_array(v, "v"), needed)
        power = np.einsum("...i,...i", forces.reshape(*forces.shape[:-2], 3 * len(self.contacts)), terms[4])
        laws = ContactResiduals._make([*accelerations[3:6], np.abs(works - power)])
        return ContactMotion(a, forces, accelerations[2] == 1.0, laws)

    def _acceleration(self, terms: Sequence[Array], touching: float, still: float) -> tuple[Any, ...]:
        G, response, a, acceleration, velocity, h = terms
        states = ContactStates(self.contacts, h[::3], velocity.reshape(-1, 3), touching, still)
        solver = self._solvers.take()
        E = states.pose(solver, G, acceleration)
        converged = solver.solve(least=True)
        forces = E @ solver.forces
        self._solvers.give(solver)
        motion = (acceleration + G @ forces).reshape(-1, 3)
        f = forces.reshape(-1, 3)
        of = self.contacts
        laws = residuals(f, states.judged(motion), acceleration, of.friction, of.friction_law)
        return a + forces @ response, f, converged, *laws

    # --- impacts ----------------------------------------------------------------------------------

    def impulse(self, q: ArrayLike, v: ArrayLike, *, touching: float = TOUCHING) -> ContactImpulse:
        """Velocity after the impacts of what touches and approaches.

        What rebounds does so one impact after the other, as in Newton's cradle; in the last all that touch take part
        without rebound (`impacts`). In each, friction obeys Coulomb's law for impulses.
        """
        check_thresholds(touching)
        speed = real_array(v, "v")
        terms = self.terms(q, v, np.zeros(self.robot.model.nv))
        found = _each((*terms[:2], terms[4], terms[5]), "mmvv", lambda *own: self._impact(own, touching))
        change, impulses, work = found[0], found[1], found[4]
        energies = [self._kinetic_energy(q, speed + part) for part in (change, 0.0 * change)]
        laws = ContactResiduals._make([*found[5:8], np.abs(energies[0] - energies[1] - work)])
        return ContactImpulse(speed + change, impulses, np.nan_to_num(found[3]).astype(int), found[2] == 1.0, laws)

    def _impact(self, terms: Sequence[Array], touching: float) -> tuple[Any, ...]:
        G, response, velocity, h = terms
        of, solver = self.contacts, self._solvers.take()
        near = (h[::3] <= touching) & (of.compliance == 0.0)
        solver.friction[:] = of.friction
        least = np.where(near, SLOWEST_BOUNCE, np.inf)
        found = rebounds(solver, G, Impact(np.zeros(len(h)), velocity), of.restitution, least)
        found = impact(solver, G, found, np.zeros(len(of)), near)
        self._solvers.give(solver)
        impulses = found.impulses
        result = (impulses @ response, impulses.reshape(-1, 3), found.converged, found.stages, found.work)
        return *result, *found.laws

    # --- inverse ----------------------------------------------------------------------------------

    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        actuated: ArrayLike | None = None,
        f_ext: Wrenches | None = None,
        touching: float = TOUCHING,
        still: float = STILL,
    ) -> ContactTorque:
        """Torques and contact forces for the acceleration a: the shortest forces in their cones.

        actuated (nv) bool: joints with an actuator, by default all but floating ones. What slides, or starts to, has
        its friction opposite to it; what leaves has no force. An infeasible motion is no error: see `ContactTorque`.
        """
        model = self.robot.model
        check_thresholds(touching, still)
        driven = self._actuated() if actuated is None else _flags(actuated)
        if driven.shape != (model.nv,):
            raise ValueError(f"actuated has shape {driven.shape}, expected ({model.nv},)")
        h, A, bias = self.rows(q, v)
        velocity = np.einsum("...ij,...j", A, real_array(v, "v"))
        motion = np.einsum("...ij,...j", A, real_array(a, "a")) + bias
        needed = self._inverse(q, v, a, f_ext)
        terms = (h, A, velocity, motion, needed)
        return ContactTorque._make(_each(terms, "vmvvv", lambda *own: self._torque(own, driven, touching, still)))

    def _torque(self, terms: Sequence[Array], driven: Flags, touching: float, still: float) -> tuple[Array, ...]:
        h, A, velocity, motion, needed = terms
        of, rate = self.contacts, motion.reshape(-1, 3)
        states = ContactStates(of, h[::3], velocity.reshape(-1, 3), touching, still)
        starting = of.friction_law.direction(rate[:, 1:], still)
        sets: list[ForceSet] = []
        for k in range(len(of)):
            leaves = rate[k, 0] > still and not states.compliant[k]
            direction = states.direction[k] if states.direction[k].any() else starting[k]
            edge = np.array([1.0, *(-of.friction[k] * direction)])
            if leaves or not states.active[k]:
                sets.append(Fixed(np.zeros(3)))
            elif states.compliant[k] and direction.any():
                sets.append(Fixed(states.spring[k] * edge))
            elif states.compliant[k]:
                sets.append(GivenNormal(float(states.spring[k]), of.friction_law, float(of.friction[k])))
            elif direction.any():
                sets.append(Ray(edge))
            else:
                sets.append(Cone(of.friction_law, float(of.friction[k])))
        felt = without_rounding(
            A.T[~driven], size_of(A), tolerance=DEPENDENT
        )  # what these joints do not feel gives them nothing
        f = least_forces(felt, needed[~driven], sets)
        rest = needed - f @ A
        into = np.where(states.active & ~states.compliant, np.maximum(-rate[:, 0], 0.0), 0.0)
        lacking = np.where(driven, 0.0, rest)
        return np.where(driven, rest, 0.0), f.reshape(-1, 3), lacking, into.max(initial=0.0), needed

    def _actuated(self) -> Flags:
        driven = np.ones(self.robot.model.nv, dtype=bool)
        for joint in self.robot.model.joints:
            if isinstance(joint.kind, Floating):
                driven[joint.v_index : joint.v_index + joint.kind.nv] = False
        return driven

    def _inverse(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, f_ext: Wrenches | None) -> Array:
        if f_ext is None:
            return np.asarray(self.robot.evaluation("inverse_dynamics")((q, v, a, self.robot.inertia_input)))
        wrenches = self.robot.body_wrenches(f_ext)
        inputs = (q, v, a, wrenches, self.robot.inertia_input)
        return np.asarray(self.robot.evaluation("inverse_dynamics_f_ext")(inputs))

    def _kinetic_energy(self, q: ArrayLike, v: Array) -> Array:
        return np.asarray(self.robot.evaluation("kinetic_energy")((q, v, self.robot.inertia_input)))


def solvers_of(robot: BoundModel, contacts: ContactLaws) -> Workspaces[ContactSolver]:
    """Solvers for these contacts, one for each call that is under way."""
    machine_code = robot.backend == "llvm"
    return Workspaces(functools.partial(ContactSolver, len(contacts), cone=contacts.cone, machine_code=machine_code))


def _each(terms: Sequence[Array], kinds: str, one: Callable[..., tuple[Any, ...]]) -> list[Array]:
    """Results of one sample, or of each of a batch, as arrays. kinds: of the terms, "v" a vector, "m" a matrix.

    A sample whose terms are not finite, which a robot with errors="nan" lets through, is NaN.
    """
    own = [1 if kind == "v" else 2 for kind in kinds]
    lead = np.broadcast_shapes(*(term.shape[: term.ndim - axes] for term, axes in zip(terms, own)))
    whole = [np.broadcast_to(term, (*lead, *term.shape[term.ndim - axes :])) for term, axes in zip(terms, own)]
    samples = []

    def none() -> list[Array]:  # what one without any effect would be, for the shapes
        return [np.asarray(part) for part in one(*(np.zeros(term.shape[len(lead) :]) for term in whole))]

    for k in np.ndindex(*lead):
        chosen = [term[k] for term in whole]
        if all(np.isfinite(term).all() for term in chosen):
            samples.append([np.asarray(part) for part in one(*chosen)])
        else:
            samples.append([np.full(part.shape, np.nan) for part in none()])
    if not samples:
        return [np.zeros((*lead, *part.shape), dtype=part.dtype) for part in none()]
    return [np.reshape(parts, (*lead, *parts[0].shape)) for parts in zip(*samples)]


def _flags(actuated: ArrayLike) -> Flags:
    given = real_array(actuated, "actuated")
    if not np.isin(given, (0.0, 1.0)).all():
        raise ValueError("actuated: expected booleans")
    return given.astype(bool)


def check_thresholds(touching: float, still: float = 0.0) -> None:
    """Raises ValueError that names the one that is no number, or is negative where it cannot be."""
    for name, value, least in (("touching", touching, -np.inf), ("still", still, 0.0)):
        try:
            found = real_number(value)
        except ValueError as error:
            raise ValueError(f"{name} {excerpt(value)} {error}") from None
        if not found >= least:
            raise ValueError(f"{name} {found:g} must be a number" + (", and not negative" if least == 0.0 else ""))
