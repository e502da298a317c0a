# SPDX-License-Identifier: Apache-2.0
"""What a hybrid position/force controller may do, and when it has to stop.

It holds the robot until it is engaged, finds the surface, presses with a force that grows from what is
felt to what is wanted, and goes back to holding when something is wrong: a silent sensor, a stale state,
lost contact, a surface that is not where the model has it, too much force, a singular posture.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.desired_motion import DesiredMotion
from rbd_dynamics.control.hybrid_approach import Approach
from rbd_dynamics.control.hybrid_limits import HybridLimits
from rbd_dynamics.control.hybrid_position_force import HybridController, HybridOutput

Array = NDArray[np.float64]
Mode = Literal["hold", "approach", "press"]
LONGEST_STEP = 0.05  # s, for integrals
NEARLY_SINGULAR = 0.01  # smallest singular value of the rows, rad or m a rad or m
SINGULAR = "singular: the arm is where constraints and task cannot all be controlled"


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
        #: (m) what the sensor reads in free motion, as found on the way to the surface
        self.offset = np.zeros(controller.m)
        self.tared = False  # whether that was found at the last approach
        self._approach: Approach | None = None
        self._at_contact = np.zeros(controller.k), np.zeros(controller.m)  # theta and h where it touched
        #: task rows that are ways, m
        self._moved = np.array([name.rsplit(".")[-1] in ("x", "y", "z") for name in controller.task.row_names])
        self._posture = np.zeros(controller.robot.model.nv)
        self._hold_at: Array | None = None
        self._state = np.zeros(controller.robot.model.nq), np.zeros(controller.robot.model.nv)
        self.last = 0  # time of the last state, ns
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
        if self.engaged:
            return
        limits, controller = self.limits, self.controller
        problem = self._sensor_problem(now, measured, sensed)
        if not problem and self._hold_at is None:
            problem = "no joint state yet"
        if not problem and now - self.last > limits.state_timeout * 1e9:
            problem = "joint states are silent"
        if problem or measured is None:
            raise ValueError(f"cannot engage: {problem}")
        felt = measured - self.offset
        presses = not self.unilateral.any() or (not limits.tare and self._touches(felt))
        if not presses and not (limits.approach_speed and controller.gains.normal_damping):
            raise ValueError("cannot engage: there is no contact, and approach_speed or normal_damping is zero")
        q, v = self._state
        self._touched = now
        try:
            out = controller.step(q, v, np.zeros(controller.k))
            problem = self._problem(now, out, felt, approaching=not presses)
        except ArithmeticError:
            problem = SINGULAR + ", or the tool is turned by 180 degrees from the task frame"
        if not problem:
            problem = self._badly_conditioned(q, v)
        if problem:
            raise ValueError(f"cannot engage: {problem}")
        push, acceleration, inertia = self._held_by(q, v)
        controller.preset(acceleration=acceleration)
        self.motion.release()
        self._posture[:] = self._hold_at
        self.force[:] = felt if presses else 0.0
        gains = controller.gains
        self._approach = Approach(self.unilateral, inertia, push, out.h, measured, gains.normal_damping, limits)
        self.output = None
        self._at_contact = out.theta.copy(), out.h.copy()
        self.mode, self.reason = ("press" if presses else "approach"), ""

    def stop(self, reason: str) -> None:
        """Hold from the next state on."""
        if self.mode != "hold":
            if self.output is not None:
                self.force[:] = self.output.force  # fades away, with what the integral added
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
        elapsed = 1e-9 * (now - self.last) if self.last else 0.0
        if self.mode != "hold":
            if not -LONGEST_STEP < elapsed <= self.limits.state_timeout:
                self.stop(f"joint states were silent for {elapsed:.3g} s")
            else:
                self._check_sensor(now, measured, sensed)
        self.last = now
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
        approach = self._approach if self.mode == "approach" else None
        if approach is not None and self.output is not None:
            approach.limits = self.limits
            if approach.touches(self.output.h, measured, dt):
                self._begin_to_press(approach, measured)
                approach = None
        felt = measured - self.offset
        if self._touches(felt):
            self._touched = now
        if approach is None:
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
            force=self.force if approach is None else approach.push,
            measured=felt if approach is None else None,
            dt=dt,
            posture=self._posture,
            approach=None if approach is None else approach.velocity,
        )
        problem = self._problem(now, out, felt, approaching=approach is not None)
        if not problem and approach is not None:
            problem = approach.step(out.h, out.drift, dt)
        if problem:
            self.stop(problem)
            return None
        return out.tau

    def _begin_to_press(self, approach: Approach, measured: Array) -> None:
        """Contact: what the sensor read before is its zero, and what the model lacked stays compensated."""
        self.tared = self.limits.tare and approach.free
        if self.tared:
            self.offset[:] = approach.offset
        assert self.output is not None
        self._at_contact = self.output.theta.copy(), self.output.h.copy()
        felt = measured - self.offset
        # a blow is no wish: what came in free motion begins with the force that counts as contact
        most = np.maximum(self.desired, 0.0)
        if approach.free:
            most = np.minimum(most, self.limits.contact_force)
        self.force[:] = np.where(self.unilateral, np.clip(felt, 0.0, most), felt)
        # in contact from the begin, part of the push was this force already
        self.controller.preset(force=approach.push - (0.0 if approach.free else self.force), acceleration=None)
        self.mode = "press"

    def _held_by(self, q: Array, v: Array) -> tuple[Array, Array, Array]:
        """What holding does against errors of the model, in the terms of approaching; and the rows' inertia.

        push (m) and task acceleration (k) that make the same acceleration of all rows as holding does now, and the
        effective inertia (m) of each one-sided row. What holding still presses with goes on as well.
        """
        robot, controller = self.controller.robot, self.controller
        a = self._hold_acceleration(q, v)
        A = robot.constraint_rows(q, v, controller.constraints).A
        moved = robot.constraint_rows(q, v, controller.task).A
        Minv_At = np.linalg.solve(robot.mass_matrix(q), A.T)
        one_sided = self.unilateral
        inertia = np.where(one_sided, 1.0 / np.maximum(np.einsum("ij,ji->i", A, Minv_At), 1e-6), 0.0)
        most = self.limits.approach_force
        lacking = np.clip(-inertia * (A @ a), -most, most)
        return lacking + self.force, moved @ (a + Minv_At @ lacking), inertia

    def _hold_acceleration(self, q: Array, v: Array) -> Array:
        robot, limits = self.controller.robot, self.limits
        away = robot.model.difference(q, q if self._hold_at is None else self._hold_at)
        return np.asarray(limits.hold_stiffness * away - limits.hold_damping * v)

    def _hold(self, q: Array, v: Array, elapsed: float) -> Array:
        """Stay where the robot was; what it still presses with fades away."""
        if self._hold_at is None:
            self._hold_at = q.copy()
        self._state[0][:], self._state[1][:] = q, v
        robot, limits = self.controller.robot, self.limits
        tau = robot.inverse_dynamics(q, v, self._hold_acceleration(q, v), out=self._wanted)
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

    def _badly_conditioned(self, q: Array, v: Array) -> str:
        """Whether the arm is so near to a singular posture that the rows want joint speeds without measure."""
        robot, controller = self.controller.robot, self.controller
        sets = controller.constraints, controller.task
        A = np.vstack([robot.constraint_rows(q, v, rows).A for rows in sets])
        least = float(np.linalg.svd(A, compute_uv=False)[-1]) if len(A) <= A.shape[1] else 0.0
        return SINGULAR if least < NEARLY_SINGULAR else ""

    def _problem(self, now: int, out: HybridOutput, measured: Array, *, approaching: bool) -> str:
        """Why the controller may not go on; empty if it may."""
        limits, controller = self.limits, self.controller
        names, tasks = controller.constraints.row_names, controller.task.row_names
        if np.abs(measured).max() > limits.largest_force:
            row = int(np.abs(measured).argmax())
            return f"force of {names[row]} is {measured[row]:.3g}, more than {limits.largest_force:g}"
        past = np.where(self.unilateral & approaching, np.minimum(out.h, 0.0), out.h)
        past = np.abs(past * controller.constraints.holonomic)
        most = np.where(self.unilateral & (not approaching), limits.press_tolerance, limits.constraint_tolerance)
        if (past > most).any():
            row = int((past - most).argmax())
            if approaching and self.unilateral[row]:
                return f"no contact where {names[row]} should be: {out.h[row]:.3g} beyond it"
            return self._not_where_it_should_be(row, out, measured)
        if np.abs(out.theta).max() > limits.reach:
            row = int(np.abs(out.theta).argmax())
            return f"{tasks[row]} = {out.theta[row]:.3g} is out of reach ({limits.reach:g})"
        if out.rank < controller.m + controller.k:
            lacking = controller.m + controller.k - int(out.rank)
            return f"{SINGULAR} ({lacking} of them)"
        if not approaching and now - self._touched > limits.contact_timeout * 1e9 and self.touching_wanted:
            return "contact lost"
        return ""

    def _not_where_it_should_be(self, row: int, out: HybridOutput, measured: Array) -> str:
        """What a violated constraint can mean, with the figures."""
        name, off = self.controller.constraints.row_names[row], float(out.h[row])
        if not self.unilateral[row]:
            return f"{name} is off by {off:.3g}: the constraint is not where it should be"
        theta, h = self._at_contact
        sunk, way = off - float(h[row]), float(np.linalg.norm((out.theta - theta)[self._moved]))
        text = f"{name} is off by {off:.3g} at {measured[row]:.3g} N: the surface is not where it should be "
        text += f"(touched at {h[row]:.2g})"
        if sunk < 0.0 < measured[row]:
            text += f", or soft ({measured[row] / -sunk:.2g} N/m)"
        return text + f", or tilted ({math.degrees(math.atan2(abs(sunk), way)):.2g} degrees over {way:.2g} m)"
