# SPDX-License-Identifier: Apache-2.0
"""Start the dynamics services:

    ros2 launch rbd_dynamics dynamics_server.launch.py urdf:=robot.urdf

-s lists the arguments.
"""

from launch import LaunchDescription
from rbd_dynamics.nodes.tools.launching import launch_node


def generate_launch_description() -> LaunchDescription:
    return launch_node("dynamics_server", "dynamics_server.yaml")
