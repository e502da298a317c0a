# SPDX-License-Identifier: Apache-2.0
"""The equality constraints of an MJCF: linear ones between joints are mimic joints, connect and weld are loops."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rbd_dynamics.formats.mjcf_flags import Flags
from rbd_dynamics.formats.mjcf_names import Names, name_of
from rbd_dynamics.model.errors import Findings
from rbd_dynamics.model.loops import HELD, Loop
from rbd_dynamics.model.model import Mimic
from rbd_dynamics.spatial.se3 import IDENTITY, Transform
from rbd_dynamics.spatial.so3 import rotation_from_quaternion

_CONNECT, _WELD, _JOINT = 0, 1, 2  # mjtEq
_SITE = 6  # mjtObj
_TORQUE_SCALE = 10  # in the data of a weld: at 0 it lets turn
_USUAL_SLOPE = 1.0  # of a polycoef that is not given
_HINT = "add it as a JointCoupling"


@dataclass
class Equalities:
    mimics: dict[int, Mimic] = field(default_factory=dict)  # by number of the joint
    locked: dict[str, float] = field(default_factory=dict)
    loops: list[Loop] = field(default_factory=list)
    leaders: dict[int, int] = field(default_factory=dict)  # of the mimic joints

    def followed_from(self, joint: int) -> list[int]:
        """The joint, the one that it follows, the one that that one follows, and so on."""
        chain = [joint]
        while chain[-1] in self.leaders:
            chain.append(self.leaders[chain[-1]])
        return chain


def read_equalities(m: Any, names: Names, flags: Flags, findings: Findings) -> Equalities:
    """All that are active at the start, but for kinds that are left out. What has no counterpart is a defect."""
    found = Equalities()
    for k in range(m.neq if flags.equalities else 0):
        if not m.eq_active0[k]:
            continue
        name = name_of(m, "eq", k) or f"equality_{k + 1}"
        kind = int(m.eq_type[k])
        if kind in (_CONNECT, _WELD):
            found.loops.append(_loop(m, k, name, names))
        elif kind == _JOINT:
            _couple(m, k, name, names, found, findings)
    return found


def _couple(m: Any, k: int, name: str, names: Names, found: Equalities, findings: Findings) -> None:
    """y - y0 = a0 + a1 (x - x0) + ..., of the first and the second joint, whose start is at y0 and x0."""
    follower, leader = int(m.eq_obj1id[k]), int(m.eq_obj2id[k])
    a0, a1, *higher = map(float, m.eq_data[k][:5])
    start = float(m.qpos0[m.jnt_qposadr[follower]]) + a0
    held = names.joint(follower)
    if follower in found.mimics or held in found.locked:
        findings.defect(f"equality {name!r}", f"holds {held!r}, which another one holds already, it is left out", _HINT)
    elif leader < 0 or not any((a1, *higher)):
        found.locked[held] = start
        findings.note(f"equality {name!r}", f"holds {held!r} at {start:g}: it is locked there, no joint of the model")
        if leader < 0 and (a1 not in (0.0, _USUAL_SLOPE) or any(higher)):
            message = "has no joint2: of its polycoef all but the first number is left out"
            findings.defect(f"equality {name!r}", message, "MuJoCo has no use for them either")
    elif any(higher):
        findings.defect(f"equality {name!r}", "is not linear, it is left out", _HINT)
    elif follower in found.followed_from(leader):
        findings.defect(f"equality {name!r}", f"closes a circle of joints that follow {held!r}, it is left out", _HINT)
    else:
        offset = start - a1 * float(m.qpos0[m.jnt_qposadr[leader]])
        found.mimics[follower] = Mimic(names.joint(leader), multiplier=a1, offset=offset)
        found.leaders[follower] = leader


def _loop(m: Any, k: int, name: str, names: Names) -> Loop:
    """The second body is held to the first."""
    data = [float(x) for x in m.eq_data[k]]
    weld = int(m.eq_type[k]) == _WELD
    turns = weld and data[_TORQUE_SCALE] == 0.0
    directions = HELD["fixed"] if weld and not turns else HELD["spherical"]
    first, second = int(m.eq_obj1id[k]), int(m.eq_obj2id[k])
    if hasattr(m, "eq_objtype") and int(m.eq_objtype[k]) == _SITE:
        return Loop(name, names.site(second), names.site(first), directions=directions)
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
