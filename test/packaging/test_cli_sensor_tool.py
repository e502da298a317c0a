# SPDX-License-Identifier: Apache-2.0
"""`rbd_dynamics sensor-tool`: the tool on a sensor, out of a recording."""

from __future__ import annotations

import json

import numpy as np
import pytest
import yaml
from helpers.recorded.bags import needs_rosbags, write_ros1, write_ros2
from helpers.recorded.tool_poses import BIAS, CENTER, MASS, of_tool

from rbd_dynamics import load
from rbd_dynamics.cli import main
from rbd_dynamics.nodes.interface.hybrid_controller import HYBRID_CONTROLLER
from rbd_dynamics.robot import Robot

pytestmark = needs_rosbags

URDF = """<robot name="wrist"><link name="base"/><link name="a"/><link name="tool"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="roll" type="continuous"><parent link="base"/><child link="a"/><axis xyz="1 0 0"/></joint>
<joint name="pitch" type="continuous"><parent link="a"/><child link="tool"/><axis xyz="0 1 0"/></joint></robot>"""
POSES = [(0.0, 0.0), (1.2, 0.0), (0.0, 1.2), (-1.0, 0.5)]


@pytest.fixture
def urdf(tmp_path):
    path = tmp_path / "wrist.urdf"
    path.write_text(URDF)
    return path


def recorded(urdf, poses=POSES, **how):
    return of_tool(Robot(load(urdf), backend="reference"), "tool", poses, **how)


@pytest.mark.parametrize("write", [write_ros2, write_ros1])
def test_mass_centre_and_bias_of_a_recording(urdf, tmp_path, capsys, write):
    path = write(tmp_path / "poses.bag", recorded(urdf))
    assert main(["sensor-tool", str(urdf), str(path), "--frame", "tool", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["poses"] == len(POSES)
    assert found["mass"] == pytest.approx(MASS, abs=2e-3)
    np.testing.assert_allclose(found["center_of_mass"], CENTER, atol=1e-3)
    np.testing.assert_allclose([*found["torque_bias"], *found["force_bias"]], BIAS, atol=0.01)
    assert found["force_noise"] < 0.02


def test_what_was_found_is_written_as_parameters_that_a_node_takes(urdf, tmp_path):
    path, file = write_ros2(tmp_path / "poses", recorded(urdf)), tmp_path / "tool.yaml"
    words = ["sensor-tool", str(urdf), str(path), "--frame", "tool", "--output", str(file)]
    assert main(words) == 0
    ((node, content),) = yaml.safe_load(file.read_text()).items()
    given = content["ros__parameters"]
    assert node == "/**/hybrid_controller" and given["sensor_frame"] == "tool" and not given["wrench_of_robot"]
    np.testing.assert_allclose(given["sensor_tool"], [MASS, *CENTER, *BIAS], atol=0.01)
    (numbers,) = (each for each in HYBRID_CONTROLLER.parameters if each.name == "sensor_tool")
    assert numbers.kind == "double_array" and all(isinstance(number, float) for number in given["sensor_tool"])


def test_what_the_poses_lack_is_said(urdf, tmp_path, capsys):
    path = write_ros2(tmp_path / "poses", recorded(urdf, POSES[:2]))
    assert main(["sensor-tool", str(urdf), str(path), "--frame", "tool"]) == 1
    assert "two directions of gravity do not tell" in capsys.readouterr().out


def test_a_sensor_that_tells_the_robots_wrench(urdf, tmp_path, capsys):
    path = write_ros2(tmp_path / "poses", recorded(urdf, sign=-1.0))
    assert main(["sensor-tool", str(urdf), str(path), "--frame", "tool"]) == 2
    assert "below zero" in capsys.readouterr().err
    assert main(["sensor-tool", str(urdf), str(path), "--frame", "tool", "--of-robot"]) == 0
    assert "poses at rest: 4; in tool: mass 0.7" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--frame", "nowhere"], "nowhere"),
        (["--frame", "tool", "--topic", "/other"], "/ft/wrench"),
        (["--frame", "tool", "--joint-states", "/other"], "/joint_states"),
        (["--frame", "tool", "--floating"], "more than one degree of freedom"),
        (["--frame", "tool", "--gravity", "0", "0", "0"], "gravity"),
    ],
)
def test_what_cannot_be_done_is_one_line(urdf, tmp_path, capsys, words, reason):
    path = write_ros2(tmp_path / "poses", recorded(urdf, POSES[:1], rate=50))
    assert main(["sensor-tool", str(urdf), str(path), *words]) == 2
    shown = capsys.readouterr().err.splitlines()
    assert reason in shown[-1] and not [line for line in shown[:-1] if "warning" not in line]
