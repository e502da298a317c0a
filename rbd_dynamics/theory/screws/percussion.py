# SPDX-License-Identifier: Apache-2.0
"""Axis of percussion: where to hit a hinged body so that the hinge feels nothing (source 003).

The inertia maps a twist to the wrench that causes it as an acceleration from rest. For a rotation
about an axis that wrench acts along the axis of percussion, the body's sweet spot.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.theory.screws.screw import Screw

Array = NDArray[np.float64]


def percussion_wrench(inertia: ArrayLike, axis: ArrayLike) -> Array:
    """T = I s (s^T I s)^-1 (..., 6): the wrench of unit power on s that needs no reaction from the joint.

    inertia (..., 6, 6), rigid or articulated; axis s (..., 6), a twist; all in one frame.
    """
    I, s = np.asarray(inertia, dtype=float), np.asarray(axis, dtype=float)
    wrench = (I @ s[..., None])[..., 0]
    return wrench / np.sum(s * wrench, axis=-1, keepdims=True)


def percussion_screw(inertia: ArrayLike, axis: ArrayLike) -> Screw:
    """The screw of that wrench: line and pitch. Through the centre of mass: pitch infinite, a couple."""
    return Screw.from_wrench(percussion_wrench(inertia, axis))[0]
