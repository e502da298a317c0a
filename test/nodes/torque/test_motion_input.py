# SPDX-License-Identifier: Apache-2.0
"""A trajectory that is planned in another process takes over without a jump, however late its plan is there."""

from __future__ import annotations

import os
import signal
import socket
import time

import numpy as np
import pytest

pytest.importorskip("trajectory_msgs")
from rclpy.serialization import serialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rbd_dynamics.control.motion.desired_motion import DesiredMotion
from rbd_dynamics.control.motion.goal import MotionGoal
from rbd_dynamics.control.motion.limits import MotionLimits
from rbd_dynamics.control.motion.options import MotionOptions
from rbd_dynamics.control.motion.trajectory import Point, TrajectoryError, Waypoints
from rbd_dynamics.nodes.torque.motion_input import MotionInput, Scene
from rbd_dynamics.nodes.torque.planning_process import ENDED, HEAD, _received

MS = 1_000_000
ENOUGH = 120.0  # s, on a busy machine
Q = np.array([0.3, -0.2])
END = 1000  # ms, of the trajectory before


def message(*points):
    found = JointTrajectory(joint_names=["a", "b"])
    for seconds, positions in points:
        point = JointTrajectoryPoint(positions=[float(x) for x in positions])
        point.time_from_start.sec, point.time_from_start.nanosec = divmod(round(seconds * 1e9), 10**9)
        found.points.append(point)
    return bytes(serialize_message(found))


class Bench:
    """A motion on its way, and what it is told; time is what the test says it is."""

    def __init__(self):
        self.refused = []
        self.input = MotionInput(lambda line: None, self.refused.append)
        self.input.open()
        self.motion = DesiredMotion(["a", "b"], options=MotionOptions(start_tolerance=0.5))
        self.q, self.now = Q, 0
        self.step_to(1)
        before = Waypoints.of(
            ["a", "b"], [Point(1e-3 * END - 0.1, [0.5, 0.15], [1.5, -0.8]), Point(1e-3 * END, [0.6, 0.1], [0.0, 0.0])]
        )
        self.motion.follow(before, MS, MS, Q, np.zeros(2))

    def step_to(self, ms):
        """Gives the state that is wanted then."""
        self.now = round(ms * MS)
        self.motion.update(self.now, self.q, np.zeros(2))
        self.q = self.motion.state()[0]
        return self.motion.state()

    def scene(self):
        return Scene(self.motion, MotionLimits.of(("a", "b")), self.q, np.zeros(2), self.now)

    def ask(self, raw):
        self.input.take(raw, self.scene(), 100, self.now, True)

    def wait(self):
        """For the plan, which does not take over before `poll`."""
        end = time.monotonic() + ENOUGH
        while self.input._planner.answer is None:
            assert time.monotonic() < end
            time.sleep(0.001)


@pytest.fixture
def bench():
    made = Bench()
    yield made
    made.input.close()


@pytest.mark.parametrize("asked", [END - 90, END - 60, END - 30])
@pytest.mark.parametrize("ready", [END + 3, END + 150])
def test_a_plan_that_is_ready_when_the_motion_before_has_ended_begins_at_rest(bench, asked, ready):
    """It may have been planned from that motion, which moves fast until its end."""
    bench.step_to(asked)
    bench.ask(message((0.5, [0.7, 0.3]), (1.0, [0.2, 0.2])))
    bench.wait()
    held = bench.step_to(ready)
    assert bench.motion.mode == "hold"
    bench.input.poll(bench.scene())
    while bench.input.planning:  # planned again, from the hold
        bench.wait()
        held = bench.step_to(1e-6 * bench.now + 1)
        bench.input.poll(bench.scene())
    assert not bench.refused
    np.testing.assert_allclose(held, [[0.6, 0.1], [0, 0], [0, 0]], atol=1e-12)
    ms, before = 1e-6 * bench.now, held
    for _ in range(200):
        ms += 1.0
        now = bench.step_to(ms)
        assert np.abs(now[0] - before[0]).max() < 3e-3
        assert np.abs(now[1] - before[1]).max() < 0.05
        before = now
    assert bench.motion.mode == "trajectory"
    bench.step_to(ms + 2000)
    np.testing.assert_allclose(bench.motion.state()[0], [0.2, 0.2], atol=1e-9)


def test_a_plan_from_a_hold_begins_as_soon_as_it_is_there(bench):
    bench.step_to(END + 10)
    bench.ask(message((0.5, [0.7, 0.3]), (1.0, [0.2, 0.2])))
    bench.wait()
    bench.step_to(END + 500)
    bench.input.poll(bench.scene())
    assert not bench.input.planning and not bench.refused
    bench.step_to(END + 500 + 1001)
    np.testing.assert_allclose(bench.motion.state()[0], [0.2, 0.2], atol=1e-6)


@pytest.mark.parametrize("way", ["message", "array"])
def test_set_points_are_within_the_limits_of_now_whatever_the_motion_had_before(way):
    """A motion has none at first, nor has that of a robot whose description has just come."""
    motion, told = DesiredMotion(["a", "b"]), MotionInput(lambda line: None, lambda why: None)
    motion.update(MS, Q, np.zeros(2))
    limits = MotionLimits.of(("a", "b"), upper=[0.4, 0.4])

    def give(position):
        scene = Scene(motion, limits, Q, np.zeros(2), 2 * MS)
        if way == "message":
            told.take(message((0.0, position)), scene, 100, 2 * MS, True)
        else:
            told.take_set_point(Waypoints.of(["a", "b"], [Point(0.0, position)]), scene, 2 * MS, True)

    give([0.35, -0.2])
    with pytest.raises(TrajectoryError, match="'a'"):
        give([0.45, -0.2])
    np.testing.assert_array_equal(motion.state()[0], [0.35, -0.2])


def test_a_plan_that_is_cancelled_while_it_is_made_is_never_followed(bench):
    goal, other = MotionGoal(), MotionGoal()
    bench.step_to(END + 10)
    held = bench.motion.state()[0].copy()
    bench.ask(message((0.5, [0.7, 0.3])))
    bench.input._plan.goal = goal
    bench.input.cancel(other)
    assert bench.input.planning and not goal.outcome
    bench.input.cancel(goal)
    assert not bench.input.planning and (goal.outcome, goal.reason) == ("ended", "cancelled")
    bench.wait()
    bench.input.poll(bench.scene())
    np.testing.assert_array_equal(bench.step_to(END + 2000)[0], held)


@pytest.mark.parametrize("how", ["killed", "gone without a word"])
def test_a_planning_process_that_dies_over_a_trajectory_is_the_answer_and_another_takes_its_place(bench, how):
    bench.step_to(END + 10)
    planner = bench.input._planner
    if how == "killed":
        os.kill(planner._process.pid, signal.SIGSTOP)  # it does not answer before it dies
        bench.ask(message((0.5, [0.7, 0.3])))
        os.kill(planner._process.pid, signal.SIGKILL)
    else:
        planner._end()
        planner._socket, theirs = socket.socketpair()
        with theirs:
            bench.ask(message((0.5, [0.7, 0.3])))
            pickled, raw = HEAD.unpack(_received(theirs, HEAD.size))
            _received(theirs, pickled + raw)
    bench.wait()
    bench.input.poll(bench.scene())
    assert bench.refused == [ENDED] and not bench.input.planning
    bench.ask(message((0.5, [0.7, 0.3])))
    bench.wait()
    bench.input.poll(bench.scene())
    np.testing.assert_allclose(bench.step_to(END + 1000)[0], [0.7, 0.3], atol=1e-6)


def test_an_answer_that_is_cut_short_is_not_waited_for():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"half")
        theirs.close()
        with pytest.raises(EOFError):
            _received(ours, 8)
