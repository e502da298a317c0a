# SPDX-License-Identifier: Apache-2.0
"""Joint states are matched by name and never believed blindly."""

import array
import math

import numpy as np
import pytest

from rbd_dynamics.joint_states.reader import JointStateReader

MS = 1_000_000


def numbers(*values):
    return array.array("d", values)


def reader(required=("a", "b", "c"), **options):
    return JointStateReader(["a", "b", "c"], required, **options)


def test_any_order_and_extra_joints():
    r = reader()
    assert r.read(["c", "x", "a", "b"], numbers(3, 9, 1, 2), numbers(30, 90, 10, 20), MS)
    np.testing.assert_array_equal(r.q, [1, 2, 3])
    np.testing.assert_array_equal(r.v, [10, 20, 30])
    assert r.read(["a", "b", "c"], numbers(4, 5, 6), numbers(0, 0, 0), 2 * MS)
    np.testing.assert_array_equal(r.q, [4, 5, 6])


def test_same_names_are_read_again_and_again():
    r = reader()
    for k in range(5):
        assert r.read(["c", "b", "a"], numbers(k, k + 1, k + 2), numbers(0, 0, 0), k * MS)
        np.testing.assert_array_equal(r.q, [k + 2, k + 1, k])


def test_missing_velocities_are_differentiated_from_the_second_message_on():
    r = reader()
    assert not r.read(["a", "b", "c"], numbers(0, 0, 0), numbers(), MS)
    assert "differentiation" in r.problem
    assert r.read(["a", "b", "c"], numbers(1, 2, 3), numbers(), 11 * MS)
    np.testing.assert_allclose(r.v, [100, 200, 300])
    assert r.differentiated == ("a", "b", "c")
    assert r.read(["a", "b", "c"], numbers(2, 3, 4), numbers(7, math.nan, 9), 21 * MS)
    np.testing.assert_allclose(r.v, [7, 100, 9])
    assert r.differentiated == ("b",)
    assert r.read(["a", "b", "c"], numbers(2, 3, 4), numbers(7, 8, 9), 31 * MS)
    assert r.differentiated == ()


def test_the_stamp_is_that_of_the_message_that_completed_the_state():
    """Whole, with velocities found by differentiation, and in parts."""
    r = reader()
    assert r.read(["a", "b", "c"], numbers(0, 0, 0), numbers(0, 0, 0), 10 * MS) and r.stamp == 10 * MS
    assert r.read(["a", "b", "c"], numbers(1, 2, 3), numbers(), 20 * MS) and r.stamp == 20 * MS
    np.testing.assert_allclose(r.v, [100, 200, 300])  # since the whole one before
    assert not r.read(["a", "b"], numbers(1, 2), numbers(4, 5), 30 * MS)
    assert r.stamp == 20 * MS
    assert r.read(["c"], numbers(3), numbers(6), 31 * MS) and r.stamp == 31 * MS


def test_missing_velocities_are_refused_if_told_so():
    r = reader(missing_velocity="refuse")
    assert not r.read(["a", "b", "c"], numbers(1, 2, 3), numbers(7, math.nan, 9), MS)
    assert "velocity for joint 'b'" in r.problem


def test_repeated_stamp_gives_no_velocity():
    r = reader()
    r.read(["a", "b", "c"], numbers(0, 0, 0), numbers(), MS)
    assert not r.read(["a", "b", "c"], numbers(1, 1, 1), numbers(), MS)
    assert "not newer" in r.problem


@pytest.mark.parametrize(
    ("names", "position", "velocity", "problem"),
    [
        (["a", "b", "c"], [0, math.nan, 0], [0, 0, 0], "position for joint 'b'"),
        (["a", "b", "c"], [0, math.inf, 0], [0, 0, 0], "position for joint 'b'"),
        (["a", "b", "c"], [0, 0], [0, 0], "2 positions for 3 joints"),
        (["a", "b", "c"], [0, 0, 0], [0, 0], "2 velocities for 3 joints"),
        (["a", "b", "b"], [0, 0, 0], [0, 0, 0], "'b' twice"),
        (["x"], [0], [0], "none of the robot's joints"),
        ([], [], [], "none of the robot's joints"),
        (["a", "b"], [0, 0], [0, 0], "no joint 'c'"),
    ],
)
def test_bad_message_is_refused_and_the_state_kept(names, position, velocity, problem):
    r = reader()
    assert r.read(["a", "b", "c"], numbers(1, 2, 3), numbers(4, 5, 6), MS)
    assert not r.read(names, numbers(*position), numbers(*velocity), 2 * MS)
    assert problem in r.problem
    assert r.stamp == MS
    assert r.read(["a", "b", "c"], numbers(1, 2, 3), numbers(4, 5, 6), 3 * MS)


def test_state_may_come_in_several_messages():
    r = reader()
    assert not r.read(["a", "b"], numbers(1, 2), numbers(4, 5), MS)
    assert r.read(["c"], numbers(3), numbers(6), 2 * MS)
    np.testing.assert_array_equal([r.q, r.v], [[1, 2, 3], [4, 5, 6]])
    assert not r.read(["c"], numbers(3), numbers(6), 3 * MS)


def test_the_parts_of_a_state_are_of_one_time():
    r = reader(longest_age=0.1)
    assert not r.read(["a", "b"], numbers(1, 2), numbers(4, 5), MS)
    assert not r.read(["c"], numbers(3), numbers(6), 60_000 * MS)  # a and b are of a minute ago
    assert r.problem == "joint state has no joint 'a', which was last seen 60 s ago, more than 0.1 s"
    assert not r.read(["c"], numbers(3), numbers(6), 60_050 * MS)
    assert r.read(["a", "b"], numbers(7, 8), numbers(0, 0), 60_060 * MS)
    np.testing.assert_array_equal(r.q, [7, 8, 3])
    # and the other way round: the message that completes it is the old one
    assert not r.read(["a", "b"], numbers(7, 8), numbers(0, 0), 61_000 * MS)
    assert not r.read(["c"], numbers(9), numbers(0), 60_100 * MS)
    assert r.read(["c"], numbers(9), numbers(0), 61_000 * MS)


def test_joints_that_are_not_required_keep_their_last_position_at_rest():
    r = reader(required=["a", "b"])
    assert not r.read(["c"], numbers(0.5), numbers(1.0), MS)
    assert r.read(["a", "b"], numbers(1, 2), numbers(3, 4), 2 * MS)
    np.testing.assert_array_equal([r.q, r.v], [[1, 2, 0.5], [3, 4, 0]])
    assert r.read(["a", "b", "c"], numbers(1, 2, math.nan), numbers(3, 4, math.nan), 3 * MS)
    np.testing.assert_array_equal(r.q, [1, 2, 0.5])
