# SPDX-License-Identifier: Apache-2.0
"""Power and work of the joints, and where the energy went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.replay.identification.estimates import Plain
from rbd_dynamics.replay.signals.segmentation import Segment
from rbd_dynamics.replay.torques.actuator_torque import actuator_torque
from rbd_dynamics.replay.torques.comparison import Prediction
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]

# weights of the first samples of a stretch for the integral of a smooth function (Gregory's rule), to fourth order
ENDS = np.array([3.0 / 8.0, 7.0 / 6.0, 23.0 / 24.0])


@dataclass(frozen=True)
class JointEnergy:
    """Mechanical power of a joint's actuator, W, and work, J.

    Attributes:
        mean_power: of the measured torque, over the time; largest_power: its largest size.
        work_in, work_out: where the power is positive, and where it is negative (at most zero).
        predicted_work: work_in and work_out together, by the model's torque.
    """

    name: str
    mean_power: float
    largest_power: float
    work_in: float
    work_out: float
    predicted_work: float


@dataclass(frozen=True)
class EnergyResult(Plain):
    """Energy balance of a recording. J; None where a moving joint has no measured effort.

    Attributes:
        duration: s.
        work: of all measured torques.
        change: of kinetic and potential energy by the model, over the segments.
        lost: work less change: friction, and the model's errors.
        kinetic, potential: smallest and largest value.
    """

    joints: tuple[JointEnergy, ...]
    duration: float
    work: float | None
    change: float
    lost: float | None
    kinetic: tuple[float, float]
    potential: tuple[float, float]


class Energy:
    """Adds up, stretch by stretch.

    Parameters:
        robot: without friction.
        names: of the degrees of freedom (nv).
        terms: what the measured efforts contain (`Settings.terms`).
    """

    def __init__(self, robot: Robot, names: Sequence[str], terms: Sequence[str]) -> None:
        self._robot, self._names, self._terms = robot, tuple(names), tuple(terms)
        nv = len(self._names)
        self._sums = np.zeros((4, nv))  # integrals: power, its positive and negative part, predicted power
        self._largest = np.zeros(nv)
        self._measured = np.zeros(nv, dtype=bool)
        self._moves = np.zeros(nv, dtype=bool)
        self._duration = self._change = 0.0
        self._range = np.array([[np.inf, -np.inf], [np.inf, -np.inf]])
        self._number = -1
        self._tail = np.zeros((0, 4, nv))  # of the last samples' powers, whose weights depend on what follows
        self._begins = True
        self._dt = self._mechanical = 0.0

    def add(self, segment: Segment, prediction: Prediction) -> None:
        """Stretches of one segment must come in order."""
        if not len(segment):
            return
        power = actuator_torque(segment, prediction, self._terms) * segment.v
        parts = np.stack([power, np.maximum(power, 0.0), np.minimum(power, 0.0), prediction.tau * segment.v], axis=1)
        kinetic = np.atleast_1d(self._robot.kinetic_energy(segment.q, segment.v))
        potential = np.atleast_1d(self._robot.potential_energy(segment.q))
        for k, values in enumerate((kinetic, potential)):
            self._range[k] = min(self._range[k, 0], values.min()), max(self._range[k, 1], values.max())
        self._largest = np.maximum(self._largest, np.abs(power).max(axis=0))
        self._measured |= segment.measured
        self._moves |= (segment.v != 0.0).any(axis=0)
        total = kinetic + potential
        if segment.number != self._number:
            self._finish()
            self._number, self._mechanical = segment.number, total[0]
            self._begins = True
        if len(segment) > 1:
            self._dt = float(segment.t[-1] - segment.t[0]) / (len(segment) - 1)
        self._change += total[-1] - self._mechanical
        self._mechanical = total[-1]
        self._integrate(parts)

    def _integrate(self, parts: Array) -> None:
        """All but the last three samples are weighed now: the last ones of a segment count less."""
        together = np.concatenate([self._tail, parts])
        if self._begins and len(together) >= 2 * len(ENDS):
            together[: len(ENDS)] *= ENDS[:, None, None]
            self._begins = False
        sure = max(0, len(together) - len(ENDS)) if not self._begins else 0
        self._sums += self._dt * together[:sure].sum(axis=0)
        self._duration += self._dt * sure
        self._tail = together[sure:]

    def _finish(self) -> None:
        tail = self._tail
        if len(tail):
            weights = np.ones(len(tail))
            if self._begins:  # a short segment: trapezia
                weights[[0, -1]] = 0.5 if len(tail) > 1 else 0.0
            else:
                weights = ENDS[::-1]
            self._sums += self._dt * np.einsum("n,nkj->kj", weights, tail)
            self._duration += self._dt * (len(tail) - 1)
        self._tail = tail[:0]

    def merge(self, other: Energy) -> None:
        """Add what was found elsewhere. Raises ValueError for other joints or terms."""
        if (self._names, self._terms) != (other._names, other._terms):
            raise ValueError("cannot merge energies of other joints or terms")
        self._finish()
        other._finish()
        self._sums += other._sums
        self._duration += other._duration
        self._change += other._change
        self._largest = np.maximum(self._largest, other._largest)
        self._measured |= other._measured
        self._moves |= other._moves
        self._range[:, 0] = np.minimum(self._range[:, 0], other._range[:, 0])
        self._range[:, 1] = np.maximum(self._range[:, 1], other._range[:, 1])

    def results(self) -> EnergyResult:
        """Energy balance of all that was added."""
        self._finish()
        power, gained, spent, predicted = self._sums
        seconds = max(self._duration, 1e-300)
        joints = tuple(
            JointEnergy(
                self._names[k], power[k] / seconds, float(self._largest[k]), float(gained[k]), float(spent[k]),
                float(predicted[k]),
            )
            for k in np.flatnonzero(self._measured)
        )  # fmt: skip
        complete = not (self._moves & ~self._measured).any()
        work = float(power[self._measured].sum()) if complete else None
        lost = None if work is None else work - float(self._change)
        (low, high), (lowest, highest) = self._range.tolist()
        return EnergyResult(
            joints, float(self._duration), work, float(self._change), lost, (low, high), (lowest, highest)
        )
