# SPDX-License-Identifier: Apache-2.0
"""How a node's process begins: what it says of itself, and what ends it, in one line and with a code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from helpers.models.arms import ARM
from helpers.nodes.ros_nodes import PATIENCE, Conversation, needs_ros, wait_until
from helpers.paths import ROOT

from rbd_dynamics.nodes.interface import INTERFACES
from rbd_dynamics.nodes.interface.feedforward import FEEDFORWARD

pytestmark = needs_ros


def ended(*arguments, executable="feedforward"):
    """A process that ends by itself: its code, and what it printed."""
    command = [sys.executable, "-m", f"rbd_dynamics.nodes.{executable}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3.0 * PATIENCE, cwd=ROOT, env=os.environ)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("interface", INTERFACES, ids=lambda interface: interface.executable)
def test_help_tells_the_whole_interface(ros, interface):
    code, out, err = ended("--help", executable=interface.executable)
    assert code == 0 and not err
    shown = " ".join(out.split())
    assert f"usage: {interface.executable}" in shown and " ".join(interface.summary.split()) in shown
    for entry in (*interface.topics, *interface.services, *interface.actions, *interface.parameters):
        assert f" {entry.name} " in shown and " ".join(entry.description.split()) in shown


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (["--foo"], 2, "unknown argument '--foo'"),
        (["--urdf"], 2, "argument --urdf: expected one argument; usage: feedforward [--help] [--urdf FILE]"),
        (["--urdf", ""], 1, "robot description: is empty"),
        (["--urdf", "/there/is/none.urdf"], 1, "no such file: /there/is/none.urdf"),
        (["--urdf", "ur55_robot"], 1, "'ur5_robot'"),
        (["--urdf", __file__], 1, "test_node_start.py' is neither URDF nor SDF"),
        (["--ros-args", "--foo"], 2, "--foo"),
        (["--ros-args", "--params-file", "/there/is/none.yaml"], 1, "/there/is/none.yaml"),
        (["--ros-args", "-r", "__node:=a-b"], 1, "__node:=a-b"),
        (["--ros-args", "--log-level", "loud"], 1, "loud"),
        (["--ros-args", "-p", "kp:=[1, a]"], 1, "kp"),
        (["--ros-args", "-p", "kp:=[.inf]"], 1, "parameter 'kp' must be finite"),
        (["--ros-args", "-p", "kp:=1e308"], 1, "parameter 'kp' is 1e+308: too large"),
        (["--ros-args", "-p", "gravity:=[0.0, 0.0, 1e300]"], 1, "parameter 'gravity' is 1e+300: too large"),
        (["--ros-args", "-p", "gravity:=[1.0]"], 1, "parameter 'gravity' must have 3 numbers"),
        (["--ros-args", "-p", "kp:=[a]"], 1, "parameter 'kp' must be double_array, got 'a'"),
        (["--ros-args", "-p", "robot_description:=5"], 1, "parameter 'robot_description' must be string, got 5"),
        (["--ros-args", "-p", "use_sim_time:=5"], 1, "use_sim_time"),
    ],
)  # fmt: skip
def test_wrong_arguments_end_it_with_one_line(ros, arguments, code, reason):
    found, out, err = ended(*arguments)
    assert (found, out) == (code, "")
    assert reason in err and len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: [b", "bad.yaml"),
        ("/**:\n  ros__parameters:\n    kp: {.inf", "bad.yaml"),
        ("/**:\n  ros__parameters:\n    joints: 5.0", "parameter 'joints' must be string_array"),
    ],
)
def test_wrong_parameter_file_ends_it_with_one_line(ros, tmp_path, text, reason):
    (tmp_path / "bad.yaml").write_text(text)
    code, out, err = ended("--ros-args", "--params-file", str(tmp_path / "bad.yaml"))
    assert (code, out) == (1, "")
    assert reason in err and len(err.splitlines()) == 1


@pytest.mark.parametrize("text", ["", "/other:\n  ros__parameters:\n    kp: [1.0]\n"])  # fmt: skip
def test_file_without_parameters_for_it_leaves_the_defaults(ros, tmp_path, text):
    """Or ends it with one line, where the distribution's parser takes it for an error."""
    file = tmp_path / "file.yaml"
    file.write_text(text)
    with ros.start("feedforward", {}, "--ros-args", "--params-file", str(file), name="bare", afresh=True) as node:
        wait_until(
            lambda: "waiting for robot_description" in node.log or not node.alive, "a start or an end", 3.0 * PATIENCE
        )
        assert "Traceback" not in node.log
        if node.alive:
            assert not values(ros, "bare", "kp")[0].double_array_value
        else:
            assert len(node.log.splitlines()) == 1 and "file.yaml" in node.log
            node.stop = lambda: 0


def values(ros, node, *names):
    from rcl_interfaces.srv import GetParameters

    return ros.client(GetParameters, f"{node}/get_parameters")(names=list(names)).values


def test_names_that_no_parameter_has_are_told_and_the_last_of_two_counts(ros, tmp_path):
    file = tmp_path / "odd.yaml"
    file.write_text("/**:\n  ros__parameters:\n    kq: [1.0]\n    kp: {all: 3.0}\n    kd: [1.0]\n    kd: [2.0]\n")
    with ros.start("feedforward", {}, "--ros-args", "--params-file", str(file), name="odd", afresh=True) as node:
        node.says("waiting for robot_description")
        assert "no parameter 'kq'" in node.log and "no parameter 'kp.all'" in node.log
        assert list(values(ros, "odd", "kd")[0].double_array_value) == [2.0]


@pytest.mark.parametrize(
    ("executable", "parameters", "reason"),
    [
        ("feedforward", {"robot_description": "<robot"}, "robot_description"),
        ("feedforward", {"robot_description": ARM, "joints": ["wrist"]}, "'wrist'"),
        ("feedforward", {"robot_description": "<robot name='x'><link name='a'/></robot>"}, "no joint that moves"),
        ("feedforward", {"robot_description": ARM, "kp": [1.0, 2.0]}, "kp has 2 values for 3 joints"),
        ("hybrid_controller", {"robot_description": ARM}, "tool_frame"),
        ("dynamics_server", {"robot_description": ARM, "constraints_file": "/none.yaml"}, "/none.yaml"),
        ("simulator", {"robot_description": ARM, "scene_file": "/none.yaml"}, "/none.yaml"),
        ("simulator", {"robot_description": ARM, "scene_file": "FAR"}, "reaches a speed of"),
        ("monitor", {"robot_description": ARM, "contact_thresholds": [1.0, 2.0]}, "contact_thresholds has 2 values"),
    ],
)  # fmt: skip
def test_node_that_cannot_configure_stays_and_its_diagnostics_say_error(ros, tmp_path, executable, parameters, reason):
    if parameters.get("scene_file") == "FAR":
        far = "constraints: [{name: far, type: coupling, coefficients: {elbow: 1.0}, offset: 1.0e+300}]"
        (tmp_path / "far.yaml").write_text(far)
        parameters = parameters | {"scene_file": str(tmp_path / "far.yaml")}
    with ros.start(executable, parameters, name="unable") as node:
        node.is_there()
        talk = Conversation(ros, node)
        talk.diagnosed("cannot configure")

        def last():
            return next(s for report in reversed(talk.reports) for s in report.status if "unable" in s.name)

        assert last().level == b"\x02" and reason in last().message
        assert {value.key: value.value for value in last().values}["state"] == "unconfigured"
        assert "Traceback" not in node.log
        if executable == FEEDFORWARD.executable:  # and it can be helped
            assert ros.set_parameters("unable", robot_description=ARM, joints=["elbow"], kp=[1.0])[0].successful
            assert change_state(ros, "unable", 1) and change_state(ros, "unable", 3)
            wait_until(lambda: "cannot" not in last().message, "diagnostics without the error")


def change_state(ros, node, transition):
    from lifecycle_msgs.srv import ChangeState

    request = ChangeState.Request()
    request.transition.id = transition
    return ros.client(ChangeState, f"{node}/change_state")(request).success


@pytest.mark.parametrize("way", ["file", "parameter"])
def test_a_description_with_a_colon_in_it_comes_as_it_is(ros, tmp_path, way):
    """rcl reads the value of a parameter as YAML, where a colon makes a mapping."""
    text = ARM.replace("<link", '<!-- note: "it\'s" a # \\ comment -->\n<link', 1)
    (tmp_path / "arm.urdf").write_text(text)
    own = ["--urdf", str(tmp_path / "arm.urdf"), "--ros-args"]
    given = own if way == "file" else ["--ros-args", "-p", f"robot_description:={text}"]
    command = [sys.executable, "-m", "rbd_dynamics.nodes.feedforward", *given, "-r", f"__node:=from_{way}"]
    from rcl_interfaces.srv import GetParameters

    with open(tmp_path / "log", "w") as log, subprocess.Popen(command, stderr=log, env=os.environ) as process:
        try:
            get = ros.client(GetParameters, f"from_{way}/get_parameters")
            (value,) = get(names=["robot_description"]).values
        finally:
            process.send_signal(signal.SIGINT)
    assert value.string_value == text, (tmp_path / "log").read_text()
