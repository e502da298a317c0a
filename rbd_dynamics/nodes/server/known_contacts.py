# SPDX-License-Identifier: Apache-2.0
"""The contacts that `dynamics_server` knows by name, and those that requests bring along."""

from __future__ import annotations

from rbd_dynamics.contacts import Contact, ContactSet, read_contacts
from rbd_dynamics.nodes.server.known_sets import KnownSets

#: what the services in contact use beside those of the contacts; wrenches that are not there are zero
KERNELS = ("inverse_dynamics_f_ext", "kinetic_energy")


class KnownContacts(KnownSets[Contact, ContactSet]):
    what, each_alone = "contacts", False

    def _of_file(self, file: str) -> list[Contact]:
        contacts = list(map(self.inside, read_contacts(file)))
        if contacts:
            ContactSet(self.robot.model, contacts)  # names and frames
        return contacts

    def _made(self, items: list[Contact], text: str) -> ContactSet:
        inline = read_contacts(f"{text}\n") if text.strip() else []
        return ContactSet(self.robot.model, [*items, *map(self.inside, inline)])

    def _key(self, made: ContactSet) -> str:
        return made.rows.key

    def _compile(self, made: ContactSet) -> None:
        self.robot.compile(*KERNELS)
        self.robot.in_contact(made).compile()
