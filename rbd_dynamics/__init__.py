# SPDX-License-Identifier: Apache-2.0
"""Rigid-body dynamics for torque-controlled robots, with and without ROS 2."""

from __future__ import annotations

__version__ = "0.1.0"

from rbd_dynamics import constraints
from rbd_dynamics.constraints import ConstraintSet
from rbd_dynamics.model import (
    Limits,
    Mimic,
    Model,
    ModelBuilder,
    ModelError,
    joints,
    load_urdf,
    load_yaml,
    model_from_dict,
    save_yaml,
)
from rbd_dynamics.robot import Robot

__all__ = [
    "ConstraintSet",
    "Limits",
    "Mimic",
    "Model",
    "ModelBuilder",
    "ModelError",
    "Robot",
    "__version__",
    "constraints",
    "joints",
    "load_urdf",
    "load_yaml",
    "model_from_dict",
    "save_yaml",
]
