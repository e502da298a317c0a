"""Robots whose equations fit on a line: pendulum, cart with a pendulum, planar arm with two joints."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import assert_close, every_backend

from rbd_dynamics import Robot, load_urdf

g = 9.81


def link(name, mass, com, izz):
    """A link whose centre of mass lies at x = com, with inertia izz about it."""
    return (
        f'<link name="{name}"><inertial><origin xyz="{com} 0 0"/><mass value="{mass}"/>'
        f'<inertia ixx="{izz}" iyy="{izz}" izz="{izz}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )


def joint(name, kind, parent, child, axis, x=0.0):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{x} 0 0"/><axis xyz="{axis}"/></joint>'
    )


PENDULUM = '<robot name="p"><link name="base"/>' + link("rod", 1.7, 0.4, 0.05) + joint(
    "hinge", "continuous", "base", "rod", "0 0 1") + "</robot>"  # fmt: skip


@every_backend
def test_pendulum(backend):
    """In the x-y plane with gravity along -y: (I + m l^2) qdd + m g l cos q = tau."""
    robot = Robot(load_urdf(PENDULUM, gravity=(0, -g, 0)), backend)
    q, v, a = np.random.default_rng(0).normal(size=(3, 20, 1))
    inertia = 0.05 + 1.7 * 0.4**2
    tau = inertia * a + 1.7 * g * 0.4 * np.cos(q)
    assert_close(robot.inverse_dynamics(q, v, a), tau, 1e-14)
    assert_close(robot.forward_dynamics(q, v, tau), a, 1e-14)
    assert_close(robot.mass_matrix(q), np.full((20, 1, 1), inertia), 1e-15)
    assert_close(robot.kinetic_energy(q, v), inertia * v[:, 0] ** 2 / 2, 1e-14)
    assert_close(robot.potential_energy(q), 1.7 * g * 0.4 * np.sin(q[:, 0]), 1e-14)


TWO_R = (
    '<robot name="2R"><link name="base"/>' + link("upper", 2.0, 0.3, 0.06) + link("fore", 1.5, 0.25, 0.04)
    + joint("shoulder", "continuous", "base", "upper", "0 0 1")
    + joint("elbow", "continuous", "upper", "fore", "0 0 1", 0.7) + "</robot>"
)  # fmt: skip


def two_r(q, v):
    """M, C by Christoffel symbols and N of the planar arm with two joints: alpha, beta, delta."""
    m1, r1, i1, l1, m2, r2, i2 = 2.0, 0.3, 0.06, 0.7, 1.5, 0.25, 0.04
    alpha = i1 + i2 + m1 * r1**2 + m2 * (l1**2 + r2**2)
    beta = m2 * l1 * r2
    delta = i2 + m2 * r2**2
    c, s = np.cos(q[1]), np.sin(q[1])
    M = np.array([[alpha + 2 * beta * c, delta + beta * c], [delta + beta * c, delta]])
    C = np.array([[-beta * s * v[1], -beta * s * (v[0] + v[1])], [beta * s * v[0], 0]])
    far = m2 * r2 * g * np.cos(q[0] + q[1])
    N = np.array([(m1 * r1 + m2 * l1) * g * np.cos(q[0]) + far, far])
    return M, C, N


@every_backend
def test_planar_arm_with_two_joints(backend):
    robot = Robot(load_urdf(TWO_R, gravity=(0, -g, 0)), backend)
    rng = np.random.default_rng(1)
    for _ in range(20):
        q, v, a, tau = rng.normal(size=(4, 2))
        M, C, N = two_r(q, v)
        assert_close(robot.mass_matrix(q), M, 1e-14)
        assert_close(robot.gravity(q), N, 1e-13)
        assert_close(robot.coriolis(q, v), C @ v, 1e-13)
        assert_close(robot.coriolis_matrix(q, v), C, 1e-13)
        assert_close(robot.inverse_dynamics(q, v, a), M @ a + C @ v + N, 1e-13)
        assert_close(robot.forward_dynamics(q, v, tau), np.linalg.solve(M, tau - C @ v - N), 1e-13)
        # the shoulder is moved, the elbow swings
        elbow = (tau[1] - C[1] @ v - N[1] - M[1, 0] * a[0]) / M[1, 1]
        found, torque = robot.hybrid_dynamics(q, v, a, tau, [True, False])
        assert_close(found, [a[0], elbow], 1e-13)
        assert_close(torque, [M[0] @ found + C[0] @ v + N[0], tau[1]], 1e-13)


@every_backend
def test_the_hand_of_the_planar_arm(backend):
    robot = Robot(load_urdf(TWO_R), backend)
    q, v = np.random.default_rng(2).normal(size=(2, 2))
    far, near = q[0] + q[1], q[1]
    pose = robot.pose(q, "fore")
    np.testing.assert_allclose(pose[:3, 3], [0.7 * np.cos(q[0]), 0.7 * np.sin(q[0]), 0], atol=1e-15)
    turn = [[np.cos(far), -np.sin(far), 0], [np.sin(far), np.cos(far), 0], [0, 0, 1]]
    np.testing.assert_allclose(pose[:3, :3], turn, atol=1e-15)
    J = np.zeros((6, 2))
    J[2] = 1, 1
    J[3:5, 0] = 0.7 * np.sin(near), 0.7 * np.cos(near)
    np.testing.assert_allclose(robot.jacobian(q, "fore"), J, atol=1e-15)
    rate = np.zeros((6, 2))
    rate[3:5, 0] = 0.7 * np.cos(near) * v[1], -0.7 * np.sin(near) * v[1]
    np.testing.assert_allclose(robot.jacobian_dot(q, v, "fore"), rate, atol=1e-15)


CART = (
    '<robot name="cart"><link name="rail"/>' + link("cart", 3.0, 0.0, 0.1) + link("rod", 0.8, 0.5, 0.02)
    + joint("slide", "prismatic", "rail", "cart", "1 0 0").replace("<axis", '<limit effort="1" velocity="1"/><axis')
    + joint("hinge", "continuous", "cart", "rod", "0 0 1") + "</robot>"
)  # fmt: skip


@every_backend
def test_cart_with_a_pendulum(backend):
    """[[M + m, -m l sin q], [-m l sin q, I + m l^2]] qdd + [-m l cos q qd^2, m g l cos q] = tau."""
    robot = Robot(load_urdf(CART, gravity=(0, -g, 0)), backend)
    rng = np.random.default_rng(3)
    for _ in range(10):
        q, v, a = rng.normal(size=(3, 2))
        s, c = 0.8 * 0.5 * np.sin(q[1]), 0.8 * 0.5 * np.cos(q[1])
        M = np.array([[3.8, -s], [-s, 0.02 + 0.8 * 0.25]])
        b = np.array([-c * v[1] ** 2, g * c])
        assert_close(robot.inverse_dynamics(q, v, a), M @ a + b, 1e-13)
        assert_close(robot.forward_dynamics(q, v, M @ a + b), a, 1e-13)
        # a cart that is moved swings the rod as an accelerated pivot does
        swing = robot.hybrid_dynamics(q, v, [a[0], 0], [0, 0], [True, False])[0][1]
        assert swing == pytest.approx((s * a[0] - g * c) / M[1, 1], rel=1e-12)
