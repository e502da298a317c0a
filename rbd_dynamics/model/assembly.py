# SPDX-License-Identifier: Apache-2.0
"""Assembles bodies to a checked model: what the builder and the dictionary format share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from rbd_dynamics.common.by_name import unknown
from rbd_dynamics.common.excerpt import LONGEST_NAME, excerpt
from rbd_dynamics.common.real_numbers import real_array, real_number
from rbd_dynamics.model.checks import check_bodies, check_inertials, check_motion
from rbd_dynamics.model.description import Description, Inertial, JointDescription, LinkDescription
from rbd_dynamics.model.drives import Drive
from rbd_dynamics.model.errors import Findings, Inertias, ModelError
from rbd_dynamics.model.joints import JointKind
from rbd_dynamics.model.joints.base import vector_of
from rbd_dynamics.model.joints.consistency import inconsistency
from rbd_dynamics.model.loops import Loop
from rbd_dynamics.model.model import Body, Frame, Joint, Limits, Mimic, Model
from rbd_dynamics.model.passive_forces import Elastic, PassiveForce
from rbd_dynamics.model.physical_inertia import about_com
from rbd_dynamics.model.tree import resolve_mimics
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.se3 import Transform
from rbd_dynamics.spatial.so3 import IDENTITY3

#: how far R^T R may be from the identity
ROTATION_TOLERANCE = 1e-6
#: limits that may not be negative
MAGNITUDES = ("velocity", "effort", "acceleration", "deceleration", "jerk")


def assemble(
    name: str,
    bodies: Sequence[Body],
    frames: Sequence[Frame],
    gravity: tuple[float, float, float],
    base: Literal["fixed", "floating"],
    fixed_inertia: RigidInertia,
    links: Mapping[str, Inertial],
    strict: bool,
    loops: Sequence[Loop] = (),
    inertias: Inertias = "checked",
) -> Model:
    """The model of bodies, parents first, whose joints have no place in q and v yet.

    It goes through the checks of the URDF reader (`load_urdf` on `strict` and `inertias`). links: the inertias
    that are at fault if a body's is impossible. Raises ModelError, which names the culprit.
    """
    findings = Findings(strict, inertias)
    joints = [body.joint for body in bodies]
    names = [joint.name for joint in joints]
    known = set(names)
    for joint in joints:
        if joint.mimic is not None and joint.mimic.leader not in known:
            hint = unknown("joint", joint.mimic.leader, names)
            raise ModelError(f"joint {joint.name!r} mimics an unknown one: {hint}")
    known = {frame.name for frame in frames}
    for joint in joints:
        if joint.drive is not None and joint.drive.rotor_frame not in {None, *known}:
            hint = unknown("frame", str(joint.drive.rotor_frame), list(known))
            raise ModelError(f"joint {joint.name!r}: rotor_frame: {hint}")
    description = Description(
        name,
        [LinkDescription(link, inertial) for link, inertial in links.items()],
        [JointDescription(joint.name, joint.kind.name, "", joint.name, mimic=joint.mimic) for joint in joints],
    )
    for joint in joints:
        where = f"joint {joint.name!r}: {type(joint.kind).__qualname__}"
        try:
            wrong = inconsistency(joint.kind, joint.limits.lower, joint.limits.upper)
        except ModelError as error:
            raise ModelError(f"{where}: {error}") from error.__cause__
        if wrong:
            raise ModelError(f"{where}: {wrong}")
    mimics = resolve_mimics(description, findings, {joint.name for joint in joints if joint.kind.is_coordinate})
    check_inertials(description, findings)
    findings.raise_errors()
    model = Model(
        name,
        _numbered(bodies, mimics),
        frames=tuple(frames),
        gravity=gravity,
        base=base,
        fixed_inertia=fixed_inertia,
        loops=tuple(loops),
    )
    check_bodies(model, links, findings)
    check_motion(model, findings)
    findings.raise_errors()
    findings.warn_of_defects(stacklevel=4)
    return model


def _numbered(bodies: Sequence[Body], mimics: Mapping[str, Mimic]) -> tuple[Body, ...]:
    """The bodies with places in q and v one after the other; a mimic has its leader's."""
    places: dict[str, tuple[int, int]] = {}
    nq = nv = 0
    for joint in (body.joint for body in bodies):
        if joint.mimic is None:
            places[joint.name] = (nq, nv)
            nq, nv = nq + joint.kind.nq, nv + joint.kind.nv
    found = []
    for body in bodies:
        mimic = mimics.get(body.joint.name)
        q_index, v_index = places[mimic.leader if mimic else body.joint.name]
        found.append(replace(body, joint=replace(body.joint, q_index=q_index, v_index=v_index, mimic=mimic)))
    return tuple(found)


def inertial_of(inertia: RigidInertia) -> Inertial:
    """The inertia as a URDF has it: about the centre of mass."""
    mass = inertia.mass
    x, y, z = (entry / mass for entry in inertia.moment) if mass else (0.0, 0.0, 0.0)
    return Inertial(mass, (x, y, z), about_com(inertia))


# --- checked parts; `where` names the culprit in errors -------------------------------------------


def checked_name(value: Any, where: str) -> str:
    """A text that is not empty, nor so long that it is no name."""
    if not isinstance(value, str) or not value or len(value) > LONGEST_NAME:
        raise ModelError(f"{where}: {excerpt(value)} is not a name")
    return value


def checked_number(value: Any, where: str, infinite: bool = False) -> float:
    """A finite number, or an infinite one where that is allowed."""
    try:
        number = real_number(value)
    except ValueError as error:
        raise ModelError(f"{where}: {excerpt(value)} {error}") from None
    if math.isnan(number) or (math.isinf(number) and not infinite):
        raise ModelError(f"{where}: {excerpt(value)} is not finite")
    return number


def checked_vector(value: Any, size: int, where: str) -> tuple[float, ...]:
    """Finite numbers."""
    return vector_of(value, size, f"{where}:")


def checked_joint(
    name: str,
    kind: Any,
    limits: Limits,
    damping: Any,
    friction: Any,
    armature: Any,
    mimic: Mimic | None,
    passive: Sequence[Any] = (),
    drive: Drive | None = None,
) -> Joint:
    """A joint without a place in q and v."""
    where = f"joint {name!r}"
    parts = ("limits", limits, Limits), ("mimic", mimic, Mimic), ("drive", drive, Drive)
    for what, given, of in parts:
        if not isinstance(given, of) and (given is not None or of is Limits):
            raise ModelError(f"{where}: {what} {excerpt(given)} are no {of.__name__}")
    if not isinstance(passive, Sequence) or isinstance(passive, str):
        raise ModelError(f"{where}: passive: expected a list of passive forces, not {excerpt(passive)}")
    if not isinstance(kind, JointKind):
        raise ModelError(f"{where}: {excerpt(kind)} is not a joint kind, as in Revolute((0, 0, 1))")
    limits = Limits(
        **{
            each.name: checked_number(getattr(limits, each.name), f"{where}: limit {each.name}", infinite=True)
            for each in fields(Limits)
        }
    )
    if limits.lower > limits.upper:
        raise ModelError(f"{where} has limits lower={limits.lower:g} > upper={limits.upper:g}")
    own = {f"{key} limit": getattr(limits, key) for key in MAGNITUDES}
    own |= {
        what: checked_number(value, f"{where}: {what}")
        for what, value in (("damping", damping), ("friction", friction), ("armature", armature))
    }
    for what, value in own.items():
        if value < 0.0:
            raise ModelError(f"{where} has the negative {what} {value:g}")
    if drive is not None and not (kind.nv == 1 and kind.velocity_is_rate):
        raise ModelError(
            f"{where} is {kind.name}: a drive moves joints with one coordinate, whose rate is the velocity"
        )
    if mimic is not None:
        leader = checked_name(mimic.leader, f"{where}: mimic")
        multiplier = checked_number(mimic.multiplier, f"{where}: mimic multiplier")
        mimic = Mimic(leader, multiplier=multiplier, offset=checked_number(mimic.offset, f"{where}: mimic offset"))
    for force in passive:
        if not isinstance(force, PassiveForce):
            raise ModelError(f"{where}: {excerpt(force)} is not a passive force, as in Spring(100.0)")
        if isinstance(force, Elastic) and not kind.velocity_is_rate:
            raise ModelError(
                f"{where} is {kind.name}: a {force.name} needs a velocity that is the rate of the position"
            )
    return Joint(
        name,
        kind,
        0,
        0,
        limits=limits,
        damping=own["damping"],
        friction=own["friction"],
        armature=own["armature"],
        mimic=mimic,
        passive=tuple(passive),
        drive=drive,
    )


def checked_pose(value: Any, where: str) -> Transform:
    """A pose from a `Transform`, a position (3,) or a homogeneous matrix (4, 4)."""
    if isinstance(value, Transform):
        factors = tuple(checked_rotation(factor, where) for factor in value.factors)
        x, y, z = checked_vector(value.p, 3, where)
        return Transform(factors, (x, y, z))
    try:
        array = real_array(value, where)
    except ValueError as error:
        raise ModelError(str(error)) from None
    if array.shape == (3,):
        x, y, z = checked_vector(array.tolist(), 3, where)
        return Transform((), (x, y, z))
    if array.shape != (4, 4) or not np.array_equal(array[3], (0.0, 0.0, 0.0, 1.0)):
        raise ModelError(f"{where}: expected a Transform, a position (3,) or a homogeneous matrix (4, 4)")
    rotation = checked_rotation(array[:3, :3].ravel().tolist(), where)
    x, y, z = checked_vector(array[:3, 3].tolist(), 3, where)
    return Transform.of(rotation, (x, y, z))


def checked_rotation(value: Any, where: str) -> tuple[float, ...]:
    """Nine entries, row by row, of a rotation matrix."""
    rotation = checked_vector(value, 9, where)
    if not _rotates(rotation):
        raise ModelError(f"{where}: {np.round(np.reshape(rotation, (3, 3)), 6).tolist()} is not a rotation matrix")
    return rotation


@lru_cache(maxsize=256)  # frames that turn while a controller runs are given to several constraints
def _rotates(entries: tuple[float, ...]) -> bool:
    R = np.reshape(entries, (3, 3))
    with np.errstate(all="ignore"):
        off = np.max(np.abs(R.T @ R - np.reshape(IDENTITY3, (3, 3))))
    return bool(off <= ROTATION_TOLERANCE and np.linalg.det(R) >= 0.0)
