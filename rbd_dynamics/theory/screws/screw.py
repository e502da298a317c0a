# SPDX-License-Identifier: Apache-2.0
"""A screw: a line in space and a pitch; a twist or a wrench is a screw times a magnitude (source 003)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


class Screw(NamedTuple):
    """Five numbers: the line (four), and the pitch.

    axis (..., 3): unit direction e. point (..., 3): the point of the line next to the origin [m].
    pitch (...): translation along the axis per radian, or moment about it per force [m]; infinite
    for a pure translation or a pure couple, whose line is everywhere (point 0).
    """

    axis: Array
    point: Array
    pitch: Array

    @property
    def moment(self) -> Array:
        """r x e (..., 3) [m]: with the axis, the coordinates of the line."""
        return np.cross(self.point, self.axis)

    @classmethod
    def from_line(cls, axis: ArrayLike, *, point: ArrayLike = (0.0, 0.0, 0.0), pitch: ArrayLike = 0.0) -> Screw:
        """Screw about a line through any point (..., 3) along a direction (..., 3) of any length.

        Raises ValueError for a direction of length zero.
        """
        direction, through = np.asarray(axis, dtype=float), np.asarray(point, dtype=float)
        length = np.linalg.norm(direction, axis=-1, keepdims=True)
        if not np.all(length > 0):
            raise ValueError("the axis of a screw has length zero")
        e = direction / length
        h = np.broadcast_to(np.asarray(pitch, dtype=float), np.broadcast_shapes(np.shape(pitch), e.shape[:-1]))
        nearest = through - np.sum(through * e, axis=-1, keepdims=True) * e
        return cls(e, np.where(np.isinf(h)[..., None], 0.0, nearest), np.array(h))

    @classmethod
    def from_twist(cls, twist: ArrayLike) -> tuple[Screw, Array]:
        """The screw of a twist (w, v) (..., 6), and its magnitude (...).

        The magnitude is |w| [rad/s], or |v| [m/s] where w is zero. A zero twist has no screw: its
        axis is NaN and its magnitude 0.
        """
        array = np.asarray(twist, dtype=float)
        return _screw_of(array[..., :3], array[..., 3:])

    @classmethod
    def from_wrench(cls, wrench: ArrayLike) -> tuple[Screw, Array]:
        """The screw of a wrench (m, f) (..., 6), and its magnitude (...): |f| [N], or |m| [N m] where f is zero."""
        array = np.asarray(wrench, dtype=float)
        return _screw_of(array[..., 3:], array[..., :3])

    def twist(self, *, magnitude: ArrayLike = 1.0) -> Array:
        """(w, v) (..., 6) of the motion about this screw: w = e x magnitude, v = r x w + pitch w."""
        return np.concatenate(self._parts(magnitude), axis=-1)

    def wrench(self, *, magnitude: ArrayLike = 1.0) -> Array:
        """(m, f) (..., 6) of a force along this screw: f = e x magnitude, m = r x f + pitch f."""
        return np.concatenate(self._parts(magnitude)[::-1], axis=-1)

    def _parts(self, magnitude: ArrayLike) -> tuple[Array, Array]:
        """The part that is free of the origin, and the one that belongs to it."""
        size = np.asarray(magnitude, dtype=float)[..., None]
        endless = np.isinf(self.pitch)[..., None]
        h = np.where(endless, 0.0, self.pitch[..., None])
        free = np.where(endless, 0.0, self.axis) * size
        bound = np.where(endless, self.axis, self.moment + h * self.axis) * size
        return free, bound


def reciprocal_product(twist: ArrayLike, wrench: ArrayLike) -> Array:
    """V^T F (...) [W]. Zero: the wrench does no work on the twist, the two screws are reciprocal.

    For screws with pitches h and k whose axes are d apart and at an angle t this is
    magnitude x magnitude x ((h + k) cos t - d sin t).
    """
    return np.asarray(np.sum(np.asarray(twist, dtype=float) * np.asarray(wrench, dtype=float), axis=-1))


def _screw_of(free: Array, bound: Array) -> tuple[Screw, Array]:
    """Screw from the part that does not depend on the origin and the one that does."""
    size, other = (np.linalg.norm(part, axis=-1) for part in (free, bound))
    endless = size == 0.0
    scale = np.where(endless, other, size)
    with np.errstate(invalid="ignore"):  # 0 / 0 of a zero twist
        axis = np.where(endless[..., None], bound, free) / scale[..., None]
        moment = bound / scale[..., None]
    pitch = np.where(endless, np.inf, np.sum(axis * moment, axis=-1))
    point = np.where(endless[..., None], 0.0, np.cross(axis, moment))
    return Screw(axis, point, pitch), scale
