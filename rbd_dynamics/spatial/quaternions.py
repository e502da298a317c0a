# SPDX-License-Identifier: Apache-2.0
"""Unit quaternions (x, y, z, w) over generic scalars (theory.md section 1; source 004).

The scalar part comes LAST, as in ROS and in this package's configurations; the lecture of source 004
writes it first (`from_scalar_first`, `to_scalar_first` convert). Q and -Q are the same rotation.
With * the Hamilton product: L(Q) P = Q * P = R(P) Q, H puts a vector where the imaginary part is,
and G(Q) = L(Q) H, so that Qdot = G(Q) w / 2 and w = 2 G(Q)^T Qdot with w in the body frame.
"""

from __future__ import annotations

from rbd_dynamics.spatial.scalar import Scalar, atan2, cos, less, sin, sqrt, where
from rbd_dynamics.spatial.so3 import Mat3, Vec3, add3, cross, dot3, scale3

Vec4 = tuple[Scalar, ...]  # 4 entries


def quaternion_product(a: Vec4, b: Vec4) -> Vec4:
    """a * b: the rotation b, then a (both seen in the fixed frame)."""
    u, v = a[:3], b[:3]
    vector = add3(add3(scale3(a[3], v), scale3(b[3], u)), cross(u, v))
    return (*vector, a[3] * b[3] - dot3(u, v))


def quaternion_conjugate(q: Vec4) -> Vec4:
    """The inverse of a unit quaternion."""
    return -q[0], -q[1], -q[2], q[3]


def quaternion_normalized(q: Vec4) -> Vec4:
    """q / |q|."""
    scale = 1.0 / sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return tuple(scale * entry for entry in q)


def rotate_by_quaternion(q: Vec4, a: Vec3) -> Vec3:
    """R(q) a for a unit quaternion."""
    v = q[:3]
    t = scale3(2.0, cross(v, a))
    return add3(a, add3(scale3(q[3], t), cross(v, t)))


def quaternion_exp(w: Vec3) -> Vec4:
    """Quaternion of a rotation vector w [rad]."""
    x = dot3(w, w)
    angle = sqrt(where(x, x, 1.0))
    half = 0.5 * angle
    return (*scale3(where(x, sin(half) / angle, 0.5), w), where(x, cos(half), 1.0))


def quaternion_log(q: Vec4) -> Vec3:
    """Rotation vector [rad], at most pi long, of a unit quaternion: the shorter way round."""
    sign = where(less(q[3], 0.0), -1.0, 1.0)
    vector, scalar = scale3(sign, q[:3]), sign * q[3]
    square = dot3(vector, vector)
    norm = sqrt(square)
    # atan2(n, w) / n, whose limit at n = 0 is 1 / w
    ratio = where(square, atan2(norm, scalar) / where(square, norm, 1.0), 1.0)
    return scale3(2.0 * ratio, vector)


def quaternion_from_rotation(rotation: Mat3) -> Vec4:
    """Unit quaternion (x, y, z, w) of a rotation matrix, from its largest component (Shepperd)."""
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = rotation
    candidates: list[Vec4] = [  # each is 4 q times one component of q, which stands at its place
        (1.0 + r00 - r11 - r22, r01 + r10, r02 + r20, r21 - r12),
        (r01 + r10, 1.0 - r00 + r11 - r22, r12 + r21, r02 - r20),
        (r02 + r20, r12 + r21, 1.0 - r00 - r11 + r22, r10 - r01),
        (r21 - r12, r02 - r20, r10 - r01, 1.0 + r00 + r11 + r22),
    ]
    best, largest = candidates[3], candidates[3][3]
    for k in range(3):
        larger = less(largest, candidates[k][k])
        best = tuple(where(larger, new, old) for new, old in zip(candidates[k], best))
        largest = where(larger, candidates[k][k], largest)
    return quaternion_normalized(best)


# --- maps of the product, and kinematics ----------------------------------------------------------


def quaternion_left(q: Vec4) -> tuple[Vec4, ...]:
    """The four rows of L(q): L(q) p = q * p."""
    x, y, z, w = q
    return (w, -z, y, x), (z, w, -x, y), (-y, x, w, z), (-x, -y, -z, w)


def quaternion_right(q: Vec4) -> tuple[Vec4, ...]:
    """The four rows of R(q): R(q) p = p * q."""
    x, y, z, w = q
    return (w, z, -y, x), (-z, w, x, y), (y, -x, w, z), (-x, -y, -z, w)


def quaternion_attitude(q: Vec4) -> tuple[Vec3, ...]:
    """The four rows of G(q) = L(q) H: the first three columns of L(q)."""
    return tuple(row[:3] for row in quaternion_left(q))


def quaternion_rate(q: Vec4, w: Vec3) -> Vec4:
    """Qdot = G(Q) w / 2 at the angular velocity w [rad/s] in the body frame."""
    return tuple(0.5 * dot3(row, w) for row in quaternion_attitude(q))


def angular_velocity(q: Vec4, rate: Vec4) -> Vec3:
    """w = 2 G(Q)^T Qdot [rad/s], in the body frame, for a unit quaternion."""
    columns = zip(*quaternion_attitude(q))
    x, y, z = (2.0 * (a * rate[0] + b * rate[1] + c * rate[2] + d * rate[3]) for a, b, c, d in columns)
    return x, y, z


def from_scalar_first(q: Vec4) -> Vec4:
    """(w, x, y, z), as in source 004, to (x, y, z, w)."""
    return q[1], q[2], q[3], q[0]


def to_scalar_first(q: Vec4) -> Vec4:
    """(x, y, z, w) to (w, x, y, z), as in source 004."""
    return q[3], q[0], q[1], q[2]
