# SPDX-License-Identifier: Apache-2.0
"""Shapes of one model that may touch each other, and their contacts at a configuration."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.collisions.finding import PairFinder
from rbd_dynamics.collisions.narrow_phase import ROUGH, Pair, Side
from rbd_dynamics.collisions.overlaps import NEIGHBOURS, overlapping_for_good
from rbd_dynamics.collisions.shapes import CollisionShape
from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.common.real_numbers import real_number
from rbd_dynamics.constraints import WORLD_FRAME
from rbd_dynamics.contacts import Contact, ContactFinder, FoundContacts
from rbd_dynamics.contacts.laws import LAWS, law_of
from rbd_dynamics.model.joints import Floating
from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.spatial.se3 import Transform

Array = NDArray[np.float64]
Names = tuple[str, str]

MARGIN = 1e-3  # m
LAW = ("friction_coefficient", "restitution", "compliance", "damping")


class CollisionSet(ContactFinder):
    """Convex shapes; which of them may touch, and by which laws. Threads may share it.

    Shapes do not touch whose links are one body, or are neighbours by a joint that is not floating, nor what overlaps
    for good (`overlaps`). What has the frame "world" touches all that moves. `pairs` are those that may touch,
    `ignored` those that may not, with the reason.

    Parameters:
        shapes: with different names.
        ignore: pairs of names, of shapes or frames, that do not touch either.
        ignore_overlapping: find pairs that overlap for good, and ignore them: what overlaps in the start position and
            in 95 of 100 random ones within the limits, always the same ones; and, if they overlap at the start,
            neighbours with nothing between them but links without shapes. Links count with all their shapes.
        friction_coefficient, restitution, compliance, damping: as `Contact` has them, of all pairs.
        laws: {pair of names, of shapes or frames: other values of these for it}.
        cone: as `ContactSet` has it.

    Raises KeyError for unknown names, TypeError and ValueError for what makes no sense, ModuleNotFoundError without
    `coal`.
    """

    def __init__(
        self,
        model: Model,
        shapes: Iterable[CollisionShape],
        *,
        ignore: Iterable[Names] = (),
        ignore_overlapping: bool = True,
        friction_coefficient: float = 0.5,
        restitution: float = 0.0,
        compliance: float = 0.0,
        damping: float = 0.0,
        laws: Mapping[Names, Mapping[str, float]] | None = None,
        cone: str = LAWS[0].name,
    ) -> None:
        law_of(cone)
        if not isinstance(model, Model):
            raise TypeError(f"model must be a Model, not {type(model).__name__}")
        _check_kinds(shapes=shapes, ignore=ignore, laws={} if laws is None else laws)
        if not isinstance(ignore_overlapping, (bool, np.bool_)):
            raise TypeError(f"ignore_overlapping {excerpt(ignore_overlapping)} is neither true nor false")
        self.model, self.shapes, self.cone = model, tuple(shapes), cone
        for shape in self.shapes:
            if not isinstance(shape, CollisionShape):
                raise TypeError(f"shapes must be CollisionShapes, not {excerpt(shape)}")
        repeated = [name for name, count in Counter(shape.name for shape in self.shapes).items() if count > 1]
        if repeated:
            raise ValueError(f"collision shape name {excerpt(repeated[0])} occurs twice")
        self._bodies = [self._body(shape) for shape in self.shapes]
        self._places = [self._placement(shape) for shape in self.shapes]
        common = dict(zip(LAW, (friction_coefficient, restitution, compliance, damping)))
        _law("of all pairs", "frame", "reference", common)
        others = [(self._chosen(names), values) for names, values in (laws or {}).items()]
        for (one, other), values in (laws or {}).items():  # also those of pairs that never touch
            if not isinstance(values, Mapping):
                raise TypeError(f"laws: {excerpt(values)} of {one!r} and {other!r} is not a dictionary")
            _law(f"{one} on {other}", one, other, {**common, **values})
        ignored = [self._chosen(names) for names in ignore]
        self._sides = [Side(shape) for shape in self.shapes]
        #: {pair of shapes of different bodies that do not touch, by name: why}
        self.ignored: dict[Names, str] = {}
        pairs: list[Pair] = []
        order = sorted(
            range(len(self.shapes)), key=lambda k: (self.shapes[k].kind != "plane", self._bodies[k] != WORLD)
        )
        index = []
        for i, lower in enumerate(order):
            for upper in order[i + 1 :]:
                if self._bodies[lower] == self._bodies[upper]:
                    continue
                if not self._may_touch(lower, upper):
                    self._ignore(upper, lower, NEIGHBOURS)
                    continue
                if any(_matches(two, lower, upper) for two in ignored):
                    self._ignore(upper, lower, "given")
                    continue
                values = dict(common)
                for two, own in others:
                    values.update(own if _matches(two, lower, upper) else {})
                law = self._law_of(self.shapes[upper], self.shapes[lower], values)
                pairs.append(Pair(self._sides[upper], self._sides[lower], law))
                index.append((upper, lower))
        self._pinned = {k for k, body in enumerate(self._bodies) if body == WORLD}
        for k in self._pinned:
            self._sides[k].move(*self._places[k])
        for k, reason in sorted(self._for_good(pairs, index).items(), reverse=True) if ignore_overlapping else ():
            del pairs[k]
            self._ignore(*index.pop(k), reason)
        #: pairs of shapes that may touch, by name
        self.pairs = tuple((self.shapes[a].name, self.shapes[b].name) for a, b in index)
        moving = [None if body == WORLD else shape.frame for shape, body in zip(self.shapes, self._bodies)]
        numbers = np.array(index, dtype=np.intp).reshape(-1, 2)
        #: what finds; steps in machine code have searches of their own from it
        self.finder = PairFinder(model, self._sides, moving, self._places, pairs, numbers)

    def contacts(self, q: ArrayLike, *, margin: float = MARGIN) -> Any:
        """All points of contact where shapes are nearer than the margin (m): a list of `Touch`.

        Several where edges or faces meet; gaps are negative where shapes overlap. Of a batch (..., nq) lists of such
        lists, an axis in an axis.
        """
        positions, limit = self.model.configuration(q), _margin(margin)
        if positions.ndim > 1:
            return [self.contacts(part, margin=margin) for part in positions]
        return self.finder.touches(positions, limit)

    def distances(self, q: ArrayLike, *, margin: float = math.inf) -> Array:
        """(..., pairs) of each of `pairs`, m, to 1e-6; negative where they overlap, infinite beyond the margin.

        Parameters:
            q: (..., nq). margin: m; what is surely further away costs next to nothing.
        """
        positions, limit = self.model.configuration(q), _margin(margin)
        found = np.full((*positions.shape[:-1], len(self.pairs)), np.inf)
        for k in np.ndindex(*positions.shape[:-1]):
            found[k] = self.finder.distances(positions[k], limit)
        return found

    def found(self, q: Array, v: Array, *, margin: float = MARGIN, duration: float = 0.0) -> FoundContacts:
        """Contacts as rows for dynamics. duration: s, in which nothing shall come that is not among them."""
        return self.finder.found(q, v, margin, duration, self.cone)

    @property
    def laws(self) -> tuple[Contact, ...]:
        """The law of each of `pairs`."""
        return tuple(pair.law for pair in self.finder.pairs)

    # --- which may touch --------------------------------------------------------------------------

    @staticmethod
    def _law_of(one: CollisionShape, other: CollisionShape, values: Mapping[str, float]) -> Contact:
        return _law(f"{one.name} on {other.name}", one.frame, other.frame, values)

    def _ignore(self, upper: int, lower: int, reason: str) -> None:
        self.ignored[self.shapes[upper].name, self.shapes[lower].name] = reason

    def _for_good(self, pairs: list[Pair], index: list[tuple[int, int]]) -> dict[int, str]:
        """{number of a pair whose links overlap for good: why}. What stands in the world is as a link of its own."""
        numbers: dict[frozenset[Any], list[int]] = {}
        for k, two in enumerate(index):
            owners = (shape if self.shapes[shape].frame == WORLD_FRAME else self.shapes[shape].frame for shape in two)
            numbers.setdefault(frozenset(owners), []).append(k)

        def overlaps(poses: list[Transform], number: int) -> bool:
            for k in groups[number]:
                for shape in index[k]:
                    self._put(shape, poses)
                if pairs[k].depth() > ROUGH:
                    return True
            return False

        groups = list(numbers.values())
        first = [index[group[0]] for group in groups]
        bodies = [(self._bodies[a], self._bodies[b]) for a, b in first]
        links = [WORLD_FRAME not in (self.shapes[a].frame, self.shapes[b].frame) for a, b in first]
        found = overlapping_for_good(self.model, bodies, links, frozenset(self._bodies), overlaps)
        return {k: reason for number, reason in found.items() for k in groups[number]}

    def _put(self, shape: int, poses: list[Transform]) -> None:
        """A shape to where it is with these poses of the bodies."""
        if shape not in self._pinned:
            frame = self.model.frame(self.shapes[shape].frame)
            pose = poses[frame.body] @ frame.placement @ self.shapes[shape].placement
            pose = Transform.of(pose.rotation, pose.p)
            self._sides[shape].move(np.array(pose.rotation).reshape(3, 3), np.array(pose.p))

    def _body(self, shape: CollisionShape) -> int:
        if shape.frame == WORLD_FRAME:
            return WORLD
        try:
            body = self.model.frame(shape.frame).body
        except KeyError as error:
            raise KeyError(f"collision shape {excerpt(shape.name)}: {error.args[0]}") from None
        if shape.kind == "plane" and body != WORLD:
            raise ValueError(f"collision shape {excerpt(shape.name)}: a plane cannot move with {excerpt(shape.frame)}")
        return body

    def _placement(self, shape: CollisionShape) -> tuple[Array, Array]:
        """Placement of the shape in its frame, or in the world for what does not move."""
        pose = shape.placement
        if shape.frame != WORLD_FRAME and self.model.frame(shape.frame).body == WORLD:
            pose = self.model.frame(shape.frame).placement @ pose
        pose = Transform.of(pose.rotation, pose.p)
        return np.array(pose.rotation, dtype=float).reshape(3, 3), np.array(pose.p, dtype=float)

    def _may_touch(self, one: int, other: int) -> bool:
        bodies = self._bodies[one], self._bodies[other]
        if WORLD_FRAME in (self.shapes[one].frame, self.shapes[other].frame):
            return True
        for child, parent in (bodies, bodies[::-1]):
            if child != WORLD and self.model.bodies[child].parent == parent:
                return isinstance(self.model.bodies[child].joint.kind, Floating)
        return True

    def _chosen(self, names: Any) -> tuple[set[int], set[int]]:
        """The shapes that each of two names means."""
        if isinstance(names, str) or len(names) != 2:
            raise ValueError(f"collision pair {excerpt(names)} is not two names")
        found = []
        for name in names:
            meant = {k for k, shape in enumerate(self.shapes) if name in (shape.name, shape.frame)}
            if not meant:
                raise KeyError(f"no collision shape or frame named {excerpt(name)}")
            found.append(meant)
        return found[0], found[1]


def _check_kinds(*, shapes: object, ignore: object, laws: object) -> None:
    for what, value in (("shapes", shapes), ("ignore", ignore)):
        if not isinstance(value, Iterable):
            raise TypeError(f"{what}: expected a list, not {excerpt(value)}")
    if not isinstance(laws, Mapping):
        raise TypeError(f"laws: expected {{pair: numbers}}, not {excerpt(laws)}")


def _margin(margin: float) -> float:
    """Checked. Raises ValueError."""
    try:
        found = real_number(margin)
    except ValueError as error:
        raise ValueError(f"margin {excerpt(margin)} {error}") from None
    if math.isnan(found):
        raise ValueError("margin is nan")
    return found


def _matches(two: tuple[set[int], set[int]], one: int, other: int) -> bool:
    return (one in two[0] and other in two[1]) or (other in two[0] and one in two[1])


def _law(name: str, frame: str, reference: str, values: Mapping[str, float]) -> Contact:
    if set(values) - set(LAW):
        raise ValueError(f"contact {excerpt(name)}: its law {dict(values)} has others than {', '.join(LAW)}")
    friction, restitution, compliance, damping = (values[key] for key in LAW)
    return Contact(
        name,
        frame,
        reference=reference,
        friction_coefficient=friction,
        restitution=restitution,
        compliance=compliance,
        damping=damping,
    )
