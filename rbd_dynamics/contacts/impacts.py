# SPDX-License-Identifier: Apache-2.0
"""Impacts of several contacts: what rebounds does so one impact after the other.

Only contacts that approach take part in each, and what it sets in motion makes the next, as in Newton's cradle; where
all approached at once, a ball at rest between others would share its impulse instead (Smith et al., ACM Trans. Graph.
31, 2012). In each impact friction obeys Coulomb's law for impulses.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.contacts.results import residuals
from rbd_dynamics.contacts.solver import ContactSolver

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

SLOWEST_BOUNCE = 0.01  # m/s: slower impacts do not rebound
STAGES = 200


class Impact(NamedTuple):
    """What happened so far. impulses (3n), N s; u (3n): velocities; work: of the impulses, J; laws: how badly the laws
    of contact hold, as in `ContactResiduals`."""

    impulses: Array
    u: Array
    stages: int = 0
    work: float = 0.0
    converged: bool = True
    laws: tuple[float, ...] = (0.0, 0.0, 0.0)


def rebounds(solver: ContactSolver, G: Array, start: Impact, restitution: Array, least: Array) -> Impact:
    """All impacts, until what still arrives rebounds no more. least (n): m/s; slower, a contact does not arrive."""
    found = start
    while found.stages < STAGES:
        arriving = found.u[::3] <= -least
        if not (arriving & (restitution > 0.0)).any():
            break
        found = impact(solver, G, found, restitution, arriving)
    return found


def impact(solver: ContactSolver, G: Array, before: Impact, restitution: Array, part: Flags) -> Impact:
    """One impact, in which the contacts `part` (n, bool) take part. `solver` has their friction."""
    apart, n = np.repeat(~part, 3), len(part)
    aim = before.u.copy()
    aim[::3] += restitution * before.u[::3]
    solver.delassus[:], solver.free[:], solver.forces[:] = G, np.where(apart, 0.0, aim), 0.0
    solver.delassus[apart] = 0.0
    solver.delassus[apart, apart] = 1.0
    converged = solver.solve(least=True)
    change = G @ solver.forces
    moved = np.where(apart, 0.0, aim + change).reshape(n, 3)
    own = residuals(solver.forces.reshape(n, 3), moved, before.u, solver.friction, solver.friction_law)
    return Impact(
        before.impulses + solver.forces,
        before.u + change,
        before.stages + 1,
        before.work + float(solver.forces @ (before.u + 0.5 * change)),
        before.converged and converged,
        tuple(np.maximum(before.laws, own)),
    )
