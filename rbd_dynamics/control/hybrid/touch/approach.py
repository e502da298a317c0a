# SPDX-License-Identifier: Apache-2.0
"""The way to a surface: a speed that is held against errors of the model, and a sensor that is watched meanwhile.

The rows that can be left follow a reference that moves with the wanted speed, by a damper and a spring to it of the
effective inertia m, m (c (v_ref - hdot) + c^2 / 4 (x_ref - h)): what the model gets wrong ends up in the spring, and
the speed stays (theory.md section 8). The spring's force is bounded, and so are way and time.

There is contact once the reading has risen by `contact_force` for `contact_debounce`. What it read while the tool
moved freely is the sensor's offset. A tool that touched from the begin shows within a millimetre: its force changes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.hybrid.limits import HybridLimits
from rbd_dynamics.control.hybrid.touch.contact_sense import ContactSense

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

RAMP = 0.2  # s, in which the speed is reached
STUCK = 0.5  # s at the bound of the force
FREE_WAY = 6e-4  # m, after which a reading that has not changed is no contact's
FREE_ANYWAY = 1.5e-3  # m/N of contact_force: softer contacts than 1e3 N/m are not known
FREE_CHANGE = 0.3  # of contact_force
SMOOTHING = 0.02  # s, of what is compared
SLOW = 0.3  # share of the speed: a tool that is slower is held up
LEAST_RATE = 4.0  # N/s, of the push that is held up
PULL = 2.0  # of contact_force: a reading that has fallen so far is not noise
SETTLED = 0.1  # s, after which the zero is known
#: of contact_force a second: the zero follows a reading that drifts so slowly. What a light arm's push, which grows by
#: m c^2 / 4 times the speed, does to a hard surface is faster
DRIFT = 0.1
BLOW = 0.9  # share of the joints' velocity limits that a blow may take
MEMORY = 0.25  # s; what counts is the zero of one to two times this ago: a soft contact begins before it is felt


def fastest_approach(jolt: Array, velocity_limits: Array) -> float:
    """m/s, at which a blow makes no joint faster than its limit: the tool may come back as fast as it went.

    jolt (nv, m): joint speeds for each 1 m/s that a blow takes from a row. velocity_limits (nv).
    """
    most = BLOW * velocity_limits[:, None] / np.maximum(2.0 * np.abs(jolt), 1e-9)
    return float(most.min(initial=np.inf))


class Approach:
    """One approach. Rows: those of the constraints (m); only `rows` of them, that can be left, count.

    Parameters:
        rows (m): which are one-sided. inertia (m): kg. push (m): N, with which it begins. h (m): of the constraints.
        measured (m): what the sensor reads.
        fastest: m/s, whatever the limits allow.
        damping: normal_damping of the controller, 1/s.
        ramp: s, in which the speed is reached.
        zero (m): what the sensor reads in free motion, where that is known: a tool that has bounced may touch again
            before the approach begins. Otherwise it is what the sensor reads at first.
    """

    def __init__(
        self,
        rows: Mask,
        inertia: Array,
        push: Array,
        h: Array,
        measured: Array,
        damping: float,
        limits: HybridLimits,
        *,
        fastest: float = np.inf,
        ramp: float = RAMP,
        zero: Array | None = None,
    ) -> None:
        self.rows, self.limits, self.fastest, self._ramp, self._inertia = rows, limits, fastest, ramp, inertia
        self.stiffness = np.where(rows, inertia, 0.0) * (0.25 * damping * damping)  # N/m
        most = limits.approach_force
        self.push = np.clip(np.where(rows, push, 0.0), -most, most)
        self.velocity = np.zeros(len(rows))
        self.free = False  # whether it is known that the tool touched nothing
        self._zero_known = zero is not None
        first = np.where(rows, measured, 0.0)
        self._zero = first.copy() if zero is None else np.where(rows, zero, 0.0)  # of the reading, as it drifts
        self._begin, self._first, self._recent = h.copy(), first, first.copy()
        self._first_push = self.push.copy()
        self._before = [self._zero.copy(), self._zero.copy()]
        self._pushes = [self.push.copy(), self.push.copy()]
        self._count, self._slow, self._flies = 0, False, False
        self._time = self._above = self._below = self._stuck = self._remembered = 0.0

    @property
    def offset(self) -> Array:
        """What the sensor read in free motion (m)."""
        return self._before[0]

    @property
    def zero(self) -> Array:
        """What the sensor is taken to read in free motion now (m)."""
        return self._zero

    @property
    def free_push(self) -> Array:
        """What free motion needed beside the model (m): before anything was touched."""
        return self._pushes[0]

    def step(self, h: Array, drift: Array, dt: float) -> str:
        """Velocity and push for the next state, after violations h (m) and their rates. The reason to stop, or none."""
        limits, rows = self.limits, self.rows
        self._time += dt
        speed = min(limits.approach_speed, self.fastest) * (min(1.0, self._time / self._ramp) if self._ramp else 1.0)
        self.velocity[rows] = -speed
        most = limits.approach_force
        self._slow = bool((-drift[rows] < SLOW * speed).any())
        self._flies = bool((drift[rows] > speed).any())
        rate = self.stiffness * (drift + speed)
        if self._slow:  # a light arm's spring alone would take minutes to show that it touches
            rate = np.where(rows, np.maximum(rate, LEAST_RATE), rate)
        self.push += rate * dt
        np.clip(self.push, -most, most, out=self.push)
        self._stuck = self._stuck + dt if (np.abs(self.push[rows]) >= most).any() else 0.0
        way = float((self._begin - h)[rows].max())
        if self._below > 0.0 and self._below >= limits.contact_debounce:
            return (
                "approach stopped: the sensor reads a pull where the tool stands and pushes: it seems to report the "
                "wrench that the robot exerts, not the one on it (wrench_of_robot: true)"
            )
        if self._stuck > STUCK:
            return (
                f"approach stopped: it needs more than approach_force ({most:g} N) to keep its speed: something is in "
                f"the way, the sensor does not feel the contact, or the model is wrong by so much"
            )
        if way > limits.approach_distance:
            return f"no contact after {way:.3g} m, more than approach_distance ({limits.approach_distance:g})"
        if -way > limits.constraint_tolerance:
            return f"approach stopped: the tool moves away from the surface, by {-way:.3g} m"
        if self._time > limits.approach_timeout:
            return f"no contact after {self._time:.3g} s, more than approach_timeout ({limits.approach_timeout:g})"
        return ""

    def impact(self, row: int, force: float) -> str:
        """What made a force (N) as the tool touched: a blow v sqrt(k m), whose stiffness k is told by it."""
        speed = min(self.limits.approach_speed, self.fastest)
        if not self.rows[row] or not speed:
            return ""
        stiffness = (force / speed) ** 2 / float(self._inertia[row])
        return (
            f": the impact of the approach at {1e3 * speed:.3g} mm/s, as on {stiffness:.1g} N/m; "
            "a lower approach_speed makes it smaller"
        )

    @property
    def unfelt(self) -> bool:
        """Something is in the way: the tool stands, though it is pushed by more than counts as contact.

        One that flies off, as where friction has let go of it, stands against nothing.
        """
        more = (self.push - self._first_push)[self.rows]
        return self._slow and not self._flies and bool((more > 2.0 * self.limits.contact_force).any())

    def touches(self, h: Array, measured: Array, dt: float, *, noise: ContactSense) -> bool:
        """Whether the reading has changed as by contact, and by more than noise; watches it where it has not."""
        limits, rows = self.limits, self.rows
        reading = np.where(rows, measured, 0.0)
        if bool((reading[rows] - self._zero[rows] >= limits.contact_force).all()):
            self._above += dt
            if self._above >= limits.contact_debounce and noise.smooth >= noise.least:
                return True
        else:
            self._above = 0.0
        if self._above > 0.5 * limits.contact_debounce:  # what is above for a shorter time is noise as well
            return False
        pulled = bool((self._zero[rows] - reading[rows] >= PULL * limits.contact_force).all())
        self._below = self._below + dt if pulled and self.unfelt else 0.0
        self._count += 1
        average = 1.0 / self._count
        if self._time < SETTLED and not self._zero_known:
            self._zero += average * (reading - self._zero)
        elif not self._slow:  # what stands may stand against something
            most = DRIFT * limits.contact_force * dt
            self._zero += np.clip(reading - self._zero, -most, most)
        if self._time >= self._remembered + MEMORY:
            self._remembered = self._time
            self._before = [self._before[1], self._zero.copy()]
            self._pushes = [self._pushes[1], self.push.copy()]
        self._recent += max(average, min(1.0, dt / SMOOTHING)) * (reading - self._recent)
        way = float((self._begin - h)[rows].min())
        if way < 0.1 * FREE_WAY:
            self._first[:] = self._recent
            self._before[0][:] = self._before[1][:] = self._zero
            self._pushes[0][:] = self._pushes[1][:] = self.push
        change = float((self._recent - self._first)[rows].max())
        if way >= FREE_WAY and change < FREE_CHANGE * limits.contact_force:
            self.free = True
        elif way >= FREE_ANYWAY * limits.contact_force:
            self.free = True
        return False
