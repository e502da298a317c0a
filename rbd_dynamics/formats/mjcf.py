# SPDX-License-Identifier: Apache-2.0
"""MJCF, MuJoCo's format: compiled by MuJoCo, whose model is then read.

A joint's frame is at its anchor, turned and moved so that q is what MuJoCo calls qpos (quaternions are (x, y, z, w)
here). A free joint's frame is the world's: its q is a pose in the world. Several joints of one body are a chain of
links without mass.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rbd_dynamics.common.excerpt import shortened
from rbd_dynamics.common.extras import needed
from rbd_dynamics.formats.mjcf_actuators import efforts_and_rotors
from rbd_dynamics.formats.mjcf_equalities import Equalities, read_equalities
from rbd_dynamics.formats.mjcf_names import Names
from rbd_dynamics.formats.mjcf_omissions import report_omissions
from rbd_dynamics.formats.source import Source
from rbd_dynamics.model.description import Description, Inertial, JointDescription, LinkDescription, without_rounding
from rbd_dynamics.model.elements import parse_xml
from rbd_dynamics.model.errors import Findings, ModelError
from rbd_dynamics.model.joints import Floating, JointKind, Prismatic, Revolute, Spherical
from rbd_dynamics.model.model import Limits
from rbd_dynamics.model.passive_forces import PassiveForce, Spring
from rbd_dynamics.spatial.se3 import IDENTITY, Transform
from rbd_dynamics.spatial.so3 import rotate_sym, rotation_about, rotation_from_quaternion

WORLD = "world"
#: bodies and joints that `replicate` and `composite` may ask for
MOST_COPIES = 10_000
_FREE, _BALL, _SLIDE, _HINGE = range(4)  # mjtJoint


@dataclass
class MjcfDescription:
    """What a file says; joints that equalities hold where they are come in `locked`."""

    description: Description
    gravity: tuple[float, float, float]
    locked: dict[str, float] = field(default_factory=dict)
    floats: bool = False


def read_mjcf(source: Source, findings: Findings) -> MjcfDescription:
    """Compile and read a file or text. Raises ModelError for what MuJoCo refuses."""
    m = compiled(source, findings)
    names = Names(m)
    report_omissions(m, names, findings)
    rules = read_equalities(m, names, findings)
    description = Description(names.model or "robot", [LinkDescription(WORLD)])
    efforts, rotors, dampings = efforts_and_rotors(m, names, findings)
    for body in range(1, m.nbody):
        description.links.append(LinkDescription(names.body(body), _inertial(m, body)))
        joints = _joints(m, body, names, rules, efforts, rotors, dampings, findings)
        description.links += [LinkDescription(joint.child) for joint in joints[:-1]]
        description.joints += joints
    for name, body, position, quaternion in names.sites():
        description.links.append(LinkDescription(name))
        placed = pose_of(position, quaternion)
        description.joints.append(JointDescription("", "fixed", names.body(body), name, placed))
    description.loops = rules.loops
    off = int(m.opt.disableflags) & int(_mujoco().mjtDisableBit.mjDSBL_GRAVITY)
    x, y, z = (0.0 if off else float(entry) for entry in m.opt.gravity)
    floats = bool(np.any(m.jnt_type == _FREE))
    return MjcfDescription(description, (x, y, z), rules.locked, floats)


def _mujoco() -> Any:
    import mujoco

    return mujoco


def compiled(source: Source, findings: Findings) -> Any:
    """MuJoCo's model of a file or text. Raises ModelError for what it refuses."""
    root = parse_xml(source.content, source.where, findings)
    findings.raise_errors()
    assert root is not None
    copies = 1
    for element in root.iter():
        if element.tag in ("replicate", "composite", "flexcomp"):
            for word in element.get("count", "1").split():
                copies *= max(1, int(word)) if word.lstrip("+").isdigit() and len(word) < 10 else 1
    if copies > MOST_COPIES:
        raise ModelError(f"{source.where}: <replicate> and the like ask for more than {MOST_COPIES} copies")
    if importlib.util.find_spec("mujoco") is None:
        raise ModelError(f"{source.where}: {needed('mujoco')}")
    mujoco = _mujoco()
    try:
        with _warnings_told(mujoco, source.where, findings):
            if source.path is not None:
                return mujoco.MjModel.from_xml_path(str(source.path))
            return mujoco.MjModel.from_xml_string(source.text)
    except (ValueError, RuntimeError, TypeError, mujoco.FatalError) as error:
        raise ModelError(f"{source.where}: MuJoCo: {shortened(' '.join(str(error).split()), 1000)}") from None


@contextmanager
def _warnings_told(mujoco: Any, where: str, findings: Findings) -> Iterator[None]:
    """MuJoCo's warnings go to the findings, not into a file MUJOCO_LOG.TXT in the working folder."""
    if not hasattr(mujoco, "get_mju_user_warning"):
        yield
        return
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda text: findings.warning(where, f"MuJoCo: {text}"))
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)


def _inertial(m: Any, body: int) -> Inertial:
    x, y, z = map(float, m.body_ipos[body])
    xx, yy, zz = map(float, m.body_inertia[body])
    rotation = pose_of(m.body_ipos[body], m.body_iquat[body]).rotation
    return Inertial(float(m.body_mass[body]), (x, y, z), rotate_sym(rotation, (xx, 0.0, 0.0, yy, 0.0, zz)))


def _joints(
    m: Any,
    body: int,
    names: Names,
    rules: Equalities,
    efforts: dict[int, float],
    rotors: dict[int, float],
    dampings: dict[int, float],
    findings: Findings,
) -> list[JointDescription]:
    """Joints from the parent's link to the body's: a fixed one, or the body's joints with links between them."""
    parent, link = names.body(int(m.body_parentid[body])), names.body(body)
    pose = pose_of(m.body_pos[body], m.body_quat[body])
    first, count = int(m.body_jntadr[body]), int(m.body_jntnum[body])
    if not count:
        return [JointDescription("", "fixed", parent, link, pose)]
    found = []
    for j in range(first, first + count):
        name, kind = names.joint(j), _kind(m, j)
        dof = int(m.jnt_dofadr[j])
        anchor = IDENTITY if int(m.jnt_type[j]) == _FREE else Transform.of(p=_floats(m.jnt_pos[j]))
        start = IDENTITY if int(m.jnt_type[j]) == _FREE else pose @ anchor @ _start(m, j, kind)
        last = j == first + count - 1
        child = link if last else names.between(link, name)
        found.append(
            JointDescription(
                name,
                kind.name,
                parent,
                child,
                Transform.of(without_rounding(start.rotation), start.p),
                limits=_limits(m, j, efforts),
                damping=float(m.dof_damping[dof]) + dampings.get(j, 0.0),
                friction=float(m.dof_frictionloss[dof]),
                armature=float(m.dof_armature[dof]) + rotors.get(j, 0.0),
                mimic=rules.mimics.get(j),
                passive=_springs(m, j, name, findings),
                kind=kind,
                child_origin=anchor.inverse(),
            )
        )
        parent, pose = child, IDENTITY
    return found


def _kind(m: Any, j: int) -> JointKind:
    kind, axis = int(m.jnt_type[j]), _floats(m.jnt_axis[j])
    if kind in (_FREE, _BALL):
        return Floating() if kind == _FREE else Spherical()
    return Revolute(axis) if kind == _HINGE else Prismatic(axis)


def _start(m: Any, j: int, kind: JointKind) -> Transform:
    """The file shows the body at qpos = ref, which need not be zero."""
    ref = float(m.qpos0[m.jnt_qposadr[j]])
    if isinstance(kind, Revolute):
        return Transform.of(rotation_about(kind.axis, -ref)) if ref else IDENTITY
    if isinstance(kind, Prismatic):
        x, y, z = (-ref * entry for entry in kind.axis)
        return Transform.of(p=(x, y, z)) if ref else IDENTITY
    return IDENTITY


def _limits(m: Any, j: int, efforts: dict[int, float]) -> Limits:
    effort = efforts.get(j, math.inf)
    if int(m.jnt_type[j]) in (_SLIDE, _HINGE) and m.jnt_limited[j]:
        lower, upper = map(float, m.jnt_range[j])
        return Limits(lower=lower, upper=upper, effort=effort)
    return Limits(effort=effort)


def _springs(m: Any, j: int, name: str, findings: Findings) -> tuple[PassiveForce, ...]:
    stiffness = float(np.ravel(m.jnt_stiffness[j])[0])
    if stiffness == 0.0:
        return ()
    if int(m.jnt_type[j]) in (_FREE, _BALL):
        findings.defect(f"joint {name!r}", "has a stiffness about a ball, which is left out")
        return ()
    return (Spring(stiffness, rest=float(m.qpos_spring[m.jnt_qposadr[j]])),)


def pose_of(position: Sequence[float], quaternion: Sequence[float]) -> Transform:
    """quaternion: (w, x, y, z), as MuJoCo has it."""
    w, x, y, z = map(float, quaternion)
    norm = math.sqrt(w * w + x * x + y * y + z * z)
    rotation = rotation_from_quaternion((x / norm, y / norm, z / norm, w / norm))
    return Transform.of(without_rounding(rotation), _floats(position))


def _floats(entries: Sequence[float]) -> tuple[float, float, float]:
    x, y, z = map(float, entries)
    return x, y, z
