# SPDX-License-Identifier: Apache-2.0
"""Start the simulator:

    ros2 launch rbd_dynamics simulator.launch.py urdf:=robot.urdf

-s lists the arguments.
"""

from launch import LaunchDescription
from rbd_dynamics.nodes.tools.launching import launch_node


def generate_launch_description() -> LaunchDescription:
    return launch_node("simulator", "simulator.yaml")
