# SPDX-License-Identifier: Apache-2.0
"""Kinematics by products of exponentials (theory.md section 3; 001 section 3).

    g_i(q) = exp(xi_1 q_1) ... exp(xi_i q_i) g_i(0)

over the joints from the world to body i. The screws xi are the joints' axes at the zero
configuration, and g_i(0) the bodies' poses there, all in the world frame. A joint with several
degrees of freedom on a group has one exponential of a combination of its screws; one whose S
changes with q, such as a universal joint, is the product of its own exponentials.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.algorithms.kinematics import support
from rbd_dynamics.model.model import WORLD, Body, Model
from rbd_dynamics.spatial import adjoint, exp_se3, pose_inverse
from rbd_dynamics.spatial.arrays import pose_array
from rbd_dynamics.theory.closed_forms.arguments import configuration
from rbd_dynamics.theory.closed_forms.matrices import add_columns, as_columns, motion_of

Array = NDArray[np.float64]


class PoeKinematics:
    """A model as screws and home poses.

    screws: for each body the twists (n_i, 6) of its joint at zero, (w, v) at the world's origin.
    home (bodies, 4, 4): the bodies' poses at zero, where every joint, mimics too, is at its neutral position.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        home: list[Array] = []
        self.screws: list[Array] = []
        for body in model.bodies:
            kind = body.joint.kind
            parent = np.eye(4) if body.parent == WORLD else home[body.parent]
            home.append(parent @ pose_array(body.placement) @ pose_array(kind.transform(kind.neutral().tolist())))
            columns = as_columns(kind.columns(kind.neutral().tolist()))
            self.screws.append((adjoint(home[-1]) @ columns).T)
        self.home = np.array(home).reshape(-1, 4, 4)

    @cached_property
    def supports(self) -> list[list[int]]:
        """Bodies from the world to each body, whose joints move it."""
        return [support(self.model, index) for index in range(len(self.model.bodies))]

    def exponentials(self, q: ArrayLike) -> Array:
        """(bodies, 4, 4): what each joint alone does to everything outboard of it at the zero configuration."""
        q = configuration(self.model, q)
        found = np.empty((len(self.model.bodies), 4, 4))
        for index, body in enumerate(self.model.bodies):
            kind, value = body.joint.kind, joint_position(body, q)
            if kind.has_constant_columns:
                coordinates = kind.difference(kind.neutral(), value)
                found[index] = exp_se3(self.screws[index].T @ coordinates)
            else:
                at = self.home[index]
                start = pose_array(kind.transform(kind.neutral().tolist()))
                own = pose_array(kind.transform(value.tolist()))
                found[index] = at @ pose_inverse(start) @ own @ pose_inverse(at)
        return found

    def displacements(self, q: ArrayLike) -> Array:
        """(bodies, 4, 4): exp(xi_1 q_1) ... exp(xi_i q_i), which takes body i from its home to where it is."""
        found = self.exponentials(q)
        for index, body in enumerate(self.model.bodies):
            if body.parent != WORLD:
                found[index] = found[body.parent] @ found[index]
        return found

    def poses(self, q: ArrayLike) -> Array:
        """g_i(q) of every body in the world, (bodies, 4, 4)."""
        return self.displacements(q) @ self.home

    def pose(self, q: ArrayLike, frame: str) -> Array:
        """Pose of a frame in the world (4, 4). Raises KeyError for an unknown frame."""
        place = self.model.frame(frame)
        fixed = pose_array(place.placement)
        return fixed if place.body == WORLD else self.poses(q)[place.body] @ fixed

    def spatial_jacobian(self, q: ArrayLike, frame: str) -> Array:
        """J^s (6, nv): the spatial twist (w, v at the world's origin, world axes) of the frame's body.

        Its columns are the joints' screws where the joints are now: xi'_i = Ad_{exp(xi_1 q_1) ...} xi_i.
        """
        body = self.model.frame(frame).body
        J = np.zeros((6, self.model.nv))
        if body != WORLD:
            q = configuration(self.model, q)
            displacements = self.displacements(q)
            for index in self.supports[body]:
                dofs, columns = joint_screws(self, index, q)
                add_columns(J, dofs, adjoint(displacements[index]) @ columns)
        return J

    def body_jacobian(self, q: ArrayLike, frame: str) -> Array:
        """J^b (6, nv) = Ad_{g^-1} J^s: the frame's body twist, as `Robot.jacobian`."""
        return adjoint(pose_inverse(self.pose(q, frame))) @ self.spatial_jacobian(q, frame)


def joint_screws(poe: PoeKinematics, index: int, q: Array) -> tuple[list[int], Array]:
    """Degrees of freedom of a body's joint and its screws (6, n_i) at the zero configuration.

    Constant, except for joints whose S changes with q. A mimic's carry its multiplier.
    """
    motion = motion_of(poe.model.bodies[index], q)
    return list(motion.dofs), adjoint(poe.home[index]) @ as_columns(motion.columns)


def joint_position(body: Body, q: Array) -> Array:
    """The joint's own numbers (nq_i) in q; a mimic's follow its leader."""
    joint = body.joint
    value = q[joint.q_index : joint.q_index + joint.kind.nq]
    return value if joint.mimic is None else joint.mimic.multiplier * value + joint.mimic.offset
