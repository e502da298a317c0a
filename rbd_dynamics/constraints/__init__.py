# SPDX-License-Identifier: Apache-2.0
"""Constraints on a robot's motion: kinds, sets of them, and what holds with them (theory.md section 7)."""

from rbd_dynamics.constraints.base import WORLD_FRAME, Constraint, PairConstraint
from rbd_dynamics.constraints.constrained import Constrained
from rbd_dynamics.constraints.constraint_set import ConstraintSet
from rbd_dynamics.constraints.dictionary import constraints_to_dict, load_constraints
from rbd_dynamics.constraints.frames import DistanceConstraint, FrameConstraint, ScrewConstraint
from rbd_dynamics.constraints.joints import HolonomicRows, JointCoupling, PfaffianRows
from rbd_dynamics.constraints.loops import loop_constraints
from rbd_dynamics.constraints.on_surface import SurfaceConstraint
from rbd_dynamics.constraints.placements import placement
from rbd_dynamics.constraints.quadric import Quadric
from rbd_dynamics.constraints.results import (
    ConstrainedDerivatives,
    ConstrainedHybridDerivatives,
    ConstrainedHybridMotion,
    ConstrainedMotion,
    ConstrainedTorque,
    ConstrainedTorqueDerivatives,
    ConstraintRows,
    ImpulseDerivatives,
)
from rbd_dynamics.constraints.rolling import RollingBall, RollingDisk
from rbd_dynamics.constraints.surfaces import Cylinder, ImplicitSurface, Plane, Sphere, Surface
from rbd_dynamics.model.loops import DIRECTIONS

__all__ = [
    "DIRECTIONS",
    "WORLD_FRAME",
    "Constrained",
    "ConstrainedDerivatives",
    "ConstrainedHybridDerivatives",
    "ConstrainedHybridMotion",
    "ConstrainedMotion",
    "ConstrainedTorque",
    "ConstrainedTorqueDerivatives",
    "Constraint",
    "ConstraintSet",
    "ConstraintRows",
    "Cylinder",
    "DistanceConstraint",
    "FrameConstraint",
    "HolonomicRows",
    "ImplicitSurface",
    "ImpulseDerivatives",
    "JointCoupling",
    "PairConstraint",
    "PfaffianRows",
    "Plane",
    "Quadric",
    "RollingBall",
    "RollingDisk",
    "ScrewConstraint",
    "Sphere",
    "Surface",
    "SurfaceConstraint",
    "constraints_to_dict",
    "load_constraints",
    "loop_constraints",
    "placement",
]
