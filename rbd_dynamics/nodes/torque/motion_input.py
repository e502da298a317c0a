# SPDX-License-Identifier: Apache-2.0
"""Trajectory messages on their way to the wanted motion: set-points at once, trajectories by a process of their own."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.motion.desired_motion import DesiredMotion
from rbd_dynamics.control.motion.goal import MotionGoal, Outcome
from rbd_dynamics.control.motion.limits import MotionLimits
from rbd_dynamics.control.motion.planning import PlanRequest
from rbd_dynamics.control.motion.tolerances import MotionTolerances
from rbd_dynamics.control.motion.trajectory import TrajectoryError, Waypoints
from rbd_dynamics.control.motion.trajectory_message import Decoder, TrajectoryMessage, decoded
from rbd_dynamics.nodes.managed.messages import SECOND
from rbd_dynamics.nodes.torque.motion_record import NO_STATES
from rbd_dynamics.nodes.torque.planning_process import Answer, Job, PlanningProcess

Array = NDArray[np.float64]
SMALL = (2048, 128)  # bytes, and for each joint: any one point of all joints has less
HEAD = 4096  # bytes of header and foreign names, at most, of a trajectory
NOW = 0.1  # s: a single point that is due so soon is a set-point
LEAD = (0.05, 1e-7)  # s, and for each byte: how far ahead a plan is to take over, first
ATTEMPTS = 8
ADDED = "; the efforts of its points are added to the law's"
UNUSED = "; the efforts of its points are not used (point_efforts): the law finds its own"
REPLACED = "another trajectory has taken its place before it began"


@dataclass(frozen=True)
class Scene:
    """What a message finds: the motion, its limits now, and the measured state of what it moves at `now` (ns)."""

    motion: DesiredMotion
    limits: MotionLimits
    q: Array
    v: Array
    now: int


@dataclass
class _Plan:
    """One that is being made."""

    job: Job
    motion: DesiredMotion
    takes_over: int  # ns
    number: int  # of the motion that it continues
    size: int  # of the message, bytes
    goal: MotionGoal | None  # who waits for it
    at_any_time: bool  # once the robot stands: it was planned from a hold
    attempts: int = 1
    latest: float = math.inf  # s since its start, until which it may take over


class MotionInput:
    """Takes serialised JointTrajectory messages; the later one replaces one that is still being planned.

    Parameters:
        say: called with a line for the log for each trajectory that is followed.
        refuse: called with the reason where one is not.
    """

    def __init__(self, say: Callable[[str], None], refuse: Callable[[str], None]) -> None:
        self._say, self._refuse = say, refuse
        self._planner: PlanningProcess | None = None
        self._plan: _Plan | None = None
        self._ticket = 0

    @property
    def planning(self) -> bool:
        """A trajectory is being planned: `poll` is wanted."""
        return self._plan is not None

    def open(self) -> None:
        """Have the planning process ready."""
        self._planner = PlanningProcess()
        self._planner.start()

    def close(self) -> None:
        """End it."""
        self.abandon()
        if self._planner is not None:
            self._planner.close()
            self._planner = None

    def abandon(self, why: str = "the node has stopped taking trajectories") -> None:
        """What is being planned is not wanted any more."""
        if self._plan is not None and self._plan.goal is not None:
            self._plan.goal.end("ended", why)
        self._plan = None

    def take_set_point(self, points: Waypoints, scene: Scene, clock: int, fresh: bool) -> None:
        """One point that counts at once. Raises TrajectoryError, and then changes nothing."""
        scene.motion.limits = scene.limits
        scene.motion.set_point(points, scene.now or clock, q=scene.q if fresh else None)
        self.abandon(REPLACED)

    def cancel(self, goal: MotionGoal) -> None:
        """Not wanted any more, if it is being planned."""
        if self._plan is not None and self._plan.goal is goal:
            self.abandon("cancelled")

    def take(
        self, raw: bytes, scene: Scene, largest: int, clock: int, fresh: bool, *, decode: Decoder = decoded
    ) -> None:
        """Do what the message wants, or begin to. Raises TrajectoryError, and then changes nothing.

        largest: number of points. clock: the node's, ns. fresh: the robot has been seen of late. decode: reads the
        message.
        """
        joints = len(scene.motion.joints)
        if len(raw) <= SMALL[0] + SMALL[1] * joints:
            message = decode(raw, largest)
            if message.waypoints is None or len(message.waypoints.times) == 1:
                if self._take_at_once(message, scene, clock, fresh):
                    self.abandon(REPLACED)
                    return
        if len(raw) > most_bytes(joints, largest):
            raise TrajectoryError(f"{len(raw)} bytes are more than {largest} points (largest_trajectory) need")
        if not fresh:
            raise TrajectoryError(NO_STATES)
        self._ask(raw, scene, largest, decode=decode)

    def take_goal(self, raw: bytes, scene: Scene, largest: int, fresh: bool, goal: MotionGoal) -> None:
        """Begin with a serialised request to follow a trajectory; `goal` is told what becomes of it.

        Raises TrajectoryError, and then changes nothing.
        """
        if not fresh:
            raise TrajectoryError(NO_STATES)
        self._ask(raw, scene, largest, goal)

    @staticmethod
    def _take_at_once(message: TrajectoryMessage, scene: Scene, clock: int, fresh: bool) -> bool:
        """No points: hold. One that is due now: a set-point. False: neither."""
        motion, waypoints = scene.motion, message.waypoints
        if waypoints is None:
            motion.hold()
            return True
        now = scene.now or clock  # the clock of the states, once there are any
        if not _is_set_point(waypoints, message.stamp, now, motion.options.setpoint_timeout):
            return False
        motion.limits = scene.limits
        motion.set_point(waypoints, now, q=scene.q if fresh else None)
        return True

    # --- trajectories -----------------------------------------------------------------------------

    def _ask(
        self, raw: bytes, scene: Scene, largest: int, goal: MotionGoal | None = None, *, decode: Decoder = decoded
    ) -> None:
        assert self._planner is not None
        self.abandon(REPLACED)
        self._ticket += 1
        motion = scene.motion
        motion.limits = scene.limits
        takes_over = scene.now + round((LEAD[0] + LEAD[1] * len(raw)) * SECOND)
        request, number = motion.request(takes_over, scene.q, scene.v, 0.0)
        added = motion.options.point_efforts == "added"
        job = Job(self._ticket, request, largest, takes_over, goal is not None, decode, added)
        self._plan = _Plan(job, motion, takes_over, number, len(raw), goal, _from_a_hold(motion, request))
        self._planner.ask(job, raw)

    def poll(self, scene: Scene) -> None:
        """Let a plan take over that is ready. Between two cycles, while `planning`."""
        plan, planner = self._plan, self._planner
        if plan is None or planner is None or planner.answer is None:
            return
        answer, planner.answer = planner.answer, None
        if answer.ticket != plan.job.ticket:
            return
        if plan.motion is not scene.motion:
            self._plan = None
            self._refuse_plan(plan, "the robot has changed", "ended")
            return
        self._plan = None
        trajectory, goal = answer.trajectory, plan.goal
        if trajectory is None:
            self._refuse_plan(plan, answer.problem, answer.outcome)
            return
        if goal is not None:
            try:
                options = answer.wishes.options(scene.motion.options, scene.motion.joints)
            except TrajectoryError as error:
                self._refuse_plan(plan, str(error))
                return
            goal.tolerances = MotionTolerances(scene.motion.joints, scene.motion.continuous, options)
            goal.points = answer.points
        takes_over, start = plan.takes_over, answer.stamp or plan.takes_over
        if not answer.stamp and plan.at_any_time and scene.motion.mode == "hold":
            takes_over = start = scene.now + 1
        if scene.motion.follow_from(
            takes_over, trajectory, start, plan.number, scene.q, goal=goal, efforts=answer.efforts
        ):
            use = ADDED if answer.efforts is not None else UNUSED if answer.efforts_given else ""
            self._say(f"trajectory of {len(trajectory.times) - 1} points, {trajectory.end:.3f} s{use}")
        elif plan.attempts >= ATTEMPTS or plan.number != scene.motion.number:
            self._refuse_plan(plan, "the motion changed while it was being planned")
        else:
            self._again(plan, answer, scene)

    def _refuse_plan(self, plan: _Plan, why: str, outcome: Outcome = "refused") -> None:
        self._refuse(why)
        if plan.goal is not None:
            plan.goal.end(outcome, why)

    def _again(self, plan: _Plan, answer: Answer, scene: Scene) -> None:
        """It came too late, or the robot has moved: plan from farther ahead, the message is there already."""
        assert self._planner is not None
        lead = max(2.0 * answer.took, LEAD[0] * 2.0**plan.attempts)
        takes_over = scene.now + round(lead * SECOND)
        late, latest = 1e-9 * (takes_over - answer.stamp), min(plan.latest, answer.latest)
        if answer.stamp and late > latest:
            why = f"it would begin {late:.3g} s after its start, more than {latest:.3g} s, and hurry to its next point"
            self._refuse_plan(plan, f"{why}: planning took too long, is the machine busy?")
            return
        request, number = scene.motion.request(takes_over, scene.q, scene.v, 0.0)
        self._ticket += 1
        job = replace(plan.job, ticket=self._ticket, request=request, takes_over=takes_over)
        self._plan = replace(
            plan, job=job, takes_over=takes_over, number=number, attempts=plan.attempts + 1, latest=latest,
            at_any_time=_from_a_hold(scene.motion, request),
        )  # fmt: skip
        self._planner.ask(job, b"")


def _from_a_hold(motion: DesiredMotion, request: PlanRequest) -> bool:
    """Also from that at the end of a trajectory; not from a trajectory that will have ended before it is planned."""
    return motion.mode == "hold" or not request.present[1:].any()


def most_bytes(joints: int, largest: int) -> int:
    """Most bytes of a message with so many points of so many joints."""
    return HEAD + (SMALL[1] + 8) * joints + largest * (32 + 4 * 8 * joints)


def _is_set_point(waypoints: Waypoints, stamp: int, now: int, timeout: float) -> bool:
    """A single point that is due now. Raises TrajectoryError for one that was due long ago."""
    if len(waypoints.times) > 1 or waypoints.times[0] > 0.0:
        return False
    wait = 1e-9 * (stamp - now) if stamp else 0.0
    if timeout and wait < -timeout:
        raise TrajectoryError(f"the set-point was due {-wait:.3g} s ago, more than setpoint_timeout ({timeout:g} s)")
    if wait > NOW and np.isnan(waypoints.positions).any():
        raise TrajectoryError(f"a set-point without positions is due {wait:.3g} s from now")
    return wait <= NOW
