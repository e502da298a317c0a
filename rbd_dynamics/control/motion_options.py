# SPDX-License-Identifier: Apache-2.0
"""How a desired motion takes its input, and when it ends."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.trajectory import Interpolation

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MotionOptions:
    """Tolerances in rad or m; those of the path and of the goal as none, one for all joints or one for each.

    interpolation: see `plan_from`. start_tolerance: between the robot and the begin of a trajectory.
    setpoint_timeout: s until a set-point counts no longer; 0: never. setpoint_tolerance: between a set-point and what
    was wanted before; 0: any. longest_gap: s without states that end a motion; 0: any. path_tolerance: between the
    robot and where it is wanted, that end a motion; 0: any. goal_tolerance: likewise, after the end of a trajectory;
    goal_time: s that it then has to get there; 0: as long as it takes.
    """

    _: KW_ONLY
    interpolation: Interpolation = "smooth"
    start_tolerance: float = 0.1
    setpoint_timeout: float = 0.5
    setpoint_tolerance: float = 0.0
    longest_gap: float = 0.0
    path_tolerance: Sequence[float] = ()
    goal_tolerance: Sequence[float] = ()
    goal_time: float = 0.0


def tolerances(what: str, values: Sequence[float], joints: Sequence[str]) -> Array:
    """One for each joint, infinite where there is none. Raises ValueError for another count."""
    given = np.asarray(values, dtype=float)
    if given.size not in (0, 1, len(joints)):
        raise ValueError(f"{what} has {given.size} values for {len(joints)} joints: {', '.join(joints)}")
    if not given.size:
        return np.full(len(joints), math.inf)
    return np.where(given > 0.0, given, math.inf) * np.ones(len(joints))
