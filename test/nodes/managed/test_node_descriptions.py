# SPDX-License-Identifier: Apache-2.0
"""Robot descriptions that are heavy, hostile or overtaken: the torques go on, and everything can be ended."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from helpers.models.arms import ARM, JOINTS
from helpers.models.shapes import described
from helpers.nodes.ros_nodes import PATIENCE, needs_ros, wait_until
from helpers.nodes.standing_robot import StandingRobot
from helpers.wide import table

from rbd_dynamics.model.urdf import load_urdf
from rbd_dynamics.robot import Robot

pytestmark = needs_ros
POSITION = [0.1, 0.2, 0.05]
HEAVY = described("chain", 300)  # compiling for it takes minutes
LIGHTER, HEAVIER = (ARM.replace('value="2.0"', f'value="{mass}"') for mass in ("1.5", "2.5"))
WORKER = "rbd_dynamics.nodes.building.build_worker"


class Talk(StandingRobot):
    def __init__(self, ros, node, joints=JOINTS, position=POSITION):
        super().__init__(ros, node, joints, position)

    def answers_with(self, text):
        """Wait until the efforts are those of a description, and the node goes on with them."""
        expected = Robot(load_urdf(text), backend="reference").gravity(np.array(POSITION))
        wait_until(lambda: np.allclose(self.efforts[-1].effort, expected, atol=1e-9), "efforts of another description")
        self.goes_on()


def workers(node):
    """Ids of the processes that read and compile for a node."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command, status = (folder / "cmdline").read_bytes(), (folder / "stat").read_text()
        except OSError:
            continue  # it has ended meanwhile
        if WORKER.encode() in command and command.split(b"\0")[-2] == str(node.process.pid).encode():
            if status.rpartition(")")[2].split()[0] not in "ZX":
                found.append(int(folder.name))
    return found


def at_work(node):
    """Wait for its worker to be compiling for so many joints; its id. It stays there, but takes no processor time."""
    node.says("300 moving links: compiling for them may take minutes", 60.0)
    node.says("kernel 1 of", 60.0)
    (worker,) = workers(node)
    os.kill(worker, signal.SIGSTOP)
    return worker


def crash(worker, number):
    os.kill(worker, number)
    with suppress(ProcessLookupError):
        os.kill(worker, signal.SIGCONT)


@pytest.fixture
def talk(ros):
    with ros.start("feedforward", {"robot_description": ARM}, name="described") as node:
        node.is_active()
        with Talk(ros, node) as talk:
            yield talk


def test_a_newer_description_overtakes_a_heavy_one(talk):
    talk.answers_with(ARM)
    talk.describe(HEAVY)
    worker = at_work(talk.node)
    talk.diagnosed("compiling for a new robot_description")
    talk.answers_with(ARM)
    talk.describe(LIGHTER)
    talk.describe(HEAVIER)  # of several only the last counts
    wait_until(lambda: worker not in workers(talk.node), "the end of the heavy one")
    talk.answers_with(HEAVIER)
    assert talk.node.log.count("ready for") == 2
    assert not workers(talk.node)


EXECUTABLES = ["feedforward", "hybrid_controller", "cartesian_controller"]


@pytest.mark.parametrize("executable", table(EXECUTABLES, EXECUTABLES[:2]))  # the third: the next test
def test_parameters_are_in_force_at_once_while_another_robot_is_built(ros, executable):
    """A build may take minutes: nobody who changes the limits in the meantime waits for it."""
    parameters = {
        "robot_description": described("chain", 7),
        "tool_frame": "l7",
        "effort_limits": [4.0],
        "plausible_velocity": 0.0,
    }
    if executable == "feedforward":
        del parameters["tool_frame"]
    joints, bent = [f"j{k}" for k in range(1, 8)], [0.3, 0.5, -0.4, 0.8, 0.2, 0.6, -0.3]
    with ros.start(executable, parameters, name=f"lowered_{executable}") as node:
        node.is_active()
        with Talk(ros, node, joints, [0.0] * 7) as talk:  # where these limits can hold it, at first
            talk.stands_at(bent)
            wait_until(lambda: np.abs(talk.efforts[-1].effort).max() == 4.0, "efforts at their limits")
            talk.describe(HEAVY)
            worker = at_work(node)
            (done,) = ros.set_parameters(node.name, effort_limits=[6.0])
            assert done.successful, done.reason
            wait_until(lambda: np.abs(talk.efforts[-1].effort).max() == 6.0, "efforts within the new limits")
            assert workers(node) == [worker]  # it is being built still
            assert node.stop(signal.SIGTERM) == 0, node.log


def test_parameters_of_another_law_wait_for_it(ros):
    """A stiffness in 1/s^2 is not one of the impedance's that still acts; what has one meaning is in force at once."""
    parameters = {
        "robot_description": described("chain", 7), "tool_frame": "l7", "stiffness": [300.0], "path_tolerance": [0.0],
        "plausible_velocity": 0.0, "effort_rate_limits": [0.0], "transition_time": 0.0,
        "state_timeout": 10.0,  # after a gap of that it would be held where it is then, without a spring that pulls
    }  # fmt: skip
    joints, bent = [f"j{k}" for k in range(1, 8)], [0.3, 0.5, -0.4, 0.8, 0.2, 0.6, -0.3]
    with ros.start("cartesian_controller", parameters, name="two_laws") as node:
        node.is_active()
        with Talk(ros, node, joints, bent) as talk:
            still = np.array(talk.efforts[-1].effort)
            talk.stands_at([x + 0.02 for x in bent])
            wait_until(lambda: np.abs(talk.efforts[-1].effort - still).max() > 0.1, "a spring that pulls")
            sprung = np.array(talk.efforts[-1].effort)
            talk.describe(HEAVY)
            first = at_work(node)
            for also in ({}, {"tool_position": [0.0, 0.1, 0.0]}, {"posture": [0.1] * 7}):
                refused = ros.set_together(node.name, effort_limits=[1e-3], **also)
                assert "to hold still where it is; its limit is 0.001" in refused.reason, refused
                talk.goes_on()
                np.testing.assert_array_equal(talk.efforts[-1].effort, sprung, f"in force, and was refused: {also}")
            (done,) = ros.set_parameters(node.name, law="operational_space")
            assert done.successful, done.reason
            wait_until(lambda: workers(node) not in ([], [first]), "another worker")
            (done,) = ros.set_parameters(node.name, stiffness=[100.0])
            assert done.successful, done.reason
            talk.goes_on()
            np.testing.assert_allclose(talk.efforts[-1].effort, sprung, rtol=1e-6)
            for result in ros.set_parameters(node.name, largest_force=0.0, largest_moment=0.0):
                assert result.successful, result.reason
            wait_until(lambda: np.abs(talk.efforts[-1].effort - sprung).max() > 0.1, "no spring that pulls")
            assert workers(node)
            assert node.stop(signal.SIGTERM) == 0, node.log


@pytest.mark.parametrize("number", table([signal.SIGINT, signal.SIGTERM], [signal.SIGINT]))
def test_a_signal_ends_a_start_that_compiles_for_minutes(ros, number):
    with ros.start("feedforward", {"robot_description": HEAVY}, name=f"starting{number}") as node:
        at_work(node)
        assert node.stop(number) == 0, node.log
        assert not workers(node)
        assert "interrupted" in node.log and "Traceback" not in node.log


def test_a_signal_ends_an_active_node_while_it_compiles(talk):
    talk.describe(HEAVY)
    at_work(talk.node)
    assert talk.node.stop(signal.SIGTERM) == 0, talk.node.log
    assert not workers(talk.node)


def test_nothing_is_left_of_a_node_that_is_killed_while_it_compiles(ros):
    node = ros.start("feedforward", {"robot_description": HEAVY}, name="killed")
    try:
        at_work(node)
    finally:
        node.process.kill()
        node.process.wait()
    wait_until(lambda: not workers(node), "the end of what it started")


@pytest.mark.parametrize("number", table([signal.SIGSEGV, signal.SIGKILL], [signal.SIGSEGV]))
def test_a_description_that_crashes_its_reader_is_refused_and_the_torques_go_on(talk, number):
    """As a stack overflow in native code does it, or the system where memory runs out."""
    talk.describe(HEAVY)
    crash(at_work(talk.node), number)
    talk.diagnosed(f"came to an end by signal {signal.Signals(number).name}")
    talk.answers_with(ARM)
    talk.describe(HEAVIER)
    talk.answers_with(HEAVIER)


def test_what_is_too_large_is_refused_and_the_torques_go_on(talk):
    talk.ros.set_parameters(talk.node.name, largest_description=100_000, most_links=50)
    for text, reason in (
        (ARM.replace("</robot>", " " * 100_000 + "</robot>"), "more than parameter 'largest_description' (100000)"),
        (described("star", 51), "it has 51 moving links, more than parameter 'most_links' (50)"),
        ("<robot name='deep'>" + "<a>" * 10_000 + "</a>" * 10_000 + "</robot>", "has no link"),
    ):
        talk.describe(text)
        talk.diagnosed(reason)
        talk.answers_with(ARM)


def test_cleanup_while_it_compiles_ends_that_and_the_next_start_is_another(ros):
    from lifecycle_msgs.msg import Transition
    from lifecycle_msgs.srv import ChangeState

    with ros.start("feedforward", {"robot_description": ARM}, name="cleaned") as node:
        node.is_active()
        with Talk(ros, node) as talk:
            talk.describe(HEAVY)
            at_work(node)
            change = ros.client(ChangeState, "cleaned/change_state")
            for transition in (Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP):
                assert change(transition=Transition(id=transition)).success
            assert not workers(node)
            talk.describe(HEAVIER)
            for transition in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
                assert change(transition=Transition(id=transition)).success
            talk.answers_with(HEAVIER)


def test_a_node_that_waits_for_a_description_lives_through_hostile_ones(ros):
    from std_msgs.msg import String

    from rbd_dynamics.nodes.managed.messages import LATCHED

    with ros.start("feedforward", {}, name="patient") as node:
        publisher = ros.publisher(String, "robot_description", LATCHED)
        publisher.publish(String(data=HEAVY))
        crash(at_work(node), signal.SIGABRT)
        node.says("came to an end by signal SIGABRT")
        publisher.publish(String(data="<robot name='x'>" + "<link>" * 100_000))
        node.says("not well-formed", PATIENCE)
        publisher.publish(String(data=ARM))
        with Talk(ros, node) as talk:
            talk.answers_with(ARM)


def test_without_a_cache_the_node_says_once_that_it_compiles_itself(ros, monkeypatch):
    monkeypatch.setenv("RBD_DYNAMICS_CACHE_DIR", "")
    with ros.start("feedforward", {"robot_description": ARM}, name="uncached") as node:
        with Talk(ros, node) as talk:
            talk.answers_with(ARM)
            assert not workers(node)
            talk.describe(HEAVIER)
            talk.answers_with(HEAVIER)
        assert node.log.count("kernels are not kept on disk: descriptions are compiled in this process") == 1


def test_a_second_start_finds_everything_and_starts_no_process(ros, tmp_path, monkeypatch):
    monkeypatch.setenv("RBD_DYNAMICS_CACHE_DIR", str(tmp_path))
    for progress in (1, 0):
        with ros.start("feedforward", {"robot_description": ARM}, name=f"again{progress}") as node:
            node.is_active()
            assert node.log.count("kernel 1 of 1") == progress  # which the process says


def test_large_texts_arrive_whole_and_what_cannot_be_listened_to_is_an_error(ros, monkeypatch):
    from std_msgs.msg import String

    from rbd_dynamics.nodes.managed.messages import LATCHED
    from rbd_dynamics.nodes.wire import rclpy_private
    from rbd_dynamics.nodes.wire.large_texts import LargeTexts

    refused = []
    options = {"largest": lambda: 2_000_000, "bound": "a bound", "refuse": refused.append}
    texts = LargeTexts(ros.node, "large_texts", LATCHED, **options)
    try:
        publisher = ros.publisher(String, "large_texts", LATCHED)
        for text in ("", "a", "grüße", "x" * 2_000_000):
            publisher.publish(String(data=text))
            found = []
            wait_until(lambda found=found: found.append(texts.latest()) or found[-1] is not None, "a text")
            assert found[-1] == text.encode()
        publisher.publish(String(data="x" * 2_000_001))
        wait_until(lambda: texts.latest() or refused, "a refusal")
        assert refused == ["large_texts refused: it has 2000001 bytes, more than a bound (2000000)"]
    finally:
        texts.close()
    monkeypatch.setattr(rclpy_private.importlib, "import_module", lambda name: object())
    with pytest.raises(AttributeError):
        LargeTexts(ros.node, "large_texts", LATCHED, **options)
