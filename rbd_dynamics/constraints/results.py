# SPDX-License-Identifier: Apache-2.0
"""What dynamics under constraints give."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class ConstraintRows(NamedTuple):
    """h (m), A (m, nv) and Adot v (m): rows without h have zeros there."""

    h: Array
    A: Array
    Adot_v: Array


class ConstrainedMotion(NamedTuple):
    """Result of constrained forward dynamics.

    a (nv): acceleration. multipliers (m): lambda, the force of each row on the robot, the shortest
    where they are not unique. rank: number of independent rows; where it is less than m, rows are
    redundant or contradict each other. residual (m): A a less what it has to be, zero but for
    rounding unless rows contradict each other, and then in the later ones.
    """

    a: Array
    multipliers: Array
    rank: Array
    residual: Array


class ConstrainedHybridMotion(NamedTuple):
    """Result of constrained hybrid dynamics: as `ConstrainedMotion`, and tau (nv).

    The residual is also where prescribed accelerations violate a constraint.
    """

    a: Array
    tau: Array
    multipliers: Array
    rank: Array
    residual: Array


NEGLIGIBLE = 1e-6  # of the largest torque that a motion takes; of accelerations, m/s^2 or rad/s^2
NO_TORQUE = 1e-9  # N m or N: what is lacking where next to nothing is needed


def nothing_lacks(needed: Array, lacking: Array) -> bool:
    """Whether what passive joints would need is rounding beside the torques M a + b: not beside those found for it."""
    largest, worst = (np.abs(each).max(axis=-1, initial=0.0) for each in (needed, lacking))
    return bool(np.all(worst <= NEGLIGIBLE * largest + NO_TORQUE))


def no_motion(acceleration: Array) -> bool:
    """Whether an acceleration that should be zero is."""
    return float(np.abs(acceleration).max(initial=0.0)) <= NEGLIGIBLE


class ConstrainedTorque(NamedTuple):
    """Result of constrained inverse dynamics.

    tau (nv): at actuated joints what the actuators give, at the others the given passive torque.
    multipliers (m). rank: of the constraints as passive joints feel them. lacking (nv): torque that
    passive joints would need besides; not zero means that no actuator torque makes this motion, and then it is not
    unique: what the first joints need is met first.
    residual (m): by how much the acceleration violates the constraints. needed (nv): M a + b, which actuators,
    constraints and passive torques share.
    """

    tau: Array
    multipliers: Array
    rank: Array
    lacking: Array
    residual: Array
    needed: Array

    @property
    def feasible(self) -> bool:
        """The motion obeys the constraints, to 1e-6 rad/s^2 or m/s^2, and the actuators can make it.

        What passive joints lack is at most 1e-6 of the largest torque needed, or 1e-9 N m or N.
        """
        return no_motion(self.residual) and nothing_lacks(self.needed, self.lacking)


class ConstrainedDerivatives(NamedTuple):
    """Derivatives of constrained forward dynamics: a by q (tangent), v, tau (nv, nv); the multipliers (m, nv).

    Where rows are redundant those of a are right as long as the rank does not change; the multipliers' are those
    of least norm in each column.
    """

    a_dq: Array
    a_dv: Array
    a_dtau: Array
    multipliers_dq: Array
    multipliers_dv: Array
    multipliers_dtau: Array


class ConstrainedHybridDerivatives(NamedTuple):
    """Derivatives of constrained hybrid dynamics: a, tau (nv, nv), multipliers (m, nv) by q (tangent), v and input.

    The input is the prescribed acceleration or the given torque, whichever it is for that degree of freedom.
    """

    a_dq: Array
    a_dv: Array
    a_dinput: Array
    tau_dq: Array
    tau_dv: Array
    tau_dinput: Array
    multipliers_dq: Array
    multipliers_dv: Array
    multipliers_dinput: Array


class ConstrainedTorqueDerivatives(NamedTuple):
    """Derivatives of constrained inverse dynamics: tau (nv, nv), multipliers (m, nv) by q (tangent), v, a and the
    torque of joints without actuator.

    Where the motion violates the constraints, as it does beside the given one, these are the derivatives of what the
    method returns there.
    """

    tau_dq: Array
    tau_dv: Array
    tau_da: Array
    tau_dpassive: Array
    multipliers_dq: Array
    multipliers_dv: Array
    multipliers_da: Array
    multipliers_dpassive: Array


class ImpulseDerivatives(NamedTuple):
    """Derivatives of v+ (nv, ...) and impulses (m, ...) by q (along the tangent), v, and the rows' velocity after."""

    v_dq: Array
    v_dv: Array
    v_dafter: Array
    impulses_dq: Array
    impulses_dv: Array
    impulses_dafter: Array
