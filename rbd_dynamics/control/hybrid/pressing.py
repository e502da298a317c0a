# SPDX-License-Identifier: Apache-2.0
"""A contact: found, pressed on, and found again where it was lost for a moment; a step for each state.

What is wanted of the task goes through a governor (`ReachableTask`), so that it never is more than the arm can do.
The wanted force is no larger than can be let go in time. Where contact is lost the tool approaches again, slowly,
instead of being pushed.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.hybrid.checks import HybridChecks, one_sided
from rbd_dynamics.control.hybrid.continuous_angles import ContinuousAngles
from rbd_dynamics.control.hybrid.controller import HybridController
from rbd_dynamics.control.hybrid.governor import TaskGovernor
from rbd_dynamics.control.hybrid.hold import FreeMotion, inertia_of
from rbd_dynamics.control.hybrid.law import HybridOutput
from rbd_dynamics.control.hybrid.limits import HybridLimits
from rbd_dynamics.control.hybrid.multiplier_sensor import Beside, PushedAside
from rbd_dynamics.control.hybrid.touch.approach import Approach, fastest_approach
from rbd_dynamics.control.hybrid.touch.contact_sense import ContactSense
from rbd_dynamics.control.hybrid.touch.contact_watch import ContactWatch, GivingWay
from rbd_dynamics.control.hybrid.touch.letting_go import HeldByFriction, LettingGo
from rbd_dynamics.control.hybrid.touch.push import Push
from rbd_dynamics.control.hybrid.touch.sensor_drift import SensorDrift, pressed_by_joints
from rbd_dynamics.control.safety.softening import Softening

Array = NDArray[np.float64]
SUDDEN = 0.003  # s without contact, after which a tool that moves on approaches anew
PATIENCE = 0.5  # of contact_timeout: after which one that stands does
BLOW = 0.5  # s, for which a blow, or what it leant on, may have thrown the arm
IMPACT = 0.1  # s after contact, in which too large a force is the blow of the approach
FELT = 2.5  # times what tells contact from none: so much is pressed whatever friction holds
LEANS = 0.3  # of the force: a tool that feels more beside it leans on something
SWINGS = 0.1  # s, by which efforts come late: the arm swings by them, whatever it leans on
LOOKS, LOOKS_AT_FRICTION = 0.25, 0.05  # s between two looks at what can be let go


class Pressing:
    """One contact: found, pressed on, found again.

    Parameters:
        controller: of a robot whose joints have one degree of freedom each.
        governor: of the wanted motion of the task rows.
        limits: see `HybridLimits`; may be replaced between two calls.

    Attributes:
        desired (m): multipliers wanted by the user. force (m): wanted now. bound (m): the most that is wanted of rows
            that push, as no more could be let go in time.
        offset (m): what the sensor reads in free motion, as found on the way to the surface. tared: whether that was
            found at the last approach.
        unilateral (m): rows that can only push.
        output: of the last step; None where there was none.
        drift: of the sensor.
        behind: s, by which efforts are commanded later than they were wanted, as they change no faster than they may.
        steady: s, for which contact has been felt without a break.
    """

    def __init__(self, controller: HybridController, governor: TaskGovernor, limits: HybridLimits) -> None:
        self.controller, self.governor, self.limits = controller, governor, limits
        self.unilateral = one_sided(controller.constraints)
        m, nv = controller.m, controller.robot.model.nv
        self.desired, self.force, self.offset = np.zeros(m), np.zeros(m), np.zeros(m)
        self.bound = np.full(m, np.inf)
        self.tared = False
        self.output: HybridOutput | None = None
        self.checks = HybridChecks(controller, self.unilateral)
        self.letting_go, self._friction = LettingGo(nv), HeldByFriction()
        self.drift = SensorDrift(partial(pressed_by_joints, controller), self.unilateral)
        self.turns = ContinuousAngles(controller)
        self._approach: Approach | None = None
        self._came: Approach | None = None  # the approach by which contact was made
        self._again = False  # the approach is one back to a contact that was lost
        self._push, self._contact = Push(self.unilateral), ContactWatch(self.unilateral)
        self._sense, self._giving = ContactSense(), GivingWay()
        self._aside: Array | None = None  # efforts of what is felt beside the surface, for each N of its force
        self._pushed_aside = PushedAside(nv)
        self._leaves = np.flatnonzero(self.unilateral).tolist()
        self.steady = 0.0 if self._leaves else np.inf
        self._touching = True  # what cannot be lost
        self._looked = self._felt_friction = 0.0  # s, since what can be let go was looked at
        self._in_time = self.bound.copy()  # of it, without friction
        self.softening, self.behind = Softening(nv), 0.0
        self._pressed = self._leant = np.inf  # s, since contact was made, and since it leant on something else

    @property
    def approaching(self) -> bool:
        return self._approach is not None

    @property
    def lets_go(self) -> bool:
        """Efforts have to change at once: contact is lost, or a joint nears its limit of velocity."""
        return self._again or self._push.share < 1.0 or (self.output is not None and float(self.output.braking) > 0.0)

    @property
    def _least(self) -> float:
        """N, that tell contact from none."""
        return max(self.limits.contact_force, self._sense.least)

    @property
    def _touching_wanted(self) -> bool:
        """The wanted force is large enough for that."""
        force, least = self.force.tolist(), 2.0 * self._least
        return any(force[row] >= least for row in self._leaves)

    def doubts(self) -> list[str]:
        """What the user should know while it goes on."""
        found, names = [], self.controller.constraints.row_names
        for name, wanted, most in zip(names, self.desired, self.bound):
            if wanted > most and not self.approaching:
                found.append(
                    f"{name} = {wanted:.3g} is wanted, but {most:.3g} pressed: of more the tool could not let go in "
                    "time where contact or friction is lost (actuator_bandwidth, effort_rate_limits, rotors, "
                    "normal_speed)"
                )
        if self.drift.told:
            found.append(
                f"what is felt has come to be {self.drift.told:+.3g} N beside what joint torques press with, while the "
                "tool stands: the sensor drifts or is turned, or the load is another"
            )
        return found

    # --- begin and end ----------------------------------------------------------------------------

    def begin(self, out: HybridOutput, measured: Array, free: FreeMotion | None) -> None:
        """Find the surface, from free motion; or press at once with what is felt. out: a step where it begins."""
        felt, limits, controller = measured - self.offset, self.limits, self.controller
        self._approach, self._again, self.output = None, False, None
        if free is not None:
            push = free.push + self.force  # what holding still presses with goes on
            self._approach = Approach(
                self.unilateral, free.inertia, push, out.h, measured, controller.gains.normal_damping, limits,
                fastest=fastest_approach(free.jolt[:, self.unilateral], controller.velocity_limits),
            )  # fmt: skip
            self._sense.begin()
        self.force[:] = felt if free is None else 0.0
        self._came = None
        self.checks.at_contact = out.theta.copy(), out.h.copy()
        self._contact.begin(out.h)
        self._push.begin()
        self.drift.begin()
        self._giving, self._friction, self._aside = GivingWay(), HeldByFriction(), None
        self._looked = np.inf

    def end(self) -> None:
        """What still presses fades away in hold, unless nothing pushes back."""
        if self.output is not None:
            self.force[:] = self.output.force  # with what the integral added
        if self._contact.without > SUDDEN:
            self.force[self.unilateral] = 0.0
        self._contact.begin(self._contact.touched)
        self._approach, self._again, self.output = None, False, None

    def held(self, measured: Array | None, dt: float) -> None:
        """What fades away in hold ends at once where nothing pushes back. A silent sensor tells nothing of that."""
        if measured is None or not self.force.any():
            return
        self._contact.update(self._touching, self._contact.touched, dt)
        if self._contact.without > max(self.limits.contact_debounce, SUDDEN):
            self.force[self.unilateral] = 0.0

    # --- what is felt -----------------------------------------------------------------------------

    def feel(self, measured: Array, dt: float) -> None:
        """A reading (m), dt (s) after the last."""
        if not self._leaves:
            return
        approach, sense = self._approach, self._sense
        zero = self.offset if approach is None else approach.zero
        readings, zeros = measured.tolist(), zero.tolist()
        least = min(readings[row] - zeros[row] for row in self._leaves)
        if not math.isfinite(least):
            return  # the law refuses it, and says so
        free = approach is not None and not self._again
        sense.update(least, dt, self.limits.contact_debounce, free=free)
        self._touching = sense.touches(least, self.limits.contact_force)
        self.steady = self.steady + dt if self._touching else 0.0

    def touches(self, measured: Array) -> bool:
        """Contact is felt, by one reading; what cannot be lost is always felt."""
        return bool(((measured - self.offset)[self.unilateral] >= self._least).all())

    # --- a step -----------------------------------------------------------------------------------

    def step(self, now: int, q: Array, v: Array, measured: Array, dt: float, *, beside: Beside | None = None) -> str:
        """Find `output` for a state. Why it may not go on; empty if it may. Raises ArithmeticError."""
        controller, governor = self.controller, self.governor
        aside = 0.0 if beside is None else beside.force
        approach = self._look(q, v, measured, dt, beside)
        felt = measured - self.offset
        if approach is None:
            change = self.limits.force_rate * dt
            rows = zip(self.force.tolist(), self.desired.tolist(), self.bound.tolist())
            for row, (at, wanted, most) in enumerate(rows):
                self.force[row] = at + max(-change, min(change, min(wanted, most) - at))
        before = self.output
        if before is None or governor.motion.mode == "none":  # the task begins where the robot is
            before = controller.step(q, v, np.zeros(controller.k), posture=governor.posture)
            governor.begin(q, before.theta)
        number, leans = governor.motion.number, aside > self._least + LEANS * float(felt[self.unilateral].sum())
        step = governor.follow(now, q, before, dt)
        if governor.motion.number != number and governor.motion.problem and leans:
            governor.motion.problem += f"; {aside:.3g} N are felt beside the constraints: something may be in the way"
        if governor.problem:
            if governor.moving:
                return governor.problem
            governor.give_up(step.theta)
        push = self._push
        push.wish(self.desired, dt)
        pushed = (
            push.pressing(self.force, controller.force_integral, before, felt, dt, alone=aside < self._least)
            if approach is None
            else push.approaching(approach, before, again=self._again)
        )
        self._soften(q, v, dt, leans=leans)
        self.output = out = controller.step(
            q, v, step.theta, rate=step.rate, acceleration=step.acceleration, force=pushed.force,
            measured=felt if pushed.felt else None, dt=dt, posture=governor.wanted_posture, approach=pushed.aim,
            beside=self._made_up_for(beside, dt), aside=None if beside is None else beside.efforts,
        )  # fmt: skip
        self.drift.update(q, out, felt, self.force, dt, known=pushed.felt)
        problem = self._problem(out, felt, aside)
        self.turns.follow(q, self.checks.turn)
        if not problem and approach is not None:
            problem = approach.step(out.h, out.drift, dt)
        return problem

    def _made_up_for(self, beside: Beside | None, dt: float) -> Array | None:
        """Efforts of what is felt beside the surface, but for the first approach: there it is an error of the model."""
        if beside is None or (self.approaching and not self._again):
            self._pushed_aside.forget()
            return None
        return self._pushed_aside.update(beside.efforts, dt, touching=self._touching)

    def _soften(self, q: Array, v: Array, dt: float, *, leans: bool) -> None:
        """Softer gains where efforts come late and the arm is fast beside its wanted motion.

        Not where it leans on something beside the surface, or friction holds it: that needs all of them, until efforts
        are so late that the arm swings by them. A UR10 that stuck on a friction of 0.77 was thrown off at 1 m/s.
        """
        self._pressed += dt
        self._leant = 0.0 if leans and not self.approaching and self._pressed > BLOW else self._leant + dt
        reach = self.governor.reachable
        if reach is not None and (self.behind or self.softening.share < 1.0):
            controller = self.controller
            momentum = controller.robot.mass_matrix(q) @ (v - reach.v)
            behind = self.behind if self._leant > BLOW or self.behind > SWINGS else 0.0
            controller.soften(self.softening.update(momentum, controller.task_damping, dt, behind=behind))

    def _look(self, q: Array, v: Array, measured: Array, dt: float, beside: Beside | None) -> Approach | None:
        """Whether it touches, touches no more, or yet. The approach that goes on. beside: what is felt there."""
        approach, out = self._approach, self.output
        if out is None:
            return approach
        if approach is not None:
            if not self._again:
                approach.limits = self.limits
            if approach.touches(out.h, measured, dt, noise=self._sense):
                self._begin_to_press(approach, measured)
                approach = None
        if approach is None:
            self._contact.update(self._touching or not self._touching_wanted, out.h, dt)
            self._push.update(out, dt, self.limits, self.controller.reaction_time)
            if self._leaves:
                wanted = min(self.force[row] for row in self._leaves)
                self._giving.update(self._push.slow, self._sense.smooth, wanted, self._least, dt)
            self._looked += dt
            if self._looked >= LOOKS:
                self._look_at_what_can_be_let_go(q, v)
            self._felt_friction += dt
            if beside is not None and self._felt_friction >= LOOKS_AT_FRICTION:
                self._look_at_friction(q, measured, beside)
            self._approach_again(q, v, measured)
        elif self._again:
            aside = beside is not None and beside.force > 2.0 * self._least
            self._contact.update(False, out.h, dt, aside=aside)
        return self._approach

    def _look_at_what_can_be_let_go(self, q: Array, v: Array) -> None:
        """Update the bound of the force for where the arm is now."""
        self._looked, limits, letting_go = 0.0, self.limits, self.letting_go
        # what the integral adds has to be let go as well, but for what free motion needs
        added = self.controller.force_integral - self._push.lacking
        most = letting_go.bounds(
            self.controller, q, v, self.unilateral, limits.normal_speed, limits.largest_force, added, held=self._aside
        )
        self._in_time[self.unilateral] = np.maximum(most, limits.contact_force)[self.unilateral]
        self.bound[:] = self._in_time

    def _look_at_friction(self, q: Array, measured: Array, beside: Beside) -> None:
        """Press with no more than friction may let go of: what is felt beside the surface counts as that."""
        self._felt_friction, controller = 0.0, self.controller
        pressed = float((measured - self.offset)[self.unilateral].sum())
        if pressed < 2.0 * self._least or not self.limits.normal_speed:
            return
        self._aside = beside.efforts / max(pressed, beside.force)  # of more than a friction of 1, the rest is a wall's
        held = self._friction.largest(
            controller.robot.mass_matrix(q), beside.efforts, pressed, controller.velocity_limits,
            controller.reaction_time + self.letting_go.lag,
        )  # fmt: skip
        self.bound[:] = np.minimum(self._in_time, np.where(self.unilateral, max(held, FELT * self._least), np.inf))

    def _begin_to_press(self, approach: Approach, measured: Array) -> None:
        """Contact: what the sensor read before is its zero, and what the model lacked stays compensated."""
        assert self.output is not None
        known, again = self.limits.tare and approach.free, self._again
        if known:
            self.offset[:] = approach.offset
        self.tared = known or (again and self.tared)
        self.checks.at_contact = self.output.theta.copy(), self.output.h.copy()
        felt = measured - self.offset
        # a blow is no wish: what came in free motion begins with the force that counts as contact
        most, came = np.maximum(self.desired, 0.0), approach.free or again
        if came:
            if not again:
                self._push.lacking[:] = approach.free_push
            # where it was lost before, with as much as tells at once whether it is lost again
            most = np.minimum(most, 2.0 * self._least if again else self.limits.contact_force)
        self.force[:] = np.where(self.unilateral, np.clip(felt, 0.0, most), felt)
        self.controller.preset(force=approach.push - (0.0 if came else self.force), acceleration=None)
        self._came = None if again else approach
        self._approach, self._again, self._pressed = None, False, 0.0
        self._contact.begin(self.output.h)

    def _approach_again(self, q: Array, v: Array, measured: Array) -> None:
        """Back to a contact that was lost a moment ago, slowly, if it was."""
        limits, controller, out = self.limits, self.controller, self.output
        assert out is not None
        sudden = self._push.share < 0.5
        patience = max(limits.contact_debounce, SUDDEN) if sudden else PATIENCE * limits.contact_timeout
        if self._contact.without < patience or not (limits.approach_speed and controller.gains.normal_damping):
            return
        A = controller.robot.constraint_rows(q, v, controller.constraints).A
        inertia = np.where(self.unilateral, inertia_of(controller.robot, q, A)[0], 0.0)
        slow = 0.5 * min(limits.approach_speed, limits.normal_speed or limits.approach_speed)
        self._approach = Approach(
            self.unilateral, inertia, self._push.lacking, out.h, measured, controller.gains.normal_damping,
            replace(limits, approach_speed=slow), ramp=0.0, zero=self.offset,
        )  # fmt: skip
        if sudden:  # the task stays where it is: what friction had held back does not fling the tool ahead
            self.governor.begin(q, out.theta)
        # what the integrals made up for, as of friction, is gone with the contact
        kept = np.where(self.unilateral, 0.0, controller.force_integral)
        controller.preset(force=kept, acceleration=0.0 if sudden else None)
        self._again = True
        self.force[self.unilateral] = 0.0

    def _problem(self, out: HybridOutput, felt: Array, beside: float) -> str:
        """Why the controller may not go on; empty if it may. beside: N, that are felt beside the constraints."""
        first = self._approach is not None and not self._again
        came = self._approach if first else self._came if self._pressed < IMPACT else None
        problem = self.checks.step(out, felt, self.limits, approaching=first, came=came)
        if problem or first:
            return problem
        if self._approach is not None:
            return self._contact.not_found(self._approach.unfelt, beside, self._least, self.limits.contact_timeout)
        if not self._touching_wanted:
            return ""
        if self._push.pulls > self.limits.contact_timeout:
            return (
                f"contact lost: {felt[self.unilateral].max():.3g} N are felt, though joint torques press with none: "
                "the sensor drifts or is turned, or the load is another"
            )
        if self._giving.time > self.limits.contact_timeout:
            return self._giving.words(-min(out.drift[row] for row in self._leaves))
        return "contact lost" if self._contact.lost > self.limits.contact_timeout else ""
