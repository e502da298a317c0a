# SPDX-License-Identifier: Apache-2.0
"""What an arm presses on: how far a point is from it, and where its outward normal points. Over plain numbers: fast."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass

Vector = tuple[float, float, float]
SEAM = 0.05  # m, between two materials: what is pressed into a soft one goes uphill there


def dot(a: Vector, b: Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@dataclass(frozen=True)
class Surface:
    """shape: "plane" through `point` with the outward `normal`; "sphere" of `radius` about `point`; "pipe" of `radius`
    about the line through `point` along `along`; a
    plane's solid ends `length` (m) along `along` from `point`.

    stiffness: N/m. damping: N s/m. friction: coefficient. swing: m and Hz, of a sine along the normal (of a plane).
    speed: m/s along the normal. It moves from time zero on. beyond: how far along `along` from `point` another
    material begins (m), and its stiffness (N/m); within `SEAM` one becomes the other.
    """

    shape: str
    point: Vector
    normal: Vector
    _: KW_ONLY
    along: Vector = (1.0, 0.0, 0.0)
    radius: float = 1.0
    length: float = math.inf
    stiffness: float = 1e5
    damping: float = 0.0
    friction: float = 0.0
    swing: tuple[float, float] = (0.0, 0.0)
    speed: float = 0.0
    beyond: tuple[float, float] | None = None

    def gives(self, at: Vector) -> tuple[float, float, float]:
        """Stiffness (N/m) and damping (N s/m) at a point, and by how much the stiffness grows along `along`, N/m^2."""
        if self.beyond is None:
            return self.stiffness, self.damping, 0.0
        begin, other = self.beyond
        away = (at[0] - self.point[0], at[1] - self.point[1], at[2] - self.point[2])
        share = min(1.0, max(0.0, (dot(away, self.along) - begin) / SEAM))
        factor = (other / self.stiffness) ** share
        growth = math.log(other / self.stiffness) / SEAM if 0.0 < share < 1.0 else 0.0
        return self.stiffness * factor, self.damping * math.sqrt(factor), growth * self.stiffness * factor

    def motion(self, time: float) -> tuple[float, float]:
        """How far the surface has moved along its normal, m, and its speed."""
        if time <= 0.0 or not (self.swing[0] or self.speed):
            return 0.0, 0.0
        most, rate = self.swing[0], 2.0 * math.pi * self.swing[1]
        way = self.speed * time + most * (1.0 - math.cos(rate * time))
        return way, self.speed + most * rate * math.sin(rate * time)

    def distance(self, at: Vector, time: float = -1.0) -> tuple[float, Vector]:
        """How far a point is outside (m, negative: inside), and the outward normal there."""
        away = (at[0] - self.point[0], at[1] - self.point[1], at[2] - self.point[2])
        if self.shape in ("sphere", "pipe"):
            if self.shape == "pipe":
                along = dot(away, self.along)
                away = tuple(a - along * b for a, b in zip(away, self.along))  # type: ignore[assignment]
            size = math.sqrt(dot(away, away)) or 1e-9
            return size - self.radius, (away[0] / size, away[1] / size, away[2] / size)
        gap = dot(away, self.normal) - self.motion(time)[0]
        past = dot(away, self.along) - self.length
        if past <= 0.0 and past <= gap:  # above it, or nearer to its top than to its side
            return gap, self.normal
        if gap <= 0.0:
            return past, self.along
        size = math.hypot(past, gap)  # before the corner
        n, a = self.normal, self.along
        return size, (
            (gap * n[0] + past * a[0]) / size, (gap * n[1] + past * a[1]) / size, (gap * n[2] + past * a[2]) / size
        )  # fmt: skip


class Contact:
    """A ball of a radius (m) against a surface: spring and damper along the normal, bristles along the surface."""

    def __init__(self, surface: Surface, ball: float) -> None:
        self.surface, self.ball = surface, ball
        self._tangential = min(surface.stiffness, 1e5)
        self._damping = math.sqrt(self._tangential)
        self._bristle: Vector = (0.0, 0.0, 0.0)
        self.normal_force = 0.0  # N

    def force(self, at: Vector, velocity: Vector, time: float, h: float) -> tuple[Vector, Vector] | None:
        """Force on the ball and the normal where it acts; None where nothing touches. h: s, since the last call."""
        surface = self.surface
        gap, n = surface.distance(at, time)
        gap -= self.ball
        self.normal_force = 0.0
        if gap >= 0.0:
            self._bristle = (0.0, 0.0, 0.0)
            return None
        along = dot(velocity, n)
        closing = along - surface.motion(time)[1] if n is surface.normal else along
        stiffness, damping, growth = surface.gives(at)
        pressed = -stiffness * gap - damping * closing
        if pressed <= 0.0:
            return None
        self.normal_force = pressed
        # what is pressed in has an energy: a harder material is a hill
        hill, a = -0.5 * growth * gap * gap, surface.along
        force = (pressed * n[0] + hill * a[0], pressed * n[1] + hill * a[1], pressed * n[2] + hill * a[2])
        if not surface.friction:
            return force, n
        k, c = self._tangential, self._damping
        slip = (velocity[0] - along * n[0], velocity[1] - along * n[1], velocity[2] - along * n[2])
        z = self._bristle
        z = (z[0] + h * slip[0], z[1] + h * slip[1], z[2] + h * slip[2])
        pulled = (-k * z[0] - c * slip[0], -k * z[1] - c * slip[1], -k * z[2] - c * slip[2])
        size, most = math.sqrt(dot(pulled, pulled)), surface.friction * pressed
        if size > most:
            s = most / size
            pulled = (s * pulled[0], s * pulled[1], s * pulled[2])
            z = (-(pulled[0] + c * slip[0]) / k, -(pulled[1] + c * slip[1]) / k, -(pulled[2] + c * slip[2]) / k)
        self._bristle = z
        return (force[0] + pulled[0], force[1] + pulled[1], force[2] + pulled[2]), n
