# SPDX-License-Identifier: Apache-2.0
"""Do commanded efforts act on a robot? Evidence of what it measures: of its efforts, and of its motion.

Both say nothing where nothing can be told: a robot at rest under its holding efforts looks as one whose brakes hold it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.safety.effort_envelope import EffortEnvelope

Array = NDArray[np.float64]
SHARE = 0.05  # of the effort limit: measured efforts that follow commands are no farther from them
LEARN = 50  # measurements in a row after which they are known to follow
LOSE, RETURN = 10, 20  # measurements in a row that do not, or do again

WINDOW = 100_000_000  # ns: over which motion is looked at
EXCESS = 0.4  # of the effort limit, more than holds the robot and its load: friction is less
SETTLING = 1.0  # s: loads are known after a few times this
LEAST_SPEED = 0.5  # rad/s, m/s that this should have given within a window
NONE = 0.1  # share of it below which the efforts had no effect
WINDOWS = 2  # in a row
REST = 20  # windows in a row at rest, after which nothing speaks against trying again


class EffortEvidence:
    """Measured efforts that have followed the commands, and do not any more.

    Many drivers report efforts of another kind, without gravity or none: only those that were seen to follow, at least
    one of them by a tenth of its limit, tell anything.

    Parameters:
        joints: of the efforts.
    """

    def __init__(self, joints: Sequence[str]) -> None:
        self._joints = tuple(joints)
        self._envelope = EffortEnvelope(len(joints))
        self.reset()

    def reset(self) -> None:
        """Nothing is known."""
        self._envelope.reset()
        self._following = self._off = self._on = 0
        self._lost = ""

    def commanded(self, efforts: Array, time: int) -> None:
        """Take in what is commanded at a time (ns)."""
        self._envelope.commanded(efforts, time)

    def problem(self, measured: Array, limits: Array, time: int) -> str:
        """Why they do not reach the motors; empty: they do, or that cannot be told.

        measured: NaN where it is not; limits: of efforts (joints).
        """
        if not np.isfinite(measured).all() or not np.isfinite(limits).all():
            return self._lost
        tolerance = SHARE * limits
        known = self._following >= LEARN
        off = self._envelope.problem(measured, 2.0 * tolerance if known else tolerance, self._joints, time)
        if not known:
            says = bool((np.abs(measured) > 2.0 * tolerance).any())
            self._following = 0 if off else self._following + says
            return ""
        self._off, self._on = (self._off + 1, 0) if off else (0, self._on + 1)
        if self._off >= LOSE:
            self._lost = f"measured efforts no longer follow: {off}"
        elif self._on >= RETURN:
            self._lost = ""
        return self._lost


class MotionEvidence:
    """Efforts far beyond those that hold the robot, under which it does not move as they should move it.

    Over a window its momentum changes by the impulse J of what exceeds the holding efforts: M dv = J. The share
    J . dv / J . M^-1 J of that is one where they act, and none where they do not. The model's gravity does not hold a
    robot that carries an unknown load, stands at a stop or compensates gravity itself: what its momentum has lacked so
    far, through a low-pass filter as in a momentum observer, counts as well. So does what the description's joint
    friction would take, as far as it explains the rest: a robot may have it, or compensate it itself.

    Parameters:
        joints: of the efforts, all of the robot's.
    """

    def __init__(self, joints: Sequence[str]) -> None:
        self._joints, self._last = tuple(joints), np.zeros(len(joints))
        self._impulse, self._rubbed, self._load = (np.zeros(len(joints)) for _ in range(3))
        self.reset()

    def reset(self) -> None:
        """Nothing is known."""
        self._known = False
        self._begin: tuple[int, Array] | None = None
        self._time = 0
        self._load[:] = 0.0
        self._without = self._resting = 0  # windows in a row without effect, and at rest
        self._lost = ""

    def commanded(self, efforts: Array) -> None:
        """Take in what is commanded."""
        self._last[:], self._known = efforts, True

    def problem(
        self, held: Array, limits: Array, v: Array, time: int, mass: Callable[[], Array], friction: Array | float = 0.0
    ) -> str:
        """Why they do not reach the motors; empty: they do, or that cannot be told.

        Parameters:
            held: efforts that hold the robot still where it is (joints).
            limits: of efforts (joints).
            v: measured velocities (joints).
            time: of these, ns.
            mass: returns M (joints, joints).
            friction: what joint friction takes at v by the description (joints).
        """
        if self._begin is None or not self._known or not 0 <= time - self._time < WINDOW:
            self._start(time, v)
            return self._lost
        self._impulse[:] += 1e-9 * (time - self._time) * (self._last - held)
        self._rubbed[:] += 1e-9 * (time - self._time) * friction
        self._time = time
        passed = time - self._begin[0]
        if passed < WINDOW:
            return self._lost
        seconds, M, did = 1e-9 * passed, mass(), v - self._begin[1]
        driving = self._impulse - np.clip(self._impulse, np.minimum(self._rubbed, 0.0), np.maximum(self._rubbed, 0.0))
        impulse = driving + seconds * self._load
        excess = np.abs(impulse) / (seconds * np.maximum(limits, 1e-9))
        should = np.linalg.solve(M, impulse)
        self._resting += 1
        if excess.max(initial=0.0) > EXCESS and np.abs(should).max() > LEAST_SPEED:
            self._resting = 0
            share = float(impulse @ did / (impulse @ should))
            self._without = self._without + 1 if share < NONE else 0
            if self._without >= WINDOWS:
                joint = self._joints[int(excess.argmax())]
                self._lost = (
                    f"the robot does not move as its efforts should move it, by {100.0 * share:.0f} % of that, joint "
                    f"{joint!r}: are the drives off, its brakes on, is another controller active, or is it held fast?"
                )
        elif np.abs(v).max(initial=0.0) > LEAST_SPEED:
            self._resting = 0
        if self._resting >= REST:
            self._without, self._lost = 0, ""
        self._load += min(seconds / SETTLING, 1.0) * ((M @ did - driving) / seconds - self._load)
        self._start(time, v)
        return self._lost

    def _start(self, time: int, v: Array) -> None:
        self._begin, self._time = (time, v.copy()), time
        self._impulse[:] = self._rubbed[:] = 0.0
