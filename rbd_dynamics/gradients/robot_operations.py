# SPDX-License-Identifier: Apache-2.0
"""The operations of one robot, by name: kernels of the catalog, and motion of configurations."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from rbd_dynamics.algorithms.configuration_motion import require_motion
from rbd_dynamics.compiler.program import Function, Signature
from rbd_dynamics.constraints import ConstraintSet
from rbd_dynamics.gradients import motion
from rbd_dynamics.gradients.operation import Operation
from rbd_dynamics.kernels.arguments import arguments, sizes_of
from rbd_dynamics.kernels.bound_model import BoundModel
from rbd_dynamics.kernels.entry import Entry
from rbd_dynamics.kernels.specialise import function_of, specialise
from rbd_dynamics.spatial.row_sweeps import finished

#: what is not in the catalog; "_f_ext" behind the name adds external wrenches, where there may be any
OWN = {
    "integrate": Entry("q v", "q_after", motion.integrate),
    "difference": Entry("q q_after", "v", motion.difference),
    "step": Entry("q v tau step inertia", "q_after v_after", motion.step, wrenches=True),
}
_MARKS = re.compile(r"(\|[tc][01]+)*$")  # of a derivative, in its name
#: of these only so many outputs, the first ones; the others have no derivative
FIRST = {"constrained_forward_dynamics": 2}


class RobotOperations:
    """The operations of one robot; those under constraints with a set of them."""

    def __init__(self, robot: BoundModel, *, constraints: ConstraintSet | None = None) -> None:
        if not isinstance(robot, BoundModel):
            raise TypeError(f"functions: expected a Robot, not {type(robot).__name__}")
        self.robot, self.constraints = robot, constraints
        self._found: dict[str, Operation] = {}

    def __getitem__(self, name: str) -> Operation:
        """The operation of this name: as in `Robot.compile`, or one of `OWN`; or a derivative's. Raises KeyError."""
        marks = str(_MARKS.search(name)[0])  # type: ignore[index]
        base = name.removesuffix(marks)
        found = self._found.get(base)
        if found is None:
            signature, function = self._made(base)
            found = self._found[base] = Operation(base, signature, function, self.robot.backend)
        return found.derivative(marks)

    def own(self, argument: str) -> np.ndarray:
        """The robot's own numbers for an input, as they are now."""
        robot, of = self.robot, self.constraints
        if argument == "inertia":
            return robot.inertial_parameters
        if argument == "fixed_inertia":
            return np.array(robot.loaded_model().fixed_inertia.parameters, dtype=float)
        assert of is not None, argument
        return np.array(of.parameters if argument == "parameters" else of.zeros)

    def _made(self, name: str) -> tuple[Signature, Function]:
        robot, own = self.robot, name.removesuffix("_f_ext")
        if own in OWN:
            require_motion(robot.model)
            entry = OWN[own]
            words = entry.inputs.split()
            if own != name:
                words.insert(words.index("inertia"), "f_ext")
            sizes = sizes_of(robot.model)
            signature = Signature(arguments(" ".join(words), sizes), arguments(entry.outputs, sizes))
            return signature, function_of(robot.model, signature, entry.function, friction=robot.friction)
        of = self.constraints if name.startswith("constrained_") else None
        if name.startswith("constrained_") and of is None:
            raise ValueError(f"{own}: needs constraints: functions(robot, constraints=...)")
        signature, function = specialise(robot.model, name, friction=robot.friction, constraints=of)
        count = FIRST.get(own, len(signature.outputs))
        return dataclasses.replace(signature, outputs=signature.outputs[:count]), _first(function, count)


def _first(function: Function, count: int) -> Function:
    """The first outputs alone, and the checks."""

    def shortened(*vectors: Sequence[Any]) -> list[Any]:
        results = finished(function(*vectors))
        return [*results[:count], results[-1]]

    return shortened
