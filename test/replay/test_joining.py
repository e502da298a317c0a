# SPDX-License-Identifier: Apache-2.0
"""Messages that name some of the joints each: joined by name, at the times of those that come most often."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.recorded.bags import (
    JOINT_STATE,
    STRING,
    Content,
    Message,
    needs_rosbags,
    serialised,
    typestore,
    write_ros2,
)
from helpers.recorded.recordings import NAMES, SETTINGS, URDF, messages

from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.cli import main
from rbd_dynamics.replay import Recording, RecordingError, Settings, compare
from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading import JointStates
from rbd_dynamics.replay.signals.joining import joined, plan_of

STATES = messages(900, noise=0.0)
ROBOT = Robot(load_urdf(URDF), backend="reference")


def halves(late=3_000_000):
    """{joint: messages of that joint alone}, the elbow's a little later than the shoulder's, as it was by then."""
    found = {}
    begin = STATES[0].stamp
    w, phase = np.array([1.3, 2.1]), np.array([0.0, 1.0])
    for k, name in enumerate(NAMES):
        times = np.array([m.stamp + k * late for m in STATES])
        x = w * (times - begin)[:, None] * 1e-9 + phase
        q, v, a = np.sin(x), w * np.cos(x), -(w**2) * np.sin(x)
        tau = ROBOT.inverse_dynamics(q, v, a)
        found[name] = [Message(int(t), [name], *([y[k]] for y in row)) for t, *row in zip(times, q, v, tau)]
    return found


def interleaved(path, content):
    """Topics in one recording, in the order in which messages came."""
    from rosbags.rosbag2 import Writer

    with Writer(path, version=9) as writer:
        text = writer.add_connection("/robot_description", STRING, typestore=typestore())
        writer.write(text, STATES[0].stamp, serialised(URDF))
        topics = {name: writer.add_connection(name, JOINT_STATE, typestore=typestore()) for name in content}
        rows = [(message.stamp, name, message) for name, part in content.items() for message in part]
        for stamp, name, message in sorted(rows, key=lambda row: row[0]):
            writer.write(topics[name], stamp, serialised(message))
    return path


@needs_rosbags
@pytest.mark.parametrize("topics", [1, 2])
def test_halves_are_one_robot(tmp_path, topics, capsys):
    parts = halves()
    both = [message for pair in zip(*parts.values()) for message in pair]
    content = {"/joint_states": both} if topics == 1 else {f"/{name}/joint_states": parts[name] for name in NAMES}
    path = interleaved(tmp_path / "bag", content)
    settings = Settings(cutoff=8.0, topic=list(content))
    found = compare(path, ROBOT, settings=settings)
    results = found.comparison.results()
    assert [joint.name for joint in results] == list(NAMES)
    assert max(joint.rmse for joint in results) < 2e-3  # of 5 N m: that of the filter, as of whole messages
    assert found.log.guesses == [
        "messages name some of the joints each (shoulder; elbow): joined by interpolation at the times of the first"
    ]
    assert Settings.from_dict(settings.to_dict()) == settings
    if topics == 2:
        one = compare(path, ROBOT, settings=Settings(cutoff=8.0, topic="/elbow/joint_states"))
        assert any(text.endswith("--topic /elbow/joint_states --topic /shoulder/joint_states joins what they name")
                   for text in one.log.remarks)  # fmt: skip
        assert main(["replay", str(path), *(f"--topic={name}" for name in content), "--cutoff", "8"]) == 0
        assert "messages on /shoulder/joint_states and /elbow/joint_states" in " ".join(capsys.readouterr().out.split())


@needs_rosbags
def test_two_robots_with_the_same_joints_are_no_halves(tmp_path):
    path = write_ros2(tmp_path / "bag", Content({"/a/joint_states": STATES[:50], "/b/joint_states": STATES[:50]}))
    with pytest.raises(RecordingError, match="topics /a/joint_states and /b/joint_states both name joint 'shoulder'"):
        Recording(path).choose_topic(topic=["/a/joint_states", "/b/joint_states"])
    with pytest.raises(RecordingError, match="no joint states on topic '/c'; it has them on: /a/joint_states, /b"):
        Recording(path).choose_topic(topic=["/a/joint_states", "/c"])


@needs_rosbags
def test_an_empty_recording_says_what_it_has(tmp_path):
    path = write_ros2(tmp_path / "bag", Content({"/joint_states": []}, {"/note": "nothing"}))
    told = r"has no joint states; its topics: /joint_states \(without messages\), /note \(std_msgs/msg/String\)"
    with pytest.raises(RecordingError, match=told):
        compare(path, ROBOT, settings=SETTINGS)


def arrays(parts):
    """JointStates of messages of single joints, in the order of their stamps."""
    rows = sorted((m for part in parts.values() for m in part), key=lambda m: m.stamp)
    numbers = np.full((len(rows), 3, len(NAMES)), np.nan)
    for row, m in enumerate(rows):
        numbers[row, :, NAMES.index(m.names[0])] = m.position[0], m.velocity[0], m.effort[0]
    stamps = np.array([m.stamp for m in rows])
    return JointStates(stamps, stamps, numbers)


def test_blocks_make_no_difference():
    states = arrays(halves())
    plan = plan_of(states[:600], NAMES, Log())
    whole = JointStates.joined(list(joined([states], plan)), 2)
    cut = JointStates.joined(list(joined((states[k : k + 37] for k in range(0, len(states), 37)), plan)), 2)
    np.testing.assert_array_equal(whole.stamps, cut.stamps)
    np.testing.assert_array_equal(whole.numbers, cut.numbers)
    assert len(whole) == 900 and np.isfinite(whole.numbers[1:]).all()  # before the first one of the elbow is nothing


def test_a_clock_that_was_set_back_and_a_joint_that_falls_silent():
    states = arrays(halves())
    plan = plan_of(states[:600], NAMES, Log())
    again = JointStates(states.received + 9 * 10**9, states.stamps, states.numbers)
    twice = JointStates.joined(list(joined([states, again], plan)), 2)
    np.testing.assert_array_equal(twice.stamps[:900], twice.stamps[900:])
    np.testing.assert_array_equal(twice.numbers[:900], twice.numbers[900:])
    silent = np.isfinite(states.numbers[:, 0, 1]) & (np.arange(len(states)) > 600) & (np.arange(len(states)) < 1400)
    some = JointStates.joined(list(joined([states[~silent]], plan)), 2)
    missing = ~np.isfinite(some.numbers[:, 0, 1])
    assert len(some) == 900 and 395 < missing.sum() < 405 and np.isfinite(some.numbers[:, 0, 0]).all()


def test_whole_messages_and_seldom_ones_are_not_joined():
    states = arrays(halves())
    seldom = np.isfinite(states.numbers[:, 0, 0]) | (np.arange(len(states)) % 20 == 1)
    assert plan_of(states[seldom], NAMES, Log()) is None
    whole = JointStates.joined(list(joined([states], plan_of(states, NAMES, Log()))), 2)
    assert plan_of(whole[1:], NAMES, Log()) is None
