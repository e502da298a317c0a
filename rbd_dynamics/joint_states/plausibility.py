# SPDX-License-Identifier: Apache-2.0
"""Can that have been measured? Velocities beyond what a joint does, and positions that it cannot have reached."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
JITTER = 0.005  # s by which stamps may be wrong against each other
UNLIMITED = 1000.0  # rad/s, m/s: of a joint without a velocity limit; none is as fast
FARTHEST = 1e9  # rad, m: beyond, a float does not tell a small motion any more
WHOLE_TURN = 2.0 * np.pi


class Plausibility:
    """Bounds on measured positions and velocities, and on the way between two measurements.

    A velocity may be `factor` times its limit. Two positions may be as far apart as that velocity and the
    time between them allow. A position may be outside its limits by as much as they are apart.

    Parameters:
        names: the joints, for the reasons.
        limits: (joints, 3) lowest and highest position and velocity; infinite where there is none, and a velocity of
            zero is none.
        continuous: joints whose angle counts modulo one turn.
        factor: zero: anything is plausible. May be changed.

    Attributes:
        turning: as `continuous`.

    Raises ValueError for a factor that is no number >= 0, and where the others are not of the same number of joints.
    """

    def __init__(
        self,
        names: Sequence[str],
        limits: ArrayLike,
        continuous: Sequence[bool],
        *,
        factor: float = 2.0,
    ) -> None:
        self._names = tuple(names)
        lower, upper, velocity = np.array(limits, dtype=float).reshape(-1, 3).T
        self._velocity = np.where(np.isfinite(velocity) & (velocity > 0.0), velocity, UNLIMITED)
        known = np.isfinite(lower) & np.isfinite(upper) & (upper > lower)
        lower, upper = np.where(known, lower, -FARTHEST / 3.0), np.where(known, upper, FARTHEST / 3.0)
        self._middle, self._farthest = 0.5 * (lower + upper), 1.5 * (upper - lower)
        self.turning = [bool(turns) for turns in continuous]
        self.factor = factor

    @property
    def factor(self) -> float:
        return self._factor

    @factor.setter
    def factor(self, factor: float) -> None:
        if not factor >= 0.0:
            raise ValueError(f"the factor of plausible velocities is {factor}, expected a number >= 0")
        self._factor = factor
        most = self._velocity * factor
        self._bounds = most, self._farthest if factor else most
        self._of_joint = list(
            zip(self._names, most.tolist(), self._middle.tolist(), self._farthest.tolist(), self.turning, strict=True)
        )

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Largest velocities (joints,), and distances of positions from `middle`; for many samples at once."""
        return self._bounds

    @property
    def middle(self) -> Array:
        """Middle of the position limits, (joints,)."""
        return self._middle

    def has_zero(self, joint: int) -> bool:
        """Whether zero is within the limits of a joint (by its index)."""
        return abs(float(self._middle[joint])) <= float(self._farthest[joint]) / 3.0  # half of the range

    def reachable(self, joint: int, before: float, position: float, elapsed: float) -> bool:
        """Whether a joint (by its index) can get from one position to another in `elapsed` s."""
        if not self._factor:
            return True
        _, most, _, _, turns = self._of_joint[joint]
        way = position - before
        if turns:
            way = math.remainder(way, WHOLE_TURN)
        return abs(way) <= most * (abs(elapsed) + JITTER)

    def problem(
        self,
        q: Sequence[float],
        v: Sequence[float],
        before: Sequence[float],
        elapsed: Sequence[float],
        where: Sequence[int],
    ) -> str:
        """Why the joints at `where` cannot have these positions and velocities, empty if they can.

        before: their positions `elapsed` s ago. A velocity that is NaN is passed over. A loop over plain numbers: for
        so few it takes less than arrays do, and far less where caches are cold.
        """
        if not self._factor:
            return ""
        for k, position, rate, last, time in zip(where, q, v, before, elapsed):
            name, most, middle, farthest, _ = self._of_joint[k]
            if rate > most or rate < -most:
                return f"velocity {rate:.4g} of joint {name!r} is not plausible: more than {most:.4g}"
            if not self.reachable(k, last, position, time):
                return (
                    f"position {position:.6g} of joint {name!r} is not plausible: it cannot have moved there from "
                    f"{last:.6g} in {time:.4g} s"
                )
            if abs(position - middle) > farthest:
                return f"position {position:.6g} of joint {name!r} is not plausible: it is far beyond its limits"
        return ""


def unexplained_way(way: Array, v: Array, before: Array, elapsed: Array | float) -> Array:
    """Part of ways (..., joints) in `elapsed` s that no velocity between `before` and `v` explains, if stamps jitter.

    NaN velocities explain nothing.
    """
    v, before = np.nan_to_num(v), np.nan_to_num(before)
    mean, half = 0.5 * (v + before), 0.5 * np.abs(v - before)
    beyond = np.abs(way - mean * elapsed) - half * elapsed - 2.0 * JITTER * (np.abs(mean) + half)
    return np.asarray(np.minimum(beyond, np.abs(way)))
