# SPDX-License-Identifier: Apache-2.0
"""What the controlled joints shall do: hold, follow a trajectory, or obey streamed set-points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.motion.goal import MotionGoal, Outcome
from rbd_dynamics.control.motion.limits import MotionLimits
from rbd_dynamics.control.motion.options import MotionOptions
from rbd_dynamics.control.motion.planning import PlanRequest
from rbd_dynamics.control.motion.point_efforts import PointEfforts
from rbd_dynamics.control.motion.set_point_stream import StepAllowance, set_point_of
from rbd_dynamics.control.motion.splines import motion_of, state_of
from rbd_dynamics.control.motion.tolerances import MotionTolerances, difference
from rbd_dynamics.control.motion.trajectory import Trajectory, TrajectoryError, Waypoints

Array = NDArray[np.float64]
NANOSECOND = 1e-9
FOR_EVER = 1 << 62  # ns
SAME = 1e-6  # rad, m: rounding


class DesiredMotion:
    """The desired motion of `joints`, as a polynomial in time that holds for now.

    `motion` (6, joints) are its coefficients, constant first, and `since` (1,) is the time at which it is
    to be taken; `update` brings them up to date. At first the position of the first measured state is
    held. Times are integer nanoseconds of one clock.

    A motion ends, and the robot is held where it is measured, when it gets too far from where it is wanted, or when
    states were silent for too long; `problem` then says why, until the next motion begins. A robot that is held and
    was moved farther than that is held where it is then, likewise. A trajectory may have a `MotionGoal`, which is told
    how it ended.

    Attributes:
        slack (joints): which joints nothing pulls to where they are wanted: their hold is where they are, so that a
            gain that is set later begins there.
    """

    def __init__(
        self,
        joints: Sequence[str],
        *,
        continuous: NDArray[np.bool_] | None = None,
        options: MotionOptions | None = None,
    ) -> None:
        self.joints = tuple(joints)
        self.mode = "none"  # "none" (no state seen yet), "hold", "trajectory" or "setpoint"
        self.motion = motion_of(np.zeros((3, len(self.joints))))
        self.since = np.zeros(1)
        self.problem = ""  # why the last motion ended before its time
        self.number = 0  # of the motion, counted: what is planned on one does not fit another
        self.goal: MotionGoal | None = None  # of the trajectory, until it has ended
        self.limits = MotionLimits.of(self.joints)  # of what begins from now on
        self.continuous = np.zeros(len(joints), dtype=bool) if continuous is None else continuous
        self.slack = np.zeros(len(self.joints), dtype=bool)
        self.options = options or MotionOptions()
        self._trajectory: Trajectory | None = None
        self._start = 0  # of the trajectory, or arrival of the set-point, ns
        self._seen = 0  # time of the last update, ns
        # takes over at, trajectory, its start, who waits for it
        self._next: tuple[int, Trajectory, int, MotionGoal | None, PointEfforts | None] | None = None
        self._efforts: PointEfforts | None = None  # of the trajectory, also once it has ended at its end
        self._goal_due = 0  # when the robot must have come to the end of the trajectory, ns
        self._follow_measured = (False, False)  # position, velocity: not in the set-point
        self._steps = StepAllowance(self.joints, self.continuous)  # of set-points

    @property
    def options(self) -> MotionOptions:
        return self._options

    @options.setter
    def options(self, options: MotionOptions) -> None:
        """Raises ValueError for tolerances of another number of joints, and then changes nothing."""
        self._tolerances, self._options = MotionTolerances(self.joints, self.continuous, options), options
        self._gap = round(options.longest_gap / NANOSECOND) if options.longest_gap else FOR_EVER

    @property
    def slack(self) -> NDArray[np.bool_]:
        return self._slack

    @slack.setter
    def slack(self, slack: NDArray[np.bool_]) -> None:
        self._slack, self._slackens = slack, bool(slack.any())

    def update(self, now: int, q: Array, v: Array) -> None:
        """Bring `motion` and `since` to the time `now` (ns), given the measured state of `joints`."""
        gap, self._seen = now - (self._seen or now), now
        if self.mode == "none":
            self._stand(q)
            return
        if gap > self._gap:
            self._after_gap(gap * NANOSECOND, q)
        if self._next is not None and now >= self._next[0]:
            self._take_over()
        mode = self.mode
        if mode == "trajectory":
            assert self._trajectory is not None
            elapsed = (now - self._start) * NANOSECOND
            self.motion, self.since[0] = self._trajectory.piece(elapsed)
            if self._watched.watches_path:
                self._check_path(q, v)
            if self.mode == "trajectory" and elapsed >= self._trajectory.end:
                self._arrive(now)
        elif mode == "setpoint":
            self._update_set_point(now, q, v)
        else:
            self._keep_hold(now, q, v)

    def state(self) -> Array:
        """Desired position, velocity, acceleration at the time of the last update (3, joints)."""
        return state_of(self.motion, float(self.since[0]))

    def efforts(self) -> Array | None:
        """What the points of the trajectory want added to the law's efforts now (joints); None: nothing.

        After the end of the trajectory that of the last point, until another motion begins.
        """
        return None if self._efforts is None else self._efforts.at((self._seen - self._start) * NANOSECOND)

    @property
    def moving(self) -> bool:
        """A trajectory is followed, or is about to be."""
        return self.mode == "trajectory" or self._next is not None

    def release(self, *, why: str = "") -> None:
        """Forget everything: hold where the robot is when it is seen next. why: said of a motion that this ends."""
        moving = self.moving
        self._conclude("ended", f"{why or 'the robot is not commanded any more'}: the motion is ended")
        self._begin("none")
        if moving and why:
            self.problem = f"{why} while a trajectory ran: it is ended, the robot held where it is"

    def hold(self) -> None:
        """Stand still at the present desired position."""
        if self.mode != "none":
            self._stand(self.state()[0])

    def end(self, q: Array, reason: str, *, outcome: Outcome = "ended") -> None:
        """Hold the robot where it is, and say why."""
        self._conclude(outcome, reason)
        self._stand(q)
        self.problem = reason

    def cancel(self, goal: MotionGoal) -> None:
        """Stand still at the present desired position, if it moves for this goal; forget it, if it is about to."""
        if self.goal is goal:
            self._conclude("ended", "cancelled")
            self.hold()
        elif self._next is not None and self._next[3] is goal:
            self._forget_next()

    def revoke(self, q: Array, reason: str) -> None:
        """End a motion that is under way or about to be, and hold the robot at q, where it is measured."""
        if self.moving or self.mode == "setpoint":
            self.end(q, reason)

    # --- trajectories -----------------------------------------------------------------------------

    def follow(self, waypoints: Waypoints, start: int, now: int, q: Array, v: Array) -> None:
        """Follow a trajectory that starts at `start` (ns), from the present state on. Raises TrajectoryError.

        The present state is the desired one, or the measured one where they are farther than the
        start tolerance apart. A trajectory that is refused changes nothing.
        """
        self.update(now, q, v)
        request, _ = self.request(now, q, v, (now - start) * NANOSECOND)
        self._follow(request.plan(waypoints), start)

    def request(self, when: int, q: Array, v: Array, elapsed: float) -> tuple[PlanRequest, int]:
        """What a trajectory that takes over at the time `when` (ns) is to be planned from, and the motion's number.

        elapsed: time since its start then, s.
        """
        present = self._state_at(when)
        if self._away(present[0], q, self.options.start_tolerance):
            present = np.array([q, v, np.zeros_like(q)])
        options = self.options
        request = PlanRequest(
            present, elapsed, self.limits, self.continuous, options.interpolation, options.start_tolerance
        )
        return request, self.number

    def follow_from(
        self,
        when: int,
        trajectory: Trajectory,
        start: int,
        number: int,
        q: Array,
        *,
        goal: MotionGoal | None = None,
        efforts: PointEfforts | None = None,
    ) -> bool:
        """Let a planned trajectory take over at the time `when` (ns); False: it does not fit any more.

        number: of the motion that it was planned on. q: the measured position. goal: with its tolerances.
        efforts: of its points.
        """
        if number != self.number or when <= self._seen:
            return False
        begin = trajectory.sample((when - start) * NANOSECOND)[0]
        jumps = np.abs(begin - self._state_at(when)[0]).max(initial=0.0) > SAME
        if jumps:  # it was planned from the measured position: is the robot still there?
            if self.mode == "trajectory" or self._away(begin, q, self.options.start_tolerance):
                return False
        self._forget_next()
        self._next = (when, trajectory, start, goal, efforts)
        return True

    def _take_over(self) -> None:
        assert self._next is not None
        _, trajectory, start, goal, efforts = self._next
        self._next = None
        self._follow(trajectory, start)
        self.goal, self._efforts = goal, efforts

    def _follow(self, trajectory: Trajectory, start: int) -> None:
        self._begin("trajectory")
        self._trajectory, self._start = trajectory, start

    def elapsed(self) -> tuple[float, int]:
        """Time since the start of the trajectory that is followed, s, and how many of its points are still to come."""
        time = (self._seen - self._start) * NANOSECOND
        if self._trajectory is None:
            return time, 0
        return time, len(self._trajectory.times) - int(np.searchsorted(self._trajectory.times, time, side="right"))

    def _arrive(self, now: int) -> None:
        """The trajectory is over; what was to follow still fits."""
        self.motion, self.since[0] = motion_of(self.state() * [[1.0], [0.0], [0.0]]), 0.0
        self.mode, self._trajectory = "hold", None
        if self.goal is not None:
            if not self._watched.watches_goal:
                self._conclude("reached", "")
                return
            time = self._watched.goal_time
            self._goal_due = now + round(time / NANOSECOND) if time else FOR_EVER
        elif self._tolerances.watches_goal and self.options.goal_time:
            self._goal_due = now + round(self.options.goal_time / NANOSECOND)

    # --- set-points -------------------------------------------------------------------------------

    def set_point(self, waypoints: Waypoints, now: int, *, q: Array | None = None) -> None:
        """Take one streamed set-point at once. Raises TrajectoryError, and then changes nothing.

        It may be no farther than the set-point tolerance from what was wanted before, within the limits, and set-points
        that follow each other may go no faster than the velocity limits. q: the measured position, from which the
        first one counts if nothing is wanted yet; None: there is none.

        Velocity and acceleration are zero where they are not given. Without a position the measured
        state is the desired one: only the acceleration (and the velocity, if given) counts.
        """
        given = set_point_of(waypoints, self.joints)
        self.limits.check_state(given)
        missing = np.isnan(given[:, :1])[:, 0] if given.size else np.zeros(3, dtype=bool)
        if self.options.setpoint_tolerance and not missing[0]:
            wanted = self._step_from(given[0], q)
            if wanted is None:
                raise TrajectoryError("there are no joint states to start from")
            self._steps.take(given[0], wanted, now, self.limits, self.options.setpoint_tolerance)
        given[missing] = 0.0
        if missing[0]:
            given[0] = self.state()[0]  # until the next measured one
        if self.mode != "setpoint" or self._next is not None or self.problem:
            self._begin("setpoint")
        self._follow_measured = (bool(missing[0]), bool(missing[0] and missing[1]))
        self.motion = motion_of(given)
        self.since[0] = 0.0
        self._start = now

    def _step_from(self, position: Array, q: Array | None) -> Array | None:
        """What a set-point counts from: what is wanted, or where a robot is that is held and does not get there.

        That is where it stands if it was pushed away: a stream that begins there gives way.
        """
        if self.mode == "none":
            return q
        wanted: Array = self.state()[0]
        far = self.options.setpoint_tolerance
        if self.mode == "hold" and q is not None and self._away(position, wanted, far):
            return wanted if self._away(position, q, far) else q
        return wanted

    def _update_set_point(self, now: int, q: Array, v: Array) -> None:
        timeout = self.options.setpoint_timeout
        if timeout and (now - self._start) * NANOSECOND > timeout:
            self.hold()
            if self._away(self.state()[0], q, self.options.start_tolerance):
                self._stand(q)  # it never came there
            return
        if self._follow_measured[0]:
            self.motion[0] = q
        else:
            self._check_path(q, v)
        if self._follow_measured[1]:
            self.motion[1] = v

    # --- what ends a motion -----------------------------------------------------------------------

    @property
    def _watched(self) -> MotionTolerances:
        """The goal's own, where it has some."""
        own = self.goal.tolerances if self.goal is not None else None
        return self._tolerances if own is None else own

    def _check_path(self, q: Array, v: Array) -> None:
        problem = self._watched.path_problem(self.motion, float(self.since[0]), q, v)
        if problem:
            self.end(q, problem, outcome="path")

    def _check_goal(self, now: int, q: Array, v: Array) -> None:
        problem = self._watched.goal_problem(self.motion[0], q, v)
        if not problem:
            self._goal_due = 0
            self._conclude("reached", "")
        elif now >= self._goal_due:
            self.end(q, problem, outcome="goal")

    def _keep_hold(self, now: int, q: Array, v: Array) -> None:
        if self._goal_due:
            self._check_goal(now, q, v)
        elif self._slackens:
            np.copyto(self.motion[0], q, where=self.slack)
        if problem := self._watched.hold_problem(self.motion[0], q):
            self.end(q, problem, outcome="path")

    def _after_gap(self, gap: float, q: Array) -> None:
        """States were silent; what the robot did meanwhile is not known."""
        if self.moving:
            self.end(
                q, f"no joint states for {gap:.3g} s while a trajectory ran: it is ended, the robot held where it is"
            )
            return
        if self._away(self.state()[0], q, self.options.start_tolerance):
            self.end(q, f"the robot was moved while there were no joint states for {gap:.3g} s: it is held where it is")

    # --- small things -----------------------------------------------------------------------------

    def _begin(self, mode: str) -> None:
        """Another motion: what was wanted, planned or wrong before is forgotten."""
        self._conclude("replaced", "another motion has taken its place")
        self._forget_next()
        self.mode, self.problem = mode, ""
        self.number += 1
        self._trajectory, self._efforts, self._goal_due = None, None, 0

    def _conclude(self, outcome: Outcome, reason: str) -> None:
        """Tell who waits for the trajectory."""
        if self.goal is not None:
            self.goal.end(outcome, reason)
            self.goal = None

    def _forget_next(self) -> None:
        if self._next is not None and self._next[3] is not None:
            self._next[3].end("replaced", "another motion has taken its place before it began")
        self._next = None

    def _stand(self, position: Array) -> None:
        self._begin("hold")
        self.motion = motion_of([position, np.zeros_like(position), np.zeros_like(position)])
        self.since[0] = 0.0

    def _state_at(self, when: int) -> Array:
        """The desired state at a time, if nothing else comes."""
        if self._trajectory is not None:
            return self._trajectory.sample((when - self._start) * NANOSECOND)
        return self.state()

    def _away(self, a: Array, b: Array, most: float) -> bool:
        """Some joint is farther from b in a than `most`."""
        return bool(np.any(np.abs(difference(a, b, self.continuous)) > most))
