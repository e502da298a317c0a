# SPDX-License-Identifier: Apache-2.0
"""The robot model: bodies, joints, limits; the URDF reader, the builder, YAML; preflight checks; payloads."""

from rbd_dynamics.model.builder import ModelBuilder
from rbd_dynamics.model.dictionary import load_yaml, model_from_dict, save_yaml
from rbd_dynamics.model.errors import Finding, ModelError, ModelWarning
from rbd_dynamics.model.model import Limits, Mimic, Model
from rbd_dynamics.model.preflight import preflight
from rbd_dynamics.model.urdf import load_urdf

__all__ = [
    "Finding",
    "Limits",
    "Mimic",
    "Model",
    "ModelBuilder",
    "ModelError",
    "ModelWarning",
    "load_urdf",
    "load_yaml",
    "model_from_dict",
    "preflight",
    "save_yaml",
]
