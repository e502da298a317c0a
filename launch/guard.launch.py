# SPDX-License-Identifier: Apache-2.0
"""Start the guard of a torque node that runs already; feedforward.launch.py and hybrid_controller.launch.py start both
with guard:=true.

    ros2 launch rbd_dynamics guard.launch.py urdf:=robot.urdf commands:=/effort_controller/commands

-s lists the arguments.
"""

from launch import LaunchDescription
from rbd_dynamics.nodes.tools.launching import launch_node


def generate_launch_description() -> LaunchDescription:
    return launch_node("guard", "guard.yaml")
