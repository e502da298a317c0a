# SPDX-License-Identifier: Apache-2.0
"""Steps in machine code among shapes: the search, dynamics, the solver, the carrying over of momentum."""

from __future__ import annotations

import functools
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.collisions import CollisionSet
from rbd_dynamics.collisions.compiled import ContactSearch, row_loops, search_loops
from rbd_dynamics.collisions.loops.layout import GAP, TOUCH
from rbd_dynamics.compiler.loops import Argument, Bound, Loops, Table
from rbd_dynamics.contacts import Contact, ContactFinder, FoundContacts, proximal
from rbd_dynamics.contacts.laws import law_of
from rbd_dynamics.contacts.solver import SWEEPS, solver_loops
from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.simulation import shape_loops
from rbd_dynamics.simulation.contact import ACCURACY, DEPTH_GAIN
from rbd_dynamics.simulation.contact_march import LOOPS, march_among_shapes
from rbd_dynamics.simulation.shape_loops import LAW
from rbd_dynamics.simulation.steps_in_contact import Numbers, Settings, StepsInContact

Array = NDArray[np.float64]
MOST = 512  # touches, for which there is room: what has more goes the long way
ALIKE = 0.01  # m: a point of contact that has gone no further since the last step is the same


class ShapeSteps(StepsInContact):
    """Parameters: as of `StepsInContact`.

    shapes: with machine code that searches; `search` is theirs, and nobody else's. margin: m, of what counts as near,
    besides what comes near in a step.
    """

    AFRESH: ClassVar[Numbers] = (("begin", 0), ("known", -1))

    def __init__(
        self, settings: Settings, shapes: CollisionSet, search: ContactSearch, margin: float, states: int | None
    ) -> None:
        super().__init__(settings, states)
        self._shapes, self._search, self._cone = shapes, search, law_of(shapes.cone)
        self._laws = np.zeros((len(shapes.laws), LAW))
        for row, law in zip(self._laws, shapes.laws):
            row[:] = law.friction_coefficient, law.restitution, law.compliance, law.damping
        search.within(margin, self.h)
        count, robot = self.states, self.robot
        self._moved = search.motions.arrays(count)
        self._axes = np.zeros((count, len(shapes.pairs), 3))
        self._M = np.zeros((count, robot.model.nv, robot.model.nv))
        given = self.q, self.v, self.tau, self.inertia
        self._kernels: dict[str, Argument] = {}
        for name, evaluation, inputs, outputs in (
            ("motions", search.motions.evaluation, given[:2], self._moved),
            ("forward", robot.evaluation("forward_dynamics"), given, (self.a,)),
            ("mass", robot.evaluation("mass_matrix"), (self.q, self.inertia), (self._M,)),
        ):
            self._kernels[name], self._kernels[f"{name}_at"] = self.kernel(evaluation, inputs, outputs)
        #: of the last step of each state: how many contacts, their pairs, where, and impulses
        self._known = np.zeros((count, 1), dtype=np.int64)
        self._of, self._points = np.zeros((count, 0), dtype=np.int64), np.zeros((count, 0, 3))
        self._impulses = np.zeros((count, 0, 3))

    def _march(self) -> tuple[Loops, dict[str, Argument]] | None:
        search = self._search
        if search.room > MOST:
            return None
        self._make_room(search.room)
        poses, twists, jacobians = self._moved
        searched = self.moves(search_loops(), poses=poses, twists=twists, axes=self._axes)
        solve, solved = self._solver()
        called = {
            "search": (search.search, searched),
            "rows": (search.rows, self.moves(row_loops(), poses=poses, jacobians=jacobians)),
            "solve": (solve, solved),
        }
        arguments: dict[str, Argument] = {"counts": search.counts, **self._kernels, **dict(self.AFRESH)}
        for name, (bound, moves) in called.items():
            arguments |= {name: bound.function, f"{name}_plan": bound.plan, f"{name}_moves": moves}
        self._called = called  # alive
        return _loops(), arguments

    def _make_room(self, room: int) -> None:
        """Hold as many contacts; what is known of the last step is kept."""
        more = (0, room - self._of.shape[1])
        self._of = np.pad(self._of, ((0, 0), more))
        self._points, self._impulses = (np.pad(x, ((0, 0), more, (0, 0))) for x in (self._points, self._impulses))

    def _solver(self) -> tuple[Bound, Table]:
        """The solver, and what of its arrays is another for each state."""
        search, nv, room = self._search, self.robot.model.nv, self._search.room
        own: dict[str, Any] = {
            "M": self._M, "before": self._known, "last_of": self._of, "last_points": self._points,
            "forces": self._impulses, "a": self.a, "v": self.v, "reached": self.reached,
        }  # fmt: skip
        loops = solver_loops(self._cone, *proximal.LOOPS, *shape_loops.LOOPS, machine_code=True)
        low, high = np.zeros((2, room), dtype=np.int64)
        bound = loops.bind_named(
            contacts=0, nv=nv, most=SWEEPS, proximal=int(self._cone.name == "elliptic"), stride=TOUCH, gap_at=GAP,
            numbers=np.array([self.h, DEPTH_GAIN, ALIKE**2]), tolerance=np.array([ACCURACY]),
            roots=_roots(self.robot.model), columns=search.columns, low=low, high=high, of=search.of,
            touch=search.touches, laws=self._laws, A=search.A, velocity=search.velocity, bias=search.bias,
            inverse=np.zeros(nv), X=np.zeros((3 * room, nv)), G=np.zeros((3 * room, 3 * room)),
            free=np.zeros((room, 3)), mu=np.zeros(room), f=np.zeros((room, 3)), own=np.zeros(max(3 * room, nv)),
            work=np.zeros(3), D=np.zeros(nv), y=np.zeros(nv), u=np.zeros((room, 3)), slip=np.zeros(room),
            change=np.zeros(room), start=np.zeros((room, 3)), rho=np.zeros(room), H=np.zeros((room, 9)),
            T=np.zeros((4, nv)), C=np.zeros((nv, nv)), way=np.zeros(nv), tried=np.zeros(nv), moved=np.zeros((room, 3)),
            **own,
        )  # fmt: skip
        return bound, self.moves(loops, **own)

    def _resumed(self, state: int) -> Numbers:
        room, found = self._search.room, self._search.completed()
        if self._search.room != room:
            self.make_anew()
        return ("begin", state), ("known", -1 if found is None else found)

    def forget(self, state: int = 0) -> None:
        self._known[state] = 0
        self._axes[state] = 0.0

    def results(self) -> tuple[tuple[Contact, ...], Array, tuple[FoundContacts, Array] | None]:
        count = int(self._known[0, 0])
        found = self._shapes.finder.known(self._search, count, self._shapes.cone)
        return found.contacts, self._impulses[0, :count] / self.h, (found, self._before[0].copy())


def _roots(model: Model) -> Table:
    """The first degree of freedom of each one's tree (nv)."""
    first = np.zeros(model.nv, dtype=np.int64)
    for k, body in enumerate(model.bodies):
        root = k
        while model.bodies[root].parent != WORLD:
            root = model.bodies[root].parent
        first[body.joint.v_index : body.joint.v_index + body.joint.kind.nv] = model.bodies[root].joint.v_index
    return first


def shape_steps(settings: Settings, finder: ContactFinder, margin: float, states: int | None) -> ShapeSteps | None:
    """Steps among shapes; None where there is no machine code for them."""
    if not isinstance(finder, CollisionSet) or settings.robot.backend != "llvm":
        return None
    searches = finder.finder.searches
    return None if searches is None else ShapeSteps(settings, finder, searches.new(), margin, states)


@functools.cache
def _loops() -> Loops:
    return Loops(*LOOPS, march_among_shapes, machine_code=True)
