# SPDX-License-Identifier: Apache-2.0
"""Which commands pass, and when they pass again."""

from __future__ import annotations

import numpy as np
import pytest

from rbd_dynamics.control import CommandCheck, CommandGate, GateOptions

JOINTS = ["shoulder", "elbow"]


@pytest.mark.parametrize("efforts", [[10.0, -2.0], [0.0, 0.0], [-10.0, 2.0], [10.0 + 1e-12, 0.0]])
def test_good_commands_have_no_problem(efforts):
    assert CommandCheck(JOINTS, [10.0, 2.0]).problem(np.array(efforts)) == ""


@pytest.mark.parametrize(
    ("efforts", "problem"),
    [
        ([10.1, 0.0], "joint 'shoulder' is 10.1, its limit 10"),
        ([0.0, -2.001], "joint 'elbow' is -2.001, its limit 2"),
        ([0.0, np.nan], "joint 'elbow' is nan"),
        ([-np.inf, 0.0], "joint 'shoulder' is -inf"),
        ([0.0], "1 efforts for 2 joints"),
        ([0.0] * 3, "3 efforts for 2 joints"),
        ([], "0 efforts for 2 joints"),
    ],
)
def test_what_is_wrong_is_named(efforts, problem):
    assert problem in CommandCheck(JOINTS, [10.0, 2.0]).problem(np.array(efforts, dtype=float))


def test_without_a_limit_infinite_is_still_wrong():
    check = CommandCheck(JOINTS, [np.inf])
    assert check.problem(np.array([1e308, 0.0])) == ""
    assert "inf" in check.problem(np.array([np.inf, 0.0]))


def test_after_a_silence_commands_pass_once_they_have_come_for_some_time():
    gate = CommandGate(options=GateOptions(timeout=0.05, resume_after=0.1, most_silences=3))
    assert not gate.stopped(0.0)
    opened = []
    for k in range(8):
        gate.good(1.0 + 0.02 * k)
        opened.append(gate.opens(1.0 + 0.02 * k))
    assert opened == [False] * 5 + [True] * 3 or opened == [False] * 6 + [True] * 2  # 0.1 s, give or take rounding


def test_the_first_commands_of_all_are_waited_for_as_those_after_a_gap():
    gate = CommandGate(options=GateOptions(timeout=0.05, resume_after=0.1))
    assert [gate.good(0.02 * k) for k in range(4)] == [True, False, False, False]
    assert not gate.opens(0.06)
    gate.good(0.1)
    assert gate.opens(0.1)


def test_a_gap_begins_the_count_anew():
    gate = CommandGate(options=GateOptions(timeout=0.05, resume_after=0.1))
    gate.stopped(0.0)
    for k in range(50):  # farther apart than the time-out
        gate.good(0.06 * k)
        assert not gate.opens(0.06 * k)


def test_more_silences_within_a_minute_than_allowed_shut_it_until_somebody_asks():
    gate = CommandGate(options=GateOptions(resume_after=0.0, most_silences=2))
    assert [gate.stopped(time) for time in (0.0, 1.0, 2.0)] == [False, False, True]
    gate.good(3.0)
    assert not gate.opens(3.0)
    gate.reset()
    gate.good(4.0)
    assert gate.opens(4.0)
    assert [gate.stopped(time) for time in (5.0, 6.0)] == [False, False]


def test_silences_long_ago_do_not_count():
    gate = CommandGate(options=GateOptions(most_silences=1))
    assert [gate.stopped(70.0 * k) for k in range(5)] == [False] * 5


def test_none_allowed_means_that_each_is_asked_about():
    assert CommandGate(options=GateOptions(most_silences=0)).stopped(0.0)
