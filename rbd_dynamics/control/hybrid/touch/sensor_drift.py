# SPDX-License-Identifier: Apache-2.0
"""Whether a force sensor drifts, by what joint torques say.

While a tool stands and presses, what joint torques press with and what is felt differ by what the model has wrong and
by friction, which stay as they are. Where the difference grows nevertheless, the sensor's zero does. What they press
with follows from their static balance, which needs neither inertias nor integrals: what a law commands along the
surface to a tool that friction holds finds its way into the force as well.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.hybrid.controller import HybridController
from rbd_dynamics.control.hybrid.law import HybridOutput
from rbd_dynamics.spatial.rank import pseudoinverse, size_of

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
STANDS = 1e-3  # m/s, rad/s
SMOOTHING = 0.3  # s
SETTLES = 1.0  # s, for which it has stood before anything is told
CHANGE = 0.05  # of the wanted force, that is none
SLOWLY = 1.0  # s, in which it may change so far: what can be let go is looked at again and again
LEAST, SHARE = 1.0, 0.05  # N, and of the wanted force: what it may change by
LASTS = 0.3  # s, for which it has changed by more
JERK = 3.0  # N: what differs by more counts as that: near singular postures a jerk of efforts presses with any force
EVERY = 0.01  # s between two looks at joint torques


def pressed_by_joints(controller: HybridController, q: Array, tau: Array) -> Array:
    """Multipliers (m) that efforts (nv) press with where nothing moves at q (nq), by their balance with the weight."""
    robot, still = controller.robot, np.zeros(controller.robot.model.nv)
    rows = robot.constraint_rows(q, still, controller.rows).A
    held = robot.inverse_dynamics(q, still, still)
    pressed = pseudoinverse(rows.T, scale=size_of(rows)) @ (held - tau)
    return np.asarray(pressed[: controller.m])


class SensorDrift:
    """Watches the difference while a tool stands.

    Parameters:
        pressed: multipliers (m) that joint torques press with, of q and efforts, as `pressed_by_joints`.
        rows (m): which of the constraints can only push; only they count.

    Attributes:
        found: N, by which what is felt has come to be more than joint torques press with, since the tool stands.
        told: the same where it is more than friction makes; kept until the next contact.
    """

    def __init__(self, pressed: Callable[[Array, Array], Array], rows: Mask) -> None:
        self._pressed = pressed
        self._seen: list[float] = []  # until it has stood for a while
        self._row = int(np.flatnonzero(rows)[0]) if rows.any() else -1
        self.begin()

    def begin(self) -> None:
        """A new contact."""
        self.found = self.told = 0.0
        self._stands = self._smooth = self._first = self._rate = self._wanted = self._since = self._lasts = 0.0
        self._pushed = 0.0

    def update(self, q: Array, out: HybridOutput, felt: Array, force: Array, dt: float, *, known: bool) -> None:
        """A step at q has commanded `out`, felt (m) and wanted a force (m). known: the tool pressed by what is felt."""
        row = self._row
        if row < 0:
            return
        wanted, share = float(force[row]), min(1.0, dt / SMOOTHING)
        self._rate += share * (float(out.drift[row]) - self._rate)
        moves = not known or abs(self._rate) > STANDS or max(map(abs, out.rate.tolist())) > 10.0 * STANDS
        # a wanted force that gives way to what the integral adds leaves what is pressed as it is
        pushed = float(out.force[row])
        other = abs(wanted - self._wanted) > CHANGE * abs(wanted)
        if other and abs(pushed - self._pushed) > CHANGE * abs(pushed):
            moves, self._wanted, self._pushed = True, wanted, pushed
        self._wanted += min(1.0, dt / SLOWLY) * (wanted - self._wanted)
        self._pushed += min(1.0, dt / SLOWLY) * (pushed - self._pushed)
        if moves or abs(felt[row] - wanted) > LEAST + 0.2 * wanted:
            self._stands = self._lasts = 0.0
            return
        self._since += dt
        if not self._stands:
            self._seen.clear()
        if not self._seen or self._since >= EVERY:
            self._take(float(felt[row]) - float(self._pressed(q, out.tau)[row]))
        self._stands += dt
        self.found = self._smooth - self._first
        self._lasts = self._lasts + dt if abs(self.found) > LEAST + SHARE * wanted else 0.0
        if self._lasts > LASTS:
            self.told = self.found

    def _take(self, away: float) -> None:
        """What is felt beside what joint torques press with, N."""
        if self._stands < SETTLES:
            self._seen.append(away)
            self._first = self._smooth = statistics.median(self._seen)
        self._smooth += min(1.0, self._since / SMOOTHING) * max(-JERK, min(JERK, away - self._smooth))
        self._since = 0.0
