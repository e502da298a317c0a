# SPDX-License-Identifier: Apache-2.0
"""A robot as data for a page: shapes of the description, meshes found and made smaller, capsules for the rest."""

from __future__ import annotations

import json
from base64 import b64decode

import numpy as np
import pytest

from rbd_dynamics import ModelBuilder, load_urdf
from rbd_dynamics.common.example_robots import robots, shares
from rbd_dynamics.model.errors import Findings
from rbd_dynamics.model.joints import Helical, Spherical
from rbd_dynamics.model.shapes import urdf_shapes
from rbd_dynamics.scene import MeshFinder, scene_of, scene_scripts
from rbd_dynamics.scene.mesh_files import mesh_of
from rbd_dynamics.scene.scene import MOST
from rbd_dynamics.scene.stand_ins import capsules
from rbd_dynamics.scene.triangles import Mesh, packed, simplified, welded

INERTIAL = "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>"


def urdf(upper="", lower="", base=""):
    """An arm of two joints with these elements in its links."""
    return f"""<robot name="arm"><link name="base">{base}</link>
<link name="upper">{INERTIAL}{upper}</link><link name="lower">{INERTIAL}{lower}</link><link name="tip"/>
<joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/></joint>
<joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/><origin xyz="0 0 0.4"/>
<axis xyz="0 1 0"/></joint>
<joint name="end" type="fixed"><parent link="lower"/><child link="tip"/><origin xyz="0.3 0 0.4"/></joint></robot>"""


def element(geometry, tag="visual", origin=""):
    return f"<{tag}>{origin}<geometry>{geometry}</geometry></{tag}>"


def stl(path, corners):
    """A binary file of triangles (n, 3, 3)."""
    parts = [b"\0" * 80, len(corners).to_bytes(4, "little")]
    for triangle in np.asarray(corners, dtype="<f4"):
        parts += [b"\0" * 12, triangle.tobytes(), b"\0\0"]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(parts))
    return path


def ball(rings=60, radius=1.0):
    """A sphere (n, 3, 3), counterclockwise from outside."""
    theta, phi = np.meshgrid(np.linspace(0, np.pi, rings + 1), np.linspace(0, 2 * np.pi, 2 * rings + 1), indexing="ij")
    unit = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], axis=-1)
    p = radius * unit.round(9) + 0.0  # ends of a circle are the same point
    a, b, c, d = p[:-1, :-1], p[1:, :-1], p[1:, 1:], p[:-1, 1:]
    return np.concatenate([np.stack([a, b, c], -2).reshape(-1, 3, 3), np.stack([a, c, d], -2).reshape(-1, 3, 3)])


def unpacked(entry):
    points = np.frombuffer(b64decode(entry["points"]), "<u2").reshape(-1, 3)
    triangles = np.frombuffer(b64decode(entry["triangles"]), "<u4" if entry["wide"] else "<u2").reshape(-1, 3)
    return np.array(entry["low"]) + points * np.array(entry["step"]), triangles


# --- the description ------------------------------------------------------------------------------


def test_shapes_of_a_description_with_their_places():
    origin = "<origin xyz='1 2 3' rpy='0 0 1.5707963267948966'/>"
    parts = "".join(
        element(geometry, origin=origin)
        for geometry in (
            "<box size='1 2 3'/>", "<cylinder radius='0.1' length='2'/>", "<sphere radius='0.5'/>",
            "<capsule radius='0.2' length='1'/>", "<mesh filename='package://a/b.stl' scale='2 2 -2'/>",
        )
    )  # fmt: skip
    findings = Findings()
    found = urdf_shapes(urdf(upper=parts), findings)
    assert not findings and list(found) == ["upper"] and not found["upper"]["collision"]
    shapes = found["upper"]["visual"]
    assert [shape.kind for shape in shapes] == ["box", "cylinder", "sphere", "capsule", "mesh"]
    assert [shape.size for shape in shapes] == [(1, 2, 3), (0.1, 2), (0.5,), (0.2, 1), (2, 2, -2)]
    assert shapes[4].file == "package://a/b.stl"
    np.testing.assert_allclose(shapes[0].placement.rotate((1.0, 0.0, 0.0)), (0, 1, 0), atol=1e-15)
    assert shapes[0].placement.p == (1, 2, 3)


@pytest.mark.parametrize(
    ("geometry", "said"),
    [
        ("<box size='1 2'/>", "link 'upper': <box> size='1 2' is not 3 numbers"),
        ("<sphere/>", "link 'upper': <sphere> has no 'radius'"),
        ("<mesh/>", "link 'upper': <mesh> has no 'filename'"),
        ("<cylinder radius='nan' length='1'/>", "link 'upper': <cylinder> radius='nan' is not a finite number"),
    ],
)
def test_a_faulty_shape_is_left_out_and_named(geometry, said):
    text = urdf(upper=element(geometry) + element("<sphere radius='0.3'/>"))
    scene = scene_of(load_urdf(text), text)
    assert scene.left_out == (said,)
    assert [shape["kind"] for shape in scene.content["shapes"] if shape["body"] == 0] == ["sphere"]


def test_shapes_are_placed_in_the_bodies_that_carry_their_links():
    """A link on a fixed joint, one on the world, and links whose joint is locked."""
    text = urdf(lower=element("<sphere radius='0.1'/>"), base=element("<box size='1 1 1'/>"))
    tip = element("<sphere radius='0.2'/>")
    text = text.replace('<link name="tip"/>', f'<link name="tip">{tip}</link>')
    content = scene_of(load_urdf(text), text).content
    placed = {(shape["body"], shape["kind"], *shape["size"]): shape["at"][3::4] for shape in content["shapes"]}
    assert placed == {(1, "sphere", 0.1): [0, 0, 0], (1, "sphere", 0.2): [0.3, 0, 0.4], (-1, "box", 1, 1, 1): [0, 0, 0],
                      (0, "capsule", 0.054, 0.4): [0, 0, 0.2]}  # fmt: skip
    locked = scene_of(load_urdf(text, locked={"elbow": np.pi / 2}), text).content
    (small,) = [shape for shape in locked["shapes"] if shape["size"] == [0.1]]
    assert small["body"] == 0
    np.testing.assert_allclose(
        np.reshape(small["at"], (3, 4)), [[0, 0, 1, 0], [0, 1, 0, 0], [-1, 0, 0, 0.4]], atol=1e-7
    )


def test_collision_or_visual_first():
    text = urdf(upper=element("<box size='1 1 1'/>") + element("<sphere radius='1'/>", "collision"))
    kinds = {
        prefer: {s["kind"] for s in scene_of(load_urdf(text), text, prefer=prefer).content["shapes"] if s["body"] == 0}
        for prefer in ("visual", "collision")
    }
    assert kinds == {"visual": {"box"}, "collision": {"sphere"}}


# --- capsules -------------------------------------------------------------------------------------


def test_without_shapes_capsules_join_the_joints():
    model = load_urdf(urdf())
    ends = {}
    for body, shapes in capsules(model).items():
        for shape in shapes:
            if shape.kind == "capsule":
                half = shape.placement.rotate((0.0, 0.0, shape.size[1] / 2.0))
                ends[body] = [tuple(np.add(shape.placement.p, sign * np.array(half)).round(12)) for sign in (-1, 1)]
    assert ends == {0: [(0, 0, 0), (0, 0, 0.4)], 1: [(0, 0, 0), (0.3, 0, 0.4)]}
    scene = scene_of(model, None)
    assert scene.stand_ins == ("upper", "lower") and not scene.left_out and not scene.still


def test_joints_that_move_along_no_single_screw_are_named():
    """They are drawn where they start; text that is no URDF says nothing of shapes."""
    builder = ModelBuilder("mixed")
    builder.add_body("cup", None, Spherical(), joint_name="ball", placement=(0, 0, 0.5), mass=1.0, com=(0, 0, 0.1))
    builder.add_body("nut", "cup", Helical((0, 0, 1), 0.01), joint_name="thread", mass=1.0, com=(0, 0.1, 0))
    scene = scene_of(builder.build(), "name: mixed")
    assert scene.still == ("ball",) and scene.content["joints"] == ["thread"]
    ball, thread = scene.content["bodies"]
    assert ball["twist"] is None and ball["at"] == [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0.5]
    assert (thread["parent"], thread["twist"]) == (0, [0, 0, 1, 0, 0, 0.01])
    kinds = {shape["body"]: shape["kind"] for shape in scene.content["shapes"]}
    assert kinds == {-1: "capsule", 0: "sphere", 1: "capsule"} and not scene.left_out  # 0 has all joints in one place


def test_capsules_take_the_place_of_meshes_that_are_not_found():
    """Also of a base that has mass: the shoulder is 0.3 m above it."""
    mesh = element("<mesh filename='package://nowhere/a.stl'/>")
    text = urdf(upper=mesh, lower=element("<sphere radius='0.1'/>"), base=INERTIAL)
    text = text.replace('<child link="upper"/>', '<child link="upper"/><origin xyz="0 0 0.3"/>')
    scene = scene_of(load_urdf(text), text)
    assert scene.left_out == ("package://nowhere/a.stl was not found",)
    assert scene.stand_ins == ("upper",)
    placed = {(shape["body"], shape["kind"], shape["size"][-1]) for shape in scene.content["shapes"]}
    assert placed == {(1, "sphere", 0.1), (0, "capsule", 0.4), (-1, "capsule", 0.3)}


# --- meshes ---------------------------------------------------------------------------------------


def test_where_meshes_are_looked_for(tmp_path, monkeypatch):
    text = "package://robot/meshes/a.stl"
    in_folder = stl(tmp_path / "one" / "robot" / "meshes" / "a.stl", ball(4))
    assert MeshFinder(folders=[tmp_path / "one"]).find(text) == in_folder
    assert MeshFinder(folders=[tmp_path / "one" / "robot"]).find(text) == in_folder
    near = tmp_path / "one" / "robot" / "urdf" / "arm.urdf"
    near.parent.mkdir()
    assert MeshFinder(near=near).find(text) == in_folder
    assert MeshFinder(near=near).find("../meshes/a.stl").samefile(in_folder)
    in_ros = stl(tmp_path / "ros" / "share" / "robot" / "meshes" / "a.stl", ball(4))
    assert MeshFinder().find(text) is None
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{tmp_path / 'nothing'}:{tmp_path / 'ros'}")
    assert MeshFinder().find(text) == in_ros
    assert MeshFinder(folders=[tmp_path / "one"]).find(text) == in_folder
    assert MeshFinder().find(in_ros.as_uri()) == in_ros == MeshFinder().find(str(in_ros))
    assert MeshFinder().find("https://example.org/a.stl") is None
    assert MeshFinder(folders=[tmp_path]).find("package://one/" + 5000 * "x" + ".stl") is None
    (tmp_path / "secret.txt").write_text("no mesh")
    assert MeshFinder(folders=[tmp_path]).find("secret.txt") is None


def test_a_mesh_is_welded_packed_and_once_in_the_page(tmp_path):
    path = stl(tmp_path / "robot" / "ball.stl", ball(20, 0.25))
    part = element("<mesh filename='package://robot/ball.stl' scale='1 1 2'/>")
    text = urdf(upper=part, lower=part)
    scene = scene_of(load_urdf(text), text, find=MeshFinder(folders=[tmp_path]).find)
    assert len(scene.content["meshes"]) == 1 and not scene.stand_ins
    assert [(s["mesh"], s["size"]) for s in scene.content["shapes"]] == 2 * [(0, [1, 1, 2])]
    points, triangles = unpacked(scene.content["meshes"][0])
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 0.25, atol=1e-5)
    assert len(triangles) == 2 * 40 * 19 and triangles.max() < len(points) < len(triangles)
    normals = np.cross(
        points[triangles[:, 1]] - points[triangles[:, 0]], points[triangles[:, 2]] - points[triangles[:, 0]]
    )
    assert (np.sum(normals * points[triangles[:, 0]], axis=1) > 0.0).all()
    path.write_bytes(stl(tmp_path / "other.stl", ball(4, 0.5)).read_bytes())
    again = scene_of(load_urdf(text), text, find=MeshFinder(folders=[tmp_path]).find)
    np.testing.assert_allclose(np.linalg.norm(unpacked(again.content["meshes"][0])[0], axis=1), 0.5, atol=1e-5)


@pytest.mark.parametrize("suffix", ["stl", "obj", "dae", "ply", "glb"])
def test_files_of_other_kinds_have_the_same_shape(tmp_path, suffix):
    trimesh = pytest.importorskip("trimesh")
    if suffix == "dae":
        pytest.importorskip("collada")
    made = trimesh.creation.box((0.2, 0.4, 0.6))
    path = tmp_path / f"box.{suffix}"
    data = made.export(file_type="stl_ascii" if suffix == "stl" else suffix)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    mesh = mesh_of(path, 100)
    np.testing.assert_allclose(mesh.points.max(axis=0), (0.1, 0.2, 0.3), atol=1e-6)
    a, b, c = (mesh.points[mesh.triangles[:, k]] for k in range(3))
    assert np.sum(np.cross(a, b) * c) / 6.0 == pytest.approx(0.2 * 0.4 * 0.6, rel=1e-5)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("short.stl", b"", "short.stl"),
        ("none.stl", b"\0" * 84, "none.stl: has no triangles"),
        ("text.obj", b"this is no mesh", "text.obj"),
        ("broken.dae", b"<COLLADA", "broken.dae"),
        (
            "nan.stl",
            b"\0" * 80 + (1).to_bytes(4, "little") + b"\0" * 12 + b"\xff" * 36 + b"\0\0",
            "nan.stl: has numbers",
        ),
    ],
)
def test_a_broken_file_is_named_and_the_robot_drawn_all_the_same(tmp_path, name, content, said):
    pytest.importorskip("trimesh")
    (tmp_path / name).write_bytes(content)
    text = urdf(upper=element(f"<mesh filename='{name}'/>"))
    scene = scene_of(load_urdf(text), text, find=MeshFinder(folders=[tmp_path]).find)
    assert len(scene.left_out) == 1 and said in scene.left_out[0] and str(tmp_path) in scene.left_out[0]
    assert scene.stand_ins == ("upper", "lower")


@pytest.mark.parametrize(("most", "volume"), [(100, 0.6), (1000, 0.9), (5000, 0.98)])
def test_a_large_mesh_is_made_smaller_but_keeps_its_shape(most, volume):
    corners = ball(100)
    large = welded(corners)
    small = simplified(large, most)
    assert 0.2 * most < len(small.triangles) <= most
    radius = np.linalg.norm(small.points, axis=1)
    cell = 2.0 / np.sqrt(len(small.triangles) / 8.0)  # about: a sphere has six sides of so many cells squared
    assert radius.max() < 1.0 + 1e-8 and radius.min() > 1.0 - cell
    a, b, c = (small.points[small.triangles[:, k]] for k in range(3))
    assert (
        volume < np.sum(np.cross(a, b) * c) / 6.0 / (4.0 / 3.0 * np.pi) <= 1.0
    )  # so triangles look outside, and none is missing
    assert (small.triangles[:, 0] != small.triangles[:, 1]).all()
    assert simplified(small, most) is small


def test_packing_is_as_fine_as_it_says():
    rng = np.random.default_rng(0)
    mesh = Mesh(rng.normal(size=(70_000, 3)) * [1.0, 10.0, 0.0] + 5.0, rng.integers(0, 70_000, (50, 3)))
    points, triangles = unpacked(json.loads(json.dumps(packed(mesh))))
    assert (triangles == mesh.triangles).all()
    np.testing.assert_allclose(points, mesh.points, atol=np.ptp(mesh.points) / 65535)


# --- robots ---------------------------------------------------------------------------------------


@pytest.mark.skipif("panda" not in robots(), reason="needs the package example-robot-data")
@pytest.mark.parametrize("name", ["panda", "ur5_robot", "tiago", "talos_full_v2"])
def test_published_robots_are_drawn_whole_and_small(name):
    model = load_urdf(robots()[name])
    scene = scene_of(model, robots()[name].read_text(), find=MeshFinder(packages=shares()).find, prefer="collision")
    assert scene.left_out == () and scene.still == ()
    drawn = {shape["body"] for shape in scene.content["shapes"]}
    assert drawn >= {k for k, body in enumerate(model.bodies) if body.inertia.mass}
    triangles = [len(unpacked(mesh)[1]) for mesh in scene.content["meshes"]]
    assert sum(triangles) <= MOST
    assert len(json.dumps(scene.content)) < 300_000


def test_scripts_bring_their_library_with_its_licence(monkeypatch):
    pytest.importorskip("trimesh")
    from rbd_dynamics.scene import scripts

    text = scene_scripts()
    assert "Three.js Authors" in text[:200] and "MIT" in text[:200] and "class RobotView" in text
    assert "</script" not in text and len(text) < 800_000
    monkeypatch.setattr(scripts, "find_spec", lambda name: None)
    scripts._three.cache_clear()
    with pytest.raises(ValueError, match="3-D needs the package trimesh .*: pip install 'rbd_dynamics.show.'$"):
        scene_scripts()
    monkeypatch.undo()
    monkeypatch.setattr(scripts, "LIBRARY", "what a version to come has not")
    with pytest.raises(ValueError, match="trimesh"):
        scene_scripts()
    monkeypatch.undo()
    assert scene_scripts() == text
