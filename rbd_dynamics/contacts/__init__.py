# SPDX-License-Identifier: Apache-2.0
"""Unilateral contact with Coulomb friction: what touches, forces of many contacts, dynamics with them (theory.md 10).

- `Contact` and `ContactSet`: balls or points of the robot on surfaces of the world or of other bodies; `read_contacts`;
- `ContactDynamics`, also as methods of `Robot`: forward and inverse dynamics, impacts;
- `solve_contacts`: the problem of forces by itself, `ContactSolver` for many like it.
"""

from rbd_dynamics.contacts.contact import Contact, ContactSet
from rbd_dynamics.contacts.dictionary import read_contacts
from rbd_dynamics.contacts.dynamics import ContactDynamics
from rbd_dynamics.contacts.results import ContactImpulse, ContactMotion, ContactResiduals, ContactTorque
from rbd_dynamics.contacts.solver import CONES, ContactSolution, ContactSolver, solve_contacts

__all__ = [
    "CONES",
    "Contact",
    "ContactDynamics",
    "ContactImpulse",
    "ContactMotion",
    "ContactResiduals",
    "ContactSet",
    "ContactSolution",
    "ContactSolver",
    "ContactTorque",
    "read_contacts",
    "solve_contacts",
]
