# SPDX-License-Identifier: Apache-2.0
"""Dry friction and stops of single degrees of freedom, beside contacts in one complementarity problem.

A force f (or impulse) acts along each on its velocity v = g f + (what the others make), between bounds that stops set:

    -f in c Sign(v) where lower < v < upper; more than that, inwards, at a bound.

c |v| and the bounds are convex, so that v is their proximal point: v = P(v - g f) with P(w) = w brought nearer to zero
by g c, then cut off at the bounds; it holds exactly where v = 0 (Moreau, Unilateral contact and dry friction in finite
freedom dynamics, 1988; Jean, Comput. Methods Appl. Mech. Eng. 177, 1999).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class JointLaw:
    """Law of m degrees of freedom: level (m), what dry friction holds; lower, upper (m): velocities that stops let."""

    def __init__(self, level: Array, lower: Array, upper: Array) -> None:
        self.level, self.lower, self.upper = level, lower, upper

    def __len__(self) -> int:
        return len(self.level)

    def velocity(self, v: Array, f: Array, mobility: Array) -> Array:
        """(m) P(v - g f): v where f obeys the law, and exact where friction or a stop holds."""
        w = v - mobility * f
        slipping = np.sign(w) * np.maximum(np.abs(w) - mobility * self.level, 0.0)
        return np.asarray(np.clip(slipping, self.lower, self.upper) + 0.0)  # not -0

    def equations(self, v: Array, f: Array, mobility: Array) -> tuple[NDArray[np.bool_], Array]:
        """(which are held, the velocities of those, the forces of the others): what Newton's method takes for known."""
        found = self.velocity(v, f, mobility)
        held = (found <= self.lower) | (found >= self.upper) | ((self.level > 0.0) & (found == 0.0))
        return held, np.where(held, found, -np.sign(found) * self.level)


NO_JOINTS = JointLaw(np.zeros(0), np.zeros(0), np.zeros(0))
