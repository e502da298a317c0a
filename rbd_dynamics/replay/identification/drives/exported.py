# SPDX-License-Identifier: Apache-2.0
"""What of a drive a description can hold: friction, rotor inertia and a spring, proven on held-out stretches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from rbd_dynamics.model.model import Joint, Model
from rbd_dynamics.model.passive_forces import Spring
from rbd_dynamics.replay.identification import least_squares
from rbd_dynamics.replay.identification.drives.columns import COULOMB, OFFSET, ROTOR, SPRING, VISCOUS, DriveColumns
from rbd_dynamics.replay.identification.normal_equations import NormalEquations
from rbd_dynamics.replay.identification.samples import with_friction
from rbd_dynamics.replay.identification.validation import Validation, validate
from rbd_dynamics.spatial.rank import measures_of

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Exported:
    """A drive to export, kg m^2 and N m/rad or kg and N/m; a spring holds the offset: it is how far it is bent at zero.

    Attributes:
        friction: Coulomb, damping: viscous. stiffness: zero where there is no spring; reference: where it is slack.
        offset: that belongs to them, in N m or N.
    """

    friction: float
    damping: float
    armature: float
    stiffness: float
    reference: float
    offset: float

    def joint(self, joint: Joint) -> Joint:
        """The same one with rotor inertia and spring."""
        spring = (Spring(self.stiffness, rest=self.reference),) if self.stiffness else ()
        return replace(joint, armature=self.armature, passive=(*joint.passive, *spring))


def with_drives(model: Model, exported: Mapping[str, Exported]) -> Model:
    """The model with drives of joints by name. Raises KeyError for an unknown joint."""
    found = with_friction(model, {name: (drive.friction, drive.damping) for name, drive in exported.items()})
    bodies = [
        replace(body, joint=exported[body.joint.name].joint(body.joint)) if body.joint.name in exported else body
        for body in found.bodies
    ]
    return replace(found, bodies=tuple(bodies))


def exportable(
    columns: DriveColumns, place: int, needs: Sequence[str], prior: Array
) -> tuple[Exported, Validation] | None:
    """A joint's drive as a description can hold it; None where it needs neither a rotor nor a spring that it can hold,
    or where it predicts stretches that were not fitted worse than the given description.

    needs: names of parts. prior: offset, Coulomb and viscous friction that the terms already have, (3,).
    """
    model = columns.model
    name = columns.names[columns.dofs[place]]
    joint = model.joint(name)
    followed = any(body.joint.mimic is not None and body.joint.mimic.leader == name for body in model.bodies)
    spring = "spring" in needs and not joint.passive
    rotor = "rotor inertia" in needs
    if followed or not (spring or rotor):
        return None
    chosen = [OFFSET, COULOMB, VISCOUS, *([ROTOR] if rotor else []), *([SPRING] if spring else [])]
    least = np.array([-np.inf, -prior[1], -prior[2], *([-joint.armature] if rotor else []), *([0.0] if spring else [])])
    equations = columns.equations.combined(place, np.eye(columns.sizes[place])[:, chosen])
    power = np.array(equations.totals()[0].diagonal())
    scale = np.sqrt(power[-1] / np.maximum(power[:-1], 1e-300))

    def fits(part: NormalEquations) -> tuple[Array, Array, Array]:
        held = _bounded(part, least)
        alone = held if spring else held * np.array([0.0, *np.ones(len(held) - 1)])
        return least_squares.fit(part, scale).values, alone, held

    proof = validate(equations, [name], fits, torque=columns.torque[[place]])
    if proof is None or proof.worse:
        return None
    values = _bounded(equations, least)
    offset, coulomb, viscous = (float(x) for x in values[:3] + prior)
    stiffness = float(values[-1]) if spring else 0.0
    armature = joint.armature + (float(values[3]) if rotor else 0.0)
    if not stiffness > 0.0:
        return Exported(coulomb, viscous, armature, 0.0, 0.0, offset), proof
    return Exported(coulomb, viscous, armature, stiffness, -offset / stiffness, 0.0), proof


def _bounded(equations: NormalEquations, least: Array) -> Array:
    """Deviations that fit one joint best, none below the least."""
    (total,) = equations.totals()
    *squares, torque = total.diagonal()
    size = np.append(measures_of(squares), np.sqrt(max(torque, 1e-300)))
    strength, directions = np.linalg.eigh(total / np.outer(size, size))
    root = np.sqrt(np.maximum(strength, 0.0))[:, None] * directions.T
    told = np.isfinite(size[:-1])  # what is rounding stays at zero, or its bound
    lower = np.where(told, least * np.where(told, size[:-1], 0.0) / size[-1], 0.0) - 1e-12
    found = scipy.optimize.lsq_linear(root[:, :-1], root[:, -1], bounds=(lower, np.inf))
    return np.asarray(np.maximum(found.x * size[-1] / size[:-1], least))
