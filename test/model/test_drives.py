# SPDX-License-Identifier: Apache-2.0
"""Drives of joints in descriptions and files."""

from __future__ import annotations

import pytest
from helpers.models.driven import driven_tree

from rbd_dynamics import (
    Drive,
    ModelBuilder,
    ModelError,
    joints,
    load_urdf,
    load_yaml,
    model_from_dict,
    model_to_dict,
    save_yaml,
    write_urdf,
)
from rbd_dynamics.actuators import DrivenRobot

URDF = """<robot name="arm"><link name="base"/>
<link name="upper"><inertial><mass value="2"/><origin xyz="0.1 0 0"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
<joint name="shoulder" type="{type}"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/><dynamics {dynamics}/></joint></robot>"""


def read(dynamics, kind="revolute"):
    return load_urdf(URDF.format(type=kind, dynamics=dynamics)).joint("shoulder")


def test_a_urdf_tells_of_drives():
    joint = read('armature="0.3" gear_ratio="-100" drive_stiffness="5e3" drive_damping="2"')
    assert joint.armature == 0.3
    assert joint.drive == Drive(gear_ratio=-100.0, stiffness=5000.0, damping=2.0)
    assert read('rotor_inertia="1e-4" gear_ratio="100"').armature == pytest.approx(1.0, rel=1e-15)
    assert read('rotor_axis="0 3 0" rotor_frame="base"').drive == Drive(rotor_axis=(0, 1, 0), rotor_frame="base")
    assert read('drive_stiffness="inf"').drive == Drive()
    assert read('damping="1"').drive is None


def test_a_transmission_tells_the_gear_of_its_rotor():
    text = """<transmission name="t{k}"><joint name="shoulder"/><actuator name="m"><rotor_inertia value="1e-4"/>
    <mechanicalReduction>{ratio}</mechanicalReduction></actuator></transmission>"""

    def with_transmissions(*ratios, dynamics='drive_stiffness="2e3"'):
        more = "".join(text.format(k=k, ratio=ratio) for k, ratio in enumerate(ratios))
        urdf = URDF.format(type="revolute", dynamics=dynamics)
        return load_urdf(urdf.replace("</robot>", f"{more}</robot>")).joint("shoulder")

    joint = with_transmissions(-50)
    assert joint.drive == Drive(stiffness=2000.0, gear_ratio=-50.0)
    assert joint.armature == pytest.approx(0.25, rel=1e-15)
    assert with_transmissions(50, 20).drive == Drive(stiffness=2000.0)
    assert with_transmissions(50, dynamics='armature="1"').drive is None
    assert with_transmissions(50, dynamics='gear_ratio="3"').drive == Drive(gear_ratio=3.0)


@pytest.mark.parametrize(
    ("dynamics", "said"),
    [
        ('drive_stiffness="0"', "joint 'shoulder': <dynamics>: stiffness 0 is not positive"),
        ('drive_stiffness="1" drive_damping="-1"', "damping -1 is negative"),
        ('drive_damping="1"', "needs a finite stiffness"),
        ('gear_ratio="0"', "gear_ratio is zero"),
        ('gear_ratio="many"', "joint 'shoulder'.*gear_ratio"),
        ('rotor_axis="0 0 0"', "rotor_axis has no direction"),
        ('rotor_axis="0 0"', "joint 'shoulder'.*rotor_axis"),
        ('rotor_frame="base"', "needs a rotor_axis"),
        ('rotor_axis="0 0 1" rotor_frame="bass"', "joint 'shoulder': rotor_frame: no link.*'bass'.*'base'"),
    ],
)
def test_what_makes_no_sense_in_a_urdf_is_named(dynamics, said):
    with pytest.raises(ModelError, match=said):
        read(dynamics)


def test_joints_with_several_coordinates_have_no_drive():
    with pytest.raises(ModelError, match="joint 'shoulder': is planar, which cannot have a drive"):
        read('drive_stiffness="10"', "planar")
    builder = ModelBuilder("ball")
    with pytest.raises(ModelError, match="joint 'ball_joint' is spherical: a drive"):
        builder.add_body("ball", None, joints.Spherical(), mass=1.0, drive=Drive())
    with pytest.raises(ModelError, match="drive 3 are no Drive"):
        builder.add_body("ball", None, joints.Revolute(), mass=1.0, drive=3)


@pytest.mark.parametrize("seed", range(3))
def test_no_bit_of_a_drive_is_lost(seed, tmp_path):
    model = driven_tree(seed, rigid=0.4).model
    save_yaml(model, tmp_path / "robot.yaml")
    assert load_yaml(tmp_path / "robot.yaml") == model == model_from_dict(model_to_dict(model))
    write_urdf(model, tmp_path / "robot.urdf")
    again = load_urdf(tmp_path / "robot.urdf", gravity=model.gravity)
    assert {joint.name: joint.drive for joint in again.joints} == {joint.name: joint.drive for joint in model.joints}
    assert all(joint.armature == again.joint(joint.name).armature for joint in model.joints)


def test_a_drive_in_yaml():
    data = model_to_dict(driven_tree(0, n=1).model)
    joint = data["bodies"][0]["joint"]
    for drive, said in [
        ({"stiffness": -3}, "joint 'joint0': drive: stiffness -3 is not positive"),
        ({"ratio": 3}, "joint 'joint0': drive: unknown key 'ratio'"),
        (7, "joint 'joint0': drive: expected keys and values"),
    ]:
        joint["drive"] = drive
        with pytest.raises(ModelError, match=said):
            model_from_dict(data)
    joint["drive"] = {"stiffness": "2e3", "gear_ratio": 10}
    assert model_from_dict(data).joint("joint0").drive == Drive(stiffness=2000.0, gear_ratio=10.0)


def test_what_cannot_be_elastic_is_named():
    model = driven_tree(0, n=2).model
    with pytest.raises(KeyError, match="joint7"):
        DrivenRobot(model, stiffness={"joint7": 3.0})
    with pytest.raises(ModelError, match="joint 'joint1': stiffness -1 is not positive"):
        DrivenRobot(model, stiffness={"joint1": -1.0})
    data = model_to_dict(model)
    del data["bodies"][1]["joint"]["armature"]
    with pytest.raises(ModelError, match="joint 'joint1' is elastic and has no rotor inertia"):
        DrivenRobot(model_from_dict(data))
    data = model_to_dict(model)
    data["bodies"][1]["joint"]["drive"].update(rotor_frame="nowhere", rotor_axis=[0, 0, 1])
    with pytest.raises(ModelError, match="joint 'joint1': rotor_frame: .*nowhere"):
        model_from_dict(data)
    data = model_to_dict(model)
    data["bodies"][1]["joint"]["mimic"] = {"leader": "joint0"}
    with pytest.raises(ModelError, match="joint 'joint1' mimics 'joint0' and cannot be elastic"):
        DrivenRobot(model_from_dict(data))
