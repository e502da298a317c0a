# SPDX-License-Identifier: Apache-2.0
"""Joint-space mass matrix by composite rigid bodies (theory.md section 3)."""

from __future__ import annotations

from collections.abc import Sequence

from rbd_dynamics.algorithms.inverse_dynamics import rotor_inertias
from rbd_dynamics.algorithms.kinematics import joint_motion
from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.scalar import Scalar
from rbd_dynamics.spatial.se3 import dot6, wrench_to_parent


def mass_matrix(model: Model, inertias: Sequence[RigidInertia], q: Sequence[Scalar]) -> list[list[Scalar]]:
    """M (nv x nv), symmetric, with rotor inertia.

    Column j of M is the torque that keeps every joint but j still: the inertia of all that joint j
    moves, times S_j, carried towards the base and projected on each joint on the way.
    """
    motions = [joint_motion(body, q) for body in model.bodies]
    composite = list(inertias)
    M: list[list[Scalar]] = [[0.0] * model.nv for _ in range(model.nv)]

    def add(row: int, column: int, value: Scalar) -> None:
        M[row][column] = M[row][column] + value

    for index in reversed(range(len(model.bodies))):
        motion = motions[index]
        for k, (dof, column) in enumerate(zip(motion.dofs, motion.columns)):
            wrench = composite[index] * column
            for other, other_column in zip(motion.dofs[: k + 1], motion.columns):
                value = dot6(other_column, wrench)
                add(dof, other, value)
                if other != dof:
                    add(other, dof, value)
            at = index
            while model.bodies[at].parent != WORLD:
                wrench = wrench_to_parent(motions[at].transform, wrench)
                at = model.bodies[at].parent
                for other, other_column in zip(motions[at].dofs, motions[at].columns):
                    value = dot6(other_column, wrench)
                    add(dof, other, value)  # a mimic and its leader may meet on the diagonal
                    add(other, dof, value)
        parent = model.bodies[index].parent
        if parent != WORLD:
            composite[parent] = composite[parent] + composite[index].to_parent(motion.transform)

    for dof, rotor in enumerate(rotor_inertias(model)):
        add(dof, dof, rotor)
    return M
