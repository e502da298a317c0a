# SPDX-License-Identifier: Apache-2.0
"""Talking to a node that answers joint states by torques."""

from __future__ import annotations

import time
from itertools import chain, repeat

import numpy as np

from helpers.models.arms import JOINTS
from helpers.nodes.ros_nodes import PATIENCE, Conversation, joint_state, joint_trajectory, others_run, wait_until
from rbd_dynamics.joint_states.confirmation import AGREEING

AGAIN = 1.0  # s without an answer after which another state is sent
LOST = 0.3  # s without one after which the same is sent again
AT_FIRST = 0.05  # the same of the first states: a robot that is found elsewhere is believed once some agree


def answer_to(stamp, efforts, timeout=5.0):
    """What answers the state of that time, of messages that arrive; None if none does."""
    found = []

    def came():
        found.extend(effort for effort in reversed(efforts) if effort.header.stamp == stamp)
        return bool(found)

    return np.array(found[0].effort) if efforts.wait_for(came, timeout) else None


def answered(states, message, efforts):
    """The effort that answers one of the states that `message()` makes, one after another until one is answered.

    One alone may be lost (best effort), or be stale once a busy machine reads it.
    """
    found, waits = None, chain([AT_FIRST] * (AGREEING - 1), repeat(AGAIN))

    def asked():
        nonlocal found
        state = message()
        states.publish(state)
        found = answer_to(state.header.stamp, efforts, next(waits))
        return found is not None

    wait_until(asked, "an effort")
    return found


def in_lockstep(states, state, efforts, *nodes):
    """The effort that answers a state; nodes: whose logs to show if none comes."""
    found = answer_in_time(states, state, efforts, PATIENCE)
    logs = "\n".join(node.log for node in nodes) if found is None else ""
    assert found is not None, f"waited {PATIENCE:g} s in vain for an effort\n{logs}"
    return found


def answer_in_time(states, state, efforts, seconds):
    """The effort that answers a state, published until it comes; None if it does not within that time, s."""
    wanted = state.header.stamp
    sec, nanosec = wanted.sec, wanted.nanosec

    def came():
        if not efforts:
            return False
        stamp = efforts[-1].header.stamp
        return stamp.nanosec == nanosec and stamp.sec == sec

    end = time.monotonic() + seconds
    while time.monotonic() < end:
        states.publish(state)  # again: best effort, it may be lost
        if efforts.wait_for(came, min(LOST if efforts else AT_FIRST, seconds)):
            return np.array(efforts[-1].effort)
    return None


class Talk(Conversation):
    """Joint states to a feedforward node, and its answers."""

    def __init__(self, ros, node, joints=JOINTS):
        from rclpy.qos import qos_profile_sensor_data
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray
        from trajectory_msgs.msg import JointTrajectory

        super().__init__(ros, node)
        self.joints = joints
        self.states = ros.publisher(JointState, "joint_states", qos_profile_sensor_data)
        self.trajectories = ros.publisher(JointTrajectory, f"{node.name}/joint_trajectory")
        self.commands = ros.collect(Float64MultiArray, f"{node.name}/commands", 1000)
        self.efforts = ros.collect(JointState, f"{node.name}/effort", 1000)

    def message(self, q, v, names=None, stamp=None):
        return joint_state(names or self.joints, q, v, stamp=stamp or self.ros.node.get_clock().now().to_msg())

    def ask(self, q, v, **options):
        """The effort that answers a state."""
        return answered(self.states, lambda: self.message(q, v, **options), self.efforts)

    def answer(self, stamp, timeout=5.0):
        return answer_to(stamp, self.efforts, timeout)

    def silent_for(self, message, seconds=0.3):
        """No answer to this message."""
        before = len(self.commands), len(self.efforts)
        self.states.publish(message)
        others_run(seconds)
        return (len(self.commands), len(self.efforts)) == before

    def send(self, names, *points, stamp=None):
        """Points are (s, positions, velocities, accelerations)."""
        self.trajectories.publish(joint_trajectory(names, points, stamp))
        others_run(0.1)
