# SPDX-License-Identifier: Apache-2.0
"""The constraints that `dynamics_server` knows by name, and those that requests bring along, ready for use."""

from __future__ import annotations

from dataclasses import replace

from rbd_dynamics.constraints import Constraint, ConstraintSet, JointCoupling, PairConstraint
from rbd_dynamics.constraints.dictionary import read_constraints
from rbd_dynamics.nodes.description import Prefix, Progress
from rbd_dynamics.robot import Robot

#: forward dynamics is hybrid dynamics without prescribed joints; wrenches that are not there are zero
KERNELS = (
    "constrained_hybrid_dynamics_f_ext",
    "constrained_inverse_dynamics_torque_f_ext",
    "constrained_inverse_dynamics_constraint_force_f_ext",
)
REMEMBERED = 100  # sets that requests have made


class KnownConstraints:
    """The constraints of a file, and sets that requests make of them and of their own, ready for use.

    Parameters:
        file: YAML; empty: there are none. Frames and joints may have the prefix, here and in requests.
        robot: what gets the kernels.

    Raises ValueError or KeyError for a file that cannot be used with the robot.
    """

    def __init__(self, file: str, robot: Robot, prefix: Prefix) -> None:
        self._robot, self._prefix = robot, prefix
        self._known: dict[str, Constraint] = {}
        self._stabilization = 0.0
        self._compiled: set[str] = set()
        self._sets: dict[tuple[tuple[str, ...], str], ConstraintSet] = {}
        if file:
            constraints, stabilization = read_constraints(file)
            checked = ConstraintSet(robot.model, map(self._inside, constraints), stabilization=stabilization or 0.0)
            self._known = {constraint.name: constraint for constraint in checked.constraints}
            self._stabilization = checked.stabilization

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._known)

    def compile(self, progress: Progress) -> None:
        """Make the kernels of the set of all of them, and of each one alone."""
        choices = [(), *((name,) for name in self.names)] if self.names else []
        for number, names in enumerate(choices):
            progress(f"constraints {', '.join(names or self.names)}", number, len(choices))
            self.make_ready(self.chosen(names, ""))

    def is_ready(self, constraints: ConstraintSet) -> bool:
        """Whether no kernel has to be compiled for it."""
        return constraints.key in self._compiled

    def make_ready(self, constraints: ConstraintSet) -> None:
        """Compile what is missing."""
        self._robot.compile_constrained(constraints, *KERNELS)
        self._compiled.add(constraints.key)

    def chosen(self, names: tuple[str, ...], text: str) -> ConstraintSet:
        """Those with these names, then those of a YAML text; with neither all that are known.

        The text's stabilization counts for all if it has one, else the file's. Raises ValueError or
        KeyError that names what is wrong.
        """
        found = self._sets.get((names, text))
        if found is None:
            if len(self._sets) >= REMEMBERED:
                self._sets.clear()
            found = self._sets[names, text] = self._make(names, text)
        return found

    def _make(self, names: tuple[str, ...], text: str) -> ConstraintSet:
        for name in names:
            if name not in self._known:
                there = ", ".join(self._known) or "none"
                raise ValueError(f"constraints: there is no {name!r}; the server knows {there}")
        inline: list[Constraint] = []
        stabilization: float | None = None
        if text.strip():
            inline, stabilization = read_constraints(f"{text}\n")
        elif not names and not self._known:
            raise ValueError("no constraints: name some, give constraints_yaml, or set parameter constraints_file")
        elif not names:
            names = self.names
        chosen = [*(self._known[name] for name in names), *map(self._inside, inline)]
        if stabilization is None:
            stabilization = self._stabilization
        return ConstraintSet(self._robot.model, chosen, stabilization=stabilization)

    def _inside(self, constraint: Constraint) -> Constraint:
        """With the description's names of frames and joints."""
        inside = self._prefix.inside
        if isinstance(constraint, PairConstraint):
            return replace(constraint, frame=inside(constraint.frame), reference=inside(constraint.reference))
        if isinstance(constraint, JointCoupling):
            joints = {inside(joint): coefficient for joint, coefficient in constraint.coefficients.items()}
            return replace(constraint, coefficients=joints)
        return constraint
