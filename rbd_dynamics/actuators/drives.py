# SPDX-License-Identifier: Apache-2.0
"""Drives of a model's joints, in the form that the algorithms of elastic joints and rotors take."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from rbd_dynamics.algorithms.elastic_joints import Drives, Spring
from rbd_dynamics.algorithms.expansion import expanded
from rbd_dynamics.algorithms.rotors import Rotor
from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.model.drives import Drive
from rbd_dynamics.model.errors import ModelError
from rbd_dynamics.model.model import WORLD, Body, Model
from rbd_dynamics.spatial.so3 import Vec3


def with_drives(
    model: Model, stiffness: Mapping[str, float] | None = None, damping: Mapping[str, float] | None = None
) -> Model:
    """The model with other stiffnesses and dampings, by the names of its joints.

    Raises KeyError, ModelError, TypeError for what is no {joint: number}.
    """
    changes: dict[str, dict[str, float]] = {}
    for key, values in (("stiffness", stiffness), ("damping", damping)):
        if values is not None and not isinstance(values, Mapping):
            raise TypeError(f"{key}: expected {{joint: number}}, not {excerpt(values)}")
        for name, value in (values or {}).items():
            model.joint(name)
            changes.setdefault(name, {})[key] = value
    return replace(model, bodies=tuple(_changed(body, changes.get(body.joint.name)) for body in model.bodies))


def _changed(body: Body, change: Mapping[str, float] | None) -> Body:
    joint = body.joint
    if change is None or joint.mimic is not None:
        return body
    where = f"joint {joint.name!r}"
    if not (joint.kind.nv == 1 and joint.kind.velocity_is_rate):
        raise ModelError(f"{where} is {joint.kind.name}: it cannot be elastic")
    try:
        return replace(body, joint=replace(joint, drive=replace(joint.drive or Drive(), **change)))  # type: ignore[arg-type]
    except ModelError as error:
        raise ModelError(f"{where}: {error}") from None


def link_side(model: Model) -> Model:
    """The model without the rotors behind its elastic joints. Raises ModelError that names a joint."""
    bodies = []
    for body in model.bodies:
        joint = body.joint
        if is_elastic(body):
            if joint.mimic is not None:
                raise ModelError(f"joint {joint.name!r} mimics {joint.mimic.leader!r} and cannot be elastic")
            if joint.armature <= 0.0:
                raise ModelError(f"joint {joint.name!r} is elastic and has no rotor inertia: give it an armature")
            body = replace(body, joint=replace(joint, armature=0.0))
        bodies.append(body)
    return replace(model, bodies=tuple(bodies))


def is_elastic(body: Body) -> bool:
    """Whether there is a spring between its joint and the motor."""
    drive = body.joint.drive
    return drive is not None and drive.stiffness < math.inf


def drives_of(model: Model, *, gyroscopics: bool) -> Drives:
    """Springs in the order of v, and with `gyroscopics` all rotors that have inertia and a gear, or an axis.

    Raises ModelError that names the joint for a rotor without a place or an axis.
    """
    springs: list[Spring] = []
    elastic: list[Rotor] = []
    rigid: list[Rotor] = []
    for body in sorted(model.bodies, key=lambda each: each.joint.v_index):
        joint, drive = body.joint, body.joint.drive
        if drive is None:
            continue
        if is_elastic(body):
            springs.append(Spring(joint.v_index, joint.q_index, drive.stiffness, drive.damping, joint.armature))
        if gyroscopics and joint.armature > 0.0:
            (elastic if is_elastic(body) else rigid).append(_rotor(model, body, drive))
    return Drives(tuple(springs), tuple(elastic), tuple(rigid))


def _rotor(model: Model, body: Body, drive: Drive) -> Rotor:
    """The rotor, placed in the expanded tree that the algorithms see."""
    joint = body.joint
    carrier, axis = body.parent, drive.rotor_axis
    if drive.rotor_frame is not None:
        try:
            frame = model.frame(drive.rotor_frame)
        except KeyError as error:
            raise ModelError(f"joint {joint.name!r}: rotor_frame: {error.args[0]}") from None
        assert axis is not None  # a Drive sees to it
        carrier, axis = frame.body, frame.placement.rotate(axis)
    else:
        axis = body.placement.rotate(axis or _own_axis(body))
    multiplier = joint.mimic.multiplier if joint.mimic else 1.0
    place = WORLD if carrier == WORLD else expanded(model).bodies[carrier]
    inertia = joint.armature / (drive.gear_ratio * drive.gear_ratio)
    return Rotor(joint.v_index, place, axis, drive.gear_ratio * multiplier, inertia)


def _own_axis(body: Body) -> Vec3:
    """Axis about which the joint turns, or along which it slides, at zero, in its frame."""
    column = body.joint.kind.columns(body.joint.kind.neutral().tolist())[0]
    for x, y, z in (column[:3], column[3:]):
        length = math.hypot(x, y, z)
        if length > 1e-9:
            return x / length, y / length, z / length
    raise ModelError(f"joint {body.joint.name!r} does not move where it is at zero: give its drive a rotor_axis")
