# SPDX-License-Identifier: Apache-2.0
"""What surrounds a simulated robot, from a YAML file: constraints that hold, and surfaces that it may touch."""

from __future__ import annotations

from typing import Any, NamedTuple

from rbd_dynamics.constraints import ConstraintSet, load_constraints
from rbd_dynamics.constraints.dictionary import read
from rbd_dynamics.contacts import Contact, ContactSet, read_contacts
from rbd_dynamics.model.model import Model
from rbd_dynamics.model.open_kinds import check_keys


class Scene(NamedTuple):
    """constraints: None where there are none."""

    constraints: ConstraintSet | None = None
    contacts: tuple[Contact, ...] = ()


def load_scene(source: Any, model: Model) -> Scene:
    """The scene of a YAML file (a path), of YAML text, or of a dictionary: `constraints`, `stabilization`, `contacts`.

    Raises ValueError that names the constraint or contact and the key, KeyError for a frame or joint that the model
    does not have. docs/constraints.md describes the format.
    """
    data = read(source)
    if not isinstance(data, dict):
        raise ValueError("scene: expected a dictionary with `constraints` or `contacts`")
    check_keys(data, ("constraints", "stabilization", "contacts"), "scene")
    held = {key: data[key] for key in ("constraints", "stabilization") if key in data}
    constraints = load_constraints(held, model) if data.get("constraints") else None
    contacts = tuple(read_contacts(data.get("contacts") or []))
    if contacts:
        ContactSet(model, contacts)  # names and frames
    return Scene(constraints, contacts)
