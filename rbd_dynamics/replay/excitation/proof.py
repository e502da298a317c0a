# SPDX-License-Identifier: Apache-2.0
"""What a trajectory takes of the limits at most, as it is played: between its points, too.

Positions, velocities and accelerations are polynomials between points: their extrema are exact. Efforts are analytic
in time there, but for Coulomb friction, which counts in full at every moment. On each stretch they are interpolated at
Chebyshev's nodes; the extrema of the first six terms are exact, and all further terms are added.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from rbd_dynamics.algorithms.polynomial import POWERS
from rbd_dynamics.control.motion.extrema import extrema
from rbd_dynamics.control.motion.trajectory import Trajectory
from rbd_dynamics.replay.excitation.limits import ExcitationLimits
from rbd_dynamics.replay.excitation.obstacles import Obstacles
from rbd_dynamics.replay.identification.samples import friction_of
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]
NODES = 12


@dataclass(frozen=True)
class Peaks:
    """The extrema of a trajectory, each (joints,).

    lower, upper: positions. velocity, acceleration, effort: magnitudes; efforts with all of the friction that the
    description says. clearance: the least of the tools, m; infinite without obstacles.
    """

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    effort: Array
    _: KW_ONLY
    clearance: float

    def worst(self, limits: ExcitationLimits) -> tuple[float, str]:
        """The largest share of a limit that is taken, above one where it is exceeded, and of which one."""
        motion = limits.motion
        half = 0.5 * (motion.upper - motion.lower)
        away = np.maximum(self.upper - limits.middle, limits.middle - self.lower)
        shares = {
            "position": away / half,
            "velocity": self.velocity / motion.velocity,
            "acceleration": self.acceleration / motion.acceleration,
            "effort": self.effort / limits.effort,
        }
        found = [(float(row[k]), f"{what} of joint {limits.joints[k]!r}") for what, row in shares.items()
                 for k in [int(np.argmax(row))]]  # fmt: skip
        if self.clearance < 0.0:
            found.append((np.inf, "an obstacle"))
        return max(found)


def peaks(robot: Robot, trajectory: Trajectory, obstacles: Obstacles) -> Peaks:
    """Peaks of a trajectory of all joints of a robot without friction in its equation of motion."""
    times, pieces = trajectory.times, trajectory.pieces
    h = np.diff(times)
    scaled = pieces * np.power(h[:, None], np.arange(POWERS))[:, :, None]
    flat = scaled.transpose(0, 2, 1).reshape(-1, POWERS)
    values = [found.reshape(len(h), -1, found.shape[1]) for _, found in extrema(flat)]
    rates = [np.abs(found).max(axis=2) / h[:, None] ** order for order, found in enumerate(values)]
    position = values[0]
    lower, upper = position.min(axis=(0, 2)), position.max(axis=(0, 2))

    def positions(at: Array) -> Array:
        return sampled(trajectory, at)[0]

    reach = np.maximum(np.abs(lower), np.abs(upper))
    clearance = obstacles.least_clearance(robot, times, positions, rates[1], reach)
    velocity, acceleration = (rate.max(axis=0) for rate in rates[1:])
    return Peaks(lower, upper, velocity, acceleration, _efforts(robot, scaled, h), clearance=clearance)


def sampled(trajectory: Trajectory, times: Array) -> Array:
    """Positions, velocities and accelerations at times (N,) within the trajectory: (3, N, joints)."""
    index = np.clip(np.searchsorted(trajectory.times, times, side="right") - 1, 0, len(trajectory.pieces) - 1)
    return _evaluated(trajectory.pieces[index], times - trajectory.times[index])


def _evaluated(pieces: Array, at: Array) -> Array:
    """Polynomials (N, 6, joints) at arguments (N,), with two derivatives: (3, N, joints)."""
    found = []
    coefficients = pieces
    for _ in range(3):
        powers = np.power(at[:, None], np.arange(coefficients.shape[1]))
        found.append(np.einsum("npj,np->nj", coefficients, powers))
        coefficients = coefficients[:, 1:] * np.arange(1, coefficients.shape[1])[:, None]
    return np.array(found)


def _efforts(robot: Robot, scaled: Array, h: Array) -> Array:
    """The largest effort of each joint on segments that are scaled to the unit interval and last h."""
    nodes = 0.5 * (1.0 + chebyshev.chebpts1(NODES))
    count, nv = len(h), scaled.shape[2]
    q, v, a = _evaluated(np.repeat(scaled, NODES, axis=0), np.tile(nodes, count))
    every = np.repeat(h, NODES)[:, None]
    coulomb, viscous = friction_of(robot.model)
    efforts = robot.inverse_dynamics(q, v / every, a / every**2) + viscous * v / every
    series = _SERIES @ efforts.reshape(count, NODES, nv)  # Chebyshev coefficients (count, NODES, nv)
    rest = np.abs(series[:, POWERS:]).sum(axis=1)
    polynomials = np.einsum("pk,ckj->cjp", _POWERS, series[:, :POWERS])
    values = extrema(polynomials.reshape(-1, POWERS))[0][1].reshape(count, nv, -1)
    found: Array = (np.abs(values).max(axis=2) + rest).max(axis=0) + coulomb
    return found


def _powers() -> Array:
    """Coefficients of powers of s on the unit interval from those of Chebyshev's polynomials of 2 s - 1: (6, 6)."""
    found = np.zeros((POWERS, POWERS))
    for k in range(POWERS):
        polynomial = chebyshev.Chebyshev(np.eye(POWERS)[k], domain=[0.0, 1.0]).convert(kind=np.polynomial.Polynomial)
        found[: k + 1, k] = polynomial.coef
    return found


_SERIES = np.linalg.inv(chebyshev.chebvander(chebyshev.chebpts1(NODES), NODES - 1))
_POWERS = _powers()
