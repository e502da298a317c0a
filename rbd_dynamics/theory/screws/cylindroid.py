# SPDX-License-Identifier: Apache-2.0
"""The cylindroid of two screws: all screws that their combinations are about (Ball 1900, chapter 2; source 003)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.theory.screws.screw import Screw

Array = NDArray[np.float64]
#: sine of the angle between two axes, below which they count as parallel
PARALLEL = 1e-9


class Cylindroid(NamedTuple):
    """A ruled surface: at each angle about its axis one screw, which meets the axis at a right angle.

    rotation (..., 3, 3): columns are the axes of the two principal screws, which meet, and the cylindroid's own axis.
    center (..., 3): where they meet, m. pitches (..., 2): of the principal screws, the greatest and the least, m.
    """

    rotation: Array
    center: Array
    pitches: Array

    def pitch(self, angle: ArrayLike) -> Array:
        """h_1 cos^2 + h_2 sin^2 (...), m, of the screw at an angle (...), rad, from the first principal one."""
        c, s = np.cos(angle), np.sin(angle)
        return np.asarray(self.pitches[..., 0] * c * c + self.pitches[..., 1] * s * s)

    def height(self, angle: ArrayLike) -> Array:
        """(h_2 - h_1) sin cos (...), m: where along the axis, from the centre, the screw at an angle (...), rad, is."""
        return np.asarray((self.pitches[..., 1] - self.pitches[..., 0]) * np.sin(angle) * np.cos(angle))

    def screw(self, angle: ArrayLike) -> Screw:
        """The screw at an angle (...), rad, from the first principal one towards the second."""
        c, s = np.cos(angle)[..., None], np.sin(angle)[..., None]
        first, second, axis = (self.rotation[..., k] for k in range(3))
        point = self.center + self.height(angle)[..., None] * axis
        return Screw.from_line(c * first + s * second, point=point, pitch=self.pitch(angle))


def cylindroid(first: ArrayLike, second: ArrayLike) -> Cylindroid:
    """The cylindroid of two twists (w, v) (..., 6): every a first + b second is a twist about one of its screws.

    The same for wrenches, given as (f, m). Raises ValueError where the axes are parallel, or one twist is a
    translation: then all combinations have one direction, and their screws lie in a plane.
    Source: Ball, A Treatise on the Theory of Screws (1900), chapter 2; Alexiou (1999), backup slide.
    """
    one, two = np.broadcast_arrays(np.asarray(first, dtype=float), np.asarray(second, dtype=float))
    lengths = [np.linalg.norm(twist[..., :3], axis=-1, keepdims=True) for twist in (one, two)]
    if not all(np.all(length > 0.0) for length in lengths):
        raise ValueError("a twist is a translation: its combinations with another have one direction")
    x = one / lengths[0]
    rest = two / lengths[1] - np.sum(two[..., :3] / lengths[1] * x[..., :3], axis=-1, keepdims=True) * x
    sine = np.linalg.norm(rest[..., :3], axis=-1, keepdims=True)
    if not np.all(sine > PARALLEL):
        raise ValueError("the axes of the two screws are parallel: their combinations have one direction")
    y = rest / sine
    plane = np.stack([x[..., :3], y[..., :3]], axis=-1)  # unit directions, at a right angle
    axis = np.cross(plane[..., 0], plane[..., 1])
    linear = np.stack([x[..., 3:], y[..., 3:]], axis=-1)
    # the origin moves to where linear parts lie in the plane, then along the axis to where their matrix is symmetric
    across = np.einsum("...i,...ij->...j", axis, linear)
    center = plane[..., 0] * across[..., 1:] - plane[..., 1] * across[..., :1]
    inside = np.einsum("...ia,...ib->...ab", plane, linear)
    along = 0.5 * (inside[..., 1, 0] - inside[..., 0, 1])
    center = center + along[..., None] * axis
    symmetric = 0.5 * (inside + np.swapaxes(inside, -1, -2))
    pitches, turn = np.linalg.eigh(symmetric)
    principal = plane @ turn[..., ::-1]  # the greatest pitch first
    third = np.cross(principal[..., 0], principal[..., 1])
    return Cylindroid(np.concatenate([principal, third[..., None]], axis=-1), center, pitches[..., ::-1])
