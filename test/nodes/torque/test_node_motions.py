# SPDX-License-Identifier: Apache-2.0
"""Motions over real DDS: what the wanted motion may be, when it ends, and that long messages hold nothing up."""

from __future__ import annotations

import contextlib
import os
import signal
import time

import numpy as np
import pytest
from helpers.models.arms import ARM, JOINTS
from helpers.nodes.motion_loop import SEES_WANTED, MotionLoop
from helpers.nodes.ros_nodes import PATIENCE, joint_state, needs_ros, others_run, wait_until
from helpers.nodes.trajectory_bytes import serialised

pytestmark = needs_ros
PARAMETERS = {"robot_description": ARM, **SEES_WANTED, "plausible_velocity": 0.0}
PATIENT = {"state_timeout": PATIENCE}  # of a busy machine, where silence is not what is tested


@pytest.fixture(scope="module")
def loop(ros, robot):
    with ros.start("feedforward", {**PARAMETERS, **PATIENT}, name="motions") as node:
        loop = MotionLoop(ros, node, robot)
        yield loop
        loop.close()


@pytest.fixture
def standing(loop):
    loop.stand()
    return loop


def long_trajectory(count=100_000, seconds=20.0, goal=0.5, names=JOINTS[:1]):
    """Bytes of a smooth motion of the shoulder to the goal, and its positions (count,) at times (count,)."""
    times = seconds * np.arange(1, count + 1) / count
    s = times / seconds
    positions = goal * (10 * s**3 - 15 * s**4 + 6 * s**5)
    ns = np.round(times * 1e9).astype(int).tolist()
    return serialised(names, [(t, [p] * len(names)) for t, p in zip(ns, positions.tolist())])


# --- set-points -----------------------------------------------------------------------------------


def test_one_point_with_a_time_is_gone_to_in_that_time(standing):
    standing.send(JOINTS, (5.0, [0.5, -0.5, 0.1]))
    standing.diagnosed("ok")
    wait_until(lambda: standing.wanted[-1][1][0] > 0.02, "a motion")
    steps, times = standing.steps()
    assert (np.abs(steps) <= 0.2 * times + 1e-6).all()  # a quintic of 0.5 in 5 s has its top at 0.19 per second


def test_set_point_that_is_a_step_is_refused(standing):
    standing.send(JOINTS, (0.0, [0.5, 0.0, 0.0]))
    standing.diagnosed("set-point 0.5 of joint 'shoulder' is 0.5 from where the robot is wanted")
    standing.goes_on()
    standing.has_not_moved()


def test_set_points_faster_than_the_velocity_limit_are_refused(standing):
    there, back = (serialised(JOINTS, [(0, [q, 0.0, 0.0])]) for q in (0.04, 0.0))
    for _ in range(50):  # at once: each is near the one before
        standing.trajectories.publish(there)
        standing.trajectories.publish(back)
    standing.diagnosed("set-points move faster than its velocity limit of 3")


def test_set_points_within_the_limits_are_followed(standing):
    for k in range(1, 40):
        time.sleep(0.01)
        standing.send(JOINTS, (0.0, [0.01 * k, 0.0, 0.0]))
        # two that came at once, on a busy machine, would be too fast
        wait_until(lambda k=k: abs(standing.wanted[-1][1][0] - 0.01 * k) < 1e-9, f"set-point {k}")


def test_arrays_of_positions_are_set_points(standing):
    from std_msgs.msg import Float64MultiArray

    arrays = standing.ros.publisher(Float64MultiArray, "motions/set_points")
    for k in range(1, 20):
        arrays.publish(Float64MultiArray(data=[0.01 * k, 0.0, 0.0]))
        time.sleep(0.01)
    wait_until(lambda: abs(standing.wanted[-1][1][0] - 0.19) < 1e-9, "the last set-point")
    for data, reason in (
        ([0.2, 0.0], "set-point refused: point 0 has 2 positions for 3 joints"),
        ([float("nan"), 0.0, 0.0], "set-point refused: point 0: positions of joint 'shoulder' has the value nan"),
        ([0.9, 0.0, 0.0], "set-point 0.9 of joint 'shoulder' is 0.71 from where the robot is wanted"),
        ([0.19, 0.0, 0.21], "position 0.21 of joint 'slide' is outside its limits"),
    ):
        arrays.publish(Float64MultiArray(data=data))
        standing.diagnosed(reason)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (([0.0, 0.0, 0.21],), "position 0.21 of joint 'slide' is outside its limits -0.1 to 0.2"),
        (([0.0] * 3, [3.5, 0.0, 0.0]), "velocity 3.5 of joint 'shoulder' is more than its limit of 3"),
        (([0.0] * 3, [0.0] * 3, [0.0, 1e308, 0.0]), "acceleration 1e+308 of joint 'elbow' is more than its limit of"),
        (([], [], [0.0, 1e5, 0.0]), "acceleration 100000 of joint 'elbow' is more than its limit of"),
    ],
)
def test_set_point_beyond_the_limits_is_refused(standing, row, reason):
    standing.send(JOINTS, (0.0, *row))
    standing.diagnosed(reason)
    standing.goes_on()
    standing.has_not_moved()


# --- the whole motion -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("points", "reason"),
    [
        ([(0.1, [1.0, 0.0, 0.0]), (1.0, [1.0, 0.0, 0.0])], "velocity"),
        ([(2.0, [0.0, 0.0, 0.19]), (4.0, [0.0, 0.0, 0.19]), (6.0, [0.0] * 3)], "between its points the motion leaves"),
        ([(1.0, [0.1] * 3), (1.000000001, [0.1, 0.2, 0.1]), (2.0, [0.0] * 3)], "of joint 'elbow'"),
        ([(1.0, [0.1] * 3, [0.0, 1e6, 0.0]), (2.0, [0.0] * 3)], "velocity 1e+06 of joint 'elbow' at 1 s is more than"),
        ([(1.0, [0.0] * 3, [0.0] * 3, [0.0, 1e308, 0.0]), (2.0, [0.0] * 3)], "acceleration 1e+308 of joint 'elbow'"),
        ([(1.0, [0.1] * 3), (1e9, [0.0] * 3)], "time_from_start of 1e+09 s is more than"),
        ([(1.0, [0.1] * 3, [0.0] * 3), (2.0, [0.0] * 3, [0.5, 0.0, 0.0])], "the last point has velocity 0.5"),
        ([(1.0, [1e200] * 3), (2.0, [0.0] * 3)], "position 1e+200 of joint 'shoulder' at 1 s is outside"),
    ],
    ids=["1 rad in 0.1 s", "overshoot", "1 ns", "1e6", "1e308", "1e9 s", "no rest", "1e200"],
)
def test_motion_beyond_the_limits_is_refused(standing, points, reason):
    standing.send(JOINTS, *points)
    standing.diagnosed(reason)
    standing.goes_on()
    standing.has_not_moved()


def test_velocity_jumps_of_linear_segments_are_limited(standing):
    standing.ros.set_parameters("motions", interpolation="as_given", acceleration_limits=[10.0])
    standing.send(JOINTS, (1.0, [0.5, 0.0, 0.0]), (2.0, [0.0, 0.0, 0.0]))
    standing.diagnosed("the velocity of joint 'shoulder' jumps by 0.5")  # from rest
    standing.goes_on()
    standing.has_not_moved()
    standing.ros.set_parameters("motions", interpolation="smooth", acceleration_limits=[])


def test_limits_that_become_narrower_end_the_motion(standing):
    standing.send(JOINTS, (5.0, [1.0, 0.0, 0.0]))
    wait_until(lambda: standing.wanted[-1][1][0] > 0.02, "a motion")
    standing.ros.set_parameters("motions", velocity_limits=[0.1])
    standing.diagnosed("the limits became narrower")
    standing.goes_on()
    del standing.wanted[:-1]
    standing.goes_on()
    standing.has_not_moved()
    standing.ros.set_parameters("motions", velocity_limits=[])


def test_description_with_narrower_limits_ends_the_motion(standing):
    standing.send(JOINTS, (30.0, [1.0, 0.0, 0.0]))
    wait_until(lambda: standing.wanted[-1][1][0] > 0.001, "a motion")
    slower = ARM.replace('effort="80" velocity="3"', 'effort="80" velocity="0.5"')
    standing.ros.set_parameters("motions", robot_description=slower)
    standing.diagnosed("the limits became narrower")
    standing.goes_on()
    del standing.wanted[:-1]
    standing.goes_on()
    standing.has_not_moved()
    standing.ros.set_parameters("motions", robot_description=ARM)
    wait_until(lambda: standing.node.log.count("ready for") >= 3, "the first description again")


# --- what ends a motion ---------------------------------------------------------------------------


def test_path_tolerance_ends_the_motion(standing):
    standing.follows = False  # the robot is stuck
    standing.send(JOINTS, (2.0, [1.0, 0.0, 0.0]))
    standing.diagnosed("path tolerance violated: joint 'shoulder' is 0.2")
    assert max(q[0] for _, q in standing.wanted) <= 0.2 + 1e-9  # however far it would have gone since the last state
    del standing.wanted[:]
    standing.goes_on()
    np.testing.assert_allclose([q for _, q in standing.wanted], 0.0, atol=1e-9)
    count = len(standing.reports)
    wait_until(lambda: len(standing.reports) >= count + 2, "more diagnostics")
    assert all("path tolerance" in report.status[0].message for report in standing.reports[-2:])
    standing.send(JOINTS, (2.0, [0.1, 0.0, 0.0]))
    del standing.reports[:]
    standing.diagnosed("ok")


def test_goal_tolerance_is_watched_after_the_end(standing):
    assert standing.ros.set_parameters("motions", goal_tolerance=[0.01], goal_time=0.3)[0].successful
    standing.follows = False
    standing.send(JOINTS, (0.5, [0.1, 0.0, 0.0]))
    standing.diagnosed("goal tolerance violated: joint 'shoulder' is 0.1 from the end of the trajectory 0.3 s after it")
    del standing.wanted[:]
    standing.goes_on()
    np.testing.assert_allclose([q for _, q in standing.wanted], 0.0, atol=1e-9)
    standing.ros.set_parameters("motions", goal_tolerance=[], goal_time=0.0)


def test_gap_without_states_ends_the_motion(standing):
    standing.send(JOINTS, (60.0, [1.0, 0.0, 0.0]))
    wait_until(lambda: standing.wanted[-1][1][0] > 1e-6, "a motion")
    standing.streams = False
    standing.ros.set_parameters("motions", state_timeout=0.1)
    standing.diagnosed("no answer for")
    del standing.wanted[:]
    standing.follows = False  # stays where it was
    standing.streams = True
    standing.goes_on()
    np.testing.assert_allclose([q for _, q in standing.wanted], [standing.q] * len(standing.wanted), atol=1e-9)
    standing.diagnosed("while a trajectory ran: it is ended, the robot held where it is")


def test_robot_that_was_moved_while_states_were_silent_is_held_where_it_is(standing):
    standing.streams = False
    standing.ros.set_parameters("motions", state_timeout=0.1)
    standing.diagnosed("no answer for")
    del standing.wanted[:]
    standing.q, standing.streams = np.array([0.4, 0.0, 0.0]), True
    standing.goes_on()
    np.testing.assert_allclose([q for _, q in standing.wanted], [[0.4, 0.0, 0.0]] * len(standing.wanted), atol=1e-9)


def test_no_trajectory_begins_while_states_are_silent(standing):
    standing.streams = False
    standing.ros.set_parameters("motions", state_timeout=0.1)
    standing.diagnosed("no answer for")
    standing.send(JOINTS, (2.0, [0.1] * 3))
    standing.diagnosed("trajectory refused: the node is silent: no answer for")
    standing.streams = True
    standing.goes_on()
    standing.has_not_moved()


# --- long messages --------------------------------------------------------------------------------


def test_100_000_points_are_followed_without_a_jump(standing):
    standing.trajectories.publish(long_trajectory())
    wait_until(lambda: "trajectory of 100000 points, 20.000 s" in standing.node.log, "the long trajectory", 60.0)
    wait_until(lambda: standing.wanted[-1][1][0] > 0.02, "a motion")
    steps, times = standing.steps()
    assert (np.abs(steps) <= 0.05 * times + 1e-6).all()  # its top is 0.047 per second


def test_a_long_trajectory_joins_a_running_motion(standing):
    standing.send(JOINTS, (8.0, [-0.5, 0.0, 0.0]))
    wait_until(lambda: standing.wanted[-1][1][0] < -0.005, "a motion")
    standing.trajectories.publish(long_trajectory(count=20_000, goal=0.2, names=JOINTS[1:2]))
    wait_until(lambda: standing.wanted[-1][1][1] > 0.005, "the second motion", 40.0)
    steps, times = standing.steps()
    assert (np.abs(steps) <= 0.15 * times + 1e-6).all()


def test_more_points_than_allowed_are_refused(standing):
    standing.trajectories.publish(long_trajectory(count=100_001))
    standing.diagnosed("the trajectory has 100001 points: more than largest_trajectory (100000)")
    standing.has_not_moved()


def test_30_000_joint_names_are_refused_in_no_time(standing):
    names = [f"joint_{k}" for k in range(30_000)]
    standing.trajectories.publish(serialised(names, [(10**9, [0.0] * len(names))]))
    standing.diagnosed("is not one of shoulder, elbow, slide")
    steps, times = standing.steps()
    assert times.max() < 0.5
    standing.has_not_moved()


def test_messages_larger_than_the_bound_are_refused_unread(standing):
    states = standing.ros.publisher(type(joint_state([])), "joint_states", 10)
    states.publish(joint_state([f"joint_{k}" for k in range(5_000)], [0.0] * 5_000))
    standing.diagnosed("message on joint_states refused: more than 65536 bytes")
    standing.goes_on()
    standing.has_not_moved()


def test_the_later_trajectory_replaces_one_that_is_being_planned(standing):
    standing.trajectories.publish(long_trajectory(goal=-1.0))
    standing.send(JOINTS, (5.0, [0.5, 0.0, 0.0]))
    wait_until(lambda: standing.wanted[-1][1][0] > 0.1, "the later motion")
    others_run(1.5)
    steps, _ = standing.steps()
    assert (steps[:, 0] > -1e-9).all()


def test_planning_process_is_there_before_it_is_asked():
    from rbd_dynamics.nodes.torque.planning_process import PlanningProcess

    planner = PlanningProcess()
    try:
        planner.start()
        process = planner._process
        assert process is not None and process.poll() is None
    finally:
        planner.close()
    assert process.wait(timeout=PATIENCE) is not None


def test_planning_process_that_is_killed_is_said_and_replaced(standing):
    (worker,) = children(standing.node.process.pid)
    standing.trajectories.publish(long_trajectory())
    others_run(0.1)
    os.kill(worker, signal.SIGKILL)
    standing.diagnosed("the planning process ended")
    standing.trajectories.publish(long_trajectory(count=5000))
    wait_until(lambda: "trajectory of 5000 points" in standing.node.log, "the next trajectory", 40.0)
    standing.goes_on()


@pytest.mark.parametrize("stamped", [True, False])
def test_trajectory_that_was_planned_too_late_does_not_hurry(standing, stamped):
    """It is planned while its beginning passes by: what has a start is refused, what has none begins later."""
    (worker,) = children(standing.node.process.pid)
    os.kill(worker, signal.SIGSTOP)
    try:
        stamp = time.time_ns() + 100_000_000 if stamped else None
        standing.send(JOINTS, (1.0, [0.05, -0.05, 0.01]), (2.0, [0.0, -0.05, 0.01]), stamp=stamp)
        others_run(0.8)
    finally:
        os.kill(worker, signal.SIGCONT)
    if stamped:
        standing.diagnosed("planning took too long, is the machine busy?")
        standing.goes_on()
        standing.has_not_moved()
    else:
        wait_until(lambda: "trajectory of 2 points" in standing.node.log, "a motion")
        wait_until(lambda: standing.wanted[-1][1][0] > 0.02, "a motion")
        steps, times = standing.steps()
        assert (np.abs(steps) <= 0.12 * times + 1e-6).all()  # its second part, 0.05 in 1 s, at most


def children(pid):
    """Processes that it has started; a thread of it may end while they are read."""
    found = set()
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found.update(int(child) for child in file.read().split())
    return sorted(found)


def test_no_process_is_left_when_the_node_is_killed(ros, robot):
    node = ros.start("feedforward", PARAMETERS, name="killed")
    node.is_active()
    (worker,) = children(node.process.pid)
    node.process.kill()
    node.process.wait()
    wait_until(lambda: not os.path.exists(f"/proc/{worker}") or zombie(worker), "the end of the planning process")


def zombie(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True
