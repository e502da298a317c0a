# SPDX-License-Identifier: Apache-2.0
"""Joint states as they come in the wild, matched by name: any order, extra joints, gaps, NaN, no velocities."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.joint_states.confirmation import LONGEST_ROW, VOUCHED, Confirmation
from rbd_dynamics.joint_states.fast_states import FastStates
from rbd_dynamics.joint_states.plausibility import Plausibility
from rbd_dynamics.joint_states.zeros import ZerosOfAnother, made_up

Array = NDArray[np.float64]
MissingVelocity = Literal["differentiate", "refuse"]
MISSING_VELOCITY = ("differentiate", "refuse")
LONGEST_DIFFERENCE = 1.0  # s; two positions farther apart tell no velocity


class JointStateReader:
    """Positions `q` and velocities `v` of a robot's joints, from messages that name some of them.

    A state is complete when every required joint has been seen since the last complete state; it may take several
    messages, which may be at most `longest_age` apart. The other joints are where they were last seen, and at rest
    unless they come in the same message as all required ones. `read` answers whether there is a new complete state; if
    not, `problem` says why, `implausible` whether that is a number that cannot have been measured, and `doubted`
    whether it waits for others that agree, for the last state does not vouch for it: then nothing of the message was
    taken. `fast` are q and v of a message that was refused for being fast alone, where those in a row say the same.

    Parameters:
        names: the robot's joints (one number each); they order `q` and `v`.
        required: those without which a state is not complete.
        missing_velocity: "differentiate" the position where a velocity is missing or NaN, or "refuse".
        initial: positions of joints that are never seen; default zero.
        plausibility: what can have been measured, of `names`; None: anything finite. May be replaced.
        longest_age: by how much (s) a required joint's measurement may be older than the message that completes the
            state; 0: any. May be replaced.

    Attributes:
        zeros: tells states that a publisher makes up which measures nothing.
    """

    def __init__(
        self,
        names: Sequence[str],
        required: Sequence[str],
        *,
        missing_velocity: MissingVelocity = "differentiate",
        initial: Array | None = None,
        plausibility: Plausibility | None = None,
        longest_age: float = 0.0,
    ) -> None:
        self.plausibility, self.longest_age = plausibility, longest_age
        self.implausible = self.doubted = False
        self.fast: tuple[Array, Array] | None = None
        self._row: FastStates | None = None
        self._confirmation, self.zeros = Confirmation(names), ZerosOfAnother(names)
        self.names = tuple(names)
        self.q = np.zeros(len(names)) if initial is None else np.array(initial, dtype=float)
        self.v = np.zeros(len(names))
        self.stamp = 0  # of the latest complete state, ns
        self.seen = np.zeros(len(names), dtype=bool)
        self.problem = "no joint state yet"
        self.differentiated: tuple[str, ...] = ()
        self.missing_velocity = missing_velocity
        self._index = {name: k for k, name in enumerate(names)}
        self._required = np.array([self._index[name] for name in required], dtype=np.intp)
        self._is_required = np.isin(np.arange(len(names)), self._required)
        self._fresh = np.zeros(len(names), dtype=bool)
        self._times = np.zeros(len(names), dtype=np.int64)  # of each joint's position, ns
        self._message_names: list[str] | None = None
        self._sources = np.zeros(0, dtype=np.intp)  # in the message
        self._targets = np.zeros(0, dtype=np.intp)  # in q and v
        self._source_list, self._target_list = list[int](), list[int]()  # both, for loops
        self._brings_required = False  # the message names all required joints
        self._in_order = False  # all of the robot's joints and no others, in the robot's order
        self._first = True  # nothing was read in the fast way since the last change

    @property
    def several_publishers(self) -> Callable[[], bool] | None:
        """Whether several publish the states: what is found elsewhere has to be told for longer then. May be set."""
        return self._confirmation.several

    @several_publishers.setter
    def several_publishers(self, several: Callable[[], bool] | None) -> None:
        self._confirmation.several = several

    def read(self, names: list[str], position: Any, velocity: Any, stamp: int) -> bool:
        """Take in a message (stamp in ns). True: `q`, `v` and `stamp` are a new complete state."""
        self.implausible, self.doubted, self.fast = False, False, None
        whole = self._read(names, position, velocity, stamp)
        if whole:
            self._row, self.zeros.measured = None, True
        elif self.implausible and self.plausibility is not None:
            self._row = self._row or FastStates(self.plausibility.turning, self.plausibility.bounds[0])
            q, v = self.arranged(position), self.arranged(velocity)
            unknown = np.isnan(q)  # joints that the message has not
            q[unknown], v[unknown] = self.q[unknown], 0.0
            self.fast = (q, v) if self._row.take(q, v, stamp) else None
        return whole

    def heed(self, names: list[str], position: Any, velocity: Any, stamp: int, age: float) -> None:
        """A message that is too old (s) to be answered tells all the same where the joints were.

        Else, while a busy machine delays the robot's states, another publisher's are all that is left to believe.
        """
        if stamp > self.stamp and 0.0 < age < LONGEST_ROW:
            self.read(names, position, velocity, stamp)

    def _read(self, names: list[str], position: Any, velocity: Any, stamp: int) -> bool:
        if names != self._message_names and not self._match(names):
            return False
        count = len(names)
        if len(position) != count:
            self.problem = f"joint state has {len(position)} positions for {count} joints"
            return False
        if self._brings_required and len(velocity) == count:
            q, v = _plain(position), _plain(velocity)
            if not self._in_order:
                q, v = [q[k] for k in self._source_list], [v[k] for k in self._source_list]
            if math.isfinite(sum(q) + sum(v)):
                if not self._plausible(q, v, self._target_list, stamp):
                    return False
                where = slice(None) if self._in_order else self._targets
                self.q[where], self.v[where] = q, v
                self.stamp = stamp
                if self._first:
                    self._first, self.differentiated = False, ()
                    self._fresh[:], self.seen[self._targets] = False, True
                return True
        return self._read_with_gaps(position, velocity, stamp)

    def arranged(self, values: Any) -> Array:
        """Numbers of the message that was read last, in the order of `names`; NaN where it has none."""
        found = np.full(len(self.names), np.nan)
        if len(values) == len(self._message_names or ()):
            found[self._targets] = np.asarray(values, dtype=float)[self._sources]
        return found

    def _match(self, names: list[str]) -> bool:
        """Find the joints of a message; done once for each list of names."""
        self._leave_fast_way()
        self._message_names = None
        found = [(k, self._index[name]) for k, name in enumerate(names) if name in self._index]
        targets = [target for _, target in found]
        if len(set(targets)) < len(targets):
            twice = next(target for target, count in Counter(targets).items() if count > 1)
            self.problem = f"joint state names joint {self.names[twice]!r} twice"
            return False
        if not found:
            some = ", ".join(map(repr, list(names)[:3])) or "nothing"
            self.problem = f"joint state names none of the robot's joints, but {some}: expected {self.names[0]!r}..."
            return False
        self._brings_required = set(self._required.tolist()) <= set(targets)
        self._sources = np.array([source for source, _ in found], dtype=np.intp)
        self._targets = np.array(targets, dtype=np.intp)
        self._source_list, self._target_list = self._sources.tolist(), targets
        self._in_order = list(names) == list(self.names)
        self._message_names = list(names)
        return True

    def _plausible(self, q: Sequence[float], v: Sequence[float], where: Sequence[int], stamp: int) -> bool:
        """Whether joints at `where` are plausible; if not the problem is kept. Velocities may have gaps."""
        allowed = self.plausibility
        if allowed is None or not allowed.factor:
            return True
        before, elapsed = self.q.tolist(), [1e-9 * (stamp - self.stamp)] * len(q)  # all are of the last state
        found, last = dict[int, float](), dict[int, float]()
        if self._first or abs(elapsed[0]) > VOUCHED:
            if self._first:
                elapsed = [1e-9 * (stamp - int(self._times[k])) for k in where]
            for k, position, time in zip(where, q, elapsed):
                near = allowed.reachable(k, before[k], position, min(abs(time), VOUCHED))
                if not self.seen[k] or not near and abs(time) > VOUCHED:
                    if self.seen[k]:
                        last[k] = before[k]
                    found[k] = before[k] = position
        problem = allowed.problem(q, v, [before[k] for k in where], elapsed, where)
        if problem:
            self.problem, self.implausible = f"joint state refused: {problem}", True
            return False
        if not found:
            self._confirmation.clear(where)
            return True
        if self._brings_required and (problem := self.zeros.problem(q, v, where, last, allowed)):
            self.problem = problem
            return False
        zeros = self._brings_required and made_up(q, v, where, allowed)
        problem = self._confirmation.lacking(found, stamp, allowed, zeros)
        if problem:
            self.problem, self.doubted = problem, True
            self.implausible = self._confirmation.contradicted
        return not problem

    def _leave_fast_way(self) -> None:
        """Note what it leaves out: the time of each joint's position."""
        if not self._first:
            self._first = True
            self._times[self._targets] = self.stamp

    def _read_with_gaps(self, position: Any, velocity: Any, stamp: int) -> bool:
        """A message that does not bring everything."""
        if len(velocity) not in (0, len(position)):
            self.problem = f"joint state has {len(velocity)} velocities for {len(position)} joints"
            return False
        q = np.asarray(position, dtype=float)[self._sources]
        v = np.asarray(velocity, dtype=float)[self._sources] if len(velocity) else np.full_like(q, np.nan)
        usable = np.isfinite(q)
        for target in self._targets[~usable]:
            if self._is_required[target]:
                self.problem = f"joint state has no finite position for joint {self.names[target]!r}"
                return False
        targets, q, v = self._targets[usable], q[usable], v[usable]
        if np.isinf(v).any():
            infinite = self.names[targets[int(np.argmax(np.isinf(v)))]]
            self.problem, self.implausible = f"joint state has an infinite velocity of joint {infinite!r}", True
            return False
        if not self._plausible(q.tolist(), v.tolist(), targets.tolist(), stamp):
            return False
        v[~self._is_required[targets] & (not self._brings_required)] = 0.0
        self._leave_fast_way()
        if not self._fill_velocities(targets, q, v, stamp):
            return False
        if not self._plausible(q.tolist(), v.tolist(), targets.tolist(), stamp):
            return False  # found by differentiation
        self.q[targets], self.v[targets] = q, v
        self._times[targets], self._fresh[targets], self.seen[targets] = stamp, True, True
        self._forget_old()
        missing = self._required[~self._fresh[self._required]]
        if missing.size:
            self.problem = self._lack(int(missing[0]), stamp)
            return False
        self._fresh[:] = False
        self.stamp = stamp
        return True

    def _forget_old(self) -> None:
        """Forget what is older than the newest by too much: of several publishers one may have stopped."""
        if self.longest_age:
            newest = int(self._times[self._fresh].max())
            self._fresh &= newest - self._times <= round(self.longest_age * 1e9)

    def _lack(self, joint: int, stamp: int) -> str:
        """Why a message does not complete the state: this joint is missing, or was seen too long ago."""
        problem = f"joint state has no joint {self.names[joint]!r}"
        age = 1e-9 * (stamp - int(self._times[joint]))
        if not self.seen[joint] or not self.longest_age or age <= self.longest_age:
            return problem
        return f"{problem}, which was last seen {age:.3g} s ago, more than {self.longest_age:g} s"

    def _fill_velocities(self, targets: NDArray[np.intp], q: Array, v: Array, stamp: int) -> bool:
        """Put numbers in place of NaN in v; False if that is impossible for a required joint."""
        gaps = ~np.isfinite(v)
        required = gaps & self._is_required[targets]
        self.differentiated = ()
        if self.missing_velocity == "refuse" and required.any():
            self.problem = f"joint state has no velocity for joint {self.names[targets[required][0]]!r}"
            return False
        elapsed = 1e-9 * (stamp - self._times[targets])
        known = self.seen[targets] & (elapsed > 0.0) & (elapsed < LONGEST_DIFFERENCE)
        with np.errstate(over="ignore"):
            difference = (q - self.q[targets]) / np.where(known, elapsed, 1.0)
        known &= np.isfinite(difference)  # of absurd positions it is not
        v[gaps] = np.where(known, difference, 0.0)[gaps]
        self.differentiated = tuple(self.names[target] for target in targets[gaps])
        unknown = required & ~known
        if not unknown.any():
            return True
        name = self.names[targets[unknown][0]]
        if (self.seen[targets] & (elapsed <= 0.0)).any():
            self.problem = f"joint state without velocity of joint {name!r} is not newer than the last one"
            if (elapsed < -LONGEST_DIFFERENCE).any():  # the clock was set back: begin anew
                self.seen[targets] = False
        else:  # remember the position: the next message tells the velocity
            self.problem = f"no velocity of joint {name!r} yet, it is found by differentiation"
            self.q[targets], self._times[targets], self.seen[targets] = q, stamp, True
        return False


def _plain(numbers: Any) -> Sequence[float]:
    """Numbers of a message, arrays of one kind or another, to loop over."""
    return numbers if isinstance(numbers, (tuple, list)) else numbers.tolist()
