# SPDX-License-Identifier: Apache-2.0
"""Reading joint states from their bytes gives what deserialising them gives."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.nodes.ros_nodes import needs_ros

pytestmark = needs_ros


@pytest.fixture
def raw():
    from rbd_dynamics.nodes.wire.raw_joint_state import RawJointStates

    return RawJointStates()


def message(names=("a", "elbow", "c"), position=(1.0, 2.0, 3.0), velocity=(4.0, 5.0, 6.0), effort=(), frame="", t=7):
    from sensor_msgs.msg import JointState

    made = JointState(name=list(names), position=list(position), velocity=list(velocity), effort=list(effort))
    made.header.frame_id = frame
    made.header.stamp.sec, made.header.stamp.nanosec = t, 123456789
    return made


def check(raw, made, padding=0):
    """`padding`: bytes more at the end than serialising here appends."""
    from rclpy.serialization import serialize_message

    data = bytes(serialize_message(made)) + bytes([99] * padding)
    stamp, names, position, velocity, effort = raw.read(data)
    assert stamp == made.header.stamp.sec * 10**9 + made.header.stamp.nanosec
    assert list(names) == list(made.name)
    np.testing.assert_array_equal(position, made.position)
    np.testing.assert_array_equal(velocity, made.velocity)
    np.testing.assert_array_equal(effort, made.effort)
    return names


@pytest.mark.parametrize("padding", [0, 4])
@pytest.mark.parametrize("effort", [(), (7.0, 8.0, 9.0)])
@pytest.mark.parametrize("frame", ["", "base", "a_longer_frame"])
def test_numbers_change_and_the_names_are_the_same_list(raw, padding, effort, frame):
    first = check(raw, message(frame=frame, effort=effort), padding)
    again = check(raw, message(frame=frame, effort=effort), padding)
    rng = np.random.default_rng(1)
    for t in range(5):
        q, v = rng.normal(size=(2, 3))
        tau = rng.normal(size=len(effort))
        # the same list too, unless the encoder's padding bytes, which it leaves as they are, differ
        assert check(raw, message(position=q, velocity=v, effort=tau, frame=frame, t=t), padding) == again
    assert first == again


@pytest.mark.parametrize(
    "other",
    [
        {"names": ("a", "elbaw", "c")},  # as long as the others
        {"names": ("a", "b"), "position": (1.0, 2.0), "velocity": (3.0, 4.0)},
        {"velocity": ()},
        {"position": (), "velocity": ()},
        {"names": (), "position": (), "velocity": ()},
        {"position": (1.0, 2.0)},
        {"position": (1.0, 2.0), "velocity": (3.0, 4.0, 5.0, 6.0)},
        {"position": (np.nan, np.inf, 0.0), "velocity": (np.nan,) * 3},
        {"position": (0.0,) * 3, "velocity": (0.0,) * 3},
        {"velocity": (), "effort": (4.0, 5.0, 6.0)},  # the same bytes but for two counts
    ],
)
def test_messages_of_other_kinds_in_between(raw, other):
    for _ in range(3):
        check(raw, message())
        check(raw, message(**other))
        check(raw, message(effort=(7.0, 8.0, 9.0)))
