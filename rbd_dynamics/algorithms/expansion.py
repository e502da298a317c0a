# SPDX-License-Identifier: Apache-2.0
"""Joints that are chains of joints with constant S, as such chains (theory.md sections 2 and 3).

Such a joint (universal, product of exponentials) is a chain of joints with one degree of freedom
each, with massless bodies between. The tree with these chains in its place has the same q, v and
tau. The algorithms take joints with S(q) as they are, too; of chains the parts cost less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from rbd_dynamics.model.model import WORLD, Body, Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.scalar import Scalar
from rbd_dynamics.spatial.se3 import IDENTITY


class Expansion(NamedTuple):
    """model: the tree without such joints, the same object where there is none; q and v are the original's.

    bodies: the index there of each original body, which is the last of its chain.
    """

    model: Model
    bodies: tuple[int, ...]

    def spread(self, vector: Sequence[Scalar], width: int) -> Sequence[Scalar]:
        """`width` numbers for each original body, as numbers for each body here: zero for the massless ones."""
        if len(self.bodies) == len(self.model.bodies):
            return vector
        found: list[Scalar] = [0.0] * (width * len(self.model.bodies))
        for old, new in enumerate(self.bodies):
            found[width * new : width * (new + 1)] = vector[width * old : width * (old + 1)]
        return found

    def gather(self, rows: Sequence[Scalar], width: int) -> Sequence[Scalar]:
        """The inverse, of one row or several flat ones after the other."""
        here = len(self.model.bodies)
        if len(self.bodies) == here:
            return rows
        length = width * here
        return [
            rows[start + width * new + k]
            for start in range(0, len(rows), length)
            for new in self.bodies
            for k in range(width)
        ]


def expanded(model: Model) -> Expansion:
    """Replace every joint that is a chain (`JointKind.as_chain`).

    Mimics, rotor inertia, damping and friction go with each joint of a chain; frames stay on their
    bodies. The joints of a chain are named "name.0", "name.1" ..., the massless bodies likewise; a chain
    of one joint keeps its name.
    """
    if all(body.joint.kind.as_chain() is None for body in model.bodies):
        return Expansion(model, tuple(range(len(model.bodies))))
    bodies: list[Body] = []
    place = {WORLD: WORLD}
    for index, body in enumerate(model.bodies):
        body = replace(body, parent=place[body.parent])
        chain = body.joint.kind.as_chain()
        if chain is None:
            bodies.append(body)
        else:
            bodies += _chain(body, len(bodies))
        place[index] = len(bodies) - 1
    frames = tuple(replace(frame, body=place[frame.body]) for frame in model.frames)
    tree = replace(model, bodies=tuple(bodies), frames=frames)
    return Expansion(tree, tuple(place[index] for index in range(len(model.bodies))))


def _chain(body: Body, start: int) -> list[Body]:
    """The bodies that stand for one, the first at index `start`."""
    kinds, joint = body.joint.kind.as_chain() or (), body.joint
    if len(kinds) == 1:
        return [replace(body, joint=replace(joint, kind=kinds[0]))]
    links: list[Body] = []
    q_index, v_index = joint.q_index, joint.v_index
    for k, kind in enumerate(kinds):
        mimic = joint.mimic and replace(joint.mimic, leader=f"{joint.mimic.leader}.{k}")
        own = replace(joint, name=f"{joint.name}.{k}", kind=kind, q_index=q_index, v_index=v_index, mimic=mimic)
        q_index, v_index = q_index + kind.nq, v_index + kind.nv
        parent, placement = (body.parent, body.placement) if k == 0 else (start + k - 1, IDENTITY)
        links.append(Body(f"{body.name}.{k}", parent, placement, own, RigidInertia()))
    links[-1] = replace(links[-1], name=body.name, inertia=body.inertia)
    return links
