# SPDX-License-Identifier: Apache-2.0
"""A torque node behind a controller that its manager switches: it knows whether its efforts reach the robot.

The robot is MuJoCo's, and does not measure efforts: measurements of a small motion do not say who moved it.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers.models.arms import ARM, JOINTS
from helpers.nodes.managed_arm import TO_COMMANDS, ManagedArm, needs_controller_manager
from helpers.nodes.ros_nodes import Conversation, joint_trajectory, wait_until

pytestmark = needs_controller_manager
OURS, OTHER = ["effort_controller"], ["arm_controller"]
STIFF = {"kp": [300.0, 20.0, 200.0], "kd": [15.0, 0.5, 10.0]}
PARAMETERS = {"robot_description": ARM, "state_timeout": 0.0, **STIFF}  # stamps are the robot's own
GUARD = {"robot_description": ARM, "state_timeout": 0.0, "command_timeout": 2.0}
ARMS = {"active": "arm_controller", "measures_efforts": False}


class Commanding(Conversation):
    recent = 3

    def __init__(self, ros, node):
        from std_msgs.msg import Float64MultiArray
        from trajectory_msgs.msg import JointTrajectory

        node.is_active()
        super().__init__(ros, node)
        self.commands = ros.collect(Float64MultiArray, "/effort_controller/commands", 1000)
        self.trajectories = ros.publisher(JointTrajectory, f"{node.name}/joint_trajectory")

    def largest_step(self, begin):
        """Of efforts (joints), since that command."""
        return np.abs(np.diff([each.data for each in self.commands[begin:]], axis=0)).max(axis=0)


def switched_off_and_on(ros, arm, talk):
    """Another controller moves the robot between; nothing is noticed of that afterwards but where it is."""
    arm.switch(OURS, OTHER)
    talk.is_well()
    arm.switch(OTHER, OURS)
    del talk.reports[:]
    talk.diagnosed("not in command: controller '/effort_controller' is inactive")
    talk.trajectories.publish(joint_trajectory(JOINTS, [(1.0, [0.5, 0.0, 0.0])]))
    talk.diagnosed("trajectory refused: not in command: controller '/effort_controller' is inactive")
    arm.goes(0.1, 0.0, 0.0)  # slowly: 30 N m of the gains would pull it back
    arm.passes(0.3)
    begin = len(talk.commands)
    arm.switch(OURS, OTHER)
    q, v = arm.passes(1.0)
    np.testing.assert_allclose(q, np.broadcast_to([0.1, 0.0, 0.0], q.shape), atol=5e-3)
    assert np.abs(v).max() < 0.05
    assert talk.largest_step(begin).max() < 1.0
    talk.is_well()


def test_a_controller_that_is_switched_off_and_on_is_taken_over_without_a_step(ros):
    """Behind a guard, too. Then its manager is busy; and a command of the wrong length deactivates it."""
    from std_msgs.msg import Float64MultiArray

    through = ("-r", "~/commands:=/guard/unguarded_commands")
    with (
        ManagedArm(ros, **ARMS, fallback_controllers=OTHER) as arm,
        ros.start("guard", GUARD, *TO_COMMANDS) as guard,
        ros.start("feedforward", PARAMETERS, *through) as node,
    ):
        guard.is_active()
        talk = Commanding(ros, node)
        switched_off_and_on(ros, arm, talk)
        ros.set_parameters("/controller_manager", services="hang")
        arm.passes(0.5)
        talk.is_well()  # its state is known as it was, and the torques go on
        ros.set_parameters("/controller_manager", services="answer")
        wrong = ros.publisher(Float64MultiArray, "/effort_controller/commands")

        def reported():
            wrong.publish(Float64MultiArray(data=[1.0]))
            return any("effort_controller' is inactive" in s.message for r in talk.reports for s in r.status)

        del talk.reports[:]
        wait_until(reported, "the end of the controller")
        q, _ = arm.passes(0.5)  # its fallback holds the robot
        np.testing.assert_allclose(q[-1], [0.1, 0.0, 0.0], atol=0.02)


@pytest.mark.wide
def test_a_manager_that_publishes_no_activity_is_asked(ros):
    quiet = {**ARMS, "publishes_activity": False}
    with ManagedArm(ros, **quiet) as arm, ros.start("feedforward", PARAMETERS, *TO_COMMANDS) as node:
        switched_off_and_on(ros, arm, Commanding(ros, node))


def test_a_controller_of_other_joints_gets_no_torque_and_one_that_is_not_loaded_is_said(ros):
    """By a manager that publishes no activity."""
    with ManagedArm(ros, **ARMS, publishes_activity=False, controller_joints=JOINTS[::-1]) as arm:
        with ros.start("feedforward", PARAMETERS, *TO_COMMANDS) as node:
            node.says("commands slide, elbow, shoulder, in this order, and the node shoulder, elbow, slide")
            Conversation(ros, node).diagnosed("parameter 'joints' is to be the same in both")
            q, _ = arm.passes(0.2)
            assert np.abs(q[-1]).max() < 1e-3
        own = {**PARAMETERS, "controller": "elbow_controller"}
        with ros.start("feedforward", own, *TO_COMMANDS) as node:
            Commanding(ros, node).diagnosed("not in command: controller '/elbow_controller' is not loaded")


def test_switch_activates_a_controller_once_torques_arrive_there(ros):
    """No cycle is without torque; a manager that refuses is heard; what was waited for in vain is named."""
    from rbd_dynamics.nodes.tools.switch import NotSwitched, switch

    with ManagedArm(ros, **ARMS) as arm:
        with pytest.raises(ValueError, match="waited 5 s in vain for controllers wrist of /controller_manager"):
            switch(["wrist"], patience=5.0)
        with pytest.raises(ValueError, match="waited 5 s in vain for commands on /effort_controller/commands"):
            switch(OURS, OTHER, patience=5.0)
        with ros.start("feedforward", PARAMETERS, *TO_COMMANDS) as node:
            with pytest.raises(NotSwitched, match="Resource conflict"):
                switch(OURS)
            assert switch(OURS, OTHER) == "Successfully switched controllers!"
            assert switch(OURS, OTHER) == "all were so already"
            q, v = arm.passes(0.3)
            assert np.abs(q).max() < 2e-3 and np.abs(v).max() < 0.05
            node.says("in command again")
            switch(OTHER, OURS)
