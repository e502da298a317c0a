# SPDX-License-Identifier: Apache-2.0
"""Simulation of a robot with elastic joints: links and motors, however stiff the springs between them are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.actuators import DrivenRobot, Motor
from rbd_dynamics.actuators.motor import check_motors
from rbd_dynamics.algorithms.passive_forces import rubbing_joint
from rbd_dynamics.algorithms.time_step import FASTEST
from rbd_dynamics.common.by_name import unknown
from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.common.real_numbers import real_array, real_number
from rbd_dynamics.contacts import Contact, ContactFinder, ContactSet
from rbd_dynamics.simulation.driven_contact import LinkLimits, Touching
from rbd_dynamics.simulation.simulation import SHORTEST_STEP, SimulationDiverged

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
MOST_ITERATIONS = 20
LIMIT_ROUNDS = 6
MIDPOINT, IMPLICIT = 0.5, 1.0  # where in a step forces are taken
FINE, ROUGH = 1e-13, 1e-9  # of speeds: how far iterations shall come, and must


class DrivenSimulation:
    """State (q, v, theta, theta_velocity, time) of links and motors, and the motors' torques that act on them.

    It is one thread's; several may share the robot and sets of contacts.

    The implicit midpoint rule: second order, stable at any step, symplectic, so that energy neither grows nor fades
    but by damping. Vibrations that are faster than the step come out slower than they are. Joint friction is the
    robot's (`DrivenRobot(..., friction=True)`), damping without Coulomb's, by which no step here can hold a joint;
    there are no brakes.

    A step in which a contact or a stop pushes is the implicit Euler method's, of first order, which damps vibrations:
    after it no rigid contact is in its surface, and no joint beyond its limit, where it stops without rebound.

    Parameters:
        robot: links and motors. step: s.
        q: where it starts, at rest; by default the neutral position moved into the limits.
        theta: where its motors start; by default where the springs hold the links at q against gravity.
        motors: {joint: Motor}: torques are limited to what each has at its speed.
        contacts: of the links, unilateral, with friction: a list, a `ContactSet`, or a `CollisionSet`.
        stops: the links' joints stop at their position limits.

    Raises KeyError for an unknown joint, TypeError for what are no contacts, ValueError for what makes no sense.
    """

    def __init__(
        self,
        robot: DrivenRobot,
        *,
        step: float = 1e-3,
        q: ArrayLike | None = None,
        theta: ArrayLike | None = None,
        motors: Mapping[str, Motor] | None = None,
        contacts: Sequence[Contact] | ContactSet | ContactFinder = (),
        stops: bool = True,
    ) -> None:
        if not isinstance(robot, DrivenRobot):
            raise TypeError(f"robot must be a DrivenRobot, not {type(robot).__name__}")
        if not isinstance(stops, (bool, np.bool_)):
            raise TypeError(f"stops {excerpt(stops)} is neither true nor false")
        self.robot, self.model = robot, robot.model
        if robot.links.friction and (rubbing := rubbing_joint(self.model)) is not None:
            name, level = rubbing
            raise ValueError(
                f"the implicit midpoint rule cannot hold joint {name!r} by its Coulomb friction of {level:g}: "
                "take DrivenRobot(..., friction=False), or damping alone"
            )
        try:
            self.step = real_number(step)
        except ValueError as error:
            raise ValueError(f"step {excerpt(step)} {error}") from None
        if not SHORTEST_STEP <= self.step < np.inf:
            raise ValueError(f"step {excerpt(step)} must be finite and at least {SHORTEST_STEP:g} s")
        self._limits = LinkLimits(robot, self.step, contacts, bool(stops))
        self._motors: list[tuple[int, int | None, Motor]] = []
        if motors is not None:
            check_motors(motors)
        for name, motor in (motors or {}).items():
            if name not in self.model.joint_names:
                raise KeyError(unknown("joint", name, self.model.joint_names))
            behind = robot.elastic.index(name) if name in robot.elastic else None
            self._motors.append((self.model.joint(name).v_index, behind, motor))
        self.q = self.model.start_position() if q is None else self.model.configuration(q).copy()
        if self.q.ndim != 1:
            raise ValueError(f"q has shape {self.q.shape}, expected ({self.model.nq},)")
        self._plain = all(joint.kind.velocity_is_rate for joint in self.model.joints)
        self.v = np.zeros(self.model.nv)
        still, m = np.zeros(self.model.nv), len(robot.elastic)
        held, _ = robot.drive_torques(self.q, still, still, np.zeros(m), np.zeros(m))
        self.theta: Array = self.q[robot.positions] + held[robot.dofs] / robot.stiffness
        if theta is not None:
            self.theta = real_array(theta, "theta").copy()
            if self.theta.shape != (m,) or not np.isfinite(self.theta).all():
                raise ValueError(f"theta {excerpt(theta)} are not {m} finite numbers")
        self.theta_velocity = np.zeros(m)
        self.a, self.theta_acceleration = np.zeros(self.model.nv), np.zeros(m)  # in the middle of the last step
        self._command, self.tau = np.zeros(self.model.nv), np.zeros(self.model.nv)
        self.steps = 0

    @property
    def time(self) -> float:
        """Simulated time in s."""
        return self.steps * self.step

    @property
    def energy(self) -> float:
        """Kinetic and potential, J."""
        return float(self.robot.energy(self.q, self.v, self.theta, self.theta_velocity))

    def command(self, tau: ArrayLike) -> None:
        """The motors' torques (nv) from the next step on. Raises ValueError for what are not so many finite numbers."""
        given = real_array(tau, "tau")
        if given.shape != (self.model.nv,) or not np.isfinite(given).all():
            raise ValueError(f"tau {excerpt(tau)} are not {self.model.nv} finite numbers")
        self._command = given.copy()

    def advance(self, steps: int = 1) -> None:
        """Do that many steps. Raises SimulationDiverged, with the last sound state kept."""
        if not isinstance(steps, (int, np.integer)) or steps < 0:
            raise ValueError(f"steps {excerpt(steps)} is not a whole number, zero or above")
        for _ in range(steps):
            self.tau = self._limited(self._command)
            try:
                self._step(self.tau)
            except (ArithmeticError, ValueError, np.linalg.LinAlgError) as error:
                raise SimulationDiverged(f"no step was found at t = {self.time:.6g} s: {error}") from error
            self.steps += 1

    def _limited(self, tau: Array) -> Array:
        found = tau.copy()
        for dof, behind, motor in self._motors:
            speed = self.v[dof] if behind is None else self.theta_velocity[behind]
            found[dof] = motor.saturated(found[dof], speed)
        return found

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """Those that `contact_forces` belong to; of shapes, those that were near in the last step."""
        return self._limits.contacts

    @property
    def contact_forces(self) -> Array:
        """(contacts, 3) along normal and tangents, means over the last step, N."""
        return self._limits.forces

    def _step(self, tau: Array) -> None:
        near = self._limits.touching(self.q, self.v)
        x = self._solve(tau, MIDPOINT, self._inverse(MIDPOINT))
        if near is not None or self._limits.sides(self._after(x, MIDPOINT)[0]).any():
            pushed = self._pushed(tau, near)
            if pushed is not None:
                self._go(pushed, IMPLICIT)
                return
        self._go(x, MIDPOINT)

    def _go(self, x: Array, part: float) -> None:
        nv = self.model.nv
        speeds = self.v + self.step * x[:nv], self.theta_velocity + self.step * x[nv:]
        if not all((np.abs(speed) < FASTEST).all() for speed in speeds):
            raise ArithmeticError(f"something moves faster than {FASTEST:g} rad/s or m/s")
        self.q, self.theta = self._after(x, part)
        self.v, self.theta_velocity = speeds
        self.a, self.theta_acceleration = x[:nv], x[nv:]

    def _pushed(self, tau: Array, near: Touching | None) -> Array | None:
        """Accelerations with what contacts and stops exert; None where they exert nothing."""
        limits, nv = self._limits, self.model.nv
        sides = np.zeros(len(limits.dofs), dtype=np.int64)
        for _ in range(LIMIT_ROUNDS):
            held = limits.dofs[sides != 0]
            there = ((limits.stops(sides) - self.q[limits.places[sides != 0]]) / self.step - self.v[held]) / self.step

            inverse = self._inverse(IMPLICIT, held)
            solve = partial(self._solve, tau, IMPLICIT, inverse, held=held, there=there)
            x, force = limits.pushed(near, held, inverse[:nv, :nv], solve)
            reaction = (self._imbalance(x, tau, IMPLICIT)[:nv] - force)[limits.dofs]
            pulls = sides * reaction > 0.0  # a stop pushes, it does not pull
            new = np.where(pulls, 0, np.where(sides != 0, sides, limits.sides(self._after(x, IMPLICIT)[0])))
            if np.array_equal(new, sides):
                break
            sides = new
        return x if sides.any() or limits.forces.any() else None

    def _start(self) -> Array:
        return np.concatenate([self.a, self.theta_acceleration])

    def _inverse(self, part: float, held: Indices | None = None) -> Array:
        """Inverse of the slopes, where the accelerations are expected."""
        slopes = self._slopes(self._start(), part)
        if held is not None:
            slopes[held] = np.eye(len(slopes))[held]
        return np.asarray(np.linalg.inv(slopes), dtype=float)

    def _solve(
        self,
        tau: Array,
        part: float,
        inverse: Array,
        force: Array | float = 0.0,
        *,
        held: Indices | None = None,
        there: Array | float = 0.0,
    ) -> Array:
        """Newton's method for the accelerations of the step.

        Parameters:
            part: of the step, at whose end forces are those of the motion.
            inverse: of the slopes. force: (nv) that pushes the links besides.
            held: degrees of freedom whose accelerations are `there`.
        """
        h, nv = self.step, self.model.nv
        x, last = self._start(), np.inf
        speed = 1.0 + float(np.abs(self.v).max(initial=0.0))
        for _ in range(MOST_ITERATIONS):
            lacking = self._imbalance(x, tau, part)
            lacking[:nv] -= force
            if held is not None:
                lacking[held] = x[held] - there
            change = inverse @ lacking
            x -= change
            size = h * float(np.abs(change).max(initial=0.0))
            scale = speed + h * float(np.abs(x).max(initial=0.0))
            if size <= FINE * scale or (size <= ROUGH * scale and size >= 0.5 * last):
                return x
            last = size
        raise ArithmeticError("the iterations of the implicit step do not converge")

    def _after(self, x: Array, part: float) -> tuple[Array, Array]:
        """q and theta at the end of the step."""
        h, nv = self.step, self.model.nv
        v, speed = self.v + part * h * x[:nv], self.theta_velocity + part * h * x[nv:]
        return self._moved(h * v), self.theta + h * speed

    def _moved(self, displacement: Array) -> Array:
        return self.q + displacement if self._plain else self.model.integrate(self.q, displacement)

    def _within(self, x: Array, part: float) -> tuple[Array, Array, Array, Array]:
        """q, v, theta and its speed after that part of the step."""
        time, nv = part * self.step, self.model.nv
        v, speed = self.v + time * x[:nv], self.theta_velocity + time * x[nv:]
        return self._moved(time * v), v, self.theta + time * speed, speed

    def _imbalance(self, x: Array, tau: Array, part: float) -> Array:
        """(nv + m) Of links and motors: torques that the accelerations x need, less those that are there."""
        q, v, theta, speed = self._within(x, part)
        nv, dofs = self.model.nv, self.robot.dofs
        on_links, own = self.robot.drive_torques(q, v, x[:nv], speed, x[nv:])
        spring = self.robot.spring_torque(q, v, theta, speed)
        given = tau.copy()
        given[dofs] = spring
        return np.concatenate([on_links - given, own - (tau[dofs] - spring)])

    def _slopes(self, x: Array, part: float) -> Array:
        """Derivative of the imbalance by x, but for how the rotors' gyroscopic terms change."""
        h, nv = part * self.step, self.model.nv
        q, v, _, _ = self._within(x, part)
        by_q, by_v, _ = self.robot.links.inverse_dynamics_derivatives(q, v, x[:nv])
        found = self.robot.mass_matrix(q)
        found[:nv, :nv] += h * h * by_q + h * by_v
        k = h * h * self.robot.stiffness + h * self.robot.damping
        links, motors = self.robot.dofs, nv + np.arange(len(k))
        found[links, links] += k
        found[motors, motors] += k
        found[links, motors] -= k
        found[motors, links] -= k
        return found
