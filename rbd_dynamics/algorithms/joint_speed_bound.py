# SPDX-License-Identifier: Apache-2.0
"""What keeps joints from going faster, and a robot from more kinetic energy, than they may (theory.md section 13)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_dynamics.spatial.scalar import Scalar, dot, less, reciprocal, sqrt, where

Vector = Sequence[Scalar]
BEGINS, COMPLETE = 0.86, 0.96  # shares of a speed limit: from where on there is braking, and all that there is of it
REACHED = 0.92  # share of a speed limit that accelerations may lead to: masses are known to some percent
DAMPING = 0.4  # over the reaction time: a damper of this rate is stable however light the joint is
APPROACH = 0.35  # over the reaction time: so late, a speed nears its limit and does not pass it (1/e at most)
NEARS = 20.0  # 1/s: 0.1 rad away from its limit of position a joint moves towards it at 2 rad/s at most
SHARE_OF_APPROACH = 0.25  # at most: critically damped with what brakes
LEARNT = 0.03  # s: in which it is seen that something holds a joint
LIMIT_MARGIN = 0.1  # rad, m: from where on a joint is kept from its limit
SWEEPS = 32  # of Gauss and Seidel, from the tip to the base
FAR = 1e9  # rad, m, and per s^2
TINY = 1e-300


def foreseen(v: Vector, before: Vector, span: Scalar, ahead: Scalar) -> list[Scalar]:
    """Velocities (nv) `ahead` seconds from now where they grow as they did for the last `span` seconds, else v."""
    found: list[Scalar] = []
    for now, then in zip(v, before):
        later = now + ahead * reciprocal(span) * (now - then)
        found.append(where(less(now * now, later * later), later, now))
    return found


Distances = tuple[Scalar, Scalar] | None


def distances(
    positions: Vector, lower: Vector, upper: Vector, margins: Vector, stops: Vector, limited: Sequence[bool]
) -> list[Distances]:
    """How far joints (nv) are from where they stop: `stops` before their limits of position; without margin far.

    None of joints that are not `limited`.
    """
    found: list[Distances] = []
    for has, q, low, high, margin, stop in zip(limited, positions, lower, upper, margins, stops):
        rest = where(less(0.0, margin), stop, -FAR)
        found.append((q - low - rest, high - rest - q) if has else None)
    return found


class SpeedBound(NamedTuple):
    """How joints (nv) are braked. largest: how much of the braking there is, 0 to 1, of the joint that has most of it.

    room: accelerations (least, most) with which they stay within their limits, however late that is seen.
    """

    largest: Scalar
    room: list[tuple[Scalar, Scalar]]

    @classmethod
    def of(
        cls,
        velocities: Vector,
        limits: Vector,
        reaction_time: Scalar,
        distances: Sequence[Distances] = (),
        *,
        near_only: bool = False,
    ) -> SpeedBound:
        """velocities, limits (nv): rad/s, m/s. reaction_time: s, from a velocity to the torque that answers it.

        distances: from the lower and the upper limit of position, rad or m, for each joint; None where it has none. A
        joint may move towards its limit the slower the nearer it is, and beyond it not at all. near_only: room ends
        only where a joint has come so near to such a limit that it has to be slower than elsewhere, or is braked.
        """
        largest: Scalar = 0.0
        rate, approach = DAMPING * reciprocal(reaction_time), APPROACH * reciprocal(reaction_time)
        near = SHARE_OF_APPROACH * approach
        near = where(less(near, NEARS), near, NEARS)
        room: list[tuple[Scalar, Scalar]] = []
        for k, (v, limit) in enumerate(zip(velocities, limits)):
            share = braking(where(less(v, 0.0), -v, v) * reciprocal(limit))
            largest = where(less(largest, share), share, largest)
            damper = share * rate * v
            down = up = fast = REACHED * limit
            if distances and (distance := distances[k]) is not None:
                down, up = (_least(most, near * left) for most, left in zip((down, up), distance))
            least, most = approach * (-down - v), approach * (up - v)
            if near_only:
                least = where(less(down, fast), least, where(share, least, -FAR))
                most = where(less(up, fast), most, where(share, most, FAR))
            slowed, sped = least - where(less(v, 0.0), damper, 0.0), most - where(less(0.0, v), damper, 0.0)
            # not farther than to its limit on the other side
            room.append((where(less(most, slowed), most, slowed), where(less(sped, least), least, sped)))
        return cls(largest, room)

    def within(self, accelerations: Vector, outside: Vector, response: Sequence[Vector]) -> list[Scalar]:
        """Accelerations (nv) within their room, by efforts of those joints alone that would leave it.

        outside (nv): what else accelerates the joints. response (nv, nv): M^-1. Each joint is held back by itself, as
        by a stop or a one-sided damper, which takes energy: accelerations that are cut off one by one need efforts of
        all joints, which drive them as well. That is the acceleration nearest to the given one in the metric of M
        (Gauss's principle of least constraint); by Gauss and Seidel, what is left is cut off.
        """
        n = range(len(self.room))
        found, held = list(accelerations), [0.0 for _ in n]  # efforts
        room = [(least - other, most - other) for (least, most), other in zip(self.room, outside)]
        inverse = [reciprocal(response[k][k]) for k in n]
        for _ in range(SWEEPS):
            for k in reversed(n):
                least, most = room[k]
                alone = found[k] - response[k][k] * held[k]
                effort = (_cut(alone, least, most) - alone) * inverse[k]
                step, held[k] = effort - held[k], effort
                found = [a + row[k] * step for a, row in zip(found, response)]
        return [_cut(a, least, most) for a, (least, most) in zip(found, room)]


class EnergyBound(NamedTuple):
    """How a whole robot is braked, by its velocity z = W^T v in the metric of M = W W^T: energy is z^T z / 2.

    share: 0 (not) to 1. rate: 1/s, with which velocities die out by the whole of it.
    """

    velocity: list[Scalar]
    square: Scalar
    share: Scalar
    rate: Scalar

    @classmethod
    def of(cls, velocity: Vector, limit: Scalar, reaction_time: Scalar) -> EnergyBound:
        """velocity (nv): z. limit: J. reaction_time: s, from a velocity to the torque that answers it."""
        square = dot(velocity, velocity)
        share = braking(sqrt(0.5 * square * reciprocal(limit) + TINY))
        return cls(list(velocity), square, share, DAMPING * reciprocal(reaction_time))

    def change(self, acceleration: Vector) -> list[Scalar]:
        """What is to be added to W^T a (nv), of which the part along z counts that adds energy."""
        power = dot(acceleration, self.velocity)
        more = where(less(0.0, power), power * reciprocal(self.square + TINY), 0.0)
        return [-self.share * (more + self.rate) * z for z in self.velocity]


def from_outside(before: Vector, driven: Vector, grown: Vector, span: Scalar, dt: Scalar) -> list[Scalar]:
    """What accelerates joints (nv) beside their efforts, by and by: contacts, friction, what the model lacks.

    before (nv): the same a step ago. driven (nv): the acceleration that efforts gave then. grown (nv): how velocities
    have changed within `span`, s. dt: s since then; 0: nothing is learnt.
    """
    share = dt * reciprocal(dt + LEARNT)
    return [old + share * (change * reciprocal(span) - a - old) for old, a, change in zip(before, driven, grown)]


def _cut(value: Scalar, least: Scalar, most: Scalar) -> Scalar:
    return where(less(value, least), least, where(less(most, value), most, value))


def _least(most: Scalar, left: Scalar) -> Scalar:
    """The smaller one, but not below zero."""
    left = where(less(left, 0.0), 0.0, left)
    return where(less(left, most), left, most)


def braking(used: Scalar) -> Scalar:
    """How much of the braking there is where so much of a speed limit is used: 0 to 1."""
    over = (used - BEGINS) * (1.0 / (COMPLETE - BEGINS))
    return where(less(0.0, over), where(less(1.0, over), 1.0, over), 0.0)
