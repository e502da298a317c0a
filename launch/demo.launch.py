# SPDX-License-Identifier: Apache-2.0
"""The Panda of the demo to play with: simulator, feedforward node and services, in lockstep on simulated time.

    ros2 launch rbd_dynamics demo.launch.py
    ros2 topic pub --once /feedforward/joint_trajectory trajectory_msgs/msg/JointTrajectory "{joint_names: [...], ...}"

`rbd_dynamics demo` runs the whole demo by itself.
"""

from typing import Any

from launch.actions import OpaqueFunction

from launch import LaunchContext, LaunchDescription
from rbd_dynamics.demo import panda
from rbd_dynamics.nodes.tools.launching import common_arguments, node_action, outliving


def start(context: LaunchContext) -> list[Any]:
    text = panda.description()
    commands = [("~/commands", "simulator/commands")]
    return [
        node_action(context, "simulator", (), panda.simulator_parameters(), text, prefix=outliving()),
        node_action(context, "feedforward", commands, panda.feedforward_parameters(), text),
        node_action(context, "dynamics_server", (), panda.server_parameters(), text),
    ]


def generate_launch_description() -> LaunchDescription:
    return LaunchDescription([*common_arguments("namespace", "log_level"), OpaqueFunction(function=start)])
