# SPDX-License-Identifier: Apache-2.0
"""The search for contacts of a set of shapes in machine code, and what coal is asked besides.

Planes, spheres, capsules, boxes and hulls of meshes are done here; cylinders as far as they are far away, or lie on or
lean over a plane. What machine code cannot prove, pair by pair, `Pair` finds: other pairs with cylinders, a cylinder
that stands on a plane, and what overlaps deeply.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.collisions.features import fine_tolerance_of, tolerance_of
from rbd_dynamics.collisions.loops import boxes, features, nearest, pairs, polygons, rows, search, simplices, touches
from rbd_dynamics.collisions.loops.layout import (
    BOX,
    COMPLIANCE,
    COUNTS,
    CYLINDER,
    FRAME,
    GAP,
    HULL,
    MOST,
    NORMAL,
    OTHER,
    PLANE,
    POINT,
    RADII,
    SHAPE,
    SHARE,
    TANGENTS,
    TOUCH,
    WORK,
)
from rbd_dynamics.collisions.motion import LinkMotions
from rbd_dynamics.collisions.narrow_phase import Curvature, Touch
from rbd_dynamics.collisions.shapes import CollisionShape
from rbd_dynamics.compiler.loops import Loops
from rbd_dynamics.contacts import Contact

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
ROOM = 64  # touches, at first


@functools.cache
def search_loops() -> Loops:
    """The search."""
    near = (
        simplices.between, simplices.inner, simplices.on_segment, simplices.on_triangle, simplices.is_within,
        simplices.kept, simplices.reduced, nearest.furthest, nearest.nearest,
    )  # fmt: skip
    parts = (
        features.put, features.put_rim, features.rank_of, features.feature, features.along, features.fit,
        features.radii, polygons.outline, polygons.cut, polygons.overlap, polygons.distinct, polygons.few,
    )  # fmt: skip
    met = (
        touches.basis, touches.features, touches.crossing, touches.exact_normal, touches.polygon, touches.onto_edge,
        touches.cross_each_other, touches.curvature, touches.written, boxes.depth_along, boxes.least_overlap,
    )  # fmt: skip
    whole = (pairs.ends, pairs.on_plane, pairs.direction, pairs.touches)
    last = (rows.rates, search.placed, search.fastest, search.is_apart, search.find_contacts)
    return Loops(*near, *parts, *met, *whole, *last, machine_code=True)


@functools.cache
def row_loops() -> Loops:
    """Rows of what was found."""
    return Loops(rows.crossed, rows.arm_of, rows.row_parts, rows.point_rates, rows.contact_rows, machine_code=True)


class Tables(NamedTuple):
    """What shapes and pairs are, as `loops.layout` has it: whole numbers, numbers, corners, pairs of shapes."""

    S: Indices
    N: Array
    C: Array
    both: Indices

    @staticmethod
    def of(
        shapes: Sequence[CollisionShape],
        frames: NDArray[np.intp],
        places: Sequence[tuple[Array, Array]],
        index: NDArray[np.intp],
    ) -> Tables:
        """frames: number of each shape's. places: R and p in them. index (pairs, 2)."""
        kinds, numbers, corners, first = [], [], [np.zeros((0, 3))], 0
        for shape, frame, (R, p) in zip(shapes, frames, places):
            kind = {"plane": PLANE, "cylinder": CYLINDER, "box": BOX}.get(shape.kind, HULL)
            own = shape.corners
            kinds.append((kind, first, len(own), int(frame)))
            corners.append(own)
            first += len(own)
            radius, half = (shape.size[0], 0.5 * shape.size[1]) if kind == CYLINDER else (0.0, 0.0)
            reach = 0.0 if kind == PLANE else shape.reach
            sizes = (shape.rounding, reach, tolerance_of(shape), fine_tolerance_of(shape), radius, half)
            numbers.append(np.concatenate([sizes, own.mean(axis=0), R.reshape(-1), p]))
        return Tables(
            np.array(kinds, dtype=np.int64).reshape(-1),
            np.array(numbers, dtype=float).reshape(-1),
            np.concatenate(corners).reshape(-1),
            np.ascontiguousarray(index, dtype=np.int64).reshape(-1),
        )


Ask = Callable[[Indices, Array, float], list[list[Touch]]]


class ContactSearch:
    """A workspace of one search at a time.

    Parameters:
        tables: of the set. motions: of its frames.
        ask: touches of some pairs, of all shapes' places (shapes, 12), R and p, and the margin, as coal finds them.
    """

    def __init__(self, tables: Tables, motions: LinkMotions, ask: Ask) -> None:
        self._tables, self.motions, self._ask = tables, motions, ask
        frames, nv = motions.count, motions.nv
        self._frames, self._nv = frames, nv
        self._shapes, self._pairs = len(tables.N) // 21, len(tables.both) // 2
        poses, twists, jacobians = motions.arrays()
        self._moved = (poses, twists, jacobians)
        #: how many touches were found last, and pairs for which coal has to be asked
        self.counts = np.zeros(2, dtype=np.int64)
        self._numbers = np.zeros(3)
        self._P, self._F = np.zeros((self._shapes, 12)), np.zeros((frames + 1, 12))
        self._axes, self._w = np.zeros((self._pairs, 3)), np.zeros(WORK)
        self._t, self._hard = np.zeros(COUNTS + 2 * MOST, dtype=np.int64), np.zeros(self._pairs, dtype=np.int64)
        self._make_room(ROOM)

    def _make_room(self, room: int) -> None:
        self.room, nv, tables = room, self._nv, self._tables
        #: of each touch: its numbers, its pair, the frames that it is between, and its rows
        self.touches, self.of = np.zeros((room, TOUCH)), np.zeros(room, dtype=np.int64)
        self.on = np.zeros((room, 2), dtype=np.int64)
        self.A, self.velocity, self.bias = np.zeros((room, 3, nv)), np.zeros((room, 3)), np.zeros((room, 3))
        poses, twists, jacobians = self._moved
        #: the search, true where it is complete, and the rows of what was found; for loops that call them
        self.search = search_loops().bind(
            self._shapes, self._frames, self._pairs, room, tables.S, tables.N, tables.C, tables.both, poses,
            twists, self._numbers, self._P, self._F, self._axes, self._w, self._t, self.touches, self.of,
            self.on, self._hard, self.counts,
        )  # fmt: skip
        self.rows = row_loops().bind(
            0, self._frames, self._nv, self.motions.columns, self.on, poses, jacobians, self._F, self.touches,
            np.zeros(64), np.zeros((2, 9 + 3 * nv)), self.A, self.velocity, self.bias,
        )  # fmt: skip

    @property
    def columns(self) -> Indices:
        """(pairs, 2) Of each pair the first degree of freedom that moves it, and one behind the last."""
        own = np.vstack([self.motions.columns, [[self._nv, 0]]])  # the world's
        frames = self._tables.S.reshape(-1, SHAPE)[self._tables.both.reshape(-1, 2), FRAME]
        return np.stack([own[frames, 0].min(axis=1), own[frames, 1].max(axis=1)], axis=1)

    def within(self, margin: float, duration: float) -> None:
        """Find all that is nearer than the margin (m), or comes as near within the duration (s)."""
        self._numbers[0], self._numbers[1] = margin, duration

    def look(self, q: Array, v: Array, margin: float, duration: float) -> int:
        """Find all that is `within`; how many there are."""
        self.motions.write(q, v, self._moved)
        self.within(margin, duration)
        while not self.search.run():
            found = self.completed()
            if found is not None:
                return found
        return int(self.counts[0])

    def completed(self) -> int | None:
        """How many there are after a search that was not complete; None: now there is room, it has to be done again."""
        found, asked = self.counts.tolist()
        if found > self.room:
            self._make_room(2 * found)
            return None
        return self._asked(found, asked)

    def make_rows(self, count: int) -> None:
        """Rows of what was found last, as `rows_of` has them."""
        self.rows.set(0, count)
        self.rows.run()

    def _asked(self, found: int, asked: int) -> int:
        """Put what coal finds of the hard pairs to what was found; returns how many there are."""
        hard = self._hard[:asked]
        numbers, on, rows = [], [], []
        for pair, met in zip(hard.tolist(), self._ask(hard, self._P, float(self._numbers[2]))):
            shapes = self._tables.both[2 * pair : 2 * pair + 2]
            for touch in met:
                numbers.append(pair)
                on.append(self._tables.S.reshape(-1, SHAPE)[shapes, FRAME])
                rows.append(_numbers_of(touch))
        if not rows:
            return found
        of = np.concatenate([self.of[:found], np.array(numbers, dtype=np.int64)])
        order = np.argsort(of, kind="stable")
        between = np.concatenate([self.on[:found], np.array(on)])[order]
        merged = np.concatenate([self.touches[:found], np.array(rows)])[order]
        if len(of) > self.room:
            self._make_room(2 * len(of))
        self.of[: len(of)], self.on[: len(of)], self.touches[: len(of)] = of[order], between, merged
        return len(of)


def touch_of(law: Contact, row: Array) -> Touch:
    """One touch from its numbers."""
    row = row.copy()
    parts = (row[POINT:OTHER], row[OTHER:NORMAL], row[NORMAL:TANGENTS], row[TANGENTS:GAP].reshape(2, 3))
    curved = Curvature._make(row[k : k + 4].reshape(2, 2) for k in (COMPLIANCE, SHARE, RADII))
    return Touch(law, *parts, float(row[GAP]), curved)


def _numbers_of(touch: Touch) -> Array:
    """Its row."""
    parts = (touch.point, touch.other, touch.normal, touch.tangents, np.array(touch.gap), *touch.curvature)
    return np.concatenate([part.reshape(-1) for part in parts])
