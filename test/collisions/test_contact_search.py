# SPDX-License-Identifier: Apache-2.0
"""The search for contacts in machine code: random pairs of each kind against what proves itself, and against coal.

A direction along which two convex shapes are apart by a length proves that they are at least so far apart, and two
points of theirs that they are at most so far apart: where both agree nothing has to be believed.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from helpers.wide import wide

import rbd_dynamics as rbd
from rbd_dynamics.compiler.backends import why_no_machine_code
from rbd_dynamics.model.joints import Floating

pytest.importorskip("coal")
from rbd_dynamics.collisions import CollisionSet, CollisionShape

pytestmark = pytest.mark.skipif(why_no_machine_code() is not None, reason="without a compiler coal finds everything")
KINDS = ("sphere", "capsule", "box", "mesh", "cylinder")
DONE = [(one, other) for k, one in enumerate(KINDS[:4]) for other in ("plane", *KINDS[: k + 1])]
GAPS = (8e-4, 1e-4, 0.0, -1e-4, -8e-4)  # m
EACH = 30  # poses of two shapes


def two_bodies():
    builder = rbd.ModelBuilder("two")
    for name in ("above", "below"):
        builder.add_body(name, None, Floating(), mass=1.0, inertia=0.01 * np.eye(3))
    return builder.build()


MODEL = two_bodies()
ROBOT = rbd.Robot(MODEL)


def shape_of(kind, name, frame, rng):
    if kind == "plane":
        return CollisionShape(name, "world", "plane")
    size = rng.uniform(0.08, 0.4, {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3}.get(kind, 0))
    points = rng.normal(size=(12, 3)) * rng.uniform(0.08, 0.3, 3) if kind == "mesh" else ()
    return CollisionShape(name, frame, kind, size=tuple(size), points=points)


def near(shapes, gap, rng):
    """A random position in which the two are about that far apart; None where they did not come together."""
    q = MODEL.random(rng)
    way = rng.normal(size=3)
    if shapes.shapes[1].kind == "plane":
        way = np.array([0.0, 0.0, 1.0])
    q[:3], q[7:10] = 1.5 * way / np.linalg.norm(way) + rng.normal(scale=0.02, size=3), 0.0
    for _ in range(30):
        away = shapes.distances(q)[0] - gap
        if abs(away) < 1e-6:
            return q
        q[:3] -= 0.9 * away * way / np.linalg.norm(way)
    return None


def support(shape, pose, direction):
    """How far it reaches in a direction."""
    R, p = pose
    return float((shape.corners @ (R.T @ direction)).max() + p @ direction + shape.rounding)


def apart_along(n, shapes, q):
    """How far the two are apart along a direction, and so at least."""
    upper, lower = (next(shape for shape in shapes.shapes if shape.name == name) for name in shapes.pairs[0])
    poses = {name: ROBOT.pose(q, name) for name in ("above", "below")}
    poses = {name: (pose[:3, :3], pose[:3, 3]) for name, pose in poses.items()}
    floor = 0.0 if lower.kind == "plane" else support(lower, poses[lower.frame], n)
    return -support(upper, poses[upper.frame], -n) - floor


def random_pairs(one, other, count):
    """(set, position, wanted gap)."""
    rng = np.random.default_rng(KINDS.index(one) * 10 + len(other))
    made = 0
    while made < count:
        pair = [shape_of(one, "one", "above", rng), shape_of(other, "other", "below", rng)]
        shapes = CollisionSet(MODEL, pair, ignore_overlapping=False)
        for gap in itertools.islice(itertools.cycle(GAPS), EACH):
            q = near(shapes, gap, rng)
            if q is not None:
                made += 1
                yield shapes, q, gap


@pytest.mark.parametrize("count", [90, pytest.param(7500, marks=wide)])
@pytest.mark.parametrize(("one", "other"), DONE)
def test_what_is_found_proves_itself(one, other, count):
    """The nearest touch is as near as coal says, and nearly always the direction proves it.

    Not where edges and faces that are askew by up to 1 mm count as parallel, or where shapes that overlap have several
    ways out.
    """
    proven = as_deep = overlapping = 0
    for shapes, q, _ in random_pairs(one, other, count):
        distance, touches = shapes.distances(q)[0], shapes.contacts(q, margin=2e-3)
        for touch in touches:
            assert touch.normal @ touch.normal == pytest.approx(1.0, abs=1e-12)
            np.testing.assert_allclose(touch.point - touch.other, touch.gap * touch.normal, atol=1e-12)
        n, least = touches[0].normal, min(touch.gap for touch in touches)
        proven += abs(apart_along(n, shapes, q) - least) <= 1e-9
        if distance > 1e-6:
            assert least == pytest.approx(distance, abs=2e-6)  # coal is right to 1e-6
        else:
            overlapping += 1
            as_deep += abs(least - distance) <= 2e-6
    assert proven >= 0.97 * count and as_deep >= 0.97 * overlapping >= 0.3 * count


@pytest.mark.parametrize(("one", "other"), [("cylinder", "plane"), ("cylinder", "box"), ("cylinder", "cylinder")])
def test_what_goes_by_coal_is_merged_with_the_rest(one, other):
    """The same touches as of coal alone, in the order of the pairs."""
    rng = np.random.default_rng(5)
    for _ in range(5):
        pair = [shape_of(one, "one", "above", rng), shape_of(other, "other", "below", rng)]
        shapes = CollisionSet(MODEL, [*pair, CollisionShape("floor", "world", "plane")], ignore_overlapping=False)
        q = near(CollisionSet(MODEL, pair, ignore_overlapping=False), 2e-4, rng)
        if q is None:
            continue
        found = shapes.found(q, rng.normal(size=12), margin=1.0)
        by_coal = shapes.contacts(q, margin=1.0)
        vars(shapes.finder)["searches"] = None
        alone = shapes.contacts(q, margin=1.0)
        assert [touch.law.name for touch in by_coal] == [touch.law.name for touch in alone] == list(found.names)
        for one_touch, touch in zip(by_coal, alone):
            np.testing.assert_allclose(one_touch.point, touch.point, atol=1e-9)
            assert one_touch.gap == pytest.approx(touch.gap, abs=1e-9)


def test_many_shapes_make_room_and_each_call_finds_the_same():
    """More touches than there is room for at first; what was far before is found when it comes near."""
    rng = np.random.default_rng(2)
    builder = rbd.ModelBuilder("heap")
    shapes = [CollisionShape("floor", "world", "plane")]
    for k in range(12):
        builder.add_body(f"box {k}", None, Floating(), mass=1.0, inertia=0.01 * np.eye(3))
        shapes.append(CollisionShape(f"box {k}", f"box {k}", "box", size=(0.1, 0.1, 0.1)))
    model = builder.build()
    found = CollisionSet(model, shapes)
    q = model.neutral().reshape(12, 7)
    q[:, 0], q[:, 1], q[:, 2] = 0.1 * np.arange(12), 0.0, 0.05
    near_q, far_q = q.reshape(-1).copy(), (q + [0, 0, 1, 0, 0, 0, 0]).reshape(-1)
    far_q[0::7] *= 3.0
    first = found.found(near_q, np.zeros(72))
    assert len(first) == 12 * 4 + 11 * 4
    for _ in range(3):
        assert not len(found.found(far_q, rng.normal(size=72) * 1e-3))
        again = found.found(near_q, np.zeros(72))
        assert again.names == first.names
        np.testing.assert_array_equal(again.gap, first.gap)
        np.testing.assert_array_equal(again.A, first.A)
