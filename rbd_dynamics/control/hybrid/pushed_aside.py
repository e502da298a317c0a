# SPDX-License-Identifier: Apache-2.0
"""What a tool feels beside what it presses on, as friction or a wall, and what of it a law makes up for.

A push along the surface accelerates the arm in other directions as well: it lifts the tool off the surface, or presses
it in, and turns it, the more so the lighter the wrist is. What is felt of it is made up for in the directions that
are not to move by it; along the surface the tool gives way.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
SMOOTHING = 0.05  # s: friction turns round within a step, and what makes up for it is late


class PushedAside:
    """Smooths efforts of what is felt beside the constraints.

    Parameters:
        nv: degrees of freedom.
    """

    def __init__(self, nv: int) -> None:
        self._efforts = np.zeros(nv)

    def forget(self) -> None:
        """Nothing is felt."""
        self._efforts[:] = 0.0

    def update(self, felt: Array, dt: float, *, touching: bool) -> Array:
        """What is made up for (nv), dt seconds after the last; the same array each time.

        felt (nv): efforts by one reading. touching: the surface is felt; without it friction is gone at once.
        """
        found = self._efforts
        found += min(1.0, dt / SMOOTHING) * (felt - found)
        if not touching:
            np.clip(found, np.minimum(felt, 0.0), np.maximum(felt, 0.0), out=found)
        return found
