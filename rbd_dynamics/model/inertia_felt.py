# SPDX-License-Identifier: Apache-2.0
"""A bound that settles, for nearly every robot and in a fraction of the time of `pivots`, that M is positive definite.

The kinetic energy of a joint that moves alone is at least that of the body it moves, wherever the joints outside of
it go meanwhile. So a pivot of the mass matrix is at least s^T I s of that one body, in every configuration.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rbd_dynamics.model.joints import Continuous, Floating, Prismatic, Revolute
from rbd_dynamics.model.joints.base import UNLIMITED
from rbd_dynamics.model.mass_matrix_pivots import SINGULAR, inertia_matrices
from rbd_dynamics.model.model import WORLD, Body, Joint, Model
from rbd_dynamics.model.physical_inertia import about_com, is_clearly_physical

#: part of the inertia of all that a joint carries, as far away as it can get, that its own body must have for it: what
#: `SINGULAR` is of pivots, and again for rounding
LEAST = 2.0 * SINGULAR
#: rounding of eigenvalues, parts of the largest
ROUNDING = 1e-13
#: largest number of a model that is looked at here, in SI units
LARGEST = 1e6


def all_inertia_is_felt(model: Model) -> bool:
    """Whether each degree of freedom is certain to feel inertia, in every configuration; False: `pivots` can tell."""
    bodies = model.bodies
    if not bodies or not all(map(_is_simple, bodies)):
        return False
    travel, parents = [0.0] * model.nv, [WORLD] * model.nv
    for body in bodies:
        if not body.joint.mimic:
            travel[body.joint.v_index], parents[body.joint.v_index] = _travel(body.joint), body.parent
    if any(body.joint.mimic and parents[body.joint.v_index] != body.parent for body in bodies):
        return False  # what is between a leader and its follower may move against both
    eigenvalues = _least_eigenvalues(bodies)
    if eigenvalues is None:
        return False
    own, carried = [0.0] * model.nv, [0.0] * model.nv
    # of a body and what it carries, about any point of it: mass, and bounds of the first and second moment of mass
    sums = [
        (mass, math.hypot(x, y, z), abs(xx) + abs(yy) + abs(zz))
        for mass, x, y, z, xx, _, _, yy, _, zz in (body.inertia.parameters for body in bodies)
    ]
    for index in range(len(bodies) - 1, -1, -1):
        body, (mass, first, second) = bodies[index], sums[index]
        joint = body.joint
        ratio, offset = (joint.mimic.multiplier, joint.mimic.offset) if joint.mimic else (1.0, 0.0)
        far = abs(ratio) * travel[joint.v_index] + abs(offset) + math.hypot(*body.placement.p)
        if joint.kind.nv == 6:
            least, most = [eigenvalues[index]] * 6, mass + first + second
        else:
            (column,) = joint.kind.columns((0.0,))
            momentum = body.inertia * column
            least = [ratio * ratio * sum(a * b for a, b in zip(column, momentum))]
            most = ratio * ratio * max(mass, second)
        for k, each in enumerate(least, start=joint.v_index):
            own[k] += each + ratio * ratio * joint.armature
            carried[k] += most + ratio * ratio * joint.armature
        if body.parent != WORLD:
            others = sums[body.parent]
            moved = mass, first + far * mass, second + 2.0 * far * first + far * far * mass
            sums[body.parent] = tuple(a + b for a, b in zip(others, moved))
    return all(LEAST * most < least for least, most in zip(own, carried))


def _least_eigenvalues(bodies: Sequence[Body]) -> dict[int, float] | None:
    """{place: the least one} of the inertia matrices of what floats, and of what is not clearly physical.

    None where one is negative, or a number is too large.
    """
    places = [
        place
        for place, body in enumerate(bodies)
        if body.joint.kind.nv == 6 or not is_clearly_physical(about_com(body.inertia), body.inertia.mass)
    ]
    if not all(max(map(abs, body.inertia.parameters)) < LARGEST for body in bodies):
        return None
    if not places:
        return {}
    eigenvalues = np.linalg.eigvalsh(inertia_matrices([bodies[place].inertia for place in places]))
    if (eigenvalues[:, 0] < -ROUNDING * eigenvalues[:, -1]).any():
        return None
    return dict(zip(places, eigenvalues[:, 0].tolist()))


def _is_simple(body: Body) -> bool:
    """Whether it moves along the same twist wherever its joint is, or freely from the world."""
    kind, mimic = type(body.joint.kind), body.joint.mimic
    if mimic and not max(abs(mimic.multiplier), abs(mimic.offset)) < LARGEST:
        return False
    return kind in (Revolute, Continuous, Prismatic) or (kind is Floating and body.parent == WORLD)


def _travel(joint: Joint) -> float:
    """How far a joint moves what it carries away, m."""
    if type(joint.kind) is not Prismatic:
        return 0.0
    return max(min(abs(limit), UNLIMITED) for limit in (joint.limits.lower, joint.limits.upper))
