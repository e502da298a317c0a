# SPDX-License-Identifier: Apache-2.0
"""The verdict on cartesian_controller: exact while it holds the tool, by bounds while the tool is on its way.

The law is written anew with Pinocchio's numbers and dense algebra (theory.md section 13): spring and damper of the
tool, the null space by the inverse of J M^-1 J^T. What the tool does after a wish (pose, twist, trajectory, wrench,
posture) is bounded until it has arrived; then the wish is held, exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from benchmarks.faults.judge import Change, Judge, Settings, Situation
from benchmarks.faults.robot import Motion, Oracle, oracle

Array = NDArray[np.float64]

LARGEST_FORCE, LARGEST_MOMENT = 40.0, 10.0  # N, N m: parameters of the campaign
LARGEST_MASS, LARGEST_INERTIA = 200.0, 20.0  # kg, kg m^2: the node's defaults
#: N m beyond gravity on the way: the largest force and moment, the damper and the model of a slow motion
MOST_BEYOND_GRAVITY = 60.0
ARRIVES = 8.0  # s after a wish, at most
NEAREST = 10  # states whose tool is nearest to where it is held by an effort
LOOKED_FOR = 25  # on the way: one of so many efforts is asked whether anything else explains it


@dataclass(frozen=True, eq=False)
class Wish:
    """What is wanted from now on; None: as before. pose: (R, p); wrench: (m, f) in root axes."""

    pose: tuple[Array, Array] | None = None
    wrench: Array | None = None
    posture: Array | None = None


@dataclass(frozen=True, eq=False)
class Held:
    """A tool that stands where it is wanted."""

    R: Array
    p: Array
    posture: Array
    wrench: Array
    wish: Wish | None = None  # that was carried out last

    def after(self, wish: Wish) -> Held:
        R, p = (self.R, self.p) if wish.pose is None else wish.pose
        return Held(
            R, p, self.posture if wish.posture is None else wish.posture,
            self.wrench if wish.wrench is None else wish.wrench, wish,
        )  # fmt: skip


@dataclass(frozen=True)
class ToolSettings(Settings):
    """Parameters that count, of the law `impedance` with springs that become stiffer at once."""

    stiffness: tuple[float, ...] = (500.0,)
    rotational_stiffness: tuple[float, ...] = (30.0,)  # of one number
    damping_ratio: float = 1.0
    posture_kp: float = 25.0
    posture_kd: float = 10.0
    damped_for: tuple[float, ...] = ()  # springs that the dampers are of; empty: those that there are

    def torque(self, model: Oracle, q: Array, v: Array, desired: Any, stamp: int) -> tuple[Array, float]:
        """Without limits, and the size of its terms."""
        held: Held = desired
        tool = Tool(model, q, v)
        way = np.concatenate([_turn(held.R @ tool.R.T), held.p - tool.p])
        pull = _within(self.springs * way + held.wrench) - self.dampers(tool) * tool.twist
        a = self.posture_kp * (held.posture - q) - self.posture_kd * v
        parts = [model.gravity(q) if "gravity" in self.terms else np.zeros(7), tool.J.T @ pull, tool.left_over(a)]
        return np.sum(parts, axis=0), max(1.0, *(float(np.abs(part).max()) for part in parts))

    @property
    def springs(self) -> Array:
        return np.concatenate([np.resize(self.rotational_stiffness, 3), np.resize(self.stiffness, 3)])

    def dampers(self, tool: Tool) -> Array:
        least = np.repeat([1.0 / LARGEST_INERTIA, 1.0 / LARGEST_MASS], 3)
        springs = np.array(self.damped_for) if self.damped_for else self.springs
        return 2.0 * self.damping_ratio * np.sqrt(springs / (np.diag(tool.mobility) + least))


class Tool:
    """At a state: where it is, its Jacobian (6, 7) in root axes, the angular part first, and what resists it."""

    def __init__(self, model: Oracle, q: Array, v: Array) -> None:
        self.R, self.p = model.tool(q).rotation.copy(), model.tool(q).translation.copy()
        self.J, self.M = model.jacobian(q), model.mass_matrix(q)
        self.twist = self.J @ v
        self.inverse = np.linalg.solve(self.M, self.J.T)  # M^-1 J^T
        self.mobility = self.J @ self.inverse

    def left_over(self, a: Array) -> Array:
        """Torque of an acceleration without what of it moves the tool."""
        return np.asarray(self.M @ (a - self.inverse @ np.linalg.solve(self.mobility, self.J @ a)))

    def wrench_of(self, tau: Array) -> Array:
        """(m, f) that accelerates the tool as a torque does."""
        return np.linalg.solve(self.mobility, self.inverse.T @ tau)


class CartesianJudge(Judge):
    """See the module. Settings and wishes are those of this node; "moves": it may be on its way from now on."""

    NEW_ROBOT_HOLDS = True

    def __init__(self, motion: Motion, ring: Any, tell: Callable[[dict[str, Any]], None]) -> None:
        super().__init__(motion, ring, tell)
        self.now = self._start = Situation(settings=ToolSettings())
        self._arrives, self._tried = 0.0, 0

    def event(self, time: float, kind: str, value: Any) -> None:
        if kind == "moves":
            self._arrives = max(time + ARRIVES + float(value), self._arrives)
            self._unsettled = max(self._arrives, self._unsettled)
        super().event(time, kind, value)
        if kind == "desired":
            self.event(time, "moves", 0.0)

    def explained(self, stamp: int, tau: Array, time: float) -> bool:
        if time >= self._arrives:
            return super().explained(stamp, tau, time) or self._becomes_stiffer(stamp, tau)
        self._tried += 1
        if self._tried % LOOKED_FOR == 0 and super().explained(stamp, tau, time):
            return True
        q, v = self.motion.state(stamp)
        for desired in self._desired(stamp, time):
            situation = replace(self.now, desired=desired)
            if self._fits(situation, stamp, q, v, tau):
                self._now_is(situation)
                self.counts.exact += 1
                return True
        for robot, payload, _ in self._combinations():
            if (np.abs(tau - oracle(robot, payload).gravity(q)) <= MOST_BEYOND_GRAVITY).all():
                self.counts.bounds += 1
                return True
        return False

    def _becomes_stiffer(self, stamp: int, tau: Array) -> bool:
        """Whether this is the first state with other springs, at which the dampers are those of the springs before."""
        assert isinstance(self.now.settings, ToolSettings)
        q, v = self.motion.state(stamp)
        for robot, payload, settings in self._combinations() if self.now.desired is not None else ():
            mixed = replace(settings, damped_for=tuple(self.now.settings.springs))  # type: ignore[call-arg]
            if self._fits(replace(self.now, robot=robot, payload=payload, settings=mixed), stamp, q, v, tau):
                self.counts.exact += 1
                return True
        return False

    def _desired(self, stamp: int, time: float) -> Iterator[Any]:
        """What is held, and that after the wishes that were sent: all of them, or some one of them."""
        held: Any = self.now.desired
        if held is None:
            return
        yield held
        wishes = [change.value for change in self._sent if change.part == "desired"]
        together = held
        for wish in wishes:
            together = together.after(wish)
            yield together
        for wish in wishes[1:]:
            yield held.after(wish)

    def _anchored(self, stamp: int, q: Array, v: Array, tau: Array, time: float) -> Iterator[Situation]:
        """A tool that is held where it was at one of the latest states, with the posture of it or that of before."""
        stamps = np.unique([*self._latest(stamp, 2000), stamp, *self._answered, *self._others])
        q_k = self.motion.positions(stamps)
        bases = [replace(self.now, robot=r, payload=p, settings=s) for r, p, s in self._combinations()]
        if any(change.part == "anew" for change in self._changes):
            bases += [replace(self._start, robot=robot) for robot in self._robots]
        before: Any = self.now.desired
        for base in bases:
            settings, model = base.settings, oracle(base.robot, base.payload)
            assert isinstance(settings, ToolSettings)
            tool = Tool(model, q, v)
            beyond = tau - model.gravity(q) * ("gravity" in settings.terms)
            pull = tool.wrench_of(beyond) + settings.dampers(tool) * tool.twist
            wrenches = [np.zeros(6)] if before is None else [np.zeros(6), before.wrench]
            for wrench in {each.tobytes(): each for each in wrenches}.values():
                place = tool.p + (pull - wrench)[3:] / settings.springs[3:]
                away = np.linalg.norm(tool.p + (q_k - q) @ tool.J[3:].T - place, axis=1)
                for k in np.argsort(away)[:NEAREST]:
                    pose = model.tool(q_k[k])
                    postures = [q_k[k]] if before is None else [q_k[k], before.posture]
                    for posture in postures:
                        held = Held(pose.rotation.copy(), pose.translation.copy(), posture, wrench)
                        situation = replace(base, desired=held)  # type: ignore[arg-type]
                        if self._fits(situation, stamp, q, v, tau):
                            yield situation

    @staticmethod
    def _has_come(change: Change, old: Situation, new: Situation) -> bool:
        if change.part == "desired":
            return isinstance(new.desired, Held) and new.desired.wish is change.value
        return Judge._has_come(change, old, new)


def _turn(R: Array) -> Array:
    return np.asarray(Rotation.from_matrix(R).as_rotvec())


def _within(wrench: Array) -> Array:
    """Shortened where moment or force is larger than the largest."""
    parts = (wrench[:3], LARGEST_MOMENT), (wrench[3:], LARGEST_FORCE)
    return np.concatenate([part * min(1.0, most / max(float(np.linalg.norm(part)), 1e-12)) for part, most in parts])
