# SPDX-License-Identifier: Apache-2.0
"""Cams: closed forms, what their profile makes of a screw, and where there is no answer."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.checks.oracles import assert_close, derivative, every_backend
from helpers.models.mixed_trees import any_kind
from helpers.models.robots import random_inertia, random_transform
from helpers.models.varying_kinds import X, Y, Z, piston, under_gravity
from numpy.typing import NDArray
from scipy.linalg import expm

from rbd_dynamics import Model, ModelBuilder, ModelError, Robot, load_yaml, model_to_dict, save_yaml, spatial
from rbd_dynamics.algorithms.world_frame import world_frame
from rbd_dynamics.analysis.sensitivity import AxisSensitivity
from rbd_dynamics.model.joints import Cam, Helical, JointKind, Prismatic, Revolute, Screw
from rbd_dynamics.model.model import Mimic
from rbd_dynamics.replay.identification.samples import torque_unit
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.se3 import Transform

Array = NDArray[np.float64]


def test_follower_of_an_eccentric_cam():
    """s = e (1 - cos q): tau = (J + m e^2 sin^2 q) a + m e^2 sin q cos q v^2 + m g e sin q, and its derivatives."""
    m, J, e, g = 2.0, 0.3, 0.05, 9.81
    robot = under_gravity(Cam(polynomial=(e,), cosine=(-e,)))
    for q, v, a in np.random.default_rng(1).normal(size=(20, 3)):
        s, c = np.sin(q), np.cos(q)
        tau = (J + m * e**2 * s**2) * a + m * e**2 * s * c * v**2 + m * g * e * s
        assert_close(robot.inverse_dynamics([q], [v], [a]), np.array([tau]), 1e-13)
        assert_close(robot.forward_dynamics([q], [v], [tau]), np.array([a]), 1e-12)
        by_q, by_v, by_a = robot.inverse_dynamics_derivatives([q], [v], [a])
        slope = 2 * m * e**2 * s * c * a + m * e**2 * (c**2 - s**2) * v**2 + m * g * e * c
        assert_close(by_q, np.array([[slope]]), 1e-12)
        assert_close(by_v, np.array([[2 * m * e**2 * s * c * v]]), 1e-12)
        assert_close(by_a, np.array([[J + m * e**2 * s**2]]), 1e-13)
        assert_close(robot.coriolis_matrix([q], [v]), np.array([[m * e**2 * s * c * v]]), 1e-12)
        assert_close(robot.jacobian([q], "link0"), np.array([[0, 0, 0, 0, 0, e * s]]).T, 1e-13)


def test_piston_of_a_crank():
    """A cam whose profile x(q) is the slider-crank's: tau = (J + m x'^2) a + m x' x'' v^2 + m g x'."""
    m, J, g, r, length = 2.0, 0.3, 9.81, 0.2, 0.5
    robot = under_gravity(Cam(profile=piston))
    for q, v, a in np.random.default_rng(2).normal(size=(20, 3)):
        s, c = r * np.sin(q), r * np.cos(q)
        root = np.sqrt(length**2 - s**2)
        height = c + root
        root_1 = -s * c / root
        root_2 = -(c * c - s * s + root_1**2) / root
        root_3 = (4 * s * c - 3 * root_1 * root_2) / root
        x1, x2, x3 = -s + root_1, -c + root_2, s + root_3
        assert_close(robot.pose([q], "link0")[2, 3], np.asarray(height), 1e-14)
        tau = (J + m * x1**2) * a + m * x1 * x2 * v**2 + m * g * x1
        assert_close(robot.inverse_dynamics([q], [v], [a]), np.array([tau]), 1e-13)
        slope = 2 * m * x1 * x2 * a + m * (x2**2 + x1 * x3) * v**2 + m * g * x2
        assert_close(robot.inverse_dynamics_derivatives([q], [v], [a])[0], np.array([[slope]]), 1e-11)


def test_spherical_coordinates_of_a_point():
    """The textbook's equations of a point mass: longitude, latitude, distance."""
    from helpers.models.varying_kinds import SphericalCoordinates

    m, J, g = 2.0, 0.3, 9.81
    robot = under_gravity(SphericalCoordinates())
    for _ in range(10):
        (_, lat, r), (dlon, dlat, dr), (a_lon, a_lat, a_r) = state = np.random.default_rng(3).normal(size=(3, 3))
        c, s = np.cos(lat), np.sin(lat)
        expected = [
            m * r**2 * c**2 * a_lon + 2 * m * r * c**2 * dr * dlon - 2 * m * r**2 * s * c * dlat * dlon + J * a_lon,
            m * r**2 * a_lat + 2 * m * r * dr * dlat + m * r**2 * s * c * dlon**2 + m * g * r * c + J * a_lat,
            m * a_r - m * r * dlat**2 - m * r * c**2 * dlon**2 + m * g * s + J * a_r,
        ]
        assert_close(robot.inverse_dynamics(*state), np.array(expected), 1e-12)


def test_a_cam_is_what_its_profile_makes_of_a_screw():
    rng = np.random.default_rng(4)
    twist = any_kind(rng, "screw").twist
    cam = Cam(twist, (0.3, -0.5, 0.2), (0.1, 0.0, -0.2), (0.4,))
    q = 0.7
    s = 0.3 - 0.5 * q + 0.2 * q**2 + 0.1 * np.cos(q) - 0.2 * np.cos(3 * q) + 0.4 * np.sin(q)
    assert abs(cam.position(q) - s) < 1e-15
    X6 = np.zeros((4, 4))
    X6[:3, :3], X6[:3, 3] = spatial.hat(np.array(twist[:3])), twist[3:]
    np.testing.assert_allclose(spatial.arrays.pose_array(cam.transform([q])), expm(X6 * s), atol=1e-14)
    slope = -0.5 + 0.4 * q - 0.1 * np.sin(q) + 0.6 * np.sin(3 * q) + 0.4 * np.cos(q)
    np.testing.assert_allclose(cam.columns([q])[0], slope * np.array(twist), atol=1e-15)


def test_a_cam_counts_its_angle_and_is_driven_by_a_torque():
    for kind, unit in ((Cam(cosine=(0.1,)), "N m"), (Revolute(), "N m"), (Prismatic(), "N"), (Helical(Z, 0.1), "N m")):
        assert torque_unit(under_gravity(kind).model, "link0_joint") == unit


def test_a_linear_cam_is_a_screw_and_costs_as_much():
    cam, screw = Cam((*Z, 0.0, 0.0, 0.0), (0.0, 1.0)), Screw((*Z, 0.0, 0.0, 0.0))
    assert cam.has_constant_columns and cam.columns([0.4]) == screw.columns([0.4])
    assert cam.transform([0.4]) == screw.transform([0.4])


def test_helical_is_a_cam_with_that_lead():
    """A thread is a linear cam along a screw with pitch."""
    helical, cam = Helical(Z, 0.05), Cam((*Z, 0.0, 0.0, 0.05), (0.0, 1.0))
    one, other = (under_gravity(kind, Revolute(X)) for kind in (helical, cam))
    q, v, a = np.random.default_rng(10).normal(size=(3, 2))
    assert_close(one.inverse_dynamics(q, v, a), other.inverse_dynamics(q, v, a), 1e-13)
    assert (
        world_frame(other.model, [b.inertia for b in other.model.bodies], q.tolist(), v.tolist()).columns[0][0].slopes
        == ()
    )


def test_a_mimic_of_a_cam_is_the_chain_rule():
    """Two cams on one shaft: q' = (q, r q + o), v' = J v."""
    kinds, ratio, offset = (Cam(cosine=(0.2,), sine=(0.1, 0.05)), Cam((*X, 0.0, 0.2, 0.0), (0.0, 0.3, 0.2))), -0.7, 0.4

    def model(mimic: Mimic | None) -> Model:
        rng, builder = np.random.default_rng(8), ModelBuilder(gravity=(1.0, 2.0, -9.0))
        for k, kind in enumerate(kinds):
            builder.add_body(
                f"link{k}", "link0" if k else None, kind, joint_name=f"joint{k}", mass=1.0 + k, com=rng.normal(size=3),
                inertia=0.1 * np.eye(3), placement=random_transform(rng), armature=0.1, mimic=mimic if k else None,
            )  # fmt: skip
        return builder.build()

    free, held = (
        Robot(model(None), backend="reference"),
        Robot(model(Mimic("joint0", multiplier=ratio, offset=offset)), backend="reference"),
    )
    q, v, a = np.random.default_rng(9).normal(size=(3, 1))
    J = np.array([[1.0], [ratio]])
    both = (np.array([q[0], ratio * q[0] + offset]), J @ v, J @ a)
    assert_close(held.inverse_dynamics(q, v, a), J.T @ free.inverse_dynamics(*both), 1e-12)
    for ours, theirs in zip(held.inverse_dynamics_derivatives(q, v, a), free.inverse_dynamics_derivatives(*both)):
        assert_close(ours, J.T @ theirs @ J, 1e-12)
    assert_close(held.coriolis_matrix(q, v), J.T @ free.coriolis_matrix(*both[:2]) @ J, 1e-12)


def test_sensitivity_to_the_axis_of_a_cam():
    """Its follower is away from its screw's origin at q = 0: T(0) is not the identity."""
    rng = np.random.default_rng(6)
    cam = Cam((*Z, 0.0, 0.1, 0.05), (0.4, 0.3), (0.2, 0.1))
    place, first, turn, second = random_transform(rng), random_inertia(rng), random_transform(rng), random_inertia(rng)
    q, v, a = rng.normal(size=(3, 2))

    def robot(twist: Array) -> Robot:
        """The joint frame displaced, while the link and what it carries stay where they are at q = 0."""
        by, start = spatial.exp_se3(twist), spatial.arrays.pose_array(cam.transform([0.0]))
        behind = np.linalg.inv(start) @ np.linalg.inv(by) @ start  # new link frame to the old one
        shift, back = (
            Transform((tuple(map(float, T[:3, :3].ravel())),), tuple(map(float, T[:3, 3]))) for T in (by, behind)
        )
        builder = ModelBuilder(gravity=(1.0, 2.0, -8.0))
        for name, parent, kind, pose, inertia in (
            ("one", None, cam, place @ shift, first.to_parent(back)),
            ("two", "one", Revolute(Y), back @ turn, second),
        ):
            com = np.array(inertia.moment) / inertia.mass
            about = RigidInertia.from_com(inertia.mass, tuple(com), (0.0,) * 6).rotational
            own = np.array(inertia.rotational) - np.array(about)
            where = Transform.of(pose.rotation, pose.p)
            load = {"mass": inertia.mass, "com": com, "inertia": own}
            builder.add_body(name, parent, kind, joint_name=f"j{name}", placement=where, **load)
        return Robot(builder.build(), backend="reference")

    found = AxisSensitivity(robot(np.zeros(6)), "jone")(q, v, a)
    moved = [derivative(lambda t, e=e: robot(t * e).inverse_dynamics(q, v, a), 1e-3) for e in np.eye(6)]
    assert_close(found, np.stack(moved, axis=-1), 1e-7)


# --- where there is no answer --------------------------------------------------------------------


@every_backend
def test_a_dwell_without_rotor_inertia_is_singular(backend):
    builder = ModelBuilder()
    builder.add_body("follower", None, Cam(cosine=(0.05,)), joint_name="cam", mass=1.0)
    robot = Robot(builder.build(), backend=backend)
    assert robot.mass_matrix([0.0]) == 0.0
    with pytest.raises(ArithmeticError):
        robot.forward_dynamics([0.0], [0.0], [1.0])
    with pytest.raises(ArithmeticError):
        robot.forward_dynamics_derivatives([0.0], [0.0], [1.0])
    assert np.isfinite(robot.inverse_dynamics([0.0], [1.0], [1.0])).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Cam(), "needs a profile"),
        (lambda: Cam(polynomial=(0.3,)), "not constant"),
        (lambda: Cam((0, 0, 0, 0, 0, 2), (0, 1)), "not a unit twist"),
        (lambda: Cam(polynomial="ab"), "polynomial 'ab' is not a list"),
        (lambda: Cam(cosine=3.0), "cosine 3.0 is not a list"),
        (lambda: Cam(sine=(float("nan"),)), "sine .* not finite"),
        (lambda: Cam(polynomial=(0, 1), profile=piston), "not both"),
        (lambda: Cam(profile="piston"), "not a function"),
        (lambda: Cam(profile=np.sin), "cannot be differentiated.*spatial.scalar"),
        (lambda: JointKind.from_dict({"type": "cam", "lift": 3}), "a cam joint has no 'lift'"),
    ],
)
def test_impossible_cams_are_refused(make, message):
    with pytest.raises(ModelError, match=message):
        make()


def test_cams_are_written_down_unless_they_are_functions(tmp_path):
    robot = under_gravity(Cam((*Z, 0.0, 0.0, 0.02), (0.0, 0.5), (), (0.1, 0.2)), Cam(cosine=(0.1,)))
    kind = robot.model.bodies[1].joint.kind
    assert kind.to_dict() == {"type": "cam", "twist": [0.0, 0.0, 0.0, 0.0, 0.0, 1.0], "cosine": [0.1]}
    save_yaml(robot.model, tmp_path / "cam.yaml")
    assert load_yaml(tmp_path / "cam.yaml") == robot.model
    with pytest.raises(ModelError, match="function .* cannot be written down"):
        model_to_dict(under_gravity(Cam(profile=piston)).model)
