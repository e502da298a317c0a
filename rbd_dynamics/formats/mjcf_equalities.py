# SPDX-License-Identifier: Apache-2.0
"""The equality constraints of an MJCF: linear ones between joints are mimic joints, connect and weld are loops."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rbd_dynamics.formats.mjcf_names import Names
from rbd_dynamics.model.errors import Findings
from rbd_dynamics.model.loops import HELD, Loop
from rbd_dynamics.model.model import Mimic
from rbd_dynamics.spatial.se3 import IDENTITY, Transform
from rbd_dynamics.spatial.so3 import rotation_from_quaternion

_CONNECT, _WELD, _JOINT = 0, 1, 2  # mjtEq
_SITE = 6  # mjtObj


@dataclass
class Equalities:
    mimics: dict[int, Mimic] = field(default_factory=dict)  # by number of the joint
    locked: dict[str, float] = field(default_factory=dict)
    loops: list[Loop] = field(default_factory=list)


def read_equalities(m: Any, names: Names, findings: Findings) -> Equalities:
    """All that are active at the start. What has no counterpart is a defect."""
    found = Equalities()
    for k in range(m.neq):
        if not m.eq_active0[k]:
            continue
        name = str(m.equality(k).name) or f"equality_{k + 1}"
        kind = int(m.eq_type[k])
        if kind in (_CONNECT, _WELD):
            loop = _loop(m, k, name, names)
            if loop is None:
                findings.defect(f"equality {name!r}", "holds sites without names, it is left out", "name the sites")
            else:
                found.loops.append(loop)
        elif kind == _JOINT:
            _couple(m, k, name, names, found, findings)
        else:
            findings.defect(f"equality {name!r}", "is neither connect, weld nor joint, it is left out")
    return found


def _couple(m: Any, k: int, name: str, names: Names, found: Equalities, findings: Findings) -> None:
    """y - y0 = a0 + a1 (x - x0) + ..., of the first and the second joint, whose start is at y0 and x0."""
    follower, leader = int(m.eq_obj1id[k]), int(m.eq_obj2id[k])
    a0, a1, *higher = map(float, m.eq_data[k][:5])
    start = float(m.qpos0[m.jnt_qposadr[follower]]) + a0
    if leader < 0:
        found.locked[names.joint(follower)] = start
    elif any(higher) or follower in found.mimics:
        what = "is no line" if any(higher) else "holds a joint that follows another one already"
        findings.defect(f"equality {name!r}", f"{what}, it is left out", "add it as a JointCoupling")
    else:
        offset = start - a1 * float(m.qpos0[m.jnt_qposadr[leader]])
        found.mimics[follower] = Mimic(names.joint(leader), multiplier=a1, offset=offset)


def _loop(m: Any, k: int, name: str, names: Names) -> Loop | None:
    """The second body is held to the first."""
    weld = int(m.eq_type[k]) == _WELD
    directions = HELD["fixed"] if weld else HELD["spherical"]
    first, second = int(m.eq_obj1id[k]), int(m.eq_obj2id[k])
    if int(m.eq_objtype[k]) == _SITE:
        ends = names.site(second), names.site(first)
        return Loop(name, *ends, directions=directions) if all(ends) else None
    data = [float(x) for x in m.eq_data[k]]
    at, held = Transform.of(p=(data[0], data[1], data[2])), Transform.of(p=(data[3], data[4], data[5]))
    if weld:  # the anchor is on the second body, the pose in the first one
        w, x, y, z = data[6:10]
        pose = Transform.of(rotation_from_quaternion((x, y, z, w)), held.p)
        at, held = pose, at
    return Loop(
        name,
        names.body(second),
        names.body(first),
        placement=held if any(held.p) else IDENTITY,
        reference_placement=at,
        directions=directions,
    )
