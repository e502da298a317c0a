# SPDX-License-Identifier: Apache-2.0
"""Dynamics of robots with elastic joints and rotors (theory.md section 11).

The model is the link side: its `armature` is that of rigid joints only. theta (m) are the motors' positions behind the
elastic joints, at the gears' output. With `rotors` of elastic and of rigid joints their momentum counts (the complete
model of Tomei, De Luca and Book); without, motors feel their own speed alone (Spong's reduced model).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_dynamics.algorithms.energy import kinetic_energy
from rbd_dynamics.algorithms.hybrid_dynamics import forward_dynamics
from rbd_dynamics.algorithms.inverse_dynamics import inverse_dynamics
from rbd_dynamics.algorithms.kinematics import accelerations, velocities
from rbd_dynamics.algorithms.mass_matrix import mass_matrix
from rbd_dynamics.algorithms.rotors import (
    Rotor,
    along_axis,
    carrier_jacobian,
    rotor_wrenches,
    without_spin,
)
from rbd_dynamics.algorithms.tree_factor import factorise
from rbd_dynamics.model.model import Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.jets import Jet, level_above, rate_of, second_rate_of, value_of
from rbd_dynamics.spatial.scalar import Scalar
from rbd_dynamics.spatial.se3 import ZERO6, Vec6, add6

Vector = Sequence[Scalar]


class Spring(NamedTuple):
    """An elastic joint: where it is in v and q, stiffness, damping, the motor's inertia, all as seen at the joint."""

    dof: int
    position: int
    stiffness: float
    damping: float
    inertia: float


class Drives(NamedTuple):
    """Drives of one robot: elastic joints (m), their rotors (m, or none) and those of rigid joints, if they count."""

    springs: tuple[Spring, ...]
    rotors: tuple[Rotor, ...] = ()
    rigid: tuple[Rotor, ...] = ()


class MotorMotion(NamedTuple):
    """Motors behind elastic joints (m), at the gears' output, and the torque tau (nv) of all joints' motors."""

    theta: list[Scalar]
    velocity: list[Scalar]
    acceleration: list[Scalar]
    tau: list[Scalar]


def spring_torques(drives: Drives, q: Vector, v: Vector, theta: Vector, rate: Vector) -> list[Scalar]:
    """(m) K (theta - q) + D (thetadot - v): what elastic joints pass on to their links."""
    return [
        s.stiffness * (at - q[s.position]) + s.damping * (speed - v[s.dof])
        for s, at, speed in zip(drives.springs, theta, rate)
    ]


def drive_torques(
    model: Model,
    inertias: Sequence[RigidInertia],
    drives: Drives,
    q: Vector,
    v: Vector,
    a: Vector,
    rate: Vector,
    acceleration: Vector,
    friction: bool = False,
) -> tuple[list[Scalar], list[Scalar]]:
    """(nv) What joints have to pass on to their links in this motion, rotors of rigid joints included; (m) what it
    takes besides to move the rotors behind elastic joints at thetadot = `rate` and thetaddot = `acceleration`."""
    rotors, s, sdot = _spins(drives, v, a, rate, acceleration)
    wrenches, carried = None, [0.0] * len(rotors)
    if rotors:
        states = velocities(model, q, v)
        moved = accelerations(model, states, a, ZERO6)
        wrenches = rotor_wrenches(model, rotors, states, s, sdot)
        carried = [rotor.ratio * rotor.inertia * along_axis(rotor, moved) for rotor in rotors]
    tau = inverse_dynamics(model, inertias, q, v, a, wrenches, friction=friction)
    own = [spring.inertia * value for spring, value in zip(drives.springs, acceleration)]
    if drives.rotors:
        own = [x + y for x, y in zip(own, carried)]
    for rotor, value in zip(drives.rigid, carried[len(drives.rotors) :]):
        tau[rotor.dof] = tau[rotor.dof] + value
    return tau, own


def motor_motion(
    model: Model,
    inertias: Sequence[RigidInertia],
    drives: Drives,
    q: Vector,
    v: Vector,
    a: Vector,
    jerk: Vector,
    snap: Vector,
    theta: Vector,
    friction: bool = False,
) -> MotorMotion:
    """What the motors do in a motion of the links, by the reduced model: inverse dynamics and its time derivatives.

    `theta` is read where a joint has damping: there K (theta - q) + D (thetadot - v) = tau_link is a differential
    equation for it, elsewhere theta follows from the motion at this instant. Rotors of rigid joints count.
    """
    assert not drives.rotors, "with rotors behind elastic joints the order of the derivatives grows with their number"
    torques, _ = drive_torques(
        model, inertias, drives, *in_time(model, q, v, a, jerk, snap), [0.0] * 0, [0.0] * 0, friction
    )
    level = level_above(*q, *v, *a, *jerk, *snap)
    tau = [value_of(torque, level) for torque in torques]
    found = MotorMotion([], [], [], list(tau))
    for spring, given in zip(drives.springs, theta):
        dof = spring.dof
        torque, first, second = tau[dof], rate_of(torques[dof], level), second_rate_of(torques[dof], level)
        if spring.damping:
            at = given
            rate = v[dof] + (torque - spring.stiffness * (at - q[spring.position])) / spring.damping
            acceleration = a[dof] + (first - spring.stiffness * (rate - v[dof])) / spring.damping
        else:
            at = q[spring.position] + torque / spring.stiffness
            rate, acceleration = v[dof] + first / spring.stiffness, a[dof] + second / spring.stiffness
        found.theta.append(at)
        found.velocity.append(rate)
        found.acceleration.append(acceleration)
        found.tau[dof] = torque + spring.inertia * acceleration
    return found


def in_time(
    model: Model, q: Vector, v: Vector, a: Vector, jerk: Vector, snap: Vector
) -> tuple[list[Jet], list[Jet], list[Jet]]:
    """q, v and a as functions of time: jets of a new variable, of one level."""
    level = level_above(*q, *v, *a, *jerk, *snap)
    moving: list[Jet] = []
    for joint in model.joints:
        own = q[joint.q_index : joint.q_index + joint.kind.nq]
        dofs = slice(joint.v_index, joint.v_index + joint.kind.nv)
        first, second = joint.kind.rates(own, v[dofs])
        by_a = joint.kind.rates(own, a[dofs])[0]  # rates are linear in the velocity
        moving += [Jet(x, d, dd + more, level) for x, d, dd, more in zip(own, first, second, by_a)]
    speeds = [Jet(*entry, level) for entry in zip(v, a, jerk)]
    return moving, speeds, [Jet(*entry, level) for entry in zip(a, jerk, snap)]


def elastic_forward_dynamics(
    model: Model,
    inertias: Sequence[RigidInertia],
    drives: Drives,
    q: Vector,
    v: Vector,
    theta: Vector,
    rate: Vector,
    tau: Vector,
    friction: bool = False,
) -> tuple[list[Scalar], list[Scalar]]:
    """Accelerations of the joints (nv) and of the motors behind elastic ones (m) under the motors' torques tau (nv).

    A rotor behind a spring turns about its axis as its own torque and the spring tell it: the body that carries it
    feels their reaction, and not its inertia about that axis. So the articulated-body recursion does it all,
    but for rotors of rigid joints, which couple joints that need not be on one branch.
    """
    springs = spring_torques(drives, q, v, theta, rate)
    on_links, left = list(tau), []
    for spring, torque in zip(drives.springs, springs):
        left.append(tau[spring.dof] - torque)
        on_links[spring.dof] = torque
    wrenches: list[Vec6] | None = None
    if drives.rotors:
        states = velocities(model, q, v)
        turning = [
            rotor.ratio * speed + along_axis(rotor, [state.twist for state in states])
            for rotor, speed in zip(drives.rotors, rate)
        ]
        pushed = [value / (rotor.ratio * rotor.inertia) for rotor, value in zip(drives.rotors, left)]
        wrenches = rotor_wrenches(model, drives.rotors, states, turning, pushed)
        inertias = without_spin(inertias, drives.rotors)
    if drives.rigid:
        a = _with_rigid_rotors(model, inertias, drives.rigid, q, v, on_links, wrenches, friction)
    else:
        a = forward_dynamics(model, inertias, q, v, on_links, wrenches, friction)
    found = [value / spring.inertia for spring, value in zip(drives.springs, left)]
    if drives.rotors:
        moved = accelerations(model, velocities(model, q, v), a, ZERO6)
        found = [x - along_axis(rotor, moved) / rotor.ratio for rotor, x in zip(drives.rotors, found)]
    return a, found


def drive_mass_matrix(model: Model, inertias: Sequence[RigidInertia], drives: Drives, q: Vector) -> list[list[Scalar]]:
    """[[M, S], [S^T, B]] (nv + m, nv + m) of joints and motors: S couples them through the rotors' carriers."""
    M, n = _coupled_mass_matrix(model, inertias, drives.rigid, q), model.nv
    whole = [[*row, *[0.0] * len(drives.springs)] for row in M]
    whole += [[0.0] * (n + len(drives.springs)) for _ in drives.springs]
    for k, spring in enumerate(drives.springs):
        whole[n + k][n + k] = spring.inertia
    for k, rotor in enumerate(drives.rotors):
        for dof, c in enumerate(carrier_jacobian(model, rotor, q)):
            whole[dof][n + k] = whole[n + k][dof] = rotor.ratio * rotor.inertia * c
    return whole


def _coupled_mass_matrix(
    model: Model, inertias: Sequence[RigidInertia], rotors: Sequence[Rotor], q: Vector
) -> list[list[Scalar]]:
    """M + sum J n (c E^T + E c^T) of rigid joints' rotors, c v being the carrier's speed about the axis."""
    M = mass_matrix(model, inertias, q)
    for rotor in rotors:
        own = rotor.ratio * rotor.inertia
        for k, c in enumerate(carrier_jacobian(model, rotor, q)):
            M[rotor.dof][k] = M[rotor.dof][k] + own * c
            M[k][rotor.dof] = M[k][rotor.dof] + own * c
    return M


def _with_rigid_rotors(
    model: Model,
    inertias: Sequence[RigidInertia],
    rotors: Sequence[Rotor],
    q: Vector,
    v: Vector,
    tau: Vector,
    wrenches: Sequence[Vec6] | None,
    friction: bool,
) -> list[Scalar]:
    """a (nv), by the mass matrix."""
    still = [0.0] * model.nv
    states = velocities(model, q, v)
    moved = accelerations(model, states, still, ZERO6)
    couples = rotor_wrenches(model, rotors, states, [r.ratio * v[r.dof] for r in rotors], [0.0] * len(rotors))
    if wrenches is not None:
        couples = [add6(one, other) for one, other in zip(couples, wrenches)]
    bias = inverse_dynamics(model, inertias, q, v, still, couples, friction=friction)
    for rotor in rotors:
        bias[rotor.dof] = bias[rotor.dof] + rotor.ratio * rotor.inertia * along_axis(rotor, moved)
    M = _coupled_mass_matrix(model, inertias, rotors, q)
    return factorise(M).solve([t - b for t, b in zip(tau, bias)])


def _spins(
    drives: Drives, v: Vector, a: Vector, rate: Vector, acceleration: Vector
) -> tuple[list[Rotor], list[Scalar], list[Scalar]]:
    """All rotors that count, those of elastic joints first, with their speeds and accelerations."""
    rotors = [*drives.rotors, *drives.rigid]
    speeds = [r.ratio * x for r, x in zip(drives.rotors, rate)] + [r.ratio * v[r.dof] for r in drives.rigid]
    turned = [r.ratio * x for r, x in zip(drives.rotors, acceleration)] + [r.ratio * a[r.dof] for r in drives.rigid]
    return rotors, speeds, turned


def drive_energy(
    model: Model,
    inertias: Sequence[RigidInertia],
    drives: Drives,
    q: Vector,
    v: Vector,
    theta: Vector,
    rate: Vector,
) -> Scalar:
    """Kinetic energy of links and motors, and what the springs of elastic joints hold, in J."""
    total = kinetic_energy(model, inertias, q, v)
    for spring, at, speed in zip(drives.springs, theta, rate):
        stretch = at - q[spring.position]
        total = total + 0.5 * (spring.inertia * speed * speed + spring.stiffness * stretch * stretch)
    rotors, speeds, _ = _spins(drives, v, [0.0] * model.nv, rate, [0.0] * len(rate))
    twists = [state.twist for state in velocities(model, q, v)] if rotors else []
    for rotor, speed in zip(rotors, speeds):
        total = total + rotor.inertia * speed * along_axis(rotor, twists)
    return total
