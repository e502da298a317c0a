# SPDX-License-Identifier: Apache-2.0
"""`load`: every way to hand over a robot, every format, and one clear error for what is none."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.models.robots import needs_pinocchio

import rbd_dynamics as rbd
from rbd_dynamics.formats import check
from rbd_dynamics.formats.xacro_script import _give_packages

URDF = """<robot name="arm"><link name="base"/><link name="arm"><inertial><origin xyz="0.1 0 0"/><mass value="2"/>
  <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.3"/></inertial></link>
  <joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint></robot>"""
XACRO = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="mass" default="2"/>
  <xacro:include filename="{}"/></robot>"""
PARTS = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="base"/><link name="arm"><inertial>
  <mass value="${2.0 * $(arg mass)}"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint></robot>"""


def test_a_robot_comes_as_text_bytes_path_file_and_yaml(tmp_path):
    known, path = rbd.load_urdf(URDF), tmp_path / "arm.urdf"
    path.write_text(URDF)
    yaml = tmp_path / "arm.yaml"
    rbd.save_yaml(known, yaml)
    with path.open() as text, path.open("rb") as binary:
        sources = [
            URDF,
            "\ufeff  \n" + URDF,
            URDF.encode(),
            f'<?xml version="1.0" encoding="utf-16"?>{URDF}'.encode("utf-16"),
        ]
        sources += [path, str(path), text, binary, io.StringIO(URDF), io.BytesIO(URDF.encode())]
        sources += [yaml, str(yaml), yaml.read_text(), yaml.read_bytes(), io.StringIO(yaml.read_text())]
        for source in sources:
            assert rbd.load(source) == known, source


@needs_pinocchio
def test_example_robots_have_names():
    from rbd_dynamics.common.example_robots import robots

    assert rbd.load("ur5_robot") == rbd.load_urdf(robots()["ur5_robot"])
    assert rbd.load("UR5") == rbd.load("ur5") == rbd.load("ur5_robot")
    assert rbd.load("ur3") == rbd.load("ur3_robot"), "ur3.urdf has no links"
    assert rbd.load("TwoDofs") == rbd.load("twodofs")
    with pytest.raises(rbd.ModelError, match=r"'ur5_robt' is neither a file nor one of the \d+ robots.*'ur5_robot'"):
        rbd.load("ur5_robt")


def test_options_reach_every_format(tmp_path):
    with pytest.warns(rbd.model.ModelWarning, match="root_joint"):  # its link has no mass
        assert rbd.load(URDF, base="floating").joint_names == ["root_joint", "j"]
    assert rbd.load(URDF, locked={"j": 0.3}).nv == 0
    assert rbd.load(URDF, gravity=np.array([0, 0, -1.6])).gravity == (0.0, 0.0, -1.6)
    path = tmp_path / "arm.yaml"
    rbd.save_yaml(rbd.load(URDF), path)
    assert rbd.load(path, gravity=(0, 0, 0)).gravity == (0.0, 0.0, 0.0)
    for option in ({"base": "floating"}, {"locked": {"j": 0.0}}, {"joints": ["j"]}):
        with pytest.raises(rbd.ModelError, match=f"arm.yaml.* has that in it: no '{next(iter(option))}'"):
            rbd.load(path, **option)
    with pytest.raises(rbd.ModelError, match="is no xacro: there are no arguments"):
        rbd.load(URDF, arguments={"mass": 3})


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("", "robot description: is empty"),
        ("  \n ", "is empty"),
        (b"", "robot description is empty"),
        ("nowhere.urdf", "no such file: nowhere.urdf"),
        (Path("nowhere.sdf"), "file nowhere.sdf cannot be read: No such file"),
        ("<a/>", "has <a> as its root element, expected <robot>, <sdf> or <mujoco>"),
        ("<robot>", "not well-formed XML: no element found at line 1"),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]><robot name='x'/>", "has a document type"),
        ("format: rbd_dynamics model\nversion: 7\n", "version is 7"),
        ("one: [\n", "is not well-formed YAML"),
        (b"\xff\xfe\x00nonsense", "not UTF-8"),
        (3, "3 is not a robot: give a path, a text, bytes, an open file or a robot's name"),
        (None, "None is not a robot"),
        ("a" * 5000, "neither a file|robots are known"),
        ("nul\0byte", "neither a file|robots are known|no such file"),
    ],
)
def test_what_is_no_robot_is_one_error(source, error):
    with pytest.raises(rbd.ModelError, match=error) as caught:
        rbd.load(source)
    assert len(str(caught.value)) < 600


def test_a_file_that_gives_no_text_is_an_error():
    class Odd:
        def read(self, size):
            return 7

    with pytest.raises(rbd.ModelError, match=r"its read\(\) gives 7"):
        rbd.load(Odd())


def test_defects_are_told_at_the_callers_line():
    massless = URDF.replace('value="2"', 'value="0"').replace("0.3", "0").replace("0.2", "0").replace('"0.1"', '"0"')
    with pytest.warns(rbd.model.ModelWarning, match="moves no mass") as caught:
        rbd.load(massless)
    assert caught[0].filename == __file__


# --- xacro ---------------------------------------------------------------------------------------


@pytest.fixture
def xacro(tmp_path):
    pytest.importorskip("xacro", reason="xacro files are expanded by xacro")
    package = tmp_path / "share" / "my_arm"
    (package / "urdf").mkdir(parents=True)
    (package / "urdf" / "parts.xacro").write_text(PARTS)
    path = package / "urdf" / "arm.urdf.xacro"
    path.write_text(XACRO.format("$(find my_arm)/urdf/parts.xacro"))
    return path


def test_xacro_is_expanded_with_arguments_and_packages(xacro):
    folder = xacro.parents[1]
    for packages in ({"my_arm": folder}, folder.parent, [folder.parent]):
        model = rbd.load(xacro, packages=packages, arguments={"mass": 1.5})
        assert model.mass == 3.0
    xacro.write_text(XACRO.format("parts.xacro"))  # beside it
    assert rbd.load(xacro).mass == 4.0
    assert rbd.load(PARTS.replace("$(arg mass)", "4")).mass == 8.0


def test_without_ros_xacro_finds_the_packages_that_are_given(monkeypatch):
    for name in ("ament_index_python", "ament_index_python.packages"):
        monkeypatch.setitem(sys.modules, name, None)
    _give_packages({"my_arm": "/somewhere"})
    found = sys.modules["ament_index_python.packages"].get_package_share_directory
    assert found("my_arm") == "/somewhere"
    with pytest.raises(LookupError, match="package 'hand' not found: give packages"):
        found("hand")


def test_xacro_finds_packages_of_ros(xacro, monkeypatch):
    pytest.importorskip("ament_index_python")
    prefix = xacro.parents[3]
    index = prefix / "share" / "ament_index" / "resource_index" / "packages"
    index.mkdir(parents=True)
    (index / "my_arm").touch()
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(prefix))
    assert rbd.load(xacro).mass == 4.0


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (PARTS.replace("$(arg mass)", "mas"), "robot description: xacro: .*'mas' is not defined"),
        (PARTS.replace("$(arg mass)", "__import__('os').getpid()"), "robot description: xacro: "),
        (XACRO.format("$(find no_such_package)/a.xacro"), "xacro: .*no_such_package"),
        (XACRO.format("gone.xacro"), "xacro: .*gone.xacro"),
    ],
)
def test_what_xacro_refuses_is_one_error(text, error, xacro):
    with pytest.raises(rbd.ModelError, match=error):
        rbd.load(text)


def test_xacro_that_takes_too_much_is_ended(xacro, monkeypatch):
    from rbd_dynamics.formats import xacro_files

    monkeypatch.setattr(xacro_files, "SECONDS", 1)
    endless = PARTS.replace("2.0 * $(arg mass)", "9**9**9")
    with pytest.raises(rbd.ModelError, match="xacro: it was ended by signal|xacro took more than"):
        rbd.load(endless)


def test_without_xacro_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "xacro", None)
    with pytest.raises(rbd.ModelError, match=r"a xacro needs the package xacro: pip install 'rbd_dynamics\[models\]'$"):
        rbd.load(PARTS)


# --- the check -----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["urdf", "yaml", "sdf", "wrong"])
def test_a_check_is_for_every_format(form, tmp_path):
    path = tmp_path / f"arm.{form}"
    model = rbd.load(URDF)
    text = {
        "urdf": URDF,
        "yaml": None,
        "sdf": '<sdf version="1.9"><model name="m"><link name="a"/></model></sdf>',
        "wrong": '<sdf version="1.9"><model name="m"><link name="a"/><link name="a"/></model></sdf>',
    }[form]
    rbd.save_yaml(model, path) if text is None else path.write_text(text)
    severities = [finding.severity for finding in check(str(path))]
    assert severities.count("error") == (1 if form == "wrong" else 0)


def test_what_is_no_description_at_all_is_told_once_with_what_is_expected(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text("hello")
    (finding,) = check(str(path))
    assert finding.element == f"file {path}"
    assert finding.message.startswith("holds no model: neither XML, which begins with <, nor YAML")
