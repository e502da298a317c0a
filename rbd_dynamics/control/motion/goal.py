# SPDX-License-Identifier: Apache-2.0
"""A motion that somebody waits for: within which tolerances it is to be, and how it ended.

Rules of tolerances as control_msgs/JointTolerance has them and joint_trajectory_controller takes them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from rbd_dynamics.control.motion.options import MotionOptions
from rbd_dynamics.control.motion.tolerances import MotionTolerances
from rbd_dynamics.control.motion.trajectory import TrajectoryError

Outcome = Literal["", "reached", "path", "goal", "replaced", "ended", "refused", "joints", "over"]
ERASED = -1.0  # a tolerance of this value is none; 0 is the default


class JointTolerance(NamedTuple):
    """Tolerance of one joint, rad or m and per s."""

    name: str
    position: float
    velocity: float


@dataclass(frozen=True)
class Wishes:
    """What a goal says of tolerances. time: s after the end of the trajectory."""

    path: tuple[JointTolerance, ...] = ()
    goal: tuple[JointTolerance, ...] = ()
    time: float = 0.0

    def options(self, defaults: MotionOptions, joints: Sequence[str]) -> MotionOptions:
        """The defaults, and in their place what is said here. Raises TrajectoryError that names the joint."""
        place = {name: k for k, name in enumerate(joints)}
        found: dict[str, Any] = {}
        for what, wishes in (("path", self.path), ("goal", self.goal)):
            rows = {
                "tolerance": _spread(getattr(defaults, f"{what}_tolerance"), len(joints)),
                "velocity": _spread(getattr(defaults, f"{what}_velocity"), len(joints)),
            }
            for wish in wishes:
                if wish.name not in place:
                    raise TrajectoryError(f"{what}_tolerance: joint {wish.name!r} is not one of {', '.join(joints)}")
                where, k = f"{what}_tolerance of joint {wish.name!r}", place[wish.name]
                rows["tolerance"][k] = _resolved(where, wish.position, rows["tolerance"][k])
                rows["velocity"][k] = _resolved(where, wish.velocity, rows["velocity"][k])
            found.update({f"{what}_{key}": tuple(row) for key, row in rows.items()})
        time = _resolved("goal_time_tolerance", self.time, defaults.goal_time)
        return replace(defaults, goal_time=time, **found)


class MotionGoal:
    """Follows one motion from its order to its end. `outcome` is empty until then, and never changes after it.

    outcome: reached; path, goal: that tolerance was violated; replaced: by another motion; ended: for another reason;
    refused, joints, over: it never began, because it cannot be followed, names other joints, or lies in the past.
    """

    def __init__(self) -> None:
        self.outcome: Outcome = ""
        self.reason = ""
        self.tolerances: MotionTolerances | None = None  # once it has been planned
        self.points = 0  # of the trajectory as it was sent

    def end(self, outcome: Outcome, reason: str) -> None:
        """It is over. The first one counts."""
        if not self.outcome:
            self.reason, self.outcome = reason, outcome


def _spread(values: Sequence[float], count: int) -> list[float]:
    """One for each joint; 0: none."""
    given = np.asarray(values, dtype=float)
    return (given * np.ones(count) if given.size else np.zeros(count)).tolist()


def _resolved(what: str, wish: float, default: float) -> float:
    if not math.isfinite(wish) or (wish < 0.0 and wish != ERASED):
        raise TrajectoryError(f"{what} is {wish:g}: it must be positive, 0 (as the node has it) or -1 (none)")
    return default if wish == 0.0 else max(wish, 0.0)
