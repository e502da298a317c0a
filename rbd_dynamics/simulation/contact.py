# SPDX-License-Identifier: Apache-2.0
"""Unilateral contact with Coulomb friction between points or balls of the robot and surfaces of the world.

Contact is rigid and acts on velocities: after a step no ball moves into its surface, and friction holds it, or
brakes it with mu times the normal force, opposite to where it slides. So a force that a controller presses
with is the force that a sensor reads, without a stiffness that has to be chosen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.constraints import ConstraintSet, Plane, RollingBall, Surface
from rbd_dynamics.model.model import Model
from rbd_dynamics.spatial.se3 import IDENTITY, Transform

Array = NDArray[np.float64]

DEPTH_GAIN = 0.2  # part of a penetration that a step takes back
SLOWEST_BOUNCE = 0.01  # m/s: slower impacts do not rebound
SWEEPS = 50  # of Gauss-Seidel over several contacts
SLIDING_ITERATIONS = 60
ACCURACY = 1e-12


@dataclass(frozen=True)
class Contact:
    """A ball about a point of `frame` and a surface that is fixed to the world.

    Parameters:
        name: for messages.
        frame: link or joint that carries the ball.
        surface: plane, sphere or cylinder, or one whose `value` is the distance.
        radius: of the ball, m; small for a point.
        friction_coefficient: of Coulomb friction between both.
        restitution: part of the normal velocity with which it rebounds, 0 to 1.
        placement: of the ball's centre in the frame. surface_placement: of the surface in the world.

    Raises ValueError for numbers that make no sense.
    """

    name: str
    frame: str
    _: KW_ONLY
    surface: Surface = field(default_factory=Plane)
    radius: float = 1e-3
    friction_coefficient: float = 0.0
    restitution: float = 0.0
    placement: Transform = IDENTITY
    surface_placement: Transform = IDENTITY

    def __post_init__(self) -> None:
        where = f"contact {self.name!r}"
        if not (0.0 <= self.friction_coefficient < math.inf and 0.0 <= self.restitution <= 1.0):
            raise ValueError(
                f"{where}: friction_coefficient {self.friction_coefficient} must not be negative and restitution "
                f"{self.restitution} must be between 0 and 1"
            )
        try:
            self.rows()
        except ValueError as error:
            raise ValueError(str(error).replace(f"constraint {self.name!r}", where, 1)) from None

    def rows(self) -> RollingBall:
        """Its normal and its two tangents as constraint rows."""
        return RollingBall(
            self.name, self.frame, surface=self.surface, radius=self.radius,
            placement=self.placement, reference_placement=self.surface_placement,
        )  # fmt: skip


def contact_set(model: Model, contacts: Sequence[Contact]) -> ConstraintSet:
    """Three rows for each contact: normal, and two tangents. Raises KeyError for an unknown frame."""
    return ConstraintSet(model, [contact.rows() for contact in contacts])


def contact_impulses(
    G: Array, velocity: Array, gap: Array, before: Array, contacts: Sequence[Contact], h: float
) -> Array:
    """Impulses (contacts, 3) along normals and tangents, N s, after which contact conditions hold.

    Parameters:
        G (3n, 3n): change of the rows' velocities per impulse.
        velocity (3n): of the rows after the step without contact. before (3n): at its begin.
        gap (n): distance from the surfaces, m. h: the step, s.
    """
    n = len(contacts)
    impulses = np.zeros((n, 3))
    targets = np.array([_least_velocity(gap[k], before[3 * k], contact, h) for k, contact in enumerate(contacts)])
    near = [k for k in range(n) if velocity[3 * k] < targets[k] or n > 1]
    for _ in range(SWEEPS if len(near) > 1 else 1):
        worst = 0.0
        for k in near:
            own = slice(3 * k, 3 * k + 3)
            others = velocity[own] + G[own] @ impulses.reshape(-1) - G[own, own] @ impulses[k]
            found = _one_contact(G[own, own], others, float(targets[k]), contacts[k].friction_coefficient)
            worst = max(worst, float(np.abs(found - impulses[k]).max()))
            impulses[k] = found
        if worst <= ACCURACY * (1.0 + float(np.abs(impulses).max())):
            break
    return impulses


def _least_velocity(gap: float, before: float, contact: Contact, h: float) -> float:
    """Of the normal row after the step: the ball may come as near as to touch, or has to rebound."""
    if contact.restitution and before < -SLOWEST_BOUNCE and gap + h * before <= 0.0:
        return -contact.restitution * before
    return -gap / h if gap > 0.0 else -DEPTH_GAIN * gap / h


def _one_contact(G: Array, velocity: Array, target: float, coefficient: float) -> Array:
    """Impulse (3) of one contact: none, sticking or sliding."""
    lacking = np.array([target, 0.0, 0.0]) - velocity
    if lacking[0] <= 0.0 or G[0, 0] <= 0.0:  # in the second case nothing can move it
        return np.zeros(3)
    if coefficient == 0.0:
        return np.array([lacking[0] / G[0, 0], 0.0, 0.0])
    sticking = np.asarray(np.linalg.lstsq(G, lacking, rcond=1e-12)[0], float)  # it may be free in fewer directions
    if sticking[0] >= 0.0 and math.hypot(sticking[1], sticking[2]) <= coefficient * sticking[0]:
        return sticking
    angle = math.atan2(velocity[2], velocity[1])
    for _ in range(SLIDING_ITERATIONS):
        impulse, slip = _sliding(G, velocity, lacking[0], coefficient, angle)
        new = math.atan2(slip[1], slip[0])
        turn = math.remainder(new - angle, math.tau)
        if abs(turn) < ACCURACY:
            return impulse
        angle += 0.7 * turn  # not the whole way: turning back and forth is then damped
    return _searched(G, velocity, lacking[0], coefficient, sticking)


def _sliding(G: Array, velocity: Array, lacking: float, coefficient: float, angle: float) -> tuple[Array, Array]:
    """(impulse (3), slip (2) after it) if it slides in that direction; no impulse where friction would jam it."""
    direction = np.array([math.cos(angle), math.sin(angle)])
    along = G[0, 0] - coefficient * (G[0, 1:] @ direction)
    normal = lacking / along if along > 0.0 else math.inf
    if not math.isfinite(normal):
        return np.zeros(3), velocity[1:]
    impulse = np.array([normal, *(-coefficient * normal * direction)])
    return impulse, velocity[1:] + G[1:] @ impulse


def _searched(G: Array, velocity: Array, lacking: float, coefficient: float, sticking: Array) -> Array:
    """The sliding impulse by bisection over all directions; where there is none, what makes it stick."""

    def off(angle: float) -> tuple[float, float]:
        _, slip = _sliding(G, velocity, lacking, coefficient, angle)
        c, s = math.cos(angle), math.sin(angle)
        return c * slip[1] - s * slip[0], c * slip[0] + s * slip[1]

    angles = np.linspace(-math.pi, math.pi, 49)
    for low, high in zip(angles[:-1], angles[1:]):
        first, last = off(low), off(high)
        if first[0] * last[0] > 0.0 or max(first[1], last[1]) <= 0.0:
            continue
        for _ in range(60):
            middle = 0.5 * (low + high)
            value = off(middle)
            low, high = (middle, high) if value[0] * first[0] > 0.0 else (low, middle)
        if off(low)[1] > 0.0:
            return _sliding(G, velocity, lacking, coefficient, low)[0]
    return np.asarray(np.maximum(sticking, [0.0, -math.inf, -math.inf]), float)
