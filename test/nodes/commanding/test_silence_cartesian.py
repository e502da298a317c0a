# SPDX-License-Identifier: Apache-2.0
"""cartesian_controller falls silent where its states stop, and does what `on_silence` says; judged by Pinocchio."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.models.arms import ARM
from helpers.nodes.ros_nodes import needs_ros
from helpers.nodes.silences import REST, A, B, Oracle, Stream, Watched, ends_in_one_zero, shares

pytest.importorskip("pinocchio")
pytestmark = needs_ros

OPTIONS = {
    "robot_description": ARM, "silence_duration": 0.8, "state_timeout": 0.5, "plausible_velocity": 0.0,
    "tool_frame": "hand", "joint_limit_torque": [0.0],
}  # fmt: skip


def test_states_of_cartesian_controller_stop_and_it_holds_against_gravity_and_lets_go(ros):
    """An arm of three joints: the tool cannot be moved in all directions, and is held all the same."""
    oracle = Oracle()
    gravity = oracle.gravity(A[0])
    with (
        ros.start("cartesian_controller", OPTIONS, name="cartesian_silent") as process,
        Stream(ros, (A[0], REST)) as stream,
    ):
        process.is_active()
        node = Watched(ros, process)
        node.answers(gravity)
        node.forget()
        node.answers(gravity)
        stream.paused = True
        node.diagnosed("no joint states arrive; commanded: zero")
        commands = node.until_zero()
        ends_in_one_zero(commands)
        parts = shares(commands, gravity)
        assert parts[0] == pytest.approx(1.0, abs=1e-6) and (np.diff(parts) <= 1e-9).all()
        stream.state, stream.paused = (B[0], REST), False  # of another place: held there
        node.answers(oracle.gravity(B[0]))
