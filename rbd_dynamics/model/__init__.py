"""The robot model: bodies, joints, limits; the URDF reader; preflight checks; payloads."""

from rbd_dynamics.model.errors import Finding, ModelError, ModelWarning
from rbd_dynamics.model.model import Model
from rbd_dynamics.model.preflight import preflight
from rbd_dynamics.model.urdf import load_urdf

__all__ = ["Finding", "Model", "ModelError", "ModelWarning", "load_urdf", "preflight"]
