# SPDX-License-Identifier: Apache-2.0
"""3-vectors, 3 x 3 matrices and rotations as plain tuples of generic scalars.

A vector is (x, y, z); a matrix is its nine entries row by row; a symmetric matrix is
(xx, xy, xz, yy, yz, zz), the order of a URDF `inertia` element.
"""

from __future__ import annotations

from rbd_dynamics.spatial.scalar import Scalar, cos, sin

Vec3 = tuple[Scalar, Scalar, Scalar]
Mat3 = tuple[Scalar, ...]  # 9 entries
Sym3 = tuple[Scalar, ...]  # 6 entries

ZERO3: Vec3 = (0.0, 0.0, 0.0)
IDENTITY3: Mat3 = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
ZERO_SYM3: Sym3 = (0.0,) * 6


def add3(a: Vec3, b: Vec3) -> Vec3:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def sub3(a: Vec3, b: Vec3) -> Vec3:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def scale3(k: Scalar, a: Vec3) -> Vec3:
    return k * a[0], k * a[1], k * a[2]


def dot3(a: Vec3, b: Vec3) -> Scalar:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vec3, b: Vec3) -> Vec3:
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def skew(a: Vec3) -> Mat3:
    """[a], the matrix of the cross product: [a] b = a x b."""
    x, y, z = a
    return 0.0, -z, y, z, 0.0, -x, -y, x, 0.0


def matvec(m: Mat3, a: Vec3) -> Vec3:
    return (
        m[0] * a[0] + m[1] * a[1] + m[2] * a[2],
        m[3] * a[0] + m[4] * a[1] + m[5] * a[2],
        m[6] * a[0] + m[7] * a[1] + m[8] * a[2],
    )


def transpose(m: Mat3) -> Mat3:
    return m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8]


def matmul(a: Mat3, b: Mat3) -> Mat3:
    a0, a1, a2, a3, a4, a5, a6, a7, a8 = a
    b0, b1, b2, b3, b4, b5, b6, b7, b8 = b
    return (
        a0 * b0 + a1 * b3 + a2 * b6, a0 * b1 + a1 * b4 + a2 * b7, a0 * b2 + a1 * b5 + a2 * b8,
        a3 * b0 + a4 * b3 + a5 * b6, a3 * b1 + a4 * b4 + a5 * b7, a3 * b2 + a4 * b5 + a5 * b8,
        a6 * b0 + a7 * b3 + a8 * b6, a6 * b1 + a7 * b4 + a8 * b7, a6 * b2 + a7 * b5 + a8 * b8,
    )  # fmt: skip


def symvec(s: Sym3, a: Vec3) -> Vec3:
    """Symmetric matrix times vector."""
    return (
        s[0] * a[0] + s[1] * a[1] + s[2] * a[2],
        s[1] * a[0] + s[3] * a[1] + s[4] * a[2],
        s[2] * a[0] + s[4] * a[1] + s[5] * a[2],
    )


def sym_to_mat(s: Sym3) -> Mat3:
    return s[0], s[1], s[2], s[1], s[3], s[4], s[2], s[4], s[5]


def mat_to_sym(m: Mat3) -> Sym3:
    """The upper triangle of a matrix known to be symmetric."""
    return m[0], m[1], m[2], m[4], m[5], m[8]


def rotate_sym(r: Mat3, s: Sym3) -> Sym3:
    """R S R^T for a symmetric S."""
    left = matmul(r, sym_to_mat(s))
    x, y, z = r[0:3], r[3:6], r[6:9]
    first, second, third = left[0:3], left[3:6], left[6:9]
    return dot3(first, x), dot3(first, y), dot3(first, z), dot3(second, y), dot3(second, z), dot3(third, z)


def rotation_about(axis: Vec3, angle: Scalar) -> Mat3:
    """Rotation by an angle about a constant unit axis (Rodrigues' formula).

    For a coordinate axis the entries reduce to 0, 1, cos and sin.
    """
    c, s = cos(angle), sin(angle)
    x, y, z = axis
    one_c = 1.0 - c
    return (
        c + one_c * (x * x) if abs(x) != 1.0 else 1.0,
        one_c * (x * y) - s * z,
        one_c * (x * z) + s * y,
        one_c * (x * y) + s * z,
        c + one_c * (y * y) if abs(y) != 1.0 else 1.0,
        one_c * (y * z) - s * x,
        one_c * (x * z) - s * y,
        one_c * (y * z) + s * x,
        c + one_c * (z * z) if abs(z) != 1.0 else 1.0,
    )


def rotation_from_rpy(roll: Scalar, pitch: Scalar, yaw: Scalar) -> Mat3:
    """URDF's roll, pitch, yaw: R = Rz(yaw) Ry(pitch) Rx(roll)."""
    x = rotation_about((1.0, 0.0, 0.0), roll)
    y = rotation_about((0.0, 1.0, 0.0), pitch)
    z = rotation_about((0.0, 0.0, 1.0), yaw)
    return matmul(z, matmul(y, x))


def rotation_from_quaternion(q: tuple[Scalar, Scalar, Scalar, Scalar]) -> Mat3:
    """Rotation of a unit quaternion (x, y, z, w)."""
    x, y, z, w = q
    xx, yy, zz = 2.0 * x * x, 2.0 * y * y, 2.0 * z * z
    xy, xz, yz = 2.0 * x * y, 2.0 * x * z, 2.0 * y * z
    wx, wy, wz = 2.0 * w * x, 2.0 * w * y, 2.0 * w * z
    return (
        1.0 - (yy + zz),
        xy - wz,
        xz + wy,
        xy + wz,
        1.0 - (xx + zz),
        yz - wx,
        xz - wy,
        yz + wx,
        1.0 - (xx + yy),
    )
