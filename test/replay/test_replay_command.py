# SPDX-License-Identifier: Apache-2.0
"""`rbd_dynamics replay` as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.paths import RECORDINGS
from helpers.recorded.bags import Content, needs_rosbags, write_ros2
from helpers.recorded.recordings import URDF, bag, messages

from rbd_dynamics.cli import main
from rbd_dynamics.common.pages.page import number
from rbd_dynamics.replay.questions.estimates import estimate_cell

pytestmark = needs_rosbags


@pytest.fixture(scope="module")
def recording(tmp_path_factory) -> Path:
    return bag(tmp_path_factory.mktemp("one") / "run", offset=0.5)


def test_table_of_one_recording(recording, capsys):
    assert main(["replay", str(recording), "--cutoff", "8"]) == 0
    shown = capsys.readouterr().out
    assert "1200 messages on /joint_states" in shown
    assert "elbow" in shown and "0.50" in shown and "N m" in shown
    assert "base parameters" not in shown and "Load at" not in shown


def test_what_is_asked_for_is_told(recording, capsys):
    arguments = ["replay", str(recording), "--cutoff", "8", "--payload", "lower", "--inertias"]
    assert main(arguments) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert main([*arguments, "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    base, load = summary["inertias"]["base"], summary["payload"]
    known = sum(part["identifiable"] for part in base)
    assert f" {known} of {len(base)} base parameters identified" in shown and 0 < known
    parts = ", ".join(f"{part['name']} {estimate_cell(part)}" for part in (load["mass"], *load["com"]))
    assert f"Load at lower: {parts} " in shown
    for joint, friction in zip(summary["joints"], summary["friction"]["joints"]):
        cells = [
            joint["name"],
            *(number(joint[key]) for key in ("rmse", "nrmse", "correlation", "bias", "worst")),
            "N m",
        ]
        found = [estimate_cell(friction[name]) for name in ("offset", "coulomb", "viscous")]
        assert " ".join([*cells, *found, number(friction["rmse_after"])]) in shown


def test_json_has_all_settings(recording, capsys):
    arguments = ["--cutoff", "6", "--terms", "inertia,gravity", "--json", "--payload", "lower", "--inertias"]
    assert main(["replay", str(recording), *arguments]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["settings"]["cutoff"] == 6.0 and summary["settings"]["terms"] == ["inertia", "gravity"]
    assert [joint["name"] for joint in summary["joints"]] == ["shoulder", "elbow"]
    assert summary["payload"]["frame"] == "lower" and summary["inertias"]["base"]


def test_output_is_repeated_from_its_own_settings(recording, tmp_path, capsys):
    assert main(["replay", str(recording), "--cutoff", "6", "-o", str(tmp_path / "a"), "--formats", "csv"]) == 0
    settings = str(tmp_path / "a" / "summary.json")
    assert main(["replay", str(recording), "--settings", settings, "-o", str(tmp_path / "b"), "--formats", "csv"]) == 0
    one, other = (json.loads((tmp_path / k / "summary.json").read_text()) for k in "ab")
    assert {**one, "created": ""} == {**other, "created": ""}
    assert (tmp_path / "a" / "samples.csv").read_text() == (tmp_path / "b" / "samples.csv").read_text()
    capsys.readouterr()


def test_report_and_corrected_description_by_default(recording, tmp_path, capsys):
    pytest.importorskip("plotly")
    assert main(["replay", str(recording), "-o", str(tmp_path)]) == 0
    made = {file.name for file in tmp_path.iterdir()}
    assert made >= {"summary.json", "report.html", "torque.png", "residual.png", "corrected.urdf", "corrected.yaml"}
    assert str(tmp_path / "report.html") in capsys.readouterr().out.replace("\n", "")


@pytest.mark.parametrize("many", [False, True])
def test_nothing_compared_is_no_success(tmp_path, many, capsys):
    """So short that it is all edge."""
    for k in range(1 + many):
        bag(tmp_path / "runs" / f"run{k}", count=60)
    given = tmp_path / "runs" if many else tmp_path / "runs" / "run0"
    assert main(["replay", str(given)]) == 1
    assert "run0: nothing was compared with the model" in capsys.readouterr().err


def test_thresholds_by_joint(recording, capsys):
    arguments = ["--contact-threshold", "elbow=0.2", "--no-friction", "--json"]
    assert main(["replay", str(recording), *arguments]) == 0
    found = json.loads(capsys.readouterr().out)["external_torque"]
    assert found["threshold"] == {"shoulder": None, "elbow": 0.2}
    assert found["events"] == []  # an offset from the beginning on is none
    assert main(["replay", str(recording), "--false-alarms", "0"]) == 2
    assert "false alarms must be a positive number" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nowhere.mcap"], "nowhere.mcap does not exist"),
        (["{}", "--urdf", "nowhere.urdf"], "no such file: nowhere.urdf"),
        (["{}", "--terms", "inertia,magic"], "unknown term 'magic'"),
        (["{}", "--topic", "/other"], "has no joint states on topic '/other'; it has them on: /joint_states"),
        (["{}", "--cutoff", "90"], "cutoff of 90 Hz is too high"),
        (["{}", "--payload", "hand"], "hand"),
        (["{}", "--contact-threshold", "wrist=1"], "contact threshold of unknown joint 'wrist'"),
        (["{}", "--contact-threshold", "1", "--contact-threshold", "elbow=1"], "either one for all joints"),
        (["{}", "--position", "wrist=1"], "wrist"),
        (["{}", "--settings", "{}/metadata.yaml"], "metadata.yaml"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(recording, arguments, complaint, capsys):
    assert main(["replay", *(argument.format(recording) for argument in arguments)]) == 2
    error = capsys.readouterr().err.strip()
    assert complaint in error and "Traceback" not in error
    assert error.splitlines()[-1].startswith("rbd_dynamics: ")


def test_a_recording_without_description_asks_for_one(tmp_path, capsys):
    path = write_ros2(tmp_path / "run", Content({"/joint_states": messages(300)}))
    assert main(["replay", str(path)]) == 2
    assert "has no robot_description in it: give a URDF" in capsys.readouterr().err
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(URDF)
    assert main(["replay", str(path), "--urdf", str(urdf)]) == 0


def test_a_folder_is_a_fleet(tmp_path, capsys):
    for name in ("left/a", "left/b", "right/a"):
        bag(tmp_path / "archive" / name, count=600)
    (tmp_path / "archive" / "bad.mcap").write_bytes(b"bad")
    command = ["replay", str(tmp_path / "archive"), "-o", str(tmp_path / "out"), "--formats", "csv", "--workers", "1"]
    assert main(command) == 1  # one failed
    shown = capsys.readouterr()
    assert f"3 of 4 recordings, in {tmp_path / 'out'}: fleet.html" in shown.out and "bad.mcap" in shown.err
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "left__a", "left__b", "right__a", "fleet.html", "fleet.json", "fleet.csv"
    }  # fmt: skip
    (tmp_path / "archive" / "bad.mcap").unlink()
    assert main(command) == 0
    assert "3 of them done before" in capsys.readouterr().out
    assert main([*command, "--json"]) == 0
    robots = json.loads(capsys.readouterr().out)["robots"]
    assert list(robots) == ["left", "right"]
    rows = [line.split() for line in shown.out.splitlines()]
    for name, robot in robots.items():
        worst = max(robot["joints"], key=lambda joint: joint["nrmse"])
        numbers = [number(worst[key]) for key in ("rmse", "nrmse")]
        assert [name, str(robot["recordings"]), number(robot["hours"]), worst["name"], *numbers] in rows


@pytest.mark.skipif(not RECORDINGS.is_dir(), reason="needs the recording of a real robot")
def test_the_hand_of_a_real_robot_is_found_as_a_load(capsys):
    bag_, urdf = str(RECORDINGS / "panda_exciting_trajectory.db3"), str(RECORDINGS / "fer.urdf")
    assert main(["replay", bag_, "--urdf", urdf, "--payload", "fer_link8", "--json"]) == 0
    mass = json.loads(capsys.readouterr().out)["payload"]["mass"]
    assert mass["lower"] < 0.7126 < mass["upper"] and abs(mass["value"] - 0.7126) < 0.05
