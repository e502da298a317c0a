# SPDX-License-Identifier: Apache-2.0
"""Derivatives of the wrenches that joints transmit (theory.md section 6)."""

from __future__ import annotations

from collections.abc import Sequence

from rbd_dynamics.algorithms.inverse_dynamics_derivatives import subtree_wrench_changes
from rbd_dynamics.algorithms.kinematics import support
from rbd_dynamics.algorithms.world_frame import world_frame
from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.scalar import Scalar
from rbd_dynamics.spatial.se3 import ZERO6, Vec6, add6, wrench_to_child


def joint_reaction_derivatives(
    model: Model,
    inertias: Sequence[RigidInertia],
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    f_ext: Sequence[Vec6] | None = None,
) -> tuple[list[list[Vec6]], list[list[Vec6]], list[list[Vec6]]]:
    """Columns (nv) of dF/dq, dF/dv and dF/da of `joint_reactions` for each body, in its frame.

    A joint between the base and the body carries the body along, which sees its subtree's wrench change as it
    turns too; one behind the body turns a part of that subtree.
    """
    world = world_frame(model, inertias, q, v, a, f_ext)
    found = tuple([[ZERO6] * model.nv for _ in model.bodies] for _ in range(3))

    def add(body: int, dof: int, *changes: Vec6) -> None:
        for matrices, change in zip(found, changes):
            seen = wrench_to_child(world.poses[body], change)
            matrices[body][dof] = add6(matrices[body][dof], seen)

    for index in range(len(model.bodies)):
        for carrier in support(model, index):
            for column in world.columns[carrier]:
                changes = subtree_wrench_changes(column, world.subtrees[index])
                add(index, column.dof, changes.by_q, changes.by_v, changes.by_a)
        for column in world.columns[index]:
            changes = subtree_wrench_changes(column, world.subtrees[index])
            at = model.bodies[index].parent
            while at != WORLD:
                add(at, column.dof, changes.turned, changes.by_v, changes.by_a)
                at = model.bodies[at].parent
    by_q, by_v, by_a = found
    return by_q, by_v, by_a
