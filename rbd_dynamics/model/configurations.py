"""Unit quaternions (x, y, z, w) and rigid motions over NumPy arrays with any leading axes.

This is what moves configurations and tells them apart. The algorithms, generic over the scalar,
use `rbd_dynamics.spatial` in its place.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def quaternion_product(a: Array, b: Array) -> Array:
    """Hamilton product of quaternions (..., 4)."""
    av, aw, bv, bw = a[..., :3], a[..., 3:], b[..., :3], b[..., 3:]
    vector = aw * bv + bw * av + np.cross(av, bv)
    scalar = aw * bw - np.sum(av * bv, axis=-1, keepdims=True)
    return np.concatenate([vector, scalar], axis=-1)


def quaternion_conjugate(q: Array) -> Array:
    """The inverse of a unit quaternion (..., 4)."""
    return np.concatenate([-q[..., :3], q[..., 3:]], axis=-1)


def quaternion_exp(w: Array) -> Array:
    """Quaternion of the rotation vector w (..., 3)."""
    angle = np.linalg.norm(w, axis=-1, keepdims=True)
    return np.concatenate([0.5 * np.sinc(angle / (2 * np.pi)) * w, np.cos(angle / 2)], axis=-1)


def quaternion_log(q: Array) -> Array:
    """Rotation vector, at most pi long, of a unit quaternion (..., 4)."""
    q = np.where(q[..., 3:] < 0, -q, q)  # the shorter way round
    norm = np.linalg.norm(q[..., :3], axis=-1, keepdims=True)
    half = np.arctan2(norm, q[..., 3:])
    # 2 half / sin(half) -> 2 at the identity
    return 2.0 / np.sinc(half / np.pi) * q[..., :3]


def random_quaternion(rng: np.random.Generator) -> Array:
    """A random unit quaternion (4,), every rotation as likely as any other."""
    q = rng.normal(size=4)
    return np.asarray(q / np.linalg.norm(q))


def rotate_by_quaternion(q: Array, a: Array) -> Array:
    """Vectors (..., 3) turned by unit quaternions (..., 4)."""
    t = 2.0 * np.cross(q[..., :3], a)
    return a + q[..., 3:] * t + np.cross(q[..., :3], t)


def left_jacobian_times(w: Array, v: Array) -> Array:
    """Translation reached along the constant twist (w, v) in unit time: exp's left Jacobian times v."""
    angle = np.linalg.norm(w, axis=-1, keepdims=True)
    half_sinc = np.sinc(angle / (2 * np.pi))
    first = 0.5 * half_sinc**2  # (1 - cos t) / t^2
    wv = np.cross(w, v)
    return v + first * wv + _cubic_coefficient(angle) * np.cross(w, wv)


def left_jacobian_inverse_times(w: Array, p: Array) -> Array:
    """Inverse of `left_jacobian_times` for |w| < 2 pi."""
    angle = np.linalg.norm(w, axis=-1, keepdims=True)
    half = angle / 2
    small = angle < 1e-2
    safe = np.where(small, 1.0, half)
    exact = (1.0 - safe * np.cos(safe) / np.sin(safe)) / (4 * safe**2)
    second = np.where(small, 1.0 / 12.0 + angle**2 / 720.0 + angle**4 / 30240.0, exact)
    wp = np.cross(w, p)
    return p - 0.5 * wp + second * np.cross(w, wp)


def _cubic_coefficient(angle: Array) -> Array:
    """(t - sin t) / t^3, accurate near zero."""
    small = angle < 1e-1
    safe = np.where(small, 1.0, angle)
    series = 1.0 / 6.0 - angle**2 / 120.0 + angle**4 / 5040.0 - angle**6 / 362880.0
    return np.where(small, series, (safe - np.sin(safe)) / safe**3)
