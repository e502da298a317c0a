# SPDX-License-Identifier: Apache-2.0
"""Products with the square-root factor W of the mass matrix and its inverse in O(n) (theory.md section 3).

M = W W^T, W = xi^T G^T A xi D^(-1/2) with A the articulated inertias and D = xi^T A xi (001 section 4).
A column s of a joint with several degrees of freedom counts as a joint of its own, the later ones
outboard of the earlier, so D has one number for each degree of freedom:

    tip to base    D = s^T A s + rotor,  u = A s D^(-1/2),  A <- A - u u^T,  A_p <- A_p + Ad* A Ad
    W x            tip to base: y = s^T F + D^(1/2) x with F from outboard, F <- F + u x
    W^-1 b         tip to base: x = D^(-1/2) (b - s^T F),                   F <- F + u x
    W^T x          base to tip: y = u^T V + D^(1/2) x with V from inboard,  V <- V + s x
    W^-T b         base to tip: x = D^(-1/2) (b - u^T V),                   V <- V + s x

A coordinate that moves several joints (a mimic's leader) couples bodies that are not on one path
to the base; with such a coordinate W is the factor of the matrix M, and products cost O(n^2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rbd_dynamics.algorithms.coordinate_elimination import coordinate_axis
from rbd_dynamics.algorithms.inverse_dynamics import rotor_inertias
from rbd_dynamics.algorithms.kinematics import joint_motion
from rbd_dynamics.algorithms.mass_matrix import mass_matrix
from rbd_dynamics.algorithms.tree_factor import MassFactor
from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.spatial.inertia import ArticulatedInertia, RigidInertia
from rbd_dynamics.spatial.scalar import Scalar, reciprocal, sqrt
from rbd_dynamics.spatial.se3 import (
    ZERO6,
    Transform,
    Vec6,
    add6,
    dot6,
    scale6,
    twist_to_child,
    wrench_to_parent,
)

Vector = Sequence[Scalar]


class Column(NamedTuple):
    """One degree of freedom: its twist s and the wrench u = A s D^(-1/2), in its body's frame."""

    dof: int
    s: Vec6
    u: Vec6
    root: Scalar  # D^(1/2)
    inverse_root: Scalar  # D^(-1/2)


Step = Callable[[Column, Scalar, Scalar], tuple[Scalar, Scalar]]


class ArticulatedFactor(NamedTuple):
    """W of a tree whose joints are independent, kept as what its products need."""

    parents: list[int]
    transforms: list[Transform]  # of each body in its parent
    columns: list[list[Column]]  # of each body, base to tip
    nv: int

    def times(self, x: Vector) -> list[Scalar]:
        """W x."""
        return self._tip_to_base(x, _product)

    def solve(self, b: Vector) -> list[Scalar]:
        """x with W x = b."""
        return self._tip_to_base(b, _solution)

    def times_transposed(self, x: Vector) -> list[Scalar]:
        """W^T x."""
        return self._base_to_tip(x, _product)

    def solve_transposed(self, b: Vector) -> list[Scalar]:
        """x with W^T x = b."""
        return self._base_to_tip(b, _solution)

    def _tip_to_base(self, given: Vector, step: Step) -> list[Scalar]:
        """step(column, given, s^T F) -> (result, x) for each degree of freedom, with F <- F + u x."""
        result: list[Scalar] = [0.0] * self.nv
        wrenches: list[Vec6] = [ZERO6] * len(self.parents)
        for index in reversed(range(len(self.parents))):
            for c in reversed(self.columns[index]):
                result[c.dof], x = step(c, given[c.dof], dot6(c.s, wrenches[index]))
                wrenches[index] = add6(wrenches[index], scale6(x, c.u))
            parent = self.parents[index]
            if parent != WORLD:
                carried = wrench_to_parent(self.transforms[index], wrenches[index])
                wrenches[parent] = add6(wrenches[parent], carried)
        return result

    def _base_to_tip(self, given: Vector, step: Step) -> list[Scalar]:
        """step(column, given, u^T V) -> (result, x) for each degree of freedom, with V <- V + s x."""
        result: list[Scalar] = [0.0] * self.nv
        twists: list[Vec6] = []
        for parent, transform, columns in zip(self.parents, self.transforms, self.columns):
            twist = ZERO6 if parent == WORLD else twist_to_child(transform, twists[parent])
            for c in columns:
                result[c.dof], x = step(c, given[c.dof], dot6(c.u, twist))
                twist = add6(twist, scale6(x, c.s))
            twists.append(twist)
        return result


def _product(column: Column, x: Scalar, others: Scalar) -> tuple[Scalar, Scalar]:
    return others + column.root * x, x


def _solution(column: Column, b: Scalar, others: Scalar) -> tuple[Scalar, Scalar]:
    x = column.inverse_root * (b - others)
    return x, x


def mass_factor_products(model: Model, inertias: Sequence[RigidInertia], q: Vector) -> ArticulatedFactor | MassFactor:
    """W at a configuration, ready for products; a coordinate without inertia gives infinite numbers."""
    if any(body.joint.mimic for body in model.bodies):
        return MassFactor.of(mass_matrix(model, inertias, q))

    motions = [joint_motion(body, q) for body in model.bodies]
    rotors = rotor_inertias(model)
    A = [ArticulatedInertia.of(inertia) for inertia in inertias]
    columns: list[list[Column]] = [[] for _ in model.bodies]
    for index in reversed(range(len(model.bodies))):
        motion, parent = motions[index], model.bodies[index].parent
        for dof, s in reversed(list(zip(motion.dofs, motion.columns))):
            force = A[index] * s
            root = sqrt(dot6(s, force) + rotors[dof])
            inverse_root = reciprocal(root)
            u = scale6(inverse_root, force)
            columns[index].insert(0, Column(dof, s, u, root, inverse_root))
            null_axis = coordinate_axis(s) if rotors[dof] == 0.0 else None  # A s = 0 from here on
            A[index] = A[index].minus_outer(u, u, null_axis)
        if parent != WORLD:
            A[parent] = A[parent] + A[index].to_parent(motion.transform)
    parents = [body.parent for body in model.bodies]
    return ArticulatedFactor(parents, [motion.transform for motion in motions], columns, model.nv)
