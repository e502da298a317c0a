# SPDX-License-Identifier: Apache-2.0
"""A robot in a picture: shapes have their size and place, and what is nearer hides what is farther."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull

pytest.importorskip("matplotlib")
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from rbd_dynamics import load_urdf
from rbd_dynamics.scene import MeshFinder, scene_of
from rbd_dynamics.scene.on_paper import View, draw_robot, triangles_of

FRONT = View(azimuth=0.0, elevation=0.0)  # looks along -x: y is right, z is up


def scene(geometry, origin="0 0 0", folder=None):
    visual = f"<visual><origin xyz='{origin}'/><geometry>{geometry}</geometry></visual>"
    urdf = f"<robot name='one'><link name='base'>{visual}</link></robot>"
    return scene_of(load_urdf(urdf), urdf, find=MeshFinder(folders=[] if folder is None else [folder]).find)


@pytest.mark.parametrize(
    ("geometry", "volume", "size"),
    [
        ("<box size='0.1 0.2 0.3'/>", 0.006, (0.1, 0.2, 0.3)),
        ("<sphere radius='0.1'/>", 4 / 3 * np.pi * 1e-3, (0.2, 0.2, 0.2)),
        ("<cylinder radius='0.1' length='0.4'/>", np.pi * 0.01 * 0.4, (0.2, 0.2, 0.4)),
        ("<capsule radius='0.1' length='0.4'/>", np.pi * 0.01 * 0.4 + 4 / 3 * np.pi * 1e-3, (0.2, 0.2, 0.6)),
    ],
)
def test_shapes_have_their_size_and_place(geometry, volume, size):
    corners = triangles_of(scene(geometry, "1 2 3"))[-1].reshape(-1, 3)
    np.testing.assert_allclose(np.ptp(corners, axis=0), size, rtol=0.01)
    np.testing.assert_allclose((corners.min(axis=0) + corners.max(axis=0)) / 2.0, (1.0, 2.0, 3.0), atol=1e-6)
    assert ConvexHull(corners).volume == pytest.approx(volume, rel=0.04)


def test_a_mesh_is_what_its_file_has(tmp_path):
    corners = np.random.default_rng(0).normal(size=(50, 3, 3))
    data = np.zeros(50, np.dtype([("n", "<f4", 3), ("corners", "<f4", (3, 3)), ("a", "<u2")]))
    data["corners"] = corners
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "a.stl").write_bytes(bytes(80) + (50).to_bytes(4, "little") + data.tobytes())
    found = triangles_of(scene("<mesh filename='package://part/a.stl' scale='1 2 1'/>", folder=tmp_path))[-1]
    key = lambda triangles: np.sort(triangles.sum(axis=1), axis=0)  # noqa: E731 - in whatever order
    np.testing.assert_allclose(key(found), key(corners * [1.0, 2.0, 1.0]), atol=1e-3)


def test_what_is_nearer_is_drawn_last_and_what_looks_up_is_lighter():
    axes = Figure().subplots()
    flat = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    upwards = np.array([[0.3, 0.0, 0.0], [0.3, 1.0, 0.0], [0.0, 0.0, 0.1]])
    draw_robot(axes, {-1: np.stack([flat + [2.0, 0, 0], upwards]), 0: flat[None]}, {-1: np.eye(4), 0: pose(5.0)},
               FRONT, color="#ffffff")  # fmt: skip
    (drawn,) = axes.collections
    first, second, third = drawn.get_facecolors()[:, 0]
    assert first > second == third  # the one that looks up is the farthest
    np.testing.assert_allclose(drawn.get_paths()[2].vertices[:3], flat[:, 1:], atol=1e-12)


def test_what_is_pale_is_nearly_white():
    axes = Figure().subplots()
    triangle = {-1: np.array([[[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]])}
    draw_robot(axes, triangle, {-1: np.eye(4)}, FRONT, color="#00798c", pale=0.8)
    color = axes.collections[0].get_facecolors()[0, :3]
    assert (color >= 0.8).all() and (color < 1.0).all() and color[0] < color[2] < to_rgb("white")[0]


def pose(x):
    found = np.eye(4)
    found[0, 3] = x
    return found
