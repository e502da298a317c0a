# SPDX-License-Identifier: Apache-2.0
"""Surfaces of second degree, by their numbers: what a file can hold of implicit surfaces."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rbd_dynamics.constraints.surfaces import Surface
from rbd_dynamics.spatial.scalar import Scalar
from rbd_dynamics.spatial.so3 import Vec3


@dataclass(frozen=True)
class Quadric(Surface):
    """xx x^2 + yy y^2 + zz z^2 + z z = constant, outside greater; the frame is the principal one.

    Ellipsoid with semi-axes a, b, c: xx, yy, zz = 1/a^2, 1/b^2, 1/c^2, constant = 1. Paraboloid that opens
    upwards, touched from below: xx, yy > 0, z = -1; from above: xx, yy < 0, z = 1. The other side: all signs turned.

    Parameters:
        xx, yy, zz: in 1/m^2 where constant has no unit. z: 1/m. constant.

    Raises ValueError for numbers that are not finite, or that leave no surface.
    """

    kind: ClassVar[str] = "quadric"
    is_distance: ClassVar[bool] = False
    xx: float = 0.0
    yy: float = 0.0
    zz: float = 0.0
    z: float = 0.0
    constant: float = 0.0

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, self.numbers)):
            raise ValueError(f"quadric: its numbers {self.numbers} are not finite")
        # least and greatest value of the left side: the linear term reaches everything unless z^2 bounds it
        bound = -(self.z**2) / (4.0 * self.zz) if self.zz else 0.0
        endless = bool(self.z) and not self.zz
        least = -math.inf if endless or min(self.numbers[:3]) < 0.0 else bound
        greatest = math.inf if endless or max(self.numbers[:3]) > 0.0 else bound
        if not least < self.constant < greatest:
            raise ValueError(
                f"quadric: xx, yy, zz, z = {self.numbers[:4]} with constant {self.constant:g} is not a smooth surface"
            )

    @property
    def numbers(self) -> tuple[float, ...]:
        return (self.xx, self.yy, self.zz, self.z, self.constant)

    def value(self, point: Vec3, numbers: Sequence[Scalar]) -> Scalar:
        xx, yy, zz, along_z, constant = numbers
        x, y, z = point
        return xx * (x * x) + yy * (y * y) + zz * (z * z) + along_z * z - constant
