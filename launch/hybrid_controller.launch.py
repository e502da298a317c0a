# SPDX-License-Identifier: Apache-2.0
"""Start the hybrid position/force controller:

    ros2 launch rbd_dynamics hybrid_controller.launch.py urdf:=robot.urdf params_file:=my_task.yaml

-s lists the arguments.
"""

from launch import LaunchDescription
from rbd_dynamics.nodes.tools.launching import launch_node


def generate_launch_description() -> LaunchDescription:
    return launch_node("hybrid_controller", "hybrid_controller.yaml")
