# SPDX-License-Identifier: Apache-2.0
"""Start the trajectory proxy in front of a joint_trajectory_controller:

    ros2 launch rbd_dynamics trajectory_proxy.launch.py controller:=panda_arm_controller urdf:=robot.urdf

-s lists the arguments.
"""

from launch import LaunchDescription
from rbd_dynamics.nodes.tools.launching import launch_node


def generate_launch_description() -> LaunchDescription:
    return launch_node("trajectory_proxy", "trajectory_proxy.yaml")
