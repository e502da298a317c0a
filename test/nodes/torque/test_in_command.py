# SPDX-License-Identifier: Apache-2.0
"""When a node takes evidence of whether its efforts act: only while they are commanded."""

from types import SimpleNamespace

import numpy as np
import pytest
from helpers.nodes.ros_nodes import needs_ros

pytestmark = needs_ros
MILLISECOND = 1_000_000
LIMITS = np.array([80.0, 40.0])


class Follower:
    """The part beside a robot at rest, the efforts of which another node commands, or this one."""

    meets_contact = True  # motion is no evidence

    def __init__(self):
        from rbd_dynamics.nodes.torque.in_command import InCommand

        self.said, self.time = [], 0
        params = SimpleNamespace(check_in_command=True)
        node = SimpleNamespace(params=params, active=True, get_logger=lambda: self)
        self.part = InCommand(node, self, self.said.append)
        self.part.use(["one", "two"])
        self.part.activated()
        reader = SimpleNamespace(arranged=lambda efforts: np.asarray(efforts, dtype=float))
        self.engine = SimpleNamespace(effort_limits=LIMITS, reader=reader, commanded=slice(None))

    def info(self, text):
        pass

    warning = info

    def states(self, count, measured, commanded=None):
        """States with these efforts, each of which is answered by a command, or none is."""
        for _ in range(count):
            self.time += 10 * MILLISECOND
            self.part.look(self.engine, measured, self.time)
            if commanded is not None:
                self.part.commanded(np.asarray(commanded, dtype=float))
        return self.part.reason


@pytest.fixture
def follower():
    return Follower()


def test_efforts_that_followed_and_do_not_any_more_are_noticed(follower):
    assert not follower.states(100, [40.0, 20.0], [40.0, 20.0])
    assert "no longer follow" in follower.states(30, [0.0, 0.0], [40.0, 20.0])
    assert len(follower.said) == 1
    assert not follower.states(30, [40.0, 20.0], [40.0, 20.0])


def test_nothing_is_learnt_on_standby(follower):
    """Another node's efforts follow its commands, and say nothing of how a driver reports those of this one."""
    assert not follower.states(200, [40.0, 20.0])
    # taken over; this driver reports efforts without gravity
    assert not follower.states(200, [1.0, 0.0], [40.0, 20.0])


def test_who_yields_forgets_what_was_known(follower):
    follower.states(100, [40.0, 20.0], [40.0, 20.0])
    assert follower.states(30, [0.0, 0.0], [40.0, 20.0])
    follower.part.silent("another node commands")
    assert not follower.states(100, [40.0, 20.0])
