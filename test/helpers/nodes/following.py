# SPDX-License-Identifier: Apache-2.0
"""A client of FollowJointTrajectory, as MoveIt is one."""

from __future__ import annotations

import importlib.util

import pytest

from helpers.nodes.ros_nodes import joint_trajectory, needs_ros, wait_until

needs_control_msgs = [
    *needs_ros,
    pytest.mark.skipif(
        importlib.util.find_spec("control_msgs") is None,
        reason="needs control_msgs, or its stand-in: make setup-tests",
    ),
]


class Follower:
    """Goals for the action of that name."""

    def __init__(self, ros, name):
        from control_msgs.action import FollowJointTrajectory

        self.ros, self.kind, self.feedback = ros, FollowJointTrajectory, []
        self.client = ros.action_client(FollowJointTrajectory, name)

    def close(self):
        self.client.destroy()

    def send(self, names, *points, stamp=0, **fields):
        """A future of the goal's handle. Points are (s, positions, velocities, accelerations)."""
        goal = self.kind.Goal(trajectory=joint_trajectory(names, points, stamp), **fields)
        return self.client.send_goal_async(goal, feedback_callback=lambda m: self.feedback.append(m.feedback))

    def begin(self, names, *points, **fields):
        """The handle of a goal that is accepted."""
        del self.feedback[:]
        future = self.send(names, *points, **fields)
        wait_until(future.done, "an answer to the goal")
        assert future.result().accepted
        return future.result()

    def result(self, handle):
        """(status by name, code by name, text) of a goal, once it has ended."""
        from action_msgs.msg import GoalStatus

        future = handle.get_result_async()
        wait_until(future.done, "the result")
        answer = future.result()
        statuses = {GoalStatus.STATUS_SUCCEEDED: "succeeded", GoalStatus.STATUS_ABORTED: "aborted",
                    GoalStatus.STATUS_CANCELED: "canceled", GoalStatus.STATUS_UNKNOWN: "unknown"}  # fmt: skip
        codes = ["SUCCESSFUL", "INVALID_GOAL", "INVALID_JOINTS", "OLD_HEADER_TIMESTAMP", "PATH_TOLERANCE_VIOLATED",
                 "GOAL_TOLERANCE_VIOLATED"]  # fmt: skip
        code = {getattr(self.kind.Result, name): name for name in codes}[answer.result.error_code]
        return statuses[answer.status], code, answer.result.error_string

    def run(self, names, *points, **fields):
        return self.result(self.begin(names, *points, **fields))

    def cancel(self, handle):
        """How many goals are cancelled."""
        future = handle.cancel_goal_async()
        wait_until(future.done, "an answer to the cancel")
        return len(future.result().goals_canceling)


def tolerance(name, position=0.0, velocity=0.0):
    from control_msgs.msg import JointTolerance

    return JointTolerance(name=name, position=position, velocity=velocity)


def seconds(value):
    from builtin_interfaces.msg import Duration

    return Duration(sec=int(value // 1), nanosec=round(value % 1 * 1e9))
