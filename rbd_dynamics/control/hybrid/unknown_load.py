# SPDX-License-Identifier: Apache-2.0
"""What a model lacks of an arm that is held, such as a load at its tool, is found from its motion and made up for.

A law whose gains come from the mass matrix is soft where links are light: what they carry unknown pulls them down. A
disturbance observer (Ohnishi, Shibata and Murakami, 1996) finds it: the efforts r that commanded ones do not explain,

    r' = K (M dv/dt - (tau - bias) - r) - L r

With the law u = -M (D v + S x) of holding, where D is damping and S stiffness, and the rate L = S / D of forgetting,
-r makes it -M (D v + (S + K D) x) - K M v s / (s + L): stiffer, and more damped where it is fast. It is a spring and
dampers, and so passive whatever it meets; nothing adds up while somebody holds the arm, a brake or friction.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.hybrid.stability import Plant, load_rate

Array = NDArray[np.float64]

EFFORT = 0.1  # of the effort limits: a model that is more wrong is another robot's
#: of the velocity limits: joints are about as fast as these where what they are held against is gone at once, as
#: efforts are late
SPEED = 0.6
GROWTH = 0.02  # s, in which that may come: the blow of a contact, which is felt later, is shorter
AVERAGE = 0.02  # share of a period in what is known of them
STEPS, SLACK = 2, 0.2  # of what is known of the period: to twice as long a one; of a step


class UnknownLoad:
    """Efforts against what acts on an arm beside its model and what is felt at its tool.

    Parameters:
        nv: degrees of freedom.

    Attributes:
        plant: what stands between the arm and its control; its period counts where states come no slower.
        efforts (nv): that make up for it, N m or N.
    """

    def __init__(self, nv: int) -> None:
        self.plant = Plant()
        self.efforts = np.zeros(nv)
        self._found, self._felt, self._driven, self._before = (np.zeros(nv) for _ in range(4))
        self._known = False  # velocity and efforts before
        self._period = 0.0

    def reset(self) -> None:
        """Begin anew: nothing is known."""
        for each in (self.efforts, self._found, self._felt, self._driven):
            each[:] = 0.0
        self._known = False

    def rate(self, stiffness: float, damping: float, dt: float) -> float:
        """K in 1/s, for a law of that stiffness (1/s^2) and damping (1/s), dt (s) after the last state."""
        self._period += (AVERAGE if self._period else 1.0) * (dt - self._period)
        longer = math.ceil(STEPS * math.log2(max(self._period / self.plant.period, 1.0)) - SLACK)
        plant = self.plant
        if longer > 0:
            plant = replace(plant, period=plant.period * 2.0 ** (longer / STEPS))
        return load_rate(stiffness, damping, plant)

    def update(
        self,
        M: Array,
        v: Array,
        felt: Array,
        dt: float,
        *,
        stiffness: float,
        damping: float,
        most: Array,
        speeds: Array,
    ) -> Array:
        """Efforts (nv), the same array each time.

        Parameters:
            M (nv, nv), v (nv): mass matrix, and velocity as it is measured dt (s, not zero) after the last.
            felt (nv): efforts on the joints by what the tool is felt to touch.
            stiffness, damping: of holding, 1/s^2 and 1/s.
            most, speeds (nv): limits of efforts and velocities.
        """
        rate = self.rate(stiffness, damping, dt)
        if not rate:
            self.reset()
            return self.efforts
        keep, found = math.exp(-rate * dt), self._found
        if self._known:
            found *= keep
            found += (1.0 - keep) * (M @ (v - self._before) / dt - self._driven)
            found *= math.exp(-stiffness / damping * dt)
        self._felt += (1.0 - keep) * (felt - self._felt)
        self._before[:], self._known = v, True
        # what is felt is no reason to push harder, and never one to push the other way: sensors may be wrong
        wanted = np.clip(self._felt, np.minimum(found, 0.0), np.maximum(found, 0.0)) - found
        largest, fastest = EFFORT * most, SPEED * (damping + rate) * speeds
        wanted[largest <= 0.0] = 0.0
        bound: Array = np.where(largest > 0.0, largest, np.inf)
        moved: Array = np.asarray(np.linalg.solve(M, wanted), dtype=float)
        share = min(share_within(bound, wanted), share_within(fastest, moved))
        grows = largest * (dt / GROWTH)
        self.efforts += np.clip(share * wanted - self.efforts, -grows, grows)
        return self.efforts

    def forget(self, stiffness: float, damping: float, dt: float) -> Array:
        """Efforts (nv), dt seconds after the last, where nothing can be found: they fade as fast as it forgets."""
        kept = math.exp(-stiffness / damping * dt) if damping else 0.0
        for each in (self.efforts, self._found):
            each *= kept
        self._known = False
        return self.efforts

    def driven(self, efforts: Array, dt: float) -> None:
        """Take in what has driven the joints (nv) for dt seconds: efforts beyond those with which nothing moves."""
        lag = self.plant.actuator_bandwidth
        share = 1.0 - math.exp(-2.0 * math.pi * lag * dt) if lag else 1.0
        self._driven += share * (efforts - self._driven)


def share_within(most: Array, values: Array) -> float:
    """The share of values (nv), at most 1, of which none is beyond `most`."""
    return min(1.0, float((most / np.maximum(np.abs(values), 1e-12)).min(initial=1.0)))
