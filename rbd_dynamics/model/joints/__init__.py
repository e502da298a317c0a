# SPDX-License-Identifier: Apache-2.0
"""Joint kinds: one class each, one file a family; `base` says how to add one."""

from rbd_dynamics.model.joints.base import JointKind
from rbd_dynamics.model.joints.cam import Cam
from rbd_dynamics.model.joints.chains import CoordinateChain, ProductOfExponentials, Universal
from rbd_dynamics.model.joints.groups import Floating, Planar, Spherical
from rbd_dynamics.model.joints.single import Continuous, Helical, Prismatic, Revolute, Screw

__all__ = [
    "Cam",
    "Continuous",
    "CoordinateChain",
    "Floating",
    "Helical",
    "JointKind",
    "Planar",
    "Prismatic",
    "ProductOfExponentials",
    "Revolute",
    "Screw",
    "Spherical",
    "Universal",
]
