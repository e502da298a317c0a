# SPDX-License-Identifier: Apache-2.0
"""Why hybrid position/force control may not begin or go on, in words with the figures."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.hybrid.controller import HybridController, HybridOutput
from rbd_dynamics.control.hybrid.limits import HybridLimits

Array = NDArray[np.float64]
NEARLY_SINGULAR = 0.01  # smallest singular value of the rows, rad or m a rad or m
SINGULAR = "singular: the arm is where constraints and task cannot all be controlled"


class HybridChecks:
    """Each answer is empty if it may.

    Parameters:
        controller: what is checked.
        rows (m): those of the constraints that can be left.

    Attributes:
        at_contact: task values (k) and constraint values (m) where it touched.
    """

    def __init__(self, controller: HybridController, rows: NDArray[np.bool_]) -> None:
        self.controller, self._rows = controller, rows
        self.at_contact = np.zeros(controller.k), np.zeros(controller.m)
        #: task rows that are ways, m
        self._moved = np.array([name.rsplit(".")[-1] in ("x", "y", "z") for name in controller.task.row_names])

    @staticmethod
    def sensor(limits: HybridLimits, now: int, measured: Array | None, sensed: int) -> str:
        """Problem of a reading at time `sensed`, at the time `now` (ns); measured None: there is none."""
        if measured is None:
            return "no wrench received"
        age = 1e-9 * (now - sensed)
        if abs(age) > limits.sensor_timeout:
            return f"the wrench sensor is silent for {age:.3g} s"
        return ""

    def conditioning(self, q: Array, v: Array) -> str:
        """Whether the arm is so near to a singular posture that the rows want joint speeds without measure."""
        robot, controller = self.controller.robot, self.controller
        sets = controller.constraints, controller.task
        A = np.vstack([robot.constraint_rows(q, v, rows).A for rows in sets])
        least = float(np.linalg.svd(A, compute_uv=False)[-1]) if len(A) <= A.shape[1] else 0.0
        return SINGULAR if least < NEARLY_SINGULAR else ""

    def step(self, out: HybridOutput, felt: Array, limits: HybridLimits, *, approaching: bool) -> str:
        """Problem of what a step found, and of the multipliers (m) that are felt."""
        controller = self.controller
        names, tasks = controller.constraints.row_names, controller.task.row_names
        if np.abs(felt).max() > limits.largest_force:
            row = int(np.abs(felt).argmax())
            return f"force of {names[row]} is {felt[row]:.3g}, more than {limits.largest_force:g}"
        past = np.where(self._rows & approaching, np.minimum(out.h, 0.0), out.h)
        past = np.abs(past * controller.constraints.holonomic)
        most = np.where(self._rows & (not approaching), limits.press_tolerance, limits.constraint_tolerance)
        if (past > most).any():
            row = int((past - most).argmax())
            if approaching and self._rows[row]:
                return f"no contact where {names[row]} should be: {out.h[row]:.3g} beyond it"
            return self._not_where_it_should_be(row, out, felt)
        if np.abs(out.theta).max() > limits.reach:
            row = int(np.abs(out.theta).argmax())
            return f"{tasks[row]} = {out.theta[row]:.3g} is out of reach ({limits.reach:g})"
        if out.rank < controller.m + controller.k:
            lacking = controller.m + controller.k - int(out.rank)
            return f"{SINGULAR} ({lacking} of them)"
        return ""

    def _not_where_it_should_be(self, row: int, out: HybridOutput, felt: Array) -> str:
        """What a violated constraint can mean."""
        name, off = self.controller.constraints.row_names[row], float(out.h[row])
        if not self._rows[row]:
            return f"{name} is off by {off:.3g}: the constraint is not where it should be"
        theta, h = self.at_contact
        sunk, way = off - float(h[row]), float(np.linalg.norm((out.theta - theta)[self._moved]))
        text = f"{name} is off by {off:.3g} at {felt[row]:.3g} N: the surface is not where it should be "
        text += f"(touched at {h[row]:.2g})"
        if sunk < 0.0 < felt[row]:
            text += f", or soft ({felt[row] / -sunk:.2g} N/m)"
        return text + f", or tilted ({math.degrees(math.atan2(abs(sunk), way)):.2g} degrees over {way:.2g} m)"
