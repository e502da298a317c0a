# SPDX-License-Identifier: Apache-2.0
"""Velocity inverse kinematics: the least squares that an independent solver finds, and limits that hold."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from helpers.models.robots import load_robot, needs_pinocchio
from scipy.spatial.transform import Rotation

import rbd_dynamics as rbd
from rbd_dynamics.control import VelocityInverseKinematics

pytest.importorskip("daqp")

PERIOD = 0.01
LENGTH = 0.3  # m, as 1 rad


def moved(pose, twist):
    """The pose after a body twist (6) for unit time."""
    angle = Rotation.from_rotvec(twist[:3])
    after = np.array(pose)
    x = np.linalg.norm(twist[:3])
    K = np.array([[0.0, -twist[2], twist[1]], [twist[2], 0.0, -twist[0]], [-twist[1], twist[0], 0.0]])
    V = (
        np.eye(3) + 0.5 * K + K @ K / 6.0
        if x < 1e-4
        else (np.eye(3) + (1.0 - np.cos(x)) / x**2 * K + (x - np.sin(x)) / x**3 * K @ K)
    )
    after[:3, 3] += pose[:3, :3] @ (V @ twist[3:])
    after[:3, :3] = pose[:3, :3] @ angle.as_matrix()
    return after


def weighted_error(T, wanted):
    """By SciPy's logarithm."""
    off = np.linalg.inv(T) @ wanted
    return np.concatenate([Rotation.from_matrix(off[:3, :3]).as_rotvec(), off[:3, 3] / LENGTH])


@needs_pinocchio
@pytest.mark.parametrize("limit", [0.2, 1e3])
def test_it_is_the_least_squares_that_another_solver_finds(limit):
    """Errors' derivatives by differences of SciPy's logarithm, the program by SciPy's bounded least squares."""
    robot, rng = rbd.Robot(load_robot("panda")), np.random.default_rng(0)
    model, frames, gain, damping = robot.model, ("panda_hand", "panda_link4"), 20.0, 1e-3
    solver = VelocityInverseKinematics(
        robot, frames, period=PERIOD, gain=gain, damping=damping, velocity_limit=limit, approach=1.0,
        posture=model.start_position(), posture_gain=2.0, posture_weight=0.01,
    )  # fmt: skip
    for _ in range(5):
        q, dq = model.random(rng), 0.1 * rng.normal(size=model.nv)
        wanted = np.array([robot.pose(np.clip(q + dq, model.lower, model.upper), name) for name in frames])
        twists = 0.3 * rng.normal(size=(2, 6))

        def errors(v, s, q=q, wanted=wanted, twists=twists):
            """After the joints have moved with v, and the wanted poses with their twists for a time s."""
            return np.concatenate([
                weighted_error(robot.pose(q + v, name), moved(pose, s * twist))
                for name, pose, twist in zip(frames, wanted, twists)
            ])  # fmt: skip

        h = 1e-6
        A = np.array([(errors(-h * e, 0.0) - errors(h * e, 0.0)) / (2.0 * h) for e in np.eye(model.nv)]).T
        ahead = (errors(np.zeros(model.nv), h) - errors(np.zeros(model.nv), -h)) / (2.0 * h)
        asked = gain * errors(np.zeros(model.nv), 0.0) + ahead
        rows = [A, np.sqrt(damping) * np.eye(model.nv), 0.1 * np.eye(model.nv)]
        sides = [asked, np.zeros(model.nv), 0.1 * 2.0 * (model.start_position() - q)]
        low = np.maximum(-limit, (model.lower - q) / PERIOD)
        high = np.minimum(limit, (model.upper - q) / PERIOD)
        best = scipy.optimize.lsq_linear(np.vstack(rows), np.concatenate(sides), (low, high), tol=1e-14, method="bvls")
        found = solver(q, wanted, twists)
        np.testing.assert_allclose(found.v, best.x, atol=2e-6 * (1.0 + np.abs(best.x).max()))
        assert found.held and found.limited.any() == (np.abs(best.active_mask).max() > 0)
        off = errors(np.zeros(model.nv), 0.0).reshape(2, 6)
        np.testing.assert_allclose(found.rotation_error, np.linalg.norm(off[:, :3], axis=1), atol=1e-9)
        np.testing.assert_allclose(found.distance, LENGTH * np.linalg.norm(off[:, 3:], axis=1), atol=1e-9)


def test_a_pose_that_moves_is_followed_without_delay():
    """With the twist of the wanted pose the error falls at each period as the gain says, however fast it moves."""
    robot = rbd.Robot(load_robot("ur5_robot"))
    q = np.array([0.3, -1.2, 1.3, -0.6, -1.4, 0.2])
    solver = VelocityInverseKinematics(robot, "tool0", period=1e-3, gain=100.0, damping=1e-12, velocity_limit=20.0)
    twist = np.array([0.2, -0.3, 0.4, 0.1, 0.15, -0.1])
    wanted = moved(robot.pose(q, "tool0"), np.array([0.02, 0.01, -0.02, 0.01, 0.0, 0.01]))
    first = solver(q, wanted).distance
    for _ in range(300):
        found = solver(q, wanted, twist)
        q = robot.model.integrate(q, 1e-3 * found.v)
        wanted = moved(wanted, 1e-3 * twist)
    assert first > 0.01 and found.distance < 2e-5 and found.rotation_error < 2e-5


@pytest.mark.parametrize("acceleration", [None, 2.0, 20.0])
def test_no_limit_is_passed_by_whatever_is_asked(acceleration):
    """A target that jumps about: positions, velocities and accelerations stay within limits to the last bit or so."""
    robot, rng = rbd.Robot(load_robot("panda")), np.random.default_rng(1)
    model = robot.model
    solver = VelocityInverseKinematics(
        robot,
        "panda_hand",
        period=PERIOD,
        acceleration_limit=acceleration,
        approach=1.0,
        posture=model.start_position(),
    )
    q, v = model.start_position(), np.zeros(model.nv)
    touched = 0
    for step in range(600):
        if step % 60 == 0:
            wanted = robot.pose(model.random(rng), "panda_hand")
        found = solver(q, wanted, v=v)
        assert np.all(np.abs(found.v) <= model.velocity_limit * (1.0 + 1e-12))
        if acceleration is not None:
            assert np.all(np.abs(found.v - v) <= acceleration * PERIOD * (1.0 + 1e-9))
        v, q = found.v, q + PERIOD * found.v
        assert np.all(q >= model.lower - 1e-12) and np.all(q <= model.upper + 1e-12)
        touched += np.any((q < model.lower + 1e-6) | (q > model.upper - 1e-6))
    assert touched > 20, "no joint came to a limit"


def test_shapes_stay_apart():
    """A wrist that is asked to go through the floor stays at the clearance, and goes where it may on the way."""
    pytest.importorskip("coal")
    from rbd_dynamics.collisions import CollisionSet, CollisionShape

    robot = rbd.Robot(load_robot("ur5_robot"))
    shapes = CollisionSet(robot.model, [
        CollisionShape("table", "world", "plane"), CollisionShape("tool", "tool0", "sphere", size=(0.05,)),
        CollisionShape("elbow", "forearm_link", "sphere", size=(0.06,)),
    ])  # fmt: skip
    q = np.array([0.3, -1.2, 1.3, -0.6, -1.4, 0.2])
    wanted = robot.pose(q, "tool0")
    wanted[2, 3] = -0.2
    solver = VelocityInverseKinematics(robot, "tool0", period=PERIOD, shapes=shapes, clearance=0.02)
    least = np.inf
    for _ in range(300):
        found = solver(q, wanted)
        assert found.held
        q = robot.model.integrate(q, PERIOD * found.v)
        least = min(least, float(shapes.distances(q).min()))
    assert 0.0195 < least < 0.021
    height = robot.pose(q, "tool0")[:3, 3]
    np.testing.assert_allclose(height, [*wanted[:2, 3], 0.07], atol=2e-3)
    inside = solver(np.array([0.3, -0.2, 0.6, -0.6, -1.4, 0.2]), wanted)
    assert np.isfinite(inside.v).all() and inside.clearance < 0.02


def test_a_floating_base_follows_with_hands_and_feet():
    model = load_robot("solo12", "floating")
    robot, rng = rbd.Robot(model), np.random.default_rng(3)
    frames = ("FL_FOOT", "FR_FOOT", "HL_FOOT", "base_link")
    q = model.neutral()
    q[7:] = np.tile([0.0, 0.7, -1.4], 4)
    target = model.integrate(q, 0.05 * rng.normal(size=model.nv))
    wanted = np.array([robot.pose(target, name) for name in frames])
    solver = VelocityInverseKinematics(robot, frames, period=PERIOD)
    for _ in range(100):
        found = solver(q, wanted)
        q = model.integrate(q, PERIOD * found.v)
    assert found.distance.max() < 1e-3 and found.rotation_error.max() < 1e-3 and found.distance.shape == (4,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"period": 0.0}, "period 0 is not above 0"),
        ({"gain": 200.0}, "gain 200 is not above 0 and at most 100"),
        ({"approach": 1.5}, "approach 1.5 is not above 0 and at most 1"),
        ({"velocity_limit": -1.0}, "velocity_limit: expected positive numbers"),
        ({"margin": 0.001}, "margin 0.001 is not above 0.01"),
        ({"damping": "much"}, "damping is not a number"),
    ],
)
def test_numbers_out_of_range_are_refused(options, message):
    robot = rbd.Robot(load_robot("ur5_robot"))
    with pytest.raises(ValueError, match=message):
        VelocityInverseKinematics(robot, "tool0", **{"period": PERIOD, **options})
