# SPDX-License-Identifier: Apache-2.0
"""Action follow_joint_trajectory of `feedforward` over real DDS, as a client of joint_trajectory_controller uses it."""

from __future__ import annotations

import time

import numpy as np
import pytest
from helpers.models.arms import ARM, JOINTS
from helpers.nodes.following import Follower, needs_control_msgs, seconds, tolerance
from helpers.nodes.motion_loop import KP, SEES_WANTED, MotionLoop
from helpers.nodes.ros_nodes import PATIENCE, joint_trajectory, wait_until

pytestmark = needs_control_msgs
REST = [0.0, 0.0, 0.0]
GOAL = [0.1, -0.1, 0.02]
PARAMETERS = {"robot_description": ARM, **SEES_WANTED, "plausible_velocity": 0.0, "state_timeout": PATIENCE}


class Talk(MotionLoop, Follower):
    """Both the robot and a client."""

    def __init__(self, ros, node, robot):
        Follower.__init__(self, ros, f"/{node.name}/follow_joint_trajectory")
        MotionLoop.__init__(self, ros, node, robot)

    send_message = MotionLoop.send
    send = Follower.send

    def stand(self, q=(0.0, 0.0, 0.0)):
        self.send, usual = self.send_message, self.send
        try:
            MotionLoop.stand(self, q)
        finally:
            self.send = usual

    def moves(self, least=0.01):
        wait_until(lambda: abs(self.wanted[-1][1][0]) > least, "a motion")

    def close(self):
        MotionLoop.close(self)
        Follower.close(self)


@pytest.fixture(scope="module")
def talk(ros, robot):
    with ros.start("feedforward", PARAMETERS, name="follower") as node:
        talk = Talk(ros, node, robot)
        yield talk
        talk.close()


@pytest.fixture
def standing(talk):
    talk.stand()
    return talk


# --- the usual way --------------------------------------------------------------------------------


def test_goal_is_followed_and_reached(standing):
    assert standing.run(JOINTS, (0.0, REST), (0.6, GOAL)) == (
        "succeeded", "SUCCESSFUL", "Goal successfully reached!",
    )  # fmt: skip
    standing.goes_on(2)
    np.testing.assert_allclose(standing.wanted[-1][1], GOAL, atol=1e-6)


def test_efforts_of_points_are_said_to_be_unused(standing):
    """joint_trajectory_controller adds them to its own: here the law has them already."""
    goal = standing.kind.Goal(trajectory=joint_trajectory(JOINTS, [(0.0, REST), (0.6, GOAL)]))
    for point in goal.trajectory.points:
        point.effort = [1.0, 2.0, 3.0]
    future = standing.client.send_goal_async(goal)
    wait_until(future.done, "an answer to the goal")
    assert standing.result(future.result())[0] == "succeeded"
    assert standing.node.log.count("efforts of its points are not used") == 1


def test_efforts_of_points_are_added_where_asked(standing):
    """Without gains nothing else is added to gravity, so that each answer tells them."""
    ros, name, added = standing.ros, standing.node.name, [[1.0, 2.0, 3.0], [2.0, -1.0, 0.0]]
    standing.follows = False
    for result in ros.set_parameters(name, point_efforts="added", kp=[0.0], path_tolerance=[0.0]):
        assert result.successful, result.reason

    def ends(*efforts, stamp=0):
        goal = standing.kind.Goal(trajectory=joint_trajectory(JOINTS, [(0.2, REST), (0.6, GOAL)], stamp))
        for point, given in zip(goal.trajectory.points, efforts):
            point.effort = given
        future = standing.client.send_goal_async(goal)
        wait_until(future.done, "an answer to the goal")
        return standing.result(future.result())

    try:
        start = time.time_ns() + 1_000_000_000
        assert ends(*added, stamp=start)[0] == "succeeded"
        standing.goes_on(5)
        found = np.array([np.append(stamp - 1e-9 * start, KP * wanted) for stamp, wanted in standing.wanted])
        times, rows = found[:, 0], [np.zeros(3), np.zeros(3), *added]
        expected = np.transpose([np.interp(times, [-1.0, 0.0, 0.2, 0.6], column) for column in np.transpose(rows)])
        assert np.sum((times > 0.0) & (times < 0.6)) >= 5
        np.testing.assert_allclose(found[:, 1:], expected, atol=1e-4)
        standing.send_message(JOINTS)  # hold: they are not wanted any more
        wait_until(lambda: abs(standing.wanted[-1][1]).max() < 1e-9, "efforts of the law alone")
        status, _, reason = ends(added[0])
        assert status == "aborted" and "point 1 has no effort" in reason
    finally:
        ros.set_parameters(name, point_efforts="ignored", kp=[KP])


def test_feedback_tells_desired_actual_and_error_at_a_bounded_rate(standing):
    begin = time.monotonic()
    assert standing.run(JOINTS, (0.5, [0.05, 0.0, 0.0]), (1.0, GOAL))[0] == "succeeded"
    took = time.monotonic() - begin
    told = list(standing.feedback)
    assert 3 <= len(told) <= 25 * took
    stamps = [message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec for message in told]
    assert np.diff(stamps).min() > 0.0
    assert {tuple(message.joint_names) for message in told} == {tuple(JOINTS)}
    answered = np.array([stamp for stamp, _ in standing.wanted])
    for message, stamp in zip(told, stamps):
        desired, actual = np.array(message.desired.positions), np.array(message.actual.positions)
        np.testing.assert_allclose(message.error.positions, desired - actual, atol=1e-12)
        assert len(message.desired.velocities) == len(message.desired.accelerations) == 3
        # the efforts tell the same, and the robot is where it was wanted before
        k = int(np.abs(answered - stamp).argmin())
        assert abs(answered[k] - stamp) < 1e-6
        np.testing.assert_allclose(desired, standing.wanted[k][1], atol=1e-6)
        assert min(abs(actual - wanted).max() for _, wanted in standing.wanted[: k + 1]) < 1e-9
    indices = [message.index for message in told]
    assert indices == sorted(indices)
    assert set(indices) <= {0, 1}
    times = [message.desired.time_from_start.sec + 1e-9 * message.desired.time_from_start.nanosec for message in told]
    assert 0.0 <= times[0] < 1.0
    np.testing.assert_allclose(np.diff(times), np.diff(stamps), atol=1e-5)


def test_goal_may_name_some_of_the_joints(standing):
    assert standing.run(["slide"], (0.4, [0.03]))[0] == "succeeded"
    standing.goes_on(2)
    np.testing.assert_allclose(standing.wanted[-1][1], [0.0, 0.0, 0.03], atol=1e-6)


def test_goal_with_a_stamp_in_the_future_comes_to_its_end_then(standing):
    start = time.time_ns() + 1_000_000_000
    handle = standing.begin(JOINTS, (0.0, REST), (0.5, GOAL), stamp=start)
    assert standing.result(handle)[0] == "succeeded"
    assert time.time_ns() >= start + 500_000_000
    early = [q for t, q in standing.wanted if t < 1e-9 * start]
    np.testing.assert_allclose(early, np.zeros((len(early), 3)), atol=1e-6)
    standing.goes_on()
    np.testing.assert_allclose(standing.wanted[-1][1], GOAL, atol=1e-6)


def test_goal_where_the_robot_is_already_is_reached(standing):
    assert standing.run(JOINTS, (0.0, REST))[0] == "succeeded"


# --- other ends -----------------------------------------------------------------------------------


def test_cancel_holds_the_robot(standing):
    handle = standing.begin(JOINTS, (20.0, GOAL))
    standing.moves(1e-4)
    assert standing.cancel(handle) == 1
    assert standing.result(handle)[:2] == ("canceled", "SUCCESSFUL")  # as joint_trajectory_controller: no code
    standing.goes_on()
    del standing.wanted[:-1]
    standing.goes_on()
    standing.has_not_moved()
    assert standing.cancel(handle) == 0  # it has ended


def test_new_goal_takes_the_place_of_the_one_under_way(standing):
    first = standing.begin(JOINTS, (20.0, GOAL))
    standing.moves(1e-4)
    second = standing.begin(JOINTS, (0.5, [0.05, 0.0, 0.0]))
    assert standing.result(first) == ("aborted", "INVALID_GOAL", "another motion has taken its place")
    assert standing.result(second)[0] == "succeeded"


def test_trajectory_on_the_topic_takes_the_place_of_a_goal(standing):
    handle = standing.begin(JOINTS, (20.0, GOAL))
    standing.moves(1e-4)
    standing.trajectories.publish(joint_trajectory(JOINTS, [(0.5, [0.05, 0.0, 0.0])]))
    assert standing.result(handle)[:2] == ("aborted", "INVALID_GOAL")


def test_path_tolerance_of_the_goal_aborts_it(standing):
    handle = standing.begin(JOINTS, (2.0, [0.3, 0.0, 0.0]), path_tolerance=[tolerance("shoulder", 0.05)])
    standing.follows = False
    status, code, text = standing.result(handle)
    assert (status, code) == ("aborted", "PATH_TOLERANCE_VIOLATED")
    assert "joint 'shoulder' is 0.05" in text
    assert "more than 0.05" in text


def test_erased_path_tolerance_is_none(standing):
    handle = standing.begin(JOINTS, (0.5, [0.3, 0.0, 0.0]), path_tolerance=[tolerance("shoulder", -1.0)])
    standing.follows = False
    assert standing.result(handle)[0] == "succeeded"  # without a goal tolerance either


def test_velocity_tolerance_of_the_path_aborts_a_goal(standing):
    fields = {"path_tolerance": [tolerance("shoulder", velocity=0.1)]}  # the robot says it stands
    status, code, text = standing.run(JOINTS, (0.6, [0.3, 0.0, 0.0]), **fields)
    assert (status, code) == ("aborted", "PATH_TOLERANCE_VIOLATED")
    assert "the velocity of joint 'shoulder' is" in text


def test_goal_tolerance_is_waited_for_until_the_goal_time(standing):
    tolerances = {"goal_tolerance": [tolerance("shoulder", 0.01)], "path_tolerance": [tolerance("shoulder", -1.0)]}
    handle = standing.begin(JOINTS, (0.3, [0.1, 0.0, 0.0]), goal_time_tolerance=seconds(0.4), **tolerances)
    standing.follows = False
    status, code, text = standing.result(handle)
    assert (status, code) == ("aborted", "GOAL_TOLERANCE_VIOLATED")
    assert "joint 'shoulder' is" in text
    standing.stand()
    handle = standing.begin(JOINTS, (0.3, [0.1, 0.0, 0.0]), goal_time_tolerance=seconds(30.0), **tolerances)
    standing.follows = False
    wait_until(lambda: abs(standing.wanted[-1][1][0] - 0.1) < 1e-6, "the end of the trajectory")
    standing.goes_on()
    standing.follows = True  # now the robot comes there
    assert standing.result(handle)[0] == "succeeded"


@pytest.mark.parametrize(
    ("names", "points", "fields", "code", "reason"),
    [
        (JOINTS, [], {}, "INVALID_GOAL", "the trajectory has no points"),
        (["nobody"], [(1.0, [0.1])], {}, "INVALID_JOINTS", "joint 'nobody' is not one of shoulder, elbow, slide"),
        (JOINTS, [(1.0, GOAL)], {"stamp": 10**9}, "OLD_HEADER_TIMESTAMP", "is its stamp right?"),
        (JOINTS, [(0.1, [1.0, 0.0, 0.0])], {}, "INVALID_GOAL", "between its points the motion leaves the limits"),
        (JOINTS, [(1.0, [0.0, 0.0, 0.9])], {}, "INVALID_GOAL", "position 0.9 of joint 'slide' at 1 s is outside"),
        (JOINTS, [(1.0, GOAL, [0.1] * 3)], {}, "INVALID_GOAL", "a motion ends at rest"),
        (JOINTS, [(1.0, GOAL)], {"path_tolerance": ("nobody", 0.1)}, "INVALID_GOAL", "path_tolerance: joint 'nobody'"),
        (JOINTS, [(1.0, GOAL)], {"goal_tolerance": ("elbow", -0.5)}, "INVALID_GOAL", "goal_tolerance of joint 'elbow'"),
    ],
    ids=["empty", "joints", "over", "fast", "range", "no rest", "tolerance", "negative"],
)  # fmt: skip
def test_goal_that_cannot_be_followed_is_aborted_with_code_and_reason(standing, names, points, fields, code, reason):
    fields = {key: [tolerance(*value)] if isinstance(value, tuple) else value for key, value in fields.items()}
    under_way = standing.begin(JOINTS, (20.0, GOAL))
    standing.moves(1e-4)
    assert standing.run(names, *points, **fields)[:2] == ("aborted", code)
    status, _, text = standing.run(names, *points, **fields)
    assert status == "aborted"
    assert reason in text
    assert standing.cancel(under_way) == 1  # it went on
    assert standing.result(under_way)[0] == "canceled"


def test_joints_of_several_freedoms_are_refused(standing):
    from trajectory_msgs.msg import MultiDOFJointTrajectory

    other = MultiDOFJointTrajectory(joint_names=["base"])
    status, code, text = standing.run(JOINTS, (1.0, GOAL), multi_dof_trajectory=other)
    assert (status, code) == ("aborted", "INVALID_GOAL")
    assert "multi_dof_trajectory" in text


def test_goal_ends_when_the_states_do(standing):
    handle = standing.begin(JOINTS, (20.0, GOAL))
    standing.moves(1e-4)
    standing.streams = False
    standing.ros.set_parameters("follower", state_timeout=0.1)
    status, code, text = standing.result(handle)
    assert (status, code) == ("aborted", "INVALID_GOAL")
    assert "no joint states arrive" in text
    future = standing.send(JOINTS, (1.0, GOAL))
    wait_until(future.done, "an answer to the goal")
    assert not future.result().accepted
    standing.streams = True


def test_goal_ends_when_the_node_is_deactivated_and_none_is_accepted_then(standing):
    from lifecycle_msgs.srv import ChangeState

    change = standing.ros.client(ChangeState, "follower/change_state")
    handle = standing.begin(JOINTS, (20.0, GOAL))
    standing.moves(1e-4)
    request = ChangeState.Request()
    request.transition.id = 4
    assert change(request).success
    assert standing.result(handle)[:2] == ("aborted", "INVALID_GOAL")
    future = standing.send(JOINTS, (1.0, GOAL))
    wait_until(future.done, "an answer to the goal")
    assert not future.result().accepted
    request.transition.id = 3
    assert change(request).success
    standing.goes_on()


def test_status_says_that_a_goal_is_executing_and_how_it_ended(standing):
    from action_msgs.msg import GoalStatus, GoalStatusArray
    from rclpy.qos import DurabilityPolicy, QoSProfile

    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    topic = "/follower/follow_joint_trajectory/_action/status"
    reports = standing.ros.collect(GoalStatusArray, topic, latched)

    def status_of(handle):
        last = {bytes(each.goal_info.goal_id.uuid): each.status for each in reports[-1].status_list} if reports else {}
        return last.get(bytes(handle.goal_id.uuid))

    handle = standing.begin(JOINTS, (0.5, GOAL))
    wait_until(lambda: status_of(handle) == GoalStatus.STATUS_EXECUTING, "a goal that is executing")
    wait_until(lambda: status_of(handle) == GoalStatus.STATUS_SUCCEEDED, "a goal that succeeded")


def test_result_of_a_goal_that_nobody_knows_is_unknown(standing):
    request = standing.kind.Impl.GetResultService.Request()
    request.goal_id.uuid = list(range(16))
    ask = standing.ros.client(
        standing.kind.Impl.GetResultService, "follower/follow_joint_trajectory/_action/get_result"
    )
    assert ask(request).status == 0


def test_all_goals_are_cancelled_at_once(standing):
    from action_msgs.srv import CancelGoal

    handle = standing.begin(JOINTS, (20.0, GOAL))
    standing.moves(1e-4)
    cancel = standing.ros.client(CancelGoal, "follower/follow_joint_trajectory/_action/cancel_goal")
    assert len(cancel(CancelGoal.Request()).goals_canceling) == 1
    assert standing.result(handle)[0] == "canceled"


def test_garbled_goals_are_rejected_or_aborted_and_the_node_lives_on(standing):
    """A goal of more points than are allowed, too."""
    standing.ros.set_parameters("follower", largest_trajectory=1)
    try:
        assert "more than largest_trajectory (1)" in standing.run(JOINTS, (0.5, GOAL), (1.0, REST))[2]
        future = standing.send(JOINTS, *[(0.1 * k + 0.1, GOAL) for k in range(400)])
        wait_until(future.done, "an answer to the goal")
        assert not future.result().accepted
    finally:
        standing.ros.set_parameters("follower", largest_trajectory=100_000)
    assert standing.run(JOINTS, (0.3, [0.02, 0.0, 0.0]))[0] == "succeeded"


# --- latency --------------------------------------------------------------------------------------


def test_long_goal_holds_no_torque_up(standing):
    count = 20_000
    times = 20.0 * np.arange(1, count + 1) / count
    s = times / 20.0
    positions = 0.3 * (10 * s**3 - 15 * s**4 + 6 * s**5)
    points = [(t, [p, 0.0, 0.0]) for t, p in zip(times.tolist(), positions.tolist())]
    said = len(standing.node.log)
    handle = standing.begin(JOINTS, *points)
    standing.moves(1e-4)
    assert "trajectory of 20000 points, 20.000 s" in standing.node.log[said:]
    assert "silent" not in standing.node.log[said:]
    steps, times = standing.steps()
    assert (np.abs(steps) <= 0.05 * times + 1e-6).all()  # its top is 0.028 per second
    assert standing.cancel(handle) == 1
    assert standing.result(handle)[0] == "canceled"


def test_without_control_msgs_the_node_says_so_in_one_line_and_works(ros, tmp_path, monkeypatch):
    missing = tmp_path / "control_msgs.py"
    missing.write_text("raise ImportError('control_msgs')\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{__import__('os').environ.get('PYTHONPATH', '')}")
    with ros.start("feedforward", PARAMETERS, name="plain") as node:
        node.is_active()
        lines = [line for line in node.log.splitlines() if "control_msgs" in line]
        assert len(lines) == 1
        assert "no action ~/follow_joint_trajectory: control_msgs is not installed" in lines[0]
        assert node.alive
