# SPDX-License-Identifier: Apache-2.0
"""Constraints as plain dictionaries and YAML files; docs/constraints.md describes the format."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from rbd_dynamics.constraints.base import Constraint
from rbd_dynamics.constraints.constraint_set import ConstraintSet
from rbd_dynamics.constraints.placements import checked_placement, placement
from rbd_dynamics.constraints.quadric import Quadric
from rbd_dynamics.constraints.surfaces import Cylinder, Plane, Sphere, Surface
from rbd_dynamics.model.assembly import checked_number
from rbd_dynamics.model.errors import ModelError
from rbd_dynamics.model.excerpt import shortened
from rbd_dynamics.model.model import Model
from rbd_dynamics.model.safe_yaml import SMALL, read_file, read_text
from rbd_dynamics.spatial import quaternion_from_rotation
from rbd_dynamics.spatial.se3 import Transform

SURFACES: dict[str, type[Surface]] = {kind.kind: kind for kind in (Plane, Sphere, Cylinder, Quadric)}
PLACEMENTS = ("placement", "reference_placement", "surface_placement")
#: numbers without which a constraint makes no sense, though Python has a default for them
LENGTHS = ("radius", "distance")


def load_constraints(source: Any, model: Model) -> ConstraintSet:
    """The constraints of a YAML file (a path), of YAML text, or of a dictionary or list.

    A text has several lines, or begins with a bracket. Raises ValueError that names the constraint and the
    key, KeyError that names the constraint for a frame or joint that the model does not have.
    """
    constraints, stabilization = read_constraints(source)
    return ConstraintSet(model, constraints, stabilization or 0.0)


def read_constraints(source: Any) -> tuple[list[Constraint], float | None]:
    """The constraints, not yet of a model, and their stabilization, None where the source has none.

    Raises ValueError that names the constraint and the key.
    """
    data = read(source)
    if isinstance(data, list):
        data = {"constraints": data}
    if not isinstance(data, Mapping) or not isinstance(data.get("constraints"), list):
        raise ValueError("constraints: expected a list, or a dictionary with the list under `constraints`")
    known_keys(data, ("constraints", "stabilization"), "constraints")
    stabilization = None
    if "stabilization" in data:
        stabilization = _number(data["stabilization"], "constraints: stabilization")
    return [_constraint(entry, k) for k, entry in enumerate(data["constraints"])], stabilization


def constraints_to_dict(constraints: ConstraintSet) -> dict[str, Any]:
    """What `load_constraints` makes an equal set of. Raises ValueError for kinds that only Python can express."""
    found = []
    for constraint in constraints.constraints:
        kind = getattr(type(constraint), "kind", None)
        if kind not in Constraint.known:
            raise ValueError(f"constraint {constraint.name!r} is a function, which no file can hold")
        entry: dict[str, Any] = {"name": constraint.name, "type": kind}
        for field in fields(constraint):  # type: ignore[arg-type]
            value = getattr(constraint, field.name)
            if field.name != "name" and (field.name in LENGTHS or value != _default(field)):
                entry[field.name] = _plain(constraint.name, value)
        found.append(entry)
    return {"stabilization": constraints.stabilization, "constraints": found}


# --- reading --------------------------------------------------------------------------------------


def read(source: Any) -> Any:
    """A YAML file (a path) or text as what it holds; anything else as it is. Raises ValueError."""
    if not isinstance(source, (str, os.PathLike)):
        return source
    if isinstance(source, str) and ("\n" in source or source.lstrip()[:1] in ("", "[", "{")):
        return read_text(source, "constraints", SMALL)
    return read_file(source, f"constraints file {shortened(os.fsdecode(source), 200)}", SMALL)


def _constraint(entry: Any, index: int) -> Constraint:
    if not isinstance(entry, Mapping):
        raise ValueError(f"constraint {index}: expected a dictionary, got {entry!r}")
    rest = dict(entry)
    name, kind = rest.pop("name", None), rest.pop("type", None)
    if not isinstance(name, str) or not name:
        raise ValueError(f"constraint {index}: needs a `name`, a text")
    if kind is None:
        raise ValueError(f"constraint {name!r}: `type` is missing; known: {', '.join(Constraint.known)}")
    cls = Constraint.known.get(kind) if isinstance(kind, str) else None
    if cls is None:
        raise ValueError(f"constraint {name!r}: unknown type {kind!r}{_near(kind, list(Constraint.known))}")
    _check_lengths(cls, rest, f"constraint {name!r}")
    constraint: Constraint = built(cls, name, rest, f"constraint {name!r}", f" of type {kind}")
    return constraint


def built(cls: Any, name: str, rest: dict[str, Any], where: str, kind: str = "") -> Any:
    """An object of a dataclass with a name, its other fields out of their plain forms. Raises ValueError."""
    allowed = [field.name for field in fields(cls) if field.name != "name"]
    known_keys(rest, allowed, where + kind)
    values = {key: _value(f"{where}: {key}", key, value) for key, value in rest.items()}
    for field in fields(cls):
        if field.name not in ("name", *values) and _default(field) is MISSING:
            raise ValueError(f"{where}: `{field.name}` is missing")
    return cls(name=name, **values)


def _value(where: str, key: str, value: Any) -> Any:
    """A field's value out of its plain form."""
    if key in PLACEMENTS:
        if isinstance(value, (Transform, np.ndarray)) or (isinstance(value, list) and len(value) == 4):
            return checked_placement(value, where)
        if not isinstance(value, Mapping):
            raise ValueError(f"{where}: expected xyz and rpy or quaternion, got {value!r}")
        known_keys(value, ("xyz", "rpy", "quaternion"), where)
        if "rpy" in value and "quaternion" in value:
            raise ValueError(f"{where}: give rpy or quaternion, not both")
        try:
            return placement(**value)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
    if key == "surface":
        return _surface(where, value)
    if key == "coefficients":
        if not isinstance(value, Mapping):
            raise ValueError(f"{where}: expected joints with numbers, got {value!r}")
        return {str(joint): _coefficient(given, f"{where} of {joint!r}") for joint, given in value.items()}
    if key in ("aligned", "spin"):
        if not isinstance(value, bool):
            raise ValueError(f"{where}: expected true or false, got {value!r}")
        return value
    if key in ("frame", "reference"):
        if not isinstance(value, str):
            raise ValueError(f"{where}: expected a name, got {value!r}")
        return value
    if key == "directions":
        if not isinstance(value, list) or not all(isinstance(direction, str) for direction in value):
            raise ValueError(f"{where}: expected a list of names, got {value!r}")
        return tuple(value)
    return _number(value, where)


def _coefficient(value: Any, where: str) -> float | tuple[float, ...]:
    """A number, or those of a polynomial."""
    if isinstance(value, (list, tuple)) and value:
        return tuple(_number(number, where) for number in value)
    return _number(value, where)


def _surface(where: str, value: Any) -> Surface:
    rest = dict(value) if isinstance(value, Mapping) else {"type": value}
    kind = rest.pop("type", None)
    cls = SURFACES.get(kind) if isinstance(kind, str) else None
    if cls is None:
        raise ValueError(f"{where}: unknown type {kind!r}{_near(kind, list(SURFACES))}")
    known_keys(rest, [field.name for field in fields(cls)], f"{where} of type {kind}")  # type: ignore[arg-type]
    _check_lengths(cls, rest, f"{where} of type {kind}")
    for key, entry in rest.items():
        if key == "hollow" and not isinstance(entry, bool):
            raise ValueError(f"{where}: hollow: expected true or false, got {entry!r}")
        rest[key] = entry if key == "hollow" else _number(entry, f"{where}: {key}")
    try:
        return cls(**rest)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


# --- plain forms and checks -----------------------------------------------------------------------


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, Transform):
        x, y, z = (float(entry) for entry in value.p)
        rotation = [[float(entry) for entry in value.rotation[3 * k : 3 * k + 3]] for k in range(3)]
        return {"xyz": [x, y, z], "quaternion": quaternion_from_rotation(rotation).tolist()}
    if isinstance(value, Surface):
        if type(value).kind not in SURFACES:
            raise ValueError(f"constraint {name!r}: its surface is a function, which no file can hold")
        own = {field.name: getattr(value, field.name) for field in fields(value)}  # type: ignore[arg-type]
        return {"type": value.kind, **own}
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, Mapping):
        return {key: _plain(name, entry) for key, entry in value.items()}
    return value


def _default(field: Any) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def known_keys(given: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    """Raises ValueError for a key that is not known, with near ones."""
    for key in given:
        if key not in known:
            raise ValueError(f"{where}: unknown key {key!r}{_near(key, list(known))}")


def _check_lengths(cls: Any, given: Mapping[str, Any], where: str) -> None:
    for field in fields(cls):
        if field.name in LENGTHS and field.name not in given:
            raise ValueError(f"{where}: `{field.name}` is missing")


def _near(name: Any, known: list[str]) -> str:
    near = difflib.get_close_matches(str(name), known, n=2)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else f"; known: {', '.join(known)}"


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool):
        raise ValueError(f"{where}: {value!r} is not a number")
    try:
        return checked_number(value, where)
    except ModelError as error:
        raise ValueError(str(error)) from None
