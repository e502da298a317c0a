# SPDX-License-Identifier: Apache-2.0
"""Regressors: torque and energies as linear functions of the inertial parameters (theory.md section 6)."""

from __future__ import annotations

from collections.abc import Sequence

from rbd_dynamics.algorithms.kinematics import (
    accelerations,
    base_acceleration,
    body_poses,
    velocities,
)
from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.spatial.scalar import Scalar
from rbd_dynamics.spatial.se3 import ZERO6, Vec6, add6, dot6, twist_to_child
from rbd_dynamics.spatial.so3 import Vec3, add3, cross, dot3, scale3

_UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))  # order of the rotational inertia's entries


def regressor(model: Model, q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar]) -> list[list[Scalar]]:
    """Y (nv, 10 bodies): tau = Y @ (m, m c, Ixx, Ixy, Ixz, Iyy, Iyz, Izz of each body) + rotor inertia * a."""
    states = velocities(model, q, v)
    spatial = accelerations(model, states, a, base_acceleration(model))
    Y: list[list[Scalar]] = [[0.0] * (10 * len(model.bodies)) for _ in range(model.nv)]
    carried: list[dict[int, Vec6]] = []  # every column that moves a body, in that body's frame
    for index, (body, state) in enumerate(zip(model.bodies, states)):
        motion = state.motion
        above = {} if body.parent == WORLD else carried[body.parent]
        columns = {dof: twist_to_child(motion.transform, column) for dof, column in above.items()}
        for dof, column in zip(motion.dofs, motion.columns):
            columns[dof] = add6(columns.get(dof, ZERO6), column)
        carried.append(columns)
        for k, wrench in enumerate(body_regressor(state.twist, spatial[index])):
            for dof, column in columns.items():
                Y[dof][10 * index + k] = dot6(column, wrench)
    return Y


def kinetic_energy_regressor(model: Model, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
    """y (10 bodies): V^T I V / 2 summed = y . parameters + rotor energy."""
    row: list[Scalar] = []
    for state in velocities(model, q, v):
        w, u = state.twist[:3], state.twist[3:]
        row.append(0.5 * dot3(u, u))
        row += cross(u, w)  # u . (w x h)
        row += [(0.5 if i == j else 1.0) * w[i] * w[j] for i, j in _UPPER]
    return row


def potential_energy_regressor(model: Model, q: Sequence[Scalar]) -> list[Scalar]:
    """y (10 bodies): -g . sum m c = y . parameters + that of what is fixed to the world."""
    up = scale3(-1.0, model.gravity)
    row: list[Scalar] = []
    for pose in body_poses(model, q):
        row.append(dot3(up, pose.p))
        row += pose.rotate_back(up)
        row += [0.0] * 6
    return row


def body_regressor(twist: Vec6, acceleration: Vec6) -> list[Vec6]:
    """The ten wrenches, one for each inertial parameter, whose sum with the parameters is I Vdot - ad*_V I V."""
    w, u = twist[:3], twist[3:]
    alpha = acceleration[:3]
    classical = add3(acceleration[3:], cross(w, u))  # acceleration of the frame's origin
    wrenches: list[Vec6] = [(0.0, 0.0, 0.0, *classical)]
    for k in range(3):
        e = _unit(k)
        force = add3(cross(alpha, e), cross(w, cross(w, e)))
        wrenches.append(cross(e, classical) + force)
    for i, j in _UPPER:
        rate, momentum = _symmetric_times(i, j, alpha), _symmetric_times(i, j, w)
        moment = add3(rate, cross(w, momentum))
        wrenches.append((*moment, 0.0, 0.0, 0.0))
    return wrenches


def _unit(k: int) -> Vec3:
    return (float(k == 0), float(k == 1), float(k == 2))


def _symmetric_times(i: int, j: int, x: Vec3) -> Vec3:
    """The symmetric matrix with ones at (i, j) and (j, i), times x."""
    result = [0.0, 0.0, 0.0]
    result[i] = x[j]
    if i != j:
        result[j] = x[i]
    return (result[0], result[1], result[2])
