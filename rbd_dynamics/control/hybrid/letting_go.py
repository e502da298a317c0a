# SPDX-License-Identifier: Apache-2.0
"""The force that can be let go in time where contact is lost, so that the tool does not go far.

Efforts fall no faster than their rates allow, and actuators follow late; meanwhile a force F moves a mass m by F / m.
How far that leads is reckoned along the normal, joint by joint, until the tool stands.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.compiler.loops import Loops
from rbd_dynamics.control.hybrid.normal_speed import BRAKING

if TYPE_CHECKING:
    from rbd_dynamics.compiler.loops import Bound

Array = NDArray[np.float64]
STEP = 0.001  # s
UNSEEN = 3  # steps from when contact is lost to when the push falls
LONGEST = 200  # steps
HALVINGS = 8
#: s: a lost contact is reckoned to go no farther than `normal_speed` does in that time. It goes up to one and a half
#: times as far, as joints whose efforts are late turn the tool as well, and the law holds that against them
LOST = 0.06


def way_of(
    n: int, row: Array, gain: Array, rates: Array, brake: Array, felt: Array, wanted: Array, found: Array
) -> int:
    """found[2]: how far (m) a tool goes that has pushed with found[0] when its contact is lost.

    row, gain (n): of efforts, for each N; of the acceleration along the normal, for each unit of effort. rates (n):
    of efforts. brake: N s/m; share of its lag that an actuator makes up for in a step.
    """
    force = found[0]
    for i in range(n):
        wanted[i] = force * row[i]
        felt[i] = wanted[i]
    before = 0.0
    speed = 0.0
    way = 0.0
    for k in range(LONGEST):
        acceleration = 0.0
        for i in range(n):
            if k >= UNSEEN:
                change = -brake[0] * before * row[i] - wanted[i]
                wanted[i] = wanted[i] + max(-STEP * rates[i], min(STEP * rates[i], change))
            felt[i] = felt[i] + brake[1] * (wanted[i] - felt[i])
            acceleration = acceleration + gain[i] * felt[i]
        before = speed
        speed = speed + STEP * acceleration
        if speed <= 0.0 and k > UNSEEN:
            break
        way = way + STEP * speed
    found[2] = way
    return 1


def let_go(
    n: int, row: Array, gain: Array, rates: Array, brake: Array, felt: Array, wanted: Array, found: Array
) -> int:
    """found[0]: the largest force, up to what it is, with which the way is at most found[1]. See `way_of`."""
    done = way_of(n, row, gain, rates, brake, felt, wanted, found)
    if found[2] <= found[1]:
        return done
    low = 0.0
    high = found[0]
    for _ in range(HALVINGS):
        found[0] = 0.5 * (low + high)
        done = way_of(n, row, gain, rates, brake, felt, wanted, found)
        if found[2] <= found[1]:
            low = found[0]
        else:
            high = found[0]
    found[0] = low
    return done


@functools.cache
def _loops() -> Loops:
    return Loops(way_of, let_go, machine_code=True)


class LettingGo:
    """The force that can be let go in time.

    Parameters:
        nv: degrees of freedom.

    Attributes:
        rates (nv): N m/s or N/s, at which efforts may change then; infinite where they may jump.
        lag: s, of the actuators.
    """

    def __init__(self, nv: int) -> None:
        self.rates, self.lag = np.full(nv, np.inf), 0.0
        self._row, self._gain, self._most = np.zeros(nv), np.zeros(nv), np.zeros(nv)
        self._brake, self._found = np.zeros(2), np.zeros(3)
        arrays = self._row, self._gain, self._most, self._brake, np.zeros(nv), np.zeros(nv), self._found
        self._bound: Bound = _loops().bind(nv, *arrays)

    def largest(self, row: Array, response: Array, damping: float, normal_speed: float, most: float) -> float:
        """N, up to `most`.

        row (nv): of the constraint. response (nv): M^-1 row. damping: 1/s, of motion along the normal. normal_speed:
        m/s; 0: any force.
        """
        if not normal_speed:
            return most
        self._row[:], self._gain[:] = row, response
        self._most[:] = np.minimum(self.rates, 1e12)
        mass = 1.0 / max(float(row @ response), 1e-9)
        self._brake[:] = BRAKING * damping * mass, 1.0 - math.exp(-STEP / self.lag) if self.lag else 1.0
        self._found[:] = most, LOST * normal_speed, 0.0
        self._bound.run()
        return float(self._found[0])
