# SPDX-License-Identifier: Apache-2.0
"""What dynamics in contact returns, with how well the laws hold. A leading axis of a batch is in all of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.constraints.results import no_motion, nothing_lacks
from rbd_dynamics.contacts.laws.base import FrictionLaw

Array = NDArray[np.float64]


class ContactResiduals(NamedTuple):
    """Violation of each law of contact; all are rounding where the problem has a solution.

    cone: how far f_t is beyond its bound (|f_t| - mu f_n of Coulomb's cone) or -f_n, of the worst contact, over the
    largest force. motion: the worst u_n < 0 (m/s, or m/s^2). complementarity: the worst |f . (u + mu |u_t| n)|, with
    |u_t| as the law of friction measures it, over the largest force times the largest motion that there would be
    without forces.
    energy: what the forces' work lacks to the change of kinetic energy (J), or their power (W).
    """

    cone: Array
    motion: Array
    complementarity: Array
    energy: Array


class ContactMotion(NamedTuple):
    """Result of forward dynamics in contact.

    a (nv): acceleration. forces (n, 3): of each contact on the frame, normal and two tangents, N. converged: the laws
    hold; where they do not, no rigid acceleration obeys them, as in Painleve's paradox, or it was not found.
    """

    a: Array
    forces: Array
    converged: Array
    residuals: ContactResiduals


class ContactImpulse(NamedTuple):
    """Result of an impact. v (nv): velocity after it. impulses (n, 3), N s. stages: of impacts one after the other."""

    v: Array
    impulses: Array
    stages: Array
    converged: Array
    residuals: ContactResiduals


class ContactTorque(NamedTuple):
    """Result of inverse dynamics in contact.

    tau (nv): what actuators give, zero at the other joints. forces (n, 3): the shortest in their cones with which no
    other joint needs a torque. lacking (nv): torque that those would need besides; not zero means that no contact
    force makes this motion. motion: the worst normal acceleration into a surface, m/s^2. needed (nv): M a + b, which
    actuators and contacts share.
    """

    tau: Array
    forces: Array
    lacking: Array
    motion: Array
    needed: Array

    @property
    def feasible(self) -> bool:
        """The motion passes no surface, to 1e-6 m/s^2, and contacts and actuators can make it.

        What passive joints lack is at most 1e-6 of the largest torque needed, or 1e-9 N m or N.
        """
        return no_motion(self.motion) and nothing_lacks(self.needed, self.lacking)


def residuals(forces: Array, motion: Array, free: Array, friction: Array, law: FrictionLaw) -> tuple[float, ...]:
    """(cone, motion, complementarity) of one sample: forces and motion (n, 3), free (3n) motion without forces.

    friction (n): coefficients of the law.
    """
    normal, u = forces[:, 0], motion
    tangential, bound = forces[:, 1:], friction * np.maximum(normal, 0.0)
    beyond = np.linalg.norm(tangential - law.bounded(tangential, bound), axis=1)
    slip = (law.direction(u[:, 1:], 0.0) * u[:, 1:]).sum(axis=1)
    largest, fastest = float(np.abs(forces).max()), float(np.abs(free).max())
    outside = np.maximum(beyond, -normal).max()
    product = np.abs((forces * u).sum(axis=1) + friction * slip * normal).max()
    scale = largest * fastest
    return (
        float(max(outside, 0.0) / largest if largest else 0.0),
        float(max(-u[:, 0].min(), 0.0)),
        float(product / scale if scale else 0.0),
    )
