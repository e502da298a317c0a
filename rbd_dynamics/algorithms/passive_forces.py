# SPDX-License-Identifier: Apache-2.0
"""Friction and springs of the joints, for all algorithms (theory.md section 2).

Torques are those that overcome a force; their negative acts on the robot. A mimic joint moves by
r q + o and feels its own forces there, which its leader feels r times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rbd_dynamics.model.model import Joint, Model
from rbd_dynamics.model.passive_forces import Coulomb, Damping, Elastic, Friction
from rbd_dynamics.spatial.jets import Jet, level_above, rate_of, second_rate_of
from rbd_dynamics.spatial.scalar import Scalar

Vector = Sequence[Scalar]


def friction_torque(model: Model, v: Vector) -> list[Scalar]:
    """Torque (nv) that overcomes the joints' friction at the velocity v."""
    return _over_speeds(model, v, slope=False)


def friction_slope(model: Model, v: Vector) -> list[Scalar]:
    """Derivative (nv) of `friction_torque` by the velocity; each degree of freedom's depends on its own only."""
    return _over_speeds(model, v, slope=True)


def dry_friction(model: Model) -> list[float]:
    """Largest torque (nv) with which Coulomb friction holds each degree of freedom at rest, N m or N."""
    return [sum(level for level, _ in levels) for levels in _dry_levels(model)]


def rubbing_joint(model: Model) -> tuple[str, float] | None:
    """The first joint with Coulomb friction, and how much, N m or N; None where there is none."""
    return next((levels[0][::-1] for levels in _dry_levels(model) if levels), None)


def drag_torque(model: Model, v: Vector) -> list[Scalar]:
    """Torque (nv) that overcomes the joints' friction at the velocity v but for Coulomb's, which holds at rest."""
    return _over_speeds(model, v, slope=False, dry=False)


def is_viscous(model: Model) -> bool:
    """Whether `drag_torque` is in proportion to the velocity."""
    frictions = (force for joint in _joints(model) for force in joint.forces if isinstance(force, Friction))
    return all(isinstance(force, (Coulomb, Damping)) for force in frictions)


def spring_torque(model: Model, q: Vector) -> list[Scalar]:
    """Torque (nv) that holds the joints' springs at q: the derivative of their energy."""
    torque: list[Scalar] = [0.0] * model.nv
    for dof, ratio, energy in _spring_energies(model, q):
        torque[dof] = torque[dof] + ratio * rate_of(energy, _level(energy))
    return torque


def spring_slope(model: Model, q: Vector) -> list[Scalar]:
    """Derivative (nv) of `spring_torque` by the position; each degree of freedom's depends on its own only."""
    slopes: list[Scalar] = [0.0] * model.nv
    for dof, ratio, energy in _spring_energies(model, q):
        slopes[dof] = slopes[dof] + ratio * ratio * second_rate_of(energy, _level(energy))
    return slopes


def spring_energy(model: Model, q: Vector) -> Scalar:
    """What the joints' springs hold, J."""
    total: Scalar = 0.0
    for joint in _joints(model):
        for force in joint.forces:
            if isinstance(force, Elastic):
                for k in range(joint.kind.nv):
                    total = total + force.energy(_position(joint, q, k))
    return total


def add_passive_torque(model: Model, tau: list[Scalar], q: Vector | None, v: Vector | None) -> list[Scalar]:
    """tau and what overcomes the springs at q and the friction at v, where they are given."""
    if q is not None:
        tau = [x + y for x, y in zip(tau, spring_torque(model, q))]
    if v is not None:
        tau = [x + y for x, y in zip(tau, friction_torque(model, v))]
    return tau


def add_passive_slopes(
    model: Model, by_q: list[list[Scalar]], by_v: list[list[Scalar]], q: Vector, v: Vector | None
) -> None:
    """Add to d tau / dq and d tau / dv, (nv, nv), those of the springs at q and, where v is given, of the friction."""
    for k, slope in enumerate(spring_slope(model, q)):
        by_q[k][k] = by_q[k][k] + slope
    if v is not None:
        for k, slope in enumerate(friction_slope(model, v)):
            by_v[k][k] = by_v[k][k] + slope


def _dry_levels(model: Model) -> list[list[tuple[float, str]]]:
    """(level, name of the joint) of each degree of freedom's joints that have dry friction: several with mimics."""
    found: list[list[tuple[float, str]]] = [[] for _ in range(model.nv)]
    for joint in _joints(model):
        for force in joint.forces:
            level = abs(_ratio(joint)) * force.level if isinstance(force, Coulomb) else 0.0
            if level > 0.0:
                for dof in range(joint.v_index, joint.v_index + joint.kind.nv):
                    found[dof].append((level, joint.name))
    return found


def _over_speeds(model: Model, v: Vector, slope: bool, dry: bool = True) -> list[Scalar]:
    found: list[Scalar] = [0.0] * model.nv
    level = level_above(*v)
    for joint in _joints(model):
        ratio = _ratio(joint)
        for force in joint.forces:
            if isinstance(force, Friction) and (dry or not isinstance(force, Coulomb)):
                for dof in range(joint.v_index, joint.v_index + joint.kind.nv):
                    speed = ratio * v[dof]
                    if slope:
                        rising = force.resistance(Jet(speed, 1.0, 0.0, level))
                        found[dof] = found[dof] + ratio * ratio * rate_of(rising, level)
                    else:
                        found[dof] = found[dof] + ratio * force.resistance(speed)
    return found


def _spring_energies(model: Model, q: Vector) -> Iterator[tuple[int, float, Scalar]]:
    """(degree of freedom, its joint's ratio, energy as a jet along the joint's own position)."""
    level = level_above(*q)
    for joint in _joints(model):
        for force in joint.forces:
            if isinstance(force, Elastic):
                for k in range(joint.kind.nv):
                    moving = Jet(_position(joint, q, k), 1.0, 0.0, level)
                    yield joint.v_index + k, _ratio(joint), force.energy(moving)


def _joints(model: Model) -> Iterator[Joint]:
    return (body.joint for body in model.bodies)


def _ratio(joint: Joint) -> float:
    return joint.mimic.multiplier if joint.mimic else 1.0


def _position(joint: Joint, q: Vector, k: int) -> Scalar:
    """The joint's own k-th coordinate."""
    offset = joint.mimic.offset if joint.mimic else 0.0
    return _ratio(joint) * q[joint.q_index + k] + offset


def _level(energy: Scalar) -> int:
    return int(energy.level) if isinstance(energy, Jet) else 0
