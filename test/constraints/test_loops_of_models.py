# SPDX-License-Identifier: Apache-2.0
"""Loops that come with a model: from `<loop>` elements of a URDF and from YAML, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import rbd_dynamics as rbd
from rbd_dynamics.constraints import ConstraintSet, loop_constraints
from rbd_dynamics.model.dictionary import to_yaml
from rbd_dynamics.model.loops import HELD, Loop, joint_loop, universal_loop
from rbd_dynamics.spatial.se3 import Transform
from rbd_dynamics.spatial.so3 import rotation_about

LENGTH, APART, MASS, COUPLER_MASS, INERTIA, GRAVITY = 0.4, 1.0, 0.7, 1.3, 0.02, 9.81


def crank(name: str, x: float) -> str:
    return f"""
  <link name="{name}"><inertial><origin xyz="{LENGTH / 2} 0 0"/><mass value="{MASS}"/>
    <inertia ixx="0.001" ixy="0" ixz="0" iyy="{INERTIA}" iyz="0" izz="{INERTIA}"/></inertial></link>
  <joint name="{name}_joint" type="continuous"><parent link="base"/><child link="{name}"/>
    <origin xyz="{x} 0 0"/><axis xyz="0 -1 0"/></joint>"""


def four_bar(kind: str = "revolute", successor: str = "coupler") -> str:
    """A parallelogram in the plane x, z: two cranks, and a coupler that a loop holds to the second one."""
    return f"""<robot name="parallelogram"><link name="base"/>{crank("left", 0.0)}{crank("right", APART)}
  <link name="coupler"><inertial><origin xyz="0.3 0 0.1"/><mass value="{COUPLER_MASS}"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.05" iyz="0" izz="0.05"/></inertial></link>
  <joint name="elbow" type="continuous"><parent link="left"/><child link="coupler"/>
    <origin xyz="{LENGTH} 0 0"/><axis xyz="0 -1 0"/></joint>
  <loop name="closing" type="{kind}">
    <predecessor link="right"><origin xyz="{LENGTH} 0 0"/></predecessor>
    <successor link="{successor}"><origin xyz="{APART} 0 0"/></successor>
    <axis xyz="0 1 0"/>
  </loop></robot>"""


@pytest.fixture(scope="module")
def parallelogram() -> rbd.Model:
    return rbd.load_urdf(four_bar())


@pytest.mark.parametrize("kind", ["revolute", "cylindrical", "spherical"])
def test_a_four_bar_from_a_file_moves_as_its_closed_form_says(kind):
    model = rbd.load_urdf(four_bar(kind))
    robot = rbd.Robot(model, backend="reference")
    held = ConstraintSet(model, loop_constraints(model))
    assert model.joint_names == ["left_joint", "elbow", "right_joint"]
    angle, speed, torque = 0.7, 1.9, 0.8
    q, v = np.array([angle, -angle, angle]), speed * np.array([1.0, -1.0, 1.0])
    h, A, _ = robot.constraint_rows(q, v, held)
    np.testing.assert_allclose(np.concatenate([h, A @ v]), 0.0, atol=1e-15)
    motion = robot.constrained_forward_dynamics(q, v, [torque, 0.0, 0.0], held)
    # the coupler only translates: one inertia and one weight turn with the cranks
    inertia = 2.0 * (INERTIA + MASS * (LENGTH / 2) ** 2) + COUPLER_MASS * LENGTH**2
    weight = (2.0 * MASS * LENGTH / 2 + COUPLER_MASS * LENGTH) * GRAVITY * np.cos(angle)
    expected = (torque - weight) / inertia
    np.testing.assert_allclose(motion.a, expected * np.array([1.0, -1.0, 1.0]), rtol=1e-12)
    assert motion.rank == 2


def test_yaml_keeps_loops(parallelogram):
    assert rbd.load_yaml(to_yaml(parallelogram)) == parallelogram
    assert rbd.model_from_dict(rbd.model_to_dict(parallelogram)).loops == parallelogram.loops
    data = rbd.model_to_dict(parallelogram)
    data["loops"][0]["frame"] = "couple"
    with pytest.raises(rbd.ModelError, match=r"loop 'closing': frame: no frame named 'couple'; did you mean 'coupler'"):
        rbd.model_from_dict(data)


def test_a_urdf_keeps_loops(parallelogram):
    again = rbd.load_urdf(rbd.model_to_urdf(parallelogram))
    q = parallelogram.random(3)
    both = [rbd.Robot(model, backend="reference") for model in (parallelogram, again)]
    rows = [robot.constraint_rows(q, q, loop_constraints(robot.model)) for robot in both]
    for ours, theirs in zip(*rows):
        np.testing.assert_allclose(ours, theirs, atol=1e-13)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (four_bar("hinge"), r"loop 'closing': has the unknown type 'hinge' \(known: fixed, revolute"),
        (four_bar(successor="couple"), r"loop 'closing': has the unknown successor link 'couple'"),
        (four_bar().replace('<axis xyz="0 1 0"/>', '<axis xyz="0 0 0"/>'), r"loop 'closing': <axis> .* no direction"),
        (four_bar().replace('<successor link="coupler">', "<successor>"), r"loop 'closing': <successor> has no 'link'"),
        (four_bar().replace(f'xyz="{APART} 0 0"/></succ', 'xyz="x 0 0"/></succ'), r"loop 'closing': <origin> xyz="),
    ],
)
def test_what_is_wrong_with_a_loop_is_one_error(text, error):
    with pytest.raises(rbd.ModelError, match=error):
        rbd.load_urdf(text)


@pytest.mark.parametrize("kind", [*HELD, "universal"])
def test_a_loop_lets_through_what_its_joint_does(kind):
    """A body that hangs at the joint itself feels no row of the loop beside it."""
    axis = np.array([0.48, -0.6, 0.64])
    first, second = np.array([0.6, 0.8, 0.0]), np.array([0.0, 0.6, -0.8])
    joints = {
        "revolute": rbd.joints.Revolute(axis),
        "continuous": rbd.joints.Continuous(axis),
        "prismatic": rbd.joints.Prismatic(axis),
        "cylindrical": rbd.joints.ProductOfExponentials([(*axis, 0, 0, 0), (0, 0, 0, *axis)]),
        "planar": rbd.joints.Planar(axis),
        "spherical": rbd.joints.Spherical(),
        "ball": rbd.joints.Spherical(),
        "universal": rbd.joints.Universal(first, second),
    }
    builder = rbd.ModelBuilder()
    joint = joints.get(kind, rbd.joints.Revolute(axis))
    placement = Transform((rotation_about((0.0, 0.6, 0.8), 0.7),), (0.3, -0.1, 0.2))
    builder.add_body("body", None, joint, placement=placement, mass=1.0, com=(0.1, 0.2, 0.3), inertia=np.eye(3))
    model = builder.build()
    loop = Loop("loop", "body", reference_placement=placement)
    if kind == "universal":  # the first axis is normal to the second, as the loop holds it
        second = second - first * (first @ second)
        joint = rbd.joints.Universal(first, second)
        builder = rbd.ModelBuilder()
        builder.add_body("body", None, joint, placement=placement, mass=1.0, com=(0.1, 0.2, 0.3), inertia=np.eye(3))
        model = builder.build()
        loop = universal_loop(loop, tuple(first), tuple(second / np.linalg.norm(second)))
    else:
        loop = joint_loop(loop, kind, tuple(axis))
    robot = rbd.Robot(model, backend="reference")
    q, v = model.random(4), np.linspace(-0.7, 0.9, model.nv)
    held = [rbd.constraints.FrameConstraint("loop", loop.frame, loop.reference, placement=loop.placement,
            reference_placement=loop.reference_placement, directions=loop.directions)]  # fmt: skip
    h, A, Adot_v = robot.constraint_rows(q, v, held)
    if kind == "fixed":
        assert np.abs(A).max() > 0.1
        q, h = np.zeros(1), robot.constraint_rows(np.zeros(1), v, held)[0]
        np.testing.assert_allclose(h, 0.0, atol=1e-15)
    else:
        free = len(h) + {"cylindrical": 2, "universal": 2, "planar": 3, "spherical": 3, "ball": 3}.get(kind, 1)
        assert free == 6
        np.testing.assert_allclose(np.concatenate([h, A.ravel(), Adot_v]), 0.0, atol=1e-14)
