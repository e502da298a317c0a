# SPDX-License-Identifier: Apache-2.0
"""A robot as plain data for `RobotView`: its tree of bodies, how joints move them, and their shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rbd_dynamics.model.errors import Findings
from rbd_dynamics.model.joints import Helical, JointKind, Prismatic, Revolute, Screw
from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.model.shapes import Element, Shape, Shapes, urdf_shapes
from rbd_dynamics.scene.mesh_files import mesh_of
from rbd_dynamics.scene.stand_ins import capsules
from rbd_dynamics.scene.triangles import Mesh, packed, simplified
from rbd_dynamics.spatial.se3 import Transform

MOST = 60_000  # triangles of a robot, which a phone draws at ease
MOST_OF_ONE = 6_000  # and of one mesh
NOT_FOUND = "was not found"  # said of a mesh


@dataclass(frozen=True)
class Scene:
    """What a page needs to draw a robot.

    Attributes:
        content: for JSON, as `RobotView` takes it.
        stand_ins: bodies that are drawn as capsules.
        left_out: shapes that are not drawn, each with the reason.
        still: joints that are drawn where they start, since `RobotView` knows no motion but that along one screw.
    """

    content: dict[str, Any]
    stand_ins: tuple[str, ...]
    left_out: tuple[str, ...]
    still: tuple[str, ...]


def scene_of(
    model: Model,
    description: str | Shapes | None,
    *,
    find: Callable[[str], Path | None] = lambda name: None,
    prefer: Element = "visual",
    q: Sequence[float] | None = None,
    colours: bool = False,
) -> Scene:
    """A robot's scene.

    Parameters:
        description: the URDF's text that the model was made of, or the shapes of its links
            (`formats.shapes.shapes_of`); None: bodies are capsules.
        find: the file of a mesh by its name in the description (`MeshFinder.find`).
        prefer: which elements of a link are drawn where it has both: "collision" is read faster and takes less room.
            The others take the place of those whose meshes cannot be had.
        q: (nq,), where joints that the page cannot move stand; by default where the model starts.
        colours: those of the description; else bodies have two in turn, beside which the page's own stand out.

    A body without any shape of its own, though it has mass, is drawn as capsules.
    """
    posture = model.start_position() if q is None else model.configuration(q)
    findings = Findings()
    drawing = _Drawing(find, MOST // max(1, len(model.bodies) + 1), colours)
    if isinstance(description, str):  # a model in YAML says nothing of shapes
        description = urdf_shapes(description, findings) if description.lstrip("\ufeff \t\r\n").startswith("<") else {}
    found: Shapes = description or {}
    order: tuple[Element, Element] = ("collision", "visual") if prefer == "collision" else ("visual", "collision")
    links = {frame.name: frame for frame in reversed(model.frames) if frame.element == "link"}
    for link, parts in found.items():
        frame = links.get(link)
        if frame is not None:
            any(drawing.add(frame.body, frame.placement, parts[element]) for element in order)
    seen = {shape["body"] for shape in drawing.shapes}
    known = capsules(model)
    bare = [k for k, body in enumerate(model.bodies) if k not in seen and (body.inertia.mass > 0.0 or not seen)]
    if not seen or (WORLD not in seen and model.fixed_inertia.mass > 0.0):
        bare.append(WORLD)
    for index in bare:
        drawing.add(index, Transform((), (0.0, 0.0, 0.0)), known[index])
    still: list[str] = []
    content = {
        "name": model.name,
        "joints": [joint.name for joint in model.joints if joint.kind.nq == joint.kind.nv == 1],
        "bodies": [_body(model, k, posture.tolist(), still) for k in range(len(model.bodies))],
        "shapes": drawing.shapes,
        "meshes": drawing.meshes,
    }
    left_out = [*drawing.left_out, *map(str, findings)]
    names = [model.bodies[k].name for k in bare if k != WORLD]
    return Scene(content, tuple(names), tuple(dict.fromkeys(left_out)), tuple(still))


class _Drawing:
    """Shapes and meshes for a page; a mesh that several links have is there once."""

    def __init__(self, find: Callable[[str], Path | None], most: int, colours: bool) -> None:
        self._find, self._most, self._colours = find, max(200, min(MOST_OF_ONE, most)), colours
        self.shapes: list[dict[str, Any]] = []
        self.meshes: list[dict[str, Any]] = []
        self.left_out: list[str] = []
        self._numbers: dict[str, int] = {}

    def add(self, body: int, link: Transform, shapes: Sequence[Shape]) -> bool:
        """Draw these, whose link is placed so in the body; False where none could be."""
        count = len(self.shapes)
        for shape in shapes:
            entry: dict[str, Any] = {
                "body": body,
                "kind": shape.kind,
                "at": _list(matrix_rows(link @ shape.placement)),
                "size": _list(shape.size),
            }
            if self._colours and shape.colour is not None:
                red, green, blue, opacity = shape.colour
                entry["colour"] = "#" + "".join(f"{round(255 * part):02x}" for part in (red, green, blue))
                entry["opacity"] = round(opacity, 3)
            if shape.kind == "mesh":
                number = self._mesh(shape)
                if number is None:
                    continue
                entry["mesh"] = number
            self.shapes.append(entry)
        return len(self.shapes) > count

    def _mesh(self, shape: Shape) -> int | None:
        own = shape.mesh
        if own is not None:
            return self._add(f"mesh {shape.file}", lambda: simplified(Mesh(*own), self._most))
        path = self._find(shape.file)
        if path is None:
            self.left_out.append(f"{shape.file} {NOT_FOUND}")
            return None
        return self._add(str(path), lambda: mesh_of(path, self._most))

    def _add(self, name: str, read: Callable[[], Mesh]) -> int | None:
        if name not in self._numbers:
            try:
                self.meshes.append(packed(read()))
            except ValueError as error:
                self.left_out.append(str(error))
                return None
            self._numbers[name] = len(self.meshes) - 1
        return self._numbers[name]


def _body(model: Model, index: int, q: Sequence[float], still: list[str]) -> dict[str, Any]:
    """The body's place in its parent and what moves it: the unit twist (w, v) along which its joint moves by
    `multiplier` q + `offset`."""
    body = model.bodies[index]
    joint = body.joint
    twist = _twist(joint.kind)
    own = {"name": body.name, "parent": body.parent, "joint": joint.mimic.leader if joint.mimic else joint.name}
    numbers = q[joint.q_index : joint.q_index + joint.kind.nq]
    if joint.mimic is not None:
        numbers = [joint.mimic.multiplier * number + joint.mimic.offset for number in numbers]
    if twist is None:
        still.append(joint.name)
        return {**own, "at": matrix_rows(body.placement @ joint.kind.transform(numbers)), "twist": None}
    law = (1.0, 0.0) if joint.mimic is None else (joint.mimic.multiplier, joint.mimic.offset)
    return {**own, "at": matrix_rows(body.placement), "twist": list(twist), "multiplier": law[0], "offset": law[1]}


def _twist(kind: JointKind) -> tuple[float, ...] | None:
    """Unit twist of a joint that moves along one screw; None for all others."""
    if isinstance(kind, (Revolute, Prismatic, Helical, Screw)):
        return tuple(float(part) for part in kind.columns([0.0])[0])
    return None


def matrix_rows(pose: Transform) -> list[float]:
    """The upper three rows of its matrix, one after the other: of bodies exact, since pages compute with them."""
    rows = np.column_stack([np.reshape(np.array(pose.rotation, dtype=float), (3, 3)), np.array(pose.p, dtype=float)])
    return [float(x) for x in rows.ravel()]


def _list(values: Any) -> list[float]:
    """Values as a list with seven digits, and no rounding errors beside 1."""
    return [float(f"{value:.7g}") if abs(value) > 1e-9 else 0.0 for value in map(float, values)]
