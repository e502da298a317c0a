# SPDX-License-Identifier: Apache-2.0
"""Drive gains, N m per ampere, from recordings of motor currents with and without a load that is known.

Gautier and Briot ("New method for global identification of the joint drive gains of robots using a known payload mass",
IROS 2011): the current of joint j is linear in the inertial parameters and in the inverse of its gain,

    i_j = Y_j (b / g_j) + y_j(known load) / g_j + friction_j,

with Y_j the regressor of the base parameters b, and no load in the recordings without it. Neither b nor friction need
be known: all of the gain comes from what the load adds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from rbd_dynamics.control.terms import WITHOUT_FRICTION
from rbd_dynamics.model.model import WORLD
from rbd_dynamics.model.payload import payload_inertia
from rbd_dynamics.replay.identification.base_errors import BaseErrors
from rbd_dynamics.replay.identification.estimates import Estimate, Plain
from rbd_dynamics.replay.identification.least_squares import solve
from rbd_dynamics.replay.identification.normal_equations import NormalEquations
from rbd_dynamics.replay.identification.payload import Load
from rbd_dynamics.replay.identification.samples import Preparation, dof_names, friction_columns
from rbd_dynamics.replay.signals.filtering import LowPass
from rbd_dynamics.replay.signals.segmentation import Segment
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]

NEGATIVE = "below zero: the sign of the efforts is reversed, or the load is not what was said"
SURE = 0.05  # of a gain, half its interval at most: known better than drives usually are calibrated
UNCERTAIN = "too uncertain to correct anything: the load adds too little to this joint's torque, or it moved too little"
WIDE = 100.0  # times their usual size, base parameters may be off: nothing of them is taken for known


@dataclass(frozen=True)
class DriveGains(Plain):
    """Factors by which efforts must be multiplied to be torques, by joint; with their intervals of 95 %."""

    gains: dict[str, Estimate]

    def to_yaml(self) -> str:
        """A file that `--effort-scale` reads, of the gains that are known."""
        known = {name: float(f"{gain.value:.6g}") for name, gain in self.gains.items() if gain.identifiable}
        return "# N m (or N) for each unit of the recorded efforts\n" + yaml.safe_dump({"drive_gains": known})


class DriveGainIdentifier:
    """Takes segments of recordings with the load and without it, gives `DriveGains`.

    Parameters:
        robot: without the load and without friction; its inertias need not be right.
        frame: where the known load is. load: what it is.
        low_pass: of all segments. terms: what the efforts contain.

    Raises KeyError for an unknown frame, ValueError for one fixed to the world.
    """

    def __init__(
        self, robot: Robot, frame: str, load: Load, *, low_pass: LowPass | None, terms: Any = WITHOUT_FRICTION
    ) -> None:
        if robot.model.frame(frame).body == WORLD:
            raise ValueError(f"frame {frame!r} is fixed to the world: no joint feels a load there")
        body, inertia = payload_inertia(robot.model, frame, load.mass, com=load.com, inertia=load.inertia)
        self._load = 10 * body + np.arange(10), np.array(inertia.parameters, dtype=float)
        self._prepare, self._base = Preparation(robot, low_pass, terms), BaseErrors(robot)
        self._names = dof_names(robot.model)
        sizes = [4 + len(self._base.felt[dof]) for dof in self._names]
        self._equations = NormalEquations([np.arange(size) for size in sizes], max(sizes, default=0))
        self._squares = np.zeros((2, len(sizes)))  # of efforts, and of what the load adds

    def add(self, segment: Segment, *, loaded: bool) -> None:
        """Raises ValueError for another number of joints or another sample rate."""
        samples = self._prepare(segment)
        if samples is None:
            return
        regressor = self._prepare.regressor(samples)
        columns, parameters = self._load
        for place, dof in enumerate(self._names):
            rows = samples.usable[:, dof]
            added = regressor[:, dof, columns] @ parameters if loaded else np.zeros(len(samples.stamps))
            parts = (added, friction_columns(samples, dof), regressor[:, dof, self._base.columns[dof]])
            both = np.column_stack(parts)[rows]
            self._equations.add(place, samples.stamps[rows], both, samples.measured[rows, dof])
            self._squares[:, place] += np.square(samples.measured[rows, dof]).sum(), np.square(both[:, 0]).sum()

    def results(self) -> DriveGains:
        """Gains of the joints that have samples; not identifiable where the load adds too little to the effort."""
        found = {}
        for place, (dof, name) in enumerate(self._names.items()):
            if not self._equations.samples[place]:
                continue
            effort, torque = np.sqrt(self._squares[:, place] / self._equations.samples[place])
            unit = effort / torque if torque > 0.0 else 1.0
            equations = self._equations.combined(place, np.eye(len(self._equations.columns[place])))
            base = WIDE * unit * self._base.scale[self._base.felt[dof]]
            fit = solve(equations, np.concatenate([[unit], np.full(3, effort), base]))
            known = bool(fit.identifiable[0] and torque > 0.0)
            inverse = Estimate.of(name, fit.values[0], fit.errors[0], fit.quantile, "", known)
            gain = inverse_of(inverse)
            uncertain = gain.identifiable and gain.upper - gain.lower > 2.0 * SURE * abs(gain.value)
            found[name] = gain.refused(UNCERTAIN) if uncertain else gain
        return DriveGains(found)


def inverse_of(found: Estimate) -> Estimate:
    """One over an estimate whose interval does not hold zero."""
    if not found.identifiable or found.lower <= 0.0 <= found.upper:
        return Estimate.of(found.name, 0.0, 0.0, 0.0, "", False)
    value = 1.0 / found.value
    turned = Estimate(found.name, value, found.error * value**2, 1.0 / found.upper, 1.0 / found.lower, "", True)
    return turned if value > 0.0 else turned.refused(NEGATIVE)
