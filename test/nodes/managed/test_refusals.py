# SPDX-License-Identifier: Apache-2.0
"""What was refused is told, by kind, whatever else is refused at the same time."""

from __future__ import annotations

import pytest

from rbd_dynamics.nodes.managed.refusals import MOST_KINDS, OTHERS, Refusals, kind_of


class Log:
    def __init__(self):
        self.now, self.lines = 0.0, []
        self.refusals = Refusals(self.lines.append, lambda: self.now)


@pytest.fixture
def log():
    return Log()


def test_one_kind_hides_no_other(log):
    for k in range(1000):
        log.now = 0.001 * k
        log.refusals.add(f"stale joint state: its stamp is {k} ms old")
    refused = "trajectory refused: point 0: velocity 3 of joint 'a'"
    log.refusals.add(refused)
    assert log.lines == ["stale joint state: its stamp is 0 ms old", refused]
    assert log.refusals.take() == [("stale joint state: its stamp is 999 ms old", 1000), (refused, 1)]
    assert not log.refusals and log.refusals.take() == []


def test_each_second_one_line_of_a_kind(log):
    for k in range(40):
        log.now = 0.1 * k
        log.refusals.add(f"joint state has {k} efforts")
    assert len(log.lines) == 4
    assert log.refusals


def test_the_last_is_told_with_its_age_however_long_ago(log):
    assert log.refusals.last == ""
    log.refusals.add("joint state has 3 efforts")
    log.now = 61.4
    log.refusals.take()
    assert log.refusals.last == "61 s ago: joint state has 3 efforts"
    log.refusals.add("trajectory refused: it is over")
    assert log.refusals.last == "0 s ago: trajectory refused: it is over"


def test_kinds_are_bounded(log):
    """Texts of others may be anything."""
    for k in range(1000):
        log.refusals.add("abcdefghij"[k % 10] * (k // 10 + 1) + " is refused")
    found = log.refusals.take()
    assert len(found) == MOST_KINDS + 1 and found[-1] == (OTHERS, 1000 - MOST_KINDS)
    assert len(log.lines) == MOST_KINDS + 1


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("trajectory refused: 'a' is no joint", "trajectory refused: _ is no joint"),
        ("velocity 1e+06 of joint 'a' is more than 2.5", "velocity _ of joint _ is more than _"),
        ("joint state has 1 efforts for 3 joints", "joint state has _ efforts for _ joints"),
        ("joint state without a stamp", "joint state without a stamp"),
        ("", ""),
    ],
)
def test_a_kind_is_what_does_not_differ(reason, kind):
    assert kind_of(reason) == kind
