# SPDX-License-Identifier: Apache-2.0
"""Motions of a tool: charts, poses that are gone to, twists, trajectories out of messages."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from rbd_dynamics.control.cartesian.motion import CartesianMotion
from rbd_dynamics.control.cartesian.pose_chart import TOOL_ROWS, PoseChart
from rbd_dynamics.control.cartesian.pose_trajectory_message import PoseDecoder
from rbd_dynamics.control.motion.limits import MotionLimits
from rbd_dynamics.control.motion.options import MotionOptions
from rbd_dynamics.control.motion.trajectory import TrajectoryError

MS = 1_000_000
BASE = Rotation.from_euler("xyz", [0.3, -2.0, 1.0]).as_matrix()
LIMITS = MotionLimits.of(
    TOOL_ROWS, lower=[-np.inf] * 3 + [-1.0] * 3, upper=[np.inf] * 3 + [1.0] * 3,
    velocity=[1.0] * 3 + [0.5] * 3, acceleration=[5.0] * 3 + [2.0] * 3,
)  # fmt: skip


def pose(rotvec=(0.0, 0.0, 0.0), place=(0.0, 0.0, 0.0), base=BASE):
    found = np.eye(4)
    found[:3, :3], found[:3, 3] = base @ Rotation.from_rotvec(rotvec).as_matrix(), place
    return found


class Loop:
    """States every millisecond; the tool is where it is wanted. Rows of `seen`: theta and its rates in that chart."""

    def __init__(self, **options):
        self.motion = CartesianMotion(options=MotionOptions(**options))
        self.motion.limits = LIMITS
        self.now = 1_000 * MS
        self.motion.recentre(pose())
        self.motion.update(self.now, np.zeros(6), np.zeros(6))
        self.poses, self.twists = [], []

    def run(self, seconds, period=MS):
        for _ in range(round(seconds * 1e9 / period)):
            self.now += period
            theta, rate, _ = self.motion.state()
            self.motion.update(self.now, theta, rate)
            theta, rate, _ = self.motion.state()
            self.poses.append(self.motion.chart.pose(theta))
            self.twists.append(self.motion.chart.twist(theta, rate))
        return self

    @property
    def places(self):
        return np.array(self.poses)[:, :3, 3]

    def within_limits(self):
        twists = np.array(self.twists)
        assert np.linalg.norm(twists[:, :3], axis=1).max() < 1.0001
        assert np.linalg.norm(twists[:, 3:], axis=1).max() < 0.5001
        changes = np.diff(twists, axis=0) / 1e-3
        assert np.linalg.norm(changes[:, :3], axis=1).max() < 5.1 + 1.0  # w turns the axes, too
        assert np.linalg.norm(changes[:, 3:], axis=1).max() < 2.001


def test_charts_go_there_and_back():
    rng = np.random.default_rng(0)
    chart = PoseChart(BASE)
    theta, rate, acceleration = rng.standard_normal((3, 6))
    h = 1e-5

    def at(t):
        return chart.pose(theta + t * rate + 0.5 * t * t * acceleration)

    def twist(t):
        return chart.twist(theta + t * rate + 0.5 * t * t * acceleration, rate + t * acceleration)

    np.testing.assert_allclose(chart.coordinates(chart.pose(theta)), theta, atol=1e-12)
    turned = Rotation.from_matrix(at(h)[:3, :3] @ at(-h)[:3, :3].T).as_rotvec() / (2 * h)
    np.testing.assert_allclose(twist(0.0)[:3], turned, rtol=1e-8)
    np.testing.assert_allclose(chart.rates(theta, twist(0.0)), rate, atol=1e-12)
    found = chart.accelerations(theta, rate, (twist(h) - twist(-h)) / (2 * h))
    np.testing.assert_allclose(found, acceleration, atol=1e-7)
    other, state = chart.moved(np.array([theta, rate, acceleration]))
    np.testing.assert_allclose(other.pose(state[0]), chart.pose(theta), atol=1e-12)
    np.testing.assert_allclose(other.twist(state[0], state[1]), twist(0.0), atol=1e-12)
    back = other.twist(state[0] + h * state[1] + 0.5 * h * h * state[2], state[1] + h * state[2])
    np.testing.assert_allclose(back, twist(h), atol=1e-8)


def test_a_pose_is_gone_to_within_limits_and_held():
    loop = Loop()
    goal = pose([0.5, -1.5, 0.3], [0.4, -0.2, 0.6])
    loop.motion.go_to(goal, loop.now)
    assert loop.motion.mode == "pose"
    loop.run(4.0).within_limits()
    assert loop.motion.mode == "hold"
    np.testing.assert_allclose(loop.poses[-1], goal, atol=1e-7)
    along = loop.places @ [0.4, -0.2, 0.6] / np.linalg.norm([0.4, -0.2, 0.6])
    assert along.max() <= np.linalg.norm([0.4, -0.2, 0.6]) + 1e-6  # never past it


def test_a_stream_of_poses_is_followed_without_jolts():
    """At 20 Hz, as a policy or a hand gives them; sparse ones far apart as well."""
    loop = Loop()
    for k in range(40):
        loop.motion.go_to(pose([0.0, 0.0, 0.01 * k], [0.2 * np.sin(0.1 * k), 0.0, 0.005 * k]), loop.now)
        loop.run(0.05)
    loop.within_limits()
    lag = 0.2 * np.sin(0.1 * 39) - loop.places[-1, 0]
    assert abs(lag) < 0.06
    loop.motion.go_to(pose(place=[-0.5, 0.5, 0.0]), loop.now)
    loop.run(4.0).within_limits()
    np.testing.assert_allclose(loop.places[-1], [-0.5, 0.5, 0.0], atol=1e-7)


def test_a_twist_moves_until_it_is_silent():
    loop = Loop(setpoint_timeout=0.3)
    twist = np.array([0.0, 0.0, 0.4, 0.1, 0.0, 0.0])
    for _ in range(20):
        loop.motion.drive(twist, loop.now)
        loop.run(0.1)
    np.testing.assert_allclose(loop.twists[-1], twist, atol=1e-6)
    loop.run(1.0).within_limits()
    assert loop.motion.mode == "hold"
    assert loop.twists[-1].any() == 0
    assert 0.2 < loop.places[-1, 0] < 0.25


@pytest.mark.parametrize(
    ("twist", "size"),
    [([0.05, 0.1, 0.0, 0.0, 0.02, 0.1], 1.0), ([0.8, 0.0, 0.8, 0.0, 0.0, 0.0], 1.0 / np.hypot(0.8, 0.8)),
     ([0.0, 0.0, 0.0, 0.4, -0.4, 0.0], 0.5 / np.hypot(0.4, 0.4))],
)  # fmt: skip
def test_a_twist_is_driven_as_it_is_up_to_the_limit_of_its_norm(twist, size):
    """Each of its numbers may be within its limit and the speed beyond it: only that is taken back, to the limit."""
    loop = Loop(setpoint_timeout=0.0)
    loop.motion.drive(np.array(twist), loop.now)
    loop.run(0.6).within_limits()
    np.testing.assert_allclose(loop.twists[-1], size * np.array(twist), atol=1e-6)


def turning(loop, seconds, off):
    """The tool is turned by `off` from where it is wanted, in its own axes."""
    off = Rotation.from_rotvec(off).as_matrix()
    for _ in range(round(1e3 * seconds)):
        loop.motion.come_along()
        chart = loop.motion.chart
        there = chart.pose(loop.motion.state()[0])
        there[:3, :3] = there[:3, :3] @ off
        loop.now += MS
        loop.motion.update(loop.now, chart.coordinates(there), np.zeros(6))
        theta, rate, _ = loop.motion.state()
        loop.poses.append(chart.pose(theta))
        loop.twists.append(chart.twist(theta, rate))
    return loop


@pytest.mark.parametrize("off", [(0.05, 0.03, 0.0), (-0.05, 0.0, 0.03)])
def test_half_a_turn_is_no_violated_tolerance(off):
    """At pi a rotation vector changes over to the other side: the tool is where it is wanted all the same."""
    loop = Loop(path_tolerance=(0.2,))
    goal = pose([np.pi, 0.0, 0.0], [0.1, 0.0, 0.0])
    loop.motion.go_to(goal, loop.now)
    turning(loop, 6.0, off).within_limits()
    assert not loop.motion.problem and loop.motion.mode == "hold"
    np.testing.assert_allclose(loop.poses[-1], goal, atol=1e-7)


def test_a_twist_turns_the_tool_round_and_round():
    loop = Loop(path_tolerance=(0.2,), setpoint_timeout=0.0)
    twist = np.array([0.3, -0.5, 0.6, 0.0, 0.0, 0.0])
    loop.motion.drive(twist, loop.now)
    turning(loop, 8.0, (0.03, 0.05, 0.0)).within_limits()
    assert not loop.motion.problem and loop.motion.mode == "twist"
    np.testing.assert_allclose(loop.twists[-1], twist, atol=1e-6)


def test_a_twist_ends_at_the_bounds():
    loop = Loop(setpoint_timeout=0.0)
    loop.motion.drive(np.array([0.0, 0.0, 0.0, 0.5, 0.0, 0.0]), loop.now)
    loop.run(4.0).within_limits()
    assert 0.99 < loop.places[:, 0].max() <= 1.0 + 1e-6
    with pytest.raises(TrajectoryError, match=r"tool\.x"):
        loop.motion.go_to(pose(place=[1.2, 0.0, 0.0]), loop.now)
    assert loop.motion.mode == "twist"


@pytest.mark.parametrize(
    "v, way",
    [
        ((0.05, 0.0, 0.0), (0.05, 0.0, 0.0)),  # inwards, as fast as it was wanted
        ((-0.05, 0.02, -0.05), (0.0, 0.02, 0.0)),  # not farther outwards
        ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    ],
)
def test_a_tool_outside_the_bounds_moves_only_as_it_is_told_to(v, way):
    """The bounds may be moved while it is there: nothing draws it back."""
    loop = Loop(setpoint_timeout=0.0)
    lower = [-np.inf] * 3 + [0.6, -1.0, 0.4]
    loop.motion.limits = MotionLimits.of(
        TOOL_ROWS, lower=lower, upper=LIMITS.upper, velocity=LIMITS.velocity, acceleration=LIMITS.acceleration
    )
    twist = np.array([0.1, 0.0, 0.0, *v])
    loop.motion.drive(twist, loop.now)
    loop.run(1.0).within_limits()
    np.testing.assert_allclose(loop.twists[-1][3:], way, atol=1e-6)
    speeds = np.array(loop.twists)[:, 3:]
    assert (np.abs(speeds) <= np.abs(way) + 1e-6).all()


def test_steps_do_not_depend_on_when_states_come():
    ways = []
    for period in (MS, 5 * MS, 777_000):
        loop = Loop()
        loop.motion.go_to(pose([0.2, 0.0, 0.0], [0.3, 0.1, 0.0]), loop.now)
        loop.run(0.7770, period)
        ways.append(loop.poses[-1])
    np.testing.assert_allclose(ways[1], ways[0], atol=2e-3)
    np.testing.assert_allclose(ways[2], ways[0], atol=1e-6)


def test_a_trajectory_takes_over_from_a_moving_tool_without_a_jump():
    loop = Loop(start_tolerance=0.5)
    loop.motion.go_to(pose(place=[0.6, 0.0, 0.0]), loop.now)
    loop.run(0.5)
    loop.motion.recentre(loop.poses[-1])
    when = loop.now + 50 * MS
    present = loop.motion.state()
    request, number = loop.motion.request(when, present[0], present[1], 0.0)
    chart = loop.motion.chart
    raw = pose_message([(2.0, [0.3, 0.0, 0.2], Rotation.from_matrix(BASE))])
    message = PoseDecoder(chart, ("base",), ("tool0",))(raw, 10)
    plan = request.plan(message.waypoints)
    assert loop.motion.follow_from(when, plan, when, number, present[0])
    loop.run(2.5)
    assert loop.motion.mode == "hold"
    assert np.abs(np.diff(loop.places, axis=0)).max() < 0.5e-3 + 1e-5
    assert np.abs(np.diff(np.array(loop.twists)[:, 3:], axis=0)).max() < 0.02
    np.testing.assert_allclose(loop.places[-1], [0.3, 0.0, 0.2], atol=1e-6)


def test_a_trajectory_waits_for_an_arm_that_cannot_follow_on_its_way_and_ends_later():
    def followed(pace):
        loop = Loop()
        raw = pose_message([(1.5, [0.3, 0.0, 0.2], Rotation.from_matrix(BASE))])
        points = PoseDecoder(loop.motion.chart, ("base",), ("tool0",))(raw, 10).waypoints
        loop.motion.follow(points, loop.now, loop.now, *loop.motion.state()[:2])
        for k in range(3000):
            loop.motion.pace = pace(1e-3 * k)
            loop.run(1e-3)
        return loop

    whole = followed(lambda t: 1.0)
    slowed = followed(lambda t: 0.6 + 0.4 * np.cos(np.pi * t) if t < 2.0 else 1.0)
    late = 2.0 * 0.4  # s: the mean pace of the first two seconds is 0.6
    for k in range(0, 3000, 50):
        t = 1e-3 * k
        passed = 0.6 * t + 0.4 * np.sin(np.pi * t) / np.pi if t < 2.0 else t - late
        np.testing.assert_allclose(slowed.places[k], whole.places[round(1e3 * passed)], atol=2e-3)
    rates = np.array(slowed.twists)[1:-1, 3:]
    np.testing.assert_allclose(rates, (slowed.places[2:] - slowed.places[:-2]) / 2e-3, atol=3e-3)
    np.testing.assert_allclose(slowed.places[-1], [0.3, 0.0, 0.2], atol=1e-9)
    assert slowed.motion.mode == "hold"


def test_a_robot_that_does_not_follow_is_held_where_it_is():
    loop = Loop(path_tolerance=(0.1,))
    loop.motion.go_to(pose(place=[0.6, 0.0, 0.0]), loop.now)
    for _ in range(1500):
        loop.now += MS
        loop.motion.update(loop.now, np.zeros(6), np.zeros(6))
    assert loop.motion.mode == "hold" and "tool.x" in loop.motion.problem
    np.testing.assert_allclose(loop.motion.state()[0], 0.0)


def test_silent_states_end_what_moves():
    loop = Loop(longest_gap=0.1)
    loop.motion.go_to(pose(place=[0.6, 0.0, 0.0]), loop.now)
    loop.run(0.2)
    loop.now += 300 * MS
    loop.motion.update(loop.now, np.full(6, 0.05), np.zeros(6))
    assert loop.motion.mode == "hold" and "no joint states for 0.3 s" in loop.motion.problem
    np.testing.assert_allclose(loop.motion.state()[0], 0.05)


# --- messages -----------------------------------------------------------------------------------------


def pose_message(points, frame="base", names=("tool0",), order="<", stamp=(3, 5), twists=None, accelerations=None):
    """A serialised MultiDOFJointTrajectory of (time, place, Rotation), written by hand."""
    raw = bytearray(b"\0\1\0\0" if order == "<" else b"\0\0\0\0")

    def align(size):
        raw.extend(bytes(-(len(raw) - 4) % size))

    def put(kind, *values):
        align(struct.calcsize(kind))
        for value in values:
            raw.extend(struct.pack(order + kind, value))

    def text(word):
        put("I", len(word) + 1)
        raw.extend(word.encode() + b"\0")

    put("i", stamp[0])
    put("I", stamp[1])
    text(frame)
    put("I", len(names))
    for name in names:
        text(name)
    put("I", len(points))
    for k, (t, place, rotation) in enumerate(points):
        for rows in ([[*place, *getattr(rotation, "as_quat", lambda r=rotation: r)()]], twists, accelerations):
            given = [] if rows is None else rows if len(rows) == 1 and rows is not twists else [rows[k]]
            put("I", len(given))
            for row in given:
                put("d", *row)
        put("i", int(t))
        put("I", round(1e9 * (t % 1.0)))
    return bytes(raw)


@pytest.mark.parametrize("order", ["<", ">"])
def test_messages_of_poses_become_waypoints(order):
    chart = PoseChart(BASE)
    turns = [Rotation.from_matrix(BASE) * Rotation.from_rotvec([0.0, 0.0, 0.9 * k]) for k in range(4)]
    points = [(0.5 * k, [0.1 * k, 0.2, 0.3], turn) for k, turn in enumerate(turns)]
    twists = [[0.1, 0.2, 0.3, 0.0, 0.0, 0.0]] * 4
    raw = pose_message(points, order=order, twists=twists)
    message = PoseDecoder(chart, ("base",), ("t", "tool0"))(raw, 4)
    assert message.stamp == 3_000_000_005
    ways = message.waypoints
    assert ways.joint_names == TOOL_ROWS
    np.testing.assert_allclose(ways.times, [0.0, 0.5, 1.0, 1.5])
    np.testing.assert_allclose(ways.positions[:, 2], [0.0, 0.9, 1.8, 2.7], atol=1e-12)
    np.testing.assert_allclose(ways.positions[:, 3:], [p for _, p, _ in points], atol=1e-12)
    np.testing.assert_allclose(ways.velocities[:, 3:], [[0.1, 0.2, 0.3]] * 4, atol=1e-12)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"frame": "camera"}, "in frame 'camera', expected 'base'"),
        ({"names": ("elbow",)}, "of elbow, expected 'tool0'"),
        ({"names": ("tool0", "tool0")}, "of tool0, tool0, expected"),
        ({"points": [(1.0, [0.0] * 3, [0.0, 0.0, 0.0, 0.5])]}, "length 0.5"),
        ({"points": [(1.0, [np.nan] * 3, [0.0, 0.0, 0.0, 1.0])]}, "not finite"),
        ({"points": [(1.0, [0.0] * 3, Rotation.from_rotvec([0.0, 0.0, 3.1]))], "base": np.eye(3)}, "178 degrees"),
        ({"points": [(1.0, [0.0] * 3, Rotation.identity())] * 5}, "more than largest_trajectory"),
    ],
)
def test_messages_that_no_tool_follows_are_refused(changes, reason):
    changes = dict(changes)
    points = changes.pop("points", [(1.0, [0.0] * 3, Rotation.identity())])
    chart = PoseChart(changes.pop("base", np.eye(3)))
    with pytest.raises(TrajectoryError, match=reason):
        PoseDecoder(chart, ("base",), ("tool0",))(pose_message(points, **changes), 4)


def test_cut_messages_are_refused():
    raw = pose_message([(1.0, [0.0] * 3, Rotation.identity()), (2.0, [0.1] * 3, Rotation.identity())])
    chart = PoseChart(np.eye(3))
    for length in range(len(raw)):
        with pytest.raises(TrajectoryError):
            PoseDecoder(chart, ("base",), ("tool0",))(raw[:length], 10)
