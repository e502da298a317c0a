# SPDX-License-Identifier: Apache-2.0
"""Bodies without mass that a loop holds: the mass matrix is singular, the motion is not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from helpers.checks.oracles import derivative

import rbd_dynamics as rbd
from rbd_dynamics.constraints import ConstraintSet, FrameConstraint, loop_constraints

LENGTH, APART, MASS, INERTIA, GRAVITY = 0.4, 1.0, 0.7, 0.02, 9.81


def parallelogram(coupler_mass: float = 0.0) -> rbd.Model:
    """Two cranks, of which the right one and the coupler have no mass."""
    coupler = ""
    if coupler_mass:
        moments = f'ixx="{1e-4 * coupler_mass}" ixy="0" ixz="0" iyy="{1e-4 * coupler_mass}" iyz="0"'
        coupler = f'<inertial><mass value="{coupler_mass}"/><inertia {moments} izz="{1e-4 * coupler_mass}"/></inertial>'
    text = f"""<robot name="parallelogram"><link name="base"/>
  <link name="left"><inertial><origin xyz="{LENGTH / 2} 0 0"/><mass value="{MASS}"/>
    <inertia ixx="0.001" ixy="0" ixz="0" iyy="{INERTIA}" iyz="0" izz="{INERTIA}"/></inertial></link>
  <link name="coupler">{coupler}</link><link name="right">{coupler}</link>
  <joint name="a" type="continuous"><parent link="base"/><child link="left"/><axis xyz="0 -1 0"/></joint>
  <joint name="b" type="continuous"><parent link="left"/><child link="coupler"/><origin xyz="{LENGTH} 0 0"/>
    <axis xyz="0 -1 0"/></joint>
  <joint name="c" type="continuous"><parent link="base"/><child link="right"/><origin xyz="{APART} 0 0"/>
    <axis xyz="0 -1 0"/></joint>
  <loop name="closing" type="revolute"><predecessor link="right"><origin xyz="{LENGTH} 0 0"/></predecessor>
    <successor link="coupler"><origin xyz="{APART} 0 0"/></successor><axis xyz="0 1 0"/></loop></robot>"""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its mass matrix is singular
        return rbd.load(text)


@pytest.fixture(scope="module", params=["reference", None], ids=["reference", "compiled"])
def linkage(request):
    model = parallelogram()
    robot = rbd.Robot(model, backend=request.param)
    held = ConstraintSet(model, loop_constraints(model))
    angle, speed = 0.7, 1.9
    return robot, held, np.array([angle, -angle, angle]), speed * np.array([1.0, -1.0, 1.0])


def test_a_linkage_with_massless_bars_moves_as_its_one_body(linkage):
    robot, held, q, v = linkage
    torque = np.array([0.8, 0.3, -0.5])  # those on the massless bars act through the loop
    motion = robot.constrained_forward_dynamics(q, v, torque, held)
    inertia, weight = INERTIA + MASS * (LENGTH / 2) ** 2, MASS * LENGTH / 2 * GRAVITY * np.cos(q[0])
    expected = (torque @ [1.0, -1.0, 1.0] - weight) / inertia
    np.testing.assert_allclose(motion.a, expected * np.array([1.0, -1.0, 1.0]), rtol=1e-11)
    np.testing.assert_allclose(motion.residual, 0.0, atol=1e-11)
    _, A, _ = robot.constraint_rows(q, v, held)
    M, bias = robot.mass_matrix(q), robot.bias(q, v)
    np.testing.assert_allclose(M @ motion.a + bias, torque + A.T @ motion.multipliers, atol=1e-11)


def test_the_rest_of_constrained_dynamics_is_regular_too(linkage):
    robot, held, q, v = linkage
    _, A, _ = robot.constraint_rows(q, v, held)
    hybrid = robot.constrained_hybrid_dynamics(q, v, [2.0, 0.0, 0.0], np.zeros(3), np.array([True, False, False]), held)
    np.testing.assert_allclose(hybrid.a, [2.0, -2.0, 2.0], rtol=1e-11)
    inertia, weight = INERTIA + MASS * (LENGTH / 2) ** 2, MASS * LENGTH / 2 * GRAVITY * np.cos(q[0])
    np.testing.assert_allclose(hybrid.tau[0], 2.0 * inertia + weight, rtol=1e-11)
    after, impulse, rank = robot.constraint_impulse(q, [1.0, 0.0, 0.0], held)
    np.testing.assert_allclose(after, [1.0, -1.0, 1.0], rtol=1e-11)  # nothing with mass resists
    np.testing.assert_allclose(robot.mass_matrix(q) @ (after - [1.0, 0.0, 0.0]), A.T @ impulse, atol=1e-12)
    assert rank == 2
    projection, _ = robot.force_projection(q, held)
    np.testing.assert_allclose(projection @ projection, projection, atol=1e-12)
    np.testing.assert_allclose(projection @ A.T, 0.0, atol=1e-12)
    away = robot.project_configuration(q + [0.0, 0.1, -0.05], held)
    np.testing.assert_allclose(robot.constraint_rows(away, v, held)[0], 0.0, atol=1e-10)


def test_its_derivatives_are_those_of_differences(linkage):
    robot, held, q, v = linkage
    torque = np.array([0.8, 0.3, -0.5])
    found = robot.constrained_forward_dynamics_derivatives(q, v, torque, held)
    for k in range(3):
        unit = np.eye(3)[k]

        def along(t: float, unit: np.ndarray = unit) -> np.ndarray:
            motion = robot.constrained_forward_dynamics(q, v + t * unit, torque, held)
            return np.append(motion.a, motion.multipliers)

        expected = derivative(along)
        np.testing.assert_allclose(found.a_dv[:, k], expected[:3], rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(found.multipliers_dv[:, k], expected[3:], rtol=1e-7, atol=1e-7)
    inertia = INERTIA + MASS * (LENGTH / 2) ** 2
    np.testing.assert_allclose(found.a_dtau, np.outer([1, -1, 1], [1, -1, 1]) / inertia, atol=1e-10)


def test_it_is_the_limit_of_light_bars(linkage):
    robot, held, q, v = linkage
    light = parallelogram(1e-7)
    other = rbd.Robot(light, backend="reference")
    motion = robot.constrained_forward_dynamics(q, v, np.zeros(3), held)
    near = other.constrained_forward_dynamics(q, v, np.zeros(3), loop_constraints(light))
    np.testing.assert_allclose(near.a, motion.a, rtol=1e-4)


def test_what_nothing_holds_is_still_refused():
    model = parallelogram()
    robot = rbd.Robot(model, backend="reference")
    pinned = [FrameConstraint("pin", "left", directions=("ry",))]  # the bars are loose
    with pytest.raises(ArithmeticError, match="singular"):
        robot.constrained_forward_dynamics(np.zeros(3), np.zeros(3), np.zeros(3), pinned)
    with pytest.raises(ArithmeticError, match="singular"):
        robot.forward_dynamics(np.zeros(3), np.zeros(3), np.zeros(3))
