# SPDX-License-Identifier: Apache-2.0
"""Writes a `Model` as an MJCF of which MuJoCo, and `load`, make the same dynamics.

A body's frame is its joint's, at the position zero, so that joints are at the body's origin. Other frames are sites.
"""

from __future__ import annotations

import importlib.util
import math
import os
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from rbd_dynamics.formats.changes import tell, tell_of_joints, tell_of_limits, tell_of_names
from rbd_dynamics.formats.shapes_written import WrittenShapes
from rbd_dynamics.formats.writing import LinkNames, depth_first, document, fixed_frames, is_free, spring_of
from rbd_dynamics.formats.writing import text_of as text
from rbd_dynamics.model.assembly import inertial_of
from rbd_dynamics.model.errors import ModelError
from rbd_dynamics.model.joints import Floating, Helical, JointKind, Prismatic, Revolute, Screw, Spherical
from rbd_dynamics.model.joints.chains import CoordinateChain
from rbd_dynamics.model.loops import Loop
from rbd_dynamics.model.model import WORLD, Joint, Model
from rbd_dynamics.model.passive_forces import PolynomialDamping, PolynomialSpring
from rbd_dynamics.model.physical_inertia import principal_moments
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.quaternions import quaternion_from_rotation
from rbd_dynamics.spatial.se3 import IDENTITY, Transform
from rbd_dynamics.spatial.so3 import Vec3, cross, dot3

_A_FILE = "an MJCF"
#: mass and moments of inertia from which on MuJoCo lets a body move
LEAST = 1e-15
#: what stands for no limit on one side, where there is one on the other
UNLIMITED = 1e16
#: of a polynomial, the linear one first; the version of MuJoCo that reads more than that one
MOST_COEFFICIENTS, POLYNOMIALS_SINCE = 3, "3.7"
_OTHER_AXES = "which acts along the world's axes in MuJoCo"
_HELD = {"spherical": "connect", "fixed": "weld"}


def write_mjcf(model: Model, path: str | os.PathLike[str], *, shapes: bool = True) -> None:
    """Write a model to an MJCF file, as `model_to_mjcf` has it. Raises ModelError, OSError."""
    Path(path).write_text(model_to_mjcf(model, shapes=shapes), encoding="utf-8")


def model_to_mjcf(model: Model, *, shapes: bool = True) -> str:
    """The text of an MJCF, of which MuJoCo and `load` make the same dynamics (docs/model_format.md).

    Joints come depth first; those with several axes, as a universal one, become several hinges and slides, named with
    "_1", "_2" and so on; those that are fixed become sites of their names. Each hinge and slide with an effort
    limit gets a motor, mimic joints an equality, loops of spherical joints a connect and those of fixed ones a weld.
    Springs and damping may be polynomials of up to three coefficients, which MuJoCo reads since 3.7.

    Raises ModelError, which names the culprit, for what MJCF cannot say or MuJoCo refuses: joints with pitches, cams
    and planes, floating joints on other bodies, passive forces other than these, polynomials where an older MuJoCo is
    installed, loops of other kinds, links that move without mass, inertias that no rigid body has. A ModelWarning tells
    of names and an order of joints that are not the model's, and of what is left out: limits of velocity, acceleration
    and jerk, position limits of joints without one coordinate, effort limits of these, of followers and of zero, gears
    and elasticity of drives, friction or rotors of a floating base, shapes that MuJoCo does not read.

    shapes: with those of the file that the model was read from, if it is there.
    """
    _check_polynomials(model)
    looks = WrittenShapes(model, wanted=shapes)
    root = ET.Element("mujoco", model=model.name)
    ET.SubElement(root, "compiler", angle="radian")
    ET.SubElement(root, "option", gravity=text(model.gravity))
    names, order = LinkNames(model, "world_link", reserved="world"), depth_first(model)
    assets = ET.SubElement(root, "asset")
    world = ET.SubElement(root, "worldbody")
    elements = {WORLD: _fixed(world, model, names)}
    looks.add_to_mjcf_body(elements[WORLD], assets, WORLD)
    actuators, equalities = ET.Element("actuator"), ET.Element("equality")
    for index in order:
        body = model.bodies[index]
        element = ET.SubElement(elements[body.parent], "body", name=names.links[index])
        free = is_free(body)
        if isinstance(body.joint.kind, Floating) and not free:
            raise ModelError(f"joint {body.joint.name!r} floats on another body or a placement, which no MJCF says")
        _place(element, body.placement)
        _inertial(element, body.inertia, names.links[index])
        _joint(element, body.joint, actuators, equalities)
        _sites(element, model, names, index)
        looks.add_to_mjcf_body(element, assets, index)
        elements[index] = element
    for loop in model.loops:
        _loop(elements, equalities, model, loop)
    for part in (equalities, actuators):
        if len(part):
            root.append(part)
    if not len(assets):
        root.remove(assets)
    called = {body.joint.name: [part.name for part in _parts(body.joint)] for body in model.bodies}
    parted = {name: f"is written as {' and '.join(map(repr, parts))}" for name, parts in called.items() if parts[1:]}
    tell_of_names(model, order, names, _A_FILE, joints=parted)
    _tell_what_is_left_out(model)
    looks.tell()
    return document(root)


def _fixed(world: ET.Element, model: Model, names: LinkNames) -> ET.Element:
    """What is fixed to the world; MuJoCo's world has no inertia, so there is a body for it."""
    if model.fixed_inertia == RigidInertia():
        if names.root in model.frame_names:
            ET.SubElement(world, "site", name=names.root)
        _sites(world, model, names, WORLD)
        return world
    element = ET.SubElement(world, "body", name=names.root)
    _inertial(element, model.fixed_inertia, names.root)
    _sites(element, model, names, WORLD)
    return element


def _sites(element: ET.Element, model: Model, names: LinkNames, index: int) -> None:
    """The frames of a body, or of the world, but for its own."""
    for link in fixed_frames(model, names, index):
        if link.name != "world":
            _place(ET.SubElement(element, "site", name=link.name), link.placement)


def _place(element: ET.Element, placement: Transform) -> None:
    if any(placement.p):
        element.set("pos", text(placement.p))
    if placement.factors:
        x, y, z, w = quaternion_from_rotation(placement.rotation)
        element.set("quat", text((w, x, y, z)))


def _inertial(element: ET.Element, inertia: RigidInertia, name: str) -> None:
    about = inertial_of(inertia)
    xx, xy, xz, yy, yz, zz = about.rotational
    p1, p2, p3 = principal_moments([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]).tolist()
    if not (about.mass > LEAST and p1 > LEAST):
        raise ModelError(f"link {name!r} moves and has no mass or no inertia in some direction, which MuJoCo refuses")
    if p1 + p2 < p3 * (1.0 - 1e-12):
        raise ModelError(
            f"link {name!r} has the principal moments {p1:.4g}, {p2:.4g}, {p3:.4g}, of which the largest is more than "
            "the sum of the others: MuJoCo refuses it"
        )
    ET.SubElement(
        element, "inertial", pos=text(about.com), mass=text([about.mass]), fullinertia=text((xx, yy, zz, xy, xz, yz))
    )


class _Part(NamedTuple):
    """One of MuJoCo's joints; axis and anchor in the body's frame."""

    name: str
    type: str
    axis: Vec3 | None = None
    anchor: Vec3 = (0.0, 0.0, 0.0)


def _parts(joint: Joint) -> list[_Part]:
    """MuJoCo's joints that this one is, the outermost first."""
    kind = joint.kind
    if isinstance(kind, (Spherical, Floating)):
        return [_Part(joint.name, "ball" if isinstance(kind, Spherical) else "free")]
    chain = kind.as_chain() if isinstance(kind, CoordinateChain) else (kind,)
    if not all(isinstance(each, (Revolute, Prismatic, Helical, Screw)) for each in chain):
        raise ModelError(f"joint {joint.name!r} is {kind.name}, which no MJCF joint is")
    names = [joint.name] if len(chain) == 1 else [f"{joint.name}_{k}" for k in range(1, len(chain) + 1)]
    return [_single(name, each, joint) for name, each in zip(names, chain)]


def _single(name: str, kind: JointKind, joint: Joint) -> _Part:
    """A motion along one screw, which has to be a rotation or a translation."""
    (twist,) = kind.columns([0.0])
    w, v = twist[:3], twist[3:]
    if not any(w):
        return _Part(name, "slide", v)
    if abs(dot3(w, v)) > 1e-15 * math.hypot(*v):
        raise ModelError(f"joint {joint.name!r} is {joint.kind.name} with a pitch, which no MJCF joint has")
    return _Part(name, "hinge", w, cross(w, v))


def _joint(body: ET.Element, joint: Joint, actuators: ET.Element, equalities: ET.Element) -> None:
    limits, spring, damping = joint.limits, _spring(joint), _damping(joint)
    for name, kind, axis, anchor in _parts(joint):
        element = ET.SubElement(body, "joint", name=name, type=kind)
        if any(damping):
            element.set("damping", text(damping))
        for key, value in (("frictionloss", joint.friction), ("armature", joint.armature)):
            if value and kind != "free":
                element.set(key, text([value]))
        if kind == "free" and len(damping) > 1:
            raise ModelError(f"joint {joint.name!r} floats and has a polynomial damping, {_OTHER_AXES}")
        if spring is not None:
            if axis is None:
                raise ModelError(f"joint {joint.name!r} is {joint.kind.name} and has a spring, which no MJCF can say")
            element.attrib.update(stiffness=text(spring.coefficients), springref=text([spring.rest]))
        if axis is None:
            continue
        element.set("axis", text(axis))
        if any(anchor):
            element.set("pos", text(anchor))
        if _is_bounded(joint) and limits.lower < limits.upper:
            bounds = max(limits.lower, -UNLIMITED), min(limits.upper, UNLIMITED)
            element.attrib.update(limited="true", range=text(bounds))
        if math.isfinite(limits.effort) and limits.effort > 0.0 and joint.mimic is None:
            largest = text((-limits.effort, limits.effort))
            element.attrib.update(actuatorfrclimited="true", actuatorfrcrange=largest)
            ET.SubElement(actuators, "motor", name=name, joint=name, ctrllimited="true", ctrlrange=largest)
    if joint.mimic is not None:
        law = text((joint.mimic.offset, joint.mimic.multiplier, 0.0, 0.0, 0.0))
        ET.SubElement(equalities, "joint", joint1=joint.name, joint2=joint.mimic.leader, polycoef=law)


def _spring(joint: Joint) -> PolynomialSpring | None:
    """The one spring of a joint, with as many coefficients as it needs."""
    own = [force for force in joint.passive if isinstance(force, PolynomialSpring)]
    others = tuple(force for force in joint.passive if not isinstance(force, (PolynomialSpring, PolynomialDamping)))
    plain = spring_of(replace(joint, passive=others), _A_FILE)
    if plain is not None:
        own.append(PolynomialSpring((plain.stiffness,), rest=plain.rest))
    if len(own) > 1:
        raise ModelError(f"joint {joint.name!r} has {len(own)} springs, of which an MJCF can say one")
    return replace(own[0], coefficients=_coefficients(joint, own[0].coefficients)) if own else None


def _damping(joint: Joint) -> tuple[float, ...]:
    """The coefficients of all dampings of a joint together."""
    forces = [force.coefficients for force in joint.passive if isinstance(force, PolynomialDamping)]
    total = (math.fsum(each) for each in zip_longest((joint.damping,), *forces, fillvalue=0.0))
    return _coefficients(joint, tuple(total))


def _coefficients(joint: Joint, given: tuple[float, ...]) -> tuple[float, ...]:
    """Those of a polynomial, up to the last one that is not zero."""
    count = max((k for k, value in enumerate(given, start=1) if value), default=1)
    if count > MOST_COEFFICIENTS:
        told = f"MuJoCo knows {MOST_COEFFICIENTS}"
        raise ModelError(f"joint {joint.name!r} has a spring or damping of {count} coefficients, {told}")
    return given[:count]


def _check_polynomials(model: Model) -> None:
    """Raise ModelError where the MuJoCo that is installed refuses polynomials; where none is, say who reads them."""
    joints = [body.joint for body in model.bodies]
    names = [joint.name for joint in joints if any(len(force) > 1 for force in (_damping(joint), _stiffness(joint)))]
    if not names:
        return
    told = f"joint {names[0]!r} has a polynomial spring or damping, which MuJoCo reads since {POLYNOMIALS_SINCE}"
    if importlib.util.find_spec("mujoco") is None:
        tell(told)
        return
    import mujoco

    if not hasattr(mujoco.MjModel, "jnt_stiffnesspoly"):
        raise ModelError(f"{told}; {mujoco.__version__} is installed")


def _stiffness(joint: Joint) -> tuple[float, ...]:
    spring = _spring(joint)
    return () if spring is None else spring.coefficients


def _loop(elements: dict[int, ET.Element], equalities: ET.Element, model: Model, loop: Loop) -> None:
    """Two sites that are held together, the first the reference."""
    kind = _HELD.get(loop.joint_type or "")
    if kind is None:
        raise ModelError(f"loop {loop.name!r} holds {', '.join(loop.directions)}, which no equality of an MJCF does")
    ends = {}
    for k, (name, placement) in enumerate(
        ((loop.reference, loop.reference_placement), (loop.frame, loop.placement)), start=1
    ):
        frame = None if name == "world" and "world" not in model.frame_names else model.frame(name)
        carrier, pose = (WORLD, IDENTITY) if frame is None else (frame.body, frame.placement)
        ends[f"site{k}"] = f"{loop.name}/{k}"
        _place(ET.SubElement(elements[carrier], "site", name=ends[f"site{k}"]), pose @ placement)
    ET.SubElement(equalities, kind, {"name": loop.name} | ends)


def _is_bounded(joint: Joint) -> bool:
    return math.isfinite(joint.limits.lower) or math.isfinite(joint.limits.upper)


def _tell_what_is_left_out(model: Model) -> None:
    joints = [body.joint for body in model.bodies]
    bounded = [j for j in joints if _is_bounded(j) and (j.kind.quaternion or j.limits.lower >= j.limits.upper)]
    weak = [j for j in joints if j.limits.effort <= 0.0 or j.mimic is not None or j.kind.quaternion is not None]
    resisted = [j for j in joints if isinstance(j.kind, Floating) and (j.friction or j.armature)]
    tell_of_limits(joints, ("velocity",), "velocity limits", _A_FILE)
    tell_of_limits(joints, ("acceleration", "deceleration", "jerk"), "limits of acceleration and jerk", _A_FILE)
    tell_of_limits(weak, ("effort",), "effort limits of 0, and of what follows, floats or is a ball,", _A_FILE)
    for told, what in (
        (bounded, "position limits of a quaternion, or without a span, are left out"),
        ([j for j in joints if j.drive is not None], "a gear or its elasticity is left out"),
        (resisted, "friction or a rotor of a floating base is left out"),
    ):
        tell_of_joints([joint.name for joint in told], what, _A_FILE)
