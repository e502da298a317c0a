# SPDX-License-Identifier: Apache-2.0
"""What `PoseChart` computes as kernels, for code that has no matrices: coordinates of a pose, and motion along them."""

from __future__ import annotations

from collections.abc import Sequence

from rbd_dynamics.algorithms.cartesian_control import WantedMotion
from rbd_dynamics.compiler.program import Argument, Function, Signature
from rbd_dynamics.spatial.lie import log_so3
from rbd_dynamics.spatial.scalar import Scalar
from rbd_dynamics.spatial.so3 import matmul, transpose

Vector = Sequence[Scalar]
_BASE = Argument("base", (3, 3))


def coordinates_kernel() -> tuple[Signature, Function]:
    """theta (6) of a tool's placement (rotation by rows, then place) in the chart at `base`; |phi| <= pi."""
    return Signature((_BASE, Argument("placed", (12,))), (Argument("theta", (6,)),)), _coordinates


def motion_kernel() -> tuple[Signature, Function]:
    """Placement (12) of coordinates theta, and the motion that their derivatives are.

    twist, twist_rate (6): angular part in the tool's own axes, linear part in the root's; in a chart whose base is that
    orientation they are the first two derivatives of theta.
    """
    coordinates = (Argument("theta", (6,)), Argument("rate", (6,)), Argument("acceleration", (6,)))
    found = (Argument("placed", (12,)), Argument("twist", (6,)), Argument("twist_rate", (6,)))
    return Signature((_BASE, *coordinates), found), _motion


def _coordinates(base: Vector, placed: Vector) -> list[Vector]:
    turned = log_so3(matmul(transpose(tuple(base)), tuple(placed[:9])))
    return [[*turned, *placed[9:]]]


def _motion(base: Vector, theta: Vector, rate: Vector, acceleration: Vector) -> list[Vector]:
    moved = WantedMotion.of(tuple(base), theta, rate, acceleration)
    return [[*moved.R, *moved.p], [*moved.w, *moved.velocity], [*moved.w_rate, *moved.acceleration]]
