# SPDX-License-Identifier: Apache-2.0
"""What a replay is told of a recording: the stretch to use, what joints are called, gravity, and which robot."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from helpers.recorded.bags import START, Content, needs_rosbags, write_ros2
from helpers.recorded.recordings import SETTINGS, URDF, bag, messages

from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.cli import main
from rbd_dynamics.replay import Recording, RecordingError, Settings, compare, segments

pytestmark = needs_rosbags
ROBOT = Robot(load_urdf(URDF), backend="reference")


def states(path, content, texts=None):
    return write_ros2(path, Content({"/joint_states": content}, texts or {"/robot_description": URDF}))


def results(path, **changed):
    found = compare(path, ROBOT, settings=replace(SETTINGS, **changed))
    return found.comparison.results()


def times(path, **changed):
    found = segments(Recording(path), ROBOT.model, settings=replace(SETTINGS, **changed))
    return np.concatenate([segment.t for segment in found]), found


def refused(capsys, *arguments):
    """The one line that is said."""
    assert main(["replay", *map(str, arguments)]) == 2
    error = capsys.readouterr().err.strip()
    assert "Traceback" not in error
    return error.splitlines()[-1]


# --- start and end ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("start", "end"), [(3.0, 9.0), (None, 7.0), (4.0, None)])
def test_a_window_is_as_if_nothing_else_had_been_recorded(tmp_path, start, end):
    whole = messages()
    inside = [m for m in whole if (start or 0.0) <= (m.stamp - START) * 1e-9 <= (end or np.inf)]
    full, cut = states(tmp_path / "full", whole), states(tmp_path / "cut", inside)
    assert results(full, start=start, end=end) == results(cut)
    inner, _ = times(full, start=start, end=end)
    alone, _ = times(cut)
    np.testing.assert_allclose(inner, alone + (start or 0.0), atol=1e-9)


def test_what_is_outside_decides_nothing(tmp_path):
    """Neither velocities that are missing at first, nor numbers that are far off."""
    content = messages()
    for message in content[:300]:
        message.velocity = ()
    for message in content[900:]:
        message.effort = 1e3 * np.asarray(message.effort)
    clean, odd = states(tmp_path / "clean", messages()), states(tmp_path / "odd", content)
    assert results(odd, start=3.0, end=8.99) == results(clean, start=3.0, end=8.99)


def test_nothing_is_read_after_the_end(tmp_path):
    path = bag(tmp_path / "run", count=3000)
    t, found = times(path, end=6.0, block=16)
    assert t[-1] < 6.0 and found.log.messages < 800


def test_time_goes_on_where_the_clock_was_set(tmp_path):
    content = messages(2000)
    for message in content[1000:]:
        message.received, message.stamp = message.stamp, message.stamp - 3600 * 10**9
    path = states(tmp_path / "run", content)
    t, found = times(path, start=12.0, end=18.0)
    assert 12.0 < t[0] and t[-1] < 18.0 and t[-1] - t[0] > 5.0
    assert found.log.events["clock resets"] == 1


def test_duration_is_that_of_the_window(tmp_path, capsys):
    path = bag(tmp_path / "run")
    assert main(["replay", str(path), "--cutoff", "8", "--start", "2", "--end", "9", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert 6.0 < summary["recording"]["duration"] <= 7.0
    assert (summary["settings"]["start"], summary["settings"]["end"]) == (2.0, 9.0)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--start", "9", "--end", "3"], "end must be after start, got start 9 s and end 3 s"),
        (["--start", "3", "--end", "3"], "end must be after start"),
        (["--end", "0"], "end must be after start"),
        (["--start", "-1"], "start must be a number of seconds, got -1"),
        (["--end", "nan"], "end must be a number of seconds, got nan"),
        (["--start", "500"], "run: no samples from 500 s on: the recording ends at 11.99 s"),
        (["--start", "500", "--end", "600"], "no samples from 500 s to 600 s"),
        (["--start", "1e300"], "no samples from 1e+300 s on"),
    ],
)
def test_a_window_without_anything_in_it(tmp_path, arguments, complaint, capsys):
    assert complaint in refused(capsys, bag(tmp_path / "run"), *arguments)


def test_a_window_too_short_for_the_filter_compares_nothing(tmp_path, capsys):
    assert main(["replay", str(bag(tmp_path / "run")), "--start", "3", "--end", "3.2"]) == 1
    assert "nothing was compared" in capsys.readouterr().err


# --- names of joints --------------------------------------------------------------------------------------------------


def renamed(names, **parts):
    return [replace(message, names=names) for message in messages(**parts)]


def test_a_map_makes_a_recording_the_robots(tmp_path):
    plain, other = bag(tmp_path / "plain"), states(tmp_path / "other", renamed(("J1", "J2")))
    assert results(other, joint_map={"J1": "shoulder", "J2": "elbow"}) == results(plain)


def test_a_map_of_one_joint_leaves_the_others_their_names(tmp_path):
    plain, other = bag(tmp_path / "plain"), states(tmp_path / "other", renamed(("shoulder", "J2")))
    assert results(other, joint_map={"J2": "elbow"}) == results(plain)


def test_names_that_are_exchanged(tmp_path):
    plain, other = bag(tmp_path / "plain"), states(tmp_path / "other", renamed(("elbow", "shoulder")))
    assert results(other, joint_map={"elbow": "shoulder", "shoulder": "elbow"}) == results(plain)


def test_a_name_that_is_given_away_is_no_joint_any_more(tmp_path):
    path = states(tmp_path / "run", renamed(("J1", "shoulder")))
    found = segments(Recording(path), ROBOT.model, settings=replace(SETTINGS, joint_map={"shoulder": "elbow"}))
    assert found.log.remarks == [
        "ignored, since not joints of the robot, or followers of others: J1",
        "shoulder is not recorded: held at 0, and not compared",
    ]


def test_a_map_from_a_file(tmp_path, capsys):
    path = states(tmp_path / "run", renamed(("1", "J2")))
    (tmp_path / "map.yaml").write_text("1: shoulder\n")
    arguments = ["--joint-map", str(tmp_path / "map.yaml"), "--joint-map", "J2=elbow", "--json"]
    assert main(["replay", str(path), *arguments]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert [joint["name"] for joint in summary["joints"]] == ["shoulder", "elbow"]
    assert summary["settings"]["joint_map"] == {"1": "shoulder", "J2": "elbow"}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["shoulder=wrist"], "joint_map: no joint named 'wrist'; known: shoulder, elbow"),
        (["shoulder=elbo"], "joint_map: no joint named 'elbo'; did you mean 'elbow'?"),
        (["J9=elbow"], "topic /joint_states: joint_map: no joint named 'J9'"),
        (["shoulder=elbow", "elbow=elbow"], "joint_map: both 'shoulder' and 'elbow' are joint 'elbow'"),
        (["{}/empty.yaml"], "empty.yaml: joint_map must be {name in the recording: joint of the robot}, got None"),
        (["{}/list.yaml"], "list.yaml: joint_map must be"),
        (["{}/deep.yaml"], "deep.yaml: joint_map: 'shoulder': ['elbow'] are not two names"),
        (["{}/broken.yaml"], "broken.yaml"),
    ],
)
def test_a_map_that_cannot_be(tmp_path, arguments, complaint, capsys):
    for name, text in {"empty": "", "list": "[a, b]", "deep": "shoulder: [elbow]", "broken": "a: [b"}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    given = [part for argument in arguments for part in ("--joint-map", argument.format(tmp_path))]
    assert complaint in refused(capsys, bag(tmp_path / "run"), *given)


@pytest.mark.parametrize("argument", ["shoulder", "=elbow", "shoulder=", "nowhere.yaml"])
def test_an_argument_that_is_no_map(tmp_path, argument, capsys):
    with pytest.raises(SystemExit):
        main(["replay", str(tmp_path), "--joint-map", argument])
    assert "is neither RECORDED=JOINT nor a file" in capsys.readouterr().err


def test_a_recording_of_other_joints_tells_of_the_map(tmp_path, capsys):
    path = states(tmp_path / "run", renamed(("J1", "J2")))
    assert "names J1, J2; none of them is a joint of the robot, which has shoulder, elbow (--joint-map" in refused(
        capsys, path
    )


# --- gravity ----------------------------------------------------------------------------------------------------------


def test_a_robot_on_a_wall(tmp_path, capsys):
    wall = (9.81, 0.0, 0.0)
    content, there = messages(), Robot(ROBOT.model.with_gravity(wall), backend="reference")
    for message in content:
        message.effort = message.effort + there.gravity(message.position) - ROBOT.gravity(message.position)
    path = states(tmp_path / "run", content)
    rmse = []
    for more in ([], ["--gravity", *map(str, wall)]):
        assert main(["replay", str(path), "--json", "--cutoff", "8", *more]) == 0
        summary = json.loads(capsys.readouterr().out)
        rmse.append(summary["joints"][0]["rmse"])
    assert rmse[0] > 5.0 and rmse[1] < 0.1
    assert summary["robot"]["gravity"] == list(wall)


@pytest.mark.parametrize("numbers", [["0", "0", "down"], ["0", "0", "nan"], ["0", "-9.81"]])
def test_gravity_that_is_none(tmp_path, numbers, capsys):
    with pytest.raises(SystemExit):
        main(["replay", str(tmp_path), "--gravity", *numbers])
    assert "argument --gravity" in capsys.readouterr().err


# --- several robots ---------------------------------------------------------------------------------------------------


LEFT, RIGHT = (
    URDF.replace('"arm"', '"picker"'),
    URDF.replace('"arm"', '"placer"').replace("mass value='1.0'", "mass value='1.5'"),
)


def two(path, **parts):
    """Two arms with the same joints; the right one has an offset."""
    states_ = {"/left/joint_states": messages(), "/right/joint_states": messages(offset=2.0), **parts}
    texts = {"/left/robot_description": LEFT, "/right/robot_description": RIGHT}
    return write_ros2(path, Content(states_, texts))


@pytest.mark.parametrize(("name", "model", "topic"), [
    ("left", "picker", "/left/joint_states"), ("/right", "placer", "/right/joint_states"),
    ("picker", "picker", "/left/joint_states"), ("placer", "placer", "/right/joint_states"),
])  # fmt: skip
def test_a_robot_by_its_namespace_or_its_description(tmp_path, name, model, topic, capsys):
    assert main(["replay", str(two(tmp_path / "run")), "--robot", name, "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["robot"]["name"], summary["recording"]["topic"]) == (model, topic)
    assert summary["robot"]["id"] == name
    biased = abs(summary["joints"][1]["bias"]) > 1.0
    assert biased == (model == "placer")


@pytest.mark.parametrize("mark", ["_", "/", "-"])
def test_a_robot_by_what_its_joints_begin_with(tmp_path, mark):
    both = []
    for one, other in zip(messages(), messages(offset=2.0)):
        names = [f"{robot}{mark}{joint}" for robot in ("left", "right") for joint in one.names]
        numbers = (np.concatenate(pair) for pair in zip(*((m.position, m.velocity, m.effort) for m in (one, other))))
        both.append(replace(one, names=names, **dict(zip(("position", "velocity", "effort"), numbers))))
    path = states(tmp_path / "run", both)
    assert results(path, robot="left") == results(bag(tmp_path / "left"))
    assert results(path, robot="right") == results(bag(tmp_path / "right", offset=2.0))


def test_a_robot_that_is_not_there(tmp_path, capsys):
    error = refused(capsys, two(tmp_path / "run"), "--robot", "middle")
    assert "has no robot 'middle'; there are: left, picker, placer, right" in error


def test_two_robots_of_one_name(tmp_path):
    content = Content({"/a/joint_states": messages()}, {"/a/robot_description": LEFT, "/b/robot_description": LEFT})
    with pytest.raises(RecordingError, match="2 descriptions are of a robot 'picker', on /a/robot_description, /b"):
        Recording(write_ros2(tmp_path / "run", content)).robot_description(robot="picker")


def test_a_topic_takes_the_description_beside_it(tmp_path, capsys):
    assert main(["replay", str(two(tmp_path / "run")), "--topic", "right/joint_states", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["robot"]["name"] == "placer"


@pytest.mark.parametrize("name", ["topic", "robot"])
def test_a_name_is_a_text(name):
    with pytest.raises(ValueError, match=f"{name} must be a text, got 7"):
        Settings(**{name: 7})


@pytest.mark.filterwarnings("ignore:joint 'finger0'. moves no mass")
def test_many_joints_are_one_remark(tmp_path):
    """Not one for each, of a robot with fingers."""
    finger = """<link name="f{0}"/><joint name="finger{0}" type="revolute"><parent link="lower"/><child link="f{0}"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>"""
    urdf = URDF.replace("</robot>", "".join(finger.format(k) for k in range(30)) + "</robot>")
    found = segments(Recording(bag(tmp_path / "run")), load_urdf(urdf), settings=SETTINGS)
    names = ", ".join(f"finger{k}" for k in range(30))
    assert found.log.remarks == [f"30 joints are not recorded: held at 0, and not compared: {names}"]
