# SPDX-License-Identifier: Apache-2.0
"""Unilateral contact with Coulomb friction: what touches, forces of many contacts, dynamics with them (theory.md 10).

- `Contact` and `ContactSet`: balls or points of the robot on surfaces of the world or of other bodies; `read_contacts`;
- `ContactDynamics`, also as methods of `Robot`: forward and inverse dynamics, impacts;
- `ContactFinder`: what knows the contacts of each state, as collisions between shapes do;
- `solve_contacts`: the problem of forces by itself, `ContactSolver` for many like it.
"""

from rbd_dynamics.contacts.contact import Contact, ContactSet
from rbd_dynamics.contacts.dictionary import read_contacts
from rbd_dynamics.contacts.dynamics import ContactDynamics
from rbd_dynamics.contacts.found import ContactFinder, FinderDynamics, FoundContacts
from rbd_dynamics.contacts.laws import CONES
from rbd_dynamics.contacts.results import ContactImpulse, ContactMotion, ContactResiduals, ContactTorque
from rbd_dynamics.contacts.solver import ContactSolution, ContactSolver, solve_contacts

__all__ = [
    "CONES",
    "Contact",
    "ContactDynamics",
    "ContactFinder",
    "ContactImpulse",
    "ContactMotion",
    "ContactResiduals",
    "ContactSet",
    "ContactSolution",
    "ContactSolver",
    "ContactTorque",
    "FinderDynamics",
    "FoundContacts",
    "read_contacts",
    "solve_contacts",
]
