# SPDX-License-Identifier: Apache-2.0
"""`rbd_dynamics status` and `echo`: what goes on in a ROS graph, where there is no `ros2`."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import threading

import numpy as np
import pytest
import yaml
from helpers.models.arms import ARM, JOINTS
from helpers.nodes.ros_nodes import PATIENCE, needs_ros, wait_until
from helpers.nodes.torque_talk import Talk

from rbd_dynamics.cli.listening import _print_rate, without_nan

pytestmark = needs_ros


@pytest.fixture(scope="module")
def talk(ros):
    with ros.start("feedforward", {"robot_description": ARM, "state_timeout": 60.0}) as node:
        yield Talk(ros, node)


def called(*arguments):
    """The command in a process of its own: its code, its output, its errors."""
    command = [sys.executable, "-m", "rbd_dynamics", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3.0 * PATIENCE)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def fed(talk):
    """Joint states come all the time."""
    end = threading.Event()

    def feed():
        while not end.wait(0.02):
            talk.states.publish(talk.message(np.zeros(3), np.zeros(3)))

    thread = threading.Thread(target=feed)
    thread.start()
    yield talk
    end.set()
    thread.join()


def test_status_tells_what_every_node_says(fed):
    fed.is_well()
    found = []

    def well():
        """A busy machine may feed it too little for a second."""
        found[:] = called("status", "--json")
        return found[0] == 0

    wait_until(well, "a report that all is well")
    (report,) = json.loads(found[1])
    assert (found[2], report["level"], report["node"]) == ("", "ok", f"{fed.node.name}: feedforward")
    assert report["values"]["state"] == "active" and report["values"]["trajectories taken"] == "0"
    _, out, err = called("status")
    assert err == "" and "feedforward: feedforward: " in out and "           state: active\n" in out


def test_a_node_that_says_nothing_is_not_left_out(fed):
    from diagnostic_msgs.msg import DiagnosticArray

    mute = fed.ros.node.create_publisher(DiagnosticArray, "/diagnostics", 1)
    found = {}

    def is_told():
        code, out, _ = called("status", "--json")
        found.update({each["node"]: each for each in json.loads(out)})
        return code == 1 and fed.ros.node.get_name() in found

    wait_until(is_told, "the silent node")
    report = found[fed.ros.node.get_name()]
    assert report["level"] == "stale" and report["message"].startswith("has said nothing for ")
    fed.ros.destroy(lambda: fed.ros.node.destroy_publisher(mute))


def test_a_message_is_told_as_yaml_that_says_the_same(fed):
    code, out, err = called("echo", f"{fed.node.name}/effort", "--count", 1)
    assert (code, err) == (0, "")
    text, end = out.split("---")
    message = yaml.safe_load(text)
    assert end == "\n" and message["name"] == list(JOINTS) and set(message["header"]) == {"stamp", "frame_id"}
    stamp = message["header"]["stamp"]
    (seen,) = [each for each in fed.efforts if (each.header.stamp.sec, each.header.stamp.nanosec) == (*stamp.values(),)]
    assert message["effort"] == list(seen.effort)


def test_or_as_a_line_of_json(fed):
    code, out, _ = called("echo", "joint_states", "--count", 3, "--json")
    assert code == 0
    assert [json.loads(line)["position"] for line in out.splitlines()] == 3 * [[0.0, 0.0, 0.0]]


def test_how_many_come_in_a_second(fed):
    code, out, _ = called("echo", "joint_states", "--rate", "--count", 1)
    rate, longest = (float(word) for word in out.split() if word[0].isdigit())
    assert code == 0 and 0.0 < rate <= 51.0 and longest >= 1e3 / rate - 0.2


def test_the_rate_is_of_the_times_at_which_they_came(capsys):
    coming = iter([(2.0, ""), (2.3, ""), (2.5, ""), (3.0, ""), (3.4, ""), (4.0, "")])
    assert _print_rate(coming, None) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["3.0 per second, at most 500.0 ms apart", "2.0 per second, at most 600.0 ms apart"]


def test_topics_are_listed_with_who_is_there(fed):
    found = {}

    def both_are_there():
        """On a busy machine who is there is found little by little."""
        code, out, _ = called("echo", "--json")
        found.update({each["name"]: each for each in json.loads(out)})
        states = found.get("/joint_states", {})
        return code == 0 and states.get("publishers") == 1 and states.get("subscriptions", 0) >= 1

    wait_until(both_are_there, "joint_states with both ends")
    assert found["/joint_states"]["kind"] == "sensor_msgs/msg/JointState"

    def are_in_the_table():
        code, out, _ = called("echo")
        return code == 0 and "/joint_states" in out and "sensor_msgs/msg/JointState" in out

    wait_until(are_in_the_table, "a table with joint_states")


def test_a_topic_that_nobody_publishes_is_told_with_those_that_somebody_does(fed):
    code, out, err = called("echo", "joint_state", "--patience", 5)
    assert (code, out) == (2, "")
    assert err.startswith("rbd_dynamics: nobody publishes /joint_state; published are ") and "/joint_states" in err


def test_a_kind_of_message_that_is_not_installed_is_told():
    from rbd_dynamics.nodes.tools.message_values import message_class

    with pytest.raises(ValueError, match="messages of type no_msgs/msg/Nothing are not known here"):
        message_class("no_msgs/msg/Nothing")
    with pytest.raises(ValueError, match="messages of type std_msgs/msg/Nothing are not known here"):
        message_class("std_msgs/msg/Nothing")


def test_json_has_null_for_what_is_no_number():
    assert without_nan({"a": [1.0, math.nan, {"b": -math.inf}], "c": "nan"}) == {
        "a": [1.0, None, {"b": None}],
        "c": "nan",
    }


def test_all_kinds_of_fields_become_plain_ones():
    from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
    from std_msgs.msg import ByteMultiArray, Float64MultiArray

    from rbd_dynamics.nodes.tools.message_values import plain

    status = DiagnosticStatus(level=DiagnosticStatus.WARN, name="é", values=[KeyValue(key="a", value="1")])
    found = plain(status)
    assert found["level"] == 1 and found["name"] == "é" and found["values"] == [{"key": "a", "value": "1"}]
    assert plain(Float64MultiArray(data=[1.0, 2.0]))["data"] == [1.0, 2.0]
    assert plain(ByteMultiArray(data=[b"\x01", b"\xff"]))["data"] == [1, 255]
    json.dumps([found, plain(ByteMultiArray(data=[b"\x01"]))])
    assert yaml.safe_load(yaml.safe_dump(found)) == found


ALONE = """
import os, sys
from rbd_dynamics.cli import main
from rbd_dynamics.demo.ros_domain import own_domain
os.environ["ROS_DOMAIN_ID"] = str(own_domain())
sys.exit(main(sys.argv[1:]))
"""


def test_where_nobody_speaks_status_says_so():
    command = [sys.executable, "-c", ALONE, "status"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3.0 * PATIENCE)
    assert done.returncode == 1 and done.stderr == ""
    assert done.stdout.startswith("no node says anything in /diagnostics")


def test_where_nobody_publishes_echo_says_so():
    command = [sys.executable, "-c", ALONE, "echo", "/effort", "--patience", "0.1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3.0 * PATIENCE)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "rbd_dynamics: nobody publishes /effort, nor anything else in this ROS_DOMAIN_ID\n"
