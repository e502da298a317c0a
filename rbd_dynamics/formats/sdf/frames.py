# SPDX-License-Identifier: Apache-2.0
"""Frame semantics of SDFormat: what every pose is relative to, and which link every frame moves with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from rbd_dynamics.model.description import without_rounding
from rbd_dynamics.model.errors import ModelError
from rbd_dynamics.spatial.se3 import IDENTITY, Transform

ROOT = ""  # the frame that the outermost model is in
WORLD = "world"
MODEL = "__model__"


@dataclass(frozen=True)
class Scope:
    """What the names that are written in a model, or in a world, stand for.

    prefix: what the whole names of a model's elements begin with.
    own: whole name of the frame of the model, or of the world.
    chosen, models: of a world: its model whose names have no prefix, and the other ones that are read.
    """

    prefix: str
    own: str
    chosen: str | None = None
    models: frozenset[str] = frozenset()

    def whole(self, name: str) -> str:
        if name == MODEL or (self.chosen is not None and name == WORLD):
            return self.own
        if self.chosen is None:
            return self.prefix + name
        model, _, inner = name.partition("::")
        if model == self.chosen:
            return inner or MODEL
        return name if model in self.models else f"{WORLD}::{name}"


class _Frame(NamedTuple):
    relative_to: str
    pose: Transform
    attached_to: str  # a link's own name for a link
    placed: str  # a model's pose is that of this frame in it; empty: of the model's own


class FrameGraph:
    """Frames by name, nested ones with `::`; nothing is resolved before all are there."""

    def __init__(self) -> None:
        self._frames: dict[str, _Frame] = {}
        self._known: dict[str, Transform] = {ROOT: IDENTITY, WORLD: IDENTITY}  # in the root frame
        self._links: dict[str, str] = {}

    def add(self, name: str, relative_to: str, pose: Transform, attached_to: str, placed: str = "") -> None:
        """Raises ModelError for a name that is there already."""
        if name == WORLD:
            raise ModelError(f"a link, joint, frame or model is called {WORLD!r}, which is the world's name")
        if name in self._frames:
            raise ModelError(f"frame {name!r} is given twice: links, joints, frames and models share their names")
        self._frames[name] = _Frame(relative_to, pose, attached_to, placed)

    def __contains__(self, name: str) -> bool:
        return name in self._frames

    def pose(self, name: str) -> Transform:
        """Pose in the root frame. Raises ModelError for an unknown frame, or one that is relative to itself."""
        start = name
        waiting: list[str] = []
        while name not in self._known:
            frame = self._frame(name, waiting)
            waiting.append(name)
            if len(waiting) > len(self._frames):
                raise ModelError(f"frame {start!r} is relative to itself")
            name = frame.relative_to
        found = self._known[name]
        for inner in reversed(waiting):
            found = self._known[inner] = _plain(found @ self._own(inner))
        return found

    def check(self) -> None:
        """Raises ModelError for the first frame that is nowhere or belongs to no link."""
        for name in self._frames:
            self.pose(name)
            self.link_of(name)

    def relative(self, name: str, to: str) -> Transform:
        """Pose of one frame in another one."""
        return IDENTITY if name == to else _plain(self.pose(to).inverse() @ self.pose(name))

    def link_of(self, name: str) -> str:
        """The link, or the world, that a frame moves with. Raises ModelError."""
        start, passed = name, [name]
        while name not in (WORLD, ROOT) and self._frame(name, passed).attached_to != name:
            name = self._links.get(name, self._frames[name].attached_to)
            passed.append(name)
            if len(passed) > len(self._frames) + 1:
                raise ModelError(f"frame {start!r} is attached to itself")
        link = WORLD if name == ROOT else name
        self._links.update((frame, link) for frame in passed[:-1])
        return link

    def _own(self, name: str) -> Transform:
        """Relative to what the frame says; of a model whose pose is that of a frame in it, the model's own."""
        frame = self._frames[name]
        return frame.pose @ self._inside(frame.placed, name).inverse() if frame.placed else frame.pose

    def _inside(self, name: str, model: str) -> Transform:
        """Pose of a frame of a model in the model's frame."""
        found, start, passed = IDENTITY, name, [name]
        while name != model:
            frame = self._frame(name, passed)
            found = _plain(self._own(name) @ found)
            passed.append(name)
            if len(passed) > len(self._frames) + 1:
                raise ModelError(f"frame {start!r} is relative to itself")
            name = frame.relative_to
        return found

    def _frame(self, name: str, passed: list[str]) -> _Frame:
        found = self._frames.get(name)
        if found is None:
            asks = f", which {passed[-1]!r} refers to" if passed and passed[-1] != name else ""
            raise ModelError(f"there is no frame {name!r}{asks}")
        return found


def _plain(pose: Transform) -> Transform:
    """The pose with one rotation, without rounding in its zeros and ones."""
    return Transform.of(without_rounding(pose.rotation), pose.p) if pose.factors else pose
