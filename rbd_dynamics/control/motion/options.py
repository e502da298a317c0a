# SPDX-License-Identifier: Apache-2.0
"""How a desired motion takes its input, and when it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Literal

from rbd_dynamics.control.motion.trajectory import Interpolation

PointEffortsUse = Literal["ignored", "added"]


@dataclass(frozen=True)
class MotionOptions:
    """Tolerances in rad or m; those of the path and of the goal as none, one for all joints or one for each.

    interpolation: see `plan_from`. start_tolerance: between the robot and the begin of a trajectory.
    setpoint_timeout: s until a set-point counts no longer; 0: never. setpoint_tolerance: between a set-point and what
    was wanted before; 0: any. longest_gap: s without states that end a motion; 0: any. path_tolerance: between the
    robot and where it is wanted, that end a motion; 0: any. goal_tolerance: likewise, after the end of a trajectory;
    goal_time: s that it then has to get there; 0: as long as it takes. path_velocity, goal_velocity: likewise between
    velocities, per s. point_efforts: "added": what points have beside positions is added to the law's efforts.
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
    path_velocity: Sequence[float] = ()
    goal_velocity: Sequence[float] = ()
    point_efforts: PointEffortsUse = "ignored"
