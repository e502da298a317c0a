# SPDX-License-Identifier: Apache-2.0
"""Contacts that are others at each state, as of bodies with shapes: found first, then dynamics as of any."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.contacts.contact import Contact, ContactLaws
from rbd_dynamics.contacts.dynamics import STILL, TOUCHING, ContactDynamics, Wrenches
from rbd_dynamics.contacts.results import ContactImpulse, ContactMotion, ContactTorque
from rbd_dynamics.contacts.solver import Cone, ContactSolver
from rbd_dynamics.kernels.bound_model import BoundModel
from rbd_dynamics.model.model import Model
from rbd_dynamics.model.real_numbers import real_array

Array = NDArray[np.float64]
FAR = 1e12  # m


class FoundContacts(ContactLaws):
    """The n contacts of one state.

    gap (n): m. A (3n, nv), velocity (3n) = A v, bias (3n) = Adot v: rows of normal and two tangents each.
    """

    def __init__(
        self, contacts: Sequence[Contact], gap: Array, A: Array, velocity: Array, bias: Array, *, cone: Cone
    ) -> None:
        super().__init__(contacts, cone)
        self.gap, self.A, self.velocity, self.bias = gap, A, velocity, bias

    @property
    def h(self) -> Array:
        """(3n) of the rows: gaps at normals."""
        return np.column_stack([self.gap, np.zeros((len(self), 2))]).reshape(-1)


class ContactFinder(ABC):
    """What knows the contacts at any state. `model`, `cone`."""

    model: Model
    cone: Cone

    @abstractmethod
    def found(self, q: Array, v: Array, *, margin: float = 1e-3, duration: float = 0.0) -> FoundContacts:
        """Those with a gap of at most the margin (m), and what may touch within the duration (s)."""


class FinderDynamics(ContactDynamics):
    """`ContactDynamics` with the contacts that are found at the state; one state at a time, since each has its own.

    Forces are those of `found(q, v)` of the finder, in that order.
    """

    def __init__(self, robot: BoundModel, finder: ContactFinder) -> None:
        if finder.model is not robot.model and finder.model != robot.model:
            raise ValueError("the collision set was made for another model")
        self.robot, self.finder = robot, finder

    def compile(self) -> None:
        """Make the kernels ahead of use."""
        model = self.robot.model
        self.robot.compile("forward_dynamics", "mass_matrix", "inverse_dynamics")
        self.finder.found(model.start_position(), np.zeros(model.nv))

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
        at = self._at(q, v, touching)
        found = at.forward_dynamics(q, v, tau, f_ext=f_ext, touching=touching, still=still)
        return found._replace(forces=found.forces[: at.count])

    def impulse(self, q: ArrayLike, v: ArrayLike, *, touching: float = TOUCHING) -> ContactImpulse:
        at = self._at(q, v, touching)
        found = at.impulse(q, v, touching=touching)
        return found._replace(impulses=found.impulses[: at.count])

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
        at = self._at(q, v, touching)
        found = at.inverse_dynamics(q, v, a, actuated=actuated, f_ext=f_ext, touching=touching, still=still)
        return found._replace(forces=found.forces[: at.count])

    def _at(self, q: ArrayLike, v: ArrayLike, touching: float) -> _FoundDynamics:
        position, velocity = self.robot.model.configuration(q), real_array(v, "v")
        if position.ndim != 1 or velocity.shape != (self.robot.model.nv,):
            raise ValueError(
                f"q and v have shapes {position.shape} and {velocity.shape}: shapes touch differently at each state, "
                "so a collision set takes one at a time"
            )
        return _FoundDynamics(self.robot, self.finder.found(position, velocity, margin=max(1e-3, touching)))


class _FoundDynamics(ContactDynamics):
    """With rows that are known already."""

    def __init__(self, robot: BoundModel, found: FoundContacts) -> None:
        self.robot, self.count = robot, len(found)
        self.contacts = self._found = found if self.count else _nowhere(robot.model.nv, found.cone)
        machine_code = robot.backend in ("llvm", "numba")
        self._solver = ContactSolver(len(self.contacts), cone=found.cone, machine_code=machine_code)
        self._pyramid = found.cone == "pyramidal"

    def terms(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *, f_ext: Wrenches | None = None) -> tuple[Array, ...]:
        robot, found = self.robot, self._found
        if f_ext is None:
            a = robot.evaluation("forward_dynamics")((q, v, tau, robot.inertia_input))
        else:
            inputs = (q, v, tau, robot.body_wrenches(f_ext), robot.inertia_input)
            a = robot.evaluation("forward_dynamics_f_ext")(inputs)
        mass = np.asarray(robot.evaluation("mass_matrix")((q, robot.inertia_input)))
        response = np.ascontiguousarray(np.linalg.solve(mass, found.A.T).T)
        return found.A @ response.T, response, np.asarray(a), found.A @ a + found.bias, found.velocity, found.h

    def rows(self, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array, Array]:
        return self._found.h, self._found.A, self._found.bias


def _nowhere(nv: int, cone: Cone) -> FoundContacts:
    """A contact that never is one, where there is none: far away, and nothing moves it."""
    still = np.zeros(3)
    return FoundContacts([Contact("none", "none")], np.array([FAR]), np.zeros((3, nv)), still, still, cone=cone)
