# SPDX-License-Identifier: Apache-2.0
"""A load carried at a frame."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.common.real_numbers import real_array
from rbd_dynamics.model.errors import ModelError
from rbd_dynamics.model.model import Model
from rbd_dynamics.model.physical_inertia import ROUNDED, principal_moments
from rbd_dynamics.spatial.inertia import RigidInertia


class Payload(NamedTuple):
    """A load as given: mass (kg), com (3,) in its frame (m), inertia (3, 3) about it, in the frame's axes (kg m^2)."""

    mass: float
    com: np.ndarray
    inertia: np.ndarray


def payload_inertia(
    model: Model,
    frame: str,
    mass: float,
    *,
    com: Sequence[float] = (0.0, 0.0, 0.0),
    inertia: ArrayLike | None = None,
) -> tuple[int, RigidInertia]:
    """The body that carries a load, and what the load adds to that body's inertia at its frame.

    Parameters:
        frame: where the load is attached, a link or joint name.
        mass: in kg; 0 for no load.
        com: centre of mass (3,) in the frame, m.
        inertia: about the centre of mass, in the frame's axes, kg m^2: (3, 3) symmetric, or
            (ixx, ixy, ixz, iyy, iyz, izz). None: a point mass.

    The index is WORLD for a frame fixed to the world. Raises KeyError for an unknown frame,
    ModelError for a load that cannot exist.
    """
    target = model.frame(frame)
    where = f"payload at {excerpt(frame)}"
    amount, center, rotational = payload_as_given(frame, mass, com=com, inertia=inertia)
    x, y, z = center.tolist()
    if amount < 0.0:
        raise ModelError(f"{where}: mass {amount:g} is negative")
    if amount == 0.0:
        if np.any(rotational):
            raise ModelError(f"{where}: it has inertia but no mass")
        return target.body, RigidInertia()
    principal = principal_moments(rotational)
    if principal[2] > (principal[0] + principal[1]) * (1.0 + ROUNDED) or principal[0] < -ROUNDED * principal[2]:
        shown = ", ".join(f"{value:.4g}" for value in principal)
        raise ModelError(
            f"{where}: no rigid body has the principal moments of inertia {shown}: "
            "each must be at most the sum of the other two"
        )
    xx, xy, xz, yy, yz, zz = (float(rotational[i, j]) for i, j in UPPER)
    load = RigidInertia.from_com(amount, (x, y, z), (xx, xy, xz, yy, yz, zz)).to_parent(target.placement)
    if not all(map(math.isfinite, load.parameters)):
        raise ModelError(f"{where}: its numbers are too large to compute with")
    return target.body, load


def payload_as_given(
    frame: str, mass: float, *, com: Sequence[float] = (0.0, 0.0, 0.0), inertia: ArrayLike | None = None
) -> Payload:
    """The numbers of a load; parameters as for `payload_inertia`. Raises ModelError for what is none."""
    where = f"payload at {excerpt(frame)}"
    center = np.array(_numbers(com, f"{where}: com", (3,)), dtype=float)
    amount = float(_numbers(mass, f"{where}: mass", ()))
    return Payload(amount, center, np.array(symmetric_matrix(inertia, where), dtype=float))


UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def symmetric_matrix(inertia: ArrayLike | None, where: str) -> np.ndarray:
    """A rotational inertia (3, 3) from the same or from six entries; zero for None. Raises ModelError."""
    if inertia is None:
        return np.zeros((3, 3))
    matrix = _numbers(inertia, f"{where}: inertia", (3, 3), (6,))
    if matrix.shape == (6,):
        xx, xy, xz, yy, yz, zz = matrix
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if np.max(np.abs(matrix - matrix.T)) > 1e-9 * np.max(np.abs(matrix), initial=0.0):
        raise ModelError(f"{where}: inertia is not symmetric")
    return matrix


def _numbers(value: ArrayLike, where: str, *shapes: tuple[int, ...]) -> np.ndarray:
    try:
        array = real_array(value, where)
    except ValueError as error:
        raise ModelError(str(error)) from None
    if array.shape not in shapes:
        raise ModelError(f"{where} has shape {array.shape}, expected {' or '.join(map(str, shapes))}")
    if not np.all(np.isfinite(array)):
        raise ModelError(f"{where} {excerpt(value)} is not finite")
    return array
