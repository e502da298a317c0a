# SPDX-License-Identifier: Apache-2.0
"""Inertia and mobility as a tool feels them (theory.md section 7; 001 section 5).

All quantities of a frame are expressed in the frame itself, angular part first, or in another `reference`, as
`Robot.jacobian` has it. `rows` picks directions out of the six: slice(3, 6) is the translation, [5] the
motion along the z axis. Every function takes one sample, (nq,), or a batch, (N, nq).

At a singular configuration the frame cannot move in some directions, whatever the forces: its
inertia there is infinite. So the inverse, J M^-1 J^T, is what is always finite, and
`effective_inertia` says which directions have no finite inertia.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.kernels.bound_model import require_double
from rbd_dynamics.kernels.of_frames import Reference
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial import hat
from rbd_dynamics.spatial.rank import size_of, without_rounding

Array = NDArray[np.float64]
Rows = slice | Sequence[int]

ALL_ROWS = slice(0, 6)
TRANSLATION = slice(3, 6)

#: singular values below this, relative to the largest, count as zero
TOLERANCE = 1e-8


# --- effective inertia ----------------------------------------------------------------------------


class EffectiveInertia(NamedTuple):
    """Inertia of a frame in k directions; for a batch each field has a leading axis more.

    Where `rank` is k, `inertia` is the inverse of `inverse`. Where it is less, the columns of
    `directions` from `rank` on span the directions without finite inertia: no force moves the frame
    there. `inertia` then is the pseudoinverse, which is right for motions within the first `rank`.
    """

    inverse: Array  # J M^-1 J^T (k, k)
    inertia: Array  # (k, k): kg m^2, kg m, kg by rows
    rank: NDArray[np.intp]  # number of directions with finite inertia
    directions: Array  # (k, k) orthonormal columns, the lightest first, the immovable last
    masses: Array  # (k) inertia along each, infinite from `rank` on

    @property
    def immovable(self) -> Array:
        """Orthonormal basis (k, k - rank) of the directions without finite inertia, of one sample."""
        return self.directions[:, int(self.rank) :]


def effective_inertia(
    robot: Robot,
    q: ArrayLike,
    frame: str,
    *,
    rows: Rows = ALL_ROWS,
    reference: Reference = "body",
    tolerance: float = TOLERANCE,
) -> EffectiveInertia:
    """(J M^-1 J^T)^-1 of a frame, and where it is infinite. Source: theory.md section 7.

    tolerance: a direction is immovable where its mobility, a singular value of W^-1 J^T, is below
    `tolerance` times the largest. Lengths in m weigh rotations against translations.
    Raises KeyError for an unknown frame, ArithmeticError where the mass matrix is singular.
    """
    X = _mobility(robot, q, frame, reference)[..., rows]
    ellipsoid = _ellipsoid(np.swapaxes(X, -1, -2))
    mobility, directions = ellipsoid.semi_axes, ellipsoid.directions
    movable = mobility > tolerance * np.maximum(mobility[..., :1], np.finfo(float).tiny)
    masses = np.where(movable, 1.0 / np.where(movable, mobility, 1.0) ** 2, np.inf)
    finite = np.where(movable, masses, 0.0)
    inertia = (directions * finite[..., None, :]) @ np.swapaxes(directions, -1, -2)
    return EffectiveInertia(np.swapaxes(X, -1, -2) @ X, inertia, movable.sum(axis=-1), directions, masses)


def effective_inertia_derivative(
    robot: Robot,
    q: ArrayLike,
    frame: str,
    *,
    rows: Rows = ALL_ROWS,
    reference: Reference = "body",
    tolerance: float = TOLERANCE,
) -> Array:
    """dL/dq (k, k, nv) along the tangent, for L = (J M^-1 J^T)^-1. Source: theory.md sections 6 and 7.

    Raises ArithmeticError where a direction is immovable, its inertia infinite; else as `effective_inertia`.
    """
    found = effective_inertia(robot, q, frame, rows=rows, reference=reference, tolerance=tolerance)
    if np.any(found.rank < found.inertia.shape[-1]):
        raise ArithmeticError(f"{frame!r} has no finite inertia in a direction: it cannot be differentiated there")
    chosen = np.arange(6)[rows]
    by_q = robot.inverse_effective_inertia_derivative(q, frame, reference=reference)[..., chosen[:, None], chosen, :]
    return -np.einsum("...ij,...jkn,...kl->...iln", found.inertia, by_q, found.inertia)


def effective_mass(
    robot: Robot,
    q: ArrayLike,
    frame: str,
    direction: ArrayLike,
    *,
    point: ArrayLike = (0.0, 0.0, 0.0),
    world_axes: bool = False,
) -> Array:
    """Mass (...) in kg that a force feels at a point of a frame, along a direction: 1 / (u^T J_p M^-1 J_p^T u).

    direction (3,), of any length, in the frame's axes or the world's; point (3,) in the frame, m.
    Infinite where the point cannot move that way. It is the mass that an impact meets.
    """
    u = np.asarray(direction, dtype=float)
    u = u / np.linalg.norm(u, axis=-1, keepdims=True)
    if world_axes:
        u = (np.swapaxes(robot.pose(q, frame)[..., :3, :3], -1, -2) @ u[..., None])[..., 0]
    moment = (hat(np.asarray(point, dtype=float)) @ u[..., None])[..., 0]
    return reflected_inertia(robot, q, frame, np.concatenate([np.broadcast_to(moment, u.shape), u], axis=-1))


def reflected_inertia(
    robot: Robot, q: ArrayLike, frame: str, wrench: ArrayLike, *, reference: Reference = "body"
) -> Array:
    """1 / (F^T J M^-1 J^T F) (...) for a wrench F = (m, f) (..., 6) in the reference; infinite where F moves nothing.

    For a unit moment the rotational inertia about its axis, kg m^2; for a unit force the mass along it, kg.
    """
    X = _mobility(robot, q, frame, reference)
    F = np.asarray(wrench, dtype=float)
    moved = np.linalg.norm((X @ F[..., None])[..., 0], axis=-1)
    largest = np.linalg.norm(X, axis=(-2, -1)) * np.linalg.norm(F, axis=-1)
    none = moved <= TOLERANCE * largest
    return np.asarray(np.where(none, np.inf, 1.0 / np.where(none, 1.0, moved) ** 2), dtype=np.float64)


def _jacobian(robot: Robot, q: ArrayLike, frame: str, reference: Reference, rows: Rows = ALL_ROWS) -> Array:
    """Raises TypeError for a robot in single precision, which does not tell small mobilities from none."""
    require_double(robot, "operational space")
    J = robot.jacobian(q, frame, reference=reference)
    # a row that is rounding beside the others is no motion, also where it alone is asked for
    return without_rounding(J, size_of(J))[..., rows, :]


def _mobility(robot: Robot, q: ArrayLike, frame: str, reference: Reference) -> Array:
    """X = W^-1 J^T (..., nv, 6): J M^-1 J^T = X^T X, and X tells small mobilities from none."""
    J = _jacobian(robot, q, frame, reference)
    return np.asarray(np.linalg.solve(robot.mass_factor(q), np.swapaxes(J, -1, -2)), dtype=np.float64)


# --- pseudoinverses -------------------------------------------------------------------------------


def weighted_pseudoinverse(A: ArrayLike, *, weight: ArrayLike | None = None, tolerance: float = TOLERANCE) -> Array:
    """A# (..., n, m) = Wt^-1 A^T (A Wt^-1 A^T)^-1 of A (..., m, n): x = A# b has the least x^T Wt x.

    weight Wt (..., n, n): symmetric positive definite; default the identity. Where A has not full row
    rank, x is the one of least weight among those with the least |A x - b|; singular values of
    A Wt^(-1/2) below `tolerance` times the largest count as zero. Source: theory.md section 7.
    Raises ValueError unless the weight is positive definite.
    """
    A = np.asarray(A, dtype=float)
    if weight is None:
        return np.asarray(np.linalg.pinv(A, rcond=tolerance), dtype=np.float64)
    try:
        L = np.linalg.cholesky(np.asarray(weight, dtype=float))
    except np.linalg.LinAlgError:
        raise ValueError("the weight is not positive definite") from None
    scaled = np.swapaxes(np.linalg.solve(L, np.swapaxes(A, -1, -2)), -1, -2)  # A L^-T
    return np.asarray(np.linalg.solve(np.swapaxes(L, -1, -2), np.linalg.pinv(scaled, rcond=tolerance)))


def dynamically_consistent_inverse(
    robot: Robot,
    q: ArrayLike,
    frame: str,
    *,
    rows: Rows = ALL_ROWS,
    reference: Reference = "body",
    tolerance: float = TOLERANCE,
) -> Array:
    """Jbar (nv, k) = M^-1 J^T (J M^-1 J^T)^-1, the pseudoinverse of J weighted by M.

    Jbar V is the velocity of least kinetic energy for the twist V. A torque (1 - J^T Jbar^T) tau0
    does not accelerate the frame. At singular configurations as in `weighted_pseudoinverse`.
    """
    J = _jacobian(robot, q, frame, reference, rows)
    return weighted_pseudoinverse(J, weight=robot.mass_matrix(q), tolerance=tolerance)


def torque_null_space(
    robot: Robot,
    q: ArrayLike,
    frame: str,
    *,
    rows: Rows = ALL_ROWS,
    reference: Reference = "body",
    tolerance: float = TOLERANCE,
) -> Array:
    """1 - J^T Jbar^T (nv, nv): projects torques on those that leave the frame's acceleration alone."""
    J = _jacobian(robot, q, frame, reference, rows)
    inverse = weighted_pseudoinverse(J, weight=robot.mass_matrix(q), tolerance=tolerance)
    return np.eye(J.shape[-1]) - np.swapaxes(inverse @ J, -1, -2)


# --- manipulability -------------------------------------------------------------------------------


class Manipulability(NamedTuple):
    """Ellipsoid of what a frame can do with inputs of unit size (Yoshikawa)."""

    measure: Array  # product of the semi-axes: zero at a singular configuration
    semi_axes: Array  # (k), longest first
    directions: Array  # (k, k): the axes' directions in the reference, in columns
    condition: Array  # shortest over longest, 0 (singular) to 1 (isotropic)


def manipulability(
    robot: Robot, q: ArrayLike, frame: str, *, rows: Rows = ALL_ROWS, reference: Reference = "body"
) -> Manipulability:
    """Kinematic: the twists of joint velocities |v| <= 1. measure = sqrt(det(J J^T)).

    Rotations and translations in one ellipsoid depend on the unit of length; pick `rows` to separate them.
    """
    return _ellipsoid(_jacobian(robot, q, frame, reference, rows))


def dynamic_manipulability(
    robot: Robot,
    q: ArrayLike,
    frame: str,
    *,
    rows: Rows = ALL_ROWS,
    reference: Reference = "body",
    torque_limits: ArrayLike | None = None,
) -> Manipulability:
    """The accelerations that torques give from rest, without gravity: of J M^-1 tau.

    torque_limits (nv): the torques are those with |tau / limits| <= 1; default |tau| <= 1.
    """
    J = _jacobian(robot, q, frame, reference, rows)
    forced = np.swapaxes(np.linalg.solve(robot.mass_matrix(q), np.swapaxes(J, -1, -2)), -1, -2)
    return _ellipsoid(forced if torque_limits is None else forced * np.asarray(torque_limits, dtype=float))


def _ellipsoid(A: Array) -> Manipulability:
    """Image of the unit ball under A (..., k, n)."""
    k, n = A.shape[-2:]
    directions, lengths, _ = np.linalg.svd(A)
    if n < k:  # fewer joints than directions: the rest of the axes is zero
        lengths = np.concatenate([lengths, np.zeros((*lengths.shape[:-1], k - n))], axis=-1)
    longest = lengths[..., 0]
    condition = np.where(longest > 0, lengths[..., -1] / np.where(longest > 0, longest, 1.0), 0.0)
    return Manipulability(np.prod(lengths, axis=-1), lengths, directions, condition)
