"""Rigid-body dynamics for torque-controlled robots, with and without ROS 2."""

from __future__ import annotations

__version__ = "0.1.0"

from rbd_dynamics.model import Model, ModelError, load_urdf
from rbd_dynamics.robot import Robot

__all__ = ["Model", "ModelError", "Robot", "__version__", "load_urdf"]
