# SPDX-License-Identifier: Apache-2.0
"""A simulated robot: effort commands in, its motion out, with brakes, limits and friction of a real one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.algorithms.passive_forces import rubbing_joint
from rbd_dynamics.algorithms.time_step import FASTEST
from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.common.real_numbers import plain_array, real_array, real_number
from rbd_dynamics.constraints import ConstraintSet
from rbd_dynamics.contacts import Contact, ContactFinder, ContactSet, FoundContacts
from rbd_dynamics.contacts.contact import contact_set_of
from rbd_dynamics.model.model import Model
from rbd_dynamics.model.passive_forces import Friction
from rbd_dynamics.robot import Robot
from rbd_dynamics.simulation.integrators import SemiImplicitEuler
from rbd_dynamics.simulation.quick_steps import QuickSteps, step_kernel
from rbd_dynamics.simulation.smooth_methods import Adaptive, ExplicitEuler, RungeKutta4
from rbd_dynamics.simulation.steps_in_contact import StepsInContact

Array = NDArray[np.float64]
Integrator = Literal["semi_implicit_euler", "explicit_euler", "rk4", "adaptive"]
INTEGRATORS = ("semi_implicit_euler", "explicit_euler", "rk4", "adaptive")
Stabilization = Literal["none", "projection"]
STABILIZATIONS = ("none", "projection")
SHORTEST_STEP = 1e-9  # s
FINEST = 1e-13  # of tolerances: below it is rounding
QUICK_AFTER = 200  # steps until a kernel is compiled that does many in a call


class SimulationDiverged(ArithmeticError):
    """The state is not that of a robot any more; the last sound one is kept."""


@dataclass(frozen=True)
class SimulationOptions:
    """What acts on the robot besides its commands. Raises ValueError for what makes no sense."""

    _: KW_ONLY
    step: float = 1e-3  # s
    integrator: Integrator = "semi_implicit_euler"
    friction: bool = True  # of the joints; Coulomb's by the semi-implicit method alone
    effort_limits: bool = True
    position_limits: bool = True
    command_timeout: float = 0.0  # s; 0: commands stay for ever
    start_braked: bool = True  # held until the first command
    relative_tolerance: float = 1e-9  # of the adaptive method, of positions and velocities in each of its inner steps
    absolute_tolerance: float = 1e-9  # rad and m, rad/s and m/s
    stabilization: Stabilization = "none"  # after each step: nothing, or position and velocity put on the constraints

    def __post_init__(self) -> None:
        for name, least, unit in (
            ("step", SHORTEST_STEP, " s"), ("command_timeout", 0.0, " s"),
            ("relative_tolerance", FINEST, ""), ("absolute_tolerance", FINEST, ""),
        ):  # fmt: skip
            value = getattr(self, name)
            try:
                number = real_number(value)
            except ValueError as error:
                raise ValueError(f"{name} {excerpt(value)} {error}") from None
            if not least <= number < math.inf:
                raise ValueError(f"{name} {number:g} must be finite and at least {least:g}{unit}")
            object.__setattr__(self, name, number)
        for name in ("friction", "effort_limits", "position_limits", "start_braked"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise ValueError(f"{name} {excerpt(getattr(self, name))} is neither true nor false")
        for name, known in (("integrator", INTEGRATORS), ("stabilization", STABILIZATIONS)):
            if not isinstance(getattr(self, name), str) or getattr(self, name) not in known:
                raise ValueError(f"{name} {excerpt(getattr(self, name))} is not one of {', '.join(known)}")


class Simulation:
    """The state (q, v, time) of a robot and the efforts that act on it; of one thread.

    Simulations in several threads may share the model and sets of constraints, contacts and shapes.

    Brakes hold it until the first command, as a real robot's do. When commands stop for longer than
    `command_timeout` of simulated time all efforts are zero, and the robot falls.

    Parameters:
        q: where it starts, by default the neutral position moved into the limits.
        constraints: hold all the time. Their own stabilization (Baumgarte's) acts with all methods but the
            semi-implicit one, which takes violations back in its own way.
        contacts: unilateral, with friction: a list, a `ContactSet`, or a `CollisionSet` of bodies with shapes. A step
            in which one of them pushes is the semi-implicit method's, whatever the method: forces jump there, so that
            no smooth method keeps its order. All other steps are the method's own.

    Coulomb friction holds a joint at rest, exactly, by the semi-implicit method. The other methods have no such force:
    raises ValueError that names the joint.
    """

    def __init__(
        self,
        model: Model,
        *,
        q: Array | None = None,
        options: SimulationOptions | None = None,
        constraints: ConstraintSet | None = None,
        contacts: Sequence[Contact] | ContactSet | ContactFinder = (),
    ) -> None:
        for what, value, kind in (("model", model, Model), ("options", options, SimulationOptions),
                                  ("constraints", constraints, ConstraintSet)):  # fmt: skip
            if not isinstance(value, kind) and (value is not None or kind is Model):
                raise TypeError(f"{what} must be a {kind.__name__}, not {type(value).__name__}")
        touching = contact_set(model, contacts)
        self.model = model
        self.options = options or SimulationOptions()
        self.constraints, self._may_touch = constraints, touching is not None
        friction = self.options.friction and _has_friction(model)
        bare = Robot(model)
        self.effort_limit = np.full(model.nv, np.inf)
        for joint in model.joints if self.options.effort_limits else ():
            if joint.kind.nv == 1:
                self.effort_limit[joint.v_index] = joint.limits.effort
        lower, upper = position_limits(model, self.options.position_limits)
        h = self.options.step
        self._euler = SemiImplicitEuler(bare, h, friction, lower, upper, constraints=constraints, contacts=touching)
        self._integrator: SemiImplicitEuler | ExplicitEuler | RungeKutta4 | Adaptive = self._euler
        self._rough = bare
        if self.options.integrator != "semi_implicit_euler":
            if friction and (rubbing := rubbing_joint(model)) is not None:
                name, level = rubbing
                raise ValueError(
                    f"integrator {self.options.integrator!r} cannot hold joint {name!r} by its Coulomb friction of "
                    f"{level:g}: take 'semi_implicit_euler', or friction=False"
                )
            self._rough = Robot(model, friction=friction)
            self._integrator = self._method(self._rough, h)
        self._last = self._integrator  # which did the last step
        #: for steps that touch nothing, where the method and the robot allow it
        self.quick: QuickSteps | None = None
        kernel = step_kernel(self.options.integrator, model, bare, constraints) if touching is None else None
        if kernel is not None:
            rough = Robot(model, friction=True) if friction and self._rough is bare else self._rough
            self.quick = QuickSteps(rough, h, lower, upper, kernel)
        self._done = 0  # steps that were done one by one
        self._patience = _steps_until(self.options.command_timeout, h)
        self.start = model.start_position() if q is None else model.configuration(q).copy()
        if self.start.ndim != 1:
            raise ValueError(f"q has shape {self.start.shape}, expected ({model.nq},)")
        self.steps = 0
        self.reset()

    def _method(self, robot: Robot, h: float) -> ExplicitEuler | RungeKutta4 | Adaptive:
        options = self.options
        if options.integrator == "adaptive":
            tolerances = {"relative": options.relative_tolerance, "absolute": options.absolute_tolerance}
            return Adaptive(robot, h, self._acceleration, **tolerances)
        method = RungeKutta4 if options.integrator == "rk4" else ExplicitEuler
        return method(robot, h, self._acceleration)

    @property
    def robots(self) -> tuple[tuple[Robot, tuple[str, ...]], ...]:
        """Each robot that is used, with the names of its kernels, for `robot.compile`."""
        kernels = ("mass_matrix", "bias")
        used = {self._euler.robot: list(kernels)}
        if self._integrator is not self._euler:
            used.setdefault(self._rough, []).append("forward_dynamics")
        if self.quick is not None:
            used.setdefault(self.quick.robot, []).append(self.quick.kernel.name)
        return tuple((robot, tuple(names)) for robot, names in used.items())

    def compile_constraints(self) -> None:
        """Make the kernels of constraints and contacts ahead of use."""
        for of in (self.constraints, self._euler.contact_rows):
            if of is not None:
                self._euler.robot.compile_constrained(of, "constraint_rows", batches=False)
        if self._euler.finder is not None:
            self._euler.finder.found(self.start, np.zeros(self.model.nv))
        if self._may_touch and self._euler.compiled is not None:
            self._euler.compiled.prepare()
        if self.constraints is not None:
            self._rough.compile_constrained(
                self.constraints,
                "constrained_forward_dynamics",
                "constraint_correction",
                "constraint_impulse",
                batches=False,
            )

    @property
    def limits(self) -> tuple[Array, Array]:
        """Lowest and highest positions of the degrees of freedom, infinite where none acts."""
        return self._euler.lower, self._euler.upper

    @property
    def multipliers(self) -> Array:
        """Multipliers (m) of the constraints: means over the last step if semi-implicit, else as they are."""
        if self.constraints is None:
            return np.zeros(0)
        if self._last is self._euler:
            return self._euler.multipliers
        return self._rough.constrained_forward_dynamics(self.q, self.v, self.tau, self.constraints).multipliers

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """Those that `contact_forces` belong to; of shapes, those that were near in the last step."""
        return self._euler.contacts

    @property
    def contact_forces(self) -> Array:
        """(contacts, 3) along normal and tangents, means over the last step, N."""
        return self._euler.contact_forces

    @property
    def found_contacts(self) -> tuple[FoundContacts, Array] | None:
        """Those of shapes that `contact_forces` belong to, and the configuration at which they were found."""
        return self._euler.found

    @property
    def contact_rows(self) -> ConstraintSet | None:
        """The contacts as constraint rows, normal and two tangents each; None for those of shapes."""
        return self._euler.contact_rows

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
        if self.quick is not None:
            self.quick.forget()
        self._euler.forget()
        self._command, self._command_step = np.zeros(self.model.nv), self.steps

    def command(self, efforts: ArrayLike, dofs: ArrayLike) -> None:
        """Efforts of some degrees of freedom, from the next step on. The others keep theirs.

        Raises ValueError for what are not so many finite numbers, and for degrees of freedom that the robot has not.
        """
        efforts, dofs = real_array(efforts, "efforts"), _indices(dofs, self.model.nv)
        if efforts.shape not in ((), dofs.shape):
            raise ValueError(f"efforts has shape {efforts.shape}, expected {dofs.shape}")
        if not np.isfinite(efforts).all():
            bad = int(np.flatnonzero(~np.isfinite(np.broadcast_to(efforts, dofs.shape)))[0])
            raise ValueError(f"efforts: number {bad} is not finite")
        limit = self.effort_limit[dofs]
        self._command[dofs] = np.clip(efforts, -limit, limit)
        self._command_step = self.steps
        self.braked = self.timed_out = False

    def advance(self, steps: int = 1) -> int:
        """Do that many steps; returns how many. Raises SimulationDiverged, ValueError for what is no such number."""
        if not isinstance(steps, (int, np.integer)) or steps < 0:
            raise ValueError(f"steps {excerpt(steps)} is not a whole number, zero or above")
        end = self.steps + int(steps)
        if self.braked:
            self.steps = end
        while self.steps < end:
            until = end
            if self.options.command_timeout and not self.timed_out:
                due = self._command_step + self._patience
                until = min(end, max(due, self.steps))
                if self.steps >= due:
                    self.timed_out, until = True, end
                    self._command[:] = 0.0
            left = until - self.steps
            if self._do_quickly(left) < left:
                self._step()
        return steps

    def _do_quickly(self, steps: int) -> int:
        """Do as many of these steps as one call of machine code does; their number. `_step` does the one after it."""
        quick = self.quick
        if quick is not None and (quick.ready or self._done >= QUICK_AFTER):
            done, q, v, a = quick.advance(self.q, self.v, self.a, self._command, steps)
        elif self._may_touch and self._integrator is self._euler:
            done, q, v, a = self._euler.advance(self.q, self.v, self._command, steps)
        else:
            return 0
        if done:
            self.q, self.v, self.a = q, v, a
            self.tau[:] = self._command
            self.steps += done
        return done

    def long_step(self) -> None:
        """One step by NumPy, whatever machine code there is for more. Raises SimulationDiverged."""
        self._step()

    def steps_in_contact(self, states: int) -> StepsInContact | None:
        """Machine code for steps of so many states side by side, where something may be touched; None without."""
        return self._euler.steps_in_contact(states) if self._integrator is self._euler else None

    def attempt(self) -> None:
        """Raise SimulationDiverged where not even the first step from the start gives a state; else nothing changes."""
        self.reset()
        steps = self.steps
        try:
            if not self._do_quickly(1):
                self._step()
        finally:
            self.steps = steps
            self.reset()
            self._euler.contact_forces[:] = 0.0
            self._euler.multipliers[:] = 0.0

    def _acceleration(self, q: Array, v: Array, tau: Array) -> Array:
        if self.constraints is not None:
            return self._rough.constrained_forward_dynamics(q, v, tau, self.constraints).a
        return self._rough.forward_dynamics(q, v, tau)

    def _step(self) -> None:
        try:
            q, v, a = self._stepped()
            if self.constraints is not None and self.options.stabilization == "projection":
                q = self._rough.project_configuration(q, self.constraints)
                v, _, _ = self._rough.constraint_impulse(q, v, self.constraints)
        except (ArithmeticError, ValueError, np.linalg.LinAlgError) as error:
            raise SimulationDiverged(f"no acceleration was found at t = {self.time:.6g} s: {error}") from error
        if not v @ v < FASTEST**2:  # else q and a are finite too: v followed from a, and q from v
            self._check(q, v, a)
        self.q, self.v, self.a = q, v, a
        self.tau[:] = self._command
        self.steps += 1
        self._done += 1

    def _stepped(self) -> tuple[Array, Array, Array]:
        """State after a step: by the method, or the semi-implicit one where a contact pushes or a limit is met."""
        now = self.q, self.v, self._command
        self._last = self._euler
        if self._integrator is self._euler:
            return self._euler.long_step(*now)
        if self._may_touch:
            reached = self._euler.step(*now)
            if self._euler.contact_forces.any():
                return reached
        reached = self._integrator.step(*now)
        if self._euler.passes_limits(reached[0]):
            return self._euler.step(*now)
        self._last = self._integrator
        return reached

    def _check(self, q: Array, v: Array, a: Array) -> None:
        """Raise SimulationDiverged for what is no state of a robot."""
        speed = np.abs(v)
        if not (np.isfinite(q).all() and np.isfinite(a).all() and (speed < FASTEST).all()):
            dof = int(np.argmax(np.where(np.isfinite(speed), speed, np.inf)))
            name = next(j.name for j in self.model.joints if j.v_index <= dof < j.v_index + j.kind.nv)
            speeding = f"joint {name!r} reaches a speed of {v[dof]:.3g} at t = {self.time:.6g} s"
            raise SimulationDiverged(speeding + self._euler.jammed())


def _steps_until(time: float, h: float) -> int:
    """Number of steps of h after which that time has passed."""
    steps = max(0, int(time / h) - 1)
    while steps * h < time:
        steps += 1
    return steps


def _indices(dofs: ArrayLike, nv: int) -> NDArray[np.intp]:
    """Checked indices of degrees of freedom. Raises ValueError."""
    found = plain_array(dofs, "dofs")
    if found.size == 0:
        return np.zeros(0, dtype=np.intp)
    if found.ndim != 1 or found.dtype.kind not in "iu" or found.min() < 0 or found.max() >= nv:
        raise ValueError(f"dofs {excerpt(dofs)} are not indices of degrees of freedom, 0 to {nv - 1}")
    return found.astype(np.intp, copy=False)


def position_limits(model: Model, wanted: bool) -> tuple[Array, Array]:
    """(lower, upper) (nv,) of joints of one degree of freedom; infinite where there is none, or none is wanted."""
    lower, upper = np.full(model.nv, -np.inf), np.full(model.nv, np.inf)
    for joint in model.joints if wanted else ():
        if joint.kind.nv == 1 and joint.kind.name != "continuous":
            lower[joint.v_index], upper[joint.v_index] = joint.limits.lower, joint.limits.upper
    return lower, upper


def contact_set(
    model: Model, contacts: Sequence[Contact] | ContactSet | ContactFinder
) -> ContactSet | ContactFinder | None:
    """None where there are none. Raises TypeError for what are no contacts, ValueError for those of another model."""
    if isinstance(contacts, ContactFinder):
        if contacts.model is not model and contacts.model != model:
            raise ValueError("the collision set was made for another model")
        return contacts
    if not isinstance(contacts, ContactSet) and (
        not isinstance(contacts, Sequence) or not all(isinstance(contact, Contact) for contact in contacts)
    ):
        raise TypeError(f"contacts must be a list of Contacts, not {excerpt(contacts)}")
    return contact_set_of(model, contacts) if len(contacts) else None


def _has_friction(model: Model) -> bool:
    return any(isinstance(force, Friction) for body in model.bodies for force in body.joint.forces)
