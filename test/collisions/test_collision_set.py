# SPDX-License-Identifier: Apache-2.0
"""Which shapes touch, where, and by which laws; what a URDF says of them; what makes no sense."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

import rbd_dynamics as rbd
from rbd_dynamics.model.joints import Floating, Prismatic, Revolute
from rbd_dynamics.model.model import Limits

pytest.importorskip("coal")
from rbd_dynamics.collisions import CollisionSet, CollisionShape, collision_shapes
from rbd_dynamics.constraints import placement

BOX = np.array([(x, y, z) for x in (-0.1, 0.1) for y in (-0.15, 0.15) for z in (-0.05, 0.05)])
CUBE = np.sign(BOX) * 0.5
FLOOR = CollisionShape("floor", "world", "plane")
SLAB = CollisionShape("slab", "world", "box", size=(2.0, 2.0, 0.2), placement=placement((0.0, 0.0, -0.1)))
#: what lies flat on the floor: (shape, its pose's z and turn about x, points of contact)
LYING = {
    "box": ({"size": (0.2, 0.3, 0.1)}, 0.05, 0.0, 4),
    "mesh": ({"points": BOX}, 0.05, 0.0, 4),
    "sphere": ({"size": (0.1,)}, 0.1, 0.0, 1),
    "capsule": ({"size": (0.1, 0.4)}, 0.1, math.pi / 2.0, 2),
    "cylinder": ({"size": (0.1, 0.4)}, 0.1, math.pi / 2.0, 2),
}


def free(*names):
    builder = rbd.ModelBuilder("free")
    for name in names:
        builder.add_body(name, None, Floating(), mass=1.0, inertia=0.01 * np.eye(3))
    return builder.build()


def pose(xyz, turn=(0.0, 0.0, 0.0)):
    half = 0.5 * np.asarray(turn)
    angle = np.linalg.norm(half)
    return [*xyz, *(half * np.sinc(angle / np.pi)), math.cos(angle)]


ONE = free("body")


@pytest.mark.parametrize("ground", [FLOOR, SLAB], ids=["plane", "box"])
@pytest.mark.parametrize("kind", LYING)
@pytest.mark.parametrize("gap", [2e-4, 0.0, -2e-4])
def test_what_lies_flat_has_a_point_at_each_corner(kind, ground, gap):
    options, z, turn, count = LYING[kind]
    shapes = CollisionSet(ONE, [ground, CollisionShape("body", "body", kind, **options)])
    touches = shapes.contacts(pose((0.3, 0.2, z + gap), (turn, 0.0, 0.0)))
    assert len(touches) == count
    for touch in touches:
        assert touch.gap == pytest.approx(gap, abs=1e-12)
        np.testing.assert_allclose(touch.normal, [0.0, 0.0, 1.0], atol=1e-12)
        assert touch.point[2] - touch.other[2] == pytest.approx(gap, abs=1e-12)
    middle = np.mean([touch.point[:2] for touch in touches], axis=0)
    np.testing.assert_allclose(middle, [0.3, 0.2], atol=1e-9)


def test_a_standing_cylinder_has_points_around_its_rim():
    shapes = CollisionSet(ONE, [FLOOR, CollisionShape("body", "body", "cylinder", size=(0.1, 0.4))])
    places = np.array([touch.point for touch in shapes.contacts(pose((0.0, 0.0, 0.2)))])
    assert 4 <= len(places) <= 8
    np.testing.assert_allclose(np.hypot(places[:, 0], places[:, 1]), 0.1, rtol=1e-9)
    np.testing.assert_allclose(places.mean(axis=0), 0.0, atol=1e-9)


@pytest.mark.parametrize("ground", [FLOOR, SLAB], ids=["plane", "box"])
def test_each_corner_of_a_tilted_box_has_its_own_gap(ground):
    """A tilt of 2 mrad: corners differ by 0.6 mm."""
    angle = 2e-3
    shapes = CollisionSet(ONE, [ground, CollisionShape("body", "body", "box", size=(0.2, 0.3, 0.1))])
    touches = shapes.contacts(pose((0.0, 0.0, 0.05), (angle, 0.0, 0.0)), margin=2e-3)
    gaps = sorted(touch.gap for touch in touches)
    low = 0.05 - 0.05 * math.cos(angle) - 0.15 * math.sin(angle)
    np.testing.assert_allclose(gaps, [low, low, low + 0.3 * math.sin(angle), low + 0.3 * math.sin(angle)], atol=1e-10)


def test_boxes_meet_in_the_polygon_that_both_cover():
    """Turned by 45 degrees upon each other: an octagon."""
    shape = {"kind": "box", "size": (0.2, 0.2, 0.2)}
    shapes = CollisionSet(
        free("below", "above"), [CollisionShape("a", "below", **shape), CollisionShape("b", "above", **shape)]
    )
    q = pose((0.0, 0.0, 0.0)) + pose((0.0, 0.0, 0.2), (0.0, 0.0, math.pi / 4.0))
    places = np.array([touch.point for touch in shapes.contacts(q)])
    assert len(places) == 8
    np.testing.assert_allclose(np.abs(places[:, :2]).max(axis=1), 0.1, atol=1e-9)
    np.testing.assert_allclose(np.abs(places[:, :2]).min(axis=1), 0.1 * (math.sqrt(2.0) - 1.0), atol=1e-9)


URDF = """<robot name="arm"><link name="base"><collision><geometry><box size="1 1 0.1"/></geometry></collision></link>
<link name="upper"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
 <collision><origin xyz="0 0 0.2"/><geometry><capsule radius="0.05" length="0.3"/></geometry></collision>
 <collision><geometry><sphere radius="0.1"/></geometry></collision></link>
<link name="lower"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
 <collision><geometry><mesh filename="part.stl" scale="2 1 1"/></geometry></collision></link>
<joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/></joint>
<joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/><origin xyz="0 0 1"/></joint>
</robot>"""


def part(folder):
    """A tetrahedron as ASCII STL."""
    corners = ["0 0 0", "0.1 0 0", "0 0.1 0", "0 0 0.1"]
    text = "solid part\n"
    for face in ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)):
        vertices = "\n".join(f"vertex {corners[k]}" for k in face)
        text += f"facet normal 0 0 0\nouter loop\n{vertices}\nendloop\nendfacet\n"
    path = folder / "part.stl"
    path.write_text(text + "endsolid part\n")
    return path


def test_shapes_of_a_description(tmp_path):
    pytest.importorskip("trimesh")
    model, mesh = rbd.load_urdf(URDF), part(tmp_path)
    shapes = collision_shapes(model, URDF, find=lambda name: mesh if name == "part.stl" else None)
    assert [(shape.name, shape.frame, shape.kind) for shape in shapes] == [
        ("base", "base", "box"), ("upper", "upper", "capsule"), ("upper 1", "upper", "sphere"),
        ("lower", "lower", "mesh"),
    ]  # fmt: skip
    assert shapes[1].size == (0.05, 0.3) and shapes[1].placement.p == (0.0, 0.0, 0.2)
    np.testing.assert_allclose(shapes[3].points.max(axis=0), [0.2, 0.1, 0.1])
    with pytest.raises(ValueError, match=r"shape 'lower': mesh part.stl was not found"):
        collision_shapes(model, URDF)
    with pytest.raises(ValueError, match="link 'upper'"):
        collision_shapes(model, URDF.replace('radius="0.1"', 'radius="much"'), find=lambda name: mesh)


def test_neighbours_and_what_is_ignored_do_not_touch(tmp_path):
    pytest.importorskip("trimesh")
    model, mesh = rbd.load_urdf(URDF), part(tmp_path)
    shapes = [FLOOR, *collision_shapes(model, URDF, find=lambda name: mesh)]
    by_default = {("upper", "floor"), ("upper 1", "floor"), ("lower", "floor"), ("lower", "base")}
    assert set(CollisionSet(model, shapes, ignore_overlapping=False).pairs) == by_default
    fewer = CollisionSet(model, shapes, ignore=[("floor", "upper"), ("lower", "base")])
    assert set(fewer.pairs) == {("lower", "floor")}


def arm_of(*joints):
    """A chain of links with a sphere of 0.1 m at each joint; "-" for a link without a shape."""
    builder, shapes, parent = rbd.ModelBuilder("chain"), [], None
    for k, (kind, xyz, lower, upper) in enumerate(joints):
        name = f"link {k}"
        limits = Limits(lower=lower, upper=upper)
        builder.add_body(name, parent, kind, placement=placement(xyz), mass=1.0, inertia=np.eye(3), limits=limits)
        parent = name
        shapes.append(CollisionShape(name, name, "sphere", size=(0.1,)))
    return builder.build(), shapes


TURN, SLIDE = Revolute((0.0, 0.0, 1.0)), Prismatic((1.0, 0.0, 0.0))
FREE = (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("joints", "ignored"),
    [
        pytest.param([(TURN, (0, 0, 0), *FREE), (TURN, (0, 0, 0.05), *FREE), (TURN, (0, 0, 0.05), *FREE)],
                     "always overlap", id="about one axis"),
        pytest.param([(TURN, (0, 0, 0), *FREE), (TURN, (0.2, 0, 0), *FREE), (TURN, (0.15, 0, 0), *FREE)],
                     None, id="folds on itself, and starts apart"),
        pytest.param([(TURN, (0, 0, 0), *FREE), (TURN, (0.15, 0, 0), *FREE), (TURN, (-0.15, 0, 0), *FREE)],
                     None, id="starts on itself, and unfolds"),
        pytest.param([(TURN, (0, 0, 0), *FREE), (TURN, (0, 0, 0), *FREE), (SLIDE, (0.05, 0, 0), -0.1, 0.1)],
                     "always overlap", id="slides, but not far enough"),
        pytest.param([(TURN, (0, 0, 0), *FREE), (TURN, (0, 0, 0), *FREE), (SLIDE, (0.05, 0, 0), -0.1, 0.3)],
                     None, id="slides out"),
        pytest.param([(TURN, (0, 0, 0), *FREE), (TURN, (0, 0, 0), *FREE), (SLIDE, (0, 0, 0), *FREE)],
                     None, id="slides as far as it likes"),
        pytest.param([(TURN, (0, 0, 0), *FREE), (TURN, (0, 0, 0.1), *FREE), (TURN, (0, 0, 0.1), *FREE)],
                     None, id="just touches"),
    ],
)  # fmt: skip
def test_what_overlaps_for_good_is_ignored(joints, ignored):
    """Spheres of 0.1 m at the joints: the first and the third overlap nearer than 0.2 m."""
    model, shapes = arm_of(*joints)
    found, again = (CollisionSet(model, shapes) for _ in range(2))
    assert found.ignored.get(("link 2", "link 0")) == ignored
    assert found.pairs == again.pairs == (() if ignored else (("link 2", "link 0"),))
    assert found.ignored["link 1", "link 0"] == found.ignored["link 2", "link 1"] == "neighbours"
    assert CollisionSet(model, shapes, ignore_overlapping=False).pairs == (("link 2", "link 0"),)


def test_neighbours_may_have_links_without_shapes_between_them():
    """They fold on each other at the start; with a shape between them that would be a contact."""
    model, shapes = arm_of(*[(TURN, (x, 0.0, 0.0), *FREE) for x in (0.0, 0.15, 0.0, -0.15)])
    found = CollisionSet(model, [shapes[0], shapes[3]])
    assert found.ignored == {("link 3", "link 0"): "neighbours"} and found.pairs == ()
    assert ("link 3", "link 0") in CollisionSet(model, shapes).pairs
    far = CollisionSet(model, [shapes[0], shapes[3]], ignore_overlapping=False)
    assert far.pairs == (("link 3", "link 0"),) and far.ignored == {}


def test_links_overlap_with_all_their_shapes_or_none():
    """A bearing that is always in the base, and a boom on it that reaches the base's other shape now and then."""
    model, (base, _, bearing) = arm_of(*[(TURN, (0.0, 0.0, z), *FREE) for z in (0.0, 0.05, 0.05)])
    boom = CollisionShape("boom", "link 2", "box", size=(1.0, 0.02, 0.02))
    post = CollisionShape("post", "link 0", "sphere", size=(0.1,), placement=placement((0.5, 0.0, 0.1)))
    found = CollisionSet(model, [base, bearing, boom, post])
    assert found.pairs == () and set(found.ignored.values()) == {"neighbours"}
    between = CollisionShape("between", "link 1", "sphere", size=(0.01,))
    found = CollisionSet(model, [base, between, bearing, boom, post])
    assert found.pairs == ()
    assert [found.ignored[two] for two in (("link 2", "link 0"), ("post", "boom"))] == ["always overlap"] * 2
    assert ("post", "boom") in CollisionSet(model, [between, boom, post]).pairs


def test_floating_bodies_that_start_in_each_other_are_no_such_pair():
    shapes = [CollisionShape(name, name, "box", size=(9.0, 9.0, 9.0)) for name in ("a", "b")]
    found = CollisionSet(free("a", "b"), [FLOOR, *shapes], ignore=[("floor", "b")])
    assert set(found.pairs) == {("a", "floor"), ("b", "a")}
    assert found.ignored == {("b", "floor"): "given"}


def test_what_stands_in_the_floor_for_good_is_ignored():
    model, shapes = arm_of((TURN, (0.0, 0.0, 0.05), *FREE), (SLIDE, (0.3, 0.0, 0.2), -0.1, 0.1))
    assert CollisionSet(model, [FLOOR, *shapes]).pairs == (("link 1", "floor"),)


def test_laws_of_pairs():
    shapes = [FLOOR, *(CollisionShape(name, name, "sphere", size=(0.1,)) for name in ("a", "b"))]
    laws = {("a", "floor"): {"friction_coefficient": 0.1, "restitution": 0.3}}
    found = CollisionSet(free("a", "b"), shapes, friction_coefficient=0.8, laws=laws)
    touches = found.contacts(pose((0.0, 0.0, 0.1)) + pose((0.2, 0.0, 0.1)))
    numbers = {touch.law.name: (touch.law.friction_coefficient, touch.law.restitution) for touch in touches}
    assert numbers == {"a on floor": (0.1, 0.3), "b on floor": (0.8, 0.0), "b on a": (0.8, 0.0)}


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("ball", {}, "collision shape 's': kind 'ball' is not one of sphere, capsule"),
        ("sphere", {"size": (0.0,)}, r"'s': size \(0.0,\) of a sphere is radius, positive"),
        ("capsule", {"size": (0.1,)}, "of a capsule is radius and length, positive"),
        ("plane", {"size": (0.1,)}, "of a plane is nothing"),
        ("mesh", {"points": np.ones((5, 2))}, r"'s': points have shape \(5, 2\), expected \(n, 3\)"),
        ("mesh", {"points": BOX[:3]}, "'s': its 3 points enclose no volume"),
        ("mesh", {"points": BOX * [1.0, 1.0, 0.0]}, "'s': its 8 points enclose no volume"),
        ("box", {"size": (0.1, math.nan, 0.1)}, "of a box is x and y and z, positive"),
    ],
)
def test_shapes_that_make_no_sense(kind, options, message):
    with pytest.raises(ValueError, match=message):
        CollisionShape("s", "body", kind, **options)


def test_sets_that_make_no_sense():
    ball = CollisionShape("ball", "body", "sphere", size=(0.1,))
    with pytest.raises(KeyError, match="foot"):
        CollisionSet(ONE, [CollisionShape("ball", "foot", "sphere", size=(0.1,))])
    with pytest.raises(ValueError, match="'ball' occurs twice"):
        CollisionSet(ONE, [ball, ball])
    with pytest.raises(TypeError, match="shapes must be CollisionShapes"):
        CollisionSet(ONE, ["ball"])
    with pytest.raises(ValueError, match="'ground': a plane cannot move with 'body'"):
        CollisionSet(ONE, [CollisionShape("ground", "body", "plane")])
    with pytest.raises(KeyError, match="no collision shape or frame named 'wall'"):
        CollisionSet(ONE, [ball], ignore=[("ball", "wall")])
    with pytest.raises(ValueError, match="pair 'ball' is not two names"):
        CollisionSet(ONE, [ball], ignore=["ball"])
    with pytest.raises(ValueError, match="'ball on floor': .* has others than friction_coefficient"):
        CollisionSet(ONE, [FLOOR, ball], laws={("ball", "floor"): {"mu": 0.1}})
    with pytest.raises(ValueError, match="contact 'of all pairs': friction_coefficient -1.0"):
        CollisionSet(ONE, [FLOOR, ball], friction_coefficient=-1.0)
    with pytest.raises(TypeError, match="laws: 3 of 'ball' and 'floor' is not a dictionary"):
        CollisionSet(ONE, [FLOOR, ball], laws={("ball", "floor"): 3})
    with pytest.raises(TypeError, match="shapes: expected a list, not None"):
        CollisionSet(ONE, None)
    with pytest.raises(TypeError, match="laws: expected {pair: numbers}, not"):
        CollisionSet(ONE, [ball], laws=[1])
    with pytest.raises(TypeError, match="model must be a Model, not NoneType"):
        CollisionSet(None, [ball])
    with pytest.raises(TypeError, match="ignore_overlapping 'no' is neither"):
        CollisionSet(ONE, [ball], ignore_overlapping="no")
    with pytest.raises(KeyError, match="collision shape 'a': no frame named None"):
        CollisionSet(ONE, [CollisionShape("a", None, "sphere", size=(1.0,))])
    with pytest.raises(TypeError, match="urdf is a bytes, not a text"):
        collision_shapes(ONE, b"<robot/>")
    assert CollisionSet(ONE, []).contacts(pose((0.0, 0.0, 0.0))) == []
    assert CollisionSet(ONE, []).distances(np.tile(pose((0.0, 0.0, 0.0)), (2, 1))).shape == (2, 0)
    with pytest.raises(ValueError, match="another model"):
        rbd.Robot(free("other")).in_contact(CollisionSet(ONE, [FLOOR, ball]))


def test_without_the_library_one_line_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "coal", None)
    told = r"^contact between shapes needs the package coal: pip install 'rbd_dynamics\[collisions\]'$"
    with pytest.raises(ModuleNotFoundError, match=told):
        CollisionSet(ONE, [FLOOR, CollisionShape("ball", "body", "sphere", size=(0.1,))])


def test_a_link_that_moves_along_a_rail_meets_the_world():
    """A shape of the world is nobody's neighbour, though the rail is fixed to it."""
    builder = rbd.ModelBuilder("lift")
    builder.add_body("load", None, Prismatic((0.0, 0.0, 1.0)), mass=2.0)
    model = builder.build()
    shapes = CollisionSet(model, [FLOOR, CollisionShape("load", "load", "sphere", size=(0.1,))])
    found = rbd.Robot(model).contact_forward_dynamics([0.1], [0.0], [0.0], shapes)
    np.testing.assert_allclose(found.forces, [[2.0 * 9.81, 0.0, 0.0]], atol=1e-9)
    after = rbd.Robot(model).contact_impulse([0.1], [-1.0], shapes)
    np.testing.assert_allclose(after.impulses, [[2.0, 0.0, 0.0]], atol=1e-12)


@pytest.mark.parametrize("kind", ["box", "mesh"])
@pytest.mark.parametrize("gap", [1e-5, 1e-8, 1e-12, 1e-15, 0.0, -1e-15, -1e-12, -1e-8, -1e-5, -1e-3])
def test_faces_that_just_touch_keep_their_corners_and_normal(kind, gap):
    """To rounding, as at rest: there a search alone is off by a hundredth, or finds another face."""
    rng, names = np.random.default_rng(5), ("below", "above")
    model = free(*names)
    for _ in range(6):
        one, other = rng.choice([0.02, 0.03, 0.1, 0.2], size=(2, 3))
        aside = rng.choice([0.0, 1e-9, 1e-6, 5e-3], size=2)
        bodies = [
            CollisionShape(name, name, kind, **({"size": size} if kind == "box" else {"points": CUBE * size}))
            for name, size in zip(names, (one, other))
        ]
        q = pose((0.0, 0.0, 0.0)) + pose((*aside, 0.5 * (one + other)[2] + gap), 1e-12 * rng.normal(size=3))
        touches = CollisionSet(model, bodies).contacts(q)
        np.testing.assert_allclose([touch.gap for touch in touches], gap, atol=1e-12)
        np.testing.assert_allclose(touches[0].normal, [0.0, 0.0, 1.0], atol=1e-11)
        places = np.array([touch.point[:2] for touch in touches])
        low = np.maximum(-0.5 * one[:2], aside - 0.5 * other[:2])
        high = np.minimum(0.5 * one[:2], aside + 0.5 * other[:2])
        np.testing.assert_allclose(places.min(axis=0), low, atol=1e-6)
        np.testing.assert_allclose(places.max(axis=0), high, atol=1e-6)


# --- batches ------------------------------------------------------------------------------------


def box_and_ball():
    """On a floor: poses (2, 3) of a box that stands, flies, and has a ball on it."""
    shapes = [
        FLOOR,
        CollisionShape("a", "a", "box", size=(0.2, 0.3, 0.1)),
        CollisionShape("b", "b", "sphere", size=(0.1,)),
    ]
    model, far = free("a", "b"), pose((1.0, 0.0, 3.1))
    stands, flies = pose((0.0, 0.0, 0.05)), pose((0.0, 0.0, 1.0))
    q = [[stands + pose((1.0, 0.0, 0.1)), flies + far, stands + far], [stands + pose((0.0, 0.0, 0.2)), flies + far] * 2]
    return model, CollisionSet(model, shapes, friction_coefficient=0.4), np.array([q[0], q[1][:3]])


def test_contacts_and_distances_of_batches():
    model, shapes, q = box_and_ball()
    counts = [[len(touches) for touches in row] for row in shapes.contacts(q)]
    assert counts == [[5, 0, 4], [5, 0, 5]]
    assert shapes.contacts(q[:0]) == []
    assert shapes.pairs == (("a", "floor"), ("b", "floor"), ("b", "a"))
    distances = shapes.distances(q)
    expected = [[0.0, 0.0, 0.8], [0.95, 3.0, math.hypot(0.9, 2.05) - 0.1], [0.0, 3.0, None]]
    expected[2][2] = math.hypot(0.9, 3.0) - 0.1
    np.testing.assert_allclose(distances[0], expected, atol=1e-6)
    np.testing.assert_allclose(distances[1, 0], [0.0, 0.1, 0.0], atol=1e-6)
    near = shapes.distances(q, margin=0.5)
    np.testing.assert_array_equal(near, np.where(distances <= 0.5, distances, np.inf))
    assert shapes.distances(q[:, :0]).shape == (2, 0, 3)
    sunk = shapes.distances(pose((0.0, 0.0, 0.04)) + pose((0.0, 0.0, 0.17)))
    np.testing.assert_allclose(sunk, [-0.01, 0.07, -0.02], atol=1e-6)


def test_dynamics_in_contact_of_batches_are_those_of_samples():
    model, shapes, q = box_and_ball()
    robot, rng = rbd.Robot(model), np.random.default_rng(5)
    v, tau, wrench = np.zeros((2, 1, 12)), rng.normal(size=(3, 12)), rng.normal(size=(3, 6))
    v[..., 3:6] = [0.0, 0.0, -1e-8]
    found = robot.contact_forward_dynamics(q, v, tau, shapes, f_ext={"a": wrench})
    torque = robot.contact_inverse_dynamics(q, v, tau, shapes)
    impulse = robot.contact_impulse(q, v - 1.0, shapes)
    assert found.forces.shape == torque.forces.shape == impulse.impulses.shape == (2, 3, 5, 3)
    for i, j in np.ndindex(2, 3):
        one = robot.contact_forward_dynamics(q[i, j], v[i, 0], tau[j], shapes, f_ext={"a": wrench[j]})
        count = len(one.forces)
        np.testing.assert_array_equal(found.a[i, j], one.a)
        np.testing.assert_array_equal(found.forces[i, j], np.pad(one.forces, ((0, 5 - count), (0, 0))))
        assert found.converged[i, j] == one.converged and found.residuals.motion[i, j] == one.residuals.motion
        np.testing.assert_array_equal(
            torque.tau[i, j], robot.contact_inverse_dynamics(q[i, j], v[i, 0], tau[j], shapes).tau
        )
        np.testing.assert_array_equal(impulse.v[i, j], robot.contact_impulse(q[i, j], v[i, 0] - 1.0, shapes).v)
    none = robot.contact_forward_dynamics(q[:0], v[:0], tau, shapes)
    assert none.a.shape == (0, 3, 12) and none.forces.shape == (0, 3, 0, 3) and none.converged.dtype == bool


@pytest.mark.parametrize(("cone", "carries"), [("pyramidal", True), ("elliptic", False)])
def test_inverse_dynamics_of_shapes_is_by_their_cone(cone, carries):
    """A push along both tangents, each within friction of 0.5, and both together not."""
    shapes = [FLOOR, CollisionShape("box", "body", "box", size=(0.2, 0.2, 0.02))]
    touching = CollisionSet(ONE, shapes, cone=cone, friction_coefficient=0.5)
    q, still = pose((0.0, 0.0, 0.01)), np.zeros(6)
    t1, t2 = touching.contacts(q)[0].tangents
    push = {"body": [0.0, 0.0, 0.0, *(0.45 * 9.81 * (np.array(t1) + np.array(t2)))]}
    found = rbd.Robot(ONE).contact_inverse_dynamics(q, still, still, touching, f_ext=push)
    assert found.feasible == carries
    assert bool(np.abs(found.lacking).max() < 1e-6) == carries


def test_what_is_wrong_in_a_batch_is_named_or_nan():
    model, shapes, q = box_and_ball()
    broken, v = q.copy(), np.zeros(12)
    broken[0, 1, 2] = math.nan
    found = rbd.Robot(model, errors="nan").contact_forward_dynamics(broken, v, v, shapes)
    assert np.isnan(found.a).any(axis=-1).tolist() == [[False, True, False], [False, False, False]]
    robot = rbd.Robot(model)
    np.testing.assert_array_equal(found.a[0, 0], robot.contact_forward_dynamics(q[0, 0], v, v, shapes).a)
    with pytest.raises(ValueError, match="q of joint 'a_joint' is nan"):
        robot.contact_forward_dynamics(broken, v, v, shapes)
    with pytest.raises(ValueError, match=r"v has shape \(2, 5\), expected \(12,\) or \(..., 12\)"):
        robot.contact_forward_dynamics(q, np.zeros((2, 5)), v, shapes)
    with pytest.raises(ValueError, match=r"samples differ: q has \(2, 3\), tau has \(5,\)"):
        robot.contact_forward_dynamics(q, v, np.zeros((5, 12)), shapes)
    with pytest.raises(KeyError, match="no frame named 'c'"):
        robot.contact_forward_dynamics(q, v, v, shapes, f_ext={"c": np.zeros(6)})
    for margin in ("wide", math.nan):
        with pytest.raises(ValueError, match="margin"):
            shapes.distances(q, margin=margin)
