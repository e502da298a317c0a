# SPDX-License-Identifier: Apache-2.0
"""A planner's trajectory made ready for a controller: within limits and torques, complete, and with efforts.

Between its points it is what joint_trajectory_controller makes of it: the quintic polynomial of both ends. Efforts it
takes as linear in time, so points may be added between.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.feedforward import per_joint, single_freedom_indices
from rbd_dynamics.control.motion.joint_limits import JointMotionLimits
from rbd_dynamics.control.motion.trajectory import Trajectory, TrajectoryError, Waypoints, unwound
from rbd_dynamics.control.terms import TERMS, WITHOUT_FRICTION, inverse_dynamics_terms
from rbd_dynamics.robot import Robot
from rbd_dynamics.trajectories.group import continuous_joints
from rbd_dynamics.trajectories.limits import Limits
from rbd_dynamics.trajectories.path import Path
from rbd_dynamics.trajectories.retiming import retime

Array = NDArray[np.float64]
Retiming = Literal["never", "slower", "fastest"]
CHECKED = 0.01  # s: how far apart torques are compared with their limits
MOST_SAMPLES = 200_000
SLACK = 1e-6  # of an effort limit: rounding
PRECISION = 0.005  # of the slow-down that is looked for
AT_REST = 1e-9  # rad/s or m/s, and parts of a path: rounding


@dataclass(frozen=True)
class Preparation:
    """How a trajectory is made ready; limits as none (the description's), one for all joints or one for each.

    terms: of the efforts that are filled in. velocity_limits, acceleration_limits, effort_limits: magnitudes; 0: none;
    few descriptions have accelerations. retime: what is done where limits are passed: "never": it is refused;
    "slower": the whole is slowed down; "fastest": the path through its points is timed anew, from rest to rest, as
    fast as the limits allow, but in no less time than was asked for. Either takes at most `most_slowdown` times that.
    longest_interval: s between points with efforts; 0: any.
    """

    _: KW_ONLY
    terms: Sequence[str] = WITHOUT_FRICTION
    velocity_limits: Sequence[float] = ()
    acceleration_limits: Sequence[float] = ()
    effort_limits: Sequence[float] = ()
    retime: Retiming = "never"
    most_slowdown: float = 10.0
    longest_interval: float = 0.0


@dataclass(frozen=True)
class Prepared:
    """waypoints: complete. efforts (points, joints). slowdown: times the duration that was asked for.

    places (points,): the number of the point of the original that each comes with or goes to.
    """

    waypoints: Waypoints
    efforts: Array
    slowdown: float
    places: NDArray[np.intp]


class TrajectoryPreparer:
    """Prepares trajectories for some joints of a robot.

    Parameters:
        robot: without friction, which is one of the terms; with the payload it carries.
        joints: of the robot, in the order of the waypoints. names: the same as the waypoints have them.
        q (nq): where the joints are that the trajectory does not move.

    Raises TrajectoryError for joints of several degrees of freedom, ValueError for limits of another number of joints.
    """

    def __init__(
        self, robot: Robot, joints: Sequence[str], names: Sequence[str], q: Array, options: Preparation
    ) -> None:
        self._robot, self._names, self._options, self._q = robot, tuple(names), options, q
        self._joints, self._index = tuple(joints), single_freedom_indices(robot, joints)
        described = [robot.model.joint(name).limits.effort for name in joints]
        most = per_joint("effort_limits", options.effort_limits, self._names, described)
        self._most_effort = np.where(most > 0.0, most, math.inf)
        limits = JointMotionLimits(robot, joints, self._names)
        limits.tune(velocity=options.velocity_limits, acceleration=options.acceleration_limits)
        self._limits = limits.given
        self._continuous = np.isin(self._joints, continuous_joints(robot.model, self._joints))

    def prepare(self, waypoints: Waypoints) -> Prepared:
        """Checked, retimed and filled. Raises TrajectoryError that says where which limit is passed, and by what."""
        complete = self._unwound(waypoints).completed()
        timed, places = self._timed(complete)
        dense, between = with_points_between(timed, self._options.longest_interval)
        efforts = self._efforts(dense.positions, dense.velocities, dense.accelerations, self._options.terms)
        return Prepared(dense, efforts, _duration(timed) / (_duration(complete) or 1.0), places[between])

    def _unwound(self, waypoints: Waypoints) -> Waypoints:
        """The same way without the turns back of angles that a planner has wrapped.

        A step by more than half a turn of a joint that turns without end is one, where the joint is not quick enough
        to take it.
        """
        steps, h = np.diff(waypoints.positions, axis=0), np.diff(waypoints.times)[:, None]
        wrapped = self._continuous & (np.abs(steps) > self._limits.velocity * h)
        return replace(waypoints, positions=unwound(waypoints.positions, wrapped))

    def check(self, waypoints: Waypoints) -> None:
        """Raises TrajectoryError where complete waypoints leave the limits, between their points too."""
        self._limits.check_points(waypoints)
        first = np.array([waypoints.positions[0], waypoints.velocities[0], waypoints.accelerations[0]])
        self._limits.check_state(first)
        self._limits.check(Trajectory(waypoints), first)
        self._check_efforts(waypoints)

    def _timed(self, waypoints: Waypoints) -> tuple[Waypoints, NDArray[np.intp]]:
        """Waypoints within the limits, and for each the number of the original's that it comes with or goes to."""
        try:
            self.check(waypoints)
        except TrajectoryError as error:
            if self._options.retime == "never" or self._options.most_slowdown <= 1.0:
                raise
            if self._options.retime == "fastest":
                return self._fastest(waypoints, error)
            waypoints = slower(waypoints, self._slowdown(waypoints, error))
        return waypoints, np.arange(len(waypoints.times))

    def _fastest(self, waypoints: Waypoints, problem: TrajectoryError) -> tuple[Waypoints, NDArray[np.intp]]:
        if np.abs(waypoints.velocities[[0, -1]]).max() > AT_REST:
            raise TrajectoryError(f"{problem}; it could be timed anew only if it began and ended at rest")
        asked = _duration(waypoints)
        most = self._options.most_slowdown * asked
        try:
            path = Path(waypoints.positions, self._joints)
            found = retime(self._robot, path, self._limits_of_path(), others=self._q, terms=TERMS)
            # nobody has asked for a faster motion than that which is too fast somewhere
            timed = slower(found.waypoints, max(asked / found.duration, 1.0))
            timed = replace(timed, joint_names=waypoints.joint_names)
            try:
                self.check(timed)
            except TrajectoryError as passed:  # with less friction
                timed = slower(timed, self._slowdown(timed, passed))
            if (duration := _duration(timed)) > most:
                raise TrajectoryError(f"it takes {duration:.6g} s, more than the {most:.6g} s that are allowed")
            timed = replace(timed, times=timed.times + waypoints.times[0])
        except TrajectoryError as still:
            raise TrajectoryError(f"{problem}; timed anew: {still}") from None
        after = np.searchsorted(path.knots, found.s - AT_REST * path.length)
        places = path.numbers[np.minimum(after, len(path.numbers) - 1)]
        places[-1] = len(waypoints.times) - 1  # others that stand there are passed as well
        return timed, places

    def _keeps(self, waypoints: Waypoints) -> bool:
        try:
            self.check(waypoints)
        except TrajectoryError:
            return False
        return True

    def _limits_of_path(self) -> Limits:
        options = self._options
        given = (options.velocity_limits, options.acceleration_limits, options.effort_limits)
        velocity, acceleration, effort = (values[0] if len(values) == 1 else values for values in given)
        return Limits.of(
            self._robot, self._joints, velocity=velocity, acceleration=acceleration, effort=effort
        )  # fmt: skip

    def _slowdown(self, waypoints: Waypoints, problem: TrajectoryError) -> float:
        most = self._options.most_slowdown
        try:
            self.check(slower(waypoints, most))
        except TrajectoryError as still:
            raise TrajectoryError(f"{problem}; {most:g} times as slow: {still}") from None
        too_fast, slow = 1.0, most
        while slow / too_fast > 1.0 + PRECISION:
            middle = math.sqrt(too_fast * slow)
            if self._keeps(slower(waypoints, middle)):
                slow = middle
            else:
                too_fast = middle
        return slow

    def _check_efforts(self, waypoints: Waypoints) -> None:
        """What the motors have to give, whatever the robot compensates itself; friction may be there or not."""
        if not np.isfinite(self._most_effort).any():
            return
        dense, _ = with_points_between(waypoints, CHECKED)
        for terms in (TERMS, WITHOUT_FRICTION):
            self._check_samples(dense, self._efforts(dense.positions, dense.velocities, dense.accelerations, terms))

    def _check_samples(self, dense: Waypoints, efforts: Array) -> None:
        excess = np.abs(efforts) / self._most_effort
        if not np.isfinite(efforts).all():
            raise TrajectoryError("the efforts are not finite")
        k, joint = np.unravel_index(int(excess.argmax()), excess.shape)
        if excess[k, joint] > 1.0 + SLACK:
            raise TrajectoryError(
                f"effort {efforts[k, joint]:.6g} of joint {self._names[joint]!r} at {dense.times[k]:.6g} s is more "
                f"than its limit of {self._most_effort[joint]:.6g}"
            )

    def _efforts(self, positions: Array, velocities: Array, accelerations: Array, terms: Sequence[str]) -> Array:
        """(points, joints)"""
        q = np.repeat(self._q[None], len(positions), axis=0)
        v, a = np.zeros_like(q), np.zeros_like(q)
        q[:, self._index], v[:, self._index], a[:, self._index] = positions, velocities, accelerations
        efforts: Array = inverse_dynamics_terms(self._robot, q, v, a, terms)[:, self._index]
        return efforts


def _duration(waypoints: Waypoints) -> float:
    return float(waypoints.times[-1] - waypoints.times[0])


def slower(waypoints: Waypoints, factor: float) -> Waypoints:
    """The same path in `factor` times the time."""
    return replace(
        waypoints,
        times=waypoints.times * factor,
        velocities=waypoints.velocities / factor,
        accelerations=waypoints.accelerations / factor**2,
    )


def with_points_between(waypoints: Waypoints, longest: float) -> tuple[Waypoints, NDArray[np.intp]]:
    """The same motion with points at most `longest` s apart (0: any), and for each the number of the original's that
    it comes with or goes to. Raises TrajectoryError for more than 200,000."""
    times = waypoints.times
    steps = np.diff(times)
    parts = np.ceil(steps / longest - 1e-9).astype(int) if longest else np.ones(len(steps), dtype=int)
    parts = np.maximum(parts, 1)
    if parts.sum() >= MOST_SAMPLES:
        raise TrajectoryError(f"the trajectory takes {times[-1] - times[0]:.6g} s: too long to look at all of it")
    places = np.concatenate([[0], np.repeat(np.arange(1, len(times)), parts)])
    if (parts == 1).all():
        return waypoints, places
    begins, within = np.repeat(np.arange(len(steps)), parts), np.arange(parts.sum())
    within = within - np.repeat(np.cumsum(parts) - parts, parts) + 1  # 1 to parts
    since = np.repeat(steps / parts, parts) * within
    pieces = Trajectory(waypoints).pieces[begins]  # (samples, 6, joints)
    powers = since[:, None] ** np.arange(6)
    orders = np.arange(6)
    position = np.einsum("kp,kpj->kj", powers, pieces)
    velocity = np.einsum("kp,kpj->kj", powers[:, :5], pieces[:, 1:] * orders[1:, None])
    acceleration = np.einsum("kp,kpj->kj", powers[:, :4], pieces[:, 2:] * (orders[2:] * orders[1:-1])[:, None])
    ends = within == np.repeat(parts, parts)  # the original's own numbers stay as they are
    rows = begins[ends] + 1
    position[ends], velocity[ends] = waypoints.positions[rows], waypoints.velocities[rows]
    acceleration[ends] = waypoints.accelerations[rows]
    moments = times[begins] + since
    moments[ends] = times[rows]
    arrays = (
        np.concatenate([first[:1], rest])
        for first, rest in (
            (times, moments),
            (waypoints.positions, position),
            (waypoints.velocities, velocity),
            (waypoints.accelerations, acceleration),
        )
    )
    return Waypoints(waypoints.joint_names, *arrays), places
