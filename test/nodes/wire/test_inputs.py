# SPDX-License-Identifier: Apache-2.0
"""What takes messages, requests and goals keeps one contract: threads that call rcl, and public rclpy alone."""

from __future__ import annotations

import pytest
from helpers.models.arms import ARM, JOINTS
from helpers.nodes.following import Follower, needs_control_msgs
from helpers.nodes.motion_loop import SEES_WANTED, MotionLoop
from helpers.nodes.ros_nodes import joint_trajectory, wait_until

pytestmark = needs_control_msgs
REST, GOAL = [0.0, 0.0, 0.0], [0.1, -0.1, 0.02]
PARAMETERS = {"robot_description": ARM, **SEES_WANTED, "plausible_velocity": 0.0, "state_timeout": 1.0}
#: what the log says of each
SAYS = {
    "threads": "messages and requests are taken in threads of their own",
    "plain": "large messages and requests may delay torques here: RBD_DYNAMICS_PLAIN_RCLPY is set",
}


@pytest.fixture(scope="module", params=list(SAYS))
def way(request):
    return request.param


@pytest.fixture(scope="module")
def both(ros, robot, way):
    """The robot, and a client of the node's action."""
    with pytest.MonkeyPatch.context() as patch:
        if way == "plain":
            patch.setenv("RBD_DYNAMICS_PLAIN_RCLPY", "1")
        node = ros.start("feedforward", PARAMETERS, name=way)
    with node:
        loop, client = MotionLoop(ros, node, robot), Follower(ros, f"/{way}/follow_joint_trajectory")
        yield loop, client
        loop.close()
        client.close()


@pytest.fixture
def standing(both):
    both[0].stand()
    return both


def goes(loop):
    wait_until(lambda: abs(loop.wanted[-1][1][0]) > 1e-4, "a motion")


def test_the_log_says_which(both, way):
    both[0].node.says(SAYS[way])
    assert not any(text in both[0].node.log for each, text in SAYS.items() if each != way)


def test_goals_reach_are_replaced_and_are_cancelled(standing):
    loop, client = standing
    assert client.run(JOINTS, (0.0, REST), (0.4, GOAL)) == ("succeeded", "SUCCESSFUL", "Goal successfully reached!")
    assert client.feedback and client.feedback[-1].joint_names == JOINTS
    loop.stand()
    first = client.begin(JOINTS, (20.0, GOAL))
    goes(loop)
    second = client.begin(JOINTS, (20.0, [-0.1, 0.0, 0.0]))
    assert client.result(first) == ("aborted", "INVALID_GOAL", "another motion has taken its place")
    goes(loop)
    assert client.cancel(second) == 1
    assert client.result(second)[:2] == ("canceled", "SUCCESSFUL")
    assert client.cancel(second) == 0
    loop.goes_on()
    del loop.wanted[:-1]
    loop.goes_on()
    loop.has_not_moved()


def test_goals_are_refused_with_a_reason(standing, way):
    loop, client = standing
    assert client.run(["nobody"], (1.0, [0.0]))[:2] == ("aborted", "INVALID_JOINTS")
    loop.ros.set_parameters(way, largest_trajectory=1)
    try:
        future = client.send(JOINTS, *[(0.1 * k + 0.1, GOAL) for k in range(400)])
        wait_until(future.done, "an answer to the goal")
        assert not future.result().accepted
        loop.diagnosed("goal rejected")
    finally:
        loop.ros.set_parameters(way, largest_trajectory=100_000)


def test_messages_and_parameters_are_taken_and_what_is_too_large_is_refused(standing, way):
    loop, _ = standing
    loop.trajectories.publish(joint_trajectory(JOINTS, [(0.3, GOAL)]))
    wait_until(lambda: abs(loop.wanted[-1][1][0] - GOAL[0]) < 1e-6, "the end of the motion")
    (right, wrong) = loop.ros.set_parameters(way, kd=[0.0], kp=[float("nan")])
    assert right.successful and not wrong.successful and "kp" in wrong.reason
    loop.send([f"{'x' * 1000}{k}" for k in range(20)], (1.0, [0.0] * 20))
    loop.diagnosed("trajectory refused")
    loop.goes_on()
