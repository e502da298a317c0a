# SPDX-License-Identifier: Apache-2.0
"""The robot's file as an executable takes it: a xacro with its arguments and the folders of its packages."""

from __future__ import annotations

import pytest

pytest.importorskip("xacro")

from rbd_dynamics.model.errors import ModelError
from rbd_dynamics.nodes.process.own_arguments import OwnArguments

ARM = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="reach" default="0.3"/>
<xacro:include filename="$(find arm_parts)/base.xacro"/><link name="length_$(arg reach)"/></robot>"""


@pytest.fixture
def arm(tmp_path):
    parts = tmp_path / "deep" / "arm_parts"
    parts.mkdir(parents=True)
    (parts / "package.xml").write_text("<package><name>arm_parts</name></package>")
    (parts / "base.xacro").write_text('<robot><link name="base"/></robot>')
    (tmp_path / "arm.urdf.xacro").write_text(ARM)
    return str(tmp_path / "arm.urdf.xacro")


def test_a_xacro_has_its_arguments_and_packages(arm, tmp_path):
    own = OwnArguments(["node", "--urdf", arm, "reach:=0.7", "--packages", str(tmp_path), "--ros-args", "-r", "a:=b"])
    assert own.unknown == []
    *ros, text = own.for_ros(())
    assert ros == ["node", "--ros-args", "-r", "a:=b", "--ros-args", "-p"]
    assert "length_0.7" in text and "base" in text
    with pytest.raises(ModelError, match="arm_parts"):
        OwnArguments(["node", "--urdf", arm]).for_ros(())


@pytest.mark.parametrize(
    "words", [["commands:=/x"], ["--urdf", "arm.urdf", "commands:=/x"], ["--urdf", "a.xacro", "~/x:=/y"]]
)
def test_what_was_meant_for_ros_is_none_of_a_xacro(words):
    assert OwnArguments(["node", *words]).unknown == words[-1:]
