# SPDX-License-Identifier: Apache-2.0
"""Models written as URDF and read again, by others too; limits as vectors; a world that nobody declared."""

from __future__ import annotations

import math
import shutil
import subprocess
import warnings
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.models.robots import (
    ROBOTS,
    Twin,
    load_robot,
    needs_pinocchio,
    random_state,
    random_tree,
)
from helpers.wide import table
from urdf_parser_py import urdf

import rbd_dynamics as rbd
from rbd_dynamics.formats.writing import roll_pitch_yaw
from rbd_dynamics.model import ModelWarning
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


def test_gravity_that_a_urdf_does_not_have_is_said():
    builder = rbd.ModelBuilder("r", gravity=(0.5, 0.0, -1.62))
    builder.add_body("a", None, rbd.joints.Revolute((0, 1, 0)), mass=2.0, com=(0.1, 0.0, 0.0), inertia=np.eye(3))
    model = builder.build()
    with pytest.warns(ModelWarning, match=r"robot 'r': gravity \(0.5, 0, -1.62\) is left out"):
        text = rbd.model_to_urdf(model)
    same_dynamics(model, rbd.load(text, gravity=model.gravity))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rbd.model_to_urdf(rbd.load(text))


# --- read by others --------------------------------------------------------------------------------

#: of the joints that urdfdom knows
KINDS = ("revolute", "continuous", "prismatic", "floating")
FEW = {"panda", "hextilt_flying_arm_5", "double_pendulum_continuous", "solo12"}
TREES = [(seed, base, mimic) for seed in range(12) for base in ("fixed", "floating") for mimic in (0.0, 0.4)]
needs_check_urdf = pytest.mark.skipif(
    shutil.which("check_urdf") is None, reason="needs check_urdf (Debian: liburdfdom-tools)"
)


def refused_by_check_urdf(text: str, folder: Path) -> str:
    """What it says against a file, empty if nothing."""
    (folder / "written.urdf").write_text(text)
    answer = subprocess.run(["check_urdf", folder / "written.urdf"], capture_output=True, text=True)
    return answer.stdout + answer.stderr if answer.returncode else ""


def same_in_pinocchio(model: rbd.Model, text: str, base: str) -> None:
    """Mass matrix and bias, to 1e-12 of the largest entry. Pinocchio takes no rotors from a URDF: they are ours."""
    import pinocchio as pin

    root = [pin.JointModelFreeFlyer()] if base == "floating" else []
    twin = Twin(model, pin.buildModelFromXML(text, *root))
    rotors = np.zeros(twin.pinocchio.nv)
    for body in model.bodies:
        theirs = twin.pinocchio.joints[twin.pinocchio.getJointId(body.joint.name)]
        rotors[theirs.idx_v : theirs.idx_v + theirs.nv] = body.joint.armature
    twin.pinocchio.armature = rotors
    twin.data = twin.pinocchio.createData()
    ours = rbd.Robot(model, backend="reference")
    for seed in range(2):
        q, v, _ = random_state(model, np.random.default_rng(seed))
        q = np.where(np.abs(q) > 100.0, np.remainder(q, 2.0 * np.pi), q)
        for own, theirs in (
            (ours.mass_matrix(q), twin.mass_matrix(q)),
            (ours.bias(q, v), twin.inverse_dynamics(q, v, 0.0 * v)),
        ):
            np.testing.assert_allclose(theirs, own, rtol=0, atol=1e-12 * max(1.0, np.abs(own).max(initial=0.0)))


@needs_check_urdf
@needs_pinocchio
@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("name", table(ROBOTS, FEW))
def test_real_robots_that_are_written_are_read_by_others(name, base, tmp_path):
    model = load_robot(name, base)
    text = rbd.model_to_urdf(model)
    assert not refused_by_check_urdf(text, tmp_path)
    theirs = urdf.URDF.from_xml_string(text)
    assert {joint.name for joint in theirs.joints if joint.type != "fixed"} == {
        body.joint.name for body in model.bodies if body.joint.name != "root_joint"
    }
    same_in_pinocchio(model, text, base)


@needs_check_urdf
@needs_pinocchio
@pytest.mark.parametrize(("seed", "base", "mimic"), table(TREES, lambda case: case[0] < 2))
def test_trees_with_rotors_and_friction_are_read_by_others(seed, base, mimic, tmp_path):
    """A floating base has damping here: it is a joint of the file."""
    model = random_tree(seed, 6, KINDS, base, mimic)
    text = rbd.model_to_urdf(model)
    assert not refused_by_check_urdf(text, tmp_path)
    assert len(urdf.URDF.from_xml_string(text).joints) >= len(model.bodies)
    order = {name: k for k, name in enumerate(model.joint_names)}
    for again in (rbd.load_urdf(text), rbd.load_urdf(text, base="floating" if base == "floating" else "fixed")):
        again = replace(again, gravity=model.gravity)
        assert sorted(again.joint_names) == sorted(order)
        same_in_pinocchio(again, text, "fixed")
    if model.joint_names == again.joint_names:
        assert again.base == base
        same_dynamics(model, again)


@needs_check_urdf
@pytest.mark.parametrize("key", ["damping", "friction", "armature", "passive", "drive"])
def test_whatever_a_joint_does_by_itself_urdfdom_takes_the_file(key, tmp_path):
    own = {"passive": (rbd.Spring(3.0),), "drive": rbd.Drive(gear_ratio=20.0)}.get(key, 0.1)
    builder = rbd.ModelBuilder()
    builder.add_body("arm", None, rbd.joints.Revolute(), mass=1.0, inertia=np.eye(3), **{key: own})
    text = rbd.model_to_urdf(builder.build())
    assert not refused_by_check_urdf(text, tmp_path)
    assert getattr(rbd.load_urdf(text).joint("arm_joint"), key) == own


@pytest.mark.parametrize("off", [5e-12, -8.9e-12, 1e-13, 3e-15, 2e-11])
@pytest.mark.parametrize("turn", [0.0, 0.5 * math.pi, -math.pi])
def test_angles_beside_a_quarter_turn_stay_where_they_are(turn, off):
    rotation = np.eye(4)
    rotation[:3, :3] = np.reshape(rotation_from_rpy(0.0, 0.0, turn + off), (3, 3))
    builder = rbd.ModelBuilder()
    builder.add_body("arm", None, rbd.joints.Revolute((1, 0, 0)), mass=1.0, inertia=np.eye(3), placement=rotation)
    again = rbd.load_urdf(rbd.model_to_urdf(builder.build()))
    np.testing.assert_allclose(again.bodies[0].placement.rotation, rotation[:3, :3].ravel(), rtol=0, atol=5e-15)


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
    with pytest.warns(ModelWarning, match="joint 'ball_joint' is spherical"):
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # of the ball
        robot = ET.fromstring(rbd.model_to_urdf(replace(machine().build(), base="fixed")))
    assert robot.tag == "robot"
    for joint in robot.iter("joint"):
        assert {"parent", "child", "origin"} <= {element.tag for element in joint}
    for limit in robot.iter("limit"):
        assert set(limit.keys()) == {"lower", "upper", "effort", "velocity"}
        assert all(math.isfinite(float(text)) for text in limit.attrib.values())
