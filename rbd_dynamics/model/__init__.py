# SPDX-License-Identifier: Apache-2.0
"""The robot model: bodies, joints, limits; the URDF reader, the builder, YAML; preflight checks; payloads.

`load_urdf`, `load_yaml`, `model_from_dict` and `ModelBuilder` make a `Model`; `joints` has the joint kinds,
`passive_forces` what a joint does by itself. `preflight` gives each `Finding` on a file.
"""

from rbd_dynamics.model import joints, passive_forces
from rbd_dynamics.model.builder import ModelBuilder
from rbd_dynamics.model.dictionary import load_yaml, model_from_dict, model_to_dict, save_yaml
from rbd_dynamics.model.drives import Drive
from rbd_dynamics.model.errors import Finding, ModelError, ModelWarning
from rbd_dynamics.model.model import Body, Frame, Joint, Limits, Mimic, Model
from rbd_dynamics.model.passive_forces import Coulomb, Damping, PolynomialDamping, PolynomialSpring, Spring
from rbd_dynamics.model.preflight import preflight
from rbd_dynamics.model.urdf import load_urdf

__all__ = [
    "Body",
    "Coulomb",
    "Damping",
    "Drive",
    "Finding",
    "Frame",
    "Joint",
    "Limits",
    "Mimic",
    "Model",
    "ModelBuilder",
    "ModelError",
    "ModelWarning",
    "PolynomialDamping",
    "PolynomialSpring",
    "Spring",
    "joints",
    "load_urdf",
    "load_yaml",
    "model_from_dict",
    "model_to_dict",
    "passive_forces",
    "preflight",
    "save_yaml",
]
