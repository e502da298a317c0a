# SPDX-License-Identifier: Apache-2.0
"""Rigid and articulated inertias over generic scalars (theory.md sections 0 and 2)."""

from __future__ import annotations

from typing import NamedTuple

from rbd_dynamics.spatial.scalar import Scalar
from rbd_dynamics.spatial.se3 import Transform, Vec6
from rbd_dynamics.spatial.so3 import (
    ZERO3,
    ZERO_SYM3,
    Mat3,
    Sym3,
    Vec3,
    add3,
    cross,
    matmul,
    matvec,
    rotate_sym,
    scale3,
    skew,
    sub3,
    symvec,
    transpose,
)


class RigidInertia(NamedTuple):
    """Inertia of a rigid body at the origin of its frame, linear in its ten parameters.

    mass [kg]; first moment h = m c [kg m]; rotational inertia about the ORIGIN of the frame
    (xx, xy, xz, yy, yz, zz) [kg m^2].
    """

    mass: Scalar = 0.0
    moment: Vec3 = ZERO3
    rotational: Sym3 = ZERO_SYM3

    @classmethod
    def from_com(cls, mass: Scalar, com: Vec3, rotational_at_com: Sym3) -> RigidInertia:
        """The inertia of a body from that about its centre of mass (parallel-axis theorem)."""
        shift = [mass * entry for entry in _point_inertia(com, com)]
        return cls(mass, scale3(mass, com), tuple([a + b for a, b in zip(rotational_at_com, shift)]))

    @property
    def parameters(self) -> tuple[Scalar, ...]:
        """The ten parameters (m, m c, Ixx, Ixy, Ixz, Iyy, Iyz, Izz) at the frame's origin."""
        return (self.mass, *self.moment, *self.rotational)

    @classmethod
    def from_parameters(cls, parameters: tuple[Scalar, ...]) -> RigidInertia:
        return cls(parameters[0], tuple(parameters[1:4]), tuple(parameters[4:10]))

    def __add__(self, other: RigidInertia) -> RigidInertia:  # type: ignore[override]
        return RigidInertia(
            self.mass + other.mass,
            add3(self.moment, other.moment),
            tuple([a + b for a, b in zip(self.rotational, other.rotational)]),
        )

    def __mul__(self, twist: Vec6) -> Vec6:  # type: ignore[override]
        """I V: momentum of a twist, or wrench of an acceleration."""
        w, v = twist[:3], twist[3:]
        return add3(symvec(self.rotational, w), cross(self.moment, v)) + sub3(
            scale3(self.mass, v), cross(self.moment, w)
        )

    def to_parent(self, t: Transform) -> RigidInertia:
        """Ad*_{T^-1} I Ad_{T^-1}: the inertia expressed in the parent frame."""
        moment = t.rotate(self.moment)
        rotational = self.rotational
        for factor in reversed(t.factors):
            rotational = rotate_sym(factor, rotational)
        shifted = add3(scale3(self.mass, t.p), moment)
        # J' = J + [p]^T[h] + [h]^T[p] + m [p]^T[p], gathered as one product with p
        shift = _point_inertia(t.p, add3(moment, shifted))
        return RigidInertia(self.mass, shifted, tuple([j + s for j, s in zip(rotational, shift)]))

    def to_child(self, t: Transform) -> RigidInertia:
        """Ad*_T I Ad_T: an inertia seen in the parent frame, expressed in the child frame."""
        return self.to_parent(t.inverse())


class ArticulatedInertia(NamedTuple):
    """Symmetric 6 x 6 matrix [[J, H], [H^T, M]] that maps an acceleration to a wrench."""

    J: Sym3
    H: Mat3
    M: Sym3

    @classmethod
    def of(cls, rigid: RigidInertia) -> ArticulatedInertia:
        m = rigid.mass
        return cls(rigid.rotational, skew(rigid.moment), (m, 0.0, 0.0, m, 0.0, m))

    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia:  # type: ignore[override]
        return ArticulatedInertia(*(tuple(a + b for a, b in zip(x, y)) for x, y in zip(self, other)))

    def __mul__(self, twist: Vec6) -> Vec6:  # type: ignore[override]
        w, v = twist[:3], twist[3:]
        return add3(symvec(self.J, w), matvec(self.H, v)) + add3(matvec(transpose(self.H), w), symvec(self.M, v))

    def minus_outer(self, u: Vec6, scaled: Vec6, null_axis: int | None = None) -> ArticulatedInertia:
        """self - u scaled^T, where scaled = u / d.

        `null_axis` names a coordinate direction that is known to be in the null space of the
        result (the free direction of a joint), whose row and column then are exact zeros.
        """

        def entry(old: Scalar, i: int, j: int) -> Scalar:
            return 0.0 if null_axis in (i, j) else old - u[i] * scaled[j]

        upper = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
        return ArticulatedInertia(
            tuple(entry(x, i, j) for x, (i, j) in zip(self.J, upper)),
            tuple(entry(self.H[3 * i + j], i, 3 + j) for i in range(3) for j in range(3)),
            tuple(entry(x, 3 + i, 3 + j) for x, (i, j) in zip(self.M, upper)),
        )

    def to_parent(self, t: Transform) -> ArticulatedInertia:
        """Ad*_{T^-1} A Ad_{T^-1}: the inertia expressed in the parent frame."""
        J, H, M = self
        for factor in reversed(t.factors):
            J, M = rotate_sym(factor, J), rotate_sym(factor, M)
            H = matmul(matmul(factor, H), transpose(factor))
        p = skew(t.p)
        m00, m01, m02, m11, m12, m22 = M
        pM = matmul(p, (m00, m01, m02, m01, m11, m12, m02, m12, m22))
        shifted_H = tuple(a + b for a, b in zip(H, pM))
        # J' = J + [p] H^T - (H + [p] M) [p], symmetric: its upper triangle is enough
        pHt, Hp = matmul(p, transpose(H)), matmul(shifted_H, p)
        upper = (0, 1, 2, 4, 5, 8)
        return ArticulatedInertia(tuple(j + pHt[k] - Hp[k] for j, k in zip(J, upper)), shifted_H, M)


def _point_inertia(a: Vec3, b: Vec3) -> Sym3:
    """[a]^T [b], symmetrised: (a . b) 1 - (a b^T + b a^T) / 2."""
    xx, yy, zz = a[0] * b[0], a[1] * b[1], a[2] * b[2]
    return (
        yy + zz,
        -0.5 * (a[0] * b[1] + a[1] * b[0]),
        -0.5 * (a[0] * b[2] + a[2] * b[0]),
        xx + zz,
        -0.5 * (a[1] * b[2] + a[2] * b[1]),
        xx + yy,
    )
