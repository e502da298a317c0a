# SPDX-License-Identifier: Apache-2.0
"""Who commands, of two that take over from each other: what one node hears and is asked."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.models.arms import ARM
from helpers.models.arms import JOINTS as ARM_JOINTS
from helpers.nodes.ros_nodes import joint_state, needs_ros

pytestmark = needs_ros
JOINTS = ["one", "two"]


class Node:
    """What a HandOver needs of one."""

    def __init__(self):
        self.refused = []

    def refuse(self, why):
        self.refused.append(why)

    def get_logger(self):
        return self

    def info(self, text):
        pass


@pytest.fixture
def clock(monkeypatch):
    """Of `hand_over` alone; s."""
    from rbd_dynamics.nodes.torque import hand_over

    now = [100.0]
    monkeypatch.setattr(hand_over, "time", type("Clock", (), {"monotonic": staticmethod(lambda: now[0])}))
    return now


class Law:
    """Of a node that may take over, and has nothing to go on with."""

    def __init__(self, standby):
        self.standby, self.yielded = standby, []

    def may_take_over(self):
        pass

    def take_over(self, engine, last, efforts):
        return last - efforts

    def stands_by(self, engine):
        pass

    def yields(self):
        self.yielded.append(True)


def beside(standing_by=True):
    """One that takes over, or is taken over from."""
    from rbd_dynamics.nodes.torque.hand_over import HandOver

    law = Law(standing_by)
    found = HandOver(Node(), law, lambda: law.standby)
    found.use(JOINTS, first=True)
    return found, law.yielded


def effort(values, mark="", names=JOINTS, stamp=1):
    message = joint_state(names, effort=values, stamp=stamp)
    message.header.frame_id = mark
    return message


def asked(hand_over):
    from std_srvs.srv import Trigger

    return hand_over._on_request(Trigger.Request(), Trigger.Response())


def test_it_takes_over_with_the_last_efforts_and_marks_its_own_for_a_while(clock):
    hand_over, _ = beside()
    hand_over._on_effort(effort([2.0, 1.0], names=JOINTS[::-1]))
    assert asked(hand_over).success and hand_over.standing_by and not hand_over.mark
    np.testing.assert_array_equal(hand_over.last(), [1.0, 2.0])
    hand_over.take()
    assert not hand_over.standing_by and not hand_over.taking and hand_over.mark
    clock[0] += 1.0
    assert not hand_over.mark


def test_it_goes_on_standing_by_where_the_other_has_stopped_before_the_next_state(clock):
    hand_over, _ = beside()
    hand_over._on_effort(effort([1.0, 2.0]))
    assert asked(hand_over).success
    clock[0] += 1.0
    with pytest.raises(ValueError, match="efforts have stopped"):
        hand_over.last()
    assert hand_over.standing_by and not hand_over.taking and not hand_over.mark
    answer = asked(hand_over)
    assert not answer.success and "no other node is commanding" in answer.message


def test_a_node_on_standby_says_whether_another_one_commands(clock):
    from rbd_dynamics.nodes.managed.diagnostics import WARN, Status

    def reported(hand_over):
        hand_over.report(status := Status())
        return status.level == WARN, status.values.get("standby")

    hand_over, _ = beside()
    assert reported(hand_over) == (True, "no other node commands")
    hand_over._on_effort(effort([1.0, 2.0]))
    assert reported(hand_over) == (False, "another node commands")
    clock[0] += 1.0
    assert reported(hand_over) == (True, "no other node commands")
    hand_over.take()
    assert reported(hand_over) == (False, None)


def test_who_commands_yields_to_a_mark_and_to_nothing_else(clock):
    hand_over, yielded = beside(standing_by=False)
    for bad in (
        effort([np.nan, 1.0], "took over"),
        effort([1.0], "took over", JOINTS[:1]),
        effort([1.0, 2.0], "took over", stamp=0),
    ):
        hand_over._on_effort(bad)
    assert len(hand_over._node.refused) == 3
    hand_over._on_effort(effort([1.0, 2.0]))
    assert not yielded and not hand_over.standing_by
    hand_over._on_effort(effort([1.0, 2.0], "took over"))
    assert yielded and hand_over.standing_by


def test_a_wrench_that_goes_on_is_not_ended_by_the_time_of_an_earlier_one():
    import rbd_dynamics as rbd
    from rbd_dynamics.nodes.interface.cartesian_controller import CartesianControllerParameters
    from rbd_dynamics.nodes.tool.cartesian_engine import build_engine

    engine = build_engine(rbd.load_urdf(ARM), CartesianControllerParameters(tool_frame="hand"), lambda *_: None)

    def step(seconds):
        assert engine.reader.read(ARM_JOINTS, [0.1, 0.5, 0.05], [0.0] * 3, round(1e9 * seconds))
        return engine.step(100.0)

    step(1.0)
    engine.wanted_wrench[3], engine.wrench_until = 5.0, 1_100_000_000
    step(1.05)
    assert engine.wanted_wrench[3] == 5.0
    step(1.2)
    assert not engine.wanted_wrench.any()
    engine.go_on_with(np.array([0.0, 1.0, 3.0]))
    pressed = engine.wrench.copy()
    assert np.abs(pressed).max() > 0.5
    step(1.3)
    np.testing.assert_array_equal(engine.wanted_wrench, pressed)
    engine.forget()
    assert not engine.wrench.any() and not engine.wanted_wrench.any()


@pytest.mark.parametrize("standing_by", [True, False])
def test_nobody_takes_over_unless_asked_since_it_was_activated(clock, standing_by):
    hand_over, _ = beside()
    for _ in range(3):
        hand_over._on_effort(effort([1.0, 2.0]))
        assert hand_over.standing_by and not hand_over.taking
    assert asked(hand_over).success and hand_over.taking
    hand_over._successor.standby = standing_by
    hand_over.activated()  # before a state came
    assert not hand_over.taking and hand_over.standing_by is standing_by
    assert not asked(hand_over).success and not hand_over.taking


def test_another_that_goes_on_commanding_is_told_once_it_should_have_heard(clock):
    hand_over, yielded = beside()
    hand_over._on_effort(effort([1.0, 2.0]))
    assert asked(hand_over).success
    hand_over.take()
    clock[0] += 0.1
    hand_over._on_effort(effort([1.0, 2.0]))  # it has not heard yet
    assert not hand_over._node.refused
    clock[0] += 1.0
    hand_over._on_effort(effort([1.0, 2.0]))
    (why,) = hand_over._node.refused
    assert "another node commands as well" in why and not yielded and not hand_over.standing_by
