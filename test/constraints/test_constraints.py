# SPDX-License-Identifier: Apache-2.0
"""Constraint kinds: h, A and Adot v belong together, on every kind of joint, and what is wrong is said."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from helpers.checks.oracles import BACKENDS
from helpers.models.mixed_trees import MORE_KINDS, mixed_tree
from helpers.models.robots import ALL_KINDS, load_robot, random_state, robot_file

import rbd_dynamics as rbd
from rbd_dynamics.constraints import (
    Constraint,
    ConstraintSet,
    Cylinder,
    DistanceConstraint,
    FrameConstraint,
    HolonomicRows,
    ImplicitSurface,
    JointCoupling,
    PfaffianRows,
    Plane,
    Quadric,
    RollingBall,
    RollingDisk,
    ScrewConstraint,
    Sphere,
    SurfaceConstraint,
)
from rbd_dynamics.spatial import exp_se3
from rbd_dynamics.spatial.arrays import pose_of
from rbd_dynamics.spatial.jets import Jet, rate_of, second_rate_of
from rbd_dynamics.spatial.scalar import atan2, cos, sin, sqrt, tanh, where

DIRECTION_SETS = [
    ("rx", "ry", "rz", "x", "y", "z"),
    ("x", "y", "z"),
    ("rx", "rz", "y"),
    ("ry", "rz"),
    ("rx", "ry", "z"),
    ("rx",),
    ("ry", "x"),
    ("rz",),
]


def placement(seed):
    return pose_of(exp_se3(np.random.default_rng(seed).normal(scale=0.4, size=6)))


def between(frame, reference):
    """One of every kind that holds two frames."""
    placed = {"placement": placement(1), "reference_placement": placement(2)}
    egg = ImplicitSurface(lambda x, y, z: x * x / 4 + y * y + z * z * (1.0 + 0.3 * x) - 1.0)
    kinds: list[Constraint] = [
        FrameConstraint(f"frame{k}", frame, reference, directions=directions, **placed)
        for k, directions in enumerate(DIRECTION_SETS)
    ]
    bowl = Quadric(xx=-1.0, yy=-0.5, z=1.0, constant=0.1)
    surfaces = (Plane(), Sphere(0.7), Sphere(0.7, hollow=True), Cylinder(0.4), Cylinder(0.4, hollow=True), egg, bowl)
    for k, surface in enumerate(surfaces):
        for aligned in (False, True):
            name = f"surface{k}{aligned}"
            kinds.append(
                SurfaceConstraint(name, frame, reference, surface=surface, offset=0.1, aligned=aligned, **placed)
            )
    return [
        *kinds,
        DistanceConstraint("rod", frame, reference, distance=0.9, **placed),
        ScrewConstraint("nut", frame, reference, pitch=-0.2, **placed),
        RollingBall("ball", frame, reference, surface=Cylinder(0.5), radius=0.2, spin=False, **placed),
        RollingBall("marble", frame, reference, surface=Sphere(0.5), radius=0.2, **placed),
        RollingDisk("disk", frame, reference, radius=0.3, **placed),
    ]


def rate(model, function, q, v, step=1e-6):
    """d/dt along the constant velocity v, by central differences."""
    return (function(model.integrate(q, step * v)) - function(model.integrate(q, -step * v))) / (2 * step)


def check(robot, constraints, q, v):
    """A v = dh/dt and the rate of A, times v."""
    of = ConstraintSet(robot.model, constraints)
    h, A, Adot_v = robot.constraint_rows(q, v, of)
    dh = rate(robot.model, lambda q: robot.constraint_rows(q, v, of).h, q, v)
    dA = rate(robot.model, lambda q: robot.constraint_rows(q, v, of).A, q, v)
    scale = 1.0 + np.abs(A @ v)
    np.testing.assert_allclose(((A @ v - dh) / scale)[of.holonomic], 0.0, atol=2e-7)
    np.testing.assert_array_equal(h[~of.holonomic], 0.0)
    scale = 1.0 + np.abs(A).max(axis=1) * (v @ v)
    np.testing.assert_allclose((Adot_v - dA @ v) / scale, 0.0, atol=2e-7)
    # the rate of the whole matrix, as controllers use it
    full = np.array(of.matrix_rate(list(q), list(v), of.parameters[2:].tolist()), dtype=float)
    np.testing.assert_allclose((full - dA) / (1.0 + np.abs(dA).max()), 0.0, atol=2e-6)


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("name", ["ur5_robot", "panda", "solo12"])
def test_rates_on_real_robots(name, base):
    robot = rbd.Robot(load_robot(name, base), backend="reference")
    frames = robot.model.frame_names
    rng = np.random.default_rng(0)
    q, v, _ = random_state(robot.model, rng)
    check(robot, between(frames[-1], "world"), q, v)
    check(robot, between(frames[len(frames) // 3], frames[-1]), q, v)


@pytest.mark.parametrize("seed", range(12))
def test_rates_on_trees_of_every_joint_kind(seed):
    model = mixed_tree(seed, n=4, kinds=(*MORE_KINDS, *ALL_KINDS))
    robot = rbd.Robot(model, backend="reference")
    rng = np.random.default_rng(seed)
    q, v, _ = random_state(model, rng)
    links = [f"link{k}" for k in range(4)]
    check(robot, [c for c in between(links[-1], links[0]) if "frame" in c.name], q, v)
    rows = HolonomicRows("own", lambda q: [sin(q[0]) * q[-1] + q[1] * q[1], q[0] * q[1] * q[-2]], labels=("one", "two"))
    blades = PfaffianRows("blade", lambda q: [[q[0] * (k + 1) + q[-1] * q[-1] for k in range(model.nv)]])
    check(robot, [rows, blades], q, v)


def test_coupling_of_joints():
    robot = rbd.Robot(load_robot("ur5_robot"))
    names = robot.model.joint_names
    of = ConstraintSet(robot.model, [JointCoupling("gear", {names[1]: 2.0, names[4]: -0.5}, offset=0.3)])
    q = robot.model.random(1)
    h, A, Adot_v = robot.constraint_rows(q, np.ones(6), of)
    np.testing.assert_allclose(h, [2.0 * q[1] - 0.5 * q[4] - 0.3])
    np.testing.assert_array_equal(A, [[0.0, 2.0, 0.0, 0.0, -0.5, 0.0]])
    assert Adot_v == [0.0]


def test_coupling_by_polynomials():
    """A cam: a closed form, and the rates that every constraint has to have."""
    robot = rbd.Robot(load_robot("ur5_robot"), backend="reference")
    names = robot.model.joint_names
    cam = JointCoupling("cam", {names[1]: 2.0, names[4]: [-0.5, 0.3, 0.7]}, offset=0.3)
    q, v, _ = random_state(robot.model, np.random.default_rng(3))
    h, A, Adot_v = robot.constraint_rows(q, v, [cam])
    x = q[4]
    np.testing.assert_allclose(h, [2.0 * q[1] - 0.5 * x + 0.3 * x**2 + 0.7 * x**3 - 0.3], rtol=1e-13)
    np.testing.assert_allclose(A, [[0.0, 2.0, 0.0, 0.0, -0.5 + 0.6 * x + 2.1 * x**2, 0.0]], rtol=1e-13)
    np.testing.assert_allclose(Adot_v, [(0.6 + 4.2 * x) * v[4] ** 2], rtol=1e-13)
    check(robot, [cam], q, v)
    straight = [JointCoupling("gear", {names[4]: c}, offset=0.3) for c in (2.0, [2.0])]
    assert len({ConstraintSet(robot.model, [gear]).key for gear in straight}) == 1


@pytest.mark.parametrize("directions", DIRECTION_SETS)
def test_aligned_frames_are_zero_and_rates_are_those_of_the_axes(directions):
    """At h = 0 a row's rate is the angular or linear velocity along its axis of the reference."""
    robot = rbd.Robot(load_robot("ur5_robot"))
    q = robot.model.random(3)
    T = robot.pose(q, "tool0")
    of = ConstraintSet(
        robot.model, [FrameConstraint("c", "tool0", reference_placement=pose_of(T), directions=directions)]
    )
    h, A, _ = robot.constraint_rows(q, np.zeros(6), of)
    np.testing.assert_allclose(h, 0.0, atol=1e-14)
    rows = [("rx", "ry", "rz", "x", "y", "z").index(d) for d in directions]
    np.testing.assert_allclose(A, robot.jacobian(q, "tool0")[rows], atol=1e-13)


@pytest.mark.parametrize("angle", [0.3, 2.0, 3.0])
def test_three_rotations_are_the_quaternion(angle):
    robot = rbd.Robot(load_robot("ur5_robot"))
    q = robot.model.random(3)
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    turned = robot.pose(q, "tool0") @ exp_se3([*(-angle * axis), 0.0, 0.0, 0.0])
    of = ConstraintSet(
        robot.model, [FrameConstraint("c", "tool0", reference_placement=pose_of(turned), directions=("rx", "ry", "rz"))]
    )
    np.testing.assert_allclose(robot.constraint_rows(q, np.zeros(6), of).h, 2.0 * np.sin(angle / 2) * axis, rtol=1e-9)


@pytest.mark.parametrize("surface", [Sphere(0.5), Cylinder(0.5)])
def test_normal_row_is_the_height_and_pushes_along_the_normal(surface):
    robot = rbd.Robot(load_robot("ur5_robot"))
    q = robot.model.random(5)
    of = ConstraintSet(robot.model, [SurfaceConstraint("s", "tool0", surface=surface)])
    T = robot.pose(q, "tool0")
    p = T[:3, 3] * ([1, 1, 1] if isinstance(surface, Sphere) else [1, 1, 0])
    h, A, _ = robot.constraint_rows(q, np.zeros(6), of)
    np.testing.assert_allclose(h, np.linalg.norm(p) - 0.5, rtol=1e-12)
    normal = p / np.linalg.norm(p)
    np.testing.assert_allclose(A[0], normal @ T[:3, :3] @ robot.jacobian(q, "tool0")[3:], atol=1e-12)
    wrench = robot.constraint_wrenches(q, of, [7.0])["s"]
    np.testing.assert_allclose(T[:3, :3] @ wrench[3:], 7.0 * normal, atol=1e-12)
    np.testing.assert_allclose(wrench[:3], 0.0, atol=1e-12)


def test_implicit_surface_is_scaled_to_a_distance():
    """f / |grad f|: a sphere written as a quadric has the same A on it as one written by its radius."""
    robot = rbd.Robot(load_robot("ur5_robot"))
    q = robot.model.random(5)
    radius = float(np.linalg.norm(robot.pose(q, "tool0")[:3, 3]))
    function = ImplicitSurface(lambda x, y, z: 3.0 * (x * x + y * y + z * z - radius**2))
    numbers = Quadric(xx=3.0, yy=3.0, zz=3.0, constant=3.0 * radius**2)
    row = robot.constraint_rows(q, np.ones(6), [SurfaceConstraint("s", "tool0", surface=Sphere(radius))]).A[0]
    v = np.ones(6) - row * (row @ np.ones(6)) / (row @ row)  # along the surface
    sphere, *others = (
        robot.constraint_rows(q, v, [SurfaceConstraint("s", "tool0", surface=surface)])
        for surface in (Sphere(radius), function, numbers)
    )
    for other in others:
        np.testing.assert_allclose(other.h, 0.0, atol=1e-12)
        np.testing.assert_allclose(other.A, sphere.A, atol=1e-12)
        np.testing.assert_allclose(other.Adot_v, sphere.Adot_v, atol=1e-11)


def test_a_point_slides_on_an_ellipsoid():
    """Held by its normal row, a point's acceleration keeps it there; the multiplier pushes along the gradient."""
    axes = np.array([0.5, 0.7, 0.9])
    egg = Quadric(*(1.0 / axes**2), constant=1.0)
    robot = rbd.Robot(load_robot("ur5_robot"))
    of = ConstraintSet(robot.model, [SurfaceConstraint("s", "tool0", surface=egg)])
    q = robot.project_configuration(robot.model.random(5), of)
    T = robot.pose(q, "tool0")
    np.testing.assert_allclose(np.sum((T[:3, 3] / axes) ** 2), 1.0, rtol=1e-11)
    normal = T[:3, 3] / axes**2
    force = T[:3, :3] @ robot.constraint_wrenches(q, of, [7.0])["s"][3:]
    np.testing.assert_allclose(force, 7.0 * normal / np.linalg.norm(normal), rtol=1e-9)


@pytest.mark.parametrize(
    "numbers",
    [
        {},
        {"xx": 1.0, "yy": 1.0, "zz": 1.0},
        {"xx": 1.0, "constant": -1.0},
        {"zz": 1.0, "z": 2.0, "constant": -1.0},
        {"zz": -1.0, "z": 2.0, "constant": 1.5},
        {"xx": float("nan"), "constant": 1.0},
    ],
)
def test_quadrics_without_points_or_normals_are_refused(numbers):
    with pytest.raises(ValueError, match="quadric"):
        Quadric(**numbers)


@pytest.mark.parametrize(
    ("numbers", "point"),
    [
        ({"z": 1.0}, (0.3, 0.2, 0.0)),
        ({"xx": 1.0, "yy": 1.0, "zz": -1.0, "constant": 1.0}, (1.0, 2.0, 2.0)),
        ({"zz": 1.0, "z": 2.0, "constant": -0.5}, (4.0, 5.0, -1.0 + 0.5**0.5)),
    ],
)
def test_quadrics_without_an_inside_or_a_centre(numbers, point):
    quadric = Quadric(**numbers)
    assert abs(quadric.value(point, quadric.numbers)) < 1e-15


def test_all_backends_agree_also_in_batches():
    model = load_robot("panda", "floating")
    rng = np.random.default_rng(2)
    q = np.stack([model.random(rng) for _ in range(5)])
    v = rng.normal(size=(5, model.nv))
    of = ConstraintSet(model, between("panda_hand", "panda_link2"))
    results = [rbd.Robot(model, backend=backend).constraint_rows(q, v, of) for backend in BACKENDS]
    for result in results[1:]:
        for one, other in zip(results[0], result):
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)
    single = rbd.Robot(model).constraint_rows(q[3], v[3], of)
    np.testing.assert_allclose(single.A, results[0].A[3], rtol=1e-10, atol=1e-10)


def test_parameters_are_read_at_run_time():
    robot = rbd.Robot(load_robot("ur5_robot"))
    of = ConstraintSet(robot.model, [SurfaceConstraint("s", "tool0", surface=Sphere(0.5), placement=placement(1))])
    other = of.changed("s", surface=Sphere(0.7), placement=placement(3))
    assert other.key == of.key
    q = robot.model.random(2)
    assert robot.constraint_rows(q, q, of).h != robot.constraint_rows(q, q, other).h
    assert len(robot._constrained_kernels) == 1
    assert of.changed("s", surface=Plane()).key != of.key
    rows = [HolonomicRows("f", lambda q, k=k: [q[0] * k]) for k in (1.0, 2.0)]
    keys = {ConstraintSet(robot.model, [row]).key for row in rows}
    assert len(keys) == 2  # functions are told apart by what they do


def test_names_of_rows_and_slices():
    model = load_robot("ur5_robot")
    of = ConstraintSet(
        model, [FrameConstraint("a", "tool0", directions=("z", "rx")), SurfaceConstraint("b", "tool0", aligned=True)]
    )
    assert of.row_names == ("a.rx", "a.z", "b.normal", "b.align_x", "b.align_y")
    assert of.slice_of("b") == slice(2, 5) and of["a"].directions == ("rx", "z")
    assert len(pickle.loads(pickle.dumps(of))) == 5


@pytest.mark.parametrize(
    ("make", "error", "reason"),
    [
        (lambda m: ConstraintSet(m, []), ValueError, "at least one"),
        (lambda m: ConstraintSet(m, [FrameConstraint("a", "nowhere")]), KeyError, "no frame named 'nowhere'"),
        (lambda m: ConstraintSet(m, [FrameConstraint("a", "tool0")] * 2), ValueError, "'a' occurs twice"),
        (lambda m: FrameConstraint("a", "tool0", directions=("x", "up")), ValueError, "directions"),
        (lambda m: ScrewConstraint("nut", "tool0", pitch=0.0), ValueError, "'nut'.*pitch"),
        (lambda m: DistanceConstraint("rod", "tool0", distance=0.0), ValueError, "'rod'.*positive"),
        (lambda m: RollingBall("b", "tool0", radius=-1.0), ValueError, "radius"),
        (lambda m: RollingBall("b", "tool0", surface=ImplicitSurface()), ValueError, "plane, sphere or cylinder"),
        (lambda m: RollingBall("b", "tool0", surface=Quadric(z=1.0)), ValueError, "plane, sphere or cylinder"),
        (lambda m: JointCoupling("g", {"elbow_joint": []}), ValueError, "'g'"),
        (lambda m: Sphere(float("nan")), ValueError, "radius"),
        (lambda m: JointCoupling("g", {}), ValueError, "'g'"),
        (lambda m: ConstraintSet(m, [JointCoupling("g", {"elbow": 1.0})]), KeyError, "no joint named 'elbow'"),
        (lambda m: ConstraintSet(m, [HolonomicRows("f", lambda q: [q[0], q[1]])]), ValueError, "returns 2 rows"),
        (lambda m: ConstraintSet(m, [PfaffianRows("f", lambda q: [[1.0]])]), ValueError, "row of 1 numbers"),
        (lambda m: ConstraintSet(m, [FrameConstraint("a", "tool0")], stabilization=-1.0), ValueError, "stabilization"),
    ],
)
def test_what_is_wrong_is_said(make, error, reason):
    with pytest.raises(error, match=reason):
        make(load_robot("ur5_robot"))


def test_joints_of_several_freedoms_cannot_be_coupled():
    with pytest.raises(ValueError, match="root_joint.*more than one"):
        ConstraintSet(load_robot("ur5_robot", "floating"), [JointCoupling("g", {"root_joint": 1.0})])


def test_set_of_another_model_is_refused():
    of = ConstraintSet(load_robot("ur5_robot"), [FrameConstraint("a", "tool0")])
    robot = rbd.Robot(rbd.load_urdf(robot_file("panda")))
    with pytest.raises(ValueError, match="another model"):
        robot.constraint_rows(robot.model.neutral(), np.zeros(robot.model.nv), of)


# --- jets -----------------------------------------------------------------------------------------


def test_jets_are_the_derivatives_of_compositions():
    t = 0.7
    x = Jet(t, 1.0)
    f = sin(x * x) / sqrt(1.0 + x) + tanh(2.0 * x) * cos(3.0 - x) - 1.0 / x + x**3
    h = 1e-4

    def value(t):
        return np.sin(t * t) / np.sqrt(1 + t) + np.tanh(2 * t) * np.cos(3 - t) - 1 / t + t**3

    np.testing.assert_allclose(f.x, value(t), rtol=1e-14)
    np.testing.assert_allclose(f.d, (value(t + h) - value(t - h)) / (2 * h), rtol=1e-7)
    np.testing.assert_allclose(f.dd, (value(t + h) - 2 * value(t) + value(t - h)) / h**2, rtol=1e-6)


@pytest.mark.parametrize("point", [(1.0, 2.0), (-1.0, 0.5), (-0.3, -2.0), (2.0, -0.1)])
def test_jets_of_the_angle(point):
    x, y = point
    angle = atan2(Jet(y, 0.3), Jet(x, -0.7))
    square = x * x + y * y
    np.testing.assert_allclose(angle.x, np.arctan2(y, x), rtol=1e-14)
    np.testing.assert_allclose(angle.d, (x * 0.3 + y * 0.7) / square, rtol=1e-12)


def test_nested_jets_keep_their_variables_apart():
    """d/ds of (d/dt of x(s) t^2 at t = s-independent 2): 4 x'(s); mixed up, it would be otherwise."""
    s = Jet(3.0, 1.0, 0.0, level=0)
    t = Jet(2.0, 1.0, 0.0, level=1)
    inner = rate_of(s * s * (t * t), level=1)  # s^2 2 t
    assert rate_of(inner, level=0) == pytest.approx(2 * 3.0 * 4.0)
    assert second_rate_of(s * (t * t), level=1).x == pytest.approx(6.0)
    assert (t - s).level == 1 and (s - t).x.x == pytest.approx(1.0)


def test_jets_choose_whole():
    a, b = Jet(1.0, 2.0, 3.0), Jet(4.0, 5.0, 6.0)
    chosen = where(a.less(b), a, b)
    assert (chosen.x, chosen.d, chosen.dd) == (1.0, 2.0, 3.0)
    plain = where(b.less(a), a, 7.0)
    assert (plain.x, plain.d, plain.dd) == (7.0, 0.0, 0.0)
