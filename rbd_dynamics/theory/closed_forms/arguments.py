# SPDX-License-Identifier: Apache-2.0
"""Checks of what is passed to a closed form: one sample, finite numbers, unit quaternions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.model.model import QUATERNION_TOLERANCE, Model

Array = NDArray[np.float64]


def configuration(model: Model, q: ArrayLike) -> Array:
    """q (nq) with its quaternions normalised.

    Raises ValueError for another shape, a number that is not finite, or a quaternion far from unit length.
    """
    checked = _vector("q", q, model.nq)
    for joint in model.joints:
        part = joint.kind.quaternion
        if part is not None:
            where = slice(joint.q_index + part.start, joint.q_index + part.stop)
            norm = float(np.linalg.norm(checked[where]))
            if abs(norm * norm - 1.0) * 0.5 > QUATERNION_TOLERANCE:
                raise ValueError(f"the quaternion of joint {joint.name!r} has norm {norm:.6g}, expected 1")
            checked[where] /= norm
    return checked


def velocity(model: Model, v: ArrayLike, name: str = "v") -> Array:
    """v (nv), or another vector over the degrees of freedom. Raises ValueError for another shape, or not finite."""
    return _vector(name, v, model.nv)


def _vector(name: str, values: ArrayLike, size: int) -> Array:
    vector = np.array(values, dtype=float)
    if vector.shape != (size,):
        raise ValueError(f"{name} has shape {vector.shape}, expected ({size},)")
    bad = np.flatnonzero(~np.isfinite(vector))
    if len(bad):
        raise ValueError(f"{name}[{bad[0]}] is {vector[bad[0]]}")
    return vector
