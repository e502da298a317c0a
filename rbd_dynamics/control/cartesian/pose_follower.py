# SPDX-License-Identifier: Apache-2.0
"""A point that goes after a goal, or with a velocity, within limits of speed and acceleration.

Towards a goal at the distance d its speed is k d, and farther away sqrt(a (2 d - d0)) with d0 = a / k^2, from which
half of the acceleration, a, stops it in time. It takes that speed at the rate 4 k, or as fast as it may.
Plain numbers: for three of them that is faster than arrays are.
"""

from __future__ import annotations

import math
from typing import NamedTuple

Three = tuple[float, float, float]
LARGEST = 1e6  # m/s^2, rad/s^2: where there is no limit
THERE = 1e-9  # rad, m, and per s: nearer is there
SLOW = 1e-6  # per s: what stops from there on stands


class Limits3(NamedTuple):
    """rate k: 1/s. speed: the most, per s. acceleration: per s^2. lower, upper: bounds of the place."""

    rate: float
    speed: float
    acceleration: float
    lower: Three
    upper: Three


class Moving(NamedTuple):
    """Place, velocity, acceleration."""

    x: Three
    v: Three
    a: Three


def towards(now: Moving, goal: Three, limits: Limits3, step: float) -> Moving:
    """Motion after a step (s) on the way to a goal."""
    away = (goal[0] - now.x[0], goal[1] - now.x[1], goal[2] - now.x[2])
    distance = math.hypot(*away)
    if distance < THERE and math.hypot(*now.v) < SLOW:
        return Moving(goal, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    speed = min(approach_speed(distance, limits), limits.speed)
    share = speed / distance if distance > 0.0 else 0.0
    return along(now, (share * away[0], share * away[1], share * away[2]), limits, step)


def driven(now: Moving, velocity: Three, limits: Limits3, step: float) -> Moving:
    """Motion after a step (s) with a wanted velocity, which ends at the bounds; from outside it goes inwards only."""
    size = math.hypot(*velocity)
    if size == 0.0 and math.hypot(*now.v) < SLOW:
        return Moving(now.x, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    share = limits.speed / size if size > limits.speed else 1.0
    wanted = []
    for x, v, low, high in zip(now.x, velocity, limits.lower, limits.upper):
        v *= share
        room = high - x if v > 0.0 else x - low
        if math.isfinite(room):
            most = approach_speed(max(room, 0.0), limits)
            v = min(v, most) if v > 0.0 else max(v, -most)
        wanted.append(v)
    return along(now, (wanted[0], wanted[1], wanted[2]), limits, step)


def along(now: Moving, velocity: Three, limits: Limits3, step: float) -> Moving:
    """Motion after a step (s) in which that velocity is taken."""
    gain = min(4.0 * limits.rate, 1.0 / step)
    a = [gain * (u - v) for u, v in zip(velocity, now.v)]
    size, most = math.hypot(*a), min(limits.acceleration, LARGEST)
    if size > most:
        a = [most / size * value for value in a]
    half = 0.5 * step * step
    x = [x + step * v + half * b for x, v, b in zip(now.x, now.v, a)]
    v = [v + step * b for v, b in zip(now.v, a)]
    return Moving((x[0], x[1], x[2]), (v[0], v[1], v[2]), (a[0], a[1], a[2]))


def approach_speed(distance: float, limits: Limits3) -> float:
    """Largest speed at that distance from where it has to stand."""
    k, a = limits.rate, 0.5 * min(limits.acceleration, LARGEST)
    near = a / (k * k)
    return k * distance if distance <= near else math.sqrt(a * (2.0 * distance - near))
