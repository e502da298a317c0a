# SPDX-License-Identifier: Apache-2.0
"""Models written as URDF and read again; limits as vectors; a world that nobody declared."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from helpers.models.robots import ROBOTS, load_robot, needs_pinocchio

import rbd_dynamics as rbd
from rbd_dynamics.formats.urdf_writer import roll_pitch_yaw
from rbd_dynamics.spatial.so3 import rotation_from_rpy


def same_dynamics(one: rbd.Model, other: rbd.Model) -> None:
    """To 1e-14 of the largest torque, with the same names and limits."""
    first, second = (rbd.Robot(model, backend="reference", friction=True) for model in (one, other))
    assert one.joint_names == other.joint_names
    assert {frame.name for frame in one.frames} <= {frame.name for frame in other.frames}
    for seed in range(2):
        q, v, a = one.random(seed), *np.random.default_rng(seed).normal(size=(2, one.nv))
        ours, theirs = (robot.inverse_dynamics(q, v, a) for robot in (first, second))
        np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-14 * max(1.0, np.abs(ours).max(initial=0.0)))
        for name in one.frame_names:
            np.testing.assert_allclose(second.pose(q, name), first.pose(q, name), rtol=0, atol=2e-14)
    for limit in ("lower", "upper", "velocity_limit", "effort_limit"):
        np.testing.assert_array_equal(getattr(other, limit), getattr(one, limit))


@needs_pinocchio
@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("name", ["panda", "ur5_robot", "tiago", "solo12", "talos_reduced"])
def test_a_robot_that_is_written_has_the_same_dynamics(name, base):
    if name not in ROBOTS:
        pytest.skip(f"{name} is not installed")
    model = load_robot(name, base)
    same_dynamics(model, rbd.load_urdf(rbd.model_to_urdf(model), base=base))


def machine() -> rbd.ModelBuilder:
    builder = rbd.ModelBuilder("a <machine> & more")
    builder.add_fixed("stand", None, placement=(0.1, 0.0, 0.2), mass=3.0, com=(0, 0, 0.1))
    own = {"mass": 1.5, "com": (0.1, -0.2, 0.3), "inertia": [0.2, 0.01, -0.02, 0.3, 0.03, 0.25]}
    spring = rbd.Spring(30.0, rest=0.2)
    limits = rbd.Limits(lower=-1.0, upper=2.0, velocity=3.0, effort=40.0)
    tilted = np.eye(4)
    tilted[:3, :3] = np.reshape(rotation_from_rpy(0.4, math.pi / 2, -1.1), (3, 3))
    turn = {"damping": 0.3, "friction": 0.2, "armature": 0.05, "passive": (spring,), "limits": limits}
    builder.add_body("arm", "stand", rbd.joints.Revolute((0.6, 0, 0.8)), placement=tilted, **own, **turn)
    one_sided = rbd.Limits(lower=-0.5)
    builder.add_body(
        "slide", "arm", rbd.joints.Prismatic((0, 1, 0)), placement=(0.1, 0.2, 0.3), limits=one_sided, **own
    )
    follows = rbd.Mimic("arm_joint", multiplier=-0.5, offset=0.1)
    builder.add_body("finger", "slide", rbd.joints.Continuous((0, 0, 1)), mimic=follows, **own)
    builder.add_body("ball", "arm", rbd.joints.Spherical(), placement=(0, 0, 0.5), **own)
    builder.add_body("plate", "ball", rbd.joints.Planar((0, 0.6, 0.8)), **own)
    builder.add_body("drone", None, rbd.joints.Floating(), placement=(1.0, 2.0, 3.0), **own)
    builder.add_frame("tool", "finger", placement=tilted)
    return builder


def test_every_joint_that_a_urdf_has_is_written(tmp_path):
    model = replace(machine().build(), base="fixed")
    rbd.write_urdf(model, tmp_path / "machine.urdf")
    again = rbd.load_urdf(tmp_path / "machine.urdf")
    same_dynamics(model, again)
    assert again.name == "a <machine> & more"
    assert again.fixed_inertia.mass == 3.0


@pytest.mark.parametrize(
    ("kind", "more", "error"),
    [
        (rbd.joints.Helical((0, 0, 1), 0.01), {}, "joint 'nut_joint' is helical, which no URDF joint is"),
        (rbd.joints.Universal((1, 0, 0), (0, 1, 0)), {}, "joint 'nut_joint' is universal"),
        (rbd.joints.Revolute(), {"passive": (rbd.Spring(1.0), rbd.Spring(2.0))}, "'nut_joint' has a spring beside"),
        (rbd.joints.Planar(), {"limits": rbd.Limits(upper=1.0)}, "'nut_joint' is planar and has position limits"),
    ],
)
def test_what_a_urdf_cannot_say_is_an_error(kind, more, error):
    builder = rbd.ModelBuilder()
    builder.add_body("nut", None, kind, mass=1.0, com=(0.1, 0.1, 0.1), inertia=np.eye(3), **more)
    with pytest.raises(rbd.ModelError, match=error):
        rbd.model_to_urdf(builder.build())


@pytest.mark.parametrize("pitch", [0.0, 0.3, math.pi / 2, math.pi / 2 - 1e-9, -math.pi / 2 + 1e-5])
def test_angles_give_the_rotation_back_also_at_the_pole(pitch):
    rotation = rotation_from_rpy(0.4, pitch, -1.1)
    np.testing.assert_allclose(rotation_from_rpy(*roll_pitch_yaw(rotation)), rotation, atol=3e-16)


def test_limits_are_vectors_of_the_fields_size():
    model = machine().build()
    assert model.joint_names == ["arm_joint", "slide_joint", "ball_joint", "plate_joint", "drone_joint"]
    none = [math.inf] * 14  # of ball, plate and drone
    np.testing.assert_array_equal(model.lower, [-1.0, -0.5, *np.negative(none)])
    np.testing.assert_array_equal(model.upper, [2.0, math.inf, *none])
    np.testing.assert_array_equal(model.velocity_limit, [3.0, *[math.inf] * 13])
    np.testing.assert_array_equal(model.effort_limit, [40.0, *[math.inf] * 13])
    model.lower[:] = 0.0
    assert model.lower[0] == -1.0
    empty = rbd.load_urdf("<robot name='stone'><link name='stone'/></robot>")
    assert empty.lower.shape == empty.effort_limit.shape == (0,)


def test_a_world_that_is_not_declared_is_the_world():
    pendulum = """<robot name="acrobot"><link name="arm"><inertial><mass value="2"/><origin xyz="0 0 -0.5"/>
      <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
      <joint name="shoulder" type="continuous"><parent link="world"/><child link="arm"/><origin xyz="0 0 3"/>
      <axis xyz="0 1 0"/></joint></robot>"""
    model = rbd.load_urdf(pendulum)
    declared = rbd.load_urdf(pendulum.replace('<link name="arm">', '<link name="world"/><link name="arm">'))
    assert model == declared
    np.testing.assert_allclose(rbd.Robot(model, backend="reference").pose([0.0], "arm")[:3, 3], [0, 0, 3])
    with pytest.raises(rbd.ModelError, match=r"joint 'shoulder': has the unknown child link 'world'"):
        rbd.load_urdf(
            pendulum.replace('<child link="arm"/>', '<child link="world"/>').replace('"world"/><ch', '"arm"/><ch')
        )


def test_what_is_written_is_plain_urdf():
    """With the elements and attributes that other readers insist on."""
    robot = ET.fromstring(rbd.model_to_urdf(replace(machine().build(), base="fixed")))
    assert robot.tag == "robot"
    for joint in robot.iter("joint"):
        assert {"parent", "child", "origin"} <= {element.tag for element in joint}
    for limit in robot.iter("limit"):
        assert set(limit.keys()) == {"lower", "upper", "effort", "velocity"}
        assert all(math.isfinite(float(text)) for text in limit.attrib.values())
