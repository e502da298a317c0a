# SPDX-License-Identifier: Apache-2.0
"""A stand-in for robot_state_publisher, as far as nodes need it: the description, latched.

python robot_description.py robot.urdf
"""

from __future__ import annotations

import sys
from pathlib import Path

import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

if __name__ == "__main__":
    rclpy.init()
    node = rclpy.create_node("robot_state_publisher")
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    publisher = node.create_publisher(String, "robot_description", latched)
    publisher.publish(String(data=Path(sys.argv[1]).read_text()))
    node.get_logger().info("active")
    try:
        rclpy.spin(node)
    except KeyboardInterrupt:
        sys.exit(0)
