# SPDX-License-Identifier: Apache-2.0
"""The integrator of the equation of motion, free, under constraints and in contact.

Positions move on the group (`model.integrate`), so quaternions stay of unit length.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.algorithms.passive_forces import drag_torque, dry_friction, is_viscous
from rbd_dynamics.algorithms.time_step import FRICTION_ITERATIONS, SLOWEST, is_plain
from rbd_dynamics.constraints import ConstraintSet
from rbd_dynamics.contacts import Contact, ContactFinder, ContactSet, FoundContacts
from rbd_dynamics.contacts.joint_law import JointLaw
from rbd_dynamics.contacts.laws import LAWS
from rbd_dynamics.robot import Robot
from rbd_dynamics.simulation.base_momentum import free_bases
from rbd_dynamics.simulation.contact import ImpulsesOfSteps
from rbd_dynamics.simulation.shape_steps import shape_steps
from rbd_dynamics.simulation.steps_in_contact import Settings, StepsInContact
from rbd_dynamics.simulation.touching_steps import touching_steps
from rbd_dynamics.spatial.rank import ROUNDING, inverse_response

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
NEAR = 1e-3  # m: what is nearer after a step without forces may touch in it
FASTEST_CHANGE = 50.0  # m/s^2: of velocity in a step, for what may touch in long ones
POSITION_GAIN = 0.2  # part of a constraint's violation that a step of the semi-implicit method takes back


class SemiImplicitEuler:
    """First order, symplectic: v' = v + h a, q' = q + h v', with friction, limits and contact taken implicitly.

    What moves freely keeps its momentum exactly, but for what acts on it: see `base_momentum`.

    Coulomb friction is a force between its bounds that brings v' to zero where it can: it holds a joint exactly at
    rest, and neither chatters nor explodes, whatever the step. Other friction acts as it is at v'. At a position limit
    the joint stops without rebound, and the reaction goes through the whole robot. These forces and those of contacts
    and constraints are found together (theory.md section 12).

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
        model = robot.model
        self.robot, self.h, self.friction = robot, h, friction
        self.lower, self.upper = lower, upper
        self._level = np.array(dry_friction(model)) if friction else np.zeros(model.nv)
        self._rubbing = np.flatnonzero(self._level)
        self._ways: tuple[Indices, Indices, Array] | None = None  # of the last step: see `_as_before`
        self._constant_drag: Array | None = None
        if friction and is_viscous(model):
            self._constant_drag = np.array(drag_torque(model, [1.0] * model.nv), dtype=float)
        limited = np.isfinite(lower) | np.isfinite(upper)
        self._limited: Indices = np.flatnonzero(limited)
        self._q_index = np.array([q_index_of(robot, int(dof)) for dof in self._limited], dtype=np.intp)
        self.constraints = constraints
        fixed = contacts if isinstance(contacts, ContactSet) else None
        self.finder = contacts if isinstance(contacts, ContactFinder) else None
        self._fresh = False  # what machine code has found is not in `_found_last` yet
        self._contacts: tuple[Contact, ...] = () if fixed is None else fixed.contacts
        self.contact_rows = None if fixed is None else fixed.rows
        self._found_last: tuple[FoundContacts, Array] | None = None
        cone = LAWS[0].name if contacts is None else contacts.cone
        self._impulses_of = ImpulsesOfSteps(h, cone=cone, machine_code=robot.backend == "llvm")
        self.impulses = None if fixed is None else self._impulses_of(self.contacts)
        self._fixed = fixed
        self.multipliers = np.zeros(len(constraints) if constraints is not None else 0)
        self._contact_forces = np.zeros((len(self._contacts), 3))
        # what dry friction holds does not move freely
        self._bases = tuple(base for base in free_bases(model) if not self._level[base.dofs].any())
        self._jointed = model.nv > sum(base.dofs.stop - base.dofs.start for base in self._bases)
        self._mass = np.zeros(0), np.zeros((0, 0))  # at which position, and the mass matrix there
        self._slip = np.zeros(0), np.zeros(0), np.zeros(0)  # at which state, and the rates that it was left with

    def step(self, q: Array, v: Array, tau: Array) -> tuple[Array, Array, Array]:
        """One step: (q', v', the acceleration in between)."""
        done, *reached = self.advance(q, v, tau, 1)
        return (reached[0], reached[1], reached[2]) if done else self.long_step(q, v, tau)

    def advance(self, q: Array, v: Array, tau: Array, steps: int) -> tuple[int, Array, Array, Array]:
        """Up to so many steps in contact by machine code: (those done, q', v', the acceleration in the last of them).

        It ends before a step that is to be a `long_step`, the first where there is no machine code.
        """
        if self.compiled is None:
            return 0, q, v, v
        found = self.compiled.advance(q, v, tau, steps)
        self._fresh = self._fresh or found[0] > 0
        return found

    @cached_property
    def compiled(self) -> StepsInContact | None:
        """Machine code of steps in contact, made when it is first asked for; None where there is none."""
        return self.steps_in_contact(None)

    def steps_in_contact(self, states: int | None) -> StepsInContact | None:
        """The same for so many states side by side; None: for one."""
        if self.constraints is not None or self.friction:
            return None
        settings = Settings(self.robot, self.h, self.lower, self.upper)
        if self._fixed is not None and self.impulses is not None and is_plain(self.robot.model, spherical=False):
            return touching_steps(settings, self._fixed, self.impulses, states)
        if self.finder is not None and is_plain(self.robot.model, spherical=False, several=True):
            return shape_steps(settings, self.finder, self._margin, states)
        return None

    def forget(self) -> None:
        """The state is another one: nothing is known of forces before."""
        self._ways = None
        self._impulses_of.forget()
        if "compiled" in vars(self) and self.compiled is not None:
            self.compiled.forget()

    def long_step(self, q: Array, v: Array, tau: Array) -> tuple[Array, Array, Array]:
        """One step without that machine code."""
        self._fresh = False
        h = self.h
        mass = self._mass_matrix(q)
        free = tau - self.robot.bias(q, v)
        near = self._near(q, v)
        drag = self._drag(v)
        for _ in range(1 if drag is self._constant_drag else FRICTION_ITERATIONS):
            matrix, right = mass, free
            if drag is not None:  # M a = tau - b - drag (v + h a)
                matrix, right = mass + np.diag(h * drag), free - drag * v
            a, v_new, extra, held = self._reacted(q, v, matrix, right, near)
            drag = self._drag(v_new)
        if not self._bases:
            reached, after = self.robot.model.integrate(q, h * v_new), v_new
        else:
            pushing = tau + extra
            if drag is not None:
                pushing -= drag * v_new
            reached, after = self._carried_over(q, v, v_new, mass, pushing)
        if self.constraints is not None:
            after = self._along(self.constraints, reached, after, held)
        return reached, after, a

    def _along(self, constraints: ConstraintSet, q: Array, v: Array, held: Indices) -> Array:
        """The velocities nearest to v that the constraints allow at q.

        held: degrees of freedom that friction holds. What is taken from v along rows without h is remembered: see
        `_turned_back`.
        """
        A = self.robot.constraint_rows(q, v, constraints).A
        slip = A @ v
        mass, movable = self._mass_matrix(q), np.delete(np.arange(len(v)), held)
        after, A = v.copy(), A[:, movable]
        response = np.linalg.solve(mass[np.ix_(movable, movable)], A.T)
        after[movable] -= response @ (inverse_response(A, response) @ slip)
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

    @property
    def _margin(self) -> float:
        """What is nearer than this, m, may touch in a step."""
        return max(NEAR, FASTEST_CHANGE * self.h**2)

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """Those that `contact_forces` belong to."""
        self._refresh()
        return self._contacts

    @property
    def contact_forces(self) -> Array:
        """(contacts, 3) of the last step along normals and tangents, N."""
        self._refresh()
        return self._contact_forces

    @property
    def found(self) -> tuple[FoundContacts, Array] | None:
        """What was found at the begin of the last step, and where that was."""
        self._refresh()
        return self._found_last

    def _refresh(self) -> None:
        if self._fresh and self.compiled is not None:
            self._fresh = False
            self._contacts, self._contact_forces, self._found_last = self.compiled.results()

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

    def _near(self, q: Array, v: Array) -> _Near:
        """What constraints and contacts are at this state."""
        constraints = contacts = None
        if self.constraints is not None:
            h, A, _ = self.robot.constraint_rows(q, v, self.constraints)
            wanted = -self._turned_back(q, v)
            if self._bases:  # forces act before the base's turning carries its momentum on
                wanted -= self.h * (A @ np.linalg.solve(self._mass_matrix(q), self.robot.coriolis(q, v)))
            constraints = A, wanted, -POSITION_GAIN / self.h * h
        if self.contact_rows is not None:
            self.contact_forces[:] = 0.0
            h, A, Adot_v = self.robot.constraint_rows(q, v, self.contact_rows)
            if (h[::3] + self.h * (A @ v)[::3] < NEAR).any():  # it may touch in this step
                contacts = A, h[::3], A @ v, self.h * Adot_v
        if self.finder is not None:
            contacts = self._found(self.finder, q, v)
        return _Near(constraints, contacts)

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
        found = finder.found(q, v, margin=self._margin, duration=self.h)
        self._contacts, self._contact_forces = found.contacts, np.zeros((len(found), 3))
        self._found_last = found, q
        if not len(found):
            return None
        self.impulses = self._impulses_of(self.contacts)
        return found.A, found.gap, found.velocity, self.h * found.bias

    def _drag(self, v: Array) -> Array | None:
        """Torque over speed (nv) of the friction that is not dry; None where there is none."""
        if not self.friction or self._constant_drag is not None:
            return self._constant_drag
        speed = np.where(np.abs(v) < SLOWEST, SLOWEST, v)
        return np.asarray(np.array(drag_torque(self.robot.model, speed.tolist()), dtype=float) / speed)

    def _reacted(
        self, q: Array, v: Array, matrix: Array, right: Array, near: _Near
    ) -> tuple[Array, Array, Array, Indices]:
        """The step of matrix a = right + reactions of constraints, contacts, dry friction and limits.

        Returns a, v', the reactions (nv), and which degrees of freedom friction holds.
        """
        if near.is_empty and self._ways is not None:
            again = self._as_before(q, v, matrix, right, *self._ways)
            if again is not None:
                return again
        free = np.asarray(np.linalg.solve(matrix, right), dtype=float)
        joints = np.union1d(self._rubbing, self._beyond(q, v + self.h * free))
        if near.is_empty and not joints.size:
            return free, v + self.h * free, np.zeros(len(v)), joints
        inverse = np.asarray(np.linalg.inv(matrix))
        while True:
            law, extra, own, mobility, back = self._reactions(v + self.h * free, inverse, near, q, joints)
            a = np.asarray(np.linalg.solve(matrix, right + extra), dtype=float)
            reached = v + self.h * a
            beyond = np.setdiff1d(self._beyond(q, reached), joints)
            if not beyond.size or self.jammed():
                break
            joints = np.union1d(joints, beyond)
        stopped, known = law.equations(reached[joints] - back, own, mobility)
        stopped &= mobility > 0.0
        reached[joints[stopped]] = (known + back)[stopped]  # to rounding it is there: what sticks does not creep
        if near.is_empty and len(joints) == len(self._rubbing):  # no limit is met
            ways = np.sign(reached) * (self._level > 0.0)
            self._ways = np.flatnonzero((ways == 0.0) & (self._level > 0.0)), np.flatnonzero(ways), ways
        return a, reached, extra, joints[stopped & (known == 0.0) & (law.level > 0.0)]

    def _as_before(
        self, q: Array, v: Array, matrix: Array, right: Array, held: Indices, slide: Indices, ways: Array
    ) -> tuple[Array, Array, Array, Indices] | None:
        """What `_reacted` returns where friction holds the same joints as in the last step, and others slide as they
        did; None where it does not, or a limit is met. There is one solution only: what obeys the law is it.

        held, slide: the joints that are held and that slide. ways (nv): 1, -1 of these, else 0.
        """
        extra = -self._level * ways
        system, known = matrix, right + extra
        if held.size:  # their accelerations are known, and their forces are not
            stopping = -v[held] / self.h
            known = known - matrix[:, held] @ stopping
            system = matrix.copy()
            system[:, held] = 0.0
            system[held, held] = -1.0
        a = np.asarray(np.linalg.solve(system, known), dtype=float)
        if held.size:
            holding = a[held]
            if (np.abs(holding) > self._level[held]).any():
                return None
            extra[held], a[held] = holding, stopping
        reached = v + self.h * a
        reached[held] = 0.0
        if ((reached * ways)[slide] <= 0.0).any() or self._beyond(q, reached).size:
            return None
        return a, reached, extra, held

    def _beyond(self, q: Array, v: Array) -> Indices:
        """Degrees of freedom that would be beyond a limit after the step."""
        dofs = self._limited
        reached = q[self._q_index] + self.h * v[dofs]
        tolerance = 1e-12 + 1e-9 * np.abs(reached)
        return np.asarray(
            dofs[(reached > self.upper[dofs] + tolerance) | (reached < self.lower[dofs] - tolerance)], dtype=np.intp
        )

    def _reactions(
        self, v: Array, inverse: Array, near: _Near, q: Array, joints: Indices
    ) -> tuple[JointLaw, Array, Array, Array, Array]:
        """What acts on v, the velocities after the step without it, whose response to an impulse is `inverse`.

        Returns the law of the `joints`, the generalised force (nv) of all, and of the joints the impulses, the
        mobilities, and the velocities with which constraints take violations back.
        """
        h, movable, shown, back = self.h, inverse, v, np.zeros(len(v))
        if near.constraints is not None:
            A, wanted, taken_back = near.constraints
            response = inverse @ A.T
            share = inverse_response(A, response)
            multipliers = share @ (wanted + taken_back - A @ v)
            back = response @ (share @ taken_back)  # what sticks follows it: it is no motion that friction opposes
            shown = v + response @ multipliers
            movable = inverse - response @ share @ response.T  # by what is left to move
        contact_rows, gaps, before, turned = near.contacts or (np.zeros((0, len(v))), *[np.zeros(0)] * 3)
        rows = np.concatenate([contact_rows, np.eye(len(v))[joints]])
        G, velocity = rows @ movable @ rows.T, rows @ shown
        velocity[: len(turned)] += turned
        velocity[len(turned) :] -= back[joints]
        mobility = np.diagonal(movable)[joints]
        fixed = len(turned) + np.flatnonzero(mobility <= ROUNDING * np.diagonal(inverse)[joints])
        G[fixed], G[:, fixed] = 0.0, 0.0  # constraints hold these
        position = h * back
        position[self._limited] += q[self._q_index]
        law = JointLaw(h * self._level[joints], *((limit - position)[joints] / h for limit in (self.lower, self.upper)))
        impulses = self._impulses_of(() if near.contacts is None else self.contacts)
        pushes, own = impulses.with_joints(G, velocity, gaps, before, law)
        if near.contacts is not None:
            self.contact_forces[:] = pushes / h
        total = rows.T @ np.concatenate([pushes.reshape(-1), own])
        if near.constraints is not None:  # they carry their part of what the others push
            multipliers = multipliers - share @ (A @ (inverse @ total))
            self.multipliers[:] = multipliers / h
            total += A.T @ multipliers
        return law, total / h, own, np.diagonal(G)[len(turned) :], back[joints]


class _Near(NamedTuple):
    """What acts at one state: constraints (A, velocity that they shall have, and that with which a violation is taken
    back beside it), and contacts (A, gaps, velocities before, what these gain by the motion of their rows)."""

    constraints: tuple[Array, Array, Array] | None
    contacts: tuple[Array, Array, Array, Array] | None

    @property
    def is_empty(self) -> bool:
        return self.constraints is None and self.contacts is None


def q_index_of(robot: Robot, dof: int) -> int:
    """Place in q of the position of a one-degree-of-freedom joint, given the place of its velocity in v."""
    return next(joint.q_index for joint in robot.model.joints if joint.v_index == dof)
