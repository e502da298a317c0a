# SPDX-License-Identifier: Apache-2.0
"""hybrid_controller falls silent where its states stop, and does what `on_silence` says; judged by Pinocchio."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.models.arms import ARM
from helpers.nodes.ros_nodes import needs_ros, others_run
from helpers.nodes.silences import REST, A, B, Oracle, Stream, Watched, ends_in_one_zero, shares

pytest.importorskip("pinocchio")
pytestmark = needs_ros

NAME = "pressing_silent"
OPTIONS = {
    "robot_description": ARM, "silence_duration": 0.8, "state_timeout": 0.5, "plausible_velocity": 0.0,
    "tool_frame": "hand", "controlled": ["ry", "x"],
}  # fmt: skip


@pytest.fixture(scope="module")
def oracle():
    return Oracle()


@pytest.fixture(scope="module")
def node(ros):
    with ros.start("hybrid_controller", OPTIONS, name=NAME) as node:
        node.is_active()
        yield Watched(ros, node)


@pytest.fixture(scope="module")
def stream(ros, node, oracle):
    """States of a robot at rest, held where it is."""
    with Stream(ros, (A[0], REST)) as stream:
        node.answers(oracle.gravity(A[0]))
        yield stream


def silenced(node, stream, oracle, mode):
    """Its states stop in this mode of `on_silence`; the gravity where that was."""
    gravity = oracle.gravity(stream.state[0])
    (result,) = node.ros.set_parameters(NAME, on_silence=mode)
    assert result.successful, result.reason
    node.answers(gravity)
    node.forget()
    node.answers(gravity)
    stream.paused = True
    node.diagnosed("no joint states arrive; commanded: " + {"gravity": "zero"}.get(mode, mode))
    return gravity


def held_again(node, stream, oracle):
    """States come again, of another place: held there."""
    there = B[0] if stream.state[0] is A[0] else A[0]
    stream.state, stream.paused = (there, REST), False
    node.answers(oracle.gravity(there))


def test_states_of_hybrid_controller_stop_and_it_holds_against_gravity_and_lets_go(node, stream, oracle):
    gravity = silenced(node, stream, oracle, "gravity")
    commands = node.until_zero()
    ends_in_one_zero(commands)
    parts = shares(commands, gravity)
    assert parts[0] == pytest.approx(1.0, abs=1e-6) and (np.diff(parts) <= 1e-9).all()
    assert sum(part == pytest.approx(1.0, abs=1e-6) for part in parts) > 10
    assert "silent: no answer for" in node.node.log
    held_again(node, stream, oracle)


def test_states_of_hybrid_controller_stop_and_zero_is_commanded_once(node, stream, oracle):
    gravity = silenced(node, stream, oracle, "zero")
    commands = node.until_zero()
    ends_in_one_zero(commands)
    np.testing.assert_allclose(shares(commands[:-1], gravity), 1.0, atol=1e-6)  # no ramp
    held_again(node, stream, oracle)


def test_states_of_hybrid_controller_stop_and_nothing_is_commanded(node, stream, oracle):
    silenced(node, stream, oracle, "nothing")
    count = len(node.commands)
    others_run(0.5)
    assert len(node.commands) == count and node.commands[-1].any()
    held_again(node, stream, oracle)
