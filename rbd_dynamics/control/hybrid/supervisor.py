# SPDX-License-Identifier: Apache-2.0
"""What a hybrid position/force controller may do, and when it has to stop.

It holds the robot until it is engaged, lets it find the surface and press (`Pressing`), and goes back to holding when
something is wrong: a silent sensor, a stale state, lost contact, a surface that is not where the model has it, too much
force, a singular posture.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.hybrid.checks import SINGULAR
from rbd_dynamics.control.hybrid.controller import HybridController
from rbd_dynamics.control.hybrid.governor import PlacementLimits, TaskGovernor
from rbd_dynamics.control.hybrid.hold import HybridHold
from rbd_dynamics.control.hybrid.law import HybridOutput
from rbd_dynamics.control.hybrid.limits import HybridLimits
from rbd_dynamics.control.hybrid.multiplier_sensor import Beside
from rbd_dynamics.control.hybrid.placement import Placement
from rbd_dynamics.control.hybrid.pressing import Pressing
from rbd_dynamics.control.motion.desired_motion import DesiredMotion
from rbd_dynamics.control.safety.softening import Shares
from rbd_dynamics.spatial.rank import inverse_response

Array = NDArray[np.float64]
Mode = Literal["hold", "approach", "press"]
LONGEST_STEP = 0.05  # s, for integrals
#: reasons of holding that are no complaint
AT_EASE = ("not engaged", "by request", "activated anew", "standing by")
STOPPING = 200_000_000  # ns, after which what is held is held


class HybridSupervisor:
    """Torque for every measured state, from hold, approach or press.

    Parameters:
        controller: of a robot whose joints have one degree of freedom each.
        motion: the wanted motion of the task rows; while not engaged it is released.
        limits: see `HybridLimits`; may be replaced between two calls.

    Times are integer nanoseconds of one clock.
    """

    def __init__(self, controller: HybridController, motion: DesiredMotion, limits: HybridLimits) -> None:
        self.controller, self.motion = controller, motion
        self.governor = TaskGovernor(controller, motion)
        #: how it presses: wanted forces, what is felt
        self.contact = Pressing(controller, self.governor, limits)
        self.reason = "not engaged"  # of holding
        self._engaged = False
        self._hold = HybridHold(controller)
        self._stopped = -STOPPING  # when it went to hold, ns
        self.last = 0  # time of the last state, ns

    @property
    def mode(self) -> Mode:
        if not self._engaged:
            return "hold"
        return "approach" if self.contact.approaching else "press"

    @property
    def engaged(self) -> bool:
        return self._engaged

    @property
    def limits(self) -> HybridLimits:
        return self.contact.limits

    @limits.setter
    def limits(self, limits: HybridLimits) -> None:
        self.contact.limits = limits

    @property
    def effort_rates(self) -> Array:
        """N m/s or N/s (nv), at which efforts may change; infinite where they may jump. Gains are softer for them."""
        return self._hold.softening.rates

    @effort_rates.setter
    def effort_rates(self, rates: Array) -> None:
        self._hold.softening.rates = self.contact.softening.rates = rates

    @property
    def hold_shares(self) -> Shares:
        """Shares of the gains of holding that are in use."""
        return self._hold.shares

    @hold_shares.setter
    def hold_shares(self, shares: Shares) -> None:
        self._hold.shares = shares

    @property
    def hold(self) -> HybridHold:
        """How it holds the robot while it is not engaged."""
        return self._hold

    @property
    def desired(self) -> Array:
        """Multipliers (m) wanted by the user."""
        return self.contact.desired

    @property
    def force(self) -> Array:
        """Multipliers (m) wanted now."""
        return self.contact.force

    @property
    def offset(self) -> Array:
        """What the sensor reads in free motion (m), as found on the way to the surface."""
        return self.contact.offset

    @property
    def tared(self) -> bool:
        """Whether that was found at the last approach."""
        return self.contact.tared

    @property
    def unilateral(self) -> NDArray[np.bool_]:
        """Rows (m) that can only push."""
        return self.contact.unilateral

    @property
    def output(self) -> HybridOutput | None:
        """What the last step found; None in hold."""
        return self.contact.output

    @property
    def lets_go(self) -> bool:
        """Efforts have to change at once: contact is lost, a joint nears its limit of velocity, it has just stopped."""
        if not self._engaged:
            return 0 < self.last - self._stopped < STOPPING
        return self.contact.lets_go

    def engage(self, now: int, measured: Array | None, sensed: int) -> None:
        """Begin to press, at the next state; from what is felt now, without a jump.

        measured (m): multipliers by the sensor, at the time `sensed`; None: there was none yet. Raises
        ValueError where that is not possible, and then goes on holding.
        """
        if self.engaged:
            return
        limits, controller, contact = self.limits, self.controller, self.contact
        problem = contact.checks.sensor(limits, now, measured, sensed)
        if not problem and self._hold.at is None:
            problem = "no joint state yet"
        if not problem and now - self.last > limits.state_timeout * 1e9:
            problem = "joint states are silent"
        if problem or measured is None:
            raise ValueError(f"cannot engage: {problem}")
        felt = measured - self.offset
        presses = not contact.unilateral.any() or (not limits.tare and contact.touches(measured))
        if not presses and not (limits.approach_speed and controller.gains.normal_damping):
            raise ValueError("cannot engage: there is no contact, and approach_speed or normal_damping is zero")
        q, v = self._hold.q, self._hold.v
        contact.turns.begin()
        try:
            out = controller.step(q, v, np.zeros(controller.k))
            problem = self.contact.checks.step(out, felt, limits, approaching=not presses)
        except ArithmeticError:
            problem = SINGULAR + ", or the tool is turned by 180 degrees from the task frame"
        if not problem:
            problem = self.contact.checks.conditioning(q, v)
        if problem:
            raise ValueError(f"cannot engage: {problem}")
        free = self._hold.against_the_model(limits, contact.unilateral)
        controller.preset(acceleration=free.acceleration)
        self.motion.release()
        self.governor.begin(q, out.theta, self._hold.at)
        contact.begin(out, measured, None if presses else free)
        self._engaged, self.reason = True, ""

    def may_continue(self, now: int, measured: Array | None, sensed: int) -> None:
        """Raise ValueError where `continue_from` would not press, with the reason."""
        problem = self.contact.checks.sensor(self.limits, now, measured, sensed)
        if not problem and not self.last:
            problem = "no joint state yet"
        if not problem:
            problem = self.contact.checks.conditioning(self._hold.q, self._hold.v)
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
        if not self.contact.touches(measured):
            return np.asarray(tau - self._hold.torque(q, v, self.limits, self.force, 0.0))
        controller.reset()
        self.contact.turns.begin()
        zero = np.zeros(controller.k)
        at = controller.step(q, v, zero)
        at = HybridOutput(*(each.copy() for each in at))
        theta, rate = at.theta, at.rate
        own = controller.step(q, v, theta, rate=rate, force=felt, posture=q).wanted.copy()
        # the difference as multipliers and as acceleration of the task, as the integrals have them
        A = robot.constraint_rows(q, v, controller.constraints).A
        moved = robot.constraint_rows(q, v, controller.task).A
        M = robot.mass_matrix(q)
        a, Minv_At = np.linalg.solve(M, tau - own), np.linalg.solve(M, A.T)
        force = -inverse_response(A, Minv_At) @ (A @ a)
        controller.preset(force=force, acceleration=moved @ (a + Minv_At @ force))
        self.motion.release()
        self.contact.begin(at, measured, None)
        self.governor.begin(q, theta)
        self.last = now
        self._engaged, self.reason = True, ""
        return np.asarray(tau - controller.step(q, v, theta, rate=rate, force=felt, posture=q).wanted)

    def stop(self, reason: str, *, beside: Beside | None = None, felt: Array | None = None) -> None:
        """Hold from the next state on. What still presses fades away, unless nothing pushes back.

        beside: what is felt beside the constraints. felt (m): multipliers; None: nothing is known of them.
        """
        if self._engaged:
            last = None if self.output is None else self.output.tau.copy()
            self.contact.end()
            self._engaged, self.reason = False, reason
            self._stopped = self.last
            self._hold.at = None
            self.motion.release()
            self._hold.let_go()
            if last is not None and beside is not None and beside.force > self.limits.contact_force:
                stays = 1.0 if felt is None else self._leans_on(beside.force, felt)
                self._hold.fade(last, stays * beside.efforts, self.limits, self.force)

    def _leans_on(self, beside: float, felt: Array) -> float:
        """The share of what is felt beside the constraints, N, that is still there when a blow is over.

        No more than all that is pressed may be friction, which is gone with what of it is not wanted.
        """
        rows = self.unilateral
        pressed, wanted = float(felt[rows].sum()), float(self.force[rows].sum())
        return 1.0 if beside > pressed or wanted > pressed else max(0.0, wanted) / pressed

    def _let_go_beside(self, beside: Beside | None) -> None:
        """Nothing fades away where nothing pushes back."""
        if beside is None or beside.force < self.limits.contact_force:
            self._hold.let_go()

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
        """Raise ValueError where tool and task frame cannot be there: the surface would not be where it is pressed, or
        the tool would be taken along farther than a target may be."""
        if not self.engaged:
            return
        problem = self.contact.checks.taken_along(self.governor.way(goal), self.limits)
        if problem:
            raise ValueError(problem)
        q, v = self._hold.q, self._hold.v
        h = self.controller.robot.constraint_rows(q, v, goal.put(self.controller.constraints)).h
        problem = self.contact.checks.place(h, self.limits, approaching=self.mode == "approach")
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
        contact, limits = self.contact, self.limits
        silent = contact.checks.sensor(limits, now, measured, sensed)
        felt = None if measured is None or silent else measured - self.offset
        if self._engaged:
            if not -LONGEST_STEP < elapsed <= limits.state_timeout:
                self.stop(f"joint states were silent for {elapsed:.3g} s")
            elif problem := silent or contact.checks.beside(limits, beside):
                self.stop(problem, beside=None if silent else beside, felt=felt)
        self._let_go_beside(beside)
        self.last = now
        dt = min(max(elapsed, 0.0), LONGEST_STEP)
        self.governor.advance(dt)
        if measured is not None and not silent:
            contact.feel(measured, dt)
        if self._engaged and measured is not None:
            self._hold.q[:], self._hold.v[:] = q, v
            try:
                problem = contact.step(now, q, v, measured, dt, beside=beside)
            except ArithmeticError as error:
                problem = str(error)
            if not problem and contact.output is not None:
                return contact.output.tau
            self.stop(problem, beside=beside, felt=felt)
        contact.held(measured if not silent else None, dt)
        touched = None
        if felt is not None and limits.hold_load:
            touched = felt @ self.controller.robot.constraint_rows(q, v, self.controller.constraints).A
            touched += 0.0 if beside is None else beside.efforts
        tau = self._hold.torque(q, v, limits, contact.force, elapsed, felt=touched)
        if self._hold.problem:
            if self.reason in AT_EASE:  # else something is said already
                self.reason = self._hold.problem
            self._hold.problem = ""
        return tau
