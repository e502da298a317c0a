# SPDX-License-Identifier: Apache-2.0
"""A trajectory_msgs/JointTrajectory as YAML, as `ros2 topic pub` takes it, written and read without ROS."""

from __future__ import annotations

import math
import os
from typing import Any

import yaml

from rbd_dynamics.common.excerpt import excerpt, shortened
from rbd_dynamics.common.safe_yaml import LARGE, read_file
from rbd_dynamics.control.motion.trajectory import Point, TrajectoryError, Waypoints

SECOND = 1_000_000_000
DIGITS = 12  # of positions and so on: less than any encoder has
FIELDS = ("positions", "velocities", "accelerations")


def trajectory_yaml(waypoints: Waypoints, *, comment: str = "") -> str:
    """The text. The stamp is zero: the motion starts when it arrives. comment: lines for its head."""
    points = []
    arrays = [getattr(waypoints, name) for name in FIELDS]
    for k, time in enumerate(waypoints.times.tolist()):
        seconds, rest = divmod(round(time * SECOND), SECOND)
        rows = {name: _rounded(array[k].tolist()) for name, array in zip(FIELDS, arrays)}
        points.append({**rows, "effort": [], "time_from_start": {"sec": seconds, "nanosec": rest}})
    header = {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": ""}
    content = {"header": header, "joint_names": list(waypoints.joint_names), "points": points}
    head = "".join(f"# {line}\n" for line in comment.splitlines())
    return head + yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=120)


def read_trajectory(path: str | os.PathLike[str]) -> Waypoints:
    """What such a file has. Raises ValueError (TrajectoryError) that names the file, OSError."""
    where = f"file {shortened(os.fsdecode(path), 200)}"
    content = read_file(path, where, LARGE)
    try:
        if not isinstance(content, dict):
            raise TrajectoryError(f"expected a JointTrajectory, got {excerpt(content)}")
        names, points = _list(content, "joint_names"), _list(content, "points")
        if not all(isinstance(name, str) for name in names):
            raise TrajectoryError(f"joint_names must be texts, got {excerpt(names)}")
        return Waypoints.of(names, [_point(k, point) for k, point in enumerate(points)])
    except TrajectoryError as error:
        raise TrajectoryError(f"{where}: {error}") from None


def _rounded(row: list[float]) -> list[float]:
    """Empty where the quantity is not given."""
    return [] if any(map(math.isnan, row)) else [float(f"{x:.{DIGITS}g}") for x in row]


def _point(number: int, content: Any) -> Point:
    if not isinstance(content, dict) or not isinstance(content.get("time_from_start"), dict):
        expected = "time_from_start: {sec: 1, nanosec: 0}"
        raise TrajectoryError(f"point {number} must have time_from_start, as in {expected}; got {excerpt(content)}")
    time = content["time_from_start"]
    seconds, rest = (_number(number, name, time.get(name, 0)) for name in ("sec", "nanosec"))
    rows = [[_number(number, name, x) for x in _list(content, name, ())] for name in FIELDS]
    return Point(seconds + rest / SECOND, *rows)


def _number(point: int, name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TrajectoryError(f"point {point}: {name} has {excerpt(value)}, which is not a number")
    try:
        return float(value)
    except OverflowError:
        raise TrajectoryError(f"point {point}: {name} has a number that is too large") from None


def _list(content: dict[str, Any], name: str, default: Any = None) -> list[Any]:
    value = content.get(name, default)
    if not isinstance(value, (list, tuple)):
        raise TrajectoryError(f"{name} must be a list, got {excerpt(value)}")
    return list(value)
