# SPDX-License-Identifier: Apache-2.0
"""A robot and a set of constraints: their kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.constraints.base import Constraint
from rbd_dynamics.constraints.constraint_set import ConstraintSet
from rbd_dynamics.kernels.bound_model import BoundModel
from rbd_dynamics.kernels.evaluation import Evaluation

Array = NDArray[np.float64]
Wrenches = Mapping[str, ArrayLike]
Constraints = ConstraintSet | Sequence[Constraint]
Objective = Literal["torque", "constraint_force"]


class BoundConstraints:
    """Parameters and errors as for `Constrained`."""

    def __init__(self, robot: BoundModel, constraints: Constraints) -> None:
        self.robot = robot
        self.constraints = set_of(robot, constraints)
        if self.constraints.model is not robot.model and self.constraints.model != robot.model:
            raise ValueError("the constraint set was made for another model")
        self._kernels: dict[str, Evaluation] = {}

    def compile(self, *names: str, batches: bool = True) -> None:
        """Make kernels ahead of use: names as in "constrained_forward_dynamics", "_f_ext" for external wrenches.

        "constrained_inverse_dynamics_torque" and "..._constraint_force" are one for each objective.
        batches: False: only the code for one sample, in half the time. Raises KeyError for an unknown name.
        """
        for name in names:
            self._kernel(name, batches=batches)

    def _kernel(self, name: str, *, batches: bool = False) -> Evaluation:
        found = self._kernels.get(name)
        if found is None or batches:
            of = self.constraints
            found = self._kernels[name] = self.robot.constrained_kernel(name, of, of.key, batches=batches)
        return found

    def _run(self, name: str, inputs: Sequence[Any], f_ext: Wrenches | None, target: ArrayLike | None, out: Any) -> Any:
        kernel, complete = self._inputs(name, inputs, f_ext, target)
        return kernel(complete, out)

    def _inputs(
        self, name: str, inputs: Sequence[Any], f_ext: Wrenches | None, target: ArrayLike | None
    ) -> tuple[Evaluation, tuple[Any, ...]]:
        """The kernel, and all that goes in."""
        of, robot = self.constraints, self.robot
        wanted = of.zeros if target is None else target
        if f_ext is None:
            kernel = self._kernels.get(name) or self._kernel(name)
            return kernel, (*inputs, of.parameters, wanted, robot.inertia_input)
        wrenches = robot.body_wrenches(f_ext)
        return self._kernel(f"{name}_f_ext"), (*inputs, of.parameters, wanted, wrenches, robot.inertia_input)


def inverse_kernel(objective: Objective) -> str:
    """The kernel of constrained inverse dynamics. Raises ValueError for an unknown objective."""
    if not isinstance(objective, str) or objective not in ("torque", "constraint_force"):
        raise ValueError(f"objective {excerpt(objective)} is not one of torque, constraint_force")
    return f"constrained_inverse_dynamics_{objective}"


def set_of(robot: BoundModel, constraints: Constraints) -> ConstraintSet:
    """The set itself, or one of a sequence. Raises TypeError for anything else."""
    if isinstance(constraints, ConstraintSet):
        return constraints
    if isinstance(constraints, Iterable) and not isinstance(constraints, (str, Mapping)):
        return ConstraintSet(robot.model, constraints)
    raise TypeError(
        f"constraints must be a ConstraintSet or a sequence of constraints, not {type(constraints).__name__}"
    )
