# SPDX-License-Identifier: Apache-2.0
"""What a wrench sensor says of the multipliers of constraints."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.algorithms.constrained_dynamics import transposed_times
from rbd_dynamics.algorithms.frames import frame_jacobian
from rbd_dynamics.algorithms.hybrid_control import multipliers_of
from rbd_dynamics.algorithms.kinematics import combine
from rbd_dynamics.compiler.program import Argument, Function, Signature
from rbd_dynamics.constraints.base import PairConstraint
from rbd_dynamics.constraints.constraint_set import ConstraintSet
from rbd_dynamics.kernels.arguments import arguments, sizes_of
from rbd_dynamics.kernels.inputs import Inputs
from rbd_dynamics.kernels.specialise import function_of
from rbd_dynamics.model.model import Model
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial.scalar import Scalar, dot, sqrt
from rbd_dynamics.spatial.so3 import cross, dot3, sub3

Array = NDArray[np.float64]
Vector = Sequence[Scalar]
SMOOTHING = 0.1  # s: friction turns round within a step, and what makes up for it is late: by .05 light wrists swing


class Beside(NamedTuple):
    """What a wrench has besides multipliers of the constraints.

    force: N, moment: N m about the tool's point, their sizes. power: W, that the tool does on what it touches.
    efforts (nv): that force and moment exert on the joints.
    """

    force: float
    moment: float
    power: float
    efforts: Array


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
        self._out, self._beside = np.zeros(len(constraints)), np.zeros(3)
        self._beside_efforts = np.zeros(model.nv)
        self._still, self._nothing = np.zeros(model.nv), np.zeros(6)
        self._kernel = robot.custom_kernel("multiplier_sensor", *sensor_kernel(model, constraints, frame))
        self._call = self._kernel.fast

    def multipliers(self, q: Array, wrench: Array) -> Array:
        """lambda (m) of the wrench (m, f) on the robot, in the sensor's frame; the same array each time."""
        return self.read(q, self._still, wrench, self._nothing)

    def read(self, q: Array, v: Array, wrench: Array, free: Array) -> Array:
        """The same, and what the wrench has besides, for `beside`.

        v (nv): velocities. free (6): what the sensor reads where nothing is touched; it is not taken off multipliers.
        """
        inputs = (q, v, wrench, free, self.constraints.parameters)
        outputs = self._out, self._beside, self._beside_efforts
        if self._call(*inputs, *outputs) is None:
            self._kernel(inputs, outputs)
        return self._out

    @property
    def beside(self) -> Beside:
        """What the wrench that was read last has besides multipliers."""
        force, moment, power = self._beside.tolist()
        return Beside(force, moment, power, self._beside_efforts)


def sensor_kernel(model: Model, constraints: ConstraintSet, frame: str) -> tuple[Signature, Function]:
    """What the sensor on a frame says of the constraints, as a kernel's function, with what goes in and out."""
    sizes = sizes_of(model, len(constraints), len(constraints.parameters))
    named = {"free": Argument("free", (6,))}
    outputs = (*arguments("multipliers", sizes), Argument("beside", (3,)), Argument("efforts", (model.nv,)))
    signature = Signature(arguments("q v wrench free parameters", sizes, named), outputs)
    sensed = functools.partial(_sensed, constraints)
    return signature, function_of(model, signature, sensed, frame=frame, constraints=constraints)


def _sensed(constraints: ConstraintSet, x: Inputs) -> list[Vector]:
    """The multipliers of a wrench, the sizes of what it has besides, and what that exerts on the joints."""
    rows = constraints.wrench_rows(x.q, x.parameters[2:], sensor=x.frame)
    E = [row for one in rows.values() for row in one]
    felt = [w - f for w, f in zip(x.wrench, x.free)]
    pushed = transposed_times(E, multipliers_of(E, felt))
    rest = [f - p for f, p in zip(felt, pushed)]
    first = constraints.constraints[0]
    assert isinstance(first, PairConstraint)
    tool, _ = first.frames(x.model, iter(x.parameters[2:]))
    moment, force = (rest[0], rest[1], rest[2]), (rest[3], rest[4], rest[5])
    moment = sub3(moment, cross((x.frame.placement.inverse() @ tool.placement).p, force))
    J = frame_jacobian(x.model, x.q, x.frame)
    twist = combine(J, x.v)
    sizes = [sqrt(dot3(force, force)), sqrt(dot3(moment, moment)), -dot(felt, twist)]
    return [multipliers_of(E, x.wrench), sizes, [dot(rest, column) for column in J]]


class PushedAside:
    """What is felt beside the constraints, as friction or a wall, and what of it a law makes up for.

    A push along the surface lifts and turns a tool as well, the more so the lighter its wrist is.

    Parameters:
        nv: degrees of freedom.
    """

    def __init__(self, nv: int) -> None:
        self._efforts = np.zeros(nv)

    def forget(self) -> None:
        """Nothing is felt."""
        self._efforts[:] = 0.0

    def update(self, felt: Array, dt: float, *, touching: bool) -> Array:
        """What is made up for (nv), dt seconds after the last; the same array each time.

        felt (nv): efforts by one reading. touching: the surface is felt; without it friction is gone at once.
        """
        found = self._efforts
        found += min(1.0, dt / SMOOTHING) * (felt - found)
        if not touching:
            np.clip(found, np.minimum(felt, 0.0), np.maximum(felt, 0.0), out=found)
        return found
