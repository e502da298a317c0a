# SPDX-License-Identifier: Apache-2.0
"""Forces of several contacts at once: the nonlinear complementarity problem of Signorini's and Coulomb's laws.

Find f with u = (G + R) f + free such that of each contact

    0 <= f_n, 0 <= u_n, f_n u_n = 0;  |f_t| <= mu f_n;  f_t = -mu f_n u_t / |u_t| where it slides,

or, in De Saxce's form, K* contains u + mu |u_t| e_n, which is orthogonal to f in K. G is Delassus' matrix and R, the
compliance, zero for what is rigid: one method for both. Block Gauss-Seidel with each contact solved exactly (`sweeps`)
is fast from a warm start; where it is slow, as with many contacts on one body, Newton's method on Alart and Curnier's
function takes over (`newton`), from which sweeps go on if it should not arrive.

Sources: Jourdan, Alart, Jean, Comput. Methods Appl. Mech. Eng. 155, 1998; Alart, Curnier, ibid. 92, 1991; Acary,
Bremond, Huber, Advanced Topics in Nonsmooth Dynamics, 2018; Carpentier, Le Lidec, Montaut, RSS 2024.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.common.real_numbers import real_array, real_number
from rbd_dynamics.compiler.loops import Loops
from rbd_dynamics.contacts.joint_law import JointLaw
from rbd_dynamics.contacts.laws import LAWS, FrictionLaw, law_of
from rbd_dynamics.contacts.newton import Law
from rbd_dynamics.contacts.sweeps import sweep_contacts

Array = NDArray[np.float64]
SWEEPS = 60  # at a time, before Newton's method is tried
ROUNDS = 12
TOLERANCE = 1e-12  # of the largest force
LOST = 1e12  # of the motion without forces: what forces that cancel do each by itself


class ContactSolution(NamedTuple):
    """forces (n, 3): normal, two tangents. velocity (n, 3): G forces + free. residual: how much the law would change
    the forces, over the largest of them. converged: it is as small as was asked."""

    forces: Array
    velocity: Array
    residual: float
    converged: bool


class ContactSolver:
    """Problems of n contacts and m joints; what it found is where the next one starts.

    Parameters:
        cone: the law of friction, a name in `CONES`; "elliptic" is Coulomb's (see `laws`).
        joints: degrees of freedom with dry friction or stops, whose rows come after those of the contacts.
        machine_code: compile the sweeps; else Python runs them.

    `delassus` (3n + m, 3n + m), `free` (3n + m), `friction` (n), `joints` (see `JointLaw`) and `forces` (3n + m) are
    its arrays, to write into and to read.
    """

    def __init__(self, contacts: int, *, cone: str = LAWS[0].name, joints: int = 0, machine_code: bool = True) -> None:
        self.contacts, self.friction_law, n = contacts, law_of(cone), 3 * contacts + joints
        self.delassus, self.free, self.forces = np.zeros((n, n)), np.zeros(n), np.zeros(n)
        self.friction = np.zeros(contacts)
        self.joints = JointLaw(np.zeros(joints), np.full(joints, -np.inf), np.full(joints, np.inf))
        self._tolerance = np.array([TOLERANCE])
        laws = (self.friction, self.joints.level, self.joints.lower, self.joints.upper)
        arrays = (self._tolerance, self.delassus, self.free, *laws, self.forces, np.zeros(3), np.zeros(3))
        loops = solver_loops(self.friction_law, machine_code=machine_code)
        self._bound = loops.bind(contacts, joints, SWEEPS, *arrays)
        #: sweeps alone: true where these were enough
        self.sweep = self._bound.run

    @property
    def cone(self) -> str:
        """Name of the law of friction."""
        return self.friction_law.name

    def solve(self, *, tolerance: float = TOLERANCE, least: bool = False) -> bool:
        """Make `forces` obey the law to `tolerance` of the largest one; whether that was possible.

        least: of redundant contacts' forces the shortest, as far as the cones let them. Where it is not possible
        `forces` are the best that were found.
        """
        self._tolerance[0] = tolerance
        law = None
        if not self.contacts:  # convex: Newton's method mostly knows what is held
            law = self.law()
            self.forces[:] = law.improved(self.forces, tolerance)
            if law.residual(self.forces) <= tolerance:
                return True
        for _ in range(ROUNDS):
            done = self.sweep()
            if done:
                break
            law = law or self.law()
            self.forces[:] = law.improved(self.forces, tolerance)
            done = law.residual(self.forces) <= 10.0 * tolerance
            if done:
                break
        if done and self._is_lost():
            return False
        if done and len(self.joints):
            self.forces[:] = self.law().improved(self.forces, 0.0, steps=1)  # what is held, exactly
        if least and done:
            self.forces[:] = (law or self.law()).least(self.forces)
        return done

    def _is_lost(self) -> bool:
        """Forces that cancel have grown until nothing is known of the motion: contacts that jam have no solution."""
        moved = float(np.abs(self.forces).max(initial=0.0)) * float(np.abs(self.delassus).max(initial=0.0))
        return moved > LOST * float(np.abs(self.free).max(initial=0.0))

    def law(self) -> Law:
        """The law of the problem as it stands now."""
        return Law(self.delassus, self.free, self.friction, self.friction_law, joints=self.joints)


def solve_contacts(
    delassus: ArrayLike,
    free: ArrayLike,
    friction: ArrayLike,
    *,
    compliance: ArrayLike = 0.0,
    cone: str = LAWS[0].name,
    start: ArrayLike | None = None,
    tolerance: float = TOLERANCE,
) -> ContactSolution:
    """Forces of n contacts, the shortest where they are redundant.

    Parameters:
        delassus: (3n, 3n), symmetric, change of the contacts' velocities (or accelerations) per force, rows by
            contact: normal, two tangents. free: (3n) those without forces.
        friction: (n) coefficients. compliance: of the normals, (n) or one number, added to Delassus' matrix.
        start: (n, 3) forces to begin with.
        tolerance: of the largest force.

    Raises ValueError for wrong shapes, for numbers that are not finite or negative where they cannot be, and for a
    matrix that is not symmetric or has a negative eigenvalue.
    """
    given = {"delassus": delassus, "free": free, "friction": friction, "compliance": compliance}
    G, b, mu, soft = (real_array(value, name) for name, value in given.items())
    if mu.ndim != 1:
        raise ValueError(f"friction has shape {mu.shape}, expected (n,)")
    n = len(mu)
    if soft.shape not in ((), (n,)):
        raise ValueError(f"compliance has shape {soft.shape}, expected () or ({n},)")
    shapes = {"delassus": (3 * n, 3 * n), "free": (3 * n,), "friction": (n,)}
    for (name, shape), array in zip(shapes.items(), (G, b, mu)):
        if array.shape != shape:
            raise ValueError(f"{name} has shape {array.shape}, expected {shape} for {n} contacts")
    for name, array in zip(given, (G, b, mu, soft)):
        if not np.isfinite(array).all():
            raise ValueError(f"{name}: a number is not finite")
    for name, array in (("friction", mu), ("compliance", soft)):
        if (array < 0.0).any():
            raise ValueError(f"{name}: {float(array.min()):g} is negative")
    size = float(np.abs(G).max(initial=0.0))
    if not np.allclose(G, G.T, rtol=0.0, atol=1e-8 * size):
        raise ValueError("delassus is not symmetric")
    if n and float(np.linalg.eigvalsh(G)[0]) < -1e-8 * size:
        raise ValueError("delassus has a negative eigenvalue: no bodies respond like that")
    if start is not None:
        start = real_array(start, "start")
        if start.size != 3 * n or not np.isfinite(start).all():
            raise ValueError(f"start has shape {start.shape}, expected ({n}, 3), of finite numbers")
    try:
        fine = real_number(tolerance)
    except ValueError as error:
        raise ValueError(f"tolerance {excerpt(tolerance)} {error}") from None
    if not fine > 0.0:
        raise ValueError(f"tolerance {fine:g} must be positive")
    solver = ContactSolver(n, cone=cone)
    solver.delassus[:], solver.free[:], solver.friction[:] = G, b, mu
    solver.delassus[range(0, 3 * n, 3), range(0, 3 * n, 3)] += soft
    if start is not None:
        solver.forces[:] = np.reshape(start, 3 * n)
    converged = solver.solve(tolerance=fine, least=True)
    forces = solver.forces.reshape(n, 3)
    residual = solver.law().residual(solver.forces)
    return ContactSolution(forces, (G @ solver.forces + b).reshape(n, 3), residual, converged)


@functools.cache
def solver_loops(law: FrictionLaw, *callers: Callable[..., int], machine_code: bool) -> Loops:
    """The sweeps by a law, or the last of functions that call them, as machine code or as Python runs them."""
    return Loops(*law.loops, sweep_contacts, *callers, machine_code=machine_code)
