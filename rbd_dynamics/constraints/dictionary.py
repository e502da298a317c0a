# SPDX-License-Identifier: Apache-2.0
"""Constraints as plain dictionaries and YAML files; docs/constraints.md describes the format."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from rbd_dynamics.common.excerpt import excerpt, shortened
from rbd_dynamics.common.safe_yaml import SMALL, read_file, read_text
from rbd_dynamics.constraints.base import Constraint
from rbd_dynamics.constraints.constraint_set import ConstraintSet
from rbd_dynamics.constraints.forms import number
from rbd_dynamics.model.model import Model
from rbd_dynamics.model.open_kinds import check_keys


def load_constraints(source: Any, model: Model) -> ConstraintSet:
    """The constraints of a YAML file (a path), of YAML text, or of a dictionary or list.

    A text has several lines, or begins with a bracket. Raises ValueError that names the constraint and the
    key, KeyError that names the constraint for a frame or joint that the model does not have.
    """
    constraints, stabilization = read_constraints(source)
    return ConstraintSet(model, constraints, stabilization=stabilization or 0.0)


def read_constraints(source: Any) -> tuple[list[Constraint], float | None]:
    """The constraints, not yet of a model, and their stabilization, None where the source has none.

    Raises ValueError that names the constraint and the key.
    """
    data = read(source)
    if isinstance(data, list):
        data = {"constraints": data}
    if not isinstance(data, Mapping) or not isinstance(data.get("constraints"), list):
        raise ValueError("constraints: expected a list, or a dictionary with the list under `constraints`")
    check_keys(data, ("constraints", "stabilization"), "constraints")
    stabilization = None
    if "stabilization" in data:
        stabilization = number(data["stabilization"], "constraints: stabilization")
    return [_constraint(entry, k) for k, entry in enumerate(data["constraints"])], stabilization


def constraints_to_dict(constraints: ConstraintSet) -> dict[str, Any]:
    """What `load_constraints` makes an equal set of. Raises ValueError for kinds that only Python can express."""
    found = [{"name": each.name, **each.to_dict(where=f"constraint {each.name!r}")} for each in constraints.constraints]
    return {"stabilization": constraints.stabilization, "constraints": found}


def _constraint(entry: Any, index: int) -> Constraint:
    found: Constraint = Constraint.from_dict(entry, where=named(entry, "constraint", index))
    return found


def named(entry: Any, what: str, index: int) -> str:
    """The entry as messages name it: constraint 'table'. Raises ValueError for no dictionary, or one without a name."""
    if not isinstance(entry, Mapping):
        raise ValueError(f"{what} {index}: expected a dictionary, got {excerpt(entry)}")
    name = entry.get("name")
    if not isinstance(name, str) or not name:
        raise ValueError(f"{what} {index}: needs a `name`, a text")
    return f"{what} {excerpt(name)}"


# --- YAML -----------------------------------------------------------------------------------------


def read(source: Any) -> Any:
    """A YAML file (a path) or text as what it holds; anything else as it is. Raises ValueError."""
    if is_file(source):
        return read_file(source, f"constraints file {shortened(os.fsdecode(source), 200)}", SMALL)
    return read_text(source, "constraints", SMALL) if isinstance(source, str) else source


def is_file(source: Any) -> bool:
    """A path, and no text."""
    if isinstance(source, str):
        return "\n" not in source and source.lstrip()[:1] not in ("", "[", "{")
    return isinstance(source, os.PathLike)
