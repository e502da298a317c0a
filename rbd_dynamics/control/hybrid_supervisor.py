# SPDX-License-Identifier: Apache-2.0
"""What a hybrid position/force controller may do, and when it has to stop.

It holds the robot until it is engaged, finds the surface, presses with a force that grows from what is
felt to what is wanted, and goes back to holding when something is wrong: a silent sensor, a stale state,
lost contact, a surface that is not where the model has it, too much force, a singular posture.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.desired_motion import DesiredMotion
from rbd_dynamics.control.hybrid_position_force import HybridController, HybridOutput

Array = NDArray[np.float64]
Mode = Literal["hold", "approach", "press"]
LONGEST_STEP = 0.05  # s, for integrals


@dataclass(frozen=True)
class HybridLimits:
    """When to stop, and how gently to begin.

    sensor_timeout, state_timeout: s without a wrench or a joint state. contact_force: N; less than this for
    contact_timeout s is lost contact. largest_force: N or N m, of any multiplier. constraint_tolerance: m
    or rad by which the constraints may seem violated. reach: m or rad, of any task row. force_rate: N/s at which
    the wanted force is approached. approach_speed: m/s towards a surface that is not touched yet; 0: not
    allowed. hold_stiffness, hold_damping: 1/s^2 and 1/s, of holding.
    """

    _: KW_ONLY
    sensor_timeout: float = 0.05
    state_timeout: float = 0.1
    contact_force: float = 1.0
    contact_timeout: float = 0.1
    largest_force: float = 50.0
    constraint_tolerance: float = 0.01
    reach: float = 0.5
    force_rate: float = 20.0
    approach_speed: float = 0.02
    hold_stiffness: float = 400.0
    hold_damping: float = 40.0


class HybridSupervisor:
    """Torque for every measured state, from hold, approach or press.

    Parameters:
        controller: of a robot whose joints have one degree of freedom each.
        motion: the wanted motion of the task rows; while not engaged it is released.
        limits: see `HybridLimits`; may be replaced between two calls.

    Times are integer nanoseconds of one clock.
    """

    def __init__(self, controller: HybridController, motion: DesiredMotion, limits: HybridLimits) -> None:
        self.controller, self.motion, self.limits = controller, motion, limits
        self.mode: Mode = "hold"
        self.reason = "not engaged"  # of holding
        self.desired = np.zeros(controller.m)  # multipliers wanted by the user
        self.force = np.zeros(controller.m)  # wanted now
        self.output: HybridOutput | None = None  # of the last step; None in hold
        sets = controller.constraints
        #: rows that can only push
        self.unilateral = np.zeros(controller.m, dtype=bool)
        for constraint in sets.constraints:
            if constraint.one_sided:
                self.unilateral[sets.slice_of(constraint.name).start] = True
        self._approach = np.zeros(controller.m)
        self._posture = np.zeros(controller.robot.model.nv)
        self._hold_at: Array | None = None
        self._last = 0  # time of the last state
        self._touched = 0  # when contact was last felt
        self._wanted = np.zeros(controller.robot.model.nv)

    @property
    def engaged(self) -> bool:
        return self.mode != "hold"

    @property
    def touching_wanted(self) -> bool:
        """The wanted force is large enough to tell contact from none."""
        return bool((self.force[self.unilateral] >= 2.0 * self.limits.contact_force).any())

    def engage(self, now: int, measured: Array | None, sensed: int) -> None:
        """Begin to press, at the next state; from what is felt now, without a jump.

        measured (m): multipliers by the sensor, at the time `sensed`; None: there was none yet. Raises
        ValueError where that is not possible, and then goes on holding.
        """
        problem = self._sensor_problem(now, measured, sensed)
        if not problem and self._hold_at is None:
            problem = "no joint state yet"
        if not problem and now - self._last > self.limits.state_timeout * 1e9:
            problem = "joint states are silent"
        if problem or measured is None:
            raise ValueError(f"cannot engage: {problem}")
        touches = self._touches(measured)
        if not touches and not (self.limits.approach_speed and self.controller.gains.normal_damping):
            raise ValueError("cannot engage: there is no contact, and approach_speed or normal_damping is zero")
        self.controller.reset()
        self.motion.release()
        self._posture[:] = self._hold_at
        self.force[:] = measured if touches else 0.0
        self._approach[self.unilateral] = -self.limits.approach_speed
        self._touched = now
        self.mode, self.reason = ("press" if touches else "approach"), ""

    def stop(self, reason: str) -> None:
        """Hold from the next state on."""
        if self.mode != "hold":
            self.mode, self.reason = "hold", reason
            self.output, self._hold_at = None, None
            self.motion.release()

    def hold_anew(self, reason: str) -> None:
        """Hold where the robot is seen next, also where it was held before."""
        self.stop(reason)
        self._hold_at = None

    def torque(self, now: int, q: Array, v: Array, measured: Array | None, sensed: int) -> Array:
        """Efforts (nv) for the state measured at `now`; the same array each time.

        measured (m) at time `sensed`: multipliers by the sensor; None: it is silent. Raises ValueError or
        ArithmeticError where there is no torque to be given; nothing may be commanded then.
        """
        elapsed = 1e-9 * (now - self._last) if self._last else 0.0
        if self.mode != "hold":
            if not -LONGEST_STEP < elapsed <= self.limits.state_timeout:
                self.stop(f"joint states were silent for {elapsed:.3g} s")
            else:
                self._check_sensor(now, measured, sensed)
        self._last = now
        if self.mode != "hold" and measured is not None:
            try:
                found = self._press(now, q, v, measured, min(max(elapsed, 0.0), LONGEST_STEP))
            except ArithmeticError as error:
                self.stop(str(error))
            else:
                if found is not None:
                    return found
        return self._hold(q, v, elapsed)

    # --- the modes --------------------------------------------------------------------------------

    def _press(self, now: int, q: Array, v: Array, measured: Array, dt: float) -> Array | None:
        """The controller's torque; None where it stopped."""
        touches = self._touches(measured)
        if touches:
            self._touched = now
            if self.mode == "approach":
                self.mode = "press"
                self.force[:] = measured
                self.controller.reset()
        pressing = self.mode == "press"
        if pressing:
            change = self.limits.force_rate * dt
            self.force += np.clip(self.desired - self.force, -change, change)
        if self.output is None or self.motion.mode == "none":  # the task begins where the robot is
            at = self.controller.step(q, v, np.zeros(self.controller.k), posture=self._posture)
            self.motion.update(now, at.theta.copy(), at.rate.copy())
        else:
            self.motion.update(now, self.output.theta, self.output.rate)
        theta, rate, acceleration = self.motion.state()
        self.output = out = self.controller.step(
            q,
            v,
            theta,
            rate=rate,
            acceleration=acceleration,
            force=self.force,
            measured=measured if pressing else None,
            dt=dt,
            posture=self._posture,
            approach=None if pressing else self._approach,
        )
        problem = self._problem(now, out, measured)
        if problem:
            self.stop(problem)
            return None
        return out.tau

    def _hold(self, q: Array, v: Array, elapsed: float) -> Array:
        """Stay where the robot was; what it still presses with fades away."""
        if self._hold_at is None:
            self._hold_at = q.copy()
        robot, limits = self.controller.robot, self.limits
        a = limits.hold_stiffness * robot.model.difference(q, self._hold_at) - limits.hold_damping * v
        tau = robot.inverse_dynamics(q, v, a, out=self._wanted)
        if self.force.any():
            change = limits.force_rate * max(elapsed, 0.0)
            self.force -= np.clip(self.force, -change, change)
            tau -= self.force @ robot.constraint_rows(q, v, self.controller.constraints).A
        most = self.controller.effort_limits
        return np.clip(tau, -most, most, out=tau)

    # --- what is wrong ----------------------------------------------------------------------------

    def _touches(self, measured: Array) -> bool:
        """Contact is felt; what cannot be lost is always felt."""
        return bool((measured[self.unilateral] >= self.limits.contact_force).all())

    def _sensor_problem(self, now: int, measured: Array | None, sensed: int) -> str:
        if measured is None:
            return "no wrench received"
        age = 1e-9 * (now - sensed)
        if abs(age) > self.limits.sensor_timeout:
            return f"the wrench sensor is silent for {age:.3g} s"
        return ""

    def _check_sensor(self, now: int, measured: Array | None, sensed: int) -> None:
        problem = self._sensor_problem(now, measured, sensed)
        if problem:
            self.stop(problem)

    def _problem(self, now: int, out: HybridOutput, measured: Array) -> str:
        """Why the controller may not go on; empty if it may."""
        limits, controller = self.limits, self.controller
        names, tasks = controller.constraints.row_names, controller.task.row_names
        if np.abs(measured).max() > limits.largest_force:
            row = int(np.abs(measured).argmax())
            return f"force of {names[row]} is {measured[row]:.3g}, more than {limits.largest_force:g}"
        past = np.where(self.unilateral & (self.mode == "approach"), np.minimum(out.h, 0.0), out.h)
        past = past * controller.constraints.holonomic
        if np.abs(past).max() > limits.constraint_tolerance:
            row = int(np.abs(past).argmax())
            if self.mode == "approach":
                return f"no contact where {names[row]} should be: {out.h[row]:.3g} beyond it"
            return f"{names[row]} is off by {out.h[row]:.3g}: the constraint is not where it should be"
        if np.abs(out.theta).max() > limits.reach:
            row = int(np.abs(out.theta).argmax())
            return f"{tasks[row]} = {out.theta[row]:.3g} is out of reach ({limits.reach:g})"
        if out.rank < controller.m + controller.k:
            return f"singular: {controller.m + controller.k - int(out.rank)} of the rows cannot be controlled here"
        if self.mode == "press" and now - self._touched > limits.contact_timeout * 1e9 and self.touching_wanted:
            return "contact lost"
        return ""
