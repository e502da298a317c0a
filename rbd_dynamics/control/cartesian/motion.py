# SPDX-License-Identifier: Apache-2.0
"""What a tool shall do: hold, go to a pose, move with a twist, or follow a trajectory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.cartesian.pose_chart import TOOL_ROWS, PoseChart
from rbd_dynamics.control.cartesian.pose_follower import Limits3, Moving, driven, towards
from rbd_dynamics.control.motion.desired_motion import NANOSECOND, DesiredMotion
from rbd_dynamics.control.motion.options import MotionOptions
from rbd_dynamics.control.motion.splines import motion_of, state_of
from rbd_dynamics.control.motion.trajectory import TrajectoryError

Array = NDArray[np.float64]
STEP = 1_000_000  # ns: poses and twists are followed in steps of so much, however often states come
TURNED = 1.5  # rad: a chart's base that is farther away comes along
MOST_STEPS = 200  # at once: after longer pauses the motion goes on from where it was


class CartesianMotion(DesiredMotion):
    """The desired motion of a tool, in the coordinates of a chart; see `DesiredMotion`.

    Two modes more: "pose", on the way to one, and "twist". Both stay within `limits`, of which the least of the three
    translations and of the three rotations counts for these, and end in "hold". The chart's base is moved
    to where the tool is wanted whenever such a motion or a trajectory begins, unless a trajectory runs; `come_along`
    moves it while such a motion turns the tool far.

    Attributes:
        chart: of `motion`, and of what `update` takes.
        follow_rate: 1/s, with which the way to a pose dies out at its end, and a stream of poses is followed.
        pace: how fast motions go on, as a share of their own speed: less than 1 where an arm cannot follow. A
            trajectory ends later then.
    """

    def __init__(self, *, options: MotionOptions | None = None, follow_rate: float = 20.0) -> None:
        super().__init__(TOOL_ROWS, options=options)
        self.chart = PoseChart(np.eye(3))
        self.follow_rate, self.pace = follow_rate, 1.0
        self._goal = np.zeros(6)  # coordinates in mode "pose", their rates in mode "twist"
        self._until = 0  # ns, of a twist
        self._at, self._moving = 0, np.zeros((3, 6))  # time (ns) and state after the last step

    def go_to(self, pose: Array, now: int) -> None:
        """Set out for a pose (4, 4) of the tool. Raises TrajectoryError, and then changes nothing."""
        chart, state = self._from_here()
        goal = chart.coordinates(pose)
        self.limits.check_state(np.array([goal, np.zeros(6), np.zeros(6)]))
        self._take("pose", chart, state, goal, now)

    def drive(self, twist: Array, now: int) -> None:
        """Move with a twist (w, v) (6) of the tool's point in root axes, until `setpoint_timeout` after now.

        Raises TrajectoryError, and then changes nothing.
        """
        chart, state = self._from_here()
        rates = chart.rates(np.zeros(6), twist)
        self.limits.check_state(np.array([np.full(6, np.nan), rates, np.zeros(6)]))
        timeout = self.options.setpoint_timeout
        self._until = now + round(timeout / NANOSECOND) if timeout else 1 << 62
        self._take("twist", chart, state, rates, now)

    def hold_at(self, pose: Array) -> None:
        """Stand still at a pose (4, 4), beside which what was wrong remains said."""
        problem = self.problem
        self._stand(self.chart.coordinates(pose))
        self.problem = problem

    def recentre(self, pose: Array) -> None:
        """The base of the chart is where the tool is wanted from now on, unless a trajectory runs or is to.

        pose (4, 4): where the tool is; where nothing is wanted yet, that counts.
        """
        if self.mode == "none":
            self.chart = PoseChart(pose[:3, :3].copy())
        elif self.mode != "trajectory" and self._next is None:
            before, theta = self.chart, self.state()[0]
            self.chart, self._moving = before.moved(self.state())
            if self.mode == "pose":
                self._goal = self.chart.coordinates(before.pose(self._goal))
            elif self.mode == "twist":
                self._goal = self.chart.rates(np.zeros(6), before.twist(theta, self._goal))
            self._at = self._seen
            self._show(self._seen)

    def come_along(self) -> None:
        """Move the base of the chart along where a pose or twist has turned the tool far.

        Half a turn away one orientation has two coordinates, and a tool where it is wanted may be measured a whole turn
        off. Not while a trajectory is planned, which is in the chart that there was.
        """
        if self.mode in ("pose", "twist"):
            theta = self.state()[0]
            if float(np.linalg.norm(theta[:3])) > TURNED:
                self.recentre(self.chart.pose(theta))

    def update(self, now: int, q: Array, v: Array) -> None:
        """Update as `DesiredMotion.update`; q, v: measured coordinates and rates (6) in `chart`."""
        if self.mode not in ("pose", "twist"):
            self._wait(now)
            super().update(now, q, v)
            if self.mode == "trajectory" and self.pace < 1.0:
                self.motion, self.since[0] = motion_of(self.state() * self._slowed), 0.0
            return
        gap, self._seen = now - (self._seen or now), now
        if gap > self._gap:
            self.end(q, f"no joint states for {gap * NANOSECOND:.3g} s while the tool moved: it is held where it is")
        elif self._next is not None and now >= self._next[0]:
            self._take_over()
            super().update(now, q, v)
        else:
            self._at, self._moving = self._rolled(now)
            self._show(now)
            if not self._moving[1:].any() and self._over():
                self._stand(self._moving[0])
            elif self._tolerances.watches_path:
                self._check_path(q, v)

    # --- poses and twists -------------------------------------------------------------------------

    def _from_here(self) -> tuple[PoseChart, Array]:
        """The chart at the orientation that is wanted now, and the state in it. Raises TrajectoryError."""
        if self.mode == "none":
            raise TrajectoryError("there are no joint states to start from")
        return self.chart.moved(self.state())

    def _take(self, mode: str, chart: PoseChart, state: Array, goal: Array, now: int) -> None:
        self._begin(mode)
        self.chart, self._goal, self._moving, self._at = chart, goal, state, self._seen
        self._show(self._seen)

    def _over(self) -> bool:
        if self.mode == "pose":
            return bool((self._moving[0] == self._goal).all())
        return self._at >= self._until

    def _show(self, now: int) -> None:
        self.motion, self.since[0] = motion_of(self._moving * self._slowed), (now - self._at) * NANOSECOND

    def _wait(self, now: int) -> None:
        """A trajectory that has begun goes on no faster than `pace` lets it."""
        gap = now - self._seen
        if self.mode == "trajectory" and self.pace < 1.0 and self._start < now and gap <= self._gap:
            self._start += round((1.0 - self.pace) * min(gap, now - self._start))

    def _state_at(self, when: int) -> Array:
        if self.mode == "trajectory" and self._seen > self._start:
            ahead = round(self.pace * (when - self._seen))
            return np.asarray(super()._state_at(self._seen + ahead) * self._slowed)
        if self.mode not in ("pose", "twist"):
            return super()._state_at(when)
        at, state = self._rolled(when)
        return state_of(motion_of(state * self._slowed), (when - at) * NANOSECOND)

    @property
    def _slowed(self) -> Array:
        """What a state (3, 6) of its own speed is multiplied by."""
        return np.array([[1.0], [self.pace], [self.pace * self.pace]])

    def _rolled(self, now: int) -> tuple[int, Array]:
        """Time and state of the last step before now."""
        at = max(self._at, now - MOST_STEPS * STEP)
        if now - at < STEP:
            return self._at, self._moving
        limits = [self._limits_of(part) for part in (slice(0, 3), slice(3, 6))]
        parts = [_moving(self._moving[:, part]) for part in (slice(0, 3), slice(3, 6))]
        goals = [tuple(self._goal[:3].tolist()), tuple(self._goal[3:].tolist())]
        seconds = STEP * NANOSECOND * self.pace
        while at + STEP <= now:
            for k in range(2 if seconds else 0):
                if self.mode == "pose":
                    parts[k] = towards(parts[k], goals[k], limits[k], seconds)
                else:
                    wanted = goals[k] if at < self._until else (0.0, 0.0, 0.0)
                    parts[k] = driven(parts[k], wanted, limits[k], seconds)
            at += STEP
        return at, np.array([[*turned, *moved] for turned, moved in zip(*parts)])

    def _limits_of(self, part: slice) -> Limits3:
        limits = self.limits
        lower, upper = tuple(limits.lower[part].tolist()), tuple(limits.upper[part].tolist())
        speed, acceleration = float(limits.velocity[part].min()), float(limits.acceleration[part].min())
        return Limits3(self.follow_rate, speed, acceleration, lower, upper)


def _moving(state: Array) -> Moving:
    """The motion in rows (3, 3) as `Moving`."""
    x, v, a = (tuple(row) for row in state.tolist())
    return Moving(x, v, a)
