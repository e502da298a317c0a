# SPDX-License-Identifier: Apache-2.0
"""Models made in code."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.checks.oracles import assert_close
from helpers.models.robots import needs_pinocchio, random_state

import rbd_dynamics as rbd
from rbd_dynamics import Limits, Mimic, ModelBuilder, ModelError, Robot
from rbd_dynamics.model import ModelWarning
from rbd_dynamics.model.joints import (
    Continuous,
    Floating,
    Helical,
    Planar,
    Prismatic,
    ProductOfExponentials,
    Revolute,
    Universal,
)
from rbd_dynamics.spatial.se3 import Transform
from rbd_dynamics.spatial.so3 import rotation_from_rpy

URDF = """
<robot name="arm">
  <link name="base"><inertial><mass value="5"/><origin xyz="0 0 0.1"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <link name="upper"><inertial><mass value="2"/><origin xyz="0.2 0.02 0"/>
    <inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0" izz="0.025"/></inertial></link>
  <link name="motor"><inertial><mass value="0.5"/><origin xyz="0 0 0.03"/>
    <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial></link>
  <link name="fore"><inertial><mass value="1"/><origin xyz="0.1 0 0"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <link name="tip"/>
  <link name="finger"><inertial><mass value="0.1"/><origin xyz="0 0.01 0"/>
    <inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.2"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2.5" effort="80" velocity="3"/>
    <dynamics damping="0.4" friction="0.6" armature="0.05"/></joint>
  <joint name="bolts" type="fixed"><parent link="upper"/><child link="motor"/>
    <origin xyz="0.3 0 0" rpy="0 0.3 0.5"/></joint>
  <joint name="elbow" type="continuous"><parent link="motor"/><child link="fore"/><origin xyz="0.1 0 0"/>
    <axis xyz="0 0.6 0.8"/></joint>
  <joint name="flange" type="fixed"><parent link="fore"/><child link="tip"/><origin xyz="0.3 0 0"/></joint>
  <joint name="grip" type="prismatic"><parent link="tip"/><child link="finger"/><axis xyz="0 1 0"/>
    <limit lower="0" upper="1" effort="1" velocity="1"/><mimic joint="shoulder" multiplier="0.1" offset="0.2"/></joint>
</robot>"""


def arm() -> ModelBuilder:
    """The same as the URDF."""
    builder = ModelBuilder("arm")
    builder.add_fixed("base", None, mass=5.0, com=(0, 0, 0.1), inertia=0.1 * np.eye(3))
    builder.add_body(
        "upper",
        "base",
        Revolute((0, 1, 0)),
        joint_name="shoulder",
        placement=(0, 0, 0.2),
        mass=2.0,
        com=(0.2, 0.02, 0),
        inertia=(0.02, 0.001, 0, 0.03, 0, 0.025),
        limits=Limits(lower=-2.0, upper=2.5, effort=80.0, velocity=3.0),
        damping=0.4,
        friction=0.6,
        armature=0.05,
    )
    turned = Transform((rotation_from_rpy(0.0, 0.3, 0.5),), (0.3, 0.0, 0.0))
    builder.add_fixed("motor", "upper", placement=turned, mass=0.5, com=(0, 0, 0.03), inertia=0.001 * np.eye(3))
    builder.add_body(
        "fore", "motor", Continuous((0, 0.6, 0.8)), joint_name="elbow", placement=(0.1, 0, 0), mass=1.0,
        com=(0.1, 0, 0), inertia=0.01 * np.eye(3),
    )  # fmt: skip
    builder.add_fixed("tip", "fore", placement=(0.3, 0, 0))
    builder.add_body(
        "finger", "tip", Prismatic((0, 1, 0)), joint_name="grip", mass=0.1, com=(0, 0.01, 0),
        inertia=1e-4 * np.eye(3), limits=Limits(lower=0.0, upper=1.0, velocity=1.0, effort=1.0),
        mimic=Mimic("shoulder", multiplier=0.1, offset=0.2),
    )  # fmt: skip
    return builder


@pytest.mark.parametrize("friction", [False, True])
def test_a_built_robot_is_that_of_the_urdf(friction):
    built, read = arm().build(), rbd.load_urdf(URDF)
    assert built.joint_names == read.joint_names == ["shoulder", "elbow"]
    assert [joint.limits for joint in built.joints] == [joint.limits for joint in read.joints]
    assert built.mass == pytest.approx(read.mass, rel=1e-15)
    assert set(read.frame_names) - set(built.frame_names) == {"bolts", "flange"}
    ours, theirs = Robot(built, friction=friction), Robot(read, friction=friction)
    rng = np.random.default_rng(1)
    for _ in range(5):
        q, v, a = random_state(built, rng)
        assert_close(ours.inverse_dynamics(q, v, a), theirs.inverse_dynamics(q, v, a), 1e-13)
        assert_close(ours.forward_dynamics(q, v, a), theirs.forward_dynamics(q, v, a), 1e-12)
        assert_close(ours.center_of_mass(q), theirs.center_of_mass(q), 1e-14)
        for frame in ("base", "upper", "motor", "tip", "finger", "shoulder", "grip"):
            assert_close(ours.pose(q, frame), theirs.pose(q, frame), 1e-14)


def test_a_placement_is_a_position_a_matrix_or_a_transform():
    turn = rotation_from_rpy(0.1, -0.4, 2.0)
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = np.reshape(turn, (3, 3)), (1, 2, 3)
    models = []
    for placement in (Transform((turn,), (1.0, 2.0, 3.0)), matrix, matrix.tolist()):
        builder = ModelBuilder()
        builder.add_body("link", None, Revolute(), placement=placement, mass=1.0, com=(1, 0, 0))
        models.append(builder.build())
    assert models[0] == models[1] == models[2]
    builder = ModelBuilder()
    builder.add_body("link", None, Revolute(), placement=np.array([1, 2, 3]), mass=1.0, com=(1, 0, 0))
    assert builder.build().bodies[0].placement == Transform((), (1.0, 2.0, 3.0))


def test_frames_hang_on_links_and_on_frames():
    builder = arm()
    builder.add_frame("tool", "tip", placement=(0, 0, 0.1))
    builder.add_frame("needle", "tool", placement=(0, 0, 0.2))
    builder.add_frame("camera", None, placement=(1, 0, 0))
    model = builder.build()
    assert model.frame("needle").body == 1 and model.frame("needle").placement.p == (0.3, 0.0, 0.30000000000000004)
    assert model.frame("camera").body == -1


def test_a_floating_robot_is_one_whose_first_joint_floats():
    builder = ModelBuilder("drone")
    builder.add_body("hull", None, Floating(), mass=1.0, inertia=np.eye(3))
    builder.add_body("gimbal", "hull", Universal(), mass=0.1, com=(0, 0, 0.1), inertia=1e-3 * np.eye(3))
    model = builder.build()
    assert (model.base, model.nq, model.nv) == ("floating", 9, 8)
    assert model.joint_names == ["hull_joint", "gimbal_joint"]
    assert arm().build().base == "fixed"


def test_a_follower_may_come_before_its_leader_and_follow_a_follower():
    builder = ModelBuilder()
    load = {"mass": 1.0, "com": (0.1, 0, 0), "inertia": np.eye(3)}
    builder.add_body("a", None, Revolute(), mimic=Mimic("b_joint", multiplier=2.0, offset=0.5), **load)
    builder.add_body("b", "a", Helical(pitch=0.1), mimic=Mimic("c_joint", multiplier=-1.0), **load)
    builder.add_body("c", "b", Revolute((1, 0, 0)), **load)
    model = builder.build()
    assert model.nv == 1 and model.bodies[0].joint.mimic == Mimic("c_joint", multiplier=-2.0, offset=0.5)
    assert model.joint_names == ["c_joint"]


def test_the_builder_can_go_on():
    builder = arm()
    first = builder.build()
    builder.add_body("thumb", "tip", Revolute(), mass=0.1, com=(0.02, 0, 0), inertia=1e-4 * np.eye(3))
    assert (first.nv, builder.build().nv) == (2, 3)


@needs_pinocchio
def test_a_builders_robot_is_pinocchios():
    import pinocchio as pin

    theirs = pin.buildModelFromXML(URDF)
    built = arm().build()
    robot = Robot(built)
    q = np.array([0.3, -0.8])
    data = theirs.createData()
    full = np.array([0.3, np.cos(-0.8), np.sin(-0.8), 0.1 * 0.3 + 0.2])
    J = np.array([[1.0, 0.0], [0.0, 1.0], [0.1, 0.0]])
    assert_close(robot.gravity(q), J.T @ pin.computeGeneralizedGravity(theirs, data, full), 1e-12)


@pytest.mark.parametrize(
    ("add", "message"),
    [
        (lambda b: b.add_body("upper", "base", Revolute()), "link 'upper' is defined twice"),
        (lambda b: b.add_fixed("tip", "base"), "link 'tip' is defined twice"),
        (lambda b: b.add_frame("tip", "base"), "link 'tip' is defined twice"),
        (lambda b: b.add_body("x", "base", Revolute(), joint_name="elbow"), "joint 'elbow' is defined twice"),
        (lambda b: b.add_body("x", "uper", Revolute()), "link 'x': no link named 'uper'; did you mean 'upper'"),
        (lambda b: b.add_body("", "base", Revolute()), "link: '' is not a name"),
        (lambda b: b.add_body("x", "base", "revolute"), "joint 'x_joint': 'revolute' is not a joint kind"),
        (lambda b: b.add_body("x", "base", Revolute), "joint 'x_joint': .* is not a joint kind"),
        (lambda b: b.add_body("x", "base", Revolute(), placement=(0, 0)), "link 'x': placement: expected"),
        (lambda b: b.add_body("x", "base", Revolute(), placement=2 * np.eye(4)), "link 'x': placement"),
        (lambda b: b.add_body("x", "base", Revolute(), placement=np.diag([1, 1, -1, 1])), "not a rotation matrix"),
        (lambda b: b.add_body("x", "base", Revolute(), placement=(0, 0, np.inf)), "link 'x': placement.*not finite"),
        (lambda b: b.add_body("x", "base", Revolute(), mass=np.nan), "link 'x': mass: nan is not finite"),
        (lambda b: b.add_body("x", "base", Revolute(), com=(0, 0)), "link 'x': com: .* expected 3"),
        (lambda b: b.add_body("x", "base", Revolute(), inertia=np.ones((2, 2))), "link 'x': inertia has shape"),
        (lambda b: b.add_body("x", "base", Revolute(), damping=-1), "joint 'x_joint' has the negative damping"),
        (lambda b: b.add_body("x", "base", Revolute(), limits=Limits(lower=1, upper=-1)), "joint 'x_joint' has limits"),
        (lambda b: b.add_body("x", "base", Revolute(), limits=Limits(effort=-1)), "negative effort limit"),
        (lambda b: ModelBuilder("x", gravity=(0, 0)), "gravity: .* expected 3"),
    ],
)
def test_what_is_wrong_is_named_at_once(add, message):
    with pytest.raises(ModelError, match=message):
        add(arm())


LOAD = {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": np.eye(3)}


@pytest.mark.parametrize(
    ("add", "message"),
    [
        (lambda b: b.add_body("x", "base", Revolute(), **{**LOAD, "mass": -1}), "link 'x': has the negative mass -1"),
        (
            lambda b: b.add_body("x", "base", Revolute(), mass=1, inertia=np.diag([1, 0.1, 0.1])),
            "link 'x': has an inertia that no rigid body has",
        ),
        (lambda b: b.add_body("x", "base", Revolute(), **LOAD, mimic=Mimic("elbo")), "did you mean 'elbow'"),
        (
            lambda b: b.add_body("x", "base", Universal(), **LOAD, mimic=Mimic("elbow")),
            "joint 'x_joint': is universal and cannot mimic",
        ),
        (
            lambda b: b.add_body(
                "x", "base", ProductOfExponentials(((0, 0, 1, 0, 0, 0),) * 2), **LOAD, mimic=Mimic("elbow")
            ),
            "joint 'x_joint': is product_of_exponentials and cannot mimic",
        ),
        (
            lambda b: [
                b.add_body("p", "base", Planar(), **LOAD),
                b.add_body("x", "base", Revolute(), **LOAD, mimic=Mimic("p_joint")),
            ],
            "joint 'x_joint': mimics 'p_joint', which is planar",
        ),
    ],
)
def test_what_is_wrong_with_the_whole_is_named_by_build(add, message):
    builder = arm()
    add(builder)
    with pytest.raises(ModelError, match=message):
        builder.build()


def test_a_joint_that_moves_no_mass_is_a_defect():
    builder = arm()
    builder.add_body("ghost", "tip", Revolute())
    with pytest.warns(ModelWarning, match="joint 'ghost_joint': moves no mass") as caught:
        builder.build()
    assert caught[0].filename == __file__
    with pytest.raises(ModelError, match="joint 'ghost_joint': moves no mass"):
        builder.build(strict=True)
