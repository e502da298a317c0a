# SPDX-License-Identifier: Apache-2.0
"""What surrounds a simulated robot, from a YAML file: constraints that hold, and what it may touch."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from rbd_dynamics.constraints import ConstraintSet, load_constraints
from rbd_dynamics.constraints.dictionary import is_file, read
from rbd_dynamics.contacts import Contact, ContactFinder, ContactSet, read_contacts
from rbd_dynamics.model.model import Model
from rbd_dynamics.model.open_kinds import check_keys


class Scene(NamedTuple):
    """constraints: None where there are none. contacts: a list of them, or a `CollisionSet`."""

    constraints: ConstraintSet | None = None
    contacts: tuple[Contact, ...] | ContactFinder = ()


def load_scene(source: Any, model: Model) -> Scene:
    """The scene of a YAML file (a path), of YAML text, or of a dictionary: `constraints`, `stabilization`, and
    `contacts` or `collisions`. Files that it names are found from its own folder, or from where one is.

    Raises ValueError that names the constraint, contact or shape and the key, KeyError for a frame or joint that the
    model does not have. docs/constraints.md and docs/contacts.md describe the format.
    """
    data = read(source)
    if not isinstance(data, dict):
        raise ValueError("scene: expected a dictionary with `constraints`, `contacts` or `collisions`")
    check_keys(data, ("constraints", "stabilization", "contacts", "collisions"), "scene")
    held = {key: data[key] for key in ("constraints", "stabilization") if key in data}
    constraints = load_constraints(held, model) if data.get("constraints") else None
    contacts = tuple(read_contacts(data.get("contacts") or []))
    if contacts:
        ContactSet(model, contacts)  # names and frames
    if data.get("collisions") is None:
        return Scene(constraints, contacts)
    if contacts:
        raise ValueError("scene: has `contacts` and `collisions`: a ball of a contact can be a shape of type sphere")
    from rbd_dynamics.collisions import read_collisions

    folder = Path(source).parent if is_file(source) else Path()
    return Scene(constraints, read_collisions(data["collisions"], model, folder=folder))
