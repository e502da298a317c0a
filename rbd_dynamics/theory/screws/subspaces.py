# SPDX-License-Identifier: Apache-2.0
"""Active and reactive subspaces of a joint on a rigid or articulated body (theory.md section 4; source 003).

    accelerations   a = s psi + U gamma     psi = T^T a     gamma = R^T a
    wrenches        f = T Q + R mu          Q = s^T f       mu = U^T f

s: what the joint lets happen; R: reaction wrenches, which do no work on s; T: wrenches that need no
reaction; U: accelerations that reactions alone cause.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.spatial.rank import screws_rank

Array = NDArray[np.float64]


class Subspaces(NamedTuple):
    """Bases as columns: s, T (..., 6, k), U, R (..., 6, 6 - k), with (s U) and (T R) dual to each other.

    s T^T + U R^T = 1, T s^T + R U^T = 1, R^T U = 1, U^T T = 0, s^T T = 1, R^T s = 0.
    """

    s: Array
    T: Array
    U: Array
    R: Array

    @property
    def active(self) -> Array:
        """s T^T (..., 6, 6), the projection of accelerations; its transpose is that of wrenches."""
        return self.s @ _t(self.T)

    @property
    def reactive(self) -> Array:
        """U R^T (..., 6, 6), the projection of accelerations; its transpose is that of wrenches."""
        return self.U @ _t(self.R)

    def split_acceleration(self, a: ArrayLike) -> tuple[Array, Array]:
        """(psi (..., k), gamma (..., 6 - k)) with a = s psi + U gamma."""
        return _times(_t(self.T), a), _times(_t(self.R), a)

    def split_wrench(self, f: ArrayLike) -> tuple[Array, Array]:
        """(Q (..., k), mu (..., 6 - k)) with f = T Q + R mu: joint force and reaction."""
        return _times(_t(self.s), f), _times(_t(self.U), f)

    def split_inertia(self, inertia: ArrayLike) -> tuple[Array, Array]:
        """(T (s^T I s) T^T, R (U^T I U) R^T), whose sum is I, the inertia of these subspaces."""
        I = np.asarray(inertia, dtype=float)
        return _congruence(self.T, _congruence(_t(self.s), I)), _congruence(self.R, _congruence(_t(self.U), I))

    def split_mobility(self, inertia: ArrayLike) -> tuple[Array, Array]:
        """(s (s^T I s)^-1 s^T, U (U^T I U)^-1 U^T), whose sum is I^-1."""
        I = np.asarray(inertia, dtype=float)
        active, reactive = _congruence(_t(self.s), I), _congruence(_t(self.U), I)
        return _congruence(self.s, _inverse(active)), _congruence(self.U, _inverse(reactive))


def subspaces(s: ArrayLike, inertia: ArrayLike) -> Subspaces:
    """T = A s (s^T A s)^-1, R orthonormal with R^T s = 0, U = A^-1 R (R^T A^-1 R)^-1.

    s (..., 6, k): independent joint axes, twists; inertia A (..., 6, 6); both in one frame. U comes
    from the identity U = (1 - s T^T) R, so A may be singular as long as s^T A s is not. A single
    axis may be given as (6,). Raises ValueError for dependent axes, ArithmeticError for a singular
    s^T A s.
    """
    axes, A = np.asarray(s, dtype=float), np.asarray(inertia, dtype=float)
    if axes.ndim == 1:
        axes = axes[:, None]
    k = axes.shape[-1]
    if np.any(screws_rank(axes) < k):
        raise ValueError(f"the {k} joint axes are not independent")
    force = A @ axes
    try:
        T = _t(np.linalg.solve(_t(axes) @ force, _t(force)))
    except np.linalg.LinAlgError:
        raise ArithmeticError("s^T A s is singular: the body has no inertia along a joint axis") from None
    R = np.linalg.qr(axes, mode="complete")[0][..., k:]
    return Subspaces(axes, T, R - axes @ (_t(T) @ R), R)


def _t(m: Array) -> Array:
    return np.swapaxes(m, -1, -2)


def _times(m: Array, x: ArrayLike) -> Array:
    return (m @ np.asarray(x, dtype=float)[..., None])[..., 0]


def _congruence(m: Array, inner: Array) -> Array:
    return m @ inner @ _t(m)


def _inverse(m: Array) -> Array:
    return np.asarray(np.linalg.inv(m), dtype=np.float64)
