# SPDX-License-Identifier: Apache-2.0
"""Poses of constrained and reference frames, from what people have at hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rbd_dynamics.model.assembly import checked_pose, checked_vector
from rbd_dynamics.model.open_kinds import check_keys
from rbd_dynamics.spatial.se3 import Transform
from rbd_dynamics.spatial.so3 import rotation_from_quaternion, rotation_from_rpy

#: how far from 1 the norm of a quaternion may be; it is normalised
QUATERNION_TOLERANCE = 1e-2


def placement(
    xyz: Sequence[float] = (0.0, 0.0, 0.0),
    rpy: Sequence[float] = (0.0, 0.0, 0.0),
    quaternion: Sequence[float] | None = None,
) -> Transform:
    """A pose from a position (m) and roll, pitch, yaw (rad), or a quaternion (x, y, z, w) in their place.

    Raises ValueError for what are not so many finite numbers, or a quaternion far from unit length.
    """
    x, y, z = checked_vector(xyz, 3, "xyz")
    if quaternion is None:
        return Transform.of(rotation_from_rpy(*checked_vector(rpy, 3, "rpy")), (x, y, z))
    numbers = checked_vector(quaternion, 4, "quaternion")
    norm = sum(q * q for q in numbers) ** 0.5
    if abs(norm - 1.0) > QUATERNION_TOLERANCE:
        raise ValueError(f"quaternion has norm {norm:.6g}, expected 1")
    a, b, c, d = (q / norm for q in numbers)
    return Transform.of(rotation_from_quaternion((a, b, c, d)), (x, y, z))


def checked_placement(value: Any, where: str) -> Transform:
    """A pose from a `Transform`, a position (3,), a homogeneous matrix (4, 4), or the arguments of `placement` by name.

    Raises ValueError that starts with `where`, also for what is not a rotation matrix.
    """
    if not isinstance(value, Mapping):
        return checked_pose(value, where)
    check_keys(value, ("xyz", "rpy", "quaternion"), where)
    if "rpy" in value and "quaternion" in value:
        raise ValueError(f"{where}: give rpy or quaternion, not both")
    try:
        return placement(**value)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
