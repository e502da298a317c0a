# SPDX-License-Identifier: Apache-2.0
"""How torques and accelerations depend on the model's parameters (theory.md section 6; 000 section 4).

Each function gives d tau / d parameters of inverse dynamics; `hybrid_sensitivity` turns that into
the derivatives of hybrid dynamics or forward dynamics by the same parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.constraints.bound import Constraints, Objective
from rbd_dynamics.model.joints import Floating
from rbd_dynamics.model.model import WORLD, Body, Joint, Model
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial import adjoint, pose_inverse
from rbd_dynamics.spatial.arrays import pose_array
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.rank import inverse_response, pseudoinverse, size_of
from rbd_dynamics.spatial.se3 import IDENTITY

Array = NDArray[np.float64]


def inertial_sensitivity(robot: Robot, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
    """d tau / d (m, m c, Ixx, Ixy, Ixz, Iyy, Iyz, Izz of every body): the regressor, (nv, 10 bodies)."""
    return robot.regressor(q, v, a)


def payload_sensitivity(
    robot: Robot, q: ArrayLike, v: ArrayLike, a: ArrayLike, frame: str, mass: float, com: Sequence[float]
) -> Array:
    """d tau / d (mass, com, ixx, ixy, ixz, iyy, iyz, izz) of a load on a frame, (nv, 10).

    The load's parameters as in `Robot.set_payload`: com (3,) in the frame, m; the rotational
    inertia about the centre of mass, in the frame's axes. Raises KeyError for an unknown frame.
    """
    place = robot.model.frame(frame)
    if place.body == WORLD:
        return np.zeros((robot.model.nv, 10))
    # ten parameters at the frame's origin are carried to the body's frame by a linear map
    to_body = np.column_stack([
        RigidInertia.from_parameters(tuple(row)).to_parent(place.placement).parameters for row in np.eye(10)
    ])  # fmt: skip
    # and follow from (mass, com, inertia about com) by the parallel-axis theorem
    c = np.asarray(com, dtype=float)
    at_origin = np.zeros((10, 10))
    at_origin[0, 0] = 1.0
    at_origin[1:4, 0] = c
    at_origin[1:4, 1:4] = mass * np.eye(3)
    for row, (i, j) in enumerate(((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)), start=4):
        at_origin[row, row] = 1.0
        at_origin[row, 0] = (c @ c if i == j else 0.0) - c[i] * c[j]
        slope = 2.0 * c * (i == j)
        slope[i] -= c[j]
        slope[j] -= c[i]
        at_origin[row, 1:4] = mass * slope
    block = robot.regressor(q, v, a)[:, 10 * place.body : 10 * place.body + 10]
    return block @ to_body @ at_origin


class AxisSensitivity:
    """Sensitivity to where a joint's axis is.

    The joint frame is displaced by a small twist (rotation, translation), given in the joint frame,
    while the zero pose of the link and of everything behind it stays: the axis of a product of
    exponentials moves. It is the motion of a virtual joint before the joint, less that of one behind
    it, so the derivatives of inverse dynamics by the virtual joints' positions answer.
    """

    def __init__(self, robot: Robot, joint: str) -> None:
        """Raises KeyError for an unknown joint."""
        index = next((k for k, body in enumerate(robot.model.bodies) if body.joint.name == joint), None)
        if index is None:
            robot.model.joint(joint)  # raises, and names near matches
            raise KeyError(joint)
        self._robot = robot
        self._index = index
        self._extended, self._real, self._before, self._behind = _with_virtual_joints(robot, index)
        kind = robot.model.bodies[index].joint.kind
        # the link's zero pose in the joint frame is not the identity for every kind
        self._to_behind = adjoint(pose_inverse(pose_array(kind.transform(kind.neutral().tolist()))))

    def __call__(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """d tau / d twist, (nv, 6), for one state."""
        model = self._extended.model
        configuration, zeros = model.neutral(), np.zeros(model.nv)
        velocities, accelerations = zeros.copy(), zeros.copy()
        velocities[self._real], accelerations[self._real] = v, a
        for old, new in zip(self._robot.model.joints, (j for j in model.joints if j.name not in _VIRTUAL)):
            size = old.kind.nq
            configuration[new.q_index : new.q_index + size] = np.asarray(q)[old.q_index : old.q_index + size]
        by_q = self._extended.inverse_dynamics_derivatives(configuration, velocities, accelerations)[0]
        behind = by_q[np.ix_(self._real, self._behind)]
        return by_q[np.ix_(self._real, self._before)] - behind @ self._to_behind


def hybrid_sensitivity(robot: Robot, q: ArrayLike, prescribed: ArrayLike, by_inverse: ArrayLike) -> tuple[Array, Array]:
    """(d a, d tau), each (nv, k), of hybrid dynamics by k parameters.

    by_inverse (nv, k): d tau / d parameters of inverse dynamics at the solution's q, v and a.
    prescribed (nv) bool as in `Robot.hybrid_dynamics`: all False is forward dynamics.
    """
    d, u = np.asarray(by_inverse, dtype=float), np.asarray(prescribed, dtype=bool)
    M = robot.mass_matrix(q)
    d_a = np.zeros_like(d)
    if not u.all():
        d_a[~u] = -np.linalg.solve(M[np.ix_(~u, ~u)], d[~u])
    d_tau = np.where(u[:, None], d + M @ d_a, 0.0)
    return d_a, d_tau


def constrained_sensitivity(
    robot: Robot, q: ArrayLike, constraints: Constraints, prescribed: ArrayLike, by_inverse: ArrayLike
) -> tuple[Array, Array, Array]:
    """(d a (nv, k), d tau (nv, k), d multipliers (m, k)) of constrained hybrid dynamics by k parameters of the model.

    by_inverse (nv, k): d tau / d parameters of free inverse dynamics at the solution's q, v and a. prescribed (nv)
    bool as in `Robot.constrained_hybrid_dynamics`: all False is forward dynamics. Parameters of the constraints are not
    among the model's. Of redundant rows the multipliers are those of least norm. Source: theory.md sections 6 and 7.
    """
    d, free = np.asarray(by_inverse, dtype=float), ~np.asarray(prescribed, dtype=bool)
    M = robot.mass_matrix(q)
    A = robot.constraint_rows(q, np.zeros(len(M)), constraints).A
    loose, d_a = A[:, free], np.zeros_like(d)
    response = np.linalg.solve(M[np.ix_(free, free)], loose.T)
    alone = -np.linalg.solve(M[np.ix_(free, free)], d[free])
    d_multipliers = -inverse_response(loose, response, scale=float(size_of(A))) @ (loose @ alone)
    d_a[free] = alone + response @ d_multipliers
    d_multipliers = pseudoinverse(loose.T, scale=size_of(A)) @ (loose.T @ d_multipliers)
    d_tau = np.where(free[:, None], 0.0, d + M @ d_a - A.T @ d_multipliers)
    return d_a, d_tau, d_multipliers


def constrained_inverse_sensitivity(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    constraints: Constraints,
    by_inverse: ArrayLike,
    *,
    actuated: ArrayLike | None = None,
    objective: Objective = "torque",
) -> tuple[Array, Array]:
    """(d tau (nv, k), d multipliers (m, k)) of constrained inverse dynamics by k parameters of the model.

    by_inverse (nv, k): d tau / d parameters of free inverse dynamics at q, v, a. actuated, objective: as for
    `Robot.constrained_inverse_dynamics`. Source: theory.md sections 6 and 7.
    """
    options: dict[str, Any] = {"actuated": actuated, "objective": objective}
    found = robot.constrained_inverse_dynamics_derivatives(q, v, a, constraints, **options)
    # torques and multipliers depend on the parameters as on a: by M a + b alone
    change = np.linalg.solve(robot.mass_matrix(q), np.asarray(by_inverse, dtype=float))
    return found.tau_da @ change, found.multipliers_da @ change


_VIRTUAL = ("axis displacement before the joint", "axis displacement behind the joint")


def _with_virtual_joints(robot: Robot, index: int) -> tuple[Robot, list[int], list[int], list[int]]:
    """The robot with a free massless joint on each side of joint `index`; and the three sets of dofs."""
    model = robot.model
    inertias = [RigidInertia.from_parameters(tuple(row)) for row in robot.inertial_parameters.tolist()]
    bodies: list[Body] = []
    renumbered: dict[int, int] = {WORLD: WORLD}
    for k, body in enumerate(model.bodies):
        body = replace(body, parent=renumbered[body.parent], inertia=inertias[k])
        if k == index:
            before, behind = (Joint(name, Floating(), 0, 0) for name in _VIRTUAL)
            bodies.append(Body(_VIRTUAL[0], body.parent, body.placement, before, RigidInertia()))
            carrier = replace(body, parent=len(bodies) - 1, placement=IDENTITY, inertia=RigidInertia())
            bodies.append(carrier)
            bodies.append(Body(_VIRTUAL[1], len(bodies) - 1, IDENTITY, behind, body.inertia))
        else:
            bodies.append(body)
        renumbered[k] = len(bodies) - 1
    numbered, dofs = _numbered(bodies)
    tree = Model(model.name, tuple(numbered), gravity=model.gravity, base=model.base)
    extended = Robot(tree, backend=robot.backend, friction=robot.friction)
    real = [dof for joint in model.joints for dof in dofs[joint.name]]
    return extended, real, dofs[_VIRTUAL[0]], dofs[_VIRTUAL[1]]


def _numbered(bodies: list[Body]) -> tuple[list[Body], dict[str, list[int]]]:
    """The bodies with consecutive q and v indices, mimics with their leader's; and each joint's dofs."""
    places: dict[str, tuple[int, int]] = {}
    dofs: dict[str, list[int]] = {}
    nq = nv = 0
    for body in bodies:
        joint = body.joint
        if joint.mimic is None:
            places[joint.name] = (nq, nv)
            dofs[joint.name] = list(range(nv, nv + joint.kind.nv))
            nq, nv = nq + joint.kind.nq, nv + joint.kind.nv
    result = []
    for body in bodies:
        joint = body.joint
        q_index, v_index = places[joint.mimic.leader if joint.mimic else joint.name]
        result.append(replace(body, joint=replace(joint, q_index=q_index, v_index=v_index)))
    return result, dofs
