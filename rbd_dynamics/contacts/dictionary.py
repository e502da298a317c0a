# SPDX-License-Identifier: Apache-2.0
"""Contacts as plain data and as YAML text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rbd_dynamics.constraints.dictionary import named, read
from rbd_dynamics.constraints.forms import value_of
from rbd_dynamics.contacts.contact import Contact
from rbd_dynamics.model.open_kinds import built, check_keys


def read_contacts(source: Any) -> list[Contact]:
    """The contacts of a YAML file (a path), of YAML text, or of data: a list, or a dictionary with it under `contacts`.

    Raises ValueError that names the contact and the key. docs/contacts.md describes the format.
    """
    data = read(source)
    if isinstance(data, Mapping):
        check_keys(data, ("contacts",), "contacts")
        data = data.get("contacts")
    if not isinstance(data, list):
        raise ValueError("contacts: expected a list, or a dictionary with the list under `contacts`")
    return [built(Contact, entry, named(entry, "contact", k), value_of) for k, entry in enumerate(data)]
