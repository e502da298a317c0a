# SPDX-License-Identifier: Apache-2.0
"""Why hybrid position/force control may not begin or go on, in words with the figures."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.constraints.constraint_set import ConstraintSet
from rbd_dynamics.control.hybrid.controller import HybridController
from rbd_dynamics.control.hybrid.law import HybridOutput
from rbd_dynamics.control.hybrid.limits import HybridLimits
from rbd_dynamics.control.hybrid.multiplier_sensor import Beside
from rbd_dynamics.control.hybrid.touch.approach import Approach

Array = NDArray[np.float64]
LARGEST_ANGLE = math.pi  # rad, of a tool beside the task frame
ANGLE_SLACK = 0.05  # rad, beyond it that control may need
NEARLY_SINGULAR = 0.01  # smallest singular value of the rows, rad or m a rad or m
SINGULAR = "singular: the arm is where constraints and task cannot all be controlled"


def one_sided(constraints: ConstraintSet) -> NDArray[np.bool_]:
    """(m) which rows can only push."""
    found = np.zeros(len(constraints), dtype=bool)
    for constraint in constraints.constraints:
        if constraint.one_sided:
            found[constraints.slice_of(constraint.name).start] = True
    return found


def force_problem(force: ArrayLike, names: Sequence[str], unilateral: NDArray[np.bool_], most: float) -> str:
    """Why multipliers (m) of the named rows cannot be wanted; empty if they can.

    unilateral (m): rows that only push. most: N or N m, of any.
    """
    for name, value, pushes in zip(names, np.asarray(force, dtype=float), unilateral, strict=True):
        if not math.isfinite(value):
            return f"{name} = {value} is not finite"
        if abs(value) > most:
            return f"{name} = {value:.3g} is more than largest_force ({most:g})"
        if pushes and value < 0.0:
            return f"{name} = {value:.3g} would pull: a surface only pushes"
    return ""


class HybridChecks:
    """Each answer is empty if it may.

    Parameters:
        controller: what is checked.
        rows (m): those of the constraints that can be left.

    Attributes:
        at_contact: task values (k) and constraint values (m) where it touched.
        turn: rad, of the tool at the last step.
    """

    def __init__(self, controller: HybridController, rows: NDArray[np.bool_]) -> None:
        self.controller, self._rows = controller, rows
        self.at_contact = np.zeros(controller.k), np.zeros(controller.m)
        self.turn = 0.0
        #: task rows that are ways, m
        directions = [name.rsplit(".")[-1] for name in controller.task.row_names]
        self._moved = np.array([direction in ("x", "y", "z") for direction in directions])
        self._turned = [row for row, direction in enumerate(directions) if direction in ("rx", "ry", "rz")]
        self._leaves, self._holonomic = rows.tolist(), controller.constraints.holonomic.tolist()

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

    @staticmethod
    def beside(limits: HybridLimits, beside: Beside | None) -> str:
        """Problem of what a sensor reads besides the multipliers."""
        if beside is None:
            return ""
        most = limits.largest_side_force or limits.largest_force
        if beside.force > most:
            return f"force beside the constraints is {beside.force:.3g} N, more than {most:g}: something is in the way"
        if beside.moment > limits.largest_moment:
            return f"moment at the tool's point is {beside.moment:.3g} N m, more than {limits.largest_moment:g}"
        if beside.power > limits.largest_power:
            return f"the tool does {beside.power:.3g} W on what it touches, more than {limits.largest_power:g}"
        return ""

    def place(self, h: Array, limits: HybridLimits, *, approaching: bool) -> str:
        """Problem of constraints that would have values h (m) after a change of where they are."""
        names = self.controller.constraints.row_names
        for row, (value, leaves) in enumerate(zip(h, self._rows)):
            if leaves and approaching:
                if -value > limits.constraint_tolerance:
                    return f"{names[row]} would be {-value:.3g} behind the tool: hold first"
                continue
            what = "press_tolerance" if leaves else "constraint_tolerance"
            most = float(getattr(limits, what))
            if abs(value) > most:
                return f"{names[row]} would be off by {value:.3g} where it is pressed, more than {what} ({most:g})"
        return ""

    @staticmethod
    def taken_along(way: tuple[float, float], limits: HybridLimits) -> str:
        """Problem of a change of placements while it presses, by so many m and rad: the same as of a target."""
        moved, turned = way
        if moved > limits.reach:
            return f"tool or task frame would go {moved:.3g} m while it presses, more than reach ({limits.reach:g})"
        most = min(limits.reach, LARGEST_ANGLE)
        if turned > most:
            return f"tool or task frame would turn by {turned:.3g} rad while it presses, more than {most:.3g}"
        return ""

    def step(
        self, out: HybridOutput, felt: Array, limits: HybridLimits, *, approaching: bool, came: Approach | None = None
    ) -> str:
        """Problem of what a step found, and of the multipliers (m) that are felt.

        came: the approach that the tool makes, or came by a moment ago.
        In plain numbers: of so few, arrays take five times as long.
        """
        controller = self.controller
        for row, force in enumerate(felt.tolist()):
            if abs(force) > limits.largest_force:
                impact = "" if came is None else came.impact(row, force)
                return f"force of {self._name(row)} is {force:.3g}, more than {limits.largest_force:g}{impact}"
        for row, (h, leaves, holonomic) in enumerate(zip(out.h.tolist(), self._leaves, self._holonomic)):
            most = limits.press_tolerance if leaves and not approaching else limits.constraint_tolerance
            if not holonomic or abs(h) <= most:
                continue
            if not (leaves and approaching):
                return self._not_where_it_should_be(row, out, felt)
            if h < 0.0:
                return f"no contact where {self._name(row)} should be: {h:.3g} beyond it"
        theta = out.theta.tolist()
        for row, value in enumerate(theta):
            if abs(value) > limits.reach:
                return f"{controller.task.row_names[row]} = {value:.3g} is out of reach ({limits.reach:g})"
        self.turn = math.hypot(*(theta[row] for row in self._turned))
        if self.turn > LARGEST_ANGLE + ANGLE_SLACK:
            return f"the tool is turned by {self.turn:.3g} rad, more than half a turn, beyond which no angle is unique"
        if out.rank < controller.m + controller.k:
            lacking = controller.m + controller.k - int(out.rank)
            return f"{SINGULAR} ({lacking} of them)"
        return ""

    def _name(self, row: int) -> str:
        return self.controller.constraints.row_names[row]

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
