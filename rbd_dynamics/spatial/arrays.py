# SPDX-License-Identifier: Apache-2.0
"""Spatial algebra over NumPy arrays: what `rbd_dynamics.spatial` offers to users.

Thin wrappers of the generic-scalar modules. Every argument may have leading axes, which broadcast:
vectors (..., 3), quaternions (..., 4) as (x, y, z, w), twists (w, v) and wrenches (m, f) (..., 6),
rotations (..., 3, 3), poses (..., 4, 4), inertias (..., 6, 6). Angles in rad, SI units. A wrong
shape is a ValueError; nothing is tested for being finite or orthonormal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from rbd_dynamics.spatial import exponentials, lie, quaternions, rigid_body, se3, so3
from rbd_dynamics.spatial.entries import Array, Entries, entries_of_map, entries_of_pose, join, split, transform_of
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.se3 import Transform
from rbd_dynamics.spatial.so3 import Mat3

# --- between arrays and tuples --------------------------------------------------------------------


def pose_of(array: ArrayLike) -> Transform:
    """The transform of a pose (..., 4, 4)."""
    return transform_of(split(array, 4, 4))


def pose_array(t: Transform) -> Array:
    """The pose (..., 4, 4) of a transform over floats or arrays."""
    return join(entries_of_pose(t), 4, 4)


def matrix(linear: Callable[[Entries], Entries], size: int) -> Array:
    """The matrix (..., size, size) of a linear map over tuples."""
    return join(entries_of_map(linear, size), size, size)


# --- SO(3) ----------------------------------------------------------------------------------------


def hat(w: ArrayLike) -> Array:
    """[w] (..., 3, 3), the matrix of the cross product with w (..., 3)."""
    return join(so3.skew(_vec3(w)), 3, 3)


def vee(m: ArrayLike) -> Array:
    """w (..., 3) of a matrix [w] (..., 3, 3); of any matrix, w of its skew part."""
    e = split(m, 3, 3)
    return join((0.5 * (e[7] - e[5]), 0.5 * (e[2] - e[6]), 0.5 * (e[3] - e[1])), 3)


def exp_so3(w: ArrayLike) -> Array:
    """Rotation (..., 3, 3) of a rotation vector (..., 3)."""
    return exponentials.exp_so3(w)


def log_so3(rotation: ArrayLike) -> Array:
    """Rotation vector (..., 3), at most pi long, of a rotation (..., 3, 3)."""
    return exponentials.log_so3(rotation)


def left_jacobian_so3(w: ArrayLike) -> Array:
    """J_l (..., 3, 3) at w: d/dt exp(w) = [J_l wdot] exp(w)."""
    return exponentials.left_jacobian_so3(w)


def left_jacobian_inverse_so3(w: ArrayLike) -> Array:
    """J_l^-1 (..., 3, 3) at w (..., 3), |w| < 2 pi."""
    return exponentials.left_jacobian_inverse_so3(w)


def right_jacobian_so3(w: ArrayLike) -> Array:
    """J_r (..., 3, 3) at w: d/dt exp(w) = exp(w) [J_r wdot]."""
    return exponentials.right_jacobian_so3(w)


def right_jacobian_inverse_so3(w: ArrayLike) -> Array:
    """J_r^-1 (..., 3, 3) at w (..., 3), |w| < 2 pi."""
    return exponentials.right_jacobian_inverse_so3(w)


def left_jacobian_times(w: ArrayLike, v: ArrayLike) -> Array:
    """J_l(w) v (..., 3): the translation reached along the constant twist (w, v) in unit time."""
    return join(lie.left_jacobian_so3(_vec3(w), _vec3(v)), 3)


def left_jacobian_inverse_times(w: ArrayLike, p: ArrayLike) -> Array:
    """J_l(w)^-1 p (..., 3), |w| < 2 pi."""
    return join(lie.left_jacobian_inverse_so3(_vec3(w), _vec3(p)), 3)


# --- SE(3) ----------------------------------------------------------------------------------------


def pose(rotation: ArrayLike, position: ArrayLike) -> Array:
    """Pose (..., 4, 4) of a rotation (..., 3, 3) and a position (..., 3)."""
    return pose_array(Transform((_mat3(rotation),), _vec3(position)))


def pose_inverse(t: ArrayLike) -> Array:
    """T^-1 (..., 4, 4) = (R^T, -R^T p)."""
    return pose_array(pose_of(t).inverse())


def hat_se3(twist: ArrayLike) -> Array:
    """[[ [w], v ], [ 0, 0 ]] (..., 4, 4) of a twist (w, v) (000 equation 5)."""
    x, y, z, *v = split(twist, 6)
    return join((0.0, -z, y, v[0], z, 0.0, -x, v[1], -y, x, 0.0, v[2], 0.0, 0.0, 0.0, 0.0), 4, 4)


def vee_se3(m: ArrayLike) -> Array:
    """The twist (..., 6) of a matrix [[ [w], v ], [ 0, 0 ]] (..., 4, 4)."""
    m = np.asarray(m, dtype=float)
    split(m, 4, 4)
    return np.concatenate([vee(m[..., :3, :3]), m[..., :3, 3]], axis=-1)


def exp_se3(twist: ArrayLike) -> Array:
    """Pose (..., 4, 4) reached along a constant twist (..., 6) in unit time."""
    return exponentials.exp_se3(twist)


def log_se3(t: ArrayLike) -> Array:
    """Twist (w, v) (..., 6) with exp_se3(twist) = T and |w| <= pi."""
    return exponentials.log_se3(t)


def left_jacobian_se3(twist: ArrayLike) -> Array:
    """J_l (..., 6, 6) at V: d/dt exp(V) = [J_l Vdot] exp(V)."""
    return exponentials.left_jacobian_se3(twist)


def left_jacobian_inverse_se3(twist: ArrayLike) -> Array:
    """J_l^-1 (..., 6, 6) at V = (w, v), |w| < 2 pi."""
    return exponentials.left_jacobian_inverse_se3(twist)


def right_jacobian_se3(twist: ArrayLike) -> Array:
    """J_r (..., 6, 6) at V: d/dt exp(V) = exp(V) [J_r Vdot]."""
    return exponentials.right_jacobian_se3(twist)


def right_jacobian_inverse_se3(twist: ArrayLike) -> Array:
    """J_r^-1 (..., 6, 6) at V = (w, v), |w| < 2 pi."""
    return exponentials.right_jacobian_inverse_se3(twist)


def adjoint(t: ArrayLike) -> Array:
    """Ad_T (..., 6, 6) = [[R, 0], [[p] R, R]] (000 equation 7): V_a = Ad_{T_ab} V_b."""
    at = pose_of(t)
    return matrix(lambda x: se3.twist_to_parent(at, x), 6)


def adjoint_dual(t: ArrayLike) -> Array:
    """Ad*_T = Ad_T^T (..., 6, 6) (000 equation 8): F_b = Ad*_{T_ab} F_a."""
    return np.swapaxes(adjoint(t), -1, -2)


def ad(twist: ArrayLike) -> Array:
    """ad_V (..., 6, 6) = [[ [w], 0 ], [ [v], [w] ]] (000 equation 27)."""
    at = split(twist, 6)
    return matrix(lambda x: se3.ad(at, x), 6)


def ad_dual(twist: ArrayLike) -> Array:
    """ad*_V = ad_V^T (..., 6, 6) (000 equation 29)."""
    at = split(twist, 6)
    return matrix(lambda x: se3.ad_dual(at, x), 6)


# --- twists, wrenches, momenta, inertias ----------------------------------------------------------


def transform_twist(t_ab: ArrayLike, twist_b: ArrayLike) -> Array:
    """V_a = Ad_{T_ab} V_b (..., 6) (000 equation 11)."""
    return join(se3.twist_to_parent(pose_of(t_ab), split(twist_b, 6)), 6)


def transform_wrench(t_ab: ArrayLike, wrench_b: ArrayLike) -> Array:
    """F_a = Ad*_{T_ba} F_b (..., 6), of wrenches and of momenta (000 equations 13 and 24)."""
    return join(se3.wrench_to_parent(pose_of(t_ab), split(wrench_b, 6)), 6)


def transform_inertia(t_ab: ArrayLike, inertia_b: ArrayLike) -> Array:
    """I_a = Ad*_{T_ba} I_b Ad_{T_ba} (..., 6, 6), rigid or articulated (000 equation 21)."""
    back = adjoint(pose_inverse(t_ab))
    return np.swapaxes(back, -1, -2) @ np.asarray(inertia_b, dtype=float) @ back


def inertia_matrix(mass: ArrayLike, com: ArrayLike, inertia_at_com: ArrayLike) -> Array:
    """I (..., 6, 6) = [[Ic + m [c]^T [c], m [c]], [m [c]^T, m 1]] (000 equations 20 and 22).

    mass (...) [kg]; com c (..., 3) [m]; Ic (..., 3, 3) about the centre of mass [kg m^2], axes
    parallel to the frame's.
    """
    m = split(np.asarray(mass, dtype=float)[..., None], 1)[0]
    rigid = RigidInertia.from_com(m, _vec3(com), so3.mat_to_sym(_mat3(inertia_at_com)))
    return matrix(lambda x: rigid * x, 6)


def momentum(inertia: ArrayLike, twist: ArrayLike) -> Array:
    """L = I V (..., 6): (angular momentum, linear momentum) (000 equation 23)."""
    return _times(inertia, twist)


def kinetic_energy(inertia: ArrayLike, twist: ArrayLike) -> Array:
    """V^T I V / 2 (...) [J] (000 equation 15)."""
    return 0.5 * power(_times(inertia, twist), twist)


def power(wrench: ArrayLike, twist: ArrayLike) -> Array:
    """V^T F (...) [W]; zero where wrench and twist are reciprocal."""
    return np.asarray(se3.dot6(split(wrench, 6), split(twist, 6)))


def twist_derivative(frame_twist: ArrayLike, x: ArrayLike, rate: ArrayLike) -> Array:
    """dX/dt = Xdot + ad_V X (..., 6) of a twist-like X in a frame moving at V (000 lemma 1)."""
    return join(rigid_body.twist_derivative(split(frame_twist, 6), split(x, 6), split(rate, 6)), 6)


def wrench_derivative(frame_twist: ArrayLike, y: ArrayLike, rate: ArrayLike) -> Array:
    """dY/dt = Ydot - ad*_V Y (..., 6) of a wrench-like Y in a frame moving at V (000 lemma 2)."""
    return join(rigid_body.wrench_derivative(split(frame_twist, 6), split(y, 6), split(rate, 6)), 6)


def net_wrench(inertia: ArrayLike, twist: ArrayLike, acceleration: ArrayLike) -> Array:
    """F = I Vdot - ad*_V I V (..., 6), all in the body frame (000 equation 31)."""
    gyroscopic = se3.ad_dual(split(twist, 6), split(_times(inertia, twist), 6))
    return _times(inertia, acceleration) - join(gyroscopic, 6)


def body_acceleration(inertia: ArrayLike, twist: ArrayLike, wrench: ArrayLike) -> Array:
    """Vdot = I^-1 (F + ad*_V I V) (..., 6). Raises LinAlgError for a singular inertia."""
    gyroscopic = join(se3.ad_dual(split(twist, 6), split(_times(inertia, twist), 6)), 6)
    total = np.asarray(wrench, dtype=float) + gyroscopic
    return np.linalg.solve(np.asarray(inertia, dtype=float), total[..., None])[..., 0]


# --- quaternions (x, y, z, w) ---------------------------------------------------------------------


def quaternion_product(a: ArrayLike, b: ArrayLike) -> Array:
    """Hamilton product a * b (..., 4)."""
    return join(quaternions.quaternion_product(split(a, 4), split(b, 4)), 4)


def quaternion_conjugate(q: ArrayLike) -> Array:
    """The inverse of a unit quaternion (..., 4)."""
    return join(quaternions.quaternion_conjugate(split(q, 4)), 4)


def quaternion_normalized(q: ArrayLike) -> Array:
    """q / |q| (..., 4)."""
    return join(quaternions.quaternion_normalized(split(q, 4)), 4)


def quaternion_exp(w: ArrayLike) -> Array:
    """Quaternion (..., 4) of a rotation vector (..., 3)."""
    return join(quaternions.quaternion_exp(_vec3(w)), 4)


def quaternion_log(q: ArrayLike) -> Array:
    """Rotation vector (..., 3), at most pi long, of a unit quaternion (..., 4)."""
    return join(quaternions.quaternion_log(split(q, 4)), 3)


def quaternion_from_rotation(rotation: ArrayLike) -> Array:
    """Unit quaternion (..., 4) of a rotation (..., 3, 3)."""
    return join(quaternions.quaternion_from_rotation(_mat3(rotation)), 4)


def rotation_from_quaternion(q: ArrayLike) -> Array:
    """Rotation (..., 3, 3) of a unit quaternion (..., 4)."""
    x, y, z, w = split(q, 4)
    return join(so3.rotation_from_quaternion((x, y, z, w)), 3, 3)


def rotate_by_quaternion(q: ArrayLike, a: ArrayLike) -> Array:
    """Vectors (..., 3) turned by unit quaternions (..., 4)."""
    return join(quaternions.rotate_by_quaternion(split(q, 4), _vec3(a)), 3)


def quaternion_left(q: ArrayLike) -> Array:
    """L(q) (..., 4, 4): L(q) p = q * p."""
    return _rows(quaternions.quaternion_left(split(q, 4)))


def quaternion_right(q: ArrayLike) -> Array:
    """R(q) (..., 4, 4): R(q) p = p * q."""
    return _rows(quaternions.quaternion_right(split(q, 4)))


def quaternion_attitude(q: ArrayLike) -> Array:
    """G(q) = L(q) H (..., 4, 3): Qdot = G w / 2."""
    return _rows(quaternions.quaternion_attitude(split(q, 4)))


#: H (4, 3): puts a vector where the imaginary part of a quaternion is
H = np.eye(4)[:, :3]
H.flags.writeable = False


def quaternion_rate(q: ArrayLike, w: ArrayLike) -> Array:
    """Qdot = G(Q) w / 2 (..., 4) at the body angular velocity w (..., 3)."""
    return join(quaternions.quaternion_rate(split(q, 4), _vec3(w)), 4)


def angular_velocity(q: ArrayLike, rate: ArrayLike) -> Array:
    """w = 2 G(Q)^T Qdot (..., 3), in the body frame, for a unit quaternion."""
    return join(quaternions.angular_velocity(split(q, 4), split(rate, 4)), 3)


def from_scalar_first(q: ArrayLike) -> Array:
    """(w, x, y, z), as in source 004, to (x, y, z, w)."""
    return join(quaternions.from_scalar_first(split(q, 4)), 4)


def to_scalar_first(q: ArrayLike) -> Array:
    """(x, y, z, w) to (w, x, y, z), as in source 004."""
    return join(quaternions.to_scalar_first(split(q, 4)), 4)


def random_quaternion(rng: np.random.Generator) -> Array:
    """A random unit quaternion (4,), every rotation as likely as any other."""
    return quaternion_normalized(rng.normal(size=4))


# --- helpers --------------------------------------------------------------------------------------


def _three(a: Entries) -> so3.Vec3:
    x, y, z = a
    return x, y, z


def _vec3(array: ArrayLike) -> so3.Vec3:
    return _three(split(array, 3))


def _mat3(array: ArrayLike) -> Mat3:
    return split(array, 3, 3)


def _rows(rows: Sequence[Entries]) -> Array:
    return join([entry for row in rows for entry in row], len(rows), len(rows[0]))


def _times(inertia: ArrayLike, twist: ArrayLike) -> Array:
    split(inertia, 6, 6)
    split(twist, 6)
    return (np.asarray(inertia, dtype=float) @ np.asarray(twist, dtype=float)[..., None])[..., 0]


__all__ = [
    "H", "ad", "ad_dual", "adjoint", "adjoint_dual", "angular_velocity", "body_acceleration", "exp_se3", "exp_so3",
    "from_scalar_first", "hat", "hat_se3", "inertia_matrix", "kinetic_energy", "left_jacobian_inverse_se3",
    "left_jacobian_inverse_so3", "left_jacobian_inverse_times", "left_jacobian_se3", "left_jacobian_so3",
    "left_jacobian_times", "log_se3", "log_so3", "momentum", "net_wrench", "pose", "pose_inverse", "power",
    "quaternion_attitude", "quaternion_conjugate", "quaternion_exp", "quaternion_from_rotation", "quaternion_left",
    "quaternion_log", "quaternion_normalized", "quaternion_product", "quaternion_rate", "quaternion_right",
    "random_quaternion", "right_jacobian_inverse_se3", "right_jacobian_inverse_so3", "right_jacobian_se3",
    "right_jacobian_so3", "rotate_by_quaternion", "rotation_from_quaternion", "to_scalar_first", "transform_inertia",
    "transform_twist", "transform_wrench", "twist_derivative", "vee", "vee_se3", "wrench_derivative",
]  # fmt: skip
