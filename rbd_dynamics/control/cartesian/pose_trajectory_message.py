# SPDX-License-Identifier: Apache-2.0
"""Waypoints of a tool out of a serialised trajectory_msgs/MultiDOFJointTrajectory, in the coordinates of a chart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rbd_dynamics.common.cdr import CdrError, CdrReader
from rbd_dynamics.control.cartesian.pose_chart import TOOL_ROWS, PoseChart
from rbd_dynamics.control.motion.trajectory import TrajectoryError, Waypoints
from rbd_dynamics.control.motion.trajectory_message import TrajectoryMessage

#: fields of a point: name, numbers of each element
FIELDS = (("transforms", 7), ("velocities", 6), ("accelerations", 6))
SMALLEST_POINT = 20  # bytes: three counts and a duration


@dataclass(frozen=True, eq=False)
class PoseDecoder:
    """Reads such messages.

    chart: of the coordinates. frames: what header.frame_id may be; names: what the joint may be called that the tool's
    pose is named after. Twists and accelerations are (linear, angular) in root axes, of the tool's point.
    """

    chart: PoseChart
    frames: tuple[str, ...]
    names: tuple[str, ...]

    def __call__(self, raw: bytes | bytearray, largest: int, *, positions: bool = False) -> TrajectoryMessage:
        """A message of at most `largest` points, which always have transforms. Raises TrajectoryError."""
        try:
            return _message(CdrReader(raw), largest, self.chart, self.frames, self.names)
        except CdrError as error:
            raise TrajectoryError(str(error)) from None


def _message(
    reader: CdrReader, largest: int, chart: PoseChart, frames: tuple[str, ...], names: tuple[str, ...]
) -> TrajectoryMessage:
    stamp = reader.time()
    frame = reader.text()
    if frame and frame not in frames:
        raise TrajectoryError(f"the trajectory is in frame {frame!r}, expected {frames[0]!r}")
    joints = tuple(reader.text() for _ in range(reader.count(4)))
    points = reader.count(SMALLEST_POINT)
    if points > largest:
        raise TrajectoryError(f"the trajectory has {points} points: more than largest_trajectory ({largest})")
    if not points:
        return TrajectoryMessage(stamp, None)
    if len(joints) != 1 or joints[0] not in names:
        raise TrajectoryError(f"the trajectory is of {', '.join(joints) or 'nothing'}, expected {names[0]!r} alone")
    times = np.zeros(points)
    columns = [np.full((points, count), np.nan) for _, count in FIELDS]
    for k in range(points):
        for (what, size), column in zip(FIELDS, columns):
            count = reader.count(8 * size)
            if count > 1 or (not count and what == "transforms"):
                raise TrajectoryError(f"point {k} has {count} {what} for one tool")
            if count:
                column[k] = reader.numbers(size)
                if not np.isfinite(column[k]).all():
                    raise TrajectoryError(f"point {k}: {what} has a value that is not finite")
        times[k] = 1e-9 * reader.time()
    transforms, twists, accelerations = columns
    theta = chart.of_poses(transforms, np.zeros(3))
    rates, second = np.full((2, points, 6), np.nan)
    for k in range(points):
        if not np.isnan(twists[k]).any():
            rates[k] = chart.rates(theta[k], np.concatenate([twists[k, 3:], twists[k, :3]]))
            if not np.isnan(accelerations[k]).any():
                given = np.concatenate([accelerations[k, 3:], accelerations[k, :3]])
                second[k] = chart.accelerations(theta[k], rates[k], given)
    return TrajectoryMessage(stamp, Waypoints(TOOL_ROWS, times, theta, rates, second).checked())
