# SPDX-License-Identifier: Apache-2.0
"""Contacts of shapes at a state of the robot: by machine code where that can be had, else by NumPy and coal."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.collisions.compiled import ContactSearch, Tables, search_loops, touch_of
from rbd_dynamics.collisions.loops.layout import GAP, NORMAL, POINT
from rbd_dynamics.collisions.motion import LinkMotions, MovedFrames, rows_of, times
from rbd_dynamics.collisions.narrow_phase import Pair, Side, Touch
from rbd_dynamics.contacts import FoundContacts
from rbd_dynamics.contacts.workspaces import Workspaces
from rbd_dynamics.model.model import Model
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class _Moved(NamedTuple):
    """frames: of links. R (n, 3, 3), p (n, 3): of all shapes, in the world."""

    frames: MovedFrames
    R: Array
    p: Array


class _Shapes(NamedTuple):
    """The shapes where one call has moved them, and the pairs of them that may touch."""

    sides: list[Side]
    pairs: list[Pair]


class PairFinder:
    """What pairs of shapes touch. Threads may share it.

    Parameters:
        sides: the shapes; those that stand in the world are where they stand.
        frames: of each shape that which it moves with, None of what stands in the world.
        places: R and p of each shape in its frame, or in the world.
        pairs: of the shapes with the numbers in `index` (pairs, 2), planes second.
    """

    def __init__(
        self,
        model: Model,
        sides: Sequence[Side],
        frames: Sequence[str | None],
        places: Sequence[tuple[Array, Array]],
        pairs: Sequence[Pair],
        index: NDArray[np.intp],
    ) -> None:
        self.model, self._sides, self._places, self.pairs, self._index = model, sides, places, pairs, index
        self._frames = tuple(dict.fromkeys(frame for frame in frames if frame is not None))
        numbers = {name: k for k, name in enumerate(self._frames)}
        self._pinned = {k for k, frame in enumerate(frames) if frame is None}
        #: of each shape: its frame, in which it is at R and p; of planes no reach
        self._frame_of = np.array([numbers.get(frame or "", len(numbers)) for frame in frames], dtype=np.intp)
        self._own_R = np.array([R for R, _ in places]).reshape(-1, 3, 3)
        self._own_p = np.array([p for _, p in places]).reshape(-1, 3)
        reach = np.array([side.shape.reach for side in sides])
        self._finite_reach = np.where(np.isinf(reach), 0.0, reach)
        #: of each pair: whether the second is a plane, and its normal; and how far both reach
        self._over_plane = np.isinf(reach[index[:, 1]])
        self._up = self._own_R[index[:, 1], :, 2]
        self._reaches = self._finite_reach[index].sum(axis=1)
        self._moving = Workspaces(self._other_shapes)

    def touches(self, q: Array, margin: float) -> list[Touch]:
        """All points of contact where shapes are nearer than the margin (m)."""
        still = np.zeros(self.model.nv)
        if self.searches is None:
            near = self._near(self._moved(q, still), margin)
            return [touch for touches, _, _ in near for touch in touches]
        search = self.searches.take()
        found = search.find(q, still, margin, 0.0)
        touches = [touch_of(self.pairs[k].law, row) for k, row in zip(found.pairs.tolist(), found.touches)]
        self.searches.give(search)
        return touches

    def found(self, q: Array, v: Array, margin: float, duration: float, cone: str) -> FoundContacts:
        """Contacts as rows for dynamics: all that is nearer than the margin, and what may come within the duration."""
        if self.searches is None:
            return self._found_by_coal(q, v, margin, duration, cone)
        search = self.searches.take()
        found = search.find(q, v, margin, duration)
        rows, touches = search.rows(found), found.touches.copy()
        laws = [self.pairs[k].law for k in found.pairs.tolist()]
        self.searches.give(search)
        points, directions = touches[:, POINT:NORMAL], touches[:, NORMAL:GAP]
        return FoundContacts(laws, touches[:, GAP], *rows, cone=cone, points=points, directions=directions)

    def distances(self, q: Array, margin: float) -> Array:
        """(pairs) m; infinite beyond the margin."""
        found, shapes = np.full(len(self.pairs), np.inf), self._moving.take()
        for number in self._close(shapes, self._moved(q, np.zeros(self.model.nv)), margin):
            distance = shapes.pairs[number].distance()
            found[number] = distance if distance <= margin else np.inf
        self._moving.give(shapes)
        return found

    # --- machine code -----------------------------------------------------------------------------

    @cached_property
    def searches(self) -> Workspaces[ContactSearch] | None:
        """Machine code that searches; None where that cannot be had."""
        if not self._motions.compiled or not search_loops().compiled:
            return None
        tables = Tables.of([side.shape for side in self._sides], self._frame_of, self._places, self._index)
        return Workspaces(lambda: ContactSearch(tables, self._motions, self._asked))

    def _asked(self, numbers: Indices, places: Array, margin: float) -> list[list[Touch]]:
        """Touches of some pairs, as coal finds them, with the shapes at these places (shapes, 12): R and p."""
        shapes = self._moving.take()
        for k in {int(shape) for shape in self._index[numbers].flat} - self._pinned:
            shapes.sides[k].move(places[k, :9].reshape(3, 3).copy(), places[k, 9:].copy())
        found = [shapes.pairs[k].touches(margin) for k in numbers.tolist()]
        self._moving.give(shapes)
        return found

    # --- coal -------------------------------------------------------------------------------------

    @cached_property
    def _motions(self) -> LinkMotions:
        return LinkMotions(Robot(self.model), self._frames)

    def _found_by_coal(self, q: Array, v: Array, margin: float, duration: float, cone: str) -> FoundContacts:
        moved = self._moved(q, v)
        near = self._near(moved, margin + duration * self._fastest(moved) if duration else margin)
        touches = [touch for touches, _, _ in near for touch in touches]
        laws, gaps = [touch.law for touch in touches], np.array([touch.gap for touch in touches])
        empty = np.zeros((0, self.model.nv)), np.zeros(0), np.zeros(0)
        counts = [len(own) for own, _, _ in near]
        on = (np.repeat(self._frame_of[list(shapes)], counts) for shapes in list(zip(*near))[1:])
        rows = rows_of(touches, moved.frames, *on) if near else empty
        points = [(touch.point, touch.other) for touch in touches]
        directions = [(touch.normal, *touch.tangents) for touch in touches]
        return FoundContacts(laws, gaps, *rows, cone=cone, points=points, directions=directions)

    def _moved(self, q: Array, v: Array) -> _Moved:
        """Places of all shapes, and how their frames move."""
        frames = self._motions(q, v)
        R = frames.R[self._frame_of]
        return _Moved(frames, R @ self._own_R, frames.p[self._frame_of] + times(R, self._own_p))

    def _other_shapes(self) -> _Shapes:
        sides = [side.another() for side in self._sides]
        return _Shapes(
            sides, [Pair(sides[a], sides[b], pair.law) for pair, (a, b) in zip(self.pairs, self._index.tolist())]
        )

    def _close(self, shapes: _Shapes, moved: _Moved, margin: float) -> list[int]:
        """Numbers of the pairs whose shapes may be nearer than the margin; these shapes are moved there."""
        if not len(self._index):
            return []
        a, b = self._index.T
        apart = moved.p[a] - moved.p[b]
        distance = np.where(self._over_plane, (apart * self._up).sum(axis=1), np.sqrt((apart * apart).sum(axis=1)))
        close = np.flatnonzero(distance - self._reaches <= margin)
        for k in {int(shape) for shape in self._index[close].flat} - self._pinned:
            shapes.sides[k].move(moved.R[k], moved.p[k])
        found: list[int] = close.tolist()
        return found

    def _near(self, moved: _Moved, margin: float) -> list[tuple[list[Touch], int, int]]:
        """Touches of each pair that is near, and the numbers of its shapes."""
        shapes = self._moving.take()
        close = self._close(shapes, moved, margin)
        found = [(shapes.pairs[k].touches(margin), *self._index[k].tolist()) for k in close]
        self._moving.give(shapes)
        return [near for near in found if near[0]]

    def _fastest(self, moved: _Moved) -> float:
        """How fast two shapes may come near to each other, m/s."""
        speeds, turns = (np.sqrt((part * part).sum(axis=1)) for part in (moved.frames.v, moved.frames.w))
        arms = moved.p - moved.frames.p[self._frame_of]
        far = np.sqrt((arms * arms).sum(axis=1)) + self._finite_reach
        return 2.0 * float((speeds[self._frame_of] + turns[self._frame_of] * far).max(initial=0.0))
