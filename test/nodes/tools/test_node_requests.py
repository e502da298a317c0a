# SPDX-License-Identifier: Apache-2.0
"""`rbd_dynamics nodes`, `call`, `get`, `set`, `pub` and `record`: a running node is used without `ros2`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager

import numpy as np
import pytest
import yaml
from helpers.models.arms import ARM, JOINTS
from helpers.nodes.ros_nodes import PATIENCE, needs_ros, wait_until
from helpers.nodes.torque_talk import Talk

from rbd_dynamics.replay import Recording

pytestmark = needs_ros


@pytest.fixture(scope="module")
def talk(ros):
    parameters = {"robot_description": ARM, "state_timeout": 60.0, "transition_time": 0.0}
    with ros.start("feedforward", parameters, name="asked") as node:
        node.is_active()
        yield Talk(ros, node)


@pytest.fixture
def asked(talk, capsys):
    """A command in this process: its code, its output, its errors."""
    from rbd_dynamics.cli import main

    def ask(*arguments):
        code = main([str(each) for each in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return ask


def test_nodes_and_their_services_are_listed(asked):
    kind = "rbd_dynamics_interfaces/srv/SetPayload"

    def are_listed():
        """On a busy machine who is there is found little by little."""
        code, out, err = asked("nodes", "--json")
        services = {each["name"]: each["services"] for each in json.loads(out)}.get("/asked", {})
        return (code, err) == (0, "") and services.get("/asked/set_payload") == kind

    wait_until(are_listed, "the node with its services")
    wait_until(lambda: f"\n  /asked/set_payload  {kind}\n" in asked("nodes", "--services")[1], "the same as text")


def test_parameters_are_read_set_and_refused(asked):
    assert asked("set", "asked", "kp", "[1, 2, 3]", "kd", "0.5") == (0, "kp: [1, 2, 3]\nkd: 0.5\n", "")
    assert asked("get", "/asked", "kp", "kd", "--json")[:2] == (
        0,
        '{\n  "kp": [\n    1.0,\n    2.0,\n    3.0\n  ],\n  "kd": [\n    0.5\n  ]\n}\n',
    )
    code, out, _ = asked("get", "asked", "law")
    assert code == 0 and out.startswith("law: feedforward\n  feedforward: the PD adds torque; ")
    everything = yaml.safe_load(asked("get", "asked")[1])
    assert everything["kp"] == [1.0, 2.0, 3.0] and everything["use_sim_time"] is False and len(everything) > 30
    code, out, err = asked("set", "asked", "kp", "[-1.0]")
    assert (code, out) == (1, "") and err.startswith("rbd_dynamics: asked refuses it: ") and "kp" in err
    for words, reason in (
        (("asked", "kpp", "1"), "/asked has no parameter 'kpp'; did you mean 'kp'?"),
        (("asked", "kp", "[a]"), "parameter 'kp': 'a' is no float"),
        (("asked", "kp"), "parameters come as NAME VALUE"),
        (("aksed", "kp", "1", "--patience", "1"), "waited 1 s in vain for node /aksed"),
    ):
        code, _, err = asked("set", *words)
        assert code == 2 and reason in err
    assert asked("get", "asked", "kp")[1].startswith("kp: [1.0, 2.0, 3.0]\n")


def test_a_service_is_called_and_its_answer_printed(asked, talk):
    talk.ask(np.zeros(3), np.zeros(3))
    bare = "{payload: {header: {frame_id: hand}, inertia: {m: %s, ixx: 1e-3, iyy: 1e-3, izz: 1e-3}}}"
    code, out, err = asked("call", "/asked/set_payload", bare % 0.1)
    answer = yaml.safe_load(out.removesuffix("---\n"))
    assert (code, err) == (0, "") and answer["success"] and answer["total_mass"] > 0.1
    code, out, _ = asked("call", "/asked/set_payload", bare % -1, "--json")
    assert code == 1 and json.loads(out)["success"] is False
    for words, reason in (
        (("/asked/set_payload", "{payload: {inertia: {mass: 1}}}"), "payload.inertia.mass: there is no such field"),
        (("/asked/set_payload", "{payload: {inertia: {m: much}}}"), "payload.inertia.m: 'much' is no double"),
        (("/asked/set_payload", "[1]"), "the message: expected {payload, transition_time}, not [1]"),
        (("/asked/set_paylod", "--patience", "2"), "service /asked/set_paylod; did you mean 'set_payload'?"),
        (("/asked/engage", "--patience", "2"), "service /asked/engage: node /asked runs, and has it once it has its"),
        (("/nobody/engage", "--patience", "2"), "waited 2 s in vain for service /nobody/engage"),
    ):
        code, out, err = asked("call", *words)
        assert (code, out) == (2, "") and reason in err


def test_nodes_services_fields_and_joints_are_completed(talk):
    """As the tab key asks for them, within what is written of the YAML."""
    from argparse import Namespace

    from rbd_dynamics.cli import completion

    service, topic = Namespace(service="/asked/set_payload"), Namespace(topic="/asked/joint_trajectory")
    talk.node.is_active()
    for complete, prefix, options, found in (
        (completion.complete_node, "/as", None, ["/asked"]),
        (completion.complete_service, "/asked/set_p", None, ["/asked/set_payload"]),
        (completion.complete_topic, "/asked/joint_tra", None, ["/asked/joint_trajectory"]),
        (completion.complete_parameter, "path_t", Namespace(node="/asked"), ["path_tolerance"]),
        (completion.complete_values, "", service, ["{payload: ", "{header: ", "{stamp: "]),
        (completion.complete_values, "{payload: {iner", service, ["{payload: {inertia: "]),
        (completion.complete_values, "{joint_names: [s", topic, ["{joint_names: [shoulder", "{joint_names: [slide"]),
    ):

        def completed(complete=complete, prefix=prefix, options=options, found=found):
            told = complete(prefix, **({"parsed_args": options} if options else {}))
            return set(found) <= set(told) and all(each.startswith(prefix) for each in told)

        with talk_on(talk):
            wait_until(completed, f"{found} after {prefix!r}")


@contextmanager
def talk_on(talk):
    """Joint states come meanwhile."""
    ended = threading.Event()

    def publish():
        while not ended.wait(0.05):
            talk.states.publish(talk.message(np.zeros(3), np.zeros(3)))

    thread = threading.Thread(target=publish)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_a_message_is_published_from_words_or_a_file(asked, ros, tmp_path):
    from trajectory_msgs.msg import JointTrajectory

    came = []
    subscription = ros.node.create_subscription(JointTrajectory, "asked_for", came.append, 10)
    text = "{header: auto, joint_names: [a], points: [{positions: [1, 2.5], time_from_start: {sec: 3}}]}"
    file = tmp_path / "motion.yaml"
    file.write_text(text)
    assert asked("pub", "asked_for", text, "--count", 2, "--rate", 50) == (0, "published on /asked_for, 2 times\n", "")
    assert asked("pub", "asked_for", f"@{file}")[0] == 0
    wait_until(lambda: len(came) == 3, "three messages")
    assert {(*each.points[0].positions, each.points[0].time_from_start.sec) for each in came} == {(1.0, 2.5, 3)}
    assert all(each.header.stamp.sec > 0 for each in came)
    code, _, err = asked("pub", "asked_fro", "{}", "--patience", 1)
    assert code == 2 and "waited 1 s in vain for a subscriber of /asked_fro" in err
    ros.destroy(lambda: ros.node.destroy_subscription(subscription))


@pytest.fixture
def states(talk):
    """Joint states at 50 Hz while the test runs."""
    end = threading.Event()

    def feed():
        while not end.wait(0.02):
            talk.states.publish(talk.message(np.zeros(3), np.zeros(3)))

    thread = threading.Thread(target=feed)
    thread.start()
    yield
    end.set()
    thread.join()


@pytest.mark.usefixtures("states")
def test_what_is_recorded_is_read_by_replay(asked, tmp_path):
    bag = tmp_path / "run"
    code, out, err = asked("record", "joint_states", "/asked/effort", "-o", bag, "--seconds", 5)
    counts = {line.split(": ")[0]: int(line.split(": ")[1]) for line in out.splitlines()[:-1]}
    assert code == 0 and sorted(err.splitlines()) == ["recording /asked/effort", "recording /joint_states"]
    assert set(counts) == {"/joint_states", "/asked/effort"} and min(counts.values()) > 10
    assert sum(map(len, Recording(bag).joint_states("/joint_states", JOINTS))) == counts["/joint_states"]
    code, _, err = asked("record", "-o", bag)
    assert code == 2 and "is there already: a recording is not overwritten" in err
    code, _, err = asked("record", "nothing", "-o", tmp_path / "none", "--seconds", 0.2)
    assert code == 1 and "/nothing: no message came" in err and "nothing was recorded" in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.usefixtures("states")
def test_a_recording_that_is_interrupted_is_whole(tmp_path, number):
    bag = tmp_path / "run"
    command = [sys.executable, "-m", "rbd_dynamics", "record", "joint_states", "-o", str(bag)]
    recorder = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert recorder.stderr.readline() == "recording /joint_states\n"
    recorder.send_signal(number)
    out, _ = recorder.communicate(timeout=PATIENCE)
    name, _, count = out.splitlines()[0].partition(": ")
    assert recorder.returncode == 0 and name == "/joint_states"
    assert sum(map(len, Recording(bag).joint_states("/joint_states", JOINTS))) == int(count) > 0
