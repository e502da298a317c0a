# SPDX-License-Identifier: Apache-2.0
"""What cannot have been measured is refused, and nothing of it is kept."""

from __future__ import annotations

import array
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbd_dynamics.joint_states.confirmation import AGREEING
from rbd_dynamics.joint_states.plausibility import FARTHEST, JITTER, UNLIMITED, Plausibility
from rbd_dynamics.joint_states.reader import JointStateReader

NAMES = ["a", "b", "c"]
LIMITS = [(-1.0, 2.0, 3.0), (-math.inf, math.inf, 2.0), (-math.inf, math.inf, math.inf)]
MS = 1_000_000


def reader(factor=2.0, **options):
    plausibility = Plausibility(NAMES, LIMITS, [False, True, False], factor=factor)
    return JointStateReader(NAMES, NAMES, plausibility=plausibility, **options)


def read(r, q, v, ms, names=NAMES):
    return r.read(list(names), array.array("d", map(float, q)), array.array("d", map(float, v)), ms * MS)


def found(r, q, v, ms, names=NAMES):
    """What nothing vouches for is believed once as many states agree, zeros for a second; not implausible before."""
    zeros = len(names) > 1 and not np.any([q, np.nan_to_num(v)])
    for k in range(AGREEING - 1):
        assert not read(r, q, v, ms - (1000 if zeros and k == 0 else AGREEING - 1 - k), names)
        assert r.doubted and not r.implausible, r.problem
    return read(r, q, v, ms, names)


def refused(r, q, v, ms, reason, names=NAMES):
    """Refused for that reason, and the state stays."""
    before = r.q.copy(), r.v.copy(), r.stamp
    assert not read(r, q, v, ms, names)
    assert r.implausible
    assert reason in r.problem
    np.testing.assert_array_equal(r.q, before[0])
    np.testing.assert_array_equal(r.v, before[1])
    assert r.stamp == before[2]
    return True


@pytest.mark.parametrize(
    ("v", "reason"),
    [
        ([6.1, 0, 0], "velocity 6.1 of joint 'a'"),
        ([0, -4.1, 0], "velocity -4.1 of joint 'b'"),
        ([1e100, 0, 0], "velocity 1e+100 of joint 'a'"),
        ([0, 0, 2.1 * UNLIMITED], "velocity 2100 of joint 'c'"),
        ([math.inf, 0, 0], "infinite velocity of joint 'a'"),
        ([0, 0, -math.inf], "infinite velocity of joint 'c'"),
    ],
)
@pytest.mark.parametrize("seen", [False, True])
@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
def test_velocities_beyond_a_multiple_of_their_limits(v, reason, seen, order):
    r = reader()
    if seen:
        assert found(r, [0, 0, 0], [6, -4, 2 * UNLIMITED], 1000)
    names = [NAMES[k] for k in order]
    assert refused(r, [0, 0, 0], np.array(v, dtype=float)[order], 1002, reason, names)
    assert (read if seen else found)(r, [0, 0, 0], [6, -4, 0], 1006)


def test_the_bound_itself_is_plausible_and_counts_time_and_jitter():
    r = reader()
    assert found(r, [0, 0, 0], [0, 0, 0], 1000)
    farthest = 6.0 * (0.010 + JITTER)
    assert refused(r, [farthest + 1e-9, 0, 0], [0, 0, 0], 1010, "it cannot have moved there from 0 in 0.01 s")
    assert read(r, [farthest - 1e-9, 0, 0], [0, 0, 0], 1010)


@pytest.mark.parametrize("partial", [False, True])
def test_a_jump_is_refused_until_there_was_time_for_it(partial):
    """Also where a state comes in several messages."""
    r = reader()
    names = NAMES[1:]
    assert found(r, [0, 0, 0], [0, 0, 0], 1000)
    for ms in range(1001, 1000 + round(1000 * (0.3 / 4.0 - JITTER)), 10):
        if partial:
            assert refused(r, [0.3, 0.0], [0, 0], ms, "'b' is not plausible", names)
        else:
            assert refused(r, [0, 0.3, 0], [0, 0, 0], ms, "'b' is not plausible")
    assert read(r, [0, 0.3, 0], [0, 0, 0], 1085)


def test_continuous_joints_may_jump_by_whole_turns_and_others_not():
    r = reader()
    assert found(r, [0, 3.14, 0], [0, 0, 0], 1000)
    assert read(r, [0, -3.14, 0], [0, 0, 0], 1001)
    assert read(r, [0, -3.14 + 20 * math.pi, 0], [0, 0, 0], 1002)
    assert refused(r, [0, 3.14, 8.0 * UNLIMITED * JITTER], [0, 0, 0], 1003, "'c' is not plausible")


def test_the_first_state_and_one_after_a_while_may_be_anywhere_within_reach_once_others_agree():
    r = reader()
    assert found(r, [1.9, 100.0, -50.0], [0, 0, 0], 1000)
    assert found(r, [-0.9, 3.0, 50.0], [0, 0, 0], 4000)
    assert found(r, [1.9, 1.0, 0.0], [0, 0, 0], 100)  # the clock was set back
    assert read(r, [1.9, 1.05, 0.0], [0, 0, 0], 9000)  # where it was left


@pytest.mark.parametrize("seen", [False, True])
@pytest.mark.parametrize("halves", [False, True])
def test_of_two_publishers_in_turns_neither_is_believed_at_first(seen, halves):
    """A joint_state_publisher's zeros beside the robot's states, which had stopped and come from elsewhere now."""
    r = reader()
    if seen:
        assert found(r, [-0.9, 1.5, 300.0], [0, 0, 0], 1000)
    robot, zeros = [1.9, -2.0, 20.0], [0.0, 0.0, 0.0]
    for k in range(40):
        q = robot if k % 2 else zeros
        for names in (NAMES[:1], NAMES[1:]) if halves else (NAMES,):
            part = [q[NAMES.index(name)] for name in names]
            assert not read(r, part, [0.0] * len(part), 4000 + 5 * k, names)
            assert r.doubted and r.implausible == (k > 0)
            assert "states in a row must agree" in r.problem
    for k in range(AGREEING):
        found_there = read(r, robot, [0, 0, 0], 5000 + 5 * k)
    assert found_there
    np.testing.assert_array_equal(r.q, robot)


@pytest.mark.parametrize("seen", [False, True])
def test_where_several_publish_states_must_agree_for_a_second(seen):
    """The robot's own may be late: zeros that come alone meanwhile are not the robot's."""
    r, robot = reader(), [1.9, -2.0, 20.0]
    if seen:
        assert found(r, robot, [0, 0, 0], 1000)
    r.several_publishers = lambda: True
    for k in range(90):
        assert not read(r, [0, 0, 0], [0, 0, 0], 4000 + 10 * k)
        assert r.doubted and not r.implausible
    assert "for 1 s, as there are several publishers of them" in r.problem
    if seen:
        assert read(r, robot, [0, 0, 0], 4900)  # where it was
    else:
        assert not read(r, robot, [0, 0, 0], 4900) and r.implausible
    r = reader()
    r.several_publishers = lambda: True
    come = [read(r, robot, [0, 0, 0], 4000 + 10 * k) for k in range(102)]
    assert come.index(True) == 100


@pytest.mark.parametrize(("v", "begins"), [([0, 0, 0], 100), ([math.nan] * 3, 101), ([0, 1e-9, 0], AGREEING - 1)])
def test_zeros_must_agree_for_a_second_though_nobody_else_is_known_to_publish(v, begins):
    """Another publisher's, while the robot's own has not been discovered yet; a robot that moves is measured."""
    r = reader()
    r.several_publishers = lambda: False
    come = [read(r, [0, 0, 0], v, 4000 + 10 * k) for k in range(110)]
    assert come.index(True) == begins and all(come[begins:])
    r = reader()
    assert not any(read(r, [0, 0, 0], v, 4000 + 10 * k) for k in range(min(begins, 60)))
    if begins > AGREEING:
        assert r.doubted and "for 1 s, as all joints are exactly at zero, and did for 0.59 s" in r.problem
        for k in range(200):  # the robot's come as well
            assert not read(r, [1.9, -2.0, 20.0] if k % 2 else [0, 0, 0], v, 4600 + 5 * k) and r.doubted


def test_states_that_are_too_old_to_be_answered_contradict_zeros_all_the_same():
    """A busy machine delays the robot's states: those of another publisher are the only ones in time."""
    r, robot = reader(), [1.9, -2.0, 20.0]
    assert found(r, robot, [0, 0, 0], 1000)
    for k in range(20):
        r.heed(list(NAMES), robot, [0.0] * 3, (4000 + 5 * k) * MS, 0.2)
        assert not read(r, [0, 0, 0], [0, 0, 0], 4200 + 5 * k)
        assert r.implausible or r.doubted
    before = r.stamp
    for stamp, age in ((before - MS, 0.2), (before + MS, 10.0), (before + MS, -0.2)):  # from before; useless; to come
        r.heed(list(NAMES), robot, [0.0] * 3, stamp, age)
        assert r.stamp == before
    assert read(r, robot, [0, 0, 0], 4400)


def test_where_the_robot_was_left_it_is_believed_beside_zeros():
    r = reader()
    assert found(r, [1.9, -2.0, 20.0], [0, 0, 0], 1000)
    assert not read(r, [0, 0, 0], [0, 0, 0], 4000)
    assert read(r, [1.9, -2.0, 20.0], [0, 0, 0], 4002)
    assert refused(r, [0, 0, 0], [0, 0, 0], 4004, "cannot have moved there")
    for k in range(AGREEING):  # each joint by itself: one that is left where it was vouches for no other
        assert read(r, [1.9, 1.0, 20.0], [0, 0, 0], 7000 + k) == (k == AGREEING - 1)


@pytest.mark.parametrize(("q", "name"), [([5.1, 0, 0], "a"), ([-4.1, 0, 0], "a"), ([0, 2 * FARTHEST, 0], "b"),
                                         ([0, 0, -1e300], "c")])  # fmt: skip
def test_positions_far_beyond_their_limits(q, name):
    assert refused(reader(), q, [0, 0, 0], 1000, f"joint {name!r} is not plausible: it is far beyond its limits")


def test_velocities_found_by_differentiation_are_looked_at_as_well():
    r = reader()
    assert not found(r, [0, 0, 0], [math.nan] * 3, 1000)
    assert not r.implausible and not r.doubted
    assert refused(r, [0.02, 0, 0], [math.nan] * 3, 1001, "velocity 20 of joint 'a'")
    assert read(r, [0.02, 0, 0], [math.nan] * 3, 1010)
    np.testing.assert_allclose(r.v, [2, 0, 0])


def test_nothing_is_looked_at_without_a_factor():
    r = reader(factor=0.0)
    assert read(r, [0, 0, 0], [1e100, 0, 0], 1000)
    assert read(r, [1e100, 0, 0], [1e100, 0, 0], 1001)
    assert refused(r, [1e100, 0, 0], [math.inf, 0, 0], 1002, "infinite velocity")  # that is no number
    with pytest.raises(ValueError, match="factor of plausible velocities is nan"):
        r.plausibility.factor = math.nan


@pytest.mark.parametrize(
    "parts", [(NAMES[:2], LIMITS, [False] * 3), (NAMES, LIMITS[:2], [False] * 3), (NAMES, LIMITS, [False] * 2)]
)
def test_no_joint_goes_without_its_bounds(parts):
    with pytest.raises(ValueError):
        Plausibility(*parts)


@given(
    st.lists(st.floats(-3.0, 3.0), min_size=2, max_size=40),
    st.floats(1.0, 10.0),
    st.integers(1, 100),
)
def test_what_a_joint_can_do_is_never_refused(speeds, factor, ms):
    """Any motion within the velocity limits, sampled at any rate."""
    r = reader(factor=factor)
    q, time = 0.5, 1000
    assert found(r, [q, 0, 0], [0, 0, 0], time)
    for speed in speeds:
        step = float(np.clip(speed * 1e-3 * ms, -1.0 - q, 2.0 - q))
        q, time = q + step, time + ms
        assert read(r, [q, 0, 0], [speed, 0, 0], time), r.problem


@pytest.mark.parametrize("rates", [[0.0] * 3, []])
def test_zeros_are_not_believed_of_a_robot_that_was_elsewhere_while_others_published(rates):
    """A joint_state_publisher's, once the robot's driver is dead: however long they come, and come alone."""
    r, robot, known = reader(), [1.9, -2.0, 20.0], "/driver, /joint_state_publisher"
    r.zeros.publishers = lambda: known
    assert found(r, [0.0] * 3, [0] * 3, 1000)  # where it begins
    assert found(r, robot, [0, 0, 0], 4000)
    for k in range(50):
        assert not read(r, [0.0] * 3, rates, 5000 + 100 * k)
        assert not r.implausible and not r.doubted
    assert "all joints are exactly at zero, and at rest, but 'b' was last at -2: nobody has measured that" in r.problem
    assert "joint states have come from /driver, " in r.problem
    assert read(r, robot, [0, 0, 0], 11000)  # the driver again, where it was left
    away = [-0.9, -2.0, 20.0]
    for k in range(AGREEING):  # or elsewhere, beside them
        assert read(r, away, [0] * 3, 14000 + 2 * k) == (k == AGREEING - 1)
        assert not read(r, [0.0] * 3, rates, 14001 + 2 * k)
    for begin, q, v in ((20000, [0.0, 0.0, 1e-9], [0] * 3), (30000, [0.0] * 3, [0, 1e-9, 0])):  # these were measured
        assert found(r, q, v, begin)
        assert found(r, robot, [0, 0, 0], begin + 5000)
    known = ""  # nobody but the driver, as a simulation that begins again
    assert found(r, [0.0] * 3, [0, 0, 0], 40000)


def test_zeros_are_those_of_joints_that_may_be_there():
    """A joint_state_publisher says the middle of the limits where these exclude zero."""
    allowed = Plausibility(["a", "b", "c"], [(-3.1, -0.1, 2.0), LIMITS[0], LIMITS[2]], [False] * 3)
    r = JointStateReader(NAMES, NAMES, plausibility=allowed)
    r.zeros.publishers = lambda: "/driver, /joint_state_publisher"
    assert found(r, [-2.0, 1.9, 5000.0], [0] * 3, 1000)
    for k in range(20):
        assert not read(r, [-1.6, 0.0, 0.0], [], 4000 + 100 * k)
    assert "nobody has measured that" in r.problem
    r.zeros.measured = False  # somebody has looked at the robot, and has activated the node
    assert [read(r, [-1.6, 0.0, 0.0], [0] * 3, 9000 + 500 * k) for k in range(3)] == [False, False, True]
