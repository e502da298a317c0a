# SPDX-License-Identifier: Apache-2.0
"""What a hybrid position/force controller may do, and when it has to stop.

It holds the robot until it is engaged, finds the surface, presses with a force that grows from what is
felt to what is wanted, and goes back to holding when something is wrong: a silent sensor, a stale state,
lost contact, a surface that is not where the model has it, too much force, a singular posture.

What is wanted of the task goes through a governor (`ReachableTask`), so that it never is more than the arm can do.
Where contact is lost for a moment the tool approaches again, slowly, instead of being pushed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.hybrid.approach import Approach
from rbd_dynamics.control.hybrid.checks import SINGULAR, HybridChecks, one_sided
from rbd_dynamics.control.hybrid.contact_watch import ContactWatch
from rbd_dynamics.control.hybrid.controller import HybridController, HybridOutput
from rbd_dynamics.control.hybrid.governor import PlacementLimits, TaskGovernor
from rbd_dynamics.control.hybrid.hold import HybridHold, inertia_of
from rbd_dynamics.control.hybrid.limits import HybridLimits
from rbd_dynamics.control.hybrid.multiplier_sensor import Beside
from rbd_dynamics.control.hybrid.placement import Placement
from rbd_dynamics.control.hybrid.push import Push
from rbd_dynamics.control.motion.desired_motion import DesiredMotion
from rbd_dynamics.spatial.rank import inverse_response

Array = NDArray[np.float64]
Mode = Literal["hold", "approach", "press"]
LONGEST_STEP = 0.05  # s, for integrals
SUDDEN = 0.003  # s without contact, after which a tool that moves on approaches anew
STOPPING = 200_000_000  # ns, after which what is held is held
PATIENCE = 0.5  # of contact_timeout: after which one that stands does


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
        #: rows that can only push
        self.unilateral = one_sided(controller.constraints)
        #: (m) what the sensor reads in free motion, as found on the way to the surface
        self.offset = np.zeros(controller.m)
        self.tared = False  # whether that was found at the last approach
        self._approach: Approach | None = None
        self._checks = HybridChecks(controller, self.unilateral)
        self._hold = HybridHold(controller)
        self.governor = TaskGovernor(controller, motion)
        self._push = Push(self.unilateral)
        self._contact = ContactWatch(self.unilateral)
        self._again = False  # the approach is one back to a contact that was lost
        self._felt: Array | None = None  # multipliers (m); None: the sensor is silent
        self._stopped = -STOPPING  # when it went to hold, ns
        self.last = 0  # time of the last state, ns

    @property
    def engaged(self) -> bool:
        return self.mode != "hold"

    @property
    def lets_go(self) -> bool:
        """The push has to fall: contact is lost, or it has just stopped."""
        if self.mode == "hold":
            return 0 < self.last - self._stopped < STOPPING
        return self._again or self._push.share < 1.0

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
        try:
            out = controller.step(q, v, np.zeros(controller.k))
            problem = self._checks.step(out, felt, limits, approaching=not presses)
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
        self.governor.begin(q, out.theta, self._hold.at)
        self.force[:] = felt if presses else 0.0
        gains = controller.gains
        self._approach = Approach(self.unilateral, inertia, push, out.h, measured, gains.normal_damping, limits)
        self.output, self._again = None, False
        self._checks.at_contact = out.theta.copy(), out.h.copy()
        self._contact.begin(out.h)
        self._push.begin()
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
        self.force[:] = felt
        self.governor.begin(q, theta)
        self._approach, self.output, self._again = None, None, False
        self._checks.at_contact = theta, h
        self._contact.begin(h)
        self._push.begin()
        self.last = now
        self.mode, self.reason = "press", ""
        return np.asarray(tau - controller.step(q, v, theta, rate=rate, force=felt, posture=q).wanted)

    def stop(self, reason: str) -> None:
        """Hold from the next state on. What still presses fades away, unless nothing pushes back."""
        if self.mode != "hold":
            if self.output is not None:
                self.force[:] = self.output.force  # with what the integral added
            if self._contact.without > SUDDEN:
                self.force[self.unilateral] = 0.0
            self._contact.begin(self._contact.touched)
            self.mode, self.reason = "hold", reason
            self._stopped = self.last
            self.output, self._hold.at = None, None
            self.motion.release()

    def _press_on_what_is_felt(self, dt: float) -> None:
        """What fades away in hold ends at once where nothing pushes back. A silent sensor tells nothing of that."""
        if self._felt is None or not self.force.any():
            return
        self._contact.update(self._touches(self._felt), self._contact.touched, dt)
        if self._contact.without > max(self.limits.contact_debounce, SUDDEN):
            self.force[self.unilateral] = 0.0

    def fade_from(self, other: HybridSupervisor) -> None:
        """Hold in place of another supervisor of the same constraints: what it presses with fades away here."""
        other.stop("another robot or task")
        self.force[:], self.last = other.force, other.last

    def hold_anew(self, reason: str) -> None:
        """Hold where the robot is seen next, also where it was held before."""
        self.stop(reason)
        self._hold.at = None

    def begin_anew(self) -> None:
        """The same, and what stopped it before is over."""
        self.hold_anew("")
        self.reason = "activated anew"

    def may_place(self, goal: Placement) -> None:
        """Raise ValueError where tool and task frame cannot be there: the surface would not be where it is pressed."""
        if not self.engaged:
            return
        q, v = self._hold.q, self._hold.v
        h = self.controller.robot.constraint_rows(q, v, goal.put(self.controller.constraints)).h
        problem = self._checks.place(h, self.limits, approaching=self.mode == "approach")
        if problem:
            raise ValueError(problem)

    def place(self, goal: Placement, velocity: Array, acceleration: Array) -> None:
        """Tool, task frame and surface are elsewhere: at once while holding, else on a way.

        velocity, acceleration (k): limits of the task rows, infinite where there is none.
        """
        if not self.engaged:
            self.governor.place(goal)
            return
        force = float(np.abs(self.force).max(initial=0.0))
        self.governor.place(
            goal,
            PlacementLimits(
                velocity=velocity, acceleration=acceleration, force=force, force_rate=self.limits.force_rate
            ),
        )

    def torque(
        self, now: int, q: Array, v: Array, measured: Array | None, sensed: int, *, beside: Beside | None = None
    ) -> Array:
        """Efforts (nv) for the state measured at `now`; the same array each time.

        measured (m) at time `sensed`: multipliers by the sensor; None: it is silent. beside: what it reads besides.
        Raises ValueError or ArithmeticError where there is no torque to be given; nothing may be commanded then.
        """
        elapsed = 1e-9 * (now - self.last) if self.last else 0.0
        silent = self._checks.sensor(self.limits, now, measured, sensed)
        self._felt = None if silent or measured is None else measured - self.offset
        if self.mode != "hold":
            if not -LONGEST_STEP < elapsed <= self.limits.state_timeout:
                self.stop(f"joint states were silent for {elapsed:.3g} s")
            elif problem := silent or self._checks.beside(self.limits, beside):
                self.stop(problem)
        self.last = now
        dt = min(max(elapsed, 0.0), LONGEST_STEP)
        self.governor.advance(dt)
        if self.mode != "hold" and measured is not None:
            self._hold.q[:], self._hold.v[:] = q, v
            try:
                found = self._press(now, q, v, measured, dt)
            except ArithmeticError as error:
                self.stop(str(error))
            else:
                if found is not None:
                    return found
        self._press_on_what_is_felt(dt)
        return self._hold.torque(q, v, self.limits, self.force, elapsed)

    # --- the modes --------------------------------------------------------------------------------

    def _press(self, now: int, q: Array, v: Array, measured: Array, dt: float) -> Array | None:
        """The controller's torque; None where it stopped."""
        limits, controller = self.limits, self.controller
        approach = self._approach if self.mode == "approach" else None
        if approach is not None and self.output is not None:
            if not self._again:
                approach.limits = limits
            if approach.touches(self.output.h, measured, dt):
                self._begin_to_press(approach, measured)
                approach = None
        felt = measured - self.offset
        if self.output is not None and approach is None:
            self._contact.update(self._touches(felt) or not self.touching_wanted, self.output.h, dt)
            self._push.update(self.output, dt, limits, controller.reaction_time)
            approach = self._approach_again(q, v, measured)
        elif self._again and self.output is not None:
            self._contact.update(False, self.output.h, dt)
        if approach is None:
            change = limits.force_rate * dt
            self.force += np.clip(self.desired - self.force, -change, change)
        before = self.output
        if before is None or self.motion.mode == "none":  # the task begins where the robot is
            before = controller.step(q, v, np.zeros(controller.k), posture=self.governor.posture)
            self.governor.begin(q, before.theta)
        step = self.governor.follow(now, q, before, dt)
        if self.governor.problem:
            if self.governor.moving:
                self.stop(self.governor.problem)
                return None
            self.governor.give_up(step.theta)
        push = self._push
        wanted = (
            push.pressing(self.force, controller.force_integral, before)
            if approach is None
            else push.approaching(approach, before, again=self._again)
        )
        self.output = out = controller.step(
            q,
            v,
            step.theta,
            rate=step.rate,
            acceleration=step.acceleration,
            force=wanted.force,
            measured=felt if wanted.felt else None,
            dt=dt,
            posture=self.governor.wanted_posture,
            approach=wanted.aim,
        )
        problem = self._problem(out, felt, approaching=approach is not None and not self._again)
        if not problem and approach is not None:
            problem = approach.step(out.h, out.drift, dt)
        if problem:
            self.stop(problem)
            return None
        return out.tau

    def _approach_again(self, q: Array, v: Array, measured: Array) -> Approach | None:
        """Back to a contact that was lost a moment ago, slowly; None where it was not."""
        limits, controller, out = self.limits, self.controller, self.output
        assert out is not None
        sudden = self._push.share < 0.5
        patience = max(limits.contact_debounce, SUDDEN) if sudden else PATIENCE * limits.contact_timeout
        if self._contact.without < patience or not (limits.approach_speed and controller.gains.normal_damping):
            return None
        A = controller.robot.constraint_rows(q, v, controller.constraints).A
        inertia = np.where(self.unilateral, inertia_of(controller.robot, q, A)[0], 0.0)
        slow = 0.5 * min(limits.approach_speed, limits.normal_speed or limits.approach_speed)
        self._approach = Approach(
            self.unilateral, inertia, self._push.lacking, out.h, measured, controller.gains.normal_damping,
            replace(limits, approach_speed=slow), ramp=0.0,
        )  # fmt: skip
        self.mode, self._again = "approach", True
        self.force[self.unilateral] = 0.0
        return self._approach

    def _begin_to_press(self, approach: Approach, measured: Array) -> None:
        """Contact: what the sensor read before is its zero, and what the model lacked stays compensated."""
        known, again = self.limits.tare and approach.free, self._again
        if known:
            self.offset[:] = approach.offset
        self.tared = known or (again and self.tared)
        assert self.output is not None
        self._checks.at_contact = self.output.theta.copy(), self.output.h.copy()
        felt = measured - self.offset
        # a blow is no wish: what came in free motion begins with the force that counts as contact
        most, came = np.maximum(self.desired, 0.0), approach.free or again
        if came:
            self._push.lacking[:] = approach.push
            most = np.minimum(most, self.limits.contact_force)
        self.force[:] = np.where(self.unilateral, np.clip(felt, 0.0, most), felt)
        # in contact from the begin, part of the push was this force already
        self.controller.preset(force=approach.push - (0.0 if came else self.force), acceleration=None)
        self.mode, self._again = "press", False
        self._contact.begin(self.output.h)

    def _touches(self, measured: Array) -> bool:
        """Contact is felt; what cannot be lost is always felt."""
        return bool((measured[self.unilateral] >= self.limits.contact_force).all())

    def _problem(self, out: HybridOutput, felt: Array, *, approaching: bool) -> str:
        """Why the controller may not go on; empty if it may."""
        problem = self._checks.step(out, felt, self.limits, approaching=approaching)
        if problem or approaching:
            return problem
        if self._again:
            assert self._approach is not None
            if self._approach.unfelt:
                return "contact lost: the sensor feels nothing, though something is in the way"
            return "contact lost" if self._contact.beyond > self.limits.contact_timeout else ""
        return "contact lost" if self._contact.lost > self.limits.contact_timeout and self.touching_wanted else ""
