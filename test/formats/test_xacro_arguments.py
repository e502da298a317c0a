# SPDX-License-Identifier: Apache-2.0
"""Arguments and packages of a xacro on the command line, in launch files, and by name in folders of packages."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import rbd_dynamics as rbd
from rbd_dynamics.cli.program import main
from rbd_dynamics.formats import check
from rbd_dynamics.formats.load import urdf_text
from rbd_dynamics.formats.xacro_script import _give_packages

PARTS = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="base"/><link name="arm"><inertial>
  <mass value="${2.0 * $(arg mass)}"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint></robot>"""
ARM = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="mass" default="2"/>
  <xacro:include filename="$(find arm_description)/urdf/parts.xacro"/></robot>"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """With a package in a folder of another name, three levels deep, and one of the same name that is to be ignored."""
    pytest.importorskip("xacro", reason="xacro files are expanded by xacro")
    for folder, mass in (("a/old", "9"), ("src/repository/arm", "$(arg mass)")):
        package = tmp_path / folder
        (package / "urdf").mkdir(parents=True)
        (package / "package.xml").write_text("<package format='3'><name>arm_description</name></package>")
        (package / "urdf" / "parts.xacro").write_text(PARTS.replace("$(arg mass)", mass))
    (tmp_path / "a" / "COLCON_IGNORE").touch()
    (tmp_path / "arm.urdf.xacro").write_text(ARM)
    return tmp_path


def test_a_package_is_known_by_its_package_xml_at_any_depth(workspace):
    path = workspace / "arm.urdf.xacro"
    for packages in (workspace, [workspace / "src"], workspace / "src" / "repository" / "arm"):
        assert rbd.load(path, packages=packages, arguments={"mass": 3}).mass == 6.0
    assert not check(path, packages=workspace)
    with pytest.raises(rbd.ModelError, match="is not a folder"):
        rbd.load(path, packages=workspace / "nowhere")
    with pytest.raises(rbd.ModelError, match=r"there is no package 'arm_description' \(give `packages` \(--packages\)"):
        rbd.load(path)


@pytest.mark.parametrize("words", [["mass:=3", "--json"], ["--json", "mass:=3"]])
def test_a_command_takes_arguments_and_packages(workspace, words, capsys):
    path = str(workspace / "arm.urdf.xacro")
    assert main(["info", path, *words, "--packages", str(workspace)]) == 0
    assert json.loads(capsys.readouterr().out)["mass"] == 6.0
    assert main(["check", "--packages", str(workspace), path, "mass:=-1"]) == 1
    assert "has the negative mass -2" in capsys.readouterr().out
    page = workspace / "page.html"
    assert main(["show", path, "mass:=3", "--packages", str(workspace), "-o", str(page)]) == 0
    assert page.is_file()


@pytest.mark.parametrize("count", [1, 2])
def test_replay_and_the_fleet_expand_a_xacro(workspace, count, capsys):
    """With and without arguments: without, it took the text as it stands, a robot without mass."""
    pytest.importorskip("rosbags")
    from helpers.recorded.recordings import URDF, bag

    path = workspace / "two.urdf.xacro"
    arms = URDF.replace("<robot ", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" ')
    arms = arms.replace('<link name="base"/>', '<xacro:arg name="mass" default="2.0"/><link name="base"/>')
    path.write_text(arms.replace("'2.0'", "'$(arg mass)'"))
    assert "$(arg mass)" in path.read_text()
    bags = [str(bag(workspace / f"bag{k}", count=600, seed=k)) for k in range(count)]

    def worst(*words):
        main(["replay", *bags, "--urdf", str(path), *words, "--json", "--workers", "1"])
        told = json.loads(capsys.readouterr().out)
        joints = told["joints"] if count == 1 else [joint for r in told["robots"].values() for joint in r["joints"]]
        return max(joint["nrmse"] for joint in joints)

    assert worst() < 0.05
    assert worst("mass:=3") > 0.1


def test_an_argument_that_the_xacro_never_asks_for_is_said(workspace, capsys):
    path = workspace / "arm.urdf.xacro"
    given = {"packages": workspace, "arguments": {"mas": 3}}
    with pytest.warns(rbd.model.ModelWarning, match="never asks for the argument 'mas'.*did you mean 'mass'"):
        assert rbd.load(path, **given).mass == 4.0
    with pytest.raises(rbd.ModelError, match="never asks for the argument 'mas'"):
        rbd.load(path, strict=True, **given)
    with pytest.warns(rbd.model.ModelWarning, match="never asks for the argument 'mas'"):
        assert "<robot" in urdf_text(path, **given)  # as replay and the nodes' --urdf read it
    assert main(["check", str(path), "mas:=3", "--packages", str(workspace)]) == 0
    assert "never asks for the argument 'mas'" in capsys.readouterr().out


def test_a_command_without_a_description_takes_no_arguments(capsys):
    assert main(["doctor", "mass:=3"]) == 2
    assert "mass:=3: this command reads no description" in capsys.readouterr().err


def test_launch_files_take_packages(workspace):
    launching = pytest.importorskip("rbd_dynamics.nodes.tools.launching", reason="needs ROS 2: launch")
    value = {name: default for name, (default, _) in launching.ARGUMENTS.items()}
    value |= {"xacro": str(workspace / "arm.urdf.xacro"), "xacro_args": "mass:=3", "packages": str(workspace)}
    assert rbd.load(launching.robot_description(value)).mass == 6.0
    as_urdf = {**value, "urdf": value["xacro"], "xacro": ""}
    assert rbd.load(launching.robot_description(as_urdf)).mass == 6.0
    with pytest.raises(RuntimeError, match="arm_description"):
        launching.robot_description({**value, "packages": ""})


def test_without_the_python_of_ros_packages_are_found_where_it_is_installed(tmp_path, monkeypatch):
    for name in ("ament_index_python", "ament_index_python.packages"):
        monkeypatch.setitem(sys.modules, name, None)
    (tmp_path / "share" / "my_arm").mkdir(parents=True)
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{tmp_path / 'other'}:{tmp_path}")
    _give_packages({})
    found = sys.modules["ament_index_python.packages"].get_package_share_directory
    assert found("my_arm") == str(tmp_path / "share" / "my_arm")
    with pytest.raises(LookupError, match="package 'hand' not found"):
        found("hand")


def test_a_gross_inertia_is_taken_where_the_command_says_so(capsys):
    file = str(Path(__file__).parents[1] / "model" / "urdf_files" / "gross_inertia.urdf")
    assert main(["info", file]) == 2
    assert "--given-inertias" in capsys.readouterr().err
    assert main(["info", file, "--given-inertias", "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["mass"] == 0.0798
    assert "warning: link 'upper': has an inertia that no rigid body has" in told.err
    assert main(["check", file]) == 1
    assert main(["check", file, "--given-inertias"]) == 0
