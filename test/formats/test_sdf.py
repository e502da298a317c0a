# SPDX-License-Identifier: Apache-2.0
"""SDFormat: frames and poses against ones worked out by hand, the same robots as in URDF, loops, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import rbd_dynamics as rbd
from rbd_dynamics.constraints import ConstraintSet, loop_constraints
from rbd_dynamics.spatial.so3 import rotation_from_rpy

INERTIAL = """<inertial><pose>0.1 0.02 -0.03 0.1 0.2 0.3</pose><mass>2</mass><inertia><ixx>0.02</ixx><ixy>0.001</ixy>
  <ixz>0.002</ixz><iyy>0.03</iyy><iyz>-0.001</iyz><izz>0.025</izz></inertia></inertial>"""


def sdf(inner: str, version: str = "1.9", model: str = 'name="machine"') -> str:
    return f'<sdf version="{version}"><model {model}>{inner}</model></sdf>'


def link(name: str, pose: str = "", more: str = "") -> str:
    return f'<link name="{name}">{pose}{INERTIAL}{more}</link>'


def joint(name: str, kind: str, parent: str, child: str, more: str = "") -> str:
    return f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{more}</joint>'


def pose(x: float, y: float, z: float, roll: float = 0.0, pitch: float = 0.0, yaw: float = 0.0) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3] = np.reshape(rotation_from_rpy(roll, pitch, yaw), (3, 3))
    T[:3, 3] = x, y, z
    return T


def where(model: rbd.Model, name: str, q: np.ndarray | None = None) -> np.ndarray:
    return rbd.Robot(model, backend="reference").pose(model.neutral() if q is None else q, name)


FRAMES = (
    "<pose>1 2 3 0 0 0.5</pose>"
    + link("base", "<pose>0.1 0 0.2 0 0.3 0</pose>")
    + link("arm", '<pose relative_to="shoulder">0 0.1 0 0 0 0</pose>')
    + link("tip", '<pose relative_to="mark"/>')
    + """<frame name="mark" attached_to="arm"><pose>0.3 0 0 0.4 0 0</pose></frame>
    <frame name="far" attached_to="mark"><pose relative_to="__model__">5 0 0 0 0 0</pose></frame>
    <frame name="loose"><pose rotation_format="quat_xyzw">0 1 0 0 0 0.6 0.8</pose></frame>
    <frame name="turned"><pose degrees="true">0 0 0 0 90 0</pose></frame>
    <joint name="root" type="fixed"><parent>world</parent><child>base</child></joint>
    <joint name="shoulder" type="revolute"><pose relative_to="base">0.5 0 0 0 0 0.2</pose>
      <parent>base</parent><child>arm</child><axis><xyz expressed_in="base">0 1 0</xyz><limit><lower>-1</lower>
      <upper>2</upper><velocity>3</velocity><effort>-1</effort></limit><dynamics><damping>0.1</damping>
      <friction>0.2</friction><spring_stiffness>4</spring_stiffness><spring_reference>0.3</spring_reference></dynamics>
      </axis></joint>
    <joint name="wrist" type="prismatic"><parent>mark</parent><child>tip</child><axis><xyz>1 0 0</xyz>
      <mimic joint="shoulder"><multiplier>2</multiplier><offset>0.5</offset><reference>0.25</reference></mimic></axis>
    </joint>"""
)


def test_poses_are_relative_to_what_the_file_says():
    model = rbd.load(sdf(FRAMES))
    assert model.base == "fixed"
    whole = pose(1, 2, 3, 0, 0, 0.5)
    base = whole @ pose(0.1, 0, 0.2, 0, 0.3, 0)
    shoulder = base @ pose(0.5, 0, 0, 0, 0, 0.2)
    arm = shoulder @ pose(0, 0.1, 0)
    mark = arm @ pose(0.3, 0, 0, 0.4)
    q = np.array([0.0])
    expected = {"base": base, "shoulder": shoulder, "arm": arm, "mark": mark, "far": whole @ pose(5, 0, 0)}
    expected["loose"] = whole @ pose(0, 1, 0, 0, 0, 2.0 * np.arcsin(0.6))
    expected["turned"] = whole @ pose(0, 0, 0, 0, np.pi / 2)
    for name, known in expected.items():
        np.testing.assert_allclose(where(model, name, q), known, atol=1e-14, err_msg=name)
    # at q the arm has turned about the base's y, and the tip follows by 2 (q - 0.25) + 0.5
    moved = shoulder @ pose(0, 0, 0, 0, 0, -0.2) @ pose(0, 0, 0, 0, 0.7) @ pose(0, 0, 0, 0, 0, 0.2) @ pose(0, 0.1, 0)
    np.testing.assert_allclose(where(model, "arm", np.array([0.7])), moved, atol=1e-14)
    tip = moved @ pose(0.3, 0, 0, 0.4) @ pose(2.0 * 0.45 + 0.5, 0, 0)
    np.testing.assert_allclose(where(model, "tip", np.array([0.7])), tip, atol=1e-14)


def test_joints_have_their_limits_friction_and_springs():
    joint = rbd.load(sdf(FRAMES)).joint("shoulder")
    assert joint.limits == rbd.Limits(lower=-1.0, upper=2.0, velocity=3.0)
    assert (joint.damping, joint.friction, joint.passive) == (0.1, 0.2, (rbd.Spring(4.0, rest=0.3),))


def test_the_dynamics_are_those_of_the_same_robot_as_urdf():
    text = sdf(
        link("arm", "<pose>0.1 0.2 0.3 0.4 0.5 0.6</pose>")
        + link("hand", '<pose relative_to="arm">0.5 0 0 0 0.2 0</pose>')
        + """<joint name="a" type="revolute"><parent>world</parent><child>arm</child><axis><xyz>0 3 4</xyz></axis>
        </joint><joint name="b" type="continuous"><parent>arm</parent><child>hand</child><axis><xyz>1 0 0</xyz></axis>
        </joint>"""
    )
    inertial = """<inertial><origin xyz="0.1 0.02 -0.03" rpy="0.1 0.2 0.3"/><mass value="2"/><inertia ixx="0.02"
      ixy="0.001" ixz="0.002" iyy="0.03" iyz="-0.001" izz="0.025"/></inertial>"""
    urdf = f"""<robot name="machine"><link name="arm">{inertial}</link><link name="hand">{inertial}</link>
      <joint name="a" type="continuous"><parent link="world"/><child link="arm"/><axis xyz="0 0.6 0.8"/>
        <origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/></joint>
      <joint name="b" type="continuous"><parent link="arm"/><child link="hand"/><axis xyz="1 0 0"/>
        <origin xyz="0.5 0 0" rpy="0 0.2 0"/></joint></robot>"""
    robots = [rbd.Robot(rbd.load(each), backend="reference") for each in (text, urdf)]
    q, v, a = np.random.default_rng(3).normal(size=(3, 2))
    ours, theirs = (robot.inverse_dynamics(q, v, a) for robot in robots)
    np.testing.assert_allclose(ours, theirs, rtol=1e-13)


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ("grasp", ""),
        ("", "<placement_frame>grasp</placement_frame>"),
        ("palm", "<placement_frame>grasp</placement_frame>"),
    ],
)
def test_models_are_nested_and_included(tmp_path, own, said):
    """By the frame that the model says is placed, or the include, which counts more."""
    folder = tmp_path / "gripper"
    folder.mkdir()
    inner = link("palm", "<pose>0 0 0.1 0 0 0</pose>") + '<frame name="grasp" attached_to="palm"/>'
    (folder / "v2.sdf").write_text(sdf(inner, model=f'name="gripper" placement_frame="{own}"'))
    (folder / "model.config").write_text('<model><sdf version="1.9">v2.sdf</sdf></model>')
    text = sdf(
        link("base")
        + f"""<model name="arm"><pose>0 1 0 0 0 0.3</pose>{link("upper", "<pose>0.2 0 0 0 0 0</pose>")}</model>
        <include><uri>model://gripper</uri><name>hand</name><pose relative_to="arm::upper">0.5 0 0 0 0 0</pose>
        {said}</include>"""
        + joint("root", "fixed", "world", "base")
        + joint("a", "revolute", "base", "arm::upper", "<axis><xyz>0 0 1</xyz></axis>")
        + joint("b", "fixed", "arm", "hand")
    )
    model = rbd.load(text, packages=tmp_path)
    assert model.joint_names == ["a"]
    assert model.mass == 6.0
    upper = pose(0, 1, 0, 0, 0, 0.3) @ pose(0.2, 0, 0)
    np.testing.assert_allclose(where(model, "arm::upper"), upper, atol=1e-14)
    # the grasp is put there, at which the palm is
    np.testing.assert_allclose(where(model, "hand::grasp"), upper @ pose(0.5, 0, 0), atol=1e-14)
    merged = text.replace("<include>", '<include merge="true">').replace("<child>hand</child>", "<child>palm</child>")
    assert "palm" in rbd.load(merged, packages={"gripper": folder}).frame_names
    with pytest.raises(rbd.ModelError, match=r"<include>: 'model://gripper': there is no package 'gripper' \(give"):
        rbd.load(text)


@pytest.mark.parametrize("variable", ["GZ_SIM_RESOURCE_PATH", "SDF_PATH"])
def test_models_are_found_where_gazebo_finds_them(tmp_path, monkeypatch, variable):
    """In any folder of the list that has it; empty ones are left out; what the caller gives counts more."""
    for name, mass in (("first", 1.0), ("second", 2.0), ("given", 4.0)):
        (tmp_path / name).mkdir()
        folder = tmp_path / name / ("gripper" if name != "first" else "other")
        folder.mkdir()
        inner = f"<link name='palm'><inertial><mass>{mass}</mass></inertial></link>"
        (folder / "model.sdf").write_text(sdf(inner, model='name="gripper"'))
    monkeypatch.setenv(variable, f":{tmp_path / 'first'}:{tmp_path / 'second'}")
    text = sdf(
        "<include><uri>model://gripper/model.sdf</uri></include>"
        + joint("a", "revolute", "world", "gripper::palm", "<axis><xyz>0 0 1</xyz></axis>")
    )
    assert rbd.load(text).mass == 2.0
    assert rbd.load(text, packages=tmp_path / "given").mass == 4.0


def test_a_file_that_includes_itself_ends(tmp_path):
    path = tmp_path / "self.sdf"
    path.write_text(sdf(link("a") + "<include><uri>self.sdf</uri><name>b</name></include>" * 2))
    with pytest.raises(rbd.ModelError, match="nested more than 20 deep"):
        rbd.load(path)


def standing(joints: str) -> str:
    """An arm between two static models."""
    models = "".join(f'<model name="{name}"><static>true</static>{link("top")}</model>' for name in ("s", "t"))
    arm = link("a") + link("b") + joint("j", "revolute", "a", "b", "<axis><xyz>0 0 1</xyz></axis>")
    return f'<sdf version="1.10"><world name="w">{models}<model name="m">{arm}</model>{joints}</world></sdf>'


@pytest.mark.parametrize("ends", [("m::a", "t::top"), ("t::top", "m::a")])
def test_static_models_stand_whatever_side_of_a_joint_they_are_on(ends):
    """Seen: the child's side of a joint of the world floated with what it should have held."""
    model = rbd.load(standing(joint("wj", "fixed", *ends)))
    assert (model.nv, len(model.loops), model.joint_names) == (1, 0, ["j"])
    both = rbd.load(standing(joint("wj", "fixed", *ends) + joint("other", "fixed", "m::b", "s::top")))
    assert (both.nv, len(both.loops)) == (1, 1)  # none of the two moves


def test_what_no_joint_holds_floats():
    text = sdf(link("a", "<pose>1 0 0 0 0 0</pose>") + link("b", "<pose>0 1 0 0 0 0</pose>"))
    model = rbd.load(text)
    assert (model.base, model.joint_names) == ("floating", ["a_root_joint", "b_root_joint"])
    single = rbd.load(sdf(link("a", "<pose>1 0 0 0 0 0</pose>")))
    assert single.joint_names == ["root_joint"]
    q = np.array([3.0, 2.0, 1.0, 0.0, 0.0, 0.6, 0.8])  # a pose in the world
    np.testing.assert_allclose(where(single, "a", q)[:3, 3], q[:3])
    fixed = rbd.load(text, base="fixed")
    assert fixed.nv == 0
    np.testing.assert_allclose(where(fixed, "b")[:3, 3], [0, 1, 0])
    assert rbd.load(sdf("<static>true</static>" + link("a"))).nv == 0
    with pytest.warns(rbd.model.ModelWarning, match="joint .j.: is in a static model"):
        rbd.load(sdf("<static>true</static>" + link("a") + joint("j", "revolute", "world", "a", "<axis/>")))
    with pytest.raises(rbd.ModelError, match="is fixed to the world, it cannot float"):
        rbd.load(sdf("<static>true</static>" + link("a")), base="floating")


@pytest.mark.parametrize(
    ("kind", "more", "expected"),
    [
        ("screw", "<screw_thread_pitch>0.01</screw_thread_pitch>", rbd.joints.Helical((0, 0, 1), 0.01 / (2 * np.pi))),
        ("screw", "<thread_pitch>-100</thread_pitch>", rbd.joints.Helical((0, 0, 1), 0.01)),
        ("universal", "<axis2><xyz>0 1 0</xyz></axis2>", rbd.joints.Universal((0, 0, 1), (0, 1, 0))),
        ("ball", "", rbd.joints.Spherical()),
        ("continuous", "", rbd.joints.Continuous((0, 0, 1))),
    ],
)
def test_every_kind_of_joint(kind, more, expected):
    text = sdf(link("a") + joint("j", kind, "world", "a", f"<axis/>{more}"))
    assert rbd.load(text).joint("j").kind == expected


def test_old_versions_have_axes_in_the_model():
    turned = link("a", "<pose>0 0 0 0 0 0.5</pose>")
    turning = joint("j", "revolute", "world", "a", "<axis><xyz>1 0 0</xyz>{}</axis>")
    in_joint = rbd.load(sdf(turned + turning.format(""))).joint("j").kind.axis
    np.testing.assert_allclose(in_joint, (1, 0, 0))
    for text in (
        sdf(turned + turning.format(""), version="1.4"),
        sdf(turned + turning.format("<use_parent_model_frame>1</use_parent_model_frame>"), version="1.6"),
    ):
        np.testing.assert_allclose(rbd.load(text).joint("j").kind.axis, (np.cos(0.5), -np.sin(0.5), 0), atol=1e-15)


@pytest.mark.parametrize("kind", ["revolute", "universal"])
def test_a_joint_to_a_link_that_has_one_closes_a_loop(kind):
    """A parallelogram; the coupler only translates."""
    bar = """<inertial><pose>0.2 0 0 0 0 0</pose><mass>0.7</mass>
      <inertia><ixx>0.01</ixx><iyy>0.02</iyy><izz>0.02</izz></inertia></inertial>"""
    axis, second = "<axis><xyz>0 -1 0</xyz></axis>", "<axis2><xyz>0 0 1</xyz></axis2>" if kind == "universal" else ""
    text = sdf(
        f'<link name="left">{bar}</link><link name="right"><pose>1 0 0 0 0 0</pose>{bar}</link>'
        f'<link name="coupler"><pose>0.4 0 0 0 0 0</pose>{bar.replace("0.7", "1.3")}</link>'
        + joint("one", "revolute", "world", "left", axis)
        + joint("two", "revolute", "left", "coupler", axis)
        + joint("three", "revolute", "world", "right", axis)
        + joint("closing", kind, "right", "coupler", f"<pose>1 0 0 0 0 0</pose>{axis}{second}")
    )
    model = rbd.load(text)
    robot, held = rbd.Robot(model, backend="reference"), ConstraintSet(model, loop_constraints(model))
    assert [loop.name for loop in model.loops] == ["closing"]
    angle, speed = 0.7, 1.9
    order = [model.joint_names.index(name) for name in ("one", "two", "three")]
    q, v = np.zeros(3), np.zeros(3)
    q[order], v[order] = [angle, -angle, angle], [speed, -speed, speed]
    h, A, _ = robot.constraint_rows(q, v, held)
    np.testing.assert_allclose(np.concatenate([h, A @ v]), 0.0, atol=1e-14)
    a = robot.constrained_forward_dynamics(q, v, np.zeros(3), held).a
    inertia = 2.0 * (0.02 + 0.7 * 0.2**2) + 1.3 * 0.4**2
    weight = (2.0 * 0.7 * 0.2 + 1.3 * 0.4) * 9.81 * np.cos(angle)
    np.testing.assert_allclose(a[order], -weight / inertia * np.array([1, -1, 1]), rtol=1e-12)


@pytest.mark.parametrize(
    ("inner", "error"),
    [
        (link("a", '<pose relative_to="nowhere"/>'), "there is no frame 'nowhere', which 'a' refers to"),
        (link("a", '<pose relative_to="b"/>') + link("b", '<pose relative_to="a"/>'), "is relative to itself"),
        (link("a") + link("a"), "'a' is given twice"),
        (link("a", "<pose>1 2 3</pose>"), r"link 'a': <pose> value='1 2 3' is not 6 numbers"),
        (link("a") + '<frame name="f" attached_to="g"/><frame name="g" attached_to="f"/>', "to itself"),
        (link("a") + joint("j", "hinge", "world", "a"), "joint 'j': is 'hinge'"),
        (link("a") + joint("j", "ball", "world", ""), "joint 'j': has no <child>"),
        (link("a") + joint("j", "ball", "world", "world"), "joint 'j': its <child>"),
        ('<link name="a"><inertial auto="true"/></link>', "link 'a': .*auto"),
        ('<link name="a"><inertial><mass>-1</mass></inertial></link>', "link 'a': has the negative mass -1"),
        ("<include><uri>../../etc/none.sdf</uri></include>", "none.sdf cannot be read"),
        ("<include><uri>https://fuel.org/x</uri></include>", "only package://, model://"),
        (
            link("a") + joint("j", "revolute", "world", "a", "<axis><xyz>0 0 0</xyz></axis>"),
            "joint 'j': <axis> <xyz> '0 0 0' has no direction",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_error(inner, error):
    with pytest.raises(rbd.ModelError, match=error):
        rbd.load(sdf(inner))


def test_a_file_has_one_model():
    two = '<sdf version="1.9"><world name="w"><model name="a"/><include><uri>b</uri></include></world></sdf>'
    with pytest.raises(rbd.ModelError, match="has 2 models, expected one: a, b"):
        rbd.load(two)


def test_a_world_has_its_gravity():
    world = f'<world name="w"><gravity>0 0 -1.62</gravity><model name="m">{link("a")}</model></world>'
    text = f'<sdf version="1.9">{world}</sdf>'
    assert rbd.load(text).gravity == (0.0, 0.0, -1.62)
    assert rbd.load(text, gravity=(0, 0, 0)).gravity == (0.0, 0.0, 0.0)
    with pytest.warns(rbd.model.ModelWarning, match="link 'a': feels no gravity"):
        rbd.load(sdf(link("a", more="<gravity>0</gravity>")))


@pytest.mark.parametrize(
    ("version", "said"), [('version="1.13"', "is SDFormat '1.13' (it is read as 1.12)"), ("", "has no 'version'")]
)
def test_a_version_that_is_not_known_is_said(version, said):
    with pytest.warns(rbd.model.ModelWarning) as caught:
        rbd.load(f'<sdf {version}><model name="m">{link("a")}</model></sdf>')
    assert said in str(caught[0].message)
