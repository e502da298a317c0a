# SPDX-License-Identifier: Apache-2.0
"""Arrays as the tuples that the generic-scalar modules of spatial algebra work on, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.spatial import lie
from rbd_dynamics.spatial.scalar import Scalar
from rbd_dynamics.spatial.se3 import Transform

Array = NDArray[np.float64]
Entries = tuple[Scalar, ...]


def split(array: ArrayLike, *shape: int) -> Entries:
    """The entries of the last axes, row by row: floats, or arrays over the leading axes.

    Raises ValueError unless the array ends in that shape.
    """
    values = np.asarray(array, dtype=float)
    rank = len(shape)
    if values.shape[values.ndim - rank :] != shape or values.ndim < rank:
        expected = "(..., " + ", ".join(map(str, shape)) + ")"
        raise ValueError(f"an array of shape {values.shape} where {expected} is needed")
    if values.ndim == rank:
        return tuple(values.ravel().tolist())
    count = int(np.prod(shape))
    flat = values.reshape(*values.shape[: values.ndim - rank], count)
    return tuple(flat[..., k] for k in range(count))


def join(entries: Sequence[Scalar], *shape: int) -> Array:
    """The array whose last axes hold these entries, row by row."""
    if any(isinstance(entry, np.ndarray) for entry in entries):
        flat = np.stack(np.broadcast_arrays(*entries), axis=-1)
    else:
        flat = np.array(entries, dtype=float)
    return flat.reshape(*flat.shape[:-1], *shape)


def entries_of_map(linear: Callable[[Entries], Entries], size: int) -> Entries:
    """The entries of the (size, size) matrix of a linear map over tuples, row by row."""
    columns = [linear(tuple(float(i == k) for i in range(size))) for k in range(size)]
    return tuple(column[i] for i in range(size) for column in columns)


def transform_of(e: Entries) -> Transform:
    """The transform of the 16 entries of a pose."""
    return Transform(((*e[0:3], *e[4:7], *e[8:11]),), (e[3], e[7], e[11]))


def entries_of_pose(t: Transform) -> Entries:
    """The 16 entries of the pose of a transform, row by row."""
    r, p = t.rotation, t.p
    return (*r[0:3], p[0], *r[3:6], p[1], *r[6:9], p[2], 0.0, 0.0, 0.0, 1.0)


def pose_of_twist(twist: Entries) -> Entries:
    """`lie.exp_se3` over entries."""
    return entries_of_pose(lie.exp_se3(twist))


def twist_of_pose(pose: Entries) -> Entries:
    """`lie.log_se3` over entries."""
    return lie.log_se3(transform_of(pose))
