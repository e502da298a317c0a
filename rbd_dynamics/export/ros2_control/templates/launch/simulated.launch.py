# SPDX-License-Identifier: Apache-2.0
"""The robot by its own dynamics, with its controllers, in the controller manager."""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch_ros.actions import Node


def generate_launch_description():
    share = Path(get_package_share_directory("robot_package"))
    description = (share / "description" / "robot_package.urdf").read_text()
    controllers = str(share / "config" / "controllers.yaml")
    return LaunchDescription([
        Node(package="robot_state_publisher", executable="robot_state_publisher",
             parameters=[{"robot_description": description}]),
        Node(package="controller_manager", executable="ros2_control_node", parameters=[controllers], output="screen"),
        Node(package="controller_manager", executable="spawner",
             arguments=["joint_state_broadcaster", "--param-file", controllers]),
        # in one cycle, the one in front together with the one that it is in front of
        Node(package="controller_manager", executable="spawner",
             arguments=["feedforward_controller", "arm_controller", "--activate-as-group",
                        "--param-file", controllers]),
    ])
