# SPDX-License-Identifier: Apache-2.0
"""Whose commands a guard passes on: of whom it knows, while it carries a load that a new process does not know."""

from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy")

from rbd_dynamics.nodes.commanding.commanders import KNOWN, PARTICIPANT, RESTART, Commanders
from rbd_dynamics.nodes.managed.diagnostics import Status

ONE, OTHER = (bytes([k]) * PARTICIPANT for k in (1, 2))
LOAD = ("hand", (1.0, 0.0, 0.0, 0.0))


class Node:
    """What is asked of the node: who publishes, as the middleware says."""

    def __init__(self):
        self.active, self.engine, self.processes, self.errors = True, object(), [ONE], []

    def get_publishers_info_by_topic(self, topic):
        assert topic == "~/commanded"
        gids = [[*process, *writer] for process in self.processes for writer in (b"a", b"b")]
        return [SimpleNamespace(endpoint_gid=gid) for gid in gids]

    def get_logger(self):
        return SimpleNamespace(error=self.errors.append)


@pytest.fixture
def node():
    return Node()


@pytest.fixture
def told():
    return []


@pytest.fixture
def loads():
    return []


@pytest.fixture
def commanders(node, loads, told):
    return Commanders(node, "~/commanded", lambda: loads, told.append)


def passes(commanders, now, begins):
    """Whether a command does, before which it has been looked who commands, if that was due."""
    commanders.look(now)
    return commanders.pass_now(now, begins)


def command(commanders, begin):
    """Commands for as long as a new process may not be known yet, every 50 ms: which of them pass."""
    return [passes(commanders, begin + 0.05 * k, k == 0) for k in range(round(KNOWN / 0.05) + 2)]


def test_without_a_load_whoever_commands_may(commanders, node, told):
    assert passes(commanders, 10.0, True)
    node.processes = [OTHER]
    assert passes(commanders, 10.0 + 2.0 * RESTART, True) and not told


def test_with_a_load_who_was_there_passes_as_soon_as_another_would_have_been_told(commanders, node, loads, told):
    commanders.pass_now(10.0, True)
    commanders.look(10.0)
    loads.append(LOAD)
    assert passes(commanders, 10.01, False)  # who goes on is not asked
    again = 11.0
    found = [passes(commanders, again + dt, dt == 0.0) for dt in (0.0, 0.1, 0.2, KNOWN)]
    assert found == [False, False, False, True]
    assert passes(commanders, again + KNOWN + 0.01, False)
    assert passes(commanders, again + KNOWN + 0.5 * RESTART, True) and not told  # too short for another process


def test_no_command_waits_for_the_middleware_to_tell_who_commands(commanders, node, loads):
    """It takes 0.2 s where many processes begin, after which a command would be passed on that is as old."""
    asked = []
    node.get_publishers_info_by_topic = lambda topic: asked.append(topic) or []
    for load in ([], [LOAD]):
        loads[:] = load
        command = [commanders.pass_now(20.0 + len(load) + dt, dt == 0.0) for dt in (0.0, 0.5, 1.0)]
        assert command[0] and not asked
    commanders.look(22.0)
    assert len(asked) == 1


@pytest.mark.parametrize("gap", [0.5 * RESTART, 5.0 * RESTART])
def test_a_stranger_is_kept_out_of_a_load_until_somebody_says_that_it_may(commanders, node, loads, told, gap):
    command(commanders, 9.0)
    loads.append(LOAD)
    node.processes = [ONE, OTHER]  # also where the one before is not gone yet
    command(commanders, 9.0 + 0.05 * (round(KNOWN / 0.05) + 1) + gap)
    assert told == node.errors and len(told) == 1 and "new process" in told[0] and "1 kg at 'hand'" in told[0]
    status = Status()
    commanders.report(status)
    assert status.messages == told
    commanders.accept()
    assert command(commanders, 20.0)[-1]
    status = Status()
    commanders.report(status)
    assert len(told) == 1 and status.messages == []


def test_nobody_passes_a_load_of_whom_the_middleware_does_not_tell(commanders, node, loads, told):
    command(commanders, 9.0)
    loads.append(LOAD)
    node.processes = []
    assert not any(passes(commanders, 11.0 + 0.1 * k, k == 0) for k in range(10)) and not told


def test_who_is_there_before_the_first_command_is_known_by_then(commanders, node, loads, told):
    """A torque node on standby, for one; nothing is asked of the middleware where there is no robot."""
    loads.append(LOAD)
    node.active = False
    commanders.report(Status())
    node.active = True
    commanders.report(Status())
    node.processes = [OTHER]
    command(commanders, 10.0)
    assert len(told) == 1
    commanders.activated()
    status = Status()
    commanders.report(status)
    assert status.messages == []
