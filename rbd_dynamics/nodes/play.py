# SPDX-License-Identifier: Apache-2.0
"""Send a trajectory from a file to a node that follows it."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

import rclpy
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rbd_dynamics.control.trajectory import Waypoints
from rbd_dynamics.nodes.messages import SECOND
from rbd_dynamics.replay.excitation.trajectory_file import read_trajectory

LOOK_PERIOD = 0.02  # s


def play(path: str | os.PathLike[str], topic: str, *, patience: float = 10.0) -> Waypoints:
    """Publish the trajectory of a YAML file once, and wait until whoever subscribes has it; it starts when it arrives.

    Whether it is followed is the subscriber's to say. The trajectory is returned.

    Parameters:
        patience: s to wait for a subscriber, and for its receipt.

    Raises ValueError for a file that is no trajectory, for a topic that nobody subscribes to, and where nobody says
    that it has come; OSError.
    """
    waypoints = read_trajectory(path)
    with _node() as node:
        try:
            publisher = node.create_publisher(JointTrajectory, topic, 1)
        except Exception as error:  # rclpy has a kind for every part of a name that may be wrong
            raise ValueError(f"topic {topic!r}: {error}") from error
        end = time.monotonic() + patience
        while not publisher.get_subscription_count():
            if time.monotonic() > end:
                others = _topics(node)
                hint = f"; subscribed are {', '.join(others)}" if others else ": is the node running?"
                raise ValueError(f"waited {patience:g} s in vain for a subscriber of {publisher.topic_name}{hint}")
            time.sleep(LOOK_PERIOD)
        publisher.publish(trajectory_message(waypoints))
        if not publisher.wait_for_all_acked(Duration(seconds=patience)):
            raise ValueError(f"nobody says that the trajectory has come on {publisher.topic_name}")
    return waypoints


def trajectory_message(waypoints: Waypoints) -> JointTrajectory:
    """The message; its stamp is zero: at once."""
    message = JointTrajectory(joint_names=list(waypoints.joint_names))
    for k, seconds in enumerate(waypoints.times.tolist()):
        point = JointTrajectoryPoint()
        for name in ("positions", "velocities", "accelerations"):
            row = getattr(waypoints, name)[k].tolist()
            setattr(point, name, [] if any(map(math.isnan, row)) else row)
        point.time_from_start.sec, point.time_from_start.nanosec = divmod(round(seconds * SECOND), SECOND)
        message.points.append(point)
    return message


def _topics(node: Node) -> list[str]:
    """Those of trajectories that somebody subscribes to."""
    kind = "trajectory_msgs/msg/JointTrajectory"
    return [name for name, kinds in node.get_topic_names_and_types() if kind in kinds and node.count_subscribers(name)]


@contextmanager
def _node() -> Iterator[Node]:
    context = rclpy.Context()
    rclpy.init(args=[], context=context, signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node("play", context=context, start_parameter_services=False)
    try:
        yield node
    finally:
        node.destroy_node()
        rclpy.try_shutdown(context=context)
