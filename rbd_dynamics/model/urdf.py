# SPDX-License-Identifier: Apache-2.0
"""Reads a URDF into a `Model`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.common.by_name import unknown
from rbd_dynamics.common.collector import without_collector
from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.common.real_numbers import real_array
from rbd_dynamics.model import joints as kinds
from rbd_dynamics.model.checks import check_bodies, check_inertials, check_motion
from rbd_dynamics.model.description import Description, JointDescription, read_description, without_rounding
from rbd_dynamics.model.errors import Findings, Inertias, ModelError
from rbd_dynamics.model.joints.base import vector_of
from rbd_dynamics.model.model import WORLD, Body, Frame, Joint, Mimic, Model
from rbd_dynamics.model.tree import check_tree, joints_of, resolve_mimics, root_link
from rbd_dynamics.model.urdf_reading.loops import check_loops
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.se3 import IDENTITY, Transform

ROOT_JOINT = "root_joint"
WORLD_LINK = ""

Array = NDArray[np.float64]
ZERO: Array = np.zeros(1)

_WITH_AXIS: dict[str, type[kinds.Revolute | kinds.Prismatic | kinds.Planar]] = {
    "revolute": kinds.Revolute,
    "continuous": kinds.Continuous,
    "prismatic": kinds.Prismatic,
    "planar": kinds.Planar,
}
_WITHOUT_AXIS: dict[str, type[kinds.JointKind]] = {
    "floating": kinds.Floating,
    "spherical": kinds.Spherical,
}


def load_urdf(
    source: str | os.PathLike[str],
    *,
    base: Literal["fixed", "floating"] = "fixed",
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
    joints: Sequence[str] | None = None,
    locked: Mapping[str, ArrayLike] | None = None,
    strict: bool = False,
    inertias: Inertias = "checked",
) -> Model:
    """Make a model of a URDF.

    Joints come depth first, the branches of a link in file order. Fixed and locked joints merge what
    they connect, so no mass is lost; what ends up fixed to the world is `model.fixed_inertia`.
    Every link and every joint becomes a frame; a joint's frame is that of its child link. A parent
    link "world" that is not declared is the world. `<loop>` elements become `model.loops`. Mimic joints
    follow their leader, through chains; the follower of a locked joint is locked with it.

    Rotor inertia, which URDF has no standard for, is read from `<dynamics damping="0" armature="...">` (as seen
    at the joint; urdfdom refuses the element without damping or friction), from `rotor_inertia` and `gear_ratio`
    of that element, or from a transmission's `rotor_inertia` with `gear_ratio` or `mechanicalReduction` (the names
    that Drake and ROS use).

    Springs are read from `<dynamics spring_stiffness="..." spring_reference="...">`, with SDFormat's names,
    and gears and the elasticity behind them from `drive_stiffness`, `drive_damping`, `gear_ratio`, `rotor_axis` and
    `rotor_frame` of the same element (`rbd_dynamics.Drive`).

    Parameters:
        source: path of a file, or the XML text itself (a `robot_description`).
        base: "floating" adds the floating joint "root_joint" that moves the root link, unless the file has a floating
            joint that carries all that has mass.
        gravity: in the world frame, m/s^2.
        joints: names of the joints to keep free, in the order that q and v shall have (any in which
            a joint comes after those that carry it); all others are locked at zero, wherever their
            limits are. Mimic joints stay with their leaders; "root_joint" stays free and may be left out.
        locked: {joint name: position} of joints to lock, an array for a joint with several numbers.
        strict: raise also for defects that leave a usable model, as some published files have: a
            joint that moves no mass (only forward dynamics needs it to), an inertia with a slip that
            breaks the triangle inequality, a mimic joint whose leader does not exist (it then is a
            joint of its own), something in the file that is not used. Otherwise they are a ModelWarning.
        inertias: "as_given": bodies with inertias that no rigid body has, by far, are no error. A ModelWarning names
            them, and they count as they stand where the mass matrix stays positive definite.

    Raises ModelError, which names the culprit.
    """
    findings = Findings(strict, inertias)
    with without_collector():
        model = checked_model(checked_description(source, findings), findings, base, gravity, joints, locked)
    is_text = isinstance(source, str) and source.lstrip().startswith("<")
    return model if is_text else replace(model, source=os.path.abspath(source))


def checked_model(
    description: Description,
    findings: Findings,
    base: str = "fixed",
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
    joints: Sequence[str] | None = None,
    locked: Mapping[str, ArrayLike] | None = None,
    *,
    stacklevel: int = 4,
) -> Model:
    """The model of a description, whose own findings are in `findings`, or ModelError. Parameters as for `load_urdf`.

    stacklevel: how many calls up a warning points to.
    """
    findings.raise_errors()
    with without_collector():
        model = build_model(description, base, gravity, joints, locked)
        check_bodies(model, {link.name: link.inertial for link in description.links}, findings)
        check_motion(model, findings)
    findings.raise_errors()
    findings.warn_of_defects(stacklevel)
    return model


def checked_description(source: str | os.PathLike[str], findings: Findings) -> Description:
    """Read a URDF and check everything that can be checked before it is a model."""
    with without_collector():
        description = read_description(source, findings)
        check_description(description, findings)
    return description


def check_description(description: Description, findings: Findings) -> None:
    """Everything that can be checked before there is a model."""
    if description.complete:  # else what is missing would only cause errors that follow from it
        check_tree(description, findings)
        resolve_mimics(description, findings)
        check_loops(description.loops, {link.name for link in description.links}, findings)
        check_rotor_frames(description, findings)
    check_inertials(description, findings)


def build_model(
    description: Description,
    base: str = "fixed",
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
    joints: Sequence[str] | None = None,
    locked: Mapping[str, ArrayLike] | None = None,
) -> Model:
    """The model of a description without errors. Parameters as for `load_urdf`."""
    described = _with_base(description, base)
    mimics = resolve_mimics(description, Findings())
    merged = _merge(described, _locks(described, mimics, joints, locked or {}))
    model = _assemble(described, merged, mimics, joints, _gravity(gravity))
    own = _floating_joint(description) if base == "floating" else None
    return replace(model, base="floating") if own in merged.movers else model


def check_rotor_frames(description: Description, findings: Findings) -> None:
    """Links or joints that carry motors are there."""
    names = [*(link.name for link in description.links), *(joint.name for joint in description.joints)]
    for joint in description.joints:
        frame = None if joint.drive is None else joint.drive.rotor_frame
        if frame is not None and frame not in names:
            findings.error(f"joint {joint.name!r}", f"rotor_frame: {unknown('link or joint', frame, names)}")


# --- what is free, what is locked, what follows --------------------------------------------------


def _with_base(description: Description, base: str) -> Description:
    """The description with a joint from the world, which is the link named "", to the root link."""
    if base not in ("fixed", "floating"):
        raise ModelError(f"base {excerpt(base)} is neither 'fixed' nor 'floating'")
    floats = base == "floating" and _floating_joint(description) is not None
    name = ROOT_JOINT if base == "floating" and not floats else ""
    if name and any(joint.name == name for joint in description.joints):
        raise ModelError(f"joint {name!r}: the floating base needs this name for itself")
    root = JointDescription(name, "floating" if name else "fixed", WORLD_LINK, root_link(description))
    return replace(description, joints=[root, *description.joints])


def _floating_joint(description: Description) -> str | None:
    """The floating joint that carries all that has mass, if the file has one: its base floats by itself."""
    masses = {link.name for link in description.links if link.inertial is not None}
    on_link = joints_of(description)
    moving: list[JointDescription] = []
    waiting = [root_link(description)]
    while waiting:
        link = waiting.pop()
        if link in masses:
            return None
        for joint in on_link.get(link, []):
            if joint.type == "fixed":
                waiting.append(joint.child)
            else:
                moving.append(joint)
    return moving[0].name if len(moving) == 1 and moving[0].type == "floating" else None


def _locks(
    description: Description,
    mimics: Mapping[str, Mimic],
    joints: Sequence[str] | None,
    locked: Mapping[str, ArrayLike],
) -> dict[str, Array]:
    """{name: q} of every joint that does not move; followers of such joints are among them."""
    by_name = {joint.name: joint for joint in description.joints}
    _check_names(by_name, mimics, joints, locked)
    kept = None if joints is None else {*joints, description.joints[0].name}
    found: dict[str, Array] = {}
    for joint in description.joints:
        if joint.type == "fixed":
            found[joint.name] = ZERO
        elif joint.name in locked:
            found[joint.name] = _position(joint, locked[joint.name])
        elif kept is not None and joint.name not in kept and joint.name not in mimics:
            found[joint.name] = _kind(joint).neutral()
    for name, mimic in mimics.items():
        if mimic.leader in found or mimic.multiplier == 0.0:
            leader = found.get(mimic.leader, ZERO)
            found[name] = mimic.multiplier * leader + mimic.offset
    return found


def _check_names(
    by_name: Mapping[str, JointDescription],
    mimics: Mapping[str, Mimic],
    joints: Sequence[str] | None,
    locked: Mapping[str, ArrayLike],
) -> None:
    """Every name in `joints` and `locked` is that of a joint with freedoms of its own, once."""
    if isinstance(joints, str):
        raise ModelError(f"joints={excerpt(joints)} is a single string, expected a list of names")
    if not isinstance(locked, Mapping):
        raise ModelError(f"locked={excerpt(locked)} is not a mapping, expected {{joint name: position}}")
    seen: set[str] = set()
    for argument, names in (("joints", joints or ()), ("locked", locked)):
        for name in names:
            joint = by_name.get(name)
            if joint is None:
                movable = [known for known, other in by_name.items() if other.type != "fixed"]
                raise ModelError(f"{argument}: {unknown('joint', str(name), movable)}")
            if joint.type == "fixed":
                raise ModelError(f"{argument}: joint {name!r} is fixed")
            if name in mimics:
                raise ModelError(f"{argument}: joint {name!r} mimics {mimics[name].leader!r}, name that one")
            if name in seen:
                raise ModelError(f"{argument}: joint {name!r} is named twice")
            seen.add(name)


def _position(joint: JointDescription, position: ArrayLike) -> Array:
    """A checked configuration (nq,) of one joint, quaternion normalised."""
    kind = _kind(joint)
    try:
        q = np.atleast_1d(
            np.array(real_array(position, f"locked: position {excerpt(position)} of joint {joint.name!r}"))
        )
    except ValueError as error:
        raise ModelError(str(error)) from None
    if q.shape != (kind.nq,) or not np.all(np.isfinite(q)):
        raise ModelError(
            f"locked: position {excerpt(position)} of joint {joint.name!r} is not {kind.nq} finite number(s)"
        )
    if kind.quaternion is not None:
        norm = float(np.linalg.norm(q[kind.quaternion]))
        if abs(norm - 1.0) > 1e-2:
            raise ModelError(f"locked: the quaternion of joint {joint.name!r} has norm {norm:.6g}, expected 1")
        q[kind.quaternion] /= norm
    return q


def _kind(joint: JointDescription) -> kinds.JointKind:
    if joint.kind is not None:
        return joint.kind
    return _WITH_AXIS[joint.type](joint.axis) if joint.type in _WITH_AXIS else _WITHOUT_AXIS[joint.type]()


# --- merging what does not move ------------------------------------------------------------------


@dataclass
class _Mover:
    """A joint that moves, and what moves with it. `parent`: the joint that carries it, None: the world."""

    joint: JointDescription
    parent: str | None
    placement: Transform
    inertia: RigidInertia = RigidInertia()


@dataclass
class _Merged:
    movers: dict[str, _Mover]  # by joint name, depth first
    frames: list[tuple[str | None, str, Transform, Literal["link", "joint"]]]  # joint that moves it, name, placement
    fixed_inertia: RigidInertia


def _merge(description: Description, locks: Mapping[str, Array]) -> _Merged:
    """Walk the links depth first; what no free joint separates becomes one mover."""
    inertials = {link.name: link.inertial for link in description.links}
    on_link = joints_of(description)
    merged = _Merged({}, [], RigidInertia())
    waiting: list[tuple[JointDescription, str | None, Transform]] = [
        (joint, None, IDENTITY) for joint in on_link[WORLD_LINK]
    ]
    while waiting:
        joint, carrier, link_pose = waiting.pop()
        pose = _joined(link_pose, joint.origin)
        if joint.name not in locks:
            merged.movers[joint.name] = _Mover(joint, carrier, pose)
            carrier, pose = joint.name, IDENTITY
        elif joint.type != "fixed":
            pose = _flat(link_pose @ joint.origin @ _kind(joint).transform([float(x) for x in locks[joint.name]]))
        if joint.name:
            merged.frames.append((carrier, joint.name, pose, "joint"))
        pose = _joined(pose, joint.child_origin)
        merged.frames.append((carrier, joint.child, pose, "link"))
        inertial = inertials[joint.child]
        if inertial is not None:
            load = inertial.inertia if pose == IDENTITY else inertial.inertia.to_parent(pose)
            if carrier is None:
                merged.fixed_inertia = merged.fixed_inertia + load
            else:
                mover = merged.movers[carrier]
                mover.inertia = mover.inertia + load
        if joint.child in on_link:
            waiting += [(child, carrier, pose) for child in reversed(on_link[joint.child])]
    return merged


def _joined(pose: Transform, inner: Transform) -> Transform:
    """The pose of what has the pose `inner` in a frame, with one rotation matrix at most."""
    if inner is IDENTITY:  # nearly always, it or the other
        return _flat(pose)
    if pose is not IDENTITY:
        return _flat(pose @ inner)
    x, y, z = inner.p
    return _flat(Transform(inner.factors, (x + 0.0, y + 0.0, z + 0.0)))  # no -0.0


def _flat(pose: Transform) -> Transform:
    """The same pose with one rotation matrix at most."""
    return pose if len(pose.factors) < 2 else Transform.of(without_rounding(pose.rotation), pose.p)


# --- the model -----------------------------------------------------------------------------------


def _order(movers: Mapping[str, _Mover], free: Sequence[str], joints: Sequence[str] | None) -> list[str]:
    """Names of all movers, parents first, with the free ones in the order of `joints` if that is given."""
    if joints is None:
        return list(movers)
    listed = set(joints)
    wanted = [*(name for name in free if name not in listed), *joints]  # only a base may be left out
    movable = set(free)
    order: dict[str, None] = {}  # names, for the order
    for name in (*wanted, *movers):
        branch: list[str] = []
        above: str | None = name
        while above is not None and above not in order:
            branch.append(above)
            above = movers[above].parent
        for carrier in branch[1:]:
            if carrier in movable:
                raise ModelError(f"joints: {name!r} stands before {carrier!r}, which carries it")
        order.update(dict.fromkeys(reversed(branch)))
    return list(order)


def _assemble(
    description: Description,
    merged: _Merged,
    mimics: Mapping[str, Mimic],
    joints: Sequence[str] | None,
    gravity: tuple[float, float, float],
) -> Model:
    movers = merged.movers
    order = _order(movers, [name for name in movers if name not in mimics], joints)
    index: dict[str | None, int] = {name: k for k, name in enumerate(order)}
    kind_of = {name: _kind(movers[name].joint) for name in order}
    starts: dict[str, tuple[int, int]] = {}
    nq = nv = 0
    for name in order:
        if name not in mimics:
            kind = kind_of[name]
            starts[name] = (nq, nv)
            nq, nv = nq + kind.nq, nv + kind.nv

    def body(name: str) -> Body:
        mover, mimic = movers[name], mimics.get(name)
        joint = mover.joint
        q_index, v_index = starts[mimic.leader if mimic else name]
        parent = WORLD if mover.parent is None else index[mover.parent]
        moving = Joint(
            name, kind_of[name], q_index, v_index, limits=joint.limits, damping=joint.damping, friction=joint.friction,
            armature=joint.armature, mimic=mimic, passive=joint.passive, drive=joint.drive,
        )  # fmt: skip
        return Body(joint.child, parent, mover.placement, moving, mover.inertia)

    return Model(
        name=description.name,
        bodies=tuple(map(body, order)),
        frames=tuple(
            [
                Frame(name, index.get(carrier, WORLD), placement=pose, element=element)
                for carrier, name, pose, element in merged.frames
            ]
        ),
        gravity=gravity,
        base="floating" if description.joints[0].name in movers else "fixed",
        fixed_inertia=merged.fixed_inertia,
        loops=tuple(description.loops),
    )


def _gravity(gravity: Sequence[float]) -> tuple[float, float, float]:
    x, y, z = vector_of(gravity, 3, "gravity")
    return x, y, z
