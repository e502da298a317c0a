# SPDX-License-Identifier: Apache-2.0
"""What derivatives and matrices of the whole tree share: everything expressed in the world frame.

With one common frame a quantity of one body meets one of another by a plain dot product. For
column s_k of joint i, with V_p and A_p the velocity and acceleration of its parent body, V_i its own,

    rate_k = ad_{V_i} s_k + sum_l d_kl v_l       of the column, which moves with body i
    g_k    = ad_{V_p} s_k + e_k                  velocity that the whole subtree gains as the joint moves
    s2_k   = ad_{A_p} s_k + ad_{V_p} g_k         acceleration that it gains, beside -ad_{V_j} g_k of each body j
             + ad_{V_i} e_k + sum_l d_lk a_l + c_k

where S varies with the joint's own position: d_lk = dS_l/dq_k, e_k = sum_l d_lk v_l, and c_k is the
derivative of Sdot qd along k at constant qd. Of a joint with constant S these are zero and cost nothing.
The wrench on body k changes by `I_k x + 2 B_k y`, where 2 B_k collects all Coriolis terms that are
linear in the velocity (theory.md section 6, from the recursions of 000 section 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_dynamics.algorithms.kinematics import base_acceleration, combine, joint_motion, joint_variation
from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.scalar import Scalar
from rbd_dynamics.spatial.se3 import (
    IDENTITY,
    ZERO6,
    Transform,
    Vec6,
    ad,
    ad_dual,
    add6,
    scale6,
    sub6,
    twist_to_parent,
    wrench_to_parent,
)
from rbd_dynamics.spatial.so3 import Mat3, Vec3, add3, cross, dot3, matvec, scale3, sub3


class Column(NamedTuple):
    """One column of one joint, in the world frame."""

    body: int
    dof: int
    s: Vec6
    rate: Vec6
    gained_velocity: Vec6  # g
    gained_acceleration: Vec6  # s2
    #: d_lk, how each column l of the same joint changes as this one moves, seen from the body; empty: not at all
    slopes: Sequence[Vec6] = ()


class CoriolisInertia(NamedTuple):
    """B = [[top, 0], [-[l], 0]], from (V x* I - I V x + (I V) x*) / 2: it acts on angular parts only."""

    top: Mat3
    momentum: Vec3  # l, the linear momentum

    @classmethod
    def of(cls, inertia: RigidInertia, twist: Vec6) -> CoriolisInertia:
        w, u = twist[:3], twist[3:]
        xx, xy, xz, yy, yz, zz = inertia.rotational
        half_trace = 0.5 * (xx + yy + zz)
        J = (xx - half_trace, xy, xz, xy, yy - half_trace, yz, xz, yz, zz - half_trace)
        columns = [cross(w, (J[k], J[3 + k], J[6 + k])) for k in range(3)]
        h = inertia.moment
        along = dot3(u, h)
        top = tuple(columns[c][r] - u[r] * h[c] + (along if r == c else 0.0) for r in range(3) for c in range(3))
        return cls(top, sub3(scale3(inertia.mass, u), cross(h, w)))

    def __add__(self, other: CoriolisInertia) -> CoriolisInertia:  # type: ignore[override]
        return CoriolisInertia(tuple(a + b for a, b in zip(self.top, other.top)), add3(self.momentum, other.momentum))

    def __mul__(self, twist: Vec6) -> Vec6:  # type: ignore[override]
        return matvec(self.top, twist[:3]) + cross(twist[:3], self.momentum)


class Subtree(NamedTuple):
    """Sums over a body and all that it carries, in the world frame."""

    inertia: RigidInertia
    coriolis: CoriolisInertia
    wrench: Vec6


class WorldFrame(NamedTuple):
    """The state of the tree in the world frame."""

    poses: list[Transform]  # of each body
    twists: list[Vec6]
    columns: list[list[Column]]
    subtrees: list[Subtree]

    def pairs(self, model: Model) -> list[tuple[Column, Column]]:
        """(ancestor's or own column, column) for every pair of joints on one path to the base."""
        found = []
        for index in range(len(model.bodies)):
            for column in self.columns[index]:
                at = index
                while at != WORLD:
                    found += [(other, column) for other in self.columns[at]]
                    at = model.bodies[at].parent
        return found


def world_frame(
    model: Model,
    inertias: Sequence[RigidInertia],
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar] | None = None,
    f_ext: Sequence[Vec6] | None = None,
) -> WorldFrame:
    """Columns and subtree sums. Without `a` accelerations and wrenches are those at zero acceleration.

    `f_ext`: the external wrench on each body, in its frame; a subtree's wrench is what its joint has to give besides.
    """
    poses: list[Transform] = []
    twists: list[Vec6] = []
    accelerations: list[Vec6] = []
    columns: list[list[Column]] = []
    subtrees: list[Subtree] = []
    base = base_acceleration(model)
    for index, body in enumerate(model.bodies):
        motion = joint_motion(body, q)
        inside = body.parent != WORLD
        pose = (poses[body.parent] if inside else IDENTITY) @ motion.transform
        pose = Transform.of(pose.rotation, pose.p)
        parent_twist = twists[body.parent] if inside else ZERO6
        parent_acceleration = accelerations[body.parent] if inside else base
        s = [twist_to_parent(pose, column) for column in motion.columns]
        twist = parent_twist
        for column, dof in zip(s, motion.dofs):
            twist = add6(twist, scale6(v[dof], column))
        rates = [ad(twist, column) for column in s]
        own_v = [v[dof] for dof in motion.dofs]
        variation = joint_variation(body, q, v)
        slopes: list[list[Vec6]] = []
        if variation is not None:
            slopes = [[twist_to_parent(pose, slope) for slope in along] for along in variation.slopes]
            for along, speed in zip(slopes, own_v):
                rates = [add6(rate, scale6(speed, slope)) for rate, slope in zip(rates, along)]
        acceleration = parent_acceleration
        for column, rate, dof in zip(s, rates, motion.dofs):
            acceleration = add6(acceleration, scale6(v[dof], rate))
            if a is not None:
                acceleration = add6(acceleration, scale6(a[dof], column))
        own = []
        for k, (column, rate, dof) in enumerate(zip(s, rates, motion.dofs)):
            gained = ad(parent_twist, column)
            if variation is None:
                more = add6(ad(parent_acceleration, column), ad(parent_twist, gained))
                own.append(Column(index, dof, column, rate, gained, more))
                continue
            swept = combine(slopes[k], own_v)  # e_k
            gained = add6(gained, swept)
            more = add6(ad(parent_acceleration, column), ad(parent_twist, gained))
            more = add6(more, add6(ad(twist, swept), twist_to_parent(pose, variation.curvature[k])))
            if a is not None:
                more = add6(more, combine(slopes[k], [a[dof] for dof in motion.dofs]))
            own.append(Column(index, dof, column, rate, gained, more, slopes[k]))
        inertia = inertias[index].to_parent(pose)
        wrench = sub6(inertia * acceleration, ad_dual(twist, inertia * twist))
        if f_ext is not None:
            wrench = sub6(wrench, wrench_to_parent(pose, f_ext[index]))
        poses.append(pose)
        twists.append(twist)
        accelerations.append(acceleration)
        columns.append(own)
        subtrees.append(Subtree(inertia, CoriolisInertia.of(inertia, twist), wrench))
    for index in reversed(range(len(model.bodies))):
        parent = model.bodies[index].parent
        if parent != WORLD:
            one, two = subtrees[parent], subtrees[index]
            subtrees[parent] = Subtree(
                one.inertia + two.inertia, one.coriolis + two.coriolis, add6(one.wrench, two.wrench)
            )
    return WorldFrame(poses, twists, columns, subtrees)
