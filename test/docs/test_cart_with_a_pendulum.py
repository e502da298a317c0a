# SPDX-License-Identifier: Apache-2.0
"""A robot from its URDF whose equations fit on a line; test_examples_of_arms.py has the arms of examples/."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.checks.oracles import assert_close, every_backend

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


CART = (
    '<robot name="cart"><link name="rail"/>' + link("cart", 3.0, 0.0, 0.1) + link("rod", 0.8, 0.5, 0.02)
    + joint("slide", "prismatic", "rail", "cart", "1 0 0").replace("<axis", '<limit effort="1" velocity="1"/><axis')
    + joint("hinge", "continuous", "cart", "rod", "0 0 1") + "</robot>"
)  # fmt: skip


@every_backend
def test_cart_with_a_pendulum(backend):
    """[[M + m, -m l sin q], [-m l sin q, I + m l^2]] qdd + [-m l cos q qd^2, m g l cos q] = tau."""
    robot = Robot(load_urdf(CART, gravity=(0, -g, 0)), backend=backend)
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
