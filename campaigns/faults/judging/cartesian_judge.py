# SPDX-License-Identifier: Apache-2.0
"""The verdict on cartesian_controller: exact while it holds the tool, by bounds while the tool is on its way.

The law is written anew with Pinocchio's numbers and dense algebra (theory.md section 13): spring and damper of the
tool, the null space by the inverse of J M^-1 J^T, what keeps joints from going too fast (`braking`). What the tool does
after a wish (pose, twist, trajectory, wrench, posture) is bounded until it has arrived; then the wish is held, exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, islice, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from campaigns.faults.judging.braking import FORGOTTEN, LONGEST, History, Known, Robot
from campaigns.faults.judging.judge import GAP, SEARCHED, TOLERANCE, UNSETTLED, Judge
from campaigns.faults.judging.situation import LATEST, Change, Settings, Situation
from campaigns.faults.robot import SPEEDS, Motion, Oracle, oracle

Array = NDArray[np.float64]

LARGEST_FORCE, LARGEST_MOMENT = 40.0, 10.0  # N, N m: parameters of the campaign
LARGEST_MASS, LARGEST_INERTIA = 100.0, 5.0  # kg, kg m^2: the node's defaults
LARGEST_ENERGY = 50.0  # J: a parameter of the campaign
#: of the wanted motion, for the angular and for the linear part: rad/s and m/s, and per s; parameters of the campaign
LARGEST_SPEEDS = np.repeat([1.0, 0.25], 3)
LARGEST_ACCELERATIONS = np.repeat([5.0, 2.0], 3)
AWAY = 0.1  # rad by which the posture that acts is off at most
MARGIN = 2.0  # N m, of the way: Coriolis terms of a slow motion
ARRIVES = 8.0  # s after a wish, at most
NEAR, NEAREST = 40, 5  # states whose tool is nearest to where an effort pulls it: by the Jacobian, and of these
NEARLY = 1e-6  # N m by which what may be held is off at most, before it is looked at to the last digit
LOOKED_FOR = 0.2  # s: on the way, so often is asked whether anything else explains an effort
RESTED = 0.05  # s: and so often, whether it is over
CREPT = 1e-6  # N m, of a posture that comes to rest more slowly than the tool: between two looks at it
CREEPS = 0.02  # rad/s: a posture that comes to rest, at most
LIKELIEST = 3  # wishes that may have been carried out
UNSEEN = 20  # states without an answer, at one of which a hold with softer gains may have begun
NEWTON = 8  # steps
MOST_BASES = 24  # robots, loads and settings for which a hold is looked for
MOST_HISTORIES = 4  # of engines that may be the present one
READ = 0.3  # s: what a node has learnt from states before counts no more
BRAKED, BRAKE = 2, 0.25  # joints that may be braked in a way that is not known, and of their effort limits how much


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
    creeps: bool = False  # its posture was told by an effort, and comes to rest by and by

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
    joint_velocity_limits: tuple[float, ...] = ()
    largest_energy: float = LARGEST_ENERGY
    damped_for: tuple[float, ...] = ()  # springs that the dampers are of; empty: those that there are

    def torque(self, model: Oracle, q: Array, v: Array, desired: Any, stamp: int) -> tuple[Array, float]:
        """Without limits and braking, and the size of its terms."""
        held: Held = desired
        tool = tool_at(model, q, v, stamp)
        pull = self.pull(tool, held.R, held.p, held.wrench) - self.share * self.dampers(tool) @ tool.twist
        a = self.share**2 * self.posture_kp * (held.posture - q) - self.share * self.posture_kd * v
        parts = [self.weight(model, q), tool.J.T @ pull, tool.left_over(a)]
        least = CREPT / TOLERANCE if held.creeps else 1.0
        return np.sum(parts, axis=0), max(least, *(float(np.abs(part).max()) for part in parts))

    def on_the_way(self, model: Oracle, q: Array, v: Array, stamp: int) -> tuple[Array, Array]:
        """Bounds of the torque without limits while the tool is wanted anywhere, and moves as fast as it may.

        Weight and what damps the robot's own motion are known; the rest is bounded for each joint: the spring by the
        largest force and moment, what damps the wanted motion, what accelerates it, and the pull of the posture.
        """
        tool = tool_at(model, q, v, stamp)
        damping, effective = self.dampers(tool), np.linalg.inv(tool.mobility)
        known = self.weight(model, q) - tool.J.T @ damping @ tool.twist - tool.left_over(self.posture_kd * v)
        moment, force = (np.linalg.norm(part, axis=0) for part in (tool.J[:3], tool.J[3:]))
        free = tool.left_over(np.eye(len(q)))
        room = moment * LARGEST_MOMENT + force * LARGEST_FORCE + MARGIN
        room = room + np.abs(tool.J.T @ damping) @ LARGEST_SPEEDS
        room = room + np.abs(tool.J.T @ effective) @ LARGEST_ACCELERATIONS
        room = room + np.abs(free) @ np.full(len(q), self.posture_kp * AWAY + self.posture_kd * AWAY)
        return known - room, known + room

    def robot(self, model: Oracle, q: Array, v: Array, stamp: int) -> Robot:
        """What is braked, at this state."""
        speeds = np.broadcast_to(np.array(self.joint_velocity_limits), 7) if self.joint_velocity_limits else SPEEDS
        M = tool_at(model, q, v, stamp).M
        return Robot(M, v, self.weight(model, q), speeds, self.largest_energy, self.limits)

    def weight(self, model: Oracle, q: Array) -> Array:
        return model.gravity(q) if "gravity" in self.terms else np.zeros(7)

    def pull(self, tool: Tool, R: Array, p: Array, wrench: Array) -> Array:
        """(m, f) of the spring towards a pose, and a wrench besides."""
        return _within(self.share**2 * self.springs * np.concatenate([_turn(R @ tool.R.T), p - tool.p]) + wrench)

    @property
    def springs(self) -> Array:
        return np.concatenate([np.resize(self.rotational_stiffness, 3), np.resize(self.stiffness, 3)])

    def dampers(self, tool: Tool) -> Array:
        """(6, 6): twice the ratio times the geometric mean of stiffness and inertia, by eigenvectors of both."""
        least = np.repeat([1.0 / LARGEST_INERTIA, 1.0 / LARGEST_MASS], 3)
        root = np.sqrt(np.array(self.damped_for) if self.damped_for else self.springs)
        # K^(1/2) (K^(1/2) Y K^(1/2))^(-1/2) K^(1/2), Y the mobility
        values, axes = np.linalg.eigh(root[:, None] * (tool.mobility + np.diag(least)) * root)
        back = root[:, None] * axes
        return np.asarray(2.0 * self.damping_ratio * back / np.sqrt(values) @ back.T)


class Tool:
    """At a state: where it is, its Jacobian (6, 7) in root axes, the angular part first, and what resists it."""

    def __init__(self, model: Oracle, q: Array, v: Array) -> None:
        self.R, self.p = _pose(model, q)
        self.J, self.M = model.jacobian(q), model.mass_matrix(q)
        self.twist = self.J @ v
        self.inverse = np.linalg.solve(self.M, self.J.T)  # M^-1 J^T
        self.mobility = self.J @ self.inverse

    def left_over(self, a: Array) -> Array:
        """Torque of an acceleration (7) or several (7, N), without what of it moves the tool."""
        return np.asarray(self.M @ (a - self.inverse @ np.linalg.solve(self.mobility, self.J @ a)))

    def wrench_of(self, tau: Array) -> Array:
        """(m, f) that accelerates the tool as a torque does."""
        return np.asarray(np.linalg.solve(self.mobility, self.inverse.T @ tau))


def tool_at(model: Oracle, q: Array, v: Array, stamp: int) -> Tool:
    """Of the state at a stamp; the last one is remembered with each model."""
    if model.remembered is None or model.remembered[0] != (stamp, q[0], v[0]):
        model.remembered = (stamp, q[0], v[0]), Tool(model, q, v)
    found: Tool = model.remembered[1]
    return found


class CartesianJudge(Judge):
    """See the module. Settings and wishes are those of this node; "moves": it may be on its way from now on."""

    NEW_ROBOT_HOLDS = True

    def __init__(self, motion: Motion, ring: Any, tell: Callable[[dict[str, Any]], None]) -> None:
        super().__init__(motion, ring, tell)
        self.now = self._start = Situation(settings=ToolSettings())
        self._arrives, self._tried, self._looked, self._crept_at = 0.0, 0.0, 0.0, 0.0
        self._tried_holds: tuple[tuple[int, bytes], list[tuple[Situation, Held]]] = (0, b""), []  # of an effort: all
        self._ways: list[Change] = []  # that may begin now; how long they last, s
        self._unseen = 0  # stamp of the first answer after states that may have been read without one
        self._rests = True  # the last effort was explained to the last digit
        self._histories = [History()]  # of engines that may be the present one, the likeliest first
        self._law: tuple[Robot, Array] | None = None  # that explained the last effort, and its torque within limits

    def event(self, time: float, kind: str, value: Any) -> None:
        if kind == "moves":
            self._ways.append(Change("points" if value else "desired", float(value), time, self.counts.published))
            self._is_moving_until(time + ARRIVES + value)
        super().event(time, kind, value)
        if kind == "desired":
            self.event(time, "moves", 0.0)

    def explained(self, stamp: int, tau: Array, time: float) -> bool:
        exact, bounds = self.counts.exact, self.counts.bounds
        before, self._law = self.now, None
        good = self._explained(stamp, tau, time)
        self._remember(stamp, tau, before)
        self._ways = [way for way in self._ways if self._may_come(way, time)]
        if self.counts.bounds > bounds and self._rests and self._ways:  # a wish may have waited long
            lasts = sorted(self._ways, key=lambda way: float(way.value))
            self._is_moving_until(time + ARRIVES + lasts[-1].value)
            self._ways.remove(lasts[0])  # which one it is, is not known
        self._rests = self.counts.exact > exact
        return good

    def _meets(
        self, expected: Array, scale: float, situation: Situation, stamp: int, v: Array, tau: Array
    ) -> bool | None:
        settings: Any = situation.settings
        model = oracle(situation.robot, situation.payload)
        robot = settings.robot(model, self.motion.state(stamp)[0], v, stamp)
        for history, known in self._known(stamp, v, situation):
            limited, haste = robot.shortened(robot.braked(expected, known)), robot.in_haste(known)
            cut = self._follows(limited, scale, stamp, settings, tau, haste=haste)
            if cut is not None:
                self._law = robot, limited
                self._histories = [history, *(other for other in self._histories if other is not history)]
                return cut
        return None

    def _known(self, stamp: int, v: Array, situation: Situation | None = None) -> Iterator[tuple[History, Known]]:
        """What the node may know of before, the likeliest first, and whose answers those were.

        situation: in which it may have read states whose answers nobody saw; None: that is not tried.
        """
        for history in [*self._histories, History(stamp)]:  # an engine of now, too
            yield history, history.at(stamp, v)
        for history in self._histories:
            if (known := history.unseen(stamp, v)) is not None:
                yield history, known
        if situation is not None and (history := self._having_read(stamp, situation)) is not None:
            yield history, history.at(stamp, v)

    def _having_read(self, stamp: int, situation: Situation) -> History | None:
        """The likeliest history, as it is of a node that has read all states since its last answer, if that is long ago
        and it has gone on as it was before."""
        last = self._histories[0].last
        if situation is not self.now or not last or 1e-9 * (stamp - last) <= LONGEST:
            return None
        history, settings = self._histories[0].copy(), situation.settings
        assert isinstance(settings, ToolSettings)
        model, between = oracle(situation.robot, situation.payload), self._latest(stamp - 1, SEARCHED)
        for at in between[between > max(last, stamp - READ * 1e9)].tolist():
            q, v = self.motion.state(at)
            robot, known = settings.robot(model, q, v, at), history.at(at, v)
            tau = settings.torque(model, q, v, situation.desired, at)[0]
            history.take(at, v, robot.accelerations(robot.shortened(robot.braked(tau, known))))
        history.born = stamp
        return history

    def _remember(self, stamp: int, tau: Array, before: Situation) -> None:
        """What the node knows of this effort at the next one."""
        q, v = self.motion.state(stamp)
        now: Any = self.now
        if now.robot != before.robot or (
            now.desired is not before.desired and now.desired is not None and now.desired.wish is None
        ):
            self._histories.append(History(stamp))  # perhaps of another engine
        if self._law is None:
            self._law = now.settings.robot(oracle(now.robot, now.payload), q, v, stamp), tau
        robot, limited = self._law
        if (read := self._having_read(stamp, self.now)) is not None:
            self._histories.insert(1, read)
        late = stamp - FORGOTTEN * 1e9
        self._histories = [h for k, h in enumerate(self._histories[:MOST_HISTORIES]) if k == 0 or h.born > late]
        for history in self._histories:
            history.take(stamp, v, robot.accelerations(limited))

    def _is_moving_until(self, time: float) -> None:
        self._arrives = max(time, self._arrives)
        self._unsettled = max(self._arrives + UNSETTLED, self._unsettled)

    def _explained(self, stamp: int, tau: Array, time: float) -> bool:
        silent = 1e-9 * (stamp - self._answered[-1]) if self._answered else 0.0
        if silent > GAP and time - silent < self._arrives:  # who gets no processor gets no wishes meanwhile
            self._is_moving_until(self._arrives + silent)
        if silent > GAP:
            self._unseen = stamp
        if self._crept(stamp, tau, time):
            return True
        asked = abs(time - self._tried) > LOOKED_FOR or silent > GAP  # in which a hold may have begun
        if time >= self._arrives:
            waits = self._tells_little(stamp, tau, time)
            if asked or not waits:
                self._tried = time
                if super().explained(stamp, tau, time):
                    return True
            elif self._as_before(stamp, tau):
                return True
            return (
                self._rests_elsewhere(stamp, tau, time)
                or self._becomes_stiffer(stamp, tau)
                or self._but_for_brakes(stamp, tau)
                or (waits and self._is_within_bounds(stamp, tau))
                or (waits and not asked and super().explained(stamp, tau, time))  # a hold may begin with a cut
            )
        if asked and not self._tells_little(stamp, tau, time):
            self._tried = time
            if super().explained(stamp, tau, time):
                return True
        q, v = self.motion.state(stamp)
        for desired in islice(self._desired(stamp, time), LIKELIEST):
            situation = replace(self.now, desired=desired)
            if self._fits(situation, stamp, q, v, tau):
                self._now_is(situation)
                self.counts.exact += 1
                return True
        if self._rests_elsewhere(stamp, tau, time):
            return True
        return self._is_within_bounds(stamp, tau) or (not asked and super().explained(stamp, tau, time))

    def _as_before(self, stamp: int, tau: Array) -> bool:
        if self.now.desired is None or not self._fits(self.now, stamp, *self.motion.state(stamp), tau):
            return False
        self.counts.exact += 1
        return True

    def _crept(self, stamp: int, tau: Array, time: float) -> bool:
        """Whether the posture that came to rest has gone on a little."""
        if self.now.desired is None or not self.now.desired.creeps or abs(time - self._crept_at) < RESTED:  # type: ignore[attr-defined]
            return False
        self._crept_at = time
        if (rests := self._resting(self.now, stamp, tau)) is None:
            return False
        self._now_is(rests)
        self.counts.exact += 1
        return True

    def _is_within_bounds(self, stamp: int, tau: Array) -> bool:
        for robot, payload, settings in self._combinations():
            assert isinstance(settings, ToolSettings)
            if self._may_be_on_the_way(oracle(robot, payload), settings, stamp, tau):
                if any(self._is_cut(stamp, tau, other) for _, _, other in self._combinations()):  # limits may be others
                    self.softer.is_cut(stamp)
                self.counts.bounds += 1
                return True
        return False

    def _tells_little(self, stamp: int, tau: Array, time: float) -> bool:
        """Efforts change as fast as they may, or have of late, or are braked at the end of a way: what is held from now
        on is not told from one of them."""
        if time < self._unsettled and self.softer.may_be_softer(stamp):
            return True
        q, v = self.motion.state(stamp)
        for name, payload, settings in self._combinations():
            assert isinstance(settings, ToolSettings)
            if time < self._unsettled and self._is_cut(stamp, tau, settings):
                return True
            robot = settings.robot(oracle(name, payload), q, v, stamp)
            if time < self._arrives + UNSETTLED and not robot.is_free(tau, self._histories[0].at(stamp, v)):
                return True
        return False

    def _is_cut(self, stamp: int, tau: Array, settings: Settings, *, haste: bool = False) -> bool:
        """Some joint's effort has changed as fast as it may."""
        if (reach := self._reach(stamp, settings, haste=haste)) is None:
            return False
        return bool((np.minimum(np.abs(tau - reach[0]), np.abs(tau - reach[1])) < NEARLY).any())

    def _may_be_on_the_way(self, model: Oracle, settings: ToolSettings, stamp: int, tau: Array) -> bool:
        q, v = self.motion.state(stamp)
        robot = settings.robot(model, q, v, stamp)
        least, most = settings.on_the_way(model, q, v, stamp)
        if self.softer.may_be_softer(stamp):  # down to the weight alone
            weight = settings.weight(model, q)
            room = 0.5 * (most - least)
            least, most = np.minimum(least, weight - room), np.maximum(most, weight + room)
        haste = robot.in_haste(self._histories[0].at(stamp, v))
        reach = self._reach(stamp, settings, haste=haste)
        cut = self._is_cut(stamp, tau, settings, haste=haste)
        if reach is not None and cut:  # changes that are shortened together: each joint was to go on
            up = tau > 0.5 * (reach[0] + reach[1])
            least, most = np.where(up, -np.inf, least), np.where(up, most, np.inf)
        good = any(
            robot.may_be(tau, least, most, history.at(stamp, v), np.full(7, MARGIN)) for history in self._histories
        )
        if good and cut:
            self.softer.is_cut(stamp)
        return good

    def _rests_elsewhere(self, stamp: int, tau: Array, time: float) -> bool:
        """Whether this is a wish that was carried out, with the posture in which the arm that follows it came to rest.

        That has the wanted pose; the one freedom that is left is told by the effort, where nothing brakes it.
        """
        if abs(time - self._looked) < RESTED:
            return self._creeps_on(stamp, tau)
        self._looked = time
        wanted = [each for each in islice(self._desired(stamp, time), LIKELIEST) if each.wish is not None]
        found = []
        for (robot, payload, settings), desired in product(self._combinations()[:MOST_BASES], wanted):
            situation = replace(self.now, robot=robot, payload=payload, settings=settings, desired=desired)
            if (rests := self._resting(situation, stamp, tau)) is not None:
                found.append(rests)
        if not found:
            return False
        self._now_is(min(found, key=self._off_before))  # one effort tells a posture, but not which gains draw there
        self.counts.exact += 1
        return True

    def _creeps_on(self, stamp: int, tau: Array) -> bool:
        """Whether the posture that comes to rest has gone on, by no more than it may between two states."""
        now: Any = self.now.desired
        if (
            now is None
            or not now.creeps
            or not self._answered
            or (rests := self._resting(self.now, stamp, tau)) is None
        ):
            return False
        gone: Any = rests.desired
        if np.abs(gone.posture - now.posture).max() > CREEPS * 1e-9 * (stamp - self._answered[-1]):
            return False
        self._now_is(rests)
        self.counts.exact += 1
        return True

    def _resting(self, situation: Situation, stamp: int, tau: Array) -> Situation | None:
        """With some posture that has the wanted pose, if this is so then."""
        q, v = self.motion.state(stamp)
        whole = _not_shortened(situation, stamp, q, v, tau)
        if not _pulls_there(situation, stamp, q, v, whole):
            return None
        held = replace(situation.desired, posture=_posture_of(situation, stamp, q, v, whole), creeps=True)  # type: ignore[type-var, call-arg]
        situation = replace(situation, desired=held)  # type: ignore[arg-type]
        return situation if self._fits(situation, stamp, q, v, tau) else None

    def _off_before(self, situation: Situation) -> float:
        """How far the last effort was from what it would have been, N m."""
        if self._before is None:
            return 0.0
        stamp, tau = self._before
        q, v = self.motion.state(stamp)
        settings, model = situation.settings, oracle(situation.robot, situation.payload)
        assert isinstance(settings, ToolSettings)
        law = settings.torque(model, q, v, situation.desired, stamp)[0]
        return float(np.abs(settings.robot(model, q, v, stamp).shortened(law) - tau).max())

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
        for first in range(len(wishes), 0, -1):  # some of the first, for the rest may come later
            yield reduce(Held.after, wishes[:first], held)
        for wish in wishes[1:]:
            yield held.after(wish)

    def _anchored(self, stamp: int, q: Array, v: Array, tau: Array, time: float) -> Iterator[Situation]:
        """A tool that is held where it was at one of the latest states or is wanted, with the posture of any of them.

        Where it may have been: the states whose tool is nearest to where the effort pulls it.
        """
        if self._tried_holds[0] == (effort := (stamp, tau.tobytes())):  # with other shares of the gains now
            candidates: Iterable[tuple[Situation, Held]] = self._tried_holds[1]
        else:
            candidates = self._holds(stamp, q, v, tau)
        candidates = chain(candidates, self._begun_with_a_cut(stamp))
        tried = []
        for base, held in candidates:
            tried.append((base, held))
            situation = replace(base, desired=held)  # type: ignore[arg-type]
            if self._fits(situation, stamp, q, v, tau):
                yield situation
        self._tried_holds = effort, tried
        yield from self._begun_anew(stamp, q, v, tau)

    def _begun_with_a_cut(self, stamp: int) -> Iterator[tuple[Situation, Held]]:
        """Holds at this state, or at one of the last whose answers nobody saw: their efforts may have been cut by their
        rate, and gains are softer from the first that is seen. Of those an effort does not tell where it pulls."""
        last = self._answered[-1] if self._answered else stamp
        seen = self._latest(stamp, UNSEEN)
        for robot, payload, settings in self._combinations()[:LIKELIEST]:
            base, model = replace(self.now, robot=robot, payload=payload, settings=settings), oracle(robot, payload)
            for at in seen[seen > last][::-1].tolist():
                q = self.motion.state(at)[0]
                yield base, Held(*_pose(model, q), q, np.zeros(6))

    def _but_for_brakes(self, stamp: int, tau: Array) -> bool:
        """Whether nearly all joints have the efforts of what is held, or of a hold at this very state, and the others
        are braked: how much depends on which states the node had read before."""
        if stamp - self._unseen > FORGOTTEN * 1e9:
            return False
        q, v = self.motion.state(stamp)
        for robot, payload, settings in self._combinations()[:LIKELIEST]:
            assert isinstance(settings, ToolSettings)
            model = oracle(robot, payload)
            limits = settings.robot(model, q, v, stamp).efforts
            here = Held(*_pose(model, q), q, np.zeros(6))
            for held in (self.now.desired, here) if stamp == self._unseen else (self.now.desired,):
                if held is None:
                    continue
                torque, scale = settings.torque(model, q, v, held, stamp)
                off = np.abs(tau - np.clip(torque, -limits, limits))
                braked = off > TOLERANCE * scale
                if braked.sum() <= BRAKED and (off[braked] <= BRAKE * limits[braked]).all():
                    self._now_is(replace(self.now, robot=robot, payload=payload, settings=settings, desired=held))  # type: ignore[arg-type]
                    self.counts.bounds += 1
                    return True
        return False

    def _begun_anew(self, stamp: int, q: Array, v: Array, tau: Array) -> Iterator[Situation]:
        """A hold at this very state, by a node that came too late with its answers to the last ones.

        It has read some of these, the latest, and begun a hold with each; what it has learnt of them brakes it now.
        """
        last, late = self._histories[0].last, self._latest(stamp - 1, SEARCHED)
        late = late[late > max(last, stamp - READ * 1e9)]
        if not last or not len(late):
            return
        for robot, payload, settings in self._combinations()[:LIKELIEST]:
            assert isinstance(settings, ToolSettings)
            base, model = replace(self.now, robot=robot, payload=payload, settings=settings), oracle(robot, payload)

            def begun(at: int, settings: ToolSettings = settings, model: Oracle = model) -> tuple[Held, Robot, Array]:
                """A hold at a state, what is braked there, and the torque of its law."""
                there, speed = self.motion.state(at)
                held = Held(*_pose(model, there), there, np.zeros(6))
                return held, settings.robot(model, there, speed, at), settings.torque(model, there, speed, held, at)[0]

            read = [(at, self.motion.state(at)[1], *begun(at)[1:]) for at in late.tolist()]
            held, braked, torque = begun(stamp)
            for first in range(len(read) - 1, -1, -1):
                history = self._histories[0].copy()
                for at, speed, arm, wanted in read[first:]:
                    efforts = arm.shortened(arm.braked(wanted, history.at(at, speed)))
                    history.take(at, speed, arm.accelerations(efforts))
                history.born = stamp
                if np.abs(braked.shortened(braked.braked(torque, history.at(stamp, v))) - tau).max() < NEARLY:
                    self._histories.insert(1, history)
                    situation = replace(base, desired=held)  # type: ignore[arg-type]
                    if self._fits(situation, stamp, q, v, tau):
                        yield situation

    def _holds(self, stamp: int, q: Array, v: Array, tau: Array) -> Iterator[tuple[Situation, Held]]:
        known: Any = self.now.desired
        wishes = [change.value for change in self._sent if change.part == "desired"][-LATEST:]
        stamps = np.unique([*self._latest(stamp, SEARCHED), stamp, *self._answered, *self._others])
        states = self.motion.positions(stamps)
        poses = [wish.pose for wish in wishes if wish.pose is not None]
        postures = [states, *(wish.posture[None] for wish in wishes if wish.posture is not None)]
        wrenches = [np.zeros(6), *(wish.wrench for wish in wishes if wish.wrench is not None)]
        if known is not None:
            poses, postures = [*poses, (known.R, known.p)], [*postures, known.posture[None]]
            wrenches.append(known.wrench)
        bases = [replace(self.now, robot=r, payload=p, settings=s) for r, p, s in self._combinations()[:MOST_BASES]]
        bases += self._begun_anew_as()
        knowns = [known for _, known in self._known(stamp, v)]
        for base, known in product(bases, knowns):
            for held in _holds(base, known, stamp, q, v, tau, states, poses, np.concatenate(postures), wrenches):
                yield base, held

    @staticmethod
    def _has_come(change: Change, old: Situation, new: Situation) -> bool:
        if change.part == "desired":
            return isinstance(new.desired, Held) and new.desired.wish is change.value
        return Judge._has_come(change, old, new)


def _holds(
    base: Situation, known: Known, stamp: int, q: Array, v: Array, tau: Array, states: Array,
    poses: list[tuple[Array, Array]], postures: Array, wrenches: list[Array],
) -> Iterator[Held]:  # fmt: skip
    """What an effort may hold: a pose of these or of a state, with one of the postures (N, 7) and wrenches.

    `states` come first among the postures.
    """
    settings, model = base.settings, oracle(base.robot, base.payload)
    assert isinstance(settings, ToolSettings)
    tool = tool_at(model, q, v, stamp)
    weight, robot = settings.weight(model, q), settings.robot(model, q, v, stamp)
    damped = settings.dampers(tool) @ tool.twist
    drawn = tool.left_over((settings.posture_kp * (postures - q) - settings.posture_kd * v).T).T
    wrenches = list({each.tobytes(): each for each in wrenches}.values())
    away = (states - q) @ tool.J.T  # of each state's tool, nearly
    if (np.abs(tau) < settings.limits).all() and robot.is_free(tau, known):
        place = (tool.wrench_of(tau - weight) + damped)[3:] / settings.springs[3:]
        nearest = np.argsort(np.linalg.norm(away[:, 3:] - place, axis=1))[:NEAR]
        near = [_pose(model, states[k]) for k in nearest]
        near.sort(key=lambda pose: float(np.linalg.norm(pose[1] - tool.p - place)))
        near = near[:NEAREST]
    else:  # an effort that was cut off or braked does not tell where it pulls: the states that would be like it
        near = []
        for wrench, posture in product(wrenches, [drawn[: len(states)], *drawn[len(states) :]]):
            guesses = weight + (settings.springs * away + wrench - damped) @ tool.J + posture
            off = np.abs(robot.shortened(robot.braked(guesses, known)) - tau).max(axis=1)
            near += [_pose(model, states[k]) for k in np.argsort(off)[:NEAREST]]
    for wrench in wrenches:
        for R, p in [*poses, *near]:
            guesses = weight + tool.J.T @ (settings.pull(tool, R, p, wrench) - damped) + drawn
            off = np.abs(robot.shortened(robot.braked(guesses, known)) - tau).max(axis=1)
            k = int(off.argmin())
            if off[k] < NEARLY:
                yield Held(R, p, postures[k], wrench)


def _not_shortened(situation: Situation, stamp: int, q: Array, v: Array, tau: Array) -> Array:
    """An effort as it would be without limits, which shorten all joints together, if it pulls to the wanted pose."""
    settings, model, held = situation.settings, oracle(situation.robot, situation.payload), situation.desired
    assert isinstance(settings, ToolSettings) and isinstance(held, Held)
    if (np.abs(tau) < settings.limits).all():
        return tau
    tool, more = tool_at(model, q, v, stamp), tau - settings.weight(model, q)
    pull = settings.pull(tool, held.R, held.p, held.wrench) - settings.dampers(tool) @ tool.twist
    share = float(tool.wrench_of(more) @ pull / (pull @ pull)) if pull.any() else 1.0
    return tau - more + more / share if 0.0 < share < 1.0 else tau


def _pulls_there(situation: Situation, stamp: int, q: Array, v: Array, tau: Array) -> bool:
    """Whether an effort moves the tool as the wanted pose does, whichever posture is held."""
    settings, model, held = situation.settings, oracle(situation.robot, situation.payload), situation.desired
    assert isinstance(settings, ToolSettings) and isinstance(held, Held)
    tool = tool_at(model, q, v, stamp)
    pull = settings.pull(tool, held.R, held.p, held.wrench) - settings.dampers(tool) @ tool.twist
    return bool(np.abs(tool.wrench_of(tau - settings.weight(model, q)) - pull).max() < NEARLY)


def _posture_of(situation: Situation, stamp: int, q: Array, v: Array, tau: Array) -> Array:
    """(7) with the wanted pose, towards which an effort pulls what the tool leaves free: by Newton."""
    settings, model, held = situation.settings, oracle(situation.robot, situation.payload), situation.desired
    assert isinstance(settings, ToolSettings) and isinstance(held, Held)
    tool = tool_at(model, q, v, stamp)
    pull = settings.pull(tool, held.R, held.p, held.wrench) - settings.dampers(tool) @ tool.twist
    free = np.linalg.svd(tool.J)[2][-1]  # J free = 0
    weighted = free @ tool.M
    drawn = float(free @ (tau - settings.weight(model, q) - tool.J.T @ pull)) + settings.posture_kd * float(
        weighted @ v
    )
    posture = held.posture.copy()
    for _ in range(NEWTON):
        R, p = _pose(model, posture)
        off = np.concatenate([_turn(held.R @ R.T), held.p - p])
        left = drawn - settings.posture_kp * float(weighted @ (posture - q))
        rows = np.vstack([model.jacobian(posture), settings.posture_kp * weighted])
        posture += np.linalg.lstsq(rows, np.append(off, left), rcond=None)[0]
    return posture


def _pose(model: Oracle, q: Array) -> tuple[Array, Array]:
    """(R, p) of the tool."""
    pose = model.tool(q)
    return pose.rotation.copy(), pose.translation.copy()


def _turn(R: Array) -> Array:
    import pinocchio as pin

    return np.asarray(pin.log3(R))


def _within(wrench: Array) -> Array:
    """Shortened where moment or force is larger than the largest."""
    parts = (wrench[:3], LARGEST_MOMENT), (wrench[3:], LARGEST_FORCE)
    return np.concatenate([part * min(1.0, most / max(float(np.linalg.norm(part)), 1e-12)) for part, most in parts])
