# SPDX-License-Identifier: Apache-2.0
"""The fastest timing of a path that keeps the limits of its joints, at every time and not at its points alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.control.motion.limits import POSITION_SLACK
from rbd_dynamics.control.motion.trajectory import Trajectory, TrajectoryError, Waypoints
from rbd_dynamics.control.terms import TERMS
from rbd_dynamics.robot import Robot
from rbd_dynamics.trajectories.between import ROUNDS, NotKept, Scales, not_kept, used_between
from rbd_dynamics.trajectories.group import GroupDynamics, configuration_of
from rbd_dynamics.trajectories.limits import Limits
from rbd_dynamics.trajectories.passes import loops
from rbd_dynamics.trajectories.path import Path
from rbd_dynamics.trajectories.rate_limited import rate_limited
from rbd_dynamics.trajectories.rows import Rows, rows_along
from rbd_dynamics.trajectories.timing import Timing, times_of

Array = NDArray[np.float64]
POINTS, FEWEST, FEWEST_WITH_RATES = 1000, 200, 600
SHORT, FEW_WITH_RATES = 1e-4, 100  # rad or m: between more points, rounding would count as accelerations and rates
HELD_BACK, RATES_HELD_BACK = 8e-4, 6.4e-3  # of each limit, so that none is passed
FASTEST = 1e6  # lengths of the path per second: nothing limits what is so fast


@dataclass(frozen=True)
class Retimed:
    """A motion along a path, from rest to rest; between its points it is the quintic polynomial of both ends.

    waypoints: times, positions, velocities and accelerations. efforts (points, joints): of the terms asked for.
    s (points,): where on the path each point is.
    """

    waypoints: Waypoints
    efforts: Array
    s: Array

    @property
    def duration(self) -> float:
        """s."""
        return float(self.waypoints.times[-1])

    def trajectory(self) -> Trajectory:
        """The motion as a trajectory, to be sampled at any time."""
        return Trajectory(self.waypoints)


def retime(
    robot: Robot,
    path: Path,
    limits: Limits,
    *,
    others: ArrayLike | Mapping[str, float] | None = None,
    terms: Iterable[str] = TERMS,
    points: int = POINTS,
) -> Retimed:
    """The fastest motion along the path, from rest to rest, within the limits.

    Velocities, accelerations, efforts by the full dynamics with payload and friction, and the speeds of tools
    keep their limits at all times; the duration is within 1 % of the least possible, where there are enough points.
    Power is not limited here: `check` tells of it.

    Parameters:
        robot: without friction, which is one of the terms; all joints of one degree of freedom.
        limits: of the path's joints; `Limits.of(robot, path.joint_names)` are those of the description.
        others: where joints stand that the path does not move: q (nq) of the whole robot, or positions by name.
        terms: what the efforts hold; leave out what the robot compensates itself.
        points: about how many the motion has; no fewer than the path, than 200, and than 600 where rates are limited.
            On a path shorter than 1e-4 (rad, m) it has 200, and 100 where rates are limited.

    Raises TrajectoryError (a ValueError) that names joint and place where there is no such motion.
    Source: Pham and Pham (2018) for the passes, see `passes`; `rows` for the dynamics.
    """
    if limits.joints != path.joint_names:
        raise TrajectoryError(
            f"limits are of joints {', '.join(limits.joints)}, the path is of {', '.join(path.joint_names)}"
        )
    if isinstance(points, bool) or int(points) != points or points < 2:
        raise TrajectoryError(f"points {points} is not a whole number, 2 or above")
    dynamics = GroupDynamics(robot, path.joint_names, terms, configuration_of(robot, others))
    _check_positions(path, limits)
    kept = limits.scaled(1.0 - HELD_BACK)
    kept = replace(kept, effort_rate=limits.effort_rate * (1.0 - RATES_HELD_BACK))
    with_rates = bool(np.isfinite(limits.effort_rate).any())
    if path.length < SHORT:
        count = FEW_WITH_RATES if with_rates else FEWEST
    else:
        count = max(int(points), FEWEST_WITH_RATES if with_rates else FEWEST)
    try:
        timing = _on_nodes(path, count, limits, kept, dynamics)
    except NotKept:
        timing = _on_nodes(path, 2 * count, limits, kept, dynamics)
    waypoints = timing.waypoints(path)
    efforts = dynamics.torque(waypoints.positions, waypoints.velocities, waypoints.accelerations)
    return Retimed(waypoints, efforts, timing.s)


def _on_nodes(path: Path, count: int, limits: Limits, kept: Limits, dynamics: GroupDynamics) -> Timing:
    """The timing with about so many nodes."""
    return _fastest(path, rows_along(path, nodes_of(path, count), limits, dynamics, 1.0 - HELD_BACK), kept, dynamics)


def nodes_of(path: Path, count: int) -> Array:
    """Nodes of a path, some `count` places and all its knots: between two nodes it is one polynomial."""
    pieces = np.diff(path.knots)
    parts = np.maximum(np.rint(pieces * ((count - 1) / path.length)), 1.0).astype(int)
    within = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    s = np.repeat(path.knots[:-1], parts) + np.repeat(pieces / parts, parts) * within
    if len(s) < 2:
        s = np.array([0.0, 0.5 * path.length])
    return np.append(s, path.length)


def _fastest(path: Path, rows: Rows, limits: Limits, dynamics: GroupDynamics) -> Timing:
    """Passes over the grid, until friction fits the speed and no limit is passed between two nodes."""
    scales = Scales.whole(len(rows.s), limits)
    b, c = rows.b, rows.c
    for times in range(ROUNDS):
        timing = _pass(path, rows, b, c, scales)
        if np.isfinite(limits.effort_rate).any():  # that of the rates begins here, and does the rest
            return rate_limited(path, timing, limits, dynamics, len(rows.s))
        used = used_between(timing.waypoints(path), limits, dynamics)
        if used.little:
            return timing
        scales.narrow(used, times)
        b, c = rows.with_friction(dynamics, timing.x)
    raise not_kept(used, limits)


def _pass(path: Path, rows: Rows, b: Array, c: Array, scales: Scales) -> Timing:
    """The fastest timing for rows as they are. A node's cell reaches half-way to its neighbours."""
    s = rows.s
    edges = np.concatenate([s[:1], 0.5 * (s[1:] + s[:-1]), s[-1:]])
    width = np.diff(edges)
    most = np.minimum(rows.fastest * scales.speeds, (FASTEST * path.length) ** 2)
    bound = np.concatenate([most[:1], np.minimum(most[1:], most[:-1]), most[-1:]])
    cells, count = rows.a.shape
    # a limit that is narrowed still lets the robot be held
    high = np.maximum(rows.upper * scales.rows - c, np.minimum(rows.upper - c, 0.0))
    low = np.minimum(rows.lower * scales.rows - c, np.maximum(rows.lower - c, 0.0))
    x, u, reach, found = np.zeros(cells + 1), np.zeros(cells), np.zeros(cells + 1), np.zeros(5)
    arrays = (np.ascontiguousarray(each) for each in (width, rows.a, b, low, high, bound))
    call = loops().bind(cells, count, *arrays, np.zeros(2), x, u, reach, found)
    ok = call.run()
    at_nodes = x[:-1] + 2.0 * u * (s - edges[:-1])
    at_nodes[[0, -1]] = 0.0
    if not ok or (at_nodes[1:-1] <= 0.0).any():
        k = int(np.argmin(at_nodes[1:-1])) + 1
        raise TrajectoryError(f"the limits let no motion pass {s[k]:.6g} of the path's length of {path.length:.6g}")
    if at_nodes.max() > 0.25 * (FASTEST * path.length) ** 2:
        raise TrajectoryError("nothing limits the motion: give velocity, acceleration or effort limits")
    return Timing(s, at_nodes, u, times_of(s, at_nodes, u))


def _check_positions(path: Path, limits: Limits) -> None:
    """Raises TrajectoryError where the path leaves the joints' limits, between its points too."""
    low, high, where_low, where_high = path.positions_range()
    for joint, name in enumerate(path.joint_names):
        for value, s, wrong in (
            (low[joint], where_low[joint], low[joint] < limits.lower[joint] - POSITION_SLACK),
            (high[joint], where_high[joint], high[joint] > limits.upper[joint] + POSITION_SLACK),
        ):
            if wrong:
                near = int(np.argmin(np.abs(path.knots - s)))
                raise TrajectoryError(
                    f"near point {near} the path takes joint {name!r} to {value:.6g}, outside its limits "
                    f"{limits.lower[joint]:.6g} to {limits.upper[joint]:.6g}"
                )
