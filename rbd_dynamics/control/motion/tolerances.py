# SPDX-License-Identifier: Apache-2.0
"""Is the robot where a motion wants it, on the way and at its end?"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.motion.options import MotionOptions
from rbd_dynamics.control.motion.splines import state_of

Array = NDArray[np.float64]
TURN = 2.0 * math.pi


class MotionTolerances:
    """Tolerances of the path and of the goal, for some joints.

    Parameters:
        joints: the joints' names.
        continuous (joints): those of which whole turns make no difference.
        options: see `MotionOptions`.

    Raises ValueError for tolerances of another number of joints.

    Attributes:
        watches_path, watches_goal: there is one.
        goal_time: s that the robot has to come to the goal; 0: as long as it takes, and then a goal is not watched.
    """

    def __init__(self, joints: Sequence[str], continuous: NDArray[np.bool_], options: MotionOptions) -> None:
        self._joints, self._continuous, self.goal_time = tuple(joints), continuous, options.goal_time
        self._path = _given("path_tolerance", options.path_tolerance, joints)
        self._goal = _given("goal_tolerance", options.goal_tolerance, joints)
        self._least_path = float(self._path.min(initial=math.inf)) ** 2
        self._path_velocity = _given("path_velocity", options.path_velocity, joints)
        self._goal_velocity = _given("goal_velocity", options.goal_velocity, joints)
        self._watches_velocity = bool(np.isfinite(self._path_velocity).any())
        self.watches_path = self._least_path < math.inf or self._watches_velocity
        self.watches_goal = bool(np.isfinite([self._goal, self._goal_velocity]).any())

    def path_problem(self, motion: Array, t: float, q: Array, v: Array) -> str:
        """Why a robot at q and v (joints) is too far from where polynomials (6, joints) want it at t (s).

        Empty: it is not. A loop over plain numbers: for so few it takes less than arrays do, and far less where caches
        are cold.
        """
        square = 0.0
        for c0, c1, c2, c3, c4, c5, measured in zip(*motion.tolist(), q.tolist()):
            away = c0 + t * (c1 + t * (c2 + t * (c3 + t * (c4 + t * c5)))) - measured
            square += away * away
        if self._watches_velocity:
            problem = self._velocity_problem(state_of(motion, t)[1] - v)
            if problem:
                return problem
        if square <= self._least_path:
            return ""
        off = self._beyond_path(state_of(motion, t)[0], q, "from where it is wanted, more than {:g}")
        return f"path tolerance violated: {off}; the motion is ended, the robot held where it is" if off else ""

    def hold_problem(self, held: Array, q: Array) -> str:
        """Why a robot at q is too far from where it is held; empty: it is not. Both (joints)."""
        square = 0.0
        for at, measured in zip(held.tolist(), q.tolist()):
            square += (at - measured) * (at - measured)
        if square <= self._least_path:
            return ""
        off = self._beyond_path(held, q, "from where it was held, more than path_tolerance ({:g})")
        return f"the robot was moved while it was held: {off}; it is held where it is now" if off else ""

    def _beyond_path(self, wanted: Array, q: Array, how: str) -> str:
        """Which joint at q is farther from `wanted` than its path tolerance, and by how much, in words; empty: none."""
        error = np.abs(difference(wanted, q, self._continuous))
        over = error > self._path
        if not over.any():
            return ""
        k = int(over.argmax())
        return f"joint {self._joints[k]!r} is {error[k]:.4g} {how.format(self._path[k])}"

    def _velocity_problem(self, difference: Array) -> str:
        over = np.abs(difference) > self._path_velocity
        if not over.any():
            return ""
        k = int(over.argmax())
        return (
            f"path tolerance violated: the velocity of joint {self._joints[k]!r} is {abs(difference[k]):.4g} from what "
            f"is wanted, more than {self._path_velocity[k]:g}; the motion is ended, the robot held where it is"
        )

    def goal_problem(self, goal: Array, q: Array, v: Array) -> str:
        """Why a robot at q and v has not come to rest at the goal; empty: it has. All (joints)."""
        error = np.abs(difference(goal, q, self._continuous))
        over = error > self._goal
        if over.any():
            k = int(over.argmax())
            return (
                f"goal tolerance violated: joint {self._joints[k]!r} is {error[k]:.4g} from the end of the trajectory "
                f"{self.goal_time:g} s after it, more than {self._goal[k]:g}; the robot is held where it is"
            )
        over = np.abs(v) > self._goal_velocity
        if over.any():
            k = int(over.argmax())
            return (
                f"goal tolerance violated: joint {self._joints[k]!r} moves by {abs(v[k]):.4g} per s {self.goal_time:g} "
                f"s after the trajectory, more than {self._goal_velocity[k]:g}; the robot is held where it is"
            )
        return ""


def difference(a: Array, b: Array | float, continuous: NDArray[np.bool_]) -> Array:
    """a - b, of continuous joints the short way round."""
    direct = a - b
    turns = np.round(direct / TURN) * TURN
    return np.where(continuous, direct - turns, direct)


def _given(what: str, values: Sequence[float], joints: Sequence[str]) -> Array:
    """One for each joint, infinite where there is none. Raises ValueError for another count."""
    given = np.asarray(values, dtype=float)
    if given.size not in (0, 1, len(joints)):
        raise ValueError(f"{what} has {given.size} values for {len(joints)} joints: {', '.join(joints)}")
    if not given.size:
        return np.full(len(joints), math.inf)
    return np.where(given > 0.0, given, math.inf) * np.ones(len(joints))
