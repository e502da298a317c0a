# SPDX-License-Identifier: Apache-2.0
"""Chain splitting: the answer at one joint without a sweep through the others (theory.md section 4; source 003).

Cut at joint k, the outboard part answers f = A a + d and the inboard part a_p = b - Y f. With
Z = (1 + A Y)^-1, all in the frame of body k,

    qdd_k = (s^T Z A s)^-1 (Q_k - s^T Z (A (b + k_k) + d)),   f_k = Z (A (b + k_k + s qdd_k) + d).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.common.by_name import unknown
from rbd_dynamics.model.model import Model
from rbd_dynamics.theory.screws.articulated import ArticulatedTree
from rbd_dynamics.theory.screws.mobility import InboardMobility, mobility_before
from rbd_dynamics.theory.screws.tree import inverse_of_one_plus, joint_inverse, t, times

Array = NDArray[np.float64]


class JointAnswer(NamedTuple):
    """What happens at one joint, in the frame of the body that it moves.

    acceleration (..., n): qdd of the joint. wrench (..., 6): (m, f) that the joint passes on to its
    body; its part along the axes is the joint force less that of the rotor, the rest is the
    reaction. body_acceleration (..., 6): of the body, gravity included as an upward acceleration.
    """

    acceleration: Array
    wrench: Array
    body_acceleration: Array


def split_chain(
    model: Model, tree: ArticulatedTree, joint: str, *, inboard: InboardMobility | None = None
) -> JointAnswer:
    """Acceleration and wrench at the joint of that name.

    `inboard`: of the parent of the joint's body without the body, as `mobility_before` returns
    it, where it is known already. Raises KeyError for an unknown joint, ArithmeticError where a
    joint between the base and this one moves no inertia once the outboard part is cut off: there
    the inboard mobility is infinite (use `projected_motion`).
    """
    names = [state.joint for state in tree.states]
    if joint not in names:
        raise KeyError(unknown("joint", joint, names))
    body = names.index(joint)
    state, handle = tree.states[body], tree.handles[body]
    if inboard is None:
        inboard = mobility_before(model, tree, body)
    Y = state.X @ inboard.Y @ t(state.X)
    arriving = times(state.X, inboard.b) + state.k
    Z = inverse_of_one_plus(handle.A @ Y)
    held = times(Z, times(handle.A, arriving) + handle.d)  # the wrench if the joint were held
    across = Z @ handle.A @ state.s
    D_inverse = joint_inverse(t(state.s) @ across + state.rotor, handle.A, joint)
    qdd = times(D_inverse, tree.tau[..., state.dofs] - times(t(state.s), held))
    wrench = held + times(across, qdd)
    return JointAnswer(qdd, wrench, arriving + times(state.s, qdd) - times(Y, wrench))
