# SPDX-License-Identifier: Apache-2.0
"""States that are refused for being fast: is that a robot that really is, or a measurement that is wrong?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
LEAST = 0.02  # s of states in a row: less tells no motion from a jump
GAP = 0.1  # s; states farther apart are not in a row
SHARE, SMALL = 0.25, 0.01  # of a joint's way, and rad or m beside that, which its velocity may leave unexplained
WHOLE_TURN = 2.0 * np.pi


class FastStates:
    """States in a row: do positions go where the velocities say?

    An encoder that jumps, a velocity that is wrong, and two publishers in turns do not pass: their ways are not the
    integrals of their velocities. What rests elsewhere does not pass either: it may be a publisher's zeros.

    Parameters:
        continuous: joints whose angle counts modulo one turn.
        fastest (joints): velocities beyond which a joint is fast; one has to have been.
    """

    def __init__(self, continuous: Sequence[bool], fastest: Array) -> None:
        self._continuous, self._fastest, self._fast = np.array(continuous, dtype=bool), fastest, False
        self._last: tuple[Array, Array, int] | None = None
        self._passed = 0.0

    def take(self, q: Array, v: Array, stamp: int) -> bool:
        """Whether this state (nv) and those before it are of a robot that moves so. stamp: ns."""
        finite = bool(np.isfinite(q).all() and np.isfinite(v).all())
        before, self._last = self._last, (q.copy(), v.copy(), stamp) if finite else None
        passed = 1e-9 * (stamp - before[2]) if before is not None else 0.0
        if before is None or not finite or not 0.0 < passed < GAP:
            self._passed, self._fast = 0.0, self._is_fast(v)
            self._way, self._path = np.zeros(len(q)), np.zeros(len(q))
            return False
        way = q - before[0]
        turns = np.round(way / WHOLE_TURN) * WHOLE_TURN
        self._way += np.where(self._continuous, way - turns, way)
        self._path += 0.5 * passed * (v + before[1])
        self._passed += passed
        self._fast |= self._is_fast(v)
        unexplained = np.abs(self._way - self._path) > SHARE * np.abs(self._path) + SMALL
        return bool(self._fast and self._passed >= LEAST and not unexplained.any())

    def _is_fast(self, v: Array) -> bool:
        return bool((np.abs(v) > self._fastest).any())
