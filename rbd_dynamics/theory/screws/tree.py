# SPDX-License-Identifier: Apache-2.0
"""What the screw recursions read of each body, as matrices in its own frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.algorithms.kinematics import base_acceleration, velocities
from rbd_dynamics.model.model import Model
from rbd_dynamics.spatial.arrays import matrix
from rbd_dynamics.spatial.entries import join
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.se3 import ad_dual, scale6, sub6, twist_to_child

Array = NDArray[np.float64]


class BodyState(NamedTuple):
    """One body at one state, in its own frame; leading axes are a batch.

    joint: its name. parent: index of the parent body, -1 for the world. X (..., 6, 6): Ad_{T^-1},
    from the parent's frame. s (..., 6, n): joint axes. k (..., 6): what the velocities add to the
    acceleration. I (..., 6, 6): inertia. p (..., 6): -ad*_V I V - F_ext. rotor (n, n): rotor inertia.
    dofs: where the joint's numbers are in v.
    """

    joint: str
    parent: int
    X: Array
    s: Array
    k: Array
    I: Array
    p: Array
    rotor: Array
    dofs: slice


def body_states(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    f_ext: Sequence[ArrayLike] | None = None,
    inertias: Sequence[RigidInertia] | None = None,
) -> list[BodyState]:
    """Every body at q (..., nq), v (..., nv).

    f_ext: the external wrench (..., 6) on each body, in its frame. inertias: instead of the model's.
    Raises ValueError for a wrong shape and for a model with mimic joints: their coordinate moves
    several joints at once, so a joint alone has no subspaces.
    """
    for body in model.bodies:
        if body.joint.mimic is not None:
            mimic = body.joint.mimic.leader
            raise ValueError(f"joint {body.joint.name!r} mimics {mimic!r}: screw recursions take one joint at a time")
    moving = velocities(model, _scalars(q, model.nq, "q"), _scalars(v, model.nv, "v"))
    states = []
    for index, (body, motion) in enumerate(zip(model.bodies, moving)):
        inertia = body.inertia if inertias is None else inertias[index]
        joint, kind, transform = body.joint, body.joint.kind, motion.motion.transform
        bias = scale6(-1.0, ad_dual(motion.twist, inertia * motion.twist))
        if f_ext is not None:
            bias = sub6(bias, tuple(_scalars(f_ext[index], 6, "f_ext")))
        columns = [column[row] for row in range(6) for column in motion.motion.columns]
        states.append(
            BodyState(
                joint.name,
                body.parent,
                matrix(lambda x, t=transform: twist_to_child(t, x), 6),  # type: ignore[misc]
                join(columns, 6, kind.nv),
                join(motion.bias, 6),
                matrix(lambda x, i=inertia: i * x, 6),  # type: ignore[misc]
                join(bias, 6),
                joint.armature * np.eye(kind.nv),
                slice(joint.v_index, joint.v_index + kind.nv),
            )
        )
    return states


def gravity_acceleration(model: Model) -> Array:
    """(0, -g) (6,): the base acceleration that stands for gravity."""
    return np.array(base_acceleration(model))


def torques(model: Model, tau: ArrayLike) -> Array:
    """tau (..., nv) as an array. Raises ValueError for a wrong shape."""
    array = np.asarray(tau, dtype=float)
    if array.shape[-1:] != (model.nv,):
        raise ValueError(f"tau has shape {array.shape}, expected (..., {model.nv})")
    return array


def t(m: Array) -> Array:
    """Transpose of the last two axes."""
    return np.swapaxes(m, -1, -2)


def times(m: Array, x: Array) -> Array:
    """Matrix times vector: (..., i, j), (..., j) -> (..., i)."""
    return (m @ x[..., None])[..., 0]


def inverse_of_one_plus(m: Array) -> Array:
    """(1 + m)^-1 (..., 6, 6), for a product of two positive semidefinite matrices."""
    return np.asarray(np.linalg.inv(np.eye(6) + m), dtype=np.float64)


#: joint-space inertia counts as none below this part of the body's largest entry
NO_INERTIA = 1e-14


def joint_inverse(D: Array, I: Array, joint: str) -> Array:
    """D^-1 (..., n, n), of the inertia s^T I X s that a joint moves; I (..., 6, 6): of its body.

    Raises ArithmeticError, naming the joint, where D is singular to rounding.
    """
    if not np.all(np.isfinite(D)):
        raise ArithmeticError(f"the inertia at joint {joint!r} is not finite")
    least = np.linalg.eigvalsh(0.5 * (D + t(D)))[..., 0]
    if np.any(least <= NO_INERTIA * np.max(np.abs(I), axis=(-1, -2))):
        raise ArithmeticError(f"joint {joint!r} moves no inertia along one of its axes")
    return np.asarray(np.linalg.inv(D), dtype=np.float64)


def _scalars(array: ArrayLike, size: int, name: str) -> list[Array | float]:
    """The entries of the last axis: floats of one sample, arrays of a batch."""
    values = np.asarray(array, dtype=float)
    if values.shape[-1:] != (size,):
        raise ValueError(f"{name} has shape {values.shape}, expected (..., {size})")
    return values.tolist() if values.ndim == 1 else [values[..., k] for k in range(size)]
