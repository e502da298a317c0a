# SPDX-License-Identifier: Apache-2.0
"""A step of time in contact of shapes, in calls of compiled code: the search, dynamics, the solver, the momentum.

As `contact_step` is for contacts that are always the same: of robots on pedestals and on floating bases, without joint
friction and constraints. Everything else, and each step in which something is rare, goes the long way.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.collisions import CollisionSet
from rbd_dynamics.collisions.compiled import ContactSearch
from rbd_dynamics.collisions.loops.layout import GAP, TOUCH
from rbd_dynamics.compiler.loops import Bound
from rbd_dynamics.contacts import ContactFinder, FoundContacts, proximal
from rbd_dynamics.contacts.laws import law_of
from rbd_dynamics.contacts.solver import SWEEPS, solver_loops
from rbd_dynamics.robot import Robot
from rbd_dynamics.simulation.contact import ACCURACY, DEPTH_GAIN
from rbd_dynamics.simulation.shape_loops import LAW, LOOPS
from rbd_dynamics.simulation.step_end import StepEnd

Array = NDArray[np.float64]
MOST = 512  # touches, for which there is room: what has more goes the long way
ALIKE = 0.01  # m: a point of contact that has gone no further since the last step is the same


class ShapeStep:
    """One step of a robot whose shapes touch.

    Parameters:
        shapes: with machine code that searches. h: the step, s.
        margin: m, of what counts as near, besides what comes near in a step.
        lower, upper: position limits of each degree of freedom, infinite where there are none.
    """

    def __init__(
        self, robot: Robot, shapes: CollisionSet, search: ContactSearch, h: float, margin: float, lower: Array,
        upper: Array,
    ) -> None:  # fmt: skip
        nv = robot.model.nv
        self._robot, self._shapes, self._search = robot, shapes, search
        self._h, self._margin, self._nv = h, margin, nv
        self._forward = robot.evaluation("forward_dynamics").fast
        self._mass = robot.evaluation("mass_matrix").fast
        self._a, self._v, self._reached = np.zeros(nv), np.zeros(nv), np.zeros(nv)
        self._end = StepEnd(robot, self._reached, h, lower, upper)
        self._M, self._inverse = np.zeros((nv, nv)), np.zeros(nv)
        self._numbers, self._tolerance = np.array([h, DEPTH_GAIN, ALIKE**2]), np.array([ACCURACY])
        self._laws = np.zeros((len(shapes.laws), LAW))
        for row, law in zip(self._laws, shapes.laws):
            row[:] = law.friction_coefficient, law.restitution, law.compliance, law.damping
        self._machine_code = robot.backend == "llvm"
        self._before = np.zeros(1, dtype=np.int64)
        self._forces = np.zeros((0, 3))
        self._last_of, self._last_points = np.zeros(0, dtype=np.int64), np.zeros((0, 3))
        self._room = -1
        self._law = law_of(shapes.cone)
        self._solve: Bound | None = None
        self._make_room()

    def _make_room(self) -> None:
        """Arrays for as many contacts as the search has room for; what is known of the last step is kept."""
        search, nv, room = self._search, self._nv, self._search.room
        self._room, known = room, int(self._before[0])
        self._solve = None
        if room > MOST:
            return
        forces, of, points = self._forces[:known], self._last_of[:known], self._last_points[:known]
        self._forces, self._last_of = np.zeros((room, 3)), np.zeros(room, dtype=np.int64)
        self._last_points = np.zeros((room, 3))
        self._forces[:known], self._last_of[:known], self._last_points[:known] = forces, of, points
        free, mu, f = np.zeros((room, 3)), np.zeros(room), np.zeros((room, 3))
        X, G, own = np.zeros((3 * room, nv)), np.zeros((3 * room, 3 * room)), np.zeros(max(3 * room, nv))
        many = (np.zeros(nv), np.zeros(nv), np.zeros((room, 3)), np.zeros(room), np.zeros(room), np.zeros((room, 3)))
        others = (np.zeros(room),)
        more = (np.zeros((room, 9)), np.zeros((4, nv)), np.zeros((nv, nv)), np.zeros(nv), np.zeros(nv))
        elliptic = self._law.name == "elliptic"
        loops = solver_loops(self._law, *proximal.LOOPS, *LOOPS, machine_code=self._machine_code)
        self._solve = loops.bind(
            0, nv, SWEEPS, int(elliptic), TOUCH, GAP, self._numbers, self._tolerance, search.of, search.touches,
            self._laws, search.A, search.velocity, search.bias, self._M, self._inverse, X, G, free, mu, f,
            self._before, self._last_of, self._last_points, own, np.zeros(3), *many, *others, *more,
            np.zeros((room, 3)), self._forces, self._a, self._v, self._reached,
        )  # fmt: skip

    def step(self, q: Array, v: Array, tau: Array) -> tuple[Array, Array, Array] | None:
        """(q', v', the acceleration in between); None: this step goes the long way."""
        inertia, search = self._robot.inertia_input, self._search
        self._v[:] = v
        found = search.look(q, self._v, self._margin, self._h)
        if self._forward(q, self._v, tau, inertia, self._a) is None:
            return None
        if search.room != self._room:
            self._make_room()
        if found:
            search.make_rows(found)
            if self._mass(q, inertia, self._M) is None:
                return None
        if self._solve is None:
            return None
        self._solve.set(0, found)
        if not self._solve.run():
            return None
        velocity = self._end.of(q, self._v)
        if velocity is None:
            return None
        self._found = found, q
        return self._end.position.copy(), velocity.copy(), self._a.copy()

    def results(self) -> tuple[FoundContacts, Array, Array]:
        """The last step's: what was found, mean forces (contacts, 3) in N, and where that was."""
        count, q = self._found
        return self._shapes.finder.known(self._search, count, self._shapes.cone), self._forces[:count] / self._h, q


def shape_step(
    robot: Robot, finder: ContactFinder, h: float, margin: float, lower: Array, upper: Array
) -> ShapeStep | None:
    """Steps among shapes; None where there is no machine code for them."""
    if not isinstance(finder, CollisionSet) or robot.backend != "llvm":
        return None
    searches = finder.finder.searches
    return None if searches is None else ShapeStep(robot, finder, searches.new(), h, margin, lower, upper)
