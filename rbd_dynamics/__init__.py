"""Rigid-body dynamics for torque-controlled robots, with and without ROS 2."""

__version__ = "0.1.0"
