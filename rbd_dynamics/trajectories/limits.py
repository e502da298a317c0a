# SPDX-License-Identifier: Apache-2.0
"""What a motion of some joints of a robot may not exceed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.common.real_numbers import real_array
from rbd_dynamics.control.feedforward import single_freedom_indices
from rbd_dynamics.control.motion.trajectory import TrajectoryError
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Limits:
    """Limits of `joints`, each (joints,), infinite where there is none. `of` makes them.

    lower, upper: positions, rad or m. The rest are magnitudes: velocity, acceleration; effort, N m or N; power, W, of
    effort times velocity; effort_rate, N m/s or N/s, of the effort without friction, which turns round at once where
    a joint does. tool_speed: the most, m/s, that the origin of a frame may move, by frame.
    """

    joints: tuple[str, ...]
    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    effort: Array
    power: Array
    effort_rate: Array
    _: KW_ONLY
    tool_speed: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        robot: Robot,
        joints: Sequence[str],
        *,
        velocity: ArrayLike = (),
        acceleration: ArrayLike = (),
        effort: ArrayLike = (),
        power: ArrayLike = (),
        effort_rate: ArrayLike = (),
        tool_speed: Mapping[str, float] | None = None,
    ) -> Limits:
        """Each is one number for all or one per joint; zero or infinity: no limit.

        Where none is given, velocities, accelerations and efforts are limited as the description says (few have
        accelerations), and the others are not.
        Positions are always limited as it says. Raises TrajectoryError (a ValueError) or KeyError that names what is
        wrong.
        """
        single_freedom_indices(robot, joints)
        chosen = [robot.model.joint(name) for name in joints]
        free = [joint.kind.name == "continuous" for joint in chosen]
        described = [joint.limits for joint in chosen]
        names = tuple(joints)
        speeds = dict(tool_speed or {})
        for frame, speed in speeds.items():
            robot.model.frame(frame)
            if not speed > 0.0:
                raise TrajectoryError(f"tool_speed of frame {frame!r} is {speed}: it must be above zero")
        return cls(
            names,
            np.array([-math.inf if turns else limits.lower for turns, limits in zip(free, described)]),
            np.array([math.inf if turns else limits.upper for turns, limits in zip(free, described)]),
            _magnitudes("velocity", velocity, names, [limits.velocity for limits in described]),
            _magnitudes("acceleration", acceleration, names, [limits.rate for limits in described]),
            _magnitudes("effort", effort, names, [limits.effort for limits in described]),
            _magnitudes("power", power, names),
            _magnitudes("effort_rate", effort_rate, names),
            tool_speed={frame: float(speed) for frame, speed in speeds.items() if math.isfinite(speed)},
        )

    def scaled(self, factor: float) -> Limits:
        """All but those of positions times a factor."""
        return replace(
            self,
            velocity=factor * self.velocity,
            acceleration=factor * self.acceleration,
            effort=factor * self.effort,
            power=factor * self.power,
            effort_rate=factor * self.effort_rate,
            tool_speed={frame: factor * speed for frame, speed in self.tool_speed.items()},
        )


def _magnitudes(what: str, given: ArrayLike, names: tuple[str, ...], described: Sequence[float] | None = None) -> Array:
    """(joints,), infinite where there is no limit."""
    values = real_array(given, what)
    if values.ndim > 1 or (values.ndim == 1 and len(values) not in (0, len(names))):
        raise TrajectoryError(f"{what} limits have shape {values.shape}, expected one or {len(names)}, one per joint")
    if values.size == 0:
        values = np.array(described if described is not None else [0.0] * len(names))
    values = np.array(np.broadcast_to(values, (len(names),)), dtype=float)
    for name, value in zip(names, values):
        if not value >= 0.0:
            raise TrajectoryError(f"{what} limit of joint {name!r} is {value}: it must not be negative")
    values[values == 0.0] = math.inf
    return values
