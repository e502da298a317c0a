# SPDX-License-Identifier: Apache-2.0
"""The command line: what it prints, how it fails, what its exit codes say."""

import io
import json
import subprocess
import sys

import numpy as np
import pytest

from rbd_dynamics import Limits, Mimic, ModelBuilder, Robot, load_urdf, save_yaml
from rbd_dynamics.cli import main
from rbd_dynamics.cli.info import KERNELS
from rbd_dynamics.common.example_robots import PACKAGE, robots
from rbd_dynamics.model.joints import Prismatic, Revolute, Spherical

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

SHOWN = """
gripper, fixed base: 3 joints, 5 degrees of freedom (nq 6, nv 5), 4 bodies, 10 frames, 8 kg, gravity (0, 0, -9.81) m/s²
Joints, in the order of q and v (rad, m, s, N, N m)

   #  joint    type           range  speed  effort  damping  friction  armature  mimic            moves  on
 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
   0  turn     revolute    0 .. inf             70      0.7                 0.1                   arm    world
 1-3  ball     spherical                                                                          wrist  arm
   4  slide    prismatic  0 .. 0.04    0.2      20                0.3                             left   wrist
      follows  prismatic                                                         1 * slide -0.01  right  wrist

Bodies: links with all that is fixed to them (kg, m)

 body                mass        centre of mass  frames
 ───────────────────────────────────────────────────────────
 fixed to the world     5  0.0000 0.0000 0.1000  stand
 arm                    2  0.5000 0.0000 0.0000  arm
 wrist                0.5  0.0000 0.0000 0.0000  wrist, tip
 left                0.25  0.0000 0.0000 0.0000  left
 right               0.25  0.0000 0.0000 0.0000  right
"""


@pytest.fixture
def gripper(tmp_path):
    """A file with something in every column of the tables; `SHOWN` is what `info` says of it."""
    builder = ModelBuilder("gripper")
    builder.add_fixed("stand", None, mass=5.0, com=(0.0, 0.0, 0.1))
    axis, open_above = (0.0, 0.0, 1.0), Limits(lower=0.0, effort=70.0)
    builder.add_body("arm", "stand", Revolute(axis), joint_name="turn", mass=2.0, com=(0.5, 0.0, 0.0),
                     limits=open_above, damping=0.7, armature=0.1)  # fmt: skip
    round_one = (0.001, 0.0, 0.0, 0.001, 0.0, 0.001)
    builder.add_body("wrist", "arm", Spherical(), joint_name="ball", mass=0.5, inertia=round_one)
    narrow = Limits(lower=0.0, upper=0.04, velocity=0.2, effort=20.0)
    builder.add_body("left", "wrist", Prismatic((0.0, 1.0, 0.0)), joint_name="slide", mass=0.25,
                     limits=narrow, friction=0.3)  # fmt: skip
    mimic = Mimic("slide", multiplier=1.0, offset=-0.01)
    builder.add_body("right", "wrist", Prismatic((0.0, -1.0, 0.0)), joint_name="follows", mass=0.25, mimic=mimic)
    builder.add_fixed("tip", "wrist")
    save_yaml(builder.build(), tmp_path / "gripper.yaml")
    return str(tmp_path / "gripper.yaml")


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


@pytest.mark.parametrize("options", [[], ["--floating"], ["--friction"]])
def test_torques_are_those_of_the_library_and_their_parts_add_up(arm, capsys, options):
    whole = ["--q", "0.3", "-0.2", "--v", "1", "0.5", "--a", "elbow=2"]
    state = ["--v", "elbow=1"] if "--floating" in options else whole
    assert main(["torques", arm, *state, *options, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    parts = [np.array(found[name]) for name in ("gravity", "velocity", "inertia", "friction") if name in found]
    assert ("friction" in found) == ("--friction" in options)
    model = load_urdf(arm, base="floating" if "--floating" in options else "fixed")
    robot = Robot(model, friction="--friction" in options)
    wanted = robot.inverse_dynamics(found["q"], found["v"], found["a"])
    assert len(found["rows"]) == model.nv and found["rows"][-2:] == ["shoulder", "elbow"]
    for torque in (found["torque"], sum(parts)):
        np.testing.assert_allclose(torque, wanted, rtol=1e-12, atol=1e-12)


def test_torques_are_shown_with_their_share_of_the_limit(arm, capsys):
    assert main(["torques", arm, "--a", "shoulder=100", "--q", "elbow=1.5"]) == 0
    lines = shown(capsys)
    shoulder = next(line.split() for line in lines if "shoulder" in line)
    torque = float(shoulder[-2])
    assert shoulder[1:4] == ["0", "0", "100"] and shoulder[-1] == f"{abs(torque) / 70:.0%}"
    assert next(line.split() for line in lines if "elbow" in line)[1] == "1.5"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--q", "1"], "--q: 1 numbers for 2; the joints are shoulder, elbow"),
        (["--v", "1", "x"], "--v: 'x' is not a finite number"),
        (["--a", "nan", "1"], "--a: 'nan' is not a finite number"),
        (["--q", "knee=1"], "knee"),
        (["--q", "elbow=1", "2"], "--q: '2' is not NAME=NUMBER"),
        (["--floating", "--q", "root_joint=1"], "has 7 numbers, not one"),
    ],
)
def test_a_state_that_is_none_is_one_line(arm, capsys, words, reason):
    assert main(["torques", arm, *words]) == 2
    error = capsys.readouterr().err
    assert reason in error and error.count("\n") == 1


def shown(capsys):
    """What a command has printed, without blanks at the ends of lines."""
    return [line.rstrip() for line in capsys.readouterr().out.strip().splitlines()]


def test_info_shows_every_number_in_its_column(gripper, capsys):
    assert main(["info", gripper]) == 0
    assert shown(capsys) == SHOWN.strip().splitlines()


@pytest.mark.parametrize("columns", [80, 100])
def test_tables_fit_the_columns_that_are_said(columns, gripper, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("COLUMNS", str(columns))
    long = "left_front_outer_shoulder_flexion_extension_actuated_joint"
    path = tmp_path / "long.urdf"
    path.write_text(ARM.replace("shoulder", f"{long}_1").replace("elbow", f"{long}_2").replace("upper", f"{long}_link"))
    for words in (["info", str(path), "--kernels"], ["check", gripper], ["doctor"],
                  ["compile", str(path), "--kernels", "gravity,inverse_dynamics"]):  # fmt: skip
        assert main(words) == 0
        text = capsys.readouterr().out
        assert max(len(line.rstrip()) for line in text.splitlines()) <= columns
    assert main(["info", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    (head, *_) = (k for k, line in enumerate(lines) if " joint " in line and " type " in line)
    column = "".join(line[lines[head].index("joint") : lines[head].index("type")].strip() for line in lines[head:])
    assert f"{long}_1{long}_2" in column, "whole names are there, folded"


def test_info_with_kernels_adds_a_table_of_operations(gripper, capsys):
    assert main(["info", gripper, "--kernels"]) == 0
    more = shown(capsys)[len(SHOWN.strip().splitlines()) :]
    heads = [line.split() for line in more]
    assert " ".join(more).lstrip().startswith("Operations per call, backend")
    assert ["algorithm", "operations"] in heads
    rows = heads[heads.index(["algorithm", "operations"]) + 2 :]
    assert [name for name, _ in rows] == list(KERNELS)
    assert all(int(count) > 10 for _, count in rows)


def test_info_as_json_tells_the_same_of_every_joint(gripper, capsys):
    assert main(["info", gripper, "--json"]) == 0
    info = json.loads(capsys.readouterr().out)
    without = dict.fromkeys(("lower", "upper", "velocity", "effort"))
    nothing = {"damping": 0.0, "friction": 0.0, "armature": 0.0, "mimic": None}
    follows = {"leader": "slide", "multiplier": 1.0, "offset": -0.01}
    assert info == {
        "name": "gripper", "base": "fixed", "nq": 6, "nv": 5, "mass": 8.0, "gravity": [0.0, 0.0, -9.81],
        "frames": ["stand", "arm", "turn", "wrist", "ball", "left", "slide", "right", "follows", "tip"],
        "joints": [
            {"name": "turn", "type": "revolute", "moves": "arm", "parent": None, "q_index": 0, "v_index": 0,
             "limits": without | {"lower": 0.0, "effort": 70.0}} | nothing | {"damping": 0.7, "armature": 0.1},
            {"name": "ball", "type": "spherical", "moves": "wrist", "parent": "arm", "q_index": 1, "v_index": 1,
             "limits": without} | nothing,
            {"name": "slide", "type": "prismatic", "moves": "left", "parent": "wrist", "q_index": 5, "v_index": 4,
             "limits": {"lower": 0.0, "upper": 0.04, "velocity": 0.2, "effort": 20.0}} | nothing | {"friction": 0.3},
            {"name": "follows", "type": "prismatic", "moves": "right", "parent": "wrist", "q_index": 5, "v_index": 4,
             "limits": without} | nothing | {"mimic": follows},
        ],
        "bodies": [{"name": name, "mass": mass}
                   for name, mass in (("arm", 2.0), ("wrist", 0.5), ("left", 0.25), ("right", 0.25))],
        "fixed_mass": 5.0,
    }  # fmt: skip


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
    assert f"robots of {PACKAGE}; did you mean 'panda'" in capsys.readouterr().err
    assert main(["info", "ur55"]) == 2  # ur5 is the file ur5_robot
    assert f"robots of {PACKAGE}; did you mean 'ur5'?" in capsys.readouterr().err
    assert main(["info", "zzzz"]) == 2
    assert capsys.readouterr().err.endswith(f"robots of {PACKAGE}\n")


def test_without_example_robots_it_is_said_where_names_are_known(monkeypatch, capsys):
    monkeypatch.setattr("rbd_dynamics.formats.source.robots", dict)
    assert main(["info", "panda"]) == 2
    assert f"no such file: panda (robots are known by name where {PACKAGE} is installed)" in capsys.readouterr().err


def test_an_interrupted_command_says_so(monkeypatch, capsys):
    class Interrupted(io.StringIO):
        def read(self, size=-1):
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdin", Interrupted())
    assert main(["info", "-"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


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
    errors = [finding for finding in report["findings"] if finding["severity"] == "error"]
    assert report["urdf"] == str(path) and report["errors"] == len(errors) >= 1
    (upper,) = (finding for finding in errors if "upper" in finding["element"])
    said = " ".join(text.split())
    assert f"{upper['element']}: {upper['message']} ({upper['hint']})" in said or not upper["hint"]


def test_check_lists_what_it_found_and_counts_it(gripper, arm, capsys):
    thin = "has practically no rotational inertia (it counts as a point mass)"
    assert main(["check", gripper]) == 0
    assert shown(capsys) == [
        *(f"warning  link '{name}': {thin}" for name in ("arm", "left", "right")),
        "   note  joint 'follows': follows another: follows = 1 * slide + -0.01",
        "3 warnings, 1 note",
    ]
    assert main(["check", gripper, "--quiet"]) == 0
    assert shown(capsys)[-1] == "3 warnings"
    assert main(["check", arm, "--quiet"]) == 0
    assert shown(capsys) == ["no problems found"]


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
        (["info", "no/such/file.urdf"], "no such file: no/such/file.urdf"),
        (["info", "."], "directory"),
        (["info", "ARM", "--lock", "elbwo=1"], "elbwo"),
        (["info", "ARM", "--joints", "wrist"], "wrist"),
        (["info", "BROKEN"], "bsae"),
        (["info", "BINARY"], "BINARY"),
        (["excite", "ARM", "--velocity", "1", "--tool", "finger"], "finger"),
        (["excite", "ARM", "--lock", "elbwo=1"], "elbwo"),
        (["rehearse", "ARM", "--known-load", "finger=2"], "finger"),
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
    assert "no 'base'" in capsys.readouterr().err
