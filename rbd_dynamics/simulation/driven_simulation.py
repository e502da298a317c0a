# SPDX-License-Identifier: Apache-2.0
"""Simulation of a robot with elastic joints: links and motors, however stiff the springs between them are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.actuators import DrivenRobot, Motor
from rbd_dynamics.algorithms.time_step import FASTEST
from rbd_dynamics.model.by_name import unknown
from rbd_dynamics.model.excerpt import excerpt
from rbd_dynamics.model.real_numbers import real_array, real_number
from rbd_dynamics.simulation.simulation import SHORTEST_STEP, SimulationDiverged

Array = NDArray[np.float64]
MOST_ITERATIONS = 20
FINE, ROUGH = 1e-13, 1e-9  # of speeds: how far iterations shall come, and must


class DrivenSimulation:
    """State (q, v, theta, theta_velocity, time) of links and motors, and the motors' torques that act on them.

    The implicit midpoint rule: second order, stable at any step, symplectic, so that energy neither grows nor fades
    but by damping. Vibrations that are faster than the step come out slower than they are. Joint friction is the
    robot's (`DrivenRobot(..., friction=True)`); there are no position limits, contacts or brakes here.

    Parameters:
        robot: links and motors. step: s.
        q: where it starts, at rest; by default the neutral position moved into the limits.
        theta: where its motors start; by default where the springs hold the links at q against gravity.
        motors: {joint: Motor}: torques are limited to what each has at its speed.

    Raises KeyError for an unknown joint, ValueError for what makes no sense.
    """

    def __init__(
        self,
        robot: DrivenRobot,
        *,
        step: float = 1e-3,
        q: ArrayLike | None = None,
        theta: ArrayLike | None = None,
        motors: Mapping[str, Motor] | None = None,
    ) -> None:
        self.robot, self.model = robot, robot.model
        self.step = real_number(step)
        if not SHORTEST_STEP <= self.step < np.inf:
            raise ValueError(f"step {excerpt(step)} must be finite and at least {SHORTEST_STEP:g} s")
        self._motors: list[tuple[int, int | None, Motor]] = []
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
                raise SimulationDiverged(f"no step at t = {self.time:.6g} s: {error}") from error
            self.steps += 1

    def _limited(self, tau: Array) -> Array:
        found = tau.copy()
        for dof, behind, motor in self._motors:
            speed = self.v[dof] if behind is None else self.theta_velocity[behind]
            found[dof] = motor.saturated(found[dof], speed)
        return found

    def _step(self, tau: Array) -> None:
        """Newton's method for the accelerations in the middle, with the slopes where it is expected."""
        h, nv = self.step, self.model.nv
        x = np.concatenate([self.a, self.theta_acceleration])
        inverse, last = np.linalg.inv(self._slopes(x)), np.inf
        speed = 1.0 + float(np.abs(self.v).max(initial=0.0))
        for _ in range(MOST_ITERATIONS):
            change = inverse @ self._imbalance(x, tau)
            x -= change
            size = h * float(np.abs(change).max(initial=0.0))
            scale = speed + h * float(np.abs(x).max(initial=0.0))
            if size <= FINE * scale or (size <= ROUGH * scale and size >= 0.5 * last):
                break
            last = size
        else:
            raise ArithmeticError("the iterations for the implicit step do not end")
        a, acceleration = x[:nv], x[nv:]
        speeds = self.v + h * a, self.theta_velocity + h * acceleration
        if not all((np.abs(speed) < FASTEST).all() for speed in speeds):
            raise ArithmeticError(f"something is faster than {FASTEST:g} rad/s or m/s")
        self.q = self._moved(0.5 * h * (self.v + speeds[0]))
        self.theta = self.theta + 0.5 * h * (self.theta_velocity + speeds[1])
        self.v, self.theta_velocity = speeds
        self.a, self.theta_acceleration = a, acceleration

    def _moved(self, displacement: Array) -> Array:
        return self.q + displacement if self._plain else self.model.integrate(self.q, displacement)

    def _middle(self, x: Array) -> tuple[Array, Array, Array, Array]:
        """q, v, theta and its speed in the middle of the step."""
        half, nv = 0.5 * self.step, self.model.nv
        v, speed = self.v + half * x[:nv], self.theta_velocity + half * x[nv:]
        return self._moved(half * v), v, self.theta + half * speed, speed

    def _imbalance(self, x: Array, tau: Array) -> Array:
        """(nv + m) Of links and motors: torques that the accelerations x need, less those that are there."""
        q, v, theta, speed = self._middle(x)
        nv, dofs = self.model.nv, self.robot.dofs
        on_links, own = self.robot.drive_torques(q, v, x[:nv], speed, x[nv:])
        spring = self.robot.spring_torque(q, v, theta, speed)
        given = tau.copy()
        given[dofs] = spring
        return np.concatenate([on_links - given, own - (tau[dofs] - spring)])

    def _slopes(self, x: Array) -> Array:
        """Derivative of the imbalance by x, but for how the rotors' gyroscopic terms change."""
        h, nv = self.step, self.model.nv
        q, v, _, _ = self._middle(x)
        by_q, by_v, _ = self.robot.links.inverse_dynamics_derivatives(q, v, x[:nv])
        found = self.robot.mass_matrix(q)
        found[:nv, :nv] += 0.25 * h * h * by_q + 0.5 * h * by_v
        k = 0.25 * h * h * self.robot.stiffness + 0.5 * h * self.robot.damping
        links, motors = self.robot.dofs, nv + np.arange(len(k))
        found[links, links] += k
        found[motors, motors] += k
        found[links, motors] -= k
        found[motors, links] -= k
        return found
