# SPDX-License-Identifier: Apache-2.0
"""What a wanted motion may not exceed, and the check of a whole trajectory against it, not of its points alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.control.motion.extrema import extrema, hull
from rbd_dynamics.control.motion.trajectory import LONGEST_AWAY, Trajectory, TrajectoryError, Waypoints

Array = NDArray[np.float64]
POSITION_SLACK = 1e-6  # rad, m: so far beyond a limit is rounding
RELATIVE_SLACK = 1e-6  # of velocities and accelerations
#: beyond these a number is a mistake, whatever a description allows: rad, m; per s; per s^2
LARGEST_POSITION, LARGEST_VELOCITY, LARGEST_ACCELERATION = 1e6, 1e4, 1e6
AT_REST = 1e-3  # rad/s, m/s: slower than this is at rest
JUMP_TIME = 0.01  # s: a jump of the velocity counts as an acceleration for so long
SEGMENTS_AT_ONCE = 4096
QUANTITIES = ("position", "velocity", "acceleration")


@dataclass(frozen=True)
class MotionLimits:
    """Bounds of the wanted motion of `joints`, each (joints,), infinite where there is none.

    lower, upper: positions, rad or m. velocity, acceleration: magnitudes, per s and per s^2.
    """

    joints: tuple[str, ...]
    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    _bounds: tuple[tuple[Array, Array], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        lower = np.maximum(self.lower - POSITION_SLACK, -LARGEST_POSITION)
        upper = np.minimum(self.upper + POSITION_SLACK, LARGEST_POSITION)
        bounds = [(lower, upper)]
        for most, largest in ((self.velocity, LARGEST_VELOCITY), (self.acceleration, LARGEST_ACCELERATION)):
            most = np.minimum(most, largest) * (1.0 + RELATIVE_SLACK) + RELATIVE_SLACK
            bounds.append((-most, most))
        object.__setattr__(self, "_bounds", tuple(bounds))

    @classmethod
    def of(
        cls,
        joints: Sequence[str],
        *,
        lower: ArrayLike = -math.inf,
        upper: ArrayLike = math.inf,
        velocity: ArrayLike = math.inf,
        acceleration: ArrayLike = math.inf,
    ) -> MotionLimits:
        """Limits from one number for all joints or one for each."""
        arrays = (np.asarray(values, dtype=float) for values in (lower, upper, velocity, acceleration))
        return cls(tuple(joints), *(np.broadcast_to(values, (len(joints),)).copy() for values in arrays))

    def narrower_than(self, other: MotionLimits) -> bool:
        """Whether something that `other` allows is not allowed here."""
        return bool(
            self.joints != other.joints
            or (self.lower > other.lower).any()
            or (self.upper < other.upper).any()
            or (self.velocity < other.velocity).any()
            or (self.acceleration < other.acceleration).any()
        )

    def check_state(self, state: Array) -> None:
        """Raises TrajectoryError for a position, velocity or acceleration (3, joints) beyond the limits; NaN passes."""
        for order, (least, most) in enumerate(self._bounds):
            wrong = (state[order] < least) | (state[order] > most)
            if wrong.any():
                joint = int(wrong.argmax())
                raise TrajectoryError(self._complaint(order, joint, float(state[order, joint]), ""))

    def check_points(self, points: Waypoints) -> None:
        """Raises TrajectoryError where a given number at a point is beyond the limits.

        For points of some of the joints in any order; others are passed over.
        """
        place = {name: k for k, name in enumerate(self.joints)}
        columns = [k for k, name in enumerate(points.joint_names) if name in place]
        where = [place[points.joint_names[k]] for k in columns]
        for order, values in enumerate((points.positions, points.velocities, points.accelerations)):
            least, most = (bound[where] for bound in self._bounds[order])
            wrong = (values[:, columns] < least) | (values[:, columns] > most)
            if wrong.any():
                k, column = np.argwhere(wrong)[0]
                text = self._complaint(
                    order, where[column], float(values[k, columns[column]]), f" at {points.times[k]:.6g} s"
                )
                raise TrajectoryError(f"point {k}: {text}")
        moving = np.abs(points.velocities[-1]) > AT_REST
        if moving.any():
            name, value = points.joint_names[int(moving.argmax())], points.velocities[-1, int(moving.argmax())]
            raise TrajectoryError(f"the last point has velocity {value:.6g} of joint {name!r}: a motion ends at rest")
        if points.times[-1] > LONGEST_AWAY:
            k = int(np.argmax(points.times > LONGEST_AWAY))
            raise TrajectoryError(
                f"point {k}: time_from_start of {points.times[k]:.6g} s is more than {LONGEST_AWAY:g} s"
            )

    def check(self, trajectory: Trajectory, present: Array) -> None:
        """Raises TrajectoryError, with joint, time and number, where a trajectory leaves the limits at any time.

        Exact: from the extrema of each segment's polynomial. `present`, the position, velocity and acceleration
        (3, joints) that it takes over from, may be beyond the limits: it goes no farther there in its first segment.
        A jump of the velocity, as between linear segments, counts as an acceleration for 10 ms.
        """
        pieces, times = trajectory.pieces, trajectory.times
        if not len(pieces):
            return
        (least, most), *rates = self._bounds
        position = np.minimum(least, present[0] - POSITION_SLACK), np.maximum(most, present[0] + POSITION_SLACK)
        begin = [np.maximum(bound, magnitude) for (_, bound), magnitude in zip(rates, np.abs(present[1:]))]
        with np.errstate(all="ignore"):
            for start in range(0, len(pieces), SEGMENTS_AT_ONCE):
                some = slice(start, min(start + SEGMENTS_AT_ONCE, len(pieces)))
                h = np.diff(times[some.start : some.stop + 1])
                bounds = [position, *((-most, most) for most in (bound for _, bound in rates))]
                if start == 0:
                    self._check_segments(pieces[:1], times[:1], h[:1], [position, *((-m, m) for m in begin)])
                    self._check_segments(pieces[1 : some.stop], times[1 : some.stop], h[1:], bounds)
                else:
                    self._check_segments(pieces[some], times[some], h, bounds)
            self._check_jumps(trajectory, present[1])

    def _check_segments(self, pieces: Array, begins: Array, h: Array, bounds: Sequence[tuple[Array, Array]]) -> None:
        """Segments of coefficients (n, 6, joints) that begin at `begins` and last h, both (n,)."""
        scaled = pieces * np.power(h[:, None], np.arange(pieces.shape[1]))[:, :, None]  # on the unit interval
        wrong = ~np.isfinite(scaled).all(axis=1)
        if wrong.any():
            k, joint = np.argwhere(wrong)[0]
            raise TrajectoryError(
                f"the motion of joint {self.joints[joint]!r} from {begins[k]:.6g} to {begins[k] + h[k]:.6g} s "
                "is not finite"
            )
        suspects = np.zeros((len(pieces), pieces.shape[2]), dtype=bool)
        per_time = [np.ones_like(h), h, h * h]
        for order, (least, most) in enumerate(bounds):
            low, high = hull(scaled, order)
            unit = per_time[order][:, None]
            suspects |= (low < least * unit) | (high > most * unit)
        rows, columns = np.nonzero(suspects)
        if not rows.size:
            return
        found: tuple[float, str] | None = None
        for order, (where, values) in enumerate(extrema(scaled[rows, :, columns])):
            values = values / per_time[order][rows, None]
            least, most = (bound[columns, None] for bound in bounds[order])
            wrong = (values < least) | (values > most)
            if not wrong.any():
                continue
            at = np.where(wrong, begins[rows, None] + where * h[rows, None], np.inf)
            k, extremum = np.unravel_index(int(at.argmin()), at.shape)
            time = float(at[k, extremum])
            if found is None or time < found[0]:
                text = self._complaint(order, int(columns[k]), float(values[k, extremum]), f" at {time:.6g} s")
                found = time, text
        if found is not None:
            raise TrajectoryError(f"between its points the motion leaves the limits: {found[1]}")

    def _check_jumps(self, trajectory: Trajectory, before: Array) -> None:
        """Velocities at the ends of neighbouring segments, `before` (joints) the first, and after the last: rest."""
        pieces, times = trajectory.pieces, trajectory.times
        h = np.diff(times)[:, None]
        ends = sum(power * pieces[:, power] * h ** (power - 1) for power in range(1, pieces.shape[1]))
        jumps = np.abs(np.vstack([pieces[:, 1], np.zeros_like(before)]) - np.vstack([before, ends]))
        most = np.maximum(self._bounds[2][1] * JUMP_TIME, AT_REST)
        wrong = jumps > most
        if wrong.any():
            k, joint = np.argwhere(wrong)[0]
            raise TrajectoryError(
                f"the velocity of joint {self.joints[joint]!r} jumps by {jumps[k, joint]:.6g} at {times[k]:.6g} s: "
                f"more than its acceleration limit of {self.acceleration[joint]:.6g} gives in {JUMP_TIME:g} s"
            )

    def _complaint(self, order: int, joint: int, value: float, when: str) -> str:
        name, what = self.joints[joint], QUANTITIES[order]
        if order == 0:
            lower, upper = self.lower[joint], self.upper[joint]
            return f"position {value:.6g} of joint {name!r}{when} is outside its limits {lower:.6g} to {upper:.6g}"
        limit = min(
            (self.velocity, self.acceleration)[order - 1][joint], (LARGEST_VELOCITY, LARGEST_ACCELERATION)[order - 1]
        )
        return f"{what} {value:.6g} of joint {name!r}{when} is more than its limit of {limit:.6g}"
