# SPDX-License-Identifier: Apache-2.0
"""How contacts of shapes move: gaps against coal's distances, rows and their rates against differences."""

from __future__ import annotations

import numpy as np
import pytest

import rbd_dynamics as rbd
from rbd_dynamics.model.joints import Floating

coal = pytest.importorskip("coal")
from rbd_dynamics.collisions import CollisionSet, CollisionShape  # noqa: E402
from rbd_dynamics.collisions.shapes import coal_geometry  # noqa: E402

TETRAHEDRON = np.array([(0.0, 0.0, -0.1), (0.1, 0.02, 0.1), (-0.07, 0.08, 0.1), (-0.03, -0.09, 0.08)])
SHAPES = {
    "sphere": {"size": (0.1,)},
    "capsule": {"size": (0.05, 0.3)},
    "box": {"size": (0.2, 0.3, 0.25)},
    "cylinder": {"size": (0.12, 0.2)},
    "mesh": {"points": TETRAHEDRON},
}
#: (kind above, its turn, kind below, its turn, offset of the upper one to the side): each another kind of meeting
MEETINGS = {
    "ball on plane": ("sphere", (0.3, -0.5, 1.0), "plane", None, (0.0, 0.0)),
    "ball on ball": ("sphere", (0.0, 0.0, 0.0), "sphere", (0.2, 0.1, 0.4), (0.05, -0.03)),
    "ball on a moving face": ("sphere", (0.0, 0.0, 0.0), "box", (0.1, 0.15, 0.4), (0.02, -0.03)),
    "ball on a capsule's side": ("sphere", (0.0, 0.0, 0.0), "capsule", (1.4, 0.2, 0.1), (0.02, 0.01)),
    "capsule's end on plane": ("capsule", (0.3, 0.2, 0.1), "plane", None, (0.0, 0.0)),
    "crossed capsules": ("capsule", (1.5, 0.0, 0.0), "capsule", (0.1, 1.45, 0.2), (0.02, 0.01)),
    "rim on plane": ("cylinder", (0.5, 0.3, 0.1), "plane", None, (0.0, 0.0)),
    "rim on a moving face": ("cylinder", (0.5, 0.3, 0.1), "box", (0.1, 0.05, 0.4), (0.02, 0.08)),
    "corner on plane": ("box", (0.6, 0.5, 0.1), "plane", None, (0.0, 0.0)),
    "corner on a moving face": ("mesh", (0.1, 0.2, 0.0), "box", (0.1, 0.05, 0.4), (0.02, 0.01)),
    "a face on a corner that moves": ("box", (0.1, 0.05, 0.4), "mesh", (np.pi - 0.1, 0.2, 0.0), (0.01, 0.02)),
    "ball on a corner": ("sphere", (0.0, 0.0, 0.0), "mesh", (np.pi - 0.1, 0.2, 0.0), (0.01, 0.02)),
    "crossed edges": ("box", (0.8, 0.05, 0.0), "box", (0.05, 0.75, 0.0), (0.01, 0.02)),
}


def two_bodies():
    builder = rbd.ModelBuilder("two")
    for name in ("above", "below"):
        builder.add_body(name, None, Floating(), mass=1.0, inertia=0.01 * np.eye(3))
    return builder.build()


MODEL = two_bodies()


def quaternion(turn):
    half = 0.5 * np.asarray(turn, dtype=float)
    angle = np.linalg.norm(half)
    return [*(half * np.sinc(angle / np.pi)), np.cos(angle)]


def meeting(name, gap):
    """The set and a position with that gap."""
    kind, turn, other, other_turn, (x, y) = MEETINGS[name]
    shapes = [
        CollisionShape("below", "world" if other == "plane" else "below", other, **SHAPES.get(other, {})),
        CollisionShape("above", "above", kind, **SHAPES[kind]),
    ]
    shapes_set = CollisionSet(MODEL, shapes)
    q = np.array([x, y, 0.5, *quaternion(turn), 0.0, 0.0, 0.0, *quaternion(other_turn or (0.0, 0.0, 0.0))])
    for _ in range(30):
        (touch,) = shapes_set.contacts(q, margin=1.0)
        q[:3] -= (touch.gap - gap) * touch.normal
        if abs(touch.gap - gap) < 1e-13:
            break
    return shapes_set, q


def distance(shapes_set, q):
    """By coal alone."""
    poses = []
    for shape in shapes_set.shapes:
        at = 0 if shape.frame == "above" else 7
        R, p = np.eye(3), np.zeros(3)
        if shape.frame != "world":
            x, y, z, w = q[at + 3 : at + 7]
            axis = np.array([x, y, z])
            R = np.eye(3) + 2.0 * w * hat(axis) + 2.0 * hat(axis) @ hat(axis)
            p = q[at : at + 3]
        poses.append(coal.Transform3s(R, p))
    one, other = map(coal_geometry, shapes_set.shapes)
    request = coal.DistanceRequest()
    return coal.distance(one, poses[0], other, poses[1], request, coal.DistanceResult())


def hat(a):
    return np.cross(np.eye(3), a)


@pytest.mark.parametrize("name", MEETINGS)
def test_gaps_are_the_distances_and_change_as_the_rows_say(name):
    shapes_set, q = meeting(name, 4e-3)
    v = np.random.default_rng(3).uniform(-1.0, 1.0, 12)
    assert shapes_set.contacts(q, margin=1.0)[0].gap == pytest.approx(distance(shapes_set, q), abs=1e-6)
    h = 1e-4
    before, after = (distance(shapes_set, MODEL.integrate(q, s * h * v)) for s in (-1.0, 1.0))
    found = shapes_set.found(q, v, margin=0.1)
    assert found.velocity[0] == pytest.approx((after - before) / (2.0 * h), abs=1e-3)  # coal: some 1e-8 m
    np.testing.assert_allclose(found.velocity, found.A @ v, atol=1e-12)


@pytest.mark.parametrize("name", MEETINGS)
def test_rates_of_the_rows_are_those_of_differences(name):
    """The normal turns and the point wanders over both bodies; the tangents do not turn about the normal."""
    shapes_set, q = meeting(name, 1e-9)
    v = np.random.default_rng(4).uniform(-1.0, 1.0, 12)
    h = 1e-4

    def slip(s):
        at = MODEL.integrate(q, s * h * v)
        (touch,) = shapes_set.contacts(at, margin=0.1)
        found = shapes_set.found(at, v, margin=0.1)
        return found.velocity[0], found.velocity[1:] @ touch.tangents

    (before, slip_before), (after, slip_after) = slip(-1.0), slip(1.0)
    tangents = shapes_set.contacts(q, margin=0.1)[0].tangents
    rates = np.r_[(after - before) / (2.0 * h), tangents @ (slip_after - slip_before) / (2.0 * h)]
    np.testing.assert_allclose(shapes_set.found(q, v, margin=0.1).bias, rates, rtol=2e-4, atol=2e-4)
