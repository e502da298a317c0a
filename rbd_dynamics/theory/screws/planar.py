# SPDX-License-Identifier: Apache-2.0
"""Planar screws: three components (source 003).

A planar twist is (w, vx, vy), a planar wrench (m, fx, fy), both at the frame's origin, angular part
first as everywhere here. A twist is a point, its centre of rotation; a wrench is a line, its line
of action; the wrench does no work on the twist if the point lies on the line. An inertia maps points
to lines: the centre of rotation to its axis of percussion.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

#: components of a twist or wrench (6,) that motion in the x-y plane has
PLANE = (2, 3, 4)


def to_spatial(planar: ArrayLike) -> Array:
    """A planar twist or wrench (..., 3) as a spatial one (..., 6) in the x-y plane."""
    array = np.asarray(planar, dtype=float)
    spatial = np.zeros((*array.shape[:-1], 6))
    spatial[..., PLANE] = array
    return spatial


def from_spatial(spatial: ArrayLike) -> Array:
    """The part (..., 3) of a twist or wrench (..., 6) that belongs to the x-y plane."""
    return np.asarray(spatial, dtype=float)[..., PLANE]


def rotation_about(point: ArrayLike, w: ArrayLike = 1.0) -> Array:
    """Twist (..., 3) of a rotation at w [rad/s] about a point (..., 2): v = w (y, -x)."""
    (x, y), rate = _xy(point), np.asarray(w, dtype=float)
    return np.stack(np.broadcast_arrays(rate, rate * y, -rate * x), axis=-1)


def translation(velocity: ArrayLike) -> Array:
    """Twist (..., 3) of a translation (..., 2) [m/s]."""
    v = np.asarray(velocity, dtype=float)
    return np.concatenate([np.zeros_like(v[..., :1]), v], axis=-1)


def force_along(point: ArrayLike, force: ArrayLike) -> Array:
    """Wrench (..., 3) of a force (..., 2) [N] whose line goes through a point (..., 2) [m]."""
    (x, y), (fx, fy) = _xy(point), _xy(force)
    return np.stack(np.broadcast_arrays(x * fy - y * fx, fx, fy), axis=-1)


def center_of_rotation(twist: ArrayLike) -> Array:
    """The point (..., 2) that a twist (..., 3) leaves at rest; not finite for a translation."""
    w, vx, vy = np.moveaxis(np.asarray(twist, dtype=float), -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.stack([-vy / w, vx / w], axis=-1)


class Line(NamedTuple):
    """Points x with normal . x = distance: normal (..., 2) of unit length, distance (...) >= 0 or of either sign."""

    normal: Array
    distance: Array


def line_of_action(wrench: ArrayLike) -> Line:
    """The line on which a wrench (..., 3) acts as a force alone. Its normal is the force turned by -90 degrees."""
    m, fx, fy = np.moveaxis(np.asarray(wrench, dtype=float), -1, 0)
    size = np.hypot(fx, fy)
    with np.errstate(divide="ignore", invalid="ignore"):  # a couple has no line
        return Line(np.stack([fy / size, -fx / size], axis=-1), m / size)


def change_frame(angle: ArrayLike, origin: ArrayLike) -> Array:
    """Ad (..., 3, 3) with V_a = Ad V_b; frame b stands at `origin` (..., 2) of frame a, turned by `angle`."""
    theta = np.asarray(angle, dtype=float)
    (x, y), c, s = _xy(origin), np.cos(theta), np.sin(theta)
    one, zero = np.ones_like(theta + x), np.zeros_like(theta + x)
    rows = ((one, zero, zero), (y + zero, c + zero, -s + zero), (-x + zero, s + zero, c + zero))
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def inertia(mass: ArrayLike, com: ArrayLike, at_com: ArrayLike) -> Array:
    """I (..., 3, 3): mass [kg], centre of mass (..., 2) [m], moment of inertia about it [kg m^2]."""
    m, (x, y), J = np.asarray(mass, dtype=float), _xy(com), np.asarray(at_com, dtype=float)
    zero = np.zeros_like(m + x + J)
    rows = (
        (J + m * (x * x + y * y), -m * y + zero, m * x + zero),
        (-m * y + zero, m + zero, zero),
        (m * x + zero, zero, m + zero),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def ad(twist: ArrayLike) -> Array:
    """ad_V (..., 3, 3): the planar block of the spatial one; ad*_V is its transpose."""
    w, vx, vy = np.moveaxis(np.asarray(twist, dtype=float), -1, 0)
    zero = np.zeros_like(w)
    rows = ((zero, zero, zero), (vy, zero, -w), (-vx, w, zero))
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _xy(point: ArrayLike) -> tuple[Array, Array]:
    array = np.asarray(point, dtype=float)
    return array[..., 0], array[..., 1]
