# SPDX-License-Identifier: Apache-2.0
"""Integrators of the equation of motion, free, under constraints and in contact.

Positions move on the group (`model.integrate`), so quaternions stay of unit length.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.algorithms.time_step import FRICTION_ITERATIONS, LIMIT_ITERATIONS, SLOWEST, is_plain
from rbd_dynamics.constraints import ConstraintSet
from rbd_dynamics.contacts import Contact, ContactFinder, ContactSet, FoundContacts
from rbd_dynamics.model.model import Model
from rbd_dynamics.robot import Robot
from rbd_dynamics.simulation.base_momentum import free_bases
from rbd_dynamics.simulation.contact import ImpulsesOfSteps, StepImpulses
from rbd_dynamics.simulation.contact_step import ContactStep
from rbd_dynamics.spatial.rank import inverse_response

Array = NDArray[np.float64]
NEAR = 1e-3  # m: what is nearer after a step without forces may touch in it
FASTEST_CHANGE = 50.0  # m/s^2: of velocity in a step, for what may touch in long ones
POSITION_GAIN = 0.2  # part of a constraint's violation that a step of the semi-implicit method takes back
Acceleration = Callable[[Array, Array, Array], Array]  # of q, v, tau


class SemiImplicitEuler:
    """First order, symplectic: v' = v + h a, q' = q + h v', with friction, limits and contact taken implicitly.

    What moves freely keeps its momentum exactly, but for what acts on it: see `base_momentum`.

    Friction acts as it is at v': stiff Coulomb friction neither chatters nor explodes, whatever the
    step. At a position limit the joint stops without rebound, and the reaction goes through the whole
    robot: the joint's acceleration is prescribed so that it stands at its limit after the step.

    Parameters:
        robot: without friction.
        friction: the robot's joint friction acts.
        lower, upper: position limits of each degree of freedom, infinite where there are none.
        constraints: A v = 0 holds to rounding after each step, at the configuration that it has reached; violations
            of h, of second order in the step, are taken back bit by bit.
        contacts: a `ContactSet` or what finds contacts at each state, if there are any.

    After a step `multipliers` (m) are the constraints' forces and `contact_forces` (contacts, 3) those of the
    contacts along normal and tangents, means over the step in N.
    """

    def __init__(
        self,
        robot: Robot,
        h: float,
        friction: bool,
        lower: Array,
        upper: Array,
        *,
        constraints: ConstraintSet | None = None,
        contacts: ContactSet | ContactFinder | None = None,
    ) -> None:
        self.robot, self.h, self.friction = robot, h, friction
        self.lower, self.upper = lower, upper
        limited = np.isfinite(lower) | np.isfinite(upper)
        self._limited: NDArray[np.intp] = np.flatnonzero(limited).astype(np.intp)
        self._q_index = np.array([q_index_of(robot, int(dof)) for dof in self._limited], dtype=np.intp)
        self.constraints = constraints
        fixed = contacts if isinstance(contacts, ContactSet) else None
        self.finder = contacts if isinstance(contacts, ContactFinder) else None
        self.contacts: tuple[Contact, ...] = () if fixed is None else fixed.contacts
        self.contact_rows = None if fixed is None else fixed.rows
        #: what was found at the begin of the last step, and where that was
        self.found: tuple[FoundContacts, Array] | None = None
        self.impulses: StepImpulses | None = None
        if contacts is not None:
            machine_code = robot.backend == "llvm"
            self._impulses_of = ImpulsesOfSteps(h, cone=contacts.cone, machine_code=machine_code)
            self.impulses = self._impulses_of(self.contacts) if fixed else None
        self._quick: ContactStep | None = None
        self._touching = (
            fixed if constraints is None and not friction and is_plain(robot.model, spherical=False) else None
        )
        self.multipliers = np.zeros(len(constraints) if constraints is not None else 0)
        self.contact_forces = np.zeros((len(self.contacts), 3))
        self._bases = free_bases(robot.model)
        self._jointed = robot.model.nv > sum(base.dofs.stop - base.dofs.start for base in self._bases)
        self._mass = np.zeros(0), np.zeros((0, 0))  # at which position, and the mass matrix there
        self._slip = np.zeros(0), np.zeros(0), np.zeros(0)  # at which state, and the rates that it was left with

    def step(self, q: Array, v: Array, tau: Array) -> tuple[Array, Array, Array]:
        """One step: (q', v', the acceleration in between)."""
        if self._touching is not None:
            done = (self._quick or self._in_contact(self._touching)).step(q, v, tau)
            if done is not None:
                return done
        h = self.h
        mass = self._mass_matrix(q)
        free = tau - self.robot.bias(q, v)
        a, extra, drag = self._within_limits(q, v, mass, free, self._reactions(q, v))
        v_new = v + h * a
        if not self._bases:
            reached, after = self.robot.model.integrate(q, h * v_new), v_new
        else:
            pushing = tau + extra
            if drag is not None:
                pushing -= drag * v_new
            reached, after = self._carried_over(q, v, v_new, mass, pushing)
        if self.constraints is not None:
            after = self._along(self.constraints, reached, after)
        return reached, after, a

    def _along(self, constraints: ConstraintSet, q: Array, v: Array) -> Array:
        """The velocities nearest to v that the constraints allow at q.

        What is taken from v along rows without h is remembered: see `_turned_back`.
        """
        A = self.robot.constraint_rows(q, v, constraints).A
        slip = A @ v
        response = np.linalg.solve(self._mass_matrix(q), A.T)
        after = np.asarray(v - response @ (inverse_response(A, response) @ slip))
        self._slip = q.copy(), after.copy(), np.where(constraints.holonomic, 0.0, slip)
        return after

    def _turned_back(self, q: Array, v: Array) -> Array:
        """The rates (m) along Pfaffian rows that a step begins with, where it goes on from the last one, else zero.

        With the opposite rates after it the rows' forces do no work, as their mean rate is zero: the leapfrog of the
        discrete Lagrange-d'Alembert principle (Cortes and Martinez, Nonlinearity 14, 2001). Velocities that are
        brought to zero rates at each step lose energy in proportion to the step.
        """
        last_q, last_v, slip = self._slip
        return slip if np.array_equal(last_q, q) and np.array_equal(last_v, v) else np.zeros(len(self.multipliers))

    def _in_contact(self, contacts: ContactSet) -> ContactStep:
        assert self.impulses is not None
        limits = (self.lower, self.upper)
        self._quick = ContactStep(self.robot, contacts, self.impulses, self.h, *limits, self.contact_forces)
        return self._quick

    def _mass_matrix(self, q: Array) -> Array:
        """Known from the end of the last step."""
        if not np.array_equal(self._mass[0], q):
            self._mass = q.copy(), self.robot.mass_matrix(q)
        return self._mass[1]

    def _carried_over(self, q: Array, v: Array, v_new: Array, mass: Array, pushing: Array) -> tuple[Array, Array]:
        """(q', v') with the momentum of each free base, and the velocities of the other joints as they are in v_new.

        pushing: generalised forces but those of gravity.
        """
        h = self.h
        gravity = self.robot.bias(q, np.zeros(len(v)))
        pushed: Array = mass @ v + h * (pushing - gravity)
        turns, displacement = [], h * v_new
        for base in self._bases:
            own = base.dofs
            others = v_new.copy()
            others[own] = 0.0
            turns.append(base.turn(h, pushed[own], mass[own, own], mass[own] @ others, 0.5 * (v + v_new)[own]))
        later = mass  # where the bases are makes no difference to it, only how the other joints stand
        if self._jointed:
            later = self.robot.mass_matrix(self.robot.model.integrate(q, displacement))
        after = v_new.copy()
        for base, turn in zip(self._bases, turns):
            own = base.dofs
            displacement[own], momentum = base.move(turn, h, pushed[own], mass[own, own], later[own, own])
            after[own] = 0.0
            after[own] = np.linalg.solve(later[own, own], momentum - later[own] @ after)
        reached = self.robot.model.integrate(q, displacement)
        self._mass = reached.copy(), later
        return reached, after

    def passes_limits(self, q: Array) -> bool:
        """A joint is beyond its limit."""
        at, dofs = q[self._q_index], self._limited
        return bool(np.any(at > self.upper[dofs]) or np.any(at < self.lower[dofs]))

    def _reactions(self, q: Array, v: Array) -> _Reactions | None:
        """What constraints and contacts are at this state; None where there are none, or no contact is near."""
        held = None
        if self.constraints is not None:
            h, A, _ = self.robot.constraint_rows(q, v, self.constraints)
            wanted = -POSITION_GAIN / self.h * h - self._turned_back(q, v)
            if self._bases:  # forces act before the base's turning carries its momentum on
                wanted -= self.h * (A @ np.linalg.solve(self._mass_matrix(q), self.robot.coriolis(q, v)))
            held = A, wanted
        touching = None
        if self.contact_rows is not None:
            self.contact_forces[:] = 0.0
            h, A, Adot_v = self.robot.constraint_rows(q, v, self.contact_rows)
            if (h[::3] + self.h * (A @ v)[::3] < NEAR).any():  # it may touch in this step
                touching = A, h[::3], A @ v, self.h * Adot_v
        if self.finder is not None:
            touching = self._found(self.finder, q, v)
        return None if held is None and touching is None else _Reactions(held, touching)

    def jammed(self) -> str:
        """Which contact is to blame, for messages, where the last step found no forces that obey the laws."""
        if self.impulses is None or self.impulses.converged or not self.contacts:
            return ""
        worst = self.contacts[int(np.abs(self.contact_forces).max(axis=1).argmax())].name
        return (
            f": no forces of its contacts were found, the worst is {worst!r}; shapes that overlap in the description "
            "have to be ignored"
        )

    def _found(self, finder: ContactFinder, q: Array, v: Array) -> tuple[Array, Array, Array, Array] | None:
        """Contacts that may touch in this step; None where there are none."""
        found = finder.found(q, v, margin=max(NEAR, FASTEST_CHANGE * self.h**2), duration=self.h)
        self.contacts, self.contact_forces = found.contacts, np.zeros((len(found), 3))
        self.found = found, q
        if not len(found):
            return None
        self.impulses = self._impulses_of(self.contacts)
        return found.A, found.gap, found.velocity, self.h * found.bias

    def _drag(self, v: Array) -> Array | None:
        """Friction torque over speed, for each degree of freedom."""
        if not self.friction:
            return None
        speed = np.where(np.abs(v) < SLOWEST, SLOWEST, v)
        drag: Array = np.divide(self.robot.friction_torque(speed), speed, dtype=float)
        return drag

    def _within_limits(
        self, q: Array, v: Array, mass: Array, free: Array, reactions: _Reactions | None
    ) -> tuple[Array, Array, Array | None]:
        """The acceleration of mass a = free + reactions - friction, such that no joint passes its limit.

        Returns a, the reactions, and the friction's drag.
        """
        h, dofs = self.h, self._limited
        position, speed = q[self._q_index], v[dofs]
        lower, upper = self.lower[dofs], self.upper[dofs]
        side = np.zeros(len(dofs), dtype=int)  # +1: held at the upper limit, -1: at the lower one
        for _ in range(LIMIT_ITERATIONS):
            target = ((np.where(side > 0, upper, lower) - position) / h - speed) / h
            a, extra, rest, drag = self._rubbing(v, mass, free, reactions, dofs[side != 0], target[side != 0])
            if not dofs.size:
                break
            reached = position + h * (speed + h * a[dofs])
            tolerance = 1e-12 + 1e-9 * np.abs(reached)
            hit = np.where(reached > upper + tolerance, 1, np.where(reached < lower - tolerance, -1, 0))
            pulls = side * (rest - extra)[dofs] > 0.0  # a limit pushes, it does not pull
            new = np.where(pulls, 0, np.where(side != 0, side, hit))
            if np.array_equal(new, side):
                break
            side = new
        return a, extra, drag

    def _rubbing(
        self,
        v: Array,
        mass: Array,
        free: Array,
        reactions: _Reactions | None,
        held: NDArray[np.intp],
        target: Array,
    ) -> tuple[Array, Array, Array, Array | None]:
        """The step with friction as it is after it, where degrees of freedom `held` have the accelerations `target`.

        Returns a, the reactions, what they and the limits push together, and the drag.
        """
        h, drag = self.h, self._drag(v)
        for _ in range(FRICTION_ITERATIONS if drag is not None else 1):
            matrix, right = mass, free
            if drag is not None:  # M a = tau - b - drag (v + h a)
                matrix, right = mass + np.diag(h * drag), free - drag * v
            system, wanted = matrix, right
            if held.size:
                system, wanted = matrix.copy(), right.copy()
                system[held] = np.eye(len(right))[held]
                wanted[held] = target
            a, extra = self._solve(system, wanted, matrix, v, reactions, held)
            if drag is not None:
                drag = self._drag(v + h * a)
        return a, extra, matrix @ a - right, drag

    def _solve(
        self,
        system: Array,
        target: Array,
        matrix: Array,
        v: Array,
        reactions: _Reactions | None,
        held: NDArray[np.intp],
    ) -> tuple[Array, Array]:
        """(a, force of the reactions) of system a = target, in which the degrees of freedom `held` stand at limits."""
        a = np.asarray(np.linalg.solve(system, target), dtype=float)
        if reactions is None:
            return a, np.zeros(len(a))
        extra = reactions.torque(self, matrix, v + self.h * a, held)
        pushed = target + extra
        pushed[held] = target[held]
        return np.asarray(np.linalg.solve(system, pushed), dtype=float), extra


class _Reactions:
    """Constraints (A, velocity that they shall have) and contacts (A, gaps, velocities before, what these gain by the
    motion of their rows) at one state."""

    def __init__(self, held: tuple[Array, Array] | None, touching: tuple[Array, Array, Array, Array] | None) -> None:
        self._held, self._touching = held, touching

    def torque(self, method: SemiImplicitEuler, matrix: Array, v: Array, held: NDArray[np.intp]) -> Array:
        """Generalised force (nv) that brings the velocities v after the step to what they have to be.

        held: degrees of freedom that stand at a limit, which nothing moves.
        """
        h = method.h
        total = np.zeros(len(v))
        inverse = np.zeros_like(matrix)
        free = np.setdiff1d(np.arange(len(v)), held)
        inverse[np.ix_(free, free)] = np.linalg.inv(matrix[np.ix_(free, free)])
        unconstrained = inverse
        if self._held is not None:
            A, wanted = self._held
            response = inverse @ A.T
            share = inverse_response(A, response)
            impulses = share @ (wanted - A @ v)
            v = v + response @ impulses
            inverse = inverse - response @ share @ response.T  # what contacts can still move
        if self._touching is not None:
            rows, gaps, before, turned = self._touching
            response = inverse @ rows.T
            assert method.impulses is not None
            pushes = method.impulses(rows @ response, rows @ v + turned, gaps, before)
            method.contact_forces[:] = pushes / h
            total += rows.T @ pushes.reshape(-1)
        if self._held is not None:
            if self._touching is not None:  # the constraints carry their part of what contacts push
                impulses = impulses - share @ (A @ (unconstrained @ total))
            method.multipliers[:] = impulses / h
            total += A.T @ impulses
        return total / h


class ExplicitEuler:
    """First order: q' = q + h v, v' = v + h a(q, v). Gains energy; for comparison."""

    def __init__(self, robot: Robot, h: float, acceleration: Acceleration) -> None:
        self.robot, self.h, self.acceleration = robot, h, acceleration

    def step(self, q: Array, v: Array, tau: Array) -> tuple[Array, Array, Array]:
        """One step: (q', v', the acceleration in between)."""
        a = self.acceleration(q, v, tau)
        return self.robot.model.integrate(q, self.h * v), v + self.h * a, a


class RungeKutta4:
    """Classical fourth order, on the group: what is integrated is the displacement x of q = q0 * exp(x)."""

    def __init__(self, robot: Robot, h: float, acceleration: Acceleration) -> None:
        self.robot, self.h, self.acceleration = robot, h, acceleration

    def step(self, q: Array, v: Array, tau: Array) -> tuple[Array, Array, Array]:
        """One step: (q', v', the mean acceleration)."""
        h, acceleration = self.h, self.acceleration
        model = self.robot.model
        a1 = acceleration(q, v, tau)
        x, v2 = 0.5 * h * v, v + 0.5 * h * a1
        k2, a2 = displacement_rate(model, x, v2), acceleration(model.integrate(q, x), v2, tau)
        x, v3 = 0.5 * h * k2, v + 0.5 * h * a2
        k3, a3 = displacement_rate(model, x, v3), acceleration(model.integrate(q, x), v3, tau)
        x, v4 = h * k3, v + h * a3
        k4, a4 = displacement_rate(model, x, v4), acceleration(model.integrate(q, x), v4, tau)
        a = (a1 + 2.0 * a2 + 2.0 * a3 + a4) / 6.0
        return model.integrate(q, h * (v + 2.0 * k2 + 2.0 * k3 + k4) / 6.0), v + h * a, a


MOST_EVALUATIONS = 100_000  # of the acceleration in one step: a second of computing


class Adaptive:
    """Dormand and Prince's method of fifth order with steps as small as its tolerances ask, by SciPy.

    It integrates the displacement x of q = q0 * exp(x), so quaternions stay of unit length.
    """

    def __init__(self, robot: Robot, h: float, acceleration: Acceleration, *, relative: float, absolute: float) -> None:
        self.robot, self.h, self.acceleration = robot, h, acceleration
        self.tolerances = {"rtol": relative, "atol": absolute}

    def step(self, q: Array, v: Array, tau: Array) -> tuple[Array, Array, Array]:
        """One step of h, in as many inner ones as needed: (q', v', the mean acceleration).

        Raises ArithmeticError where it does not come to the end.
        """
        from scipy.integrate import solve_ivp

        model, n = self.robot.model, len(v)
        left = MOST_EVALUATIONS

        def rate(_: float, y: Array) -> Array:
            nonlocal left
            left -= 1
            if left < 0:
                raise ArithmeticError(f"adaptive integration: a step of {self.h:g} s needs too many inner ones")
            at = model.integrate(q, y[:n])
            return np.concatenate([displacement_rate(model, y[:n], y[n:]), self.acceleration(at, y[n:], tau)])

        y = np.concatenate([np.zeros(n), v])
        found = solve_ivp(rate, (0.0, self.h), y, method="RK45", **self.tolerances)
        if not found.success:
            raise ArithmeticError(f"adaptive integration: {found.message}")
        x, after = found.y[:n, -1], found.y[n:, -1]
        return model.integrate(q, x), after, (after - v) / self.h


def displacement_rate(model: Model, x: Array, v: Array) -> Array:
    """Rate of x (nv) in q = q0 * exp(x) at the velocity v: the inverse right Jacobian of the group, times v."""
    rate = v.copy()
    for joint in model.joints:
        own = slice(joint.v_index, joint.v_index + joint.kind.nv)
        rate[own] = joint.kind.displacement_rate(x[own], v[own])
    return rate


def q_index_of(robot: Robot, dof: int) -> int:
    """Place in q of the position of a one-degree-of-freedom joint, given the place of its velocity in v."""
    return next(joint.q_index for joint in robot.model.joints if joint.v_index == dof)
