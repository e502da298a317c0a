# SPDX-License-Identifier: Apache-2.0
"""Models as plain dictionaries and YAML files, without loss; docs/model_format.md describes the format.

A dictionary holds only texts, numbers, lists and dictionaries, so it is also good for JSON.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml

from rbd_dynamics.common.by_name import unknown
from rbd_dynamics.common.excerpt import excerpt, shortened
from rbd_dynamics.common.safe_yaml import LARGE, YamlError, read_file, read_text
from rbd_dynamics.model.assembly import (
    assemble,
    checked_joint,
    checked_name,
    checked_number,
    checked_rotation,
    checked_vector,
    inertial_of,
)
from rbd_dynamics.model.drives import Drive
from rbd_dynamics.model.errors import Inertias, ModelError
from rbd_dynamics.model.joints import JointKind
from rbd_dynamics.model.loops import DIRECTIONS, Loop
from rbd_dynamics.model.model import WORLD, Body, Frame, Joint, Limits, Mimic, Model
from rbd_dynamics.model.passive_forces import PassiveForce
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.se3 import IDENTITY, Transform
from rbd_dynamics.spatial.so3 import rotation_from_quaternion, rotation_from_rpy

FORMAT = "rbd_dynamics model"
VERSION = 1

#: how far from 1 the norm of a quaternion may be; it is normalised
QUATERNION_TOLERANCE = 1e-2

_JOINT_NUMBERS = ("damping", "friction", "armature")
_LIMITS = tuple(each.name for each in fields(Limits))
# the safe one, in C where PyYAML has it
_Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_HEADER = "# A robot model of rbd_dynamics; docs/model_format.md describes the format. SI units, rad.\n"


# --- YAML -----------------------------------------------------------------------------------------


def save_yaml(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model to a YAML file, from which `load_yaml` makes an equal one."""
    Path(path).write_text(to_yaml(model), encoding="utf-8")


def to_yaml(model: Model) -> str:
    """The model as YAML text."""
    data, style = model_to_dict(model), {"default_flow_style": None, "width": 120}
    text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, **style)
    return _HEADER + text


def load_yaml(source: str | os.PathLike[str], *, strict: bool = False, inertias: Inertias = "checked") -> Model:
    """Make a model of a YAML file (a path, or the text itself); `strict` and `inertias` as for `load_urdf`.

    Raises ModelError, which names the line or the culprit.
    """
    is_text = isinstance(source, str) and "\n" in source
    where = "YAML text" if is_text else f"file {shortened(os.fsdecode(source), 200)}"
    try:
        data = read_text(str(source), where, LARGE) if is_text else read_file(source, where, LARGE)
    except YamlError as error:
        raise ModelError(str(error)) from None
    if not isinstance(data, dict):
        raise ModelError(f"{where} holds no model: neither XML, which begins with <, nor YAML with `format: {FORMAT}`")
    return model_from_dict(data, strict=strict, inertias=inertias)


# --- to a dictionary ------------------------------------------------------------------------------


def model_to_dict(model: Model) -> dict[str, Any]:
    """Everything about a model; `model_from_dict` makes an equal one of it.

    Raises ModelError for a model with two bodies of the same name.
    """
    names = model.body_names
    for name, count in Counter(names).items():
        if count > 1:
            raise ModelError(f"body {name!r} is given twice")

    def body_name(index: int) -> str | None:
        return None if index == WORLD else names[index]

    data: dict[str, Any] = {"format": FORMAT, "version": VERSION, "name": model.name, "base": model.base}
    data["gravity"] = _floats(model.gravity)
    data["bodies"] = [
        {
            "name": body.name,
            "parent": body_name(body.parent),
            "joint": joint_to_dict(body.joint),
            **_pose_dict(body.placement),
            "inertia": _inertia_dict(body.inertia),
        }
        for body in model.bodies
    ]
    if model.fixed_inertia != RigidInertia():
        data["fixed_inertia"] = _inertia_dict(model.fixed_inertia)
    data["frames"] = [
        {"name": frame.name, "body": body_name(frame.body), "kind": frame.element, **_pose_dict(frame.placement)}
        for frame in model.frames
    ]
    if model.loops:
        data["loops"] = [
            {
                "name": loop.name,
                "frame": loop.frame,
                "reference": loop.reference,
                **_pose_dict(loop.placement),
                **_pose_dict(loop.reference_placement, "reference_placement"),
                "directions": list(loop.directions),
                **({} if loop.pitch is None else {"pitch": loop.pitch}),
            }
            for loop in model.loops
        ]
    return data


def joint_to_dict(joint: Joint) -> dict[str, Any]:
    data: dict[str, Any] = {"name": joint.name, **joint.kind.to_dict()}
    limits = {key: float(getattr(joint.limits, key)) for key in _LIMITS}
    limits = {key: value for key, value in limits.items() if value != getattr(Limits(), key)}
    if limits:
        data["limits"] = limits
    data |= {key: float(getattr(joint, key)) for key in _JOINT_NUMBERS if getattr(joint, key) != 0.0}
    if joint.passive:
        data["passive"] = [force.to_dict() for force in joint.passive]
    if joint.drive is not None:
        data["drive"] = joint.drive.to_dict()
    if joint.mimic is not None:
        multiplier, offset = float(joint.mimic.multiplier), float(joint.mimic.offset)
        data["mimic"] = {"leader": joint.mimic.leader, "multiplier": multiplier, "offset": offset}
    return data


def _pose_dict(pose: Transform, key: str = "placement") -> dict[str, Any]:
    """{} for the identity; {key: position, rotation as three rows, several of them to be multiplied}."""
    data: dict[str, Any] = {}
    if any(pose.p):
        data["position"] = _floats(pose.p)
    rows = [[_floats(factor[k : k + 3]) for k in (0, 3, 6)] for factor in pose.factors]
    if rows:
        data["rotation"] = rows[0] if len(rows) == 1 else rows
    return {key: data} if data else {}


def _inertia_dict(inertia: RigidInertia) -> dict[str, Any]:
    return {
        "mass": float(inertia.mass),
        "first_moment": _floats(inertia.moment),
        "inertia_at_origin": _floats(inertia.rotational),
    }


def _floats(numbers: Sequence[Any]) -> list[float]:
    return [float(x) for x in numbers]


# --- from a dictionary ----------------------------------------------------------------------------


def model_from_dict(data: Mapping[str, Any], *, strict: bool = False, inertias: Inertias = "checked") -> Model:
    """The model that a dictionary describes, after the same checks as a URDF's; options as for `load_urdf`.

    Raises ModelError, which names the body, joint or frame that is wrong.
    """
    top = _Entry(data, "model")
    if top.get("format") != FORMAT:
        raise ModelError(f"model: format is {excerpt(top.get('format'))}, expected {FORMAT!r}")
    if top.get("version") != VERSION:
        raise ModelError(f"model: version is {excerpt(top.get('version'))}, this program reads {VERSION}")
    top.only("format", "version", "name", "base", "gravity", "bodies", "frames", "fixed_inertia", "loops")
    base = top.get("base", "fixed")
    if base not in ("fixed", "floating"):
        raise ModelError(f"model: base {excerpt(base)} is neither 'fixed' nor 'floating'")
    gravity = checked_vector(top.get("gravity", (0.0, 0.0, -9.81)), 3, "gravity")

    bodies: list[Body] = []
    places: dict[str, int] = {}
    joint_names: set[str] = set()
    for number, item in enumerate(top.items("bodies")):
        entry = _Entry(item, f"body number {number + 1}")
        name = checked_name(entry.get("name"), entry.where)
        entry = _Entry(item, f"body {name!r}").only("name", "parent", "joint", "placement", "inertia")
        if name in places:
            raise ModelError(f"{entry.where} is given twice")
        joint = _joint(_Entry(entry.get("joint"), f"{entry.where}: joint"))
        if joint.name in joint_names:
            raise ModelError(f"joint {joint.name!r} is given twice")
        parent = _body(entry.get("parent"), places, f"{entry.where}: parent", "parents come first")
        bodies.append(Body(name, parent, _pose(entry), joint, _inertia(entry, "inertia")))
        places[name] = len(places)
        joint_names.add(joint.name)

    if "frames" in top.data:
        frames = [_frame(item, places, number + 1) for number, item in enumerate(top.items("frames"))]
    else:
        frames = [Frame(name, k) for name, k in places.items()]
        frames += [Frame(body.joint.name, k, element="joint") for k, body in enumerate(bodies)]
    return assemble(
        checked_name(top.get("name", "robot"), "model"),
        bodies,
        frames,
        (gravity[0], gravity[1], gravity[2]),
        base,
        _inertia(top, "fixed_inertia"),
        {body.name: inertial_of(body.inertia) for body in bodies},
        strict,
        [_loop(item, {frame.name for frame in frames}, number + 1) for number, item in enumerate(top.items("loops"))],
        inertias,
    )


class _Entry:
    """A dictionary inside the file; `where` names it in errors."""

    def __init__(self, data: Any, where: str) -> None:
        if not isinstance(data, Mapping):
            raise ModelError(f"{where}: expected keys and values, not {excerpt(data)}")
        self.data, self.where = data, where

    def get(self, key: str, default: Any = None) -> Any:
        return self.data.get(key, default)

    def items(self, key: str) -> Sequence[Any]:
        value = self.get(key) or ()
        if not isinstance(value, (list, tuple)):
            raise ModelError(f"{self.where}: {key}: expected a list, not {excerpt(value)}")
        return value

    def part(self, key: str) -> _Entry:
        return _Entry(self.get(key) or {}, f"{self.where}: {key}")

    def only(self, *known: str) -> _Entry:
        """Raise for a key that means nothing here."""
        for key in self.data:
            if key not in known:
                raise ModelError(f"{self.where}: {unknown('key', str(key), known)}")
        return self


def _body(name: Any, places: Mapping[str, int], where: str, hint: str = "") -> int:
    """Index of a body by its name, None being the world."""
    if name is None:
        return WORLD
    if not isinstance(name, str):
        raise ModelError(f"{where}: expected the name of a body, got {excerpt(name)}")
    if name not in places:
        found = unknown("body", str(name), list(places))
        raise ModelError(f"{where}: {found}" + (f" ({hint})" if hint else ""))
    return places[name]


def _joint(entry: _Entry) -> Joint:
    name = checked_name(entry.get("name"), entry.where)
    entry = _Entry(entry.data, f"joint {name!r}")
    own = {"name", "limits", "mimic", "passive", "drive", *_JOINT_NUMBERS}
    try:
        kind = JointKind.from_dict({key: value for key, value in entry.data.items() if key not in own})
    except ModelError as error:
        raise ModelError(f"{entry.where}: {error}") from None
    limits = entry.part("limits").only(*_LIMITS)
    mimic = None
    if entry.get("mimic") is not None:
        follows = entry.part("mimic").only("leader", "multiplier", "offset")
        mimic = Mimic(
            follows.get("leader"), multiplier=follows.get("multiplier", 1.0), offset=follows.get("offset", 0.0)
        )
    damping, friction, armature = (entry.get(key, 0.0) for key in _JOINT_NUMBERS)
    passive = [PassiveForce.from_dict(item, where=f"{entry.where}: passive") for item in entry.items("passive")]
    drive = None
    if entry.get("drive") is not None:
        drive = Drive.from_dict(entry.get("drive"), where=f"{entry.where}: drive")
    return checked_joint(name, kind, Limits(**limits.data), damping, friction, armature, mimic, passive, drive)


def _frame(item: Any, places: Mapping[str, int], number: int) -> Frame:
    entry = _Entry(item, f"frame number {number}").only("name", "body", "kind", "placement")
    name = checked_name(entry.get("name"), entry.where)
    entry.where = f"frame {name!r}"
    element = entry.get("kind", "link")
    if element not in ("link", "joint"):
        raise ModelError(f"{entry.where}: kind {excerpt(element)} is neither 'link' nor 'joint'")
    return Frame(
        name, _body(entry.get("body"), places, f"{entry.where}: body"), placement=_pose(entry), element=element
    )


def _loop(item: Any, frames: Collection[str], number: int) -> Loop:
    entry = _Entry(item, f"loop number {number}")
    entry.only("name", "frame", "reference", "placement", "reference_placement", "directions", "pitch")
    entry.where = f"loop {checked_name(entry.get('name'), entry.where)!r}"
    ends = {key: checked_name(entry.get(key, "world"), f"{entry.where}: {key}") for key in ("frame", "reference")}
    for key, name in ends.items():
        if name not in frames and name != "world":
            raise ModelError(f"{entry.where}: {key}: {unknown('frame', name, list(frames))}")
    placed, at = _pose(entry), _pose(entry, "reference_placement")
    directions = tuple(map(str, entry.items("directions"))) or DIRECTIONS
    pitch = None if entry.get("pitch") is None else checked_number(entry.get("pitch"), f"{entry.where}: pitch")
    return Loop(entry.get("name"), **ends, placement=placed, reference_placement=at, directions=directions, pitch=pitch)


def _pose(entry: _Entry, key: str = "placement") -> Transform:
    """A placement: position and one of rotation, rpy or quaternion; the identity where there is none."""
    part = entry.part(key).only("position", "rotation", "rpy", "quaternion")
    given = [key for key in ("rotation", "rpy", "quaternion") if key in part.data]
    if len(given) > 1:
        raise ModelError(f"{part.where}: {given[0]} and {given[1]} both say the rotation")
    factors: tuple[tuple[float, ...], ...] = ()
    if given:
        what, value = f"{part.where}: {given[0]}", part.get(given[0])
        if given[0] == "rpy":
            roll, pitch, yaw = checked_vector(value, 3, what)
            factors = (rotation_from_rpy(roll, pitch, yaw),)
        elif given[0] == "quaternion":
            numbers = checked_vector(value, 4, what)
            norm = math.hypot(*numbers)
            if abs(norm - 1.0) > QUATERNION_TOLERANCE:
                raise ModelError(f"{what} {excerpt(value)} has norm {norm:.6g}, expected 1")
            x, y, z, w = (number / norm for number in numbers)
            factors = (rotation_from_quaternion((x, y, z, w)),)
        else:
            several = isinstance(value, (list, tuple)) and _depth(value) == 3
            factors = tuple(_rows(matrix, what) for matrix in (value if several else [value]))
    if not factors and "position" not in part.data:
        return IDENTITY
    x, y, z = checked_vector(part.get("position", (0.0, 0.0, 0.0)), 3, f"{part.where}: position")
    return Transform(factors, (x, y, z))


def _rows(matrix: Any, where: str) -> tuple[float, ...]:
    if not isinstance(matrix, (list, tuple)) or len(matrix) != 3:
        raise ModelError(f"{where}: expected three rows of three numbers")
    return checked_rotation([x for row in matrix for x in checked_vector(row, 3, where)], where)


def _depth(value: Any) -> int:
    return 1 + _depth(value[0]) if isinstance(value, (list, tuple)) and value else 0


def _inertia(entry: _Entry, key: str) -> RigidInertia:
    """mass with first_moment and inertia_at_origin, or with com and inertia_at_com; all zero by default."""
    part = entry.part(key).only("mass", "first_moment", "inertia_at_origin", "com", "inertia_at_com")
    at_com, at_origin = ({"com", "inertia_at_com"}, {"first_moment", "inertia_at_origin"})
    if at_com & set(part.data) and at_origin & set(part.data):
        raise ModelError(f"{part.where}: give com and inertia_at_com, or first_moment and inertia_at_origin")

    def numbers(name: str, size: int) -> tuple[float, ...]:
        return checked_vector(part.get(name, (0.0,) * size), size, f"{part.where}: {name}")

    mass = checked_number(part.get("mass", 0.0), f"{part.where}: mass")
    if at_com & set(part.data):
        x, y, z = numbers("com", 3)
        return RigidInertia.from_com(mass, (x, y, z), numbers("inertia_at_com", 6))
    x, y, z = numbers("first_moment", 3)
    return RigidInertia(mass, (x, y, z), numbers("inertia_at_origin", 6))
