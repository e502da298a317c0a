# SPDX-License-Identifier: Apache-2.0
"""The verdict on each effort: does it follow from the state that it answers, by Pinocchio and the judge's own desired
motions, with one of the settings that may be in force?

What is in force is followed, not asked for: a change that was sent may come at any time from then on, and has come when
an effort is explained by it and by nothing before it. An effort that nothing explains is wrong.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from campaigns.faults.judging.desired import Desired, Hold, Points, Quintics, SetPoint, Wanted, holds
from campaigns.faults.judging.left_safe import LeftSafe
from campaigns.faults.judging.situation import LATEST, Change, Settings, Situation, still_to_come, with_changes
from campaigns.faults.judging.softer import Softer, parts, shares
from campaigns.faults.judging.takeovers import between, takeovers
from campaigns.faults.judging.waits import ALL, PYTHON, Waits
from campaigns.faults.robot import LIMITS, Motion, Oracle, Payload, oracle
from campaigns.faults.sender import EARLY, REFUSED

Array = NDArray[np.float64]

CLOSE = 1000  # ns by which the begin of a trajectory, found from its first efforts, may be wrong
TOLERANCE = 1e-9  # relative to the largest of the terms
STATE_TIMEOUT = 0.1  # s, of the nodes
ALLOWANCE = 0.02  # s beyond it, for the write
GUARD_QUEUE = 0.05  # s that a command may have waited in the guard
TRIED = 300  # combinations of changes
TRIED_ANEW = 4  # of settings, of a node that begins
#: s after which a change that never came is not waited for, by its part; a robot may be built for minutes
FORGOTTEN = {"desired": 5.0, "points": 30.0, "settings": 300.0, "payload": 300.0, "robot": 300.0, "anew": 60.0}
#: efforts that answered since, too, before a motion is forgotten: a node that gets no processor takes it up later
ANSWERED = {"desired": 2500, "points": 2500}
SEARCHED = 2000  # states among which is the one where a hold began
RECENT = 0.25  # s: the effort before is no older
FULL_TIME, USUAL_RATE = 0.1, 1000.0  # s from nothing to the limit, N m/s: effort_rate_limits by default
KEPT = 50  # violations of a kind that are written down
LOST = 0.3  # s during which efforts may not have come here
PLANNED = 1.0  # s, in which a trajectory is planned: it begins where a joint without stiffness was before
FREE_BEGINS = 4  # states with which such a trajectory may begin
GAP = 0.02  # s between two states that were answered, after which a motion may have ended
STARTS = 60.0  # s, within which a node that starts or is configured begins its hold
UNSETTLED = 3.0  # s after an event during which a hold may begin anew


@dataclass
class Counts:
    published: int = 0
    exact: int = 0
    bounds: int = 0
    wrong: int = 0
    non_finite: int = 0
    above_limits: int = 0
    stale: int = 0
    in_flight: int = 0  # stopped between the check of the age and the publication: one for each stop
    kept_waiting: int = 0  # the kernel let the thread wait for a processor meanwhile, for as long as it is too old
    kept_from_lock: int = 0  # or that and the threads that may have held the interpreter's lock
    commands: int = 0
    commands_alone: int = 0  # without an effort: the robot is left safe, or the effort was lost
    commands_safe: int = 0  # of these, gravity with damping, or zero
    guarded: int = 0  # passed on by the guard
    guarded_bounds: int = 0  # while the node's own commands were not seen yet
    guarded_safe: int = 0  # of the guard's own: gravity with damping, or zero


class Judge:
    """Of one node. `publish`: told (kind, text) of each violation."""

    NEW_ROBOT_HOLDS = False  # a description that is taken over, when it is built at last, begins a hold

    def __init__(self, motion: Motion, ring: Any, tell: Callable[[dict[str, Any]], None]) -> None:
        self.motion, self.counts = motion, Counts()
        self._ring, self._tell = ring, tell
        self.now = Situation()
        self._changes: list[Change] = []
        self._answered: deque[int] = deque(maxlen=64)  # stamps
        self._cleaned = 0.0  # when it was cleaned up last, s
        self._unsettled = 0.0  # until when (s) a hold may begin anywhere
        self._stops: list[float] = []  # when the node went on after it was stopped, s
        self._robots: deque[str] = deque(["panda"], maxlen=3)
        self._safe = LeftSafe(motion)
        self._start = Situation()  # of a node that starts
        self.recent: deque[str] = deque(maxlen=30)  # what was done to the node
        self._last_good = 0
        self._before: tuple[int, Array] | None = None  # the last effort, and the state that it answers
        self._last_time = 0.0  # of the last effort, s
        self._others: deque[int] = deque(maxlen=2000)  # stamps of good states that are not in the ring
        # until when (s) settings were in force, and what was to come then
        self._settings_before: deque[tuple[float, Settings, list[Change]]] = deque(maxlen=2)
        self.waits, self.guards_waits = Waits(), Waits()
        self.softer = Softer()
        self._falls = False  # gains may have become softer

    # --- what is done to the node -----------------------------------------------------------------

    def event(self, time: float, kind: str, value: Any) -> None:
        if kind == "stamps":
            self._others.extend(value)
            return
        if kind in ("pid", "guard's pid"):
            (self.waits if kind == "pid" else self.guards_waits).follow(value)
            return
        self.recent.append(f"{time:.3f} {kind} {str(value)[:100]}")
        if kind == "refused":
            part, sent = value
            self._changes = [each for each in self._changes if each.part != part or each.value != sent]
        elif kind in ("payload", "settings", "desired", "points"):
            self._changes.append(Change(kind, value, time, self.counts.published))
            if kind == "payload":
                self._safe.load(value)
        elif kind == "robot":
            self._changes.append(Change(kind, value, time, self.counts.published))
            self._robots.append(value)
            self._safe.robot(value)
        elif kind == "anew":
            self._changes.append(Change(kind, value, time, self.counts.published))
            self._unsettled = max(time + STARTS, self._unsettled)
        elif kind == "cleaned":  # parameters and load stay; what is configured is the latest description
            self._changes.append(Change("robot", self._robots[-1], time, self.counts.published))
            self._cleaned = time
            self._unsettled = max(time + STARTS, self._unsettled)
        elif kind == "unsettled":
            self._unsettled = max(time + UNSETTLED, self._unsettled)
        elif kind == "continued":
            self._stops.append(time)
            del self._stops[:-5]
            self._unsettled = max(time + UNSETTLED, self._unsettled)

    # --- efforts ----------------------------------------------------------------------------------

    def effort(self, stamp: int, tau: Array, published: int) -> None:
        """An effort that answers the state of `stamp`; published: when it, or its command, was written (both ns)."""
        counts, time = self.counts, published * 1e-9
        counts.published += 1
        self._changes = [each for each in self._changes if self._may_come(each, time)]
        self._last_time = time
        if not np.isfinite(tau).all() or tau.shape != (7,):
            counts.non_finite += 1
            self._violation("not finite", stamp, tau, published)
            return
        if (np.abs(tau) > self._largest_limits() * (1.0 + 1e-12)).any():
            counts.above_limits += 1
            self._violation("above limits", stamp, tau, published)
        self._check_age(stamp, tau, published)
        if self._answered and abs(stamp - self._answered[-1]) > GAP * 1e9:
            self._unsettled = max(time + UNSETTLED, self._unsettled)  # silence ends a motion
        if stamp % 1000 == REFUSED:
            counts.wrong += 1
            self._violation("answers a state that must be refused", stamp, tau, published)
        elif stamp - published > STATE_TIMEOUT * 1e9:
            counts.wrong += 1
            self._violation("answers a state of the future", stamp, tau, published)
        elif self.explained(stamp, tau, time):
            self._answered.append(stamp)
            if stamp % 1000 == EARLY:
                self._others.append(stamp)
            self._last_good = stamp
        else:
            counts.wrong += 1
            self.softer.cut = True
            self._violation("wrong", stamp, tau, published)
        self._before = stamp, tau

    def _may_come(self, change: Change, time: float) -> bool:
        """Still. Of a silence all may have come unseen, but for motions: what is silent takes none."""
        ends = {"desired": time, "points": time}
        return ends.get(change.part, self._last_time) - change.time < FORGOTTEN[
            change.part
        ] or self.counts.published - change.published < ANSWERED.get(change.part, 0)

    def explained(self, stamp: int, tau: Array, time: float) -> bool:
        """Whether something makes it so; that is then in force. Counts how well it was judged.

        Gains that have become softer are looked for last: with them, other settings would look the same.
        """
        if self._is_made(stamp, tau, time):
            return True
        if not self.softer.may_have_fallen(stamp, unseen=self._unseen_before(stamp)):
            return False
        self._falls = True
        found = self._is_made(stamp, tau, time)
        self._falls = False
        return found

    def _is_made(self, stamp: int, tau: Array, time: float) -> bool:
        q, v = self.motion.state(stamp)
        for situation in self._situations(stamp, q, v, time):
            if situation.desired is None:
                continue
            if self._fits(situation, stamp, q, v, tau):
                self._now_is(situation)
                self.counts.exact += 1
                return True
        for situation in self._refined(stamp, q, v, tau):
            if self._fits(situation, stamp, q, v, tau):
                self.now = situation
                self.counts.exact += 1
                return True
        for situation in self._planned_aside(stamp, q, v, tau):
            if self._fits(situation, stamp, q, v, tau):
                self._now_is(situation)
                self.counts.exact += 1
                return True
        settled = time >= self._unsettled and self.now.desired is not None
        coming = [change.value for change in self._sent if change.part == "robot"] if self.NEW_ROBOT_HOLDS else []
        if not settled or coming:
            for situation in self._anchored(stamp, q, v, tau, time):
                if settled and situation.robot not in coming:
                    continue
                self._now_is(situation)
                self.counts.exact += 1
                return True
        return False

    def _fits(self, situation: Situation, stamp: int, q: Array, v: Array, tau: Array) -> bool:
        settings, model = situation.settings, oracle(situation.robot, situation.payload)
        for desired in self._followed(situation, stamp, q):

            def torque(share: float, desired: Desired = desired) -> Array:
                return replace(settings, share=share).torque(model, q, v, desired, stamp)[0]

            scale = settings.torque(model, q, v, desired, stamp)[1]
            for share in self._shares(torque, tau, settings, stamp):
                cut = self._meets(torque(share), scale, situation, stamp, v, tau)
                if cut is not None:
                    self.softer.seen(share, stamp, cut=cut)
                    return True
        return False

    def _shares(self, torque: Callable[[float], Array], tau: Array, settings: Settings, stamp: int) -> Iterator[float]:
        """Of its gains, by which an effort may be explained."""
        yield from self.softer.known(stamp)
        if self._falls:
            before, unseen = self._just_before(stamp), self._unseen_before(stamp)
            yield from self.softer.found(torque, tau, before, settings.limits, stamp, unseen=unseen)

    def _unseen_before(self, stamp: int) -> bool:
        """Whether a state after the last answer has had none that was seen."""
        last = self._answered[-1] if self._answered else stamp
        return bool((self._latest(stamp - 1, 1) > last).any())

    def _just_before(self, stamp: int) -> Array | None:
        """The last effort, None where it is long ago."""
        return None if self._before is None or abs(stamp - self._before[0]) >= RECENT * 1e9 else self._before[1]

    def _followed(self, situation: Situation, stamp: int, q: Array) -> Iterator[Desired]:
        """What is wanted of a robot at q: a hold is where joints without stiffness go, but for where it begins."""
        desired, free = situation.desired, situation.settings.free
        assert desired is not None
        if not free.any() or not holds(desired, stamp):
            yield desired
            return
        yield Hold(np.where(free, q, desired.at(stamp).q))
        before, was = self._answered[-1] if self._answered else stamp, self.now.desired
        if was is None or not holds(was, before):
            yield desired

    def _meets(
        self, expected: Array, scale: float, situation: Situation, stamp: int, v: Array, tau: Array
    ) -> bool | None:
        """Whether an effort that is what is expected without limits, with them, is cut by its rate; None: it is not.

        scale: the size of its terms.
        """
        settings = situation.settings
        limited = np.clip(expected, -settings.limits, settings.limits)
        return self._follows(limited, scale, stamp, settings, tau)

    def _follows(
        self, limited: Array, scale: float, stamp: int, settings: Settings, tau: Array, *, haste: bool = False
    ) -> bool | None:
        """Likewise, of one within limits: where none came before or another one was lost, too."""
        if float(np.abs(tau - limited).max()) <= TOLERANCE * scale:
            return False
        if (reach := self._reach(stamp, settings, haste=haste)) is None:
            return None
        return True if float(np.abs(tau - on_the_way_to(limited, reach)).max()) <= TOLERANCE * scale else None

    def _reach(self, stamp: int, settings: Settings, *, haste: bool = False) -> tuple[Array, Array] | None:
        """The least and the most to which efforts may change since the last one, None where it is long ago."""
        if (last := self._just_before(stamp)) is None:
            return None
        assert self._before is not None
        before = np.clip(last, -settings.limits, settings.limits)
        rates = np.full(7, USUAL_RATE) if haste else np.minimum(settings.limits / FULL_TIME, USUAL_RATE)
        reach = rates * 1e-9 * max(0, stamp - self._before[0])
        return before - reach, before + reach

    def _situations(self, stamp: int, q: Array, v: Array, time: float) -> Iterator[Situation]:
        """What may be in force, the likeliest first."""
        yield self.now
        for robot, payload, settings in self._combinations():
            base = replace(self.now, robot=robot, payload=payload, settings=settings)
            for desired in self._desired(stamp, time):
                yield replace(base, desired=desired)

    @property
    def _sent(self) -> list[Change]:
        """Changes that may have come when the effort was published that is judged."""
        return [change for change in self._changes if change.time <= self._last_time]

    def _combinations(self) -> list[tuple[str, Payload | None, Settings]]:
        """Of what was sent of late, each as it was or changed, the likeliest first: after a silence all of it may have
        come unseen, the settings one after the other or some of them."""

        def options(part: str) -> list[Any]:
            sent = [change.value for change in self._sent if change.part == part]
            return [getattr(self.now, part), *sent[: -LATEST - 1 : -1]]

        settings = with_changes(self.now.settings, self._sent)
        for time, known, changes in self._settings_before:  # the first effort of a hold does not tell all of them apart
            if self._last_time - time < UNSETTLED:
                settings += with_changes(known, changes)
        parts = [list(enumerate(dict.fromkeys(each))) for each in (options("robot"), options("payload"), settings)]
        likeliest = sorted(product(*parts), key=lambda one: sum(rank for rank, _ in one))[:TRIED]
        return [(robot, payload, chosen) for (_, robot), (_, payload), (_, chosen) in likeliest]

    def _desired(self, stamp: int, time: float) -> Iterator[Desired]:
        now = self.now.desired
        before = list(self._answered)[-20:][::-1]
        if now is not None:
            yield now
            if isinstance(now, SetPoint):  # they stopped: it is held, or the robot where it is
                yield Hold(now.wanted.q)
                for at in (stamp, *before[:3]):
                    yield Hold(self.motion.state(at)[0])
            elif time < self._unsettled:  # hold from now on: what was wanted, or the robot where it is
                for at in before[:3]:
                    yield Hold(self._present(now, at).q)
                for at in (stamp, *before[:3]):
                    yield Hold(self.motion.state(at)[0])
        if now is not None and self.now.settings.free.any():  # where stiffness comes it is held from now on
            for at in before[:3]:
                yield Hold(self._present(now, at).q)
        for change in self._sent:
            if change.part == "desired":
                yield change.value
            elif change.part == "points" and now is not None:
                points: Points = change.value
                begins = list(dict.fromkeys([*before, *self._lost(stamp)]))
                # wherever it was planned from, it takes over after one of the last states
                if self._is_free(now, stamp):
                    begins = [later for at in begins[:FREE_BEGINS] for later in (at, at + 1)]
                for at in begins:
                    for present in self._presents(now, at):
                        path = Quintics(points, points.start or at, at, present)
                        if not path.empty:
                            yield path

    def _is_free(self, desired: Desired, stamp: int) -> bool:
        """Whether some joints without stiffness may be wanted wherever they go."""
        return bool(self.now.settings.free.any()) and (isinstance(desired, SetPoint) or holds(desired, stamp))

    def _present(self, desired: Desired, stamp: int) -> Wanted:
        """What is wanted at a stamp; of joints without stiffness, that are wanted where they go, the latest."""
        return next(self._presents(desired, stamp))

    def _presents(self, desired: Desired, stamp: int) -> Iterator[Wanted]:
        """What may have been wanted when a trajectory was asked for that takes over at a stamp, the latest first."""
        wanted = desired.at(stamp)
        if not self._is_free(desired, stamp):
            yield wanted
            return
        seen = self._latest(stamp, SEARCHED)
        for q in self.motion.positions(seen[seen > stamp - PLANNED * 1e9][::-1]):
            yield Wanted(np.where(self.now.settings.free, q, wanted.q), wanted.v, wanted.a)
        yield wanted  # set-points that have not stopped, or no states
        for change in reversed(self._sent):  # one that no effort has told
            if change.part == "desired":
                yield change.value.at(stamp)

    def _planned_aside(self, stamp: int, q: Array, v: Array, tau: Array) -> Iterator[Situation]:
        """A trajectory that took over between two states, as one does that was planned in another process.

        When is found to a ns: the longer ago, the farther is it from what was wanted before, at least for a while.
        """
        now = self.now.desired
        if now is None:
            return
        paths = [change.value for change in self._sent if change.part == "points"][-LATEST:]
        first = stamp - int(LOST * 1e9)
        ends = [at for at in now.ends if first < at < stamp] if isinstance(now, Quintics) else []
        for points, (robot, payload, settings) in product(paths, self._combinations()):
            base, model = replace(self.now, robot=robot, payload=payload, settings=settings), oracle(robot, payload)
            if self._is_free(now, stamp):
                yield from self._planned_while_led(base, model, points, stamp, q, v, tau)
                continue
            soft = replace(settings, share=self.softer.now(stamp))
            before = soft.limited(model, q, v, now, stamp)

            def path(at: int, points: Points = points, now: Desired = now) -> Quintics:
                return Quintics(points, points.start or at, at, now.at(at))

            def off(at: int, soft: Settings = soft, model: Oracle = model, before: Array = before) -> float:
                """By how much it would be farther from what was wanted before than the effort is."""
                tried = path(at)
                torque = before if tried.empty else soft.limited(model, q, v, tried, stamp)
                return float(np.linalg.norm(torque - before) - np.linalg.norm(tau - before))

            for at in takeovers(off, first, stamp, ends):
                if not path(at).empty:
                    yield replace(base, desired=path(at))

    def _planned_while_led(
        self, base: Situation, model: Oracle, points: Points, stamp: int, q: Array, v: Array, tau: Array
    ) -> Iterator[Situation]:
        """Likewise, from where joints without stiffness were when it was asked for; it has taken over of late."""
        assert base.desired is not None
        first = [stamp - int(LOST * 1e9), *self._answered][-2:][0]
        soft = replace(base.settings, share=self.softer.now(stamp))
        for present in self._presents(base.desired, stamp):

            def path(at: int, present: Wanted = present) -> Quintics:
                return Quintics(points, points.start or at, at, present)

            early, late = (soft.limited(model, q, v, path(at), stamp) for at in (first, stamp))

            def off(at: int, path: Any = path, slope: Array = early - late) -> float:
                """How far the effort is from that."""
                return float((soft.limited(model, q, v, path(at), stamp) - tau) @ slope)

            if not path(first).empty and off(first) >= 0.0 >= off(stamp):
                yield from (replace(base, desired=path(at)) for at in between(off, stamp, first))

    def _refined(self, stamp: int, q: Array, v: Array, tau: Array) -> Iterator[Situation]:
        """A trajectory whose begin was found while it hardly moved, told better now that it does."""
        path = self.now.desired
        if not isinstance(path, Quintics):
            return
        settings, model = (
            replace(self.now.settings, share=self.softer.now(stamp)),
            oracle(self.now.robot, self.now.payload),
        )
        expected = settings.torque(model, q, v, path, stamp)[0]
        slope = (settings.torque(model, q, v, path.shifted(CLOSE), stamp)[0] - expected) / CLOSE
        slope[np.abs(tau) >= settings.limits] = 0.0  # an effort that was cut off tells nothing
        if slope.any():
            by = round(float(slope @ (tau - expected) / (slope @ slope)))
            if abs(path.shift + by) <= CLOSE:
                yield replace(self.now, desired=path.shifted(by))

    def _latest(self, stamp: int, count: int) -> NDArray[np.int64]:
        """Stamps of the last good states that were sent, up to `stamp`."""
        ring = np.frombuffer(self._ring, np.int64)
        sent, size = int(ring[-2]), len(ring) - 2
        stamps = np.take(ring, np.arange(max(0, sent - size), sent) % size)
        return stamps[stamps <= stamp][-count:]  # this process may be late

    def _lost(self, stamp: int) -> list[int]:
        """Those of the last moments: an effort that answered one may be lost."""
        stamps = self._latest(stamp, SEARCHED)
        return [int(x) for x in stamps[stamps > stamp - LOST * 1e9][::-1]]

    def _anchored(self, stamp: int, q: Array, v: Array, tau: Array, time: float) -> Iterator[Situation]:
        """A hold that began at one of the latest states, also of a node that has started anew."""
        # where it began may be known late
        stamps = self._latest(stamp, SEARCHED if self.now.desired is not None else 10 * SEARCHED)
        stamps = np.append(stamps, [stamp, *self._answered, *self._others])
        q_d = self.motion.positions(stamps)
        bases = [replace(self.now, robot=r, payload=p, settings=s) for r, p, s in self._combinations()]
        configured = bases if self._last_time - self._cleaned < STARTS else []
        anew = self._begun_anew_as()
        bases = [*bases, *anew]
        if begun := [*configured, *anew]:
            for change in self._sent[::-1]:  # a set-point that came before its first effort was seen
                if change.part == "desired" and isinstance(change.value, SetPoint):
                    for base, desired in product(begun, (change.value, Hold(change.value.wanted.q))):
                        if self._fits(replace(base, desired=desired), stamp, q, v, tau):
                            yield replace(base, desired=desired)
        before, share = self._just_before(stamp), self.softer.now(stamp)
        for base in bases:
            wanted, limits = self._of_holds(base, stamp, q, v, q_d), base.settings.limits
            tried = [np.full(len(q_d), share)]
            if self._falls:
                tried += shares(tau, before, *parts(wanted), np.abs(tau) < limits)
            reach, off = self._reach(stamp, base.settings), np.full(len(q_d), np.inf)
            none, stiff, damp = parts(wanted) if self._falls else (wanted(share), 0.0, 0.0)
            for s in (np.minimum(each, share)[:, None] for each in tried):
                guesses = np.clip(none + s * s * stiff + s * damp, -limits, limits)
                off = np.minimum(off, np.abs(guesses - tau).max(axis=1))
                if reach is not None:
                    off = np.minimum(off, np.abs(on_the_way_to(guesses, reach) - tau).max(axis=1))
            for k in np.argsort(off)[:3]:
                situation = replace(base, desired=Hold(q_d[k]))
                if self._fits(situation, stamp, q, v, tau):
                    yield situation

    def _begun_anew_as(self) -> list[Situation]:
        """What a node that has begun anew may be in, also where something was sent before its first effort."""
        starts = [change.time for change in self._sent if change.part == "anew"]
        if not starts:
            return []
        later = [change for change in self._sent if change.time > starts[-1]]
        loads = [None, *(change.value for change in later if change.part == "payload")][-LATEST:]
        settings = with_changes(self._start.settings, later)[:TRIED_ANEW]
        parts = product(dict.fromkeys(loads), dict.fromkeys(settings), dict.fromkeys(self._robots))
        return [replace(self._start, robot=r, payload=p, settings=s) for p, s, r in parts]

    @staticmethod
    def _of_holds(base: Situation, stamp: int, q: Array, v: Array, q_d: Array) -> Callable[[float], Array]:
        """Torques (N, 7) of holds at rows of q_d (N, 7), by the share of the gains, without limits."""
        settings, model = base.settings, oracle(base.robot, base.payload)
        if settings.evaluate_at != "measured":
            return lambda share: np.array(
                [replace(settings, share=share).torque(model, q, v, Hold(row), stamp)[0] for row in q_d]
            )
        none = replace(settings, share=0.0).torque(model, q, v, Hold(q), stamp)[0]
        through = np.eye(7)
        if settings.law == "computed_torque":
            through = model.mass_matrix(q) if "inertia" in settings.terms else np.zeros((7, 7))

        def torques(share: float) -> Array:
            kp, kd = replace(settings, share=share).gains
            return np.asarray(none + (kp * (q_d - q) - kd * v) @ through)

        return torques

    def _now_is(self, new: Situation) -> None:
        """Forget the changes that have come, and those before them."""
        if new is self.now:
            return
        old, self.now = self.now, new
        if new.settings != old.settings and new.desired is not old.desired:
            self._settings_before.append((self._last_time, old.settings, self._sent))
        if new.desired is not old.desired:
            self._forget_what_a_start_forgets(new)
        for part in ("robot", "payload", "settings", "desired"):
            if getattr(new, part) is getattr(old, part) or getattr(new, part) == getattr(old, part):
                continue
            if part == "settings":
                self._changes = still_to_come(self._changes, new.settings)
                continue
            kinds = ("desired", "points") if part == "desired" else (part,)
            for k, change in enumerate(self._changes):
                if change.part not in kinds:
                    continue
                came = self._has_come(change, old, new)
                if came:
                    self._changes = [c for i, c in enumerate(self._changes) if c.part not in kinds or i > k]
                    break

    def _forget_what_a_start_forgets(self, new: Situation) -> None:
        """A node that has begun anew, as it does now, knows of nothing before but the description."""
        starts = [change.time for change in self._sent if change.part == "anew"]
        if starts and (new.settings, new.payload) == (self._start.settings, self._start.payload):
            self._changes = [c for c in self._changes if c.part in ("robot", "anew") or c.time > starts[-1]]

    @staticmethod
    def _has_come(change: Change, old: Situation, new: Situation) -> bool:
        if change.part == "points":
            return isinstance(new.desired, Quintics) and new.desired.points is change.value
        if change.part == "desired":
            return change.value is new.desired
        return bool(change.value == getattr(new, change.part))

    def _largest_limits(self) -> Array:
        most = self.now.settings.limits
        for change in self._changes:
            if change.part == "anew":
                most = np.maximum(most, LIMITS)
            elif change.part == "settings" and "effort_limits" in change.value:
                most = np.maximum(most, Settings(effort_limits=change.value["effort_limits"]).limits)
        return most

    def _check_age(self, stamp: int, tau: Array, published: int) -> None:
        age = 1e-9 * (published - stamp)
        late = age - STATE_TIMEOUT - ALLOWANCE
        if late <= 0.0:
            return
        for stop in self._stops:
            if 0.0 <= published * 1e-9 - stop < ALLOWANCE + self.waits.between(stop, published * 1e-9):
                self._stops.remove(stop)
                self.counts.in_flight += 1
                return
        if self.waits.between(1e-9 * stamp, 1e-9 * published) >= late:
            self.counts.kept_waiting += 1
            return
        together = self.waits.between(1e-9 * stamp, 1e-9 * published, PYTHON)
        if together >= late:
            self.counts.kept_from_lock += 1
            return
        self.counts.stale += 1
        self._violation(f"stale by {age:.3f} s, its threads were kept waiting {together:.3f} s", stamp, tau, published)

    # --- commands ---------------------------------------------------------------------------------

    def command(self, tau: Array, published: int, alone: bool) -> None:
        """A message on ~/commands; `alone`: no effort says the same."""
        self.counts.commands += 1
        if not alone:
            return
        self.counts.commands_alone += 1
        if not np.isfinite(tau).all() or tau.shape != (7,):
            self.counts.non_finite += 1
            self._violation("a command is not finite", 0, tau, published)
        elif (np.abs(tau) > self._largest_limits() * (1.0 + 1e-12)).any():
            self.counts.above_limits += 1
            self._violation("a command is above limits", 0, tau, published)
        elif self._leaves_safe(tau, published):
            self.counts.commands_safe += 1

    def guarded(self, tau: Array, published: int, sent: int | None, unseen: bool) -> None:
        """A message of the guard; sent: when the node published the same, ns, None: it never did.

        unseen: the node's own commands are not seen here yet: its publisher and this reader have not found each other.
        """
        if sent is not None:
            waited = self.guards_waits.between(1e-9 * sent, 1e-9 * published)
            late = 1e-9 * (published - sent) - GUARD_QUEUE - ALLOWANCE
            self.counts.guarded += 1
            if late <= waited or self._leaves_safe(tau, published):
                return
            together = self.guards_waits.between(1e-9 * sent, 1e-9 * published, ALL)
            self.counts.stale += 1
            what = f"the guard passed a stale command, {late:.3f} s late, its threads waited {together:.3f} s"
            self._violation(what, 0, tau, published)
        elif self.is_safe(tau, published):
            self.counts.guarded_safe += 1
        elif unseen and np.isfinite(tau).all() and (np.abs(tau) <= LIMITS).all():
            self.counts.guarded_bounds += 1
        else:
            self.counts.wrong += 1
            self._violation("the guard's command is neither the node's nor safe", 0, tau, published)

    def is_safe(self, tau: Array, published: int) -> bool:
        """Whether a command is zero, or holds the robot against its weight with damping at most."""
        return tau.shape == (7,) and bool(np.isfinite(tau).all()) and self._leaves_safe(tau, published)

    def _leaves_safe(self, tau: Array, published: int) -> bool:
        """At the present state or one of the last that were answered, or that a node which hangs does not answer."""
        known = ((robot, payload) for robot, payload, _ in self._combinations())
        return self._safe.leaves(tau, self._states_of_the_guard(published), known)

    def _states_of_the_guard(self, published: int) -> Iterator[int]:
        """Stamps at which it may hold the robot: the likeliest first, then all that are not stale yet.

        A guard that had to wait for a processor answers what has come meanwhile.
        """
        yield from (published, self._last_good, *list(self._answered)[::8])
        sent = self._latest(published, SEARCHED)
        yield from sent[sent > published - int((STATE_TIMEOUT + ALLOWANCE) * 1e9)][::-1].tolist()

    # --- violations -------------------------------------------------------------------------------

    def _violation(self, what: str, stamp: int, tau: Array, published: int) -> None:
        q, v = self.motion.state(stamp)
        expected: Any = None
        if self.now.desired is not None and stamp:
            s = self.now.settings
            expected = s.torque(oracle(self.now.robot, self.now.payload), q, v, self.now.desired, stamp)[0].tolist()
        self._tell({
            "what": what, "begin": self.motion.begin, "stamp": stamp,
            "published": published, "age": 1e-9 * (published - stamp),
            "effort": np.asarray(tau).tolist(), "expected": expected,
            "last": None if self._before is None else [self._before[0], self._before[1].tolist()],
            "in force": repr(self.now)[:500],
            "waiting": [f"{c.part} {c.value!r}"[:200] for c in self._changes], "before": list(self.recent),
        })  # fmt: skip


def on_the_way_to(wanted: Array, reach: tuple[Array, Array]) -> Array:
    """Efforts (..., 7), their changes shortened together so that each is within reach."""
    before, most = 0.5 * (reach[0] + reach[1]), 0.5 * (reach[1] - reach[0])
    change = wanted - before
    late = np.abs(change) > most
    shares = np.divide(most, np.abs(change), out=np.ones_like(change), where=late)
    share = shares.min(axis=-1, keepdims=True)
    return np.asarray(before + share * change)
