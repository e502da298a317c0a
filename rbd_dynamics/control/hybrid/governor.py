# SPDX-License-Identifier: Apache-2.0
"""What is wanted of a task, as far and as fast as the arm can, wherever the task frame is put meanwhile."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.hybrid.controller import HybridController
from rbd_dynamics.control.hybrid.law import HybridOutput
from rbd_dynamics.control.hybrid.placement import Placement, PlacementPath
from rbd_dynamics.control.hybrid.reachable import ReachableTask, TaskStep
from rbd_dynamics.control.hybrid.task import turns
from rbd_dynamics.control.motion.desired_motion import DesiredMotion

Array = NDArray[np.float64]
STALLED = 0.05  # pace: a target is not reached where the arm is slower than this for
STALL_TIME = 1.0  # s
FAR = 0.05  # m: a hold that is farther away is where the tool was pushed to
USUAL_SPEEDS = 0.25, 0.5  # m/s, rad/s: of a frame on its way, where nothing bounds the task
LEAST_LEVER = 0.1  # m
LETS_GO = 0.5  # s, in which the pull to a place fades that is not held any more
SLOWS_DOWN = 0.05  # s, likewise the speed


@dataclass(frozen=True)
class PlacementLimits:
    """How fast a task frame may be moved.

    velocity, acceleration (k): of the task rows, infinite where there is no limit. force: N, that is pressed with now.
    force_rate: N/s, at which it may change, also by being turned.
    """

    _: KW_ONLY
    velocity: Array
    acceleration: Array
    force: float = 0.0
    force_rate: float = np.inf


class TaskGovernor:
    """Follows a wanted motion of the task rows of a controller.

    Parameters:
        controller: of a robot whose joints have one degree of freedom each.
        motion: the wanted motion.

    Attributes:
        posture (nv): where joints are drawn to, as far as they are free.
        reachable: a joint motion that goes ahead of the arm; None where rows have no value that could be followed.
    """

    def __init__(self, controller: HybridController, motion: DesiredMotion) -> None:
        self.controller, self.motion = controller, motion
        rows, model = controller.rows, controller.robot.model
        followed = bool(rows.holonomic.all()) and all(joint.kind.nq == joint.kind.nv == 1 for joint in model.joints)
        self.reachable = ReachableTask(controller.robot, rows, controller.m) if followed else None
        self.posture = np.zeros(model.nv)
        self._turns = np.array(turns(controller.task.row_names))
        self._target = np.zeros(len(self._turns))  # that is followed: the motion's, which it does not run away from
        self._wanted = self._target  # by the motion, at the last step
        self._path: PlacementPath | None = None
        self._stalled = 0.0
        self._pull = np.zeros(len(self._turns))  # to where the task was held before
        self._pulls = 0.0  # share of it that is left
        self._pull_rate = self._rate = np.zeros(len(self._turns))  # of its motion, and at the last step

    # --- the wanted motion ------------------------------------------------------------------------

    def begin(self, q: Array, theta: Array, posture: Array | None = None) -> None:
        """The task begins at q (nv), where its rows are theta (k). posture (nv): by default as it was."""
        if posture is not None:
            self.posture[:] = posture
        self._stalled = self._pulls = 0.0
        self._rate = np.zeros(len(self._turns))
        self._target, self._wanted = theta.copy(), theta.copy()
        if self.reachable is not None:
            self.reachable.reset(q, theta)

    def follow(self, now: int, q: Array, out: HybridOutput, dt: float) -> TaskStep:
        """What the task rows are wanted to be at the time `now` (ns), after what the last step found at q (nv)."""
        motion, reach = self.motion, self.reachable
        number = motion.number
        motion.update(now, out.theta, out.rate)
        theta, rate, acceleration = motion.state()
        if reach is None:
            return TaskStep(theta, rate, acceleration)
        if motion.number != number and motion.problem and reach.pace < STALLED:  # it was left behind
            motion.problem += f": {reach.obstacle()}"
        if motion.mode == "hold" and _largest(theta - reach.theta) > FAR > _largest(theta - out.theta):
            pull, rate = reach.theta - theta, self._rate.copy()
            self.begin(q, theta)  # it is held where it was pushed to
            # what leans on a wall by that pull would spring off it if it were gone at once
            self._pull, self._pull_rate, self._pulls = pull, rate, 1.0
        reach.rows = self.controller.rows
        pace = reach.pace
        # what the motion goes on by is a speed to be followed, but not what it was ahead, nor where it ends elsewhere
        moved = pace * (theta - self._wanted) if motion.mode != "hold" else np.zeros(len(theta))
        self._wanted = theta.copy()
        if pace == 1.0 or reach.away(theta) <= reach.away(self._target):  # it comes back to the tool
            self._target = theta.copy()
        else:
            self._target = self._target + pace * (theta - self._target)
        step = reach.follow(self._target, out.h, dt, self.posture, moved=moved)
        self._stalled = self._stalled + dt if reach.pace < STALLED else 0.0
        if self._pulls > 0.0:
            self._pull += dt * self._pull_rate
            step = step._replace(theta=step.theta + self._pulls * self._pull, rate=step.rate + self._pull_rate)
            self._pull_rate *= 1.0 - min(1.0, dt / SLOWS_DOWN)
            self._pulls -= dt / LETS_GO
        self._rate = step.rate
        return step

    @property
    def problem(self) -> str:
        """Why the task does not get to where it is wanted; empty if it does, or may yet."""
        if self._stalled < STALL_TIME or self.reachable is None:
            return ""
        return f"the tool does not reach its target: {self.reachable.obstacle()}; it is held where it is"

    def give_up(self, theta: Array) -> None:
        """Hold at theta (k), and say why."""
        self.motion.end(theta, self.problem)
        self._stalled = 0.0

    @property
    def wanted_posture(self) -> Array:
        """(nv), for what constraints and task leave free."""
        return self.posture if self.reachable is None else self.reachable.q

    # --- where the task frame is ------------------------------------------------------------------

    @property
    def moving(self) -> bool:
        """The task frame is on its way."""
        return self._path is not None

    def way(self, goal: Placement) -> tuple[float, float]:
        """How far (m) tool and task frame would be moved, and turned (rad)."""
        return self._now(goal).way(goal, 0.0)

    def place(self, goal: Placement, limits: PlacementLimits | None = None) -> None:
        """Tool, task frame and surface are to be elsewhere: at once, or on a way within limits, from rest to rest."""
        if limits is None:
            self._path = None
            self._put(goal)
            return
        start = self._now(goal)
        lever = LEAST_LEVER
        if self.reachable is not None:
            lever = max(lever, float(np.linalg.norm(self.reachable.theta[~self._turns])))
        seconds = 0.0
        for way, rows, usual in zip(start.way(goal, lever), (~self._turns, self._turns), USUAL_SPEEDS):
            speed = min([usual, *limits.velocity[rows]])
            if limits.force and rows is self._turns:
                speed = min(speed, limits.force_rate / limits.force)
            acceleration = min([speed / PlacementPath.RAMP, *limits.acceleration[rows]])
            seconds = max(seconds, PlacementPath.least_time(way, speed, acceleration))
        self._path = PlacementPath(start, goal, seconds)

    def advance(self, dt: float) -> None:
        """Move the task frame on its way, if it has one, by dt seconds, or less where the arm cannot follow."""
        path = self._path
        if path is None:
            return
        self._put(path.after(dt if self.reachable is None else dt * self.reachable.pace))
        if path.over:
            self._path = None

    def _now(self, goal: Placement) -> Placement:
        return Placement.at(self.controller.task, goal, self.controller.constraints)

    def _put(self, placement: Placement) -> None:
        self.controller.renumber(placement.put)


def _largest(numbers: Array) -> float:
    """The largest size of few numbers, in a third of the time that arrays take."""
    return max(map(abs, numbers.tolist()))
