# SPDX-License-Identifier: Apache-2.0
"""Articulated inertias, and accelerations and wrenches by projection (theory.md section 4; source 003).

With A_i, d_i so that f_i = A_i a_i + d_i for body i and all that it carries,

    a_i = s T^T A_i^-1 (T Q - d_i) + U R^T (X a_p + k_i)
    f_i = T Q + R U^T (A_i (X a_p + k_i) + d_i)

where T^T A^-1 = D^-1 s^T with D = s^T A s. Rotor inertia adds to D; then T = A s D^-1 and P = 1 - s T^T
take the places of T and U R^T, and both formulas hold as they stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.theory.screws.subspaces import Subspaces, subspaces
from rbd_dynamics.theory.screws.tree import (
    BodyState,
    body_states,
    gravity_acceleration,
    joint_inverse,
    t,
    times,
    torques,
)

Array = NDArray[np.float64]


class Handle(NamedTuple):
    """What a body with all that it carries is like, all in its frame; leading axes are a batch.

    A (..., 6, 6), d (..., 6): f = A a + d at the body. T (..., 6, n) and P (..., 6, 6): active
    wrenches and the projection of accelerations, rotor inertia included. D_inverse (..., n, n).
    outer_A, outer_d: f = outer_A X a_p + outer_d, what the parent feels through the joint.
    """

    A: Array
    d: Array
    T: Array
    P: Array
    D_inverse: Array
    outer_A: Array
    outer_d: Array


class ArticulatedTree(NamedTuple):
    """States and handles of all bodies at one state and one torque."""

    states: list[BodyState]
    handles: list[Handle]
    tau: Array
    base: Array  # acceleration (6,) of the base that stands for gravity

    def subspaces(self, body: int) -> Subspaces:
        """s, T, U, R of a body's joint under its articulated inertia (without rotor inertia)."""
        return subspaces(self.states[body].s, self.handles[body].A)

    def joined(self, body: int, *, without: int | None = None) -> tuple[Array, Array]:
        """(A, d) of a body with all its branches except the child `without`."""
        A, d = self.states[body].I, self.states[body].p
        for child, (state, handle) in enumerate(zip(self.states, self.handles)):
            if state.parent == body and child != without:
                A = A + t(state.X) @ handle.outer_A @ state.X
                d = d + times(t(state.X), handle.outer_d)
        return A, d


def articulated_tree(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    *,
    f_ext: Sequence[ArrayLike] | None = None,
    inertias: Sequence[RigidInertia] | None = None,
) -> ArticulatedTree:
    """Tip to base: A_i and d_i of every body at q (..., nq), v (..., nv) under the torques tau (..., nv).

    f_ext: external wrench (..., 6) on each body, in its frame. Raises ValueError for mimic joints
    and wrong shapes, ArithmeticError where a joint moves no inertia.
    """
    states, tau = body_states(model, q, v, f_ext, inertias), torques(model, tau)
    A, d = [state.I for state in states], [state.p for state in states]
    handles: list[Handle] = []
    for i in reversed(range(len(states))):
        state = states[i]
        force = A[i] @ state.s
        D_inverse = joint_inverse(t(state.s) @ force + state.rotor, A[i], state.joint)
        T = force @ D_inverse
        P = np.eye(6) - state.s @ t(T)
        outer_A = t(P) @ A[i]
        outer_A = 0.5 * (outer_A + t(outer_A))
        outer_d = times(T, tau[..., state.dofs]) + times(t(P), times(A[i], state.k) + d[i])
        handles.append(Handle(A[i], d[i], T, P, D_inverse, outer_A, outer_d))
        if state.parent != WORLD:
            A[state.parent] = A[state.parent] + t(state.X) @ outer_A @ state.X
            d[state.parent] = d[state.parent] + times(t(state.X), outer_d)
    return ArticulatedTree(states, handles[::-1], tau, gravity_acceleration(model))


class ProjectedMotion(NamedTuple):
    """Forward dynamics by projection.

    qdd (..., nv). accelerations (..., bodies, 6): a_i, in the body frame, gravity included as an
    upward acceleration. wrenches (..., bodies, 6): f_i, what the joint passes on to body i, in its frame.
    """

    qdd: Array
    accelerations: Array
    wrenches: Array


def projected_motion(tree: ArticulatedTree) -> ProjectedMotion:
    """Base to tip: a_i and f_i of every body by the projected equations, and qdd from them."""
    accelerations: list[Array] = []
    wrenches: list[Array] = []
    qdd = np.zeros(np.broadcast_shapes(tree.tau.shape, *(handle.d.shape[:-1] + (1,) for handle in tree.handles)))
    for state, handle in zip(tree.states, tree.handles):
        Q = tree.tau[..., state.dofs]
        parent = tree.base if state.parent == WORLD else accelerations[state.parent]
        carried = times(state.X, parent) + state.k
        active = times(handle.D_inverse, Q - times(t(state.s), handle.d))
        accelerations.append(times(state.s, active) + times(handle.P, carried))
        wrenches.append(times(handle.T, Q) + times(t(handle.P), times(handle.A, carried) + handle.d))
        qdd[..., state.dofs] = active - times(t(handle.T), carried)
    return ProjectedMotion(qdd, _stack(accelerations), _stack(wrenches))


def _stack(vectors: list[Array]) -> Array:
    if not vectors:
        return np.zeros((0, 6))
    return np.stack(np.broadcast_arrays(*vectors), axis=-2)
