# SPDX-License-Identifier: Apache-2.0
"""Loops of a URDF, which has no element for them: read as URDF+ writes them (arXiv 2411.19753).

    <loop name="closing" type="revolute">
      <predecessor link="crank"> <origin xyz="..." rpy="..."/> </predecessor>
      <successor link="rocker"> <origin xyz="..." rpy="..."/> </successor>
      <axis xyz="0 0 1"/>
    </loop>

The two origins are where the joint is on either link, and one frame where it is at zero; the axis is in it.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Collection

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.model.elements import Number, Reader, child_of, first_child
from rbd_dynamics.model.errors import Findings
from rbd_dynamics.model.loops import HELD, Loop, joint_loop
from rbd_dynamics.model.urdf_reading.versions import quaternion_rotation
from rbd_dynamics.spatial.se3 import IDENTITY, Transform
from rbd_dynamics.spatial.so3 import rotation_from_rpy

_ENDS = ("predecessor", "successor")


def read_loop(element: ET.Element, version: str, findings: Findings) -> Loop | None:
    """The loop of a <loop>, or None with a finding. version: of the URDF."""
    name = Reader(element, "a loop", findings).name("name")
    where = f"loop {name!r}"
    kind = Reader(element, where, findings).name("type")
    if kind and kind not in HELD:
        findings.error(where, f"has the unknown type {excerpt(kind)}", f"known: {', '.join(HELD)}")
    links, places = [], []
    for tag in _ENDS:
        end = child_of(element, tag, where, findings)
        if end is None:
            findings.error(where, f"has no <{tag}>")
        links.append("" if end is None else Reader(end, where, findings).name("link"))
        places.append(IDENTITY if end is None else _origin(end, version, where, findings))
    axis = (1.0, 0.0, 0.0)  # URDF's default
    given = first_child(element, "axis")
    if given is not None:
        x, y, z = map(float, Reader(given, where, findings).words("xyz", Number(3)).split())
        length = math.hypot(x, y, z)
        if length < 1e-9:
            findings.error(where, f"<axis> xyz={excerpt(given.get('xyz'))} has no direction")
            return None
        axis = (x / length, y / length, z / length)
    if not name or kind not in HELD or not all(links) or math.isnan(axis[0]):
        return None
    return joint_loop(Loop(name, links[1], links[0], placement=places[1], reference_placement=places[0]), kind, axis)


def check_loops(loops: Collection[Loop], links: Collection[str], findings: Findings) -> None:
    """Add an error for a loop between links that are not there, or of a name that is given twice."""
    for name, count in Counter(loop.name for loop in loops).items():
        if count > 1:
            findings.error(f"loop {name!r}", f"is defined {count} times")
    for loop in loops:
        for tag, link in zip(_ENDS, (loop.reference, loop.frame)):
            if link not in links and link != "world":
                findings.error(f"loop {loop.name!r}", f"has the unknown {tag} link {link!r}")


def _origin(end: ET.Element, version: str, where: str, findings: Findings) -> Transform:
    origin = first_child(end, "origin")
    if origin is None:
        return IDENTITY
    reader = Reader(origin, where, findings)
    x, y, z = map(float, reader.words("xyz", Number(3, "0 0 0")).split())
    turned = quaternion_rotation(origin, version, where, findings)
    if turned is not None:
        return Transform.of(turned, (x, y, z))
    roll, pitch, yaw = map(float, reader.words("rpy", Number(3, "0 0 0")).split())
    return Transform.of(rotation_from_rpy(roll, pitch, yaw), (x, y, z))
