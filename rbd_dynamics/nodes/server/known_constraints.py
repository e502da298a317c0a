# SPDX-License-Identifier: Apache-2.0
"""The constraints that `dynamics_server` knows by name, and those that requests bring along."""

from __future__ import annotations

from rbd_dynamics.constraints import Constraint, ConstraintSet
from rbd_dynamics.constraints.dictionary import read_constraints
from rbd_dynamics.nodes.server.known_sets import KnownSets

#: forward dynamics is hybrid dynamics without prescribed joints; wrenches that are not there are zero
KERNELS = (
    "constrained_hybrid_dynamics_f_ext",
    "constrained_inverse_dynamics_torque_f_ext",
    "constrained_inverse_dynamics_constraint_force_f_ext",
)


class KnownConstraints(KnownSets[Constraint, ConstraintSet]):
    """A text's stabilization counts for all if it has one, else the file's."""

    what, each_alone = "constraints", True
    _stabilization = 0.0

    def _of_file(self, file: str) -> list[Constraint]:
        constraints, stabilization = read_constraints(file)
        checked = ConstraintSet(self.robot.model, map(self.inside, constraints), stabilization=stabilization or 0.0)
        self._stabilization = checked.stabilization
        return list(checked.constraints)

    def _made(self, items: list[Constraint], text: str) -> ConstraintSet:
        inline: list[Constraint] = []
        stabilization: float | None = None
        if text.strip():
            inline, stabilization = read_constraints(f"{text}\n")
        chosen = [*items, *map(self.inside, inline)]
        if stabilization is None:
            stabilization = self._stabilization
        return ConstraintSet(self.robot.model, chosen, stabilization=stabilization)

    def _key(self, made: ConstraintSet) -> str:
        return made.key

    def _compile(self, made: ConstraintSet) -> None:
        self.robot.compile_constrained(made, *KERNELS)
