# SPDX-License-Identifier: Apache-2.0
"""The services of `dynamics_server` for planners that take long: a trajectory checked against limits, and retimed.

Each looks at its request, which is quick and done between two callbacks, and returns what fills the response, which
other threads may run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rbd_dynamics.control.feedforward import single_freedom_indices
from rbd_dynamics.control.motion.trajectory import Point, TrajectoryError, Waypoints
from rbd_dynamics.nodes.interface.dynamics_server import DynamicsServerParameters
from rbd_dynamics.nodes.managed.description_text import Prefix
from rbd_dynamics.nodes.managed.messages import SECOND, flat, points_of
from rbd_dynamics.nodes.server.held_joints import held_positions
from rbd_dynamics.nodes.server.server_engine import ServerEngine
from rbd_dynamics.robot import Robot
from rbd_dynamics.trajectories.checking import Report, check
from rbd_dynamics.trajectories.group import continuous_joints
from rbd_dynamics.trajectories.limits import Limits
from rbd_dynamics.trajectories.path import Path
from rbd_dynamics.trajectories.retiming import retime
from rbd_dynamics_interfaces.msg import LimitMargin

if TYPE_CHECKING:
    from rbd_dynamics_interfaces import srv

Array = NDArray[np.float64]
Work = Callable[[], None]


def check_trajectory(
    engine: ServerEngine,
    params: DynamicsServerParameters,
    request: srv.CheckTrajectory.Request,
    response: srv.CheckTrajectory.Response,
) -> Work:
    asked = _Asked(engine, params, request)
    asked.extra["power"] = request.power_limits

    def work() -> None:
        waypoints = Waypoints.of(asked.names, points_of(request.trajectory))
        limits = asked.limits()
        report = check(asked.robot, waypoints, limits, others=asked.held, terms=asked.terms)
        response.margins = _margins(report, asked.prefix)
        response.within_limits = report.within
        response.message = "" if report.within else str(report)

    return asked.guarded(work)


def retime_trajectory(
    engine: ServerEngine,
    params: DynamicsServerParameters,
    request: srv.RetimeTrajectory.Request,
    response: srv.RetimeTrajectory.Response,
) -> Work:
    asked = _Asked(engine, params, request)
    points = request.points or params.retiming_points
    if points > params.most_trajectory_points:
        raise ValueError(
            f"points: {points} are more than parameter 'most_trajectory_points' allows "
            f"({params.most_trajectory_points})"
        )

    def work() -> None:
        positions = Waypoints.of(asked.names, _in_order(request.trajectory)).positions
        turning = continuous_joints(asked.robot.model, asked.names)
        if request.path_tolerance != 0.0:
            path = Path.smoothed(positions, asked.names, tolerance=request.path_tolerance, continuous=turning)
        else:
            path = Path(positions, asked.names, continuous=turning)
        limits = asked.limits()
        found = retime(asked.robot, path, limits, others=asked.held, terms=asked.terms, points=points)
        report = check(asked.robot, found.waypoints, limits, others=asked.held, terms=asked.terms)
        if not report.within:  # by less than 0.1 %, as seen with noise and limited rates; not sent as if it kept them
            raise TrajectoryError(f"no timing was found that keeps all limits: {report}. A path_tolerance may help")
        response.trajectory = _message(request.trajectory, found.waypoints, found.efforts)
        response.duration = found.duration
        response.margins = _margins(report, asked.prefix)

    return asked.guarded(work)


class _Asked:
    """What both requests have in common, and what it is to be computed with. Raises ValueError or KeyError."""

    def __init__(self, engine: ServerEngine, params: DynamicsServerParameters, request: Any) -> None:
        trajectory: JointTrajectory = request.trajectory
        if len(trajectory.points) > params.most_trajectory_points:
            raise ValueError(
                f"the trajectory has {len(trajectory.points)} points, more than parameter 'most_trajectory_points' "
                f"allows ({params.most_trajectory_points})"
            )
        self.prefix: Prefix = engine.prefix
        self.robot: Robot = engine.frictionless
        self.names = [self.prefix.inside(name) for name in trajectory.joint_names]
        single_freedom_indices(self.robot, self.names)
        self.held = held_positions(
            self.robot, engine.reader, self.prefix, self.names, request.other_joints, "the trajectory"
        )
        self.terms: Sequence[str] = list(request.terms) or engine.terms
        self._order = _places(self.names, [self.prefix.inside(name) for name in request.joint_names])
        self.extra: dict[str, Sequence[float]] = {}
        self._request = request
        if len(request.tool_frames) != len(request.tool_speed_limits):
            raise ValueError(
                f"tool_frames names {len(request.tool_frames)} frames for {len(request.tool_speed_limits)} "
                "tool_speed_limits"
            )
        self._tools: dict[str, float] = {}
        for name, speed in zip(request.tool_frames, request.tool_speed_limits):
            frame = self.prefix.inside(name)
            if frame in self._tools:
                raise ValueError(f"tool_frames names frame {name!r} twice")
            self._tools[frame] = speed

    def limits(self) -> Limits:
        request = self._request
        given = {
            "velocity": request.velocity_limits,
            "acceleration": request.acceleration_limits,
            "effort": request.effort_limits,
            "effort_rate": request.effort_rate_limits,
            **self.extra,
        }
        return Limits.of(
            self.robot, self.names, tool_speed=self._tools,
            **{quantity: self._ordered(quantity, values) for quantity, values in given.items()},
        )  # fmt: skip

    def _ordered(self, quantity: str, values: Sequence[float]) -> Array:
        """Numbers of the trajectory's joints, in its order."""
        numbers = np.array(values, dtype=float)
        if numbers.size not in (0, len(self.names)):
            raise ValueError(f"{quantity}_limits has {numbers.size} numbers for {len(self.names)} joints")
        return numbers[self._order] if numbers.size else numbers

    def guarded(self, work: Work) -> Work:
        """The work, for one payload: another one that comes meanwhile would make one motion of two robots."""
        inertia = self.robot.inertia_input

        def guarded() -> None:
            work()
            if self.robot.inertia_input is not inertia:
                raise ValueError("the payload has changed meanwhile: ask again")

        return guarded


def _places(names: Sequence[str], given: Sequence[str]) -> list[int]:
    """Index of each of `names` in `given`, which are the same in any order, or none: those."""
    if not given:
        return list(range(len(names)))
    for name in given:
        if name not in names:
            raise ValueError(f"joint_names: joint {name!r} is not in the trajectory")
    for name in names:
        if given.count(name) != 1:
            raise ValueError(f"joint_names: joint {name!r} is named {given.count(name)} times")
    return [given.index(name) for name in names]


def _in_order(trajectory: JointTrajectory) -> list[Point]:
    """The points, of which only the positions count."""
    return [Point(float(k), point.positions) for k, point in enumerate(trajectory.points)]


def _message(asked: JointTrajectory, waypoints: Waypoints, efforts: Array) -> JointTrajectory:
    """A trajectory with the names and the header of what was asked for."""
    message = JointTrajectory(header=asked.header, joint_names=asked.joint_names)
    rows = zip(waypoints.times, waypoints.positions, waypoints.velocities, waypoints.accelerations, efforts)
    for time, q, v, a, tau in rows:
        point = JointTrajectoryPoint()
        point.positions, point.velocities, point.accelerations, point.effort = flat(q), flat(v), flat(a), flat(tau)
        point.time_from_start.sec, point.time_from_start.nanosec = divmod(round(time * SECOND), SECOND)
        message.points.append(point)
    return message


def _margins(report: Report, prefix: Prefix) -> list[LimitMargin]:
    return [
        LimitMargin(
            quantity=margin.quantity, joint=prefix.outside(margin.joint), time=margin.time, value=margin.value,
            limit=margin.limit, margin=margin.margin, passed_at=margin.passed_at,
        )
        for margin in report.margins
    ]  # fmt: skip
