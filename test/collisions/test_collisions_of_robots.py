# SPDX-License-Identifier: Apache-2.0
"""Shapes of real descriptions: where they are, and how far apart, against Pinocchio's own reading of them."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.models.robots import load_twin, needs_pinocchio, robot_file

from rbd_dynamics.scene.mesh_files import MeshFinder

pytest.importorskip("coal")
from rbd_dynamics.collisions import CollisionSet, collision_shapes
from rbd_dynamics.collisions.narrow_phase import Side


@needs_pinocchio
@pytest.mark.parametrize("name", ["anymal_b_simple_description/anymal", "hyq_no_sensors"])
def test_distances_between_primitives_of_robots(name):
    """Of those that are 1 mm to 10 cm apart; all their poses."""
    import pinocchio as pin

    twin, file = load_twin(name), robot_file(name)
    share = str(file.parents[3])
    theirs = pin.buildGeomFromUrdf(
        twin.pinocchio, str(file), pin.GeometryType.COLLISION, None, [share, str(file.parents[4])]
    )
    shapes = collision_shapes(twin.model, file.read_text(), find=MeshFinder(near=file).find)
    primitive = [shape for shape in shapes if shape.kind != "mesh"]
    assert len(theirs.geometryObjects) == len(shapes) and len(primitive) > 4
    number = {shape.name: theirs.getGeometryId(_their_name(shape.name)) for shape in primitive}
    found = CollisionSet(twin.model, primitive)
    for pair in found.pairs:
        theirs.addCollisionPair(pin.CollisionPair(*sorted(number[part] for part in pair)))
    rng, compared = np.random.default_rng(2), 0
    for _ in range(4):
        q = twin.random_state(rng).q
        gaps = {}
        for touch in found.contacts(q, margin=0.1):
            gaps[touch.law.name] = min(touch.gap, gaps.get(touch.law.name, np.inf))
        data, geometry = twin.pinocchio.createData(), theirs.createData()
        pin.computeDistances(twin.pinocchio, data, theirs, geometry, twin.q(q))
        for (one, other), result in zip(found.pairs, geometry.distanceResults):
            if 1e-3 < result.min_distance < 0.09:
                compared += 1
                assert gaps[f"{one} on {other}"] == pytest.approx(result.min_distance, abs=1e-5), (one, other)
        moved = found.finder._moved(q, np.zeros(twin.model.nv))
        for shape, R, p in zip(found.shapes, moved.R, moved.p):
            pose = geometry.oMg[number[shape.name]]
            np.testing.assert_allclose(p, pose.translation, atol=1e-9)
            np.testing.assert_allclose(R, pose.rotation, atol=1e-9)
    assert compared > 3


def _their_name(name):
    link, _, k = name.rpartition(" ")
    return f"{link}_{k}" if link else f"{name}_0"


@needs_pinocchio
def test_hulls_of_meshes_hold_their_points():
    file = robot_file("panda")
    shapes = collision_shapes(load_twin("panda").model, file.read_text(), find=MeshFinder(near=file).find)
    meshes = [shape for shape in shapes if shape.kind == "mesh"]
    assert meshes
    for shape in meshes:
        heights = Side(shape).feature(np.array([0.0, 0.6, 0.8])).points @ [0.0, 0.6, 0.8]
        assert heights.max() == pytest.approx((shape.points @ [0.0, 0.6, 0.8]).max(), abs=1e-12)
