# SPDX-License-Identifier: Apache-2.0
"""The external wrench at a frame, out of external joint torques."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.spatial.rank import DEPENDENT, screws_length, screws_rank, unit_screws

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class FrameWrench:
    """A wrench (m, f), moment about the frame's origin first, on the robot, in the axes of the Jacobian it is from.

    Attributes:
        wrench: (6,), N m and N; NaN for components that the torques do not tell.
        covariance: (6, 6) of the wrench; rows and columns of NaN for components that the torques do not tell.
        told: components (6,) that the torques tell.
        untold: (6, k), a basis of the wrenches that act on no joint with a known torque: each could be added. k is
            zero where all is told. Columns are of length one once moments are divided by the length of the joints' own
            screws (`spatial.rank.screws_length`).
    """

    wrench: Array
    covariance: Array
    told: Mask
    untold: Array


def frame_wrench(jacobian: ArrayLike, torques: ArrayLike, variances: ArrayLike) -> FrameWrench:
    """The wrench that explains external torques tau = J^T (m, f) best, weighted by their variances.

    All of them are taken for the doing of one wrench at the frame, and their errors for independent. What the joints
    do not tell is decided by their screws alone (`spatial.rank.screws_rank`), whatever the unit of lengths; near a
    singular configuration the covariance grows. Source: Haddadin, De Luca and Albu-Schaeffer, Robot Collisions: A
    Survey on Detection, Isolation, and Identification, IEEE T-RO 33(6), 2017, section V (identification); weighted
    least squares: Golub and Van Loan, Matrix Computations, section 6.1.

    Parameters:
        jacobian: (6, nv), J v is the frame's twist (w, v).
        torques: (nv,), N m or N; NaN where none is known.
        variances: (nv,) or one for all, their squares; infinite where nothing is known of a torque.

    Raises ValueError for other shapes, a Jacobian that is not finite, infinite torques, or variances of known torques
    that are not positive.
    """
    J, tau = np.asarray(jacobian, dtype=float), np.asarray(torques, dtype=float)
    if J.ndim != 2 or len(J) != 6:
        raise ValueError(f"jacobian must have the shape (6, nv), got {J.shape}")
    nv = J.shape[1]
    if tau.shape != (nv,):
        raise ValueError(f"torques must have the shape ({nv},) as the jacobian has columns, got {tau.shape}")
    given = np.asarray(variances, dtype=float)
    if given.shape not in ((), (1,), (nv,)):
        raise ValueError(f"variances must be one number or {nv}, got the shape {given.shape}")
    spread = np.broadcast_to(given, (nv,))
    if not np.isfinite(J).all():
        raise ValueError("jacobian is not finite")
    if np.isinf(tau).any():
        raise ValueError(f"torque {int(np.isinf(tau).argmax())} is infinite; NaN is for one that is not known")
    wrong = ~np.isnan(tau) & ~(spread > 0.0)
    if wrong.any():
        k = int(wrong.argmax())
        raise ValueError(f"variance {k} must be positive, got {spread[k]:g}")
    known = ~np.isnan(tau) & np.isfinite(spread)
    S = J[:, known]
    rank, length = int(screws_rank(S)), float(screws_length(S))
    axes = np.linalg.svd(unit_screws(S))[0]  # of (m / length, f)
    measures = np.repeat([length, 1.0], 3)
    basis, free = axes[:, :rank], axes[:, rank:]
    told = np.linalg.norm(free, axis=1) <= DEPENDENT
    # least squares among the wrenches that the joints tell, each row divided by its deviation
    deviations = np.sqrt(spread[known])
    Q, R = np.linalg.qr((S.T * measures) @ basis / deviations[:, None])
    back = measures[:, None] * basis @ np.linalg.inv(R)
    wrench = np.where(told, back @ (Q.T @ (tau[known] / deviations)), np.nan)
    covariance = np.where(told[:, None] & told, back @ back.T, np.nan)
    return FrameWrench(wrench, covariance, told, measures[:, None] * free)
