# SPDX-License-Identifier: Apache-2.0
"""What the writers of all formats share: names of links, the order of bodies, frames, numbers with all their digits."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.model.errors import ModelError
from rbd_dynamics.model.joints import Floating
from rbd_dynamics.model.model import WORLD, Body, Frame, Joint, Model
from rbd_dynamics.model.passive_forces import Spring
from rbd_dynamics.model.urdf_reading.parser import EXACT_DIGITS, ROUNDED_ANGLE, digits_of
from rbd_dynamics.spatial.se3 import IDENTITY, Transform
from rbd_dynamics.spatial.so3 import Mat3

_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
SHOWN = 5  # names in a warning


class LinkNames:
    """What links are called in a file: a body's own name where its link's frame is the body's.

    links: of each body. root: of what is fixed to the world. Raises ModelError for a link that is given twice.
    reserved: a name that the format keeps for itself; a link that has it gets another one.
    """

    def __init__(self, model: Model, root: str = "world", reserved: str | None = None) -> None:
        self.taken = Counter(frame.name for frame in model.frames if frame.element == "link")
        for name, count in self.taken.items():
            if count > 1:
                raise ModelError(f"link {name!r} is there {count} times, in a file it is there once")
        at_body = {
            frame.name: frame.body for frame in model.frames if frame.element == "link" and frame.placement == IDENTITY
        }
        if reserved is not None:
            at_body.pop(reserved, None)
            self.taken[reserved] += 1
        self.links = [
            body.name if at_body.get(body.name, index if body.name not in self.taken else None) == index
            else self.new(f"{body.name}_body")
            for index, body in enumerate(model.bodies)
        ]  # fmt: skip
        fixed = [name for name, body in at_body.items() if body == WORLD]
        self.root = fixed[0] if fixed else self.new(root)
        self.taken.update(self.links)
        self.joints = {body.joint.name for body in model.bodies}

    def new(self, name: str) -> str:
        """A name like this one that no link has yet."""
        while name in self.taken:
            name += "_"
        self.taken[name] += 1
        return name

    def new_joint(self, name: str) -> str:
        """A name like this one that no joint has yet."""
        while name in self.joints:
            name += "_"
        self.joints.add(name)
        return name

    def of(self, index: int) -> str:
        """The link of a body, or of the world."""
        return self.root if index == WORLD else self.links[index]


class FixedLink(NamedTuple):
    """A frame that is a link without mass; joint: of the fixed joint that holds it, where the model has one."""

    name: str
    joint: str | None
    placement: Transform


def fixed_links(model: Model, names: LinkNames, index: int) -> Iterator[FixedLink]:
    """The frames of a body, or of the world, but for its own link; a fixed joint's without a link gets one."""
    moving = {body.joint.name for body in model.bodies}
    own = [frame for frame in model.frames if frame.body == index]
    for k, frame in enumerate(own):
        before = own[k - 1] if k else None
        held = before is not None and before.element == "joint" and before.name not in moving
        if frame.element == "link" and frame.name != names.of(index):
            here = held and before is not None and before.placement == frame.placement
            yield FixedLink(frame.name, before.name if here and before is not None else None, frame.placement)
        elif frame.element == "joint" and frame.name not in moving and not _goes_on(own, k):
            yield FixedLink(names.new(f"{frame.name}_link"), frame.name, frame.placement)


def fixed_frames(model: Model, names: LinkNames, index: int) -> Iterator[FixedLink]:
    """The same for a format that has frames: those of fixed joints, too, by their names where no link has them."""
    yield from fixed_links(model, names, index)
    moving = {body.joint.name for body in model.bodies}
    for frame in model.frames:
        held = frame.body == index and frame.element == "joint" and frame.name not in moving
        if held and frame.name not in names.taken:
            yield FixedLink(names.new(frame.name), None, frame.placement)


def _goes_on(frames: Sequence[Frame], k: int) -> bool:
    """Whether the next frame is that of the link that this fixed joint holds."""
    after = frames[k + 1] if k + 1 < len(frames) else None
    return after is not None and after.element == "link" and after.placement == frames[k].placement


def is_free(body: Body) -> bool:
    """Whether nothing but its joint's six numbers say where a body is in the world."""
    return isinstance(body.joint.kind, Floating) and body.parent == WORLD and body.placement == IDENTITY


def is_plain(joint: Joint) -> bool:
    """Whether a joint does nothing by itself, and has no rotor."""
    return not (joint.damping or joint.friction or joint.armature or joint.passive)


def depth_first(model: Model, *, free_last: bool = False) -> list[int]:
    """The bodies, each before what it carries. free_last: what floats comes after all else that is on the world."""
    waiting = [k for k, body in enumerate(model.bodies) if body.parent == WORLD]
    waiting.sort(key=lambda k: (free_last and is_free(model.bodies[k]), k), reverse=True)
    order = []
    while waiting:
        order.append(waiting.pop())
        waiting.extend(reversed(model.children[order[-1]]))
    return order


def spring_of(joint: Joint, file: str) -> Spring | None:
    """The one spring of a joint. Raises ModelError for other passive forces, and for a second one."""
    found: Spring | None = None
    for force in joint.passive:
        if not isinstance(force, Spring) or found is not None:
            raise ModelError(
                f"joint {joint.name!r} has a {force.name} beside what {file} can say: damping, friction and one spring"
            )
        found = force
    return found if found is not None and found.stiffness else None


# --- numbers and texts ----------------------------------------------------------------------------


def roll_pitch_yaw(rotation: Mat3) -> tuple[float, float, float]:
    """Angles of which `rotation_from_rpy` makes that rotation, to rounding, also where the pitch is a quarter turn."""
    r00, r01, r02, r10, r11, r12, r20, _, _ = map(float, rotation)
    yaw = math.atan2(r10, r00)
    c, s = math.cos(yaw), math.sin(yaw)
    return math.atan2(s * r02 - c * r12, c * r11 - s * r01), math.atan2(-r20, c * r00 + s * r10), yaw


def text_of(numbers: Sequence[float]) -> str:
    """Numbers with all their digits."""
    return " ".join(repr(float(x) + 0.0) for x in numbers)  # no -0


def angles_of(placement: Transform) -> str:
    """Roll, pitch and yaw. Near a quarter turn with so many digits that no reader takes them for rounded."""
    return " ".join(map(_angle, roll_pitch_yaw(placement.rotation) if placement.factors else (0.0, 0.0, 0.0)))


def _angle(angle: float) -> str:
    text = text_of([angle])
    off = abs(angle - round(angle / (math.pi / 2)) * (math.pi / 2))
    return f"{angle:.16e}" if 0.0 < off <= ROUNDED_ANGLE and digits_of(text) < EXACT_DIGITS else text


def document(root: ET.Element) -> str:
    """The text of a file. Raises ModelError for a name that no XML can hold."""
    for element in root.iter():
        for text in (*element.attrib.values(), element.text or ""):
            if _NO_XML.search(text):
                raise ModelError(f"{excerpt(text)} has a character that XML cannot hold")
    ET.indent(root)
    return '<?xml version="1.0"?>\n' + ET.tostring(root, encoding="unicode") + "\n"
