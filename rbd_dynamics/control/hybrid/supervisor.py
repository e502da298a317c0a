# SPDX-License-Identifier: Apache-2.0
"""What a hybrid position/force controller may do, and when it has to stop.

It holds the robot until it is engaged, finds the surface, presses with a force that grows from what is
felt to what is wanted, and goes back to holding when something is wrong: a silent sensor, a stale state,
lost contact, a surface that is not where the model has it, too much force, a singular posture.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.hybrid.approach import Approach
from rbd_dynamics.control.hybrid.checks import SINGULAR, HybridChecks
from rbd_dynamics.control.hybrid.controller import HybridController, HybridOutput
from rbd_dynamics.control.hybrid.hold import HybridHold
from rbd_dynamics.control.hybrid.limits import HybridLimits
from rbd_dynamics.control.motion.desired_motion import DesiredMotion
from rbd_dynamics.spatial.rank import inverse_response

Array = NDArray[np.float64]
Mode = Literal["hold", "approach", "press"]
LONGEST_STEP = 0.05  # s, for integrals


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
        self._checks = HybridChecks(controller, self.unilateral)
        self._hold = HybridHold(controller)
        self._posture = np.zeros(controller.robot.model.nv)
        self.last = 0  # time of the last state, ns
        self._touched = 0  # when contact was last felt

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
        problem = self._checks.sensor(limits, now, measured, sensed)
        if not problem and self._hold.at is None:
            problem = "no joint state yet"
        if not problem and now - self.last > limits.state_timeout * 1e9:
            problem = "joint states are silent"
        if problem or measured is None:
            raise ValueError(f"cannot engage: {problem}")
        felt = measured - self.offset
        presses = not self.unilateral.any() or (not limits.tare and self._touches(felt))
        if not presses and not (limits.approach_speed and controller.gains.normal_damping):
            raise ValueError("cannot engage: there is no contact, and approach_speed or normal_damping is zero")
        q, v = self._hold.q, self._hold.v
        self._touched = now
        try:
            out = controller.step(q, v, np.zeros(controller.k))
            problem = self._problem(now, out, felt, approaching=not presses)
        except ArithmeticError:
            problem = SINGULAR + ", or the tool is turned by 180 degrees from the task frame"
        if not problem:
            problem = self._checks.conditioning(q, v)
        if problem:
            raise ValueError(f"cannot engage: {problem}")
        push, acceleration, inertia = self._hold.against_the_model(limits, self.unilateral)
        push += self.force  # what holding still presses with goes on
        controller.preset(acceleration=acceleration)
        self.motion.release()
        self._posture[:] = self._hold.at
        self.force[:] = felt if presses else 0.0
        gains = controller.gains
        self._approach = Approach(self.unilateral, inertia, push, out.h, measured, gains.normal_damping, limits)
        self.output = None
        self._checks.at_contact = out.theta.copy(), out.h.copy()
        self.mode, self.reason = ("press" if presses else "approach"), ""

    def may_continue(self, now: int, measured: Array | None, sensed: int) -> None:
        """Raise ValueError where `continue_from` would not press, with the reason."""
        problem = self._checks.sensor(self.limits, now, measured, sensed)
        if not problem and not self.last:
            problem = "no joint state yet"
        if not problem:
            problem = self._checks.conditioning(self._hold.q, self._hold.v)
        if problem:
            raise ValueError(problem)

    def continue_from(self, now: int, tau: Array, measured: Array | None, sensed: int) -> Array:
        """Go on where another controller has stopped, at the state that was held last: pressing with what is felt.

        tau (nv): the other's last effort. What of it this one does not go on with (nv): in the end nothing but what
        moves neither task nor constraints. Where nothing is touched, the robot is held. Raises ValueError as
        `may_continue`, and ArithmeticError.
        """
        self.may_continue(now, measured, sensed)
        assert measured is not None
        controller, robot, q, v = self.controller, self.controller.robot, self._hold.q.copy(), self._hold.v.copy()
        felt = measured - self.offset
        if not self._touches(felt):
            return np.asarray(tau - self._hold.torque(q, v, self.limits, self.force, 0.0))
        controller.reset()
        zero = np.zeros(controller.k)
        at = controller.step(q, v, zero)
        theta, rate, h = at.theta.copy(), at.rate.copy(), at.h.copy()
        own = controller.step(q, v, theta, rate=rate, force=felt, posture=q).wanted.copy()
        # the difference as multipliers and as acceleration of the task, as the integrals have them
        A = robot.constraint_rows(q, v, controller.constraints).A
        moved = robot.constraint_rows(q, v, controller.task).A
        M = robot.mass_matrix(q)
        a, Minv_At = np.linalg.solve(M, tau - own), np.linalg.solve(M, A.T)
        force = -inverse_response(A, Minv_At) @ (A @ a)
        controller.preset(force=force, acceleration=moved @ (a + Minv_At @ force))
        self.motion.release()
        self._posture[:], self.force[:] = q, felt
        self._approach, self.output = None, None
        self._checks.at_contact = theta, h
        self._touched = self.last = now
        self.mode, self.reason = "press", ""
        return np.asarray(tau - controller.step(q, v, theta, rate=rate, force=felt, posture=q).wanted)

    def stop(self, reason: str) -> None:
        """Hold from the next state on."""
        if self.mode != "hold":
            if self.output is not None:
                self.force[:] = self.output.force  # fades away, with what the integral added
            self.mode, self.reason = "hold", reason
            self.output, self._hold.at = None, None
            self.motion.release()

    def hold_anew(self, reason: str) -> None:
        """Hold where the robot is seen next, also where it was held before."""
        self.stop(reason)
        self._hold.at = None

    def begin_anew(self) -> None:
        """The same, and what stopped it before is over."""
        self.hold_anew("")
        self.reason = "activated anew"

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
                problem = self._checks.sensor(self.limits, now, measured, sensed)
                if problem:
                    self.stop(problem)
        self.last = now
        if self.mode != "hold" and measured is not None:
            try:
                found = self._press(now, q, v, measured, min(max(elapsed, 0.0), LONGEST_STEP))
            except ArithmeticError as error:
                self.stop(str(error))
            else:
                if found is not None:
                    return found
        return self._hold.torque(q, v, self.limits, self.force, elapsed)

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
        self._checks.at_contact = self.output.theta.copy(), self.output.h.copy()
        felt = measured - self.offset
        # a blow is no wish: what came in free motion begins with the force that counts as contact
        most = np.maximum(self.desired, 0.0)
        if approach.free:
            most = np.minimum(most, self.limits.contact_force)
        self.force[:] = np.where(self.unilateral, np.clip(felt, 0.0, most), felt)
        # in contact from the begin, part of the push was this force already
        self.controller.preset(force=approach.push - (0.0 if approach.free else self.force), acceleration=None)
        self.mode = "press"

    def _touches(self, measured: Array) -> bool:
        """Contact is felt; what cannot be lost is always felt."""
        return bool((measured[self.unilateral] >= self.limits.contact_force).all())

    def _problem(self, now: int, out: HybridOutput, felt: Array, *, approaching: bool) -> str:
        """Why the controller may not go on; empty if it may."""
        problem = self._checks.step(out, felt, self.limits, approaching=approaching)
        lost = not approaching and now - self._touched > self.limits.contact_timeout * 1e9 and self.touching_wanted
        return problem or ("contact lost" if lost else "")
