# SPDX-License-Identifier: Apache-2.0
"""The demo as a user runs it, with a shorter motion: real processes over DDS."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from helpers.nodes.ros_nodes import needs_ros
from helpers.paths import ROOT
from helpers.wide import table, wide

from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.cli import main
from rbd_dynamics.common.example_robots import robots
from rbd_dynamics.demo import panda
from rbd_dynamics.demo.motion import ARM, SHORT_VIA_POINTS, fastest
from rbd_dynamics.demo.panda import LOCKED
from rbd_dynamics.demo.recording import JointSeries, missing
from rbd_dynamics.demo.tracking import run_of
from rbd_dynamics.replay import Questions, Recording, analyse

needs_robot = pytest.mark.skipif("panda" not in robots(), reason="example-robot-data is not installed")


def start(folder, **more):
    """The demo in a process of its own, as a user of a terminal would start it. more: of its environment."""
    return subprocess.Popen(
        [sys.executable, "-u", "-m", "rbd_dynamics", "demo", "--short", "--output", str(folder)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != "ROS_DOMAIN_ID"} | more,  # it takes its own
        preexec_fn=_heed_interrupts,
    )  # fmt: skip


def _heed_interrupts():
    """A shell lets what it starts in the background ignore Ctrl-C, and that is inherited."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def processes_of(folder):
    """Ids of the living processes that have this folder on their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(folder).encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:  # ended meanwhile
            pass
    return found


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The folder and the output of a whole demo, where no kernels are kept yet, as on a new machine."""
    folder = tmp_path_factory.mktemp("demo")
    demo = start(folder, RBD_DYNAMICS_CACHE_DIR=str(tmp_path_factory.mktemp("cache")))
    output, _ = demo.communicate(timeout=900)
    assert demo.returncode == 0, output
    return folder, output


@needs_robot
class TestDemo:
    pytestmark = needs_ros

    @wide  # as the two below: two minutes of processor time; `make demo` runs it as well
    def test_feedforward_tracks_better_and_services_agree(self, done):
        folder, output = done
        assert processes_of(folder) == []
        summary = json.loads((folder / "summary.json").read_text())
        error = {name: run["rms_all_joints_mrad"] for name, run in summary["runs"].items()}
        assert error["PD + feedforward"] < error["PD + gravity"] < error["PD alone"]
        assert len(summary["services"]) > 10 and all(check["passed"] for check in summary["services"])
        assert summary["pressing"]["force_error_rms_percent"] < 5.0
        assert summary["pressing"]["path_error_largest_mm"] < 2.0
        for picture in ("tracking_error.png", "torques.png", "pressing.png"):
            assert (folder / picture).read_bytes().startswith(b"\x89PNG")
        for name in ("PD alone", "PD + gravity", "PD + feedforward", "planner", "draw a circle"):
            assert name in output

    @wide
    def test_the_bag_has_the_whole_run(self, done):
        reader = pytest.importorskip("rosbags.highlevel").AnyReader
        with reader([done[0] / "bag"]) as bag:
            kinds = {connection.topic: connection.msgtype for connection in bag.connections}
            counts = dict.fromkeys(kinds, 0)
            for connection, _, _ in bag.messages():
                counts[connection.topic] += 1
        assert kinds["/joint_states"] == kinds["/feedforward/effort"] == "sensor_msgs/msg/JointState"
        assert kinds["/robot_description"] == "std_msgs/msg/String" and counts["/robot_description"] == 1
        assert counts["/feedforward/joint_trajectory"] == 3
        assert counts["/joint_states"] > 1000 and counts["/feedforward/effort"] > 1000

    @wide
    def test_replay_finds_the_press_and_nothing_else(self, done):
        """Resets of the simulator and brakes are no contacts; the 10 N on the table are, until the end."""
        pytest.importorskip("rosbags")
        found = {}
        for bag in ("bag", "pressing_bag"):
            recording = Recording(done[0] / bag)
            robot = Robot(load_urdf(recording.robot_description(), locked=LOCKED))
            found[bag] = analyse(recording, robot, questions=Questions(energy=False))
        cuts = found["bag"].log.events  # the robot is reset from where it fell, from where PD alone left it, and from
        assert cuts["state jumps"] + cuts["braked stretches"] >= 2  # within 2 mrad, more or less, of where it is put
        assert found["bag"].external_torque.events == ()
        events = found["pressing_bag"].external_torque.events
        assert events and sum(event.end - event.start for event in events) > 3.0
        assert max(events[-1].peak.values()) > 1.0 and events[-1].end > found["pressing_bag"].duration - 0.2

    @pytest.mark.parametrize("number", table([signal.SIGINT, signal.SIGTERM], [signal.SIGINT]))
    def test_an_interrupted_demo_ends_its_nodes(self, tmp_path, number):
        demo = start(tmp_path)
        end = time.monotonic() + 60.0
        while len(processes_of(tmp_path / "log")) < 3 and demo.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.5)
        demo.send_signal(number)
        output, _ = demo.communicate(timeout=60)
        assert demo.returncode == 130, output
        assert "Traceback" not in output
        assert processes_of(tmp_path) == []

    def test_a_node_that_dies_ends_the_demo_with_its_last_words(self, tmp_path):
        demo = start(tmp_path)
        end = time.monotonic() + 60.0
        victim = None
        while victim is None and demo.poll() is None and time.monotonic() < end:
            victim = next(iter(processes_of(tmp_path / "log" / "feedforward.yaml")), None)
            time.sleep(0.05)
        time.sleep(1.0)
        os.kill(victim, signal.SIGKILL)
        output, _ = demo.communicate(timeout=60)
        assert demo.returncode == 1, output
        assert "feedforward" in output and "SIGKILL" in output and "Traceback" not in output
        assert processes_of(tmp_path) == []


def test_without_ros_the_demo_says_what_is_missing(tmp_path, monkeypatch, capsys):
    for name in [name for name in sys.modules if name.partition(".")[0] in ("rclpy", "rbd_dynamics_interfaces")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "rclpy", None)
    monkeypatch.setitem(sys.modules, "rbd_dynamics_interfaces", None)
    assert main(["demo", "--output", str(tmp_path / "demo")]) == 2
    error = capsys.readouterr().err
    assert "rclpy" in error and "make setup" in error and "Traceback" not in error
    assert not (tmp_path / "demo").exists()


@needs_robot
def test_a_recording_that_lacks_states_is_no_result():
    robot = Robot(load_urdf(panda.description(), locked=panda.LOCKED))
    motion = fastest(robot, SHORT_VIA_POINTS)
    start = 7_000_000_000
    count = int((motion.duration + 0.2) * panda.RATE)
    stamps = start + np.arange(count, dtype=np.int64) * round(1e9 / panda.RATE)
    position, velocity, effort = motion.sample(1e-9 * (stamps - start))
    whole = JointSeries(stamps, position, velocity, effort)
    assert missing(1e-9 * stamps, panda.RATE) == 0
    assert run_of("all", motion, start, whole, whole).answered == 1.0
    for gone in ([100], [100, 101, 300]):
        some = JointSeries(*(np.delete(array, gone, axis=0) for array in (stamps, position, velocity, effort)))
        assert missing(1e-9 * some.stamps, panda.RATE) == len(gone)
        with pytest.raises(ValueError, match=f"some: {len(gone)} joint states are missing"):
            run_of("some", motion, start, some, whole)
    assert len(ARM) == position.shape[1] and missing(np.zeros(0), panda.RATE) == 0
