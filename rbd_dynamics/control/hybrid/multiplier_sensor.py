# SPDX-License-Identifier: Apache-2.0
"""What a wrench sensor says of the multipliers of constraints."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.algorithms.hybrid_control import multipliers_of
from rbd_dynamics.compiler.program import Signature
from rbd_dynamics.constraints.base import PairConstraint
from rbd_dynamics.constraints.constraint_set import ConstraintSet
from rbd_dynamics.kernels.arguments import arguments, sizes_of
from rbd_dynamics.kernels.inputs import Inputs
from rbd_dynamics.kernels.specialise import function_of
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial.scalar import Scalar

Array = NDArray[np.float64]
Vector = Sequence[Scalar]


class MultiplierSensor:
    """Multipliers of constraints on one body, out of a wrench that a sensor on that body reads.

    Parameters:
        robot, constraints: pairs, all on frames of one body.
        frame: of the sensor: its axes and its origin.

    Raises ValueError for constraints of another kind, or on a body that the sensor is not fixed to, KeyError
    for an unknown frame.
    """

    def __init__(self, robot: Robot, constraints: ConstraintSet, frame: str) -> None:
        model = robot.model
        body = model.frame(frame).body
        for constraint in constraints.constraints:
            if not isinstance(constraint, PairConstraint):
                raise ValueError(f"constraint {constraint.name!r} is not between frames: a wrench does not show it")
            if model.frame(constraint.frame).body != body:
                raise ValueError(
                    f"the sensor frame {frame!r} is not fixed to frame {constraint.frame!r} of constraint "
                    f"{constraint.name!r}"
                )
        self.robot, self.constraints, self.frame = robot, constraints, frame
        self._out = np.zeros(len(constraints))
        sizes = sizes_of(model, len(constraints), len(constraints.parameters))
        signature = Signature(arguments("q wrench parameters", sizes), arguments("multipliers", sizes))
        sensed = functools.partial(_sensed, constraints)
        function = function_of(model, signature, sensed, frame=frame, constraints=constraints)
        self._kernel = robot.custom_kernel("multiplier_sensor", signature, function)
        self._call = self._kernel.fast

    def multipliers(self, q: Array, wrench: Array) -> Array:
        """lambda (m) of the wrench (m, f) on the robot, in the sensor's frame; the same array each time."""
        inputs = (q, wrench, self.constraints.parameters)
        if self._call(*inputs, self._out) is None:
            self._kernel(inputs, self._out)
        return self._out


def _sensed(constraints: ConstraintSet, x: Inputs) -> list[Vector]:
    rows = constraints.wrench_rows(x.q, x.parameters[2:], sensor=x.frame)
    return [multipliers_of([row for one in rows.values() for row in one], x.wrench)]
