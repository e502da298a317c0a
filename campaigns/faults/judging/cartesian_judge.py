# SPDX-License-Identifier: Apache-2.0
"""The verdict on cartesian_controller: exact while it holds the tool, by bounds while the tool is on its way.

Its law is `tool_law`. What the tool does after a wish (pose, twist, trajectory, wrench, posture) is bounded until it
has arrived; then the wish is held, exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import reduce
from itertools import chain, islice, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from campaigns.faults.judging.braking import FORGOTTEN, LONGEST, History, Known, Robot
from campaigns.faults.judging.judge import GAP, SEARCHED, TOLERANCE, UNSETTLED, Judge, on_the_way_to
from campaigns.faults.judging.situation import LATEST, Change, Settings, Situation
from campaigns.faults.judging.softer import nearest_share
from campaigns.faults.judging.tool_holds import NEARLY, holds_of, not_shortened, posture_of, pulls_there
from campaigns.faults.judging.tool_law import MARGIN, Held, ToolSettings, pose_of
from campaigns.faults.robot import Motion, Oracle, oracle

Array = NDArray[np.float64]

ARRIVES = 8.0  # s after a wish, at most
LOOKED_FOR = 0.2  # s: on the way, so often is asked whether anything else explains an effort
RESTED = 0.05  # s: and so often, whether it is over
CREEPS = 0.02  # rad/s: a posture that comes to rest, at most
LIKELIEST = 3  # wishes that may have been carried out
UNSEEN = 20  # states without an answer, at one of which a hold with softer gains may have begun
MOST_BASES = 24  # robots, loads and settings for which a hold is looked for
MOST_HISTORIES = 4  # of engines that may be the present one
READ = 0.3  # s: what a node has learnt from states before counts no more
BRAKED, BRAKE = 2, 0.25  # joints that may be braked in a way that is not known, and of their effort limits how much


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

    def _fits(self, situation: Situation, stamp: int, q: Array, v: Array, tau: Array) -> bool:
        if super()._fits(situation, stamp, q, v, tau):
            return True
        return self._falls and situation.desired is self.now.desired and self._is_softer(situation, stamp, q, v, tau)

    def _is_softer(self, situation: Situation, stamp: int, q: Array, v: Array, tau: Array) -> bool:
        """Whether gains that have fallen explain the effort of joints that are braked."""
        settings, desired = situation.settings, situation.desired
        model = oracle(situation.robot, situation.payload)
        assert isinstance(settings, ToolSettings)
        robot = settings.robot(model, q, v, stamp)
        whole, scale = settings.torque(model, q, v, desired, stamp)
        least, most = self.softer.bounds(stamp, unseen=self._unseen_before(stamp))

        def law(share: float) -> Array:
            return replace(settings, share=share).torque(model, q, v, desired, stamp)[0]

        for _, known in self._known(stamp, v, situation):
            if np.abs(robot.braked(whole, known) - whole).max() <= TOLERANCE * scale:
                continue
            reach = self._reach(stamp, settings, haste=robot.in_haste(known))

            def off(share: float, known: Known = known, reach: Any = reach) -> Array:
                limited = robot.shortened(robot.braked(law(share), known))
                return np.asarray((limited if reach is None else on_the_way_to(limited, reach)) - tau)

            share = nearest_share(off, least, most)
            if (cut := self._meets(law(share), scale, situation, stamp, v, tau)) is not None:
                self.softer.seen(share, stamp, cut=cut)
                return True
        return False

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
        whole = not_shortened(situation, stamp, q, v, tau)
        if not pulls_there(situation, stamp, q, v, whole):
            return None
        held = replace(situation.desired, posture=posture_of(situation, stamp, q, v, whole), creeps=True)  # type: ignore[type-var, call-arg]
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
                yield base, Held(*pose_of(model, q), q, np.zeros(6))

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
            here = Held(*pose_of(model, q), q, np.zeros(6))
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
                held = Held(*pose_of(model, there), there, np.zeros(6))
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
            for held in holds_of(base, known, stamp, q, v, tau, states, poses, np.concatenate(postures), wrenches):
                yield base, held

    @staticmethod
    def _has_come(change: Change, old: Situation, new: Situation) -> bool:
        if change.part == "desired":
            return isinstance(new.desired, Held) and new.desired.wish is change.value
        return Judge._has_come(change, old, new)
