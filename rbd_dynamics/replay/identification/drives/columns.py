# SPDX-License-Identifier: Apache-2.0
"""What a drive may add to a joint's torque, as columns of a linear fit, and which of them make a part of a drive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.model.passive_forces import COULOMB_SPEED
from rbd_dynamics.replay.identification.base_errors import BaseErrors
from rbd_dynamics.replay.identification.normal_equations import NormalEquations
from rbd_dynamics.replay.identification.samples import (
    JointSamples,
    Preparation,
    dof_names,
    friction_columns,
)
from rbd_dynamics.replay.signals.segmentation import Segment

Array = NDArray[np.float64]

OFFSET, COULOMB, VISCOUS, ROTOR, DIRECTION, LOAD, SPRING, GAIN, FALLING = range(9)  # columns of a joint by itself
SPEEDS = (0.04, 0.08, 0.16, 0.32)  # rad/s or m/s, over which friction may fall to Coulomb's
OWN = FALLING + len(SPEEDS)
BESIDE = 4  # for each neighbour: its acceleration, its speed, direction of the sum and of the difference
#: parts of one number, their column, and over which speed
SIMPLE = [("rotor inertia", ROTOR, 0.0), ("spring", SPRING, 0.0), ("friction by direction", DIRECTION, 0.0),
          ("friction with load", LOAD, 0.0), ("gain", GAIN, 0.0),
          *(("friction falling with speed", FALLING + k, speed) for k, speed in enumerate(SPEEDS))]  # fmt: skip
SHARED = "shared motor"


@dataclass(frozen=True)
class Part:
    """Something that a drive may have, or not.

    Attributes:
        name: in `SIMPLE`, or `SHARED`. places: of the joints that it acts on, the child last.
        parameters: its numbers among those of all candidates.
        ratio: of a shared motor, which turns by the child's position plus so many times the parent's.
        column: of one that a joint has for itself. speed: over which friction falls.
    """

    name: str
    places: tuple[int, ...]
    parameters: tuple[int, ...]
    _: KW_ONLY
    ratio: float = 0.0
    column: int = -1
    speed: float = 0.0

    def excludes(self, other: Part) -> bool:
        """A joint has a part of one kind once, but may share motors with two others, or two motors with one."""
        return self.name != SHARED and (self.name, self.places) == (other.name, other.places)


class DriveColumns:
    """Sums of one robot's joints, and how the parameters of all candidates make their columns.

    Attributes:
        equations: of each joint with one freedom, by its place: own columns, those beside neighbours, inertial ones.
        names: {degree of freedom: joint}. parts: the candidates.
        always: parameters that every drive has: offset, Coulomb and viscous friction of each joint.
        inertial: parameters of the description's inertias, which all joints share.
    """

    def __init__(self, prepare: Preparation, base: BaseErrors) -> None:
        self._prepare, self.base = prepare, base
        self.names = dof_names(prepare.robot.model)
        self.dofs = list(self.names)
        self.edges = _edges(prepare.robot.model, self.dofs)
        self.beside = [[edge for edge in self.edges if k in edge] for k in range(len(self.dofs))]
        self.first = [OWN + BESIDE * len(edges) for edges in self.beside]  # of the inertial columns
        self.sizes = [n + len(base.felt[dof]) for n, dof in zip(self.first, self.dofs)]
        starts = np.cumsum([0, *self.sizes])
        self.equations = NormalEquations([a + np.arange(n) for a, n in zip(starts, self.sizes)], int(starts[-1]))
        self._torque = np.zeros(len(self.dofs))
        self._number()

    def add(self, segment: Segment) -> None:
        """Raises ValueError for another number of joints or another sample rate."""
        samples = self._prepare(segment)
        if samples is None:
            return
        regressor = self._prepare.regressor(samples)
        model = samples.measured - samples.residual
        motors = {
            (edge, ratio): self._prepare.filtered(
                np.tanh(_motor(segment.v[:, self._both(edge)], ratio) / COULOMB_SPEED)
            )
            for edge in self.edges
            for ratio in (1.0, -1.0)
        }
        for place, dof in enumerate(self.dofs):
            rows = samples.usable[:, dof] & ~samples.still[:, dof]
            if not rows.any():
                continue
            friction, v, load = friction_columns(samples, dof), samples.v[:, dof], np.abs(model[:, dof])
            parts = [friction, samples.a[:, dof], np.abs(v), load * friction[:, 1], samples.q[:, dof], model[:, dof]]
            parts.append(self._falling(segment.v[:, dof], samples))
            for edge in self.beside[place]:
                other = self.dofs[edge[0] if edge[1] == place else edge[1]]
                levels = [motors[edge, ratio][samples.rows] for ratio in (1.0, -1.0)]
                parts += [samples.a[:, other], samples.v[:, other], *levels]
            columns = np.column_stack([*parts, regressor[:, dof, self.base.columns[dof]]])
            self.equations.add(place, samples.stamps[rows], columns[rows], samples.residual[rows, dof])
            self._torque[place] += samples.measured[rows, dof] @ samples.measured[rows, dof]

    def merge(self, other: DriveColumns) -> None:
        """Raises ValueError for another robot or other terms."""
        self._prepare.check_same(other._prepare)
        self.equations.merge(other.equations)
        self._torque += other._torque

    @property
    def model(self) -> Model:
        return self._prepare.robot.model

    @property
    def torque(self) -> Array:
        """Root mean square of each joint's torque."""
        return np.asarray(np.sqrt(self._torque / np.maximum(self.equations.samples, 1)))

    def combination(self) -> Array:
        """(columns of all joints, parameters of all candidates)."""
        found = np.zeros((self.equations.count, self.count))
        for place, columns in enumerate(self.equations.columns):
            first = int(columns[0])
            found[first + np.arange(3), self.always[place]] = 1.0
            inertial = self.inertial[self.base.felt[self.dofs[place]]]
            found[first + self.first[place] + np.arange(len(inertial)), inertial] = 1.0
        for part in self.parts:
            if part.name != SHARED:
                found[int(self.equations.columns[part.places[0]][0]) + part.column, part.parameters[0]] = 1.0
                continue
            for place in part.places:
                first = int(self.equations.columns[place][0])
                beside = first + OWN + BESIDE * self.beside[place].index((part.places[0], part.places[1]))
                arm = 1.0 if place == part.places[1] else part.ratio  # torque of the motor at the joint
                coulomb, viscous, rotor = part.parameters
                own, other = (1.0, part.ratio) if place == part.places[1] else (part.ratio, 1.0)  # turns of the motor
                found[first + ROTOR, rotor] = found[first + VISCOUS, viscous] = arm * own
                found[beside, rotor] = found[beside + 1, viscous] = arm * other
                found[beside + (2 if part.ratio > 0.0 else 3), coulomb] = arm
        return found

    def scale(self, combination: Array) -> Array:
        """Large values of all parameters: those that make as much torque as is there, or a description's errors."""
        found = np.zeros(self.count)
        totals = self.equations.totals()
        for part in [*self.parts, *(Part("", (k,), tuple(row)) for k, row in enumerate(self.always.tolist()))]:
            for parameter in part.parameters:
                for place in part.places:
                    own = combination[self.equations.columns[place], parameter]
                    power = float(own @ totals[place][:-1, :-1] @ own) / max(1, int(self.equations.samples[place]))
                    if power > 0.0:
                        found[parameter] = max(found[parameter], self.torque[place] / np.sqrt(power))
        found[self.inertial] = self.base.scale
        return found

    def can_be(self, part: Part, values: Sequence[float]) -> bool:
        """Whether a drive can have a part with these parameters: nothing below zero, and no sign turned."""
        if part.name == SHARED:
            return min(values) >= 0.0 or sum(value > 0.0 for value in values) > 1  # noise may turn a small one
        joint = self.model.joint(self.names[self.dofs[part.places[0]]])
        if part.name == "rotor inertia":
            return values[0] + joint.armature >= 0.0
        if part.name == "gain":
            return values[0] > -1.0
        return (
            part.name == "friction by direction" or values[0] >= 0.0 or (part.name == "spring" and bool(joint.passive))
        )

    def _falling(self, v: Array, samples: JointSamples) -> Array:
        level = np.tanh(v[:, None] / COULOMB_SPEED) * np.exp(-((v[:, None] / np.array(SPEEDS)) ** 2))
        return self._prepare.filtered(level)[samples.rows]

    def _both(self, edge: tuple[int, int]) -> list[int]:
        return [self.dofs[place] for place in edge]

    def _number(self) -> None:
        joints = len(self.dofs)
        self.always = np.arange(3 * joints).reshape(joints, 3)
        self.inertial = 3 * joints + np.arange(self.base.base.count)
        count, parts = 3 * joints + self.base.base.count, []
        for name, column, speed in SIMPLE:
            for place in range(joints):
                parts.append(Part(name, (place,), (count,), column=column, speed=speed))
                count += 1
        for edge in self.edges:
            for ratio in (1.0, -1.0):
                parts.append(Part(SHARED, edge, (count, count + 1, count + 2), ratio=ratio))
                count += 3
        self.parts, self.count = parts, count


def _motor(v: Array, ratio: float) -> Array:
    """Speed of the motor that turns with (parent, child), (N, 2)."""
    return np.asarray(v[:, 1] + ratio * v[:, 0])


def _edges(model: Model, dofs: list[int]) -> list[tuple[int, int]]:
    """Places of (parent, child) of all joints that carry one another with no other moving joint between."""
    found = []
    for body in model.bodies:
        parent = body.parent
        while parent != WORLD and model.bodies[parent].joint.v_index == body.joint.v_index:
            parent = model.bodies[parent].parent
        if parent != WORLD:
            edge = model.bodies[parent].joint.v_index, body.joint.v_index
            if set(edge) <= set(dofs) and edge[0] != edge[1]:
                found.append((dofs.index(edge[0]), dofs.index(edge[1])))
    return list(dict.fromkeys(found))
