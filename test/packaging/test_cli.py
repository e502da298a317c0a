# SPDX-License-Identifier: Apache-2.0
"""The command line: what it prints, how it fails, what its exit codes say."""

import io
import json
import subprocess
import sys

import pytest

from rbd_dynamics import ModelBuilder, save_yaml
from rbd_dynamics.cli import main
from rbd_dynamics.example_robots import robots
from rbd_dynamics.model.joints import Revolute

ARM = """
<robot name="arm">
  <link name="base"><inertial><mass value="5"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <link name="upper"><inertial><origin xyz="0.5 0 0"/><mass value="2"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.2"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0.25 0 0"/><mass value="1"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <link name="tool"><inertial><mass value="0.5"/>
    <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="1.5" velocity="3" effort="70"/><dynamics damping="0.7" friction="0.3"/></joint>
  <joint name="elbow" type="continuous"><origin xyz="1 0 0"/><parent link="upper"/><child link="lower"/>
    <axis xyz="0 1 0"/></joint>
  <joint name="flange" type="fixed"><origin xyz="0.5 0 0"/><parent link="lower"/><child link="tool"/></joint>
</robot>
"""


@pytest.fixture
def arm(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    return str(path)


def test_info_shows_joints_in_order_with_limits_and_the_whole_mass(arm, capsys):
    assert main(["info", arm]) == 0
    text = capsys.readouterr().out
    assert "8.5 kg" in text and "nq 2, nv 2" in text and "fixed to the world" in text
    rows = [line.split() for line in text.splitlines()]
    shoulder = next(row for row in rows if "shoulder" in row)
    assert shoulder[:3] == ["0", "shoulder", "revolute"] and "-2 .. 1.5" in " ".join(shoulder)
    assert {"3", "70", "0.7", "0.3"} <= set(shoulder)
    assert next(row for row in rows if "elbow" in row)[:3] == ["1", "elbow", "continuous"]
    assert "lower, tool" in text  # fixed to one another, one body


def test_info_as_json_is_complete(arm, capsys):
    assert main(["info", arm, "--json", "--kernels"]) == 0
    info = json.loads(capsys.readouterr().out)
    assert info["mass"] == pytest.approx(8.5) and info["fixed_mass"] == pytest.approx(5.0)
    assert [joint["name"] for joint in info["joints"]] == ["shoulder", "elbow"]
    assert info["joints"][0]["limits"] == {"lower": -2.0, "upper": 1.5, "velocity": 3.0, "effort": 70.0}
    assert info["joints"][1]["limits"]["lower"] is None
    assert info["operations"]["inverse_dynamics"] > 10


def test_info_with_floating_base_and_locked_joint(arm, capsys):
    assert main(["info", arm, "--floating", "--lock", "elbow=0.5", "--gravity", "0", "0", "-1.62", "--json"]) == 0
    info = json.loads(capsys.readouterr().out)
    assert (info["nq"], info["nv"], info["base"]) == (8, 7, "floating")
    assert info["gravity"] == [0.0, 0.0, -1.62] and info["mass"] == pytest.approx(8.5)


def test_info_keeps_only_the_joints_asked_for(arm, capsys):
    assert main(["info", arm, "--joints", "elbow", "--json"]) == 0
    assert [joint["name"] for joint in json.loads(capsys.readouterr().out)["joints"]] == ["elbow"]


def test_a_description_comes_from_standard_input_too(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO(ARM))
    assert main(["info", "-", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "arm"


def test_a_robot_of_example_robot_data_goes_by_its_name(capsys):
    if not robots():
        pytest.skip("example-robot-data is not installed")
    assert main(["info", "panda", "--json"]) == 0
    info = json.loads(capsys.readouterr().out)
    mimics = {joint["name"]: joint["mimic"] for joint in info["joints"] if joint["mimic"]}
    assert info["nv"] == 8 and mimics["panda_finger_joint2"]["leader"] == "panda_finger_joint1"
    assert main(["info", "pnada"]) == 2
    assert "did you mean" in capsys.readouterr().err


def test_check_of_a_sound_robot_finds_no_error(arm, capsys):
    assert main(["check", arm]) == 0
    assert "error" not in capsys.readouterr().out


def test_check_of_a_broken_robot_names_the_culprit(tmp_path, capsys):
    path = tmp_path / "broken.urdf"
    path.write_text(ARM.replace('<mass value="2"/>', '<mass value="-2"/>'))
    assert main(["check", str(path)]) == 1
    text = capsys.readouterr().out
    assert "error" in text and "'upper'" in text
    assert main(["check", str(path), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["errors"] >= 1
    assert any(finding["severity"] == "error" and "upper" in finding["element"] for finding in report["findings"])


def test_quiet_check_leaves_notes_out(capsys):
    if not robots():
        pytest.skip("example-robot-data is not installed")
    assert main(["check", "panda"]) == 0
    assert "note" in capsys.readouterr().out
    assert main(["check", "panda", "--quiet"]) == 0
    assert "note" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [
        (["info", "no/such/file.urdf"], "no/such/file.urdf"),
        (["info", "."], "directory"),
        (["info", "ARM", "--lock", "elbwo=1"], "elbwo"),
        (["info", "ARM", "--joints", "wrist"], "wrist"),
        (["info", "BROKEN"], "bsae"),
        (["info", "BINARY"], "BINARY"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_2(arguments, culprit, arm, tmp_path, capsys):
    broken, binary = tmp_path / "BROKEN.urdf", tmp_path / "BINARY.urdf"
    broken.write_text(ARM.replace('<parent link="base"/>', '<parent link="bsae"/>'))
    binary.write_bytes(bytes(range(256)))
    places = {"ARM": arm, "BROKEN": str(broken), "BINARY": str(binary)}
    assert main([places.get(word, word) for word in arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("rbd_dynamics: ") and captured.err.count("\n") == 1
    assert culprit in captured.err


@pytest.mark.parametrize("arguments", [[], ["info"], ["nonsense"], ["info", "x", "--lock", "elbow"]])
def test_wrong_usage_is_explained(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_it_runs_as_a_module_and_survives_a_reader_that_leaves(arm):
    command = f"{sys.executable} -m rbd_dynamics info {arm} | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("arm, fixed base") and done.stderr == ""


def test_a_model_as_yaml(tmp_path, capsys):
    builder = ModelBuilder("pendulum")
    builder.add_body("bob", None, Revolute((0.0, 1.0, 0.0)), joint_name="swing", mass=2.0, com=(0.0, 0.0, 1.0))
    save_yaml(builder.build(), tmp_path / "pendulum.yaml")
    assert main(["info", str(tmp_path / "pendulum.yaml")]) == 0
    assert "swing" in capsys.readouterr().out
    assert main(["check", str(tmp_path / "pendulum.yaml"), "--quiet"]) == 0
    assert main(["info", str(tmp_path / "pendulum.yaml"), "--floating"]) == 2
    assert "for a URDF" in capsys.readouterr().err
