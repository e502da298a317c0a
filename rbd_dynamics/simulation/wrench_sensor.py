# SPDX-License-Identifier: Apache-2.0
"""A force-torque sensor: what constraints and contacts exert on a body, seen from a frame."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.compiler.program import Signature
from rbd_dynamics.constraints import WORLD_FRAME, ConstraintSet, PairConstraint
from rbd_dynamics.kernels.arguments import arguments, sizes_of
from rbd_dynamics.kernels.inputs import Inputs
from rbd_dynamics.kernels.specialise import function_of
from rbd_dynamics.robot import Robot
from rbd_dynamics.simulation.simulation import Simulation
from rbd_dynamics.spatial.scalar import Scalar
from rbd_dynamics.spatial.se3 import ZERO6, add6, scale6

Array = NDArray[np.float64]
Vector = Sequence[Scalar]


class WrenchSensor:
    """Sums the wrenches of rows that act on the body which carries `frame`.

    Parameters:
        robot: any with the simulated kinematics.
        constraints: the set whose multipliers are known.
        frame: of the sensor. Raises KeyError for an unknown one.
    """

    def __init__(self, robot: Robot, constraints: ConstraintSet, frame: str) -> None:
        model = robot.model
        body = model.frame(frame).body
        self.constraints = constraints
        here = [
            c.name
            for c in constraints.constraints
            if isinstance(c, PairConstraint) and c.frame != WORLD_FRAME and model.frame(c.frame).body == body
        ]
        sizes = sizes_of(model, len(constraints), len(constraints.parameters))
        signature = Signature(arguments("q multipliers parameters", sizes), arguments("wrench", sizes))

        def sensed(x: Inputs) -> list[Vector]:
            rows = constraints.wrench_rows(x.q, x.parameters[2:], sensor=x.frame)
            total = ZERO6
            for name in here:
                for row, multiplier in zip(rows[name], x.multipliers[constraints.slice_of(name)]):
                    total = add6(total, scale6(multiplier, row))
            return [total]

        function = function_of(model, signature, sensed, frame=frame, constraints=constraints)
        self._kernel = robot.custom_kernel("wrench_sensor", signature, function)

    def wrench(self, q: Array, multipliers: Array) -> Array:
        """(m, f) (6,) on the robot in the sensor's frame, without the weight of what it carries."""
        return np.asarray(self._kernel((q, multipliers, self.constraints.parameters)))


class ShapeWrenchSensor:
    """Sums what contacts of shapes exert on the body that carries `frame`.

    Parameters:
        simulation: with a `CollisionSet`.
        frame: of the sensor. Raises KeyError for an unknown one.
    """

    def __init__(self, simulation: Simulation, frame: str) -> None:
        model = simulation.model
        self.simulation, self.frame, self._model = simulation, frame, model
        self._body = model.frame(frame).body
        self._robot, _ = simulation.robots[0]

    def wrench(self, q: Array, forces: Array) -> Array:
        """(m, f) (6,) on the robot in the sensor's frame. forces: those of the simulation's contacts.

        q does not count: forces belong to where the robot was when the last step began.
        """
        known = self.simulation.found_contacts
        if known is None or not len(known[0]):
            return np.zeros(6)
        found, where = known
        sides = [[self._carries(contact.frame), -self._carries(contact.reference)] for contact in found.contacts]
        pushes = np.einsum("ki,kij->kj", forces, found.directions)
        on_body = np.array(sides)[:, :, None] * pushes[:, None]  # (contacts, 2, 3)
        pose = self._robot.pose(where, self.frame)
        R, p = pose[:3, :3], pose[:3, 3]
        moment = np.cross(found.points - p, on_body).sum(axis=(0, 1))
        return np.concatenate([moment @ R, on_body.sum(axis=(0, 1)) @ R])

    def _carries(self, frame: str) -> float:
        return float(frame != WORLD_FRAME and self._model.frame(frame).body == self._body)
