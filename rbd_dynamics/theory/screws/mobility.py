# SPDX-License-Identifier: Apache-2.0
"""Articulated mobility: how a body yields to a wrench, from base to tip (theory.md section 4; source 003).

    a_i = b_i - Y_i f_{i+1}

for the part of the robot between the base and body i, side branches included, when it passes the wrench
f_{i+1} on to the next body. Y is the dual of the articulated inertia and exists where that is singular:
for a fixed base Y = 0, b = (0, -g).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.algorithms.kinematics import support
from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.theory.screws.articulated import ArticulatedTree
from rbd_dynamics.theory.screws.tree import inverse_of_one_plus, joint_inverse, t, times

Array = NDArray[np.float64]


class InboardMobility(NamedTuple):
    """a = b - Y f in the frame of `body` (-1: the world): Y (..., 6, 6), b (..., 6)."""

    body: int
    Y: Array
    b: Array


def inboard_mobility(model: Model, tree: ArticulatedTree, body: int, *, whole: bool = False) -> list[InboardMobility]:
    """Mobility of the world and of each body from the base to `body` (an index of model.bodies).

    What hangs on the path as a side branch counts as articulated inertia and bias. Of `body`
    itself, nothing that it carries counts, or with `whole` everything: then Y = J M^-1 J^T of the
    whole robot, J the body's Jacobian. Raises ArithmeticError where a joint moves no inertia of the
    part considered: the mobility is infinite.
    """
    path = support(model, body)
    found = [InboardMobility(WORLD, np.zeros((6, 6)), tree.base)]
    for i, after in zip(path, [*path[1:], None]):
        if after is None and not whole:
            inertia, p = tree.states[i].I, tree.states[i].p
        else:
            inertia, p = tree.joined(i, without=after)
        found.append(_next(tree, i, found[-1], inertia, p))
    return found


def mobility_before(model: Model, tree: ArticulatedTree, body: int) -> InboardMobility:
    """Mobility of the parent of `body` with all its branches but that one, in the parent's frame."""
    last = InboardMobility(WORLD, np.zeros((6, 6)), tree.base)
    path = support(model, body)
    for i, after in zip(path[:-1], path[1:]):
        last = _next(tree, i, last, *tree.joined(i, without=after))
    return last


def _next(tree: ArticulatedTree, i: int, before: InboardMobility, I: Array, p: Array) -> InboardMobility:
    """Y_i and b_i from those of the parent; I, p: the body with its side branches."""
    state = tree.states[i]
    Y = state.X @ before.Y @ t(state.X)
    b = times(state.X, before.b) + state.k
    X = inverse_of_one_plus(Y @ I)
    Xs = X @ state.s
    gain = Xs @ joint_inverse(t(state.s) @ I @ Xs + state.rotor, I, state.joint)
    free = times(X, b - times(Y, p))
    Q = tree.tau[..., state.dofs]
    drive = Q - times(t(state.s), p + times(I, free))
    mobility = X @ Y + gain @ t(Xs)
    return InboardMobility(i, 0.5 * (mobility + t(mobility)), free + times(gain, drive))


def tree_mobility(tree: ArticulatedTree) -> Array:
    """J_i M^-1 J_i^T (..., bodies, 6, 6) of every body of the whole robot, in its frame, in O(n).

    By projection: Y_i = P X Y_p X^T P^T + s D^-1 s^T, which also stands bodies without mass as
    long as something that they carry has some. Its inverse is the operational-space inertia.
    """
    found: list[Array] = []
    for state, handle in zip(tree.states, tree.handles):
        own = state.s @ handle.D_inverse @ t(state.s)
        if state.parent != WORLD:
            way = handle.P @ state.X
            own = own + way @ found[state.parent] @ t(way)
        found.append(own)
    if not found:
        return np.zeros((0, 6, 6))
    return np.stack(np.broadcast_arrays(*found), axis=-3)
