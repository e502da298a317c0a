"""A simulated robot: effort commands in, its motion out, with brakes, limits and friction of a real one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.model.model import Model
from rbd_dynamics.robot import Robot
from rbd_dynamics.simulation.integrators import RungeKutta4, SemiImplicitEuler

Array = NDArray[np.float64]
Integrator = Literal["semi_implicit_euler", "rk4"]
INTEGRATORS = ("semi_implicit_euler", "rk4")
FASTEST = 1e4  # rad/s, m/s: a robot faster than this is not one any more


class SimulationDiverged(ArithmeticError):
    """The state is not that of a robot any more; the last sound one is kept."""


@dataclass(frozen=True)
class SimulationOptions:
    """What acts on the robot besides its commands."""

    step: float = 1e-3  # s
    integrator: Integrator = "semi_implicit_euler"
    friction: bool = True
    effort_limits: bool = True
    position_limits: bool = True
    command_timeout: float = 0.0  # s; 0: commands stay for ever
    start_braked: bool = True  # held until the first command


class Simulation:
    """The state (q, v, time) of a robot and the efforts that act on it.

    Brakes hold it until the first command, as a real robot's do. When commands stop for longer than
    `command_timeout` of simulated time all efforts are zero, and the robot falls.
    """

    def __init__(self, model: Model, q: Array | None = None, options: SimulationOptions | None = None) -> None:
        self.model = model
        self.options = options or SimulationOptions()
        friction = self.options.friction and _has_friction(model)
        bare = Robot(model)
        lower, upper = np.full(model.nv, -np.inf), np.full(model.nv, np.inf)
        self._effort_limit = np.full(model.nv, np.inf)
        for joint in model.joints:
            if joint.kind.nv == 1:
                if self.options.position_limits and joint.kind.name != "continuous":
                    lower[joint.v_index], upper[joint.v_index] = joint.limits.lower, joint.limits.upper
                if self.options.effort_limits:
                    self._effort_limit[joint.v_index] = joint.limits.effort
        euler = SemiImplicitEuler(bare, self.options.step, friction, lower, upper)
        self._integrator: SemiImplicitEuler | RungeKutta4 = euler
        if self.options.integrator == "rk4":
            self._integrator = RungeKutta4(Robot(model, friction=friction), self.options.step, euler)
        self.start = start_position(model) if q is None else np.array(q, dtype=float)
        self.steps = 0
        self.reset()

    @property
    def robots(self) -> tuple[tuple[Robot, tuple[str, ...]], ...]:
        """Each robot that is used, with the names of its kernels, for `robot.compile`."""
        euler = self._integrator if isinstance(self._integrator, SemiImplicitEuler) else self._integrator.fallback
        kernels = ("mass_matrix", "bias", *(("friction",) if euler.friction else ()))
        if euler is self._integrator:
            return ((euler.robot, kernels),)
        return ((euler.robot, kernels), (self._integrator.robot, ("forward_dynamics",)))

    @property
    def time(self) -> float:
        """Simulated time in s."""
        return self.steps * self.options.step

    def reset(self) -> None:
        """Back to the start position, at rest, with the brakes on. Time goes on."""
        self.q, self.v = self.start.copy(), np.zeros(self.model.nv)
        self.a, self.tau = np.zeros(self.model.nv), np.zeros(self.model.nv)
        self.braked = self.options.start_braked
        self.timed_out = False
        self._command, self._command_step = np.zeros(self.model.nv), self.steps

    def command(self, efforts: Array, dofs: NDArray[np.intp]) -> None:
        """Efforts of some degrees of freedom, from the next step on. The others keep theirs."""
        limit = self._effort_limit[dofs]
        self._command[dofs] = np.clip(efforts, -limit, limit)
        self._command_step = self.steps
        self.braked = self.timed_out = False

    def advance(self, steps: int = 1) -> int:
        """Do that many steps; returns how many. Raises SimulationDiverged."""
        timeout = self.options.command_timeout
        for _ in range(steps):
            if self.braked:
                self.steps += 1
                continue
            if timeout and not self.timed_out and (self.steps - self._command_step) * self.options.step >= timeout:
                self.timed_out = True
                self._command[:] = 0.0
            self._step()
        return steps

    def _step(self) -> None:
        try:
            q, v, a = self._integrator.step(self.q, self.v, self._command)
        except (ArithmeticError, ValueError, np.linalg.LinAlgError) as error:
            raise SimulationDiverged(f"no acceleration at t = {self.time:.6g} s: {error}") from error
        speed = np.abs(v)
        if not (np.isfinite(q).all() and np.isfinite(a).all() and (speed < FASTEST).all()):
            dof = int(np.argmax(np.where(np.isfinite(speed), speed, np.inf)))
            name = next(j.name for j in self.model.joints if j.v_index <= dof < j.v_index + j.kind.nv)
            raise SimulationDiverged(f"joint {name!r} reaches a speed of {v[dof]:.3g} at t = {self.time:.6g} s")
        self.q, self.v, self.a = q, v, a
        self.tau[:] = self._command
        self.steps += 1


def start_position(model: Model) -> Array:
    """The neutral position, moved into the limits where it is outside."""
    q = model.neutral()
    for joint in model.joints:
        if joint.kind.nq == 1 and not joint.limits.lower <= 0.0 <= joint.limits.upper:
            q[joint.q_index] = 0.5 * (joint.limits.lower + joint.limits.upper)
    return q


def _has_friction(model: Model) -> bool:
    return any(body.joint.damping or body.joint.friction for body in model.bodies)
