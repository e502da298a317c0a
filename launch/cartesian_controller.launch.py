# SPDX-License-Identifier: Apache-2.0
"""Start the Cartesian controller:

    ros2 launch rbd_dynamics cartesian_controller.launch.py urdf:=robot.urdf params_file:=my_tool.yaml

-s lists the arguments.
"""

from launch import LaunchDescription
from rbd_dynamics.nodes.tools.launching import launch_node


def generate_launch_description() -> LaunchDescription:
    return launch_node("cartesian_controller", "cartesian_controller.yaml")
