# SPDX-License-Identifier: Apache-2.0
"""A model that differs from the nominal one, as every real robot does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from rbd_dynamics.model.model import Model
from rbd_dynamics.spatial.inertia import RigidInertia


def perturb_inertias(model: Model, fraction: float, *, seed: int = 0) -> Model:
    """Every body's mass, centre of mass and rotational inertia off by up to `fraction`, at random.

    The centre of mass moves by up to that fraction of the body's radius of gyration along each axis.
    All moments of inertia about it scale alike, so that the body stays a possible one.
    """
    rng = np.random.default_rng(seed)

    def perturbed(inertia: RigidInertia) -> RigidInertia:
        scale_mass, scale_inertia, *shift = 1.0 + fraction * rng.uniform(-1.0, 1.0, 5)
        if inertia.mass <= 0.0:
            return inertia
        x, y, z = (float(component / inertia.mass) for component in inertia.moment)
        com = (x, y, z)
        about_origin = RigidInertia.from_com(inertia.mass, com, (0.0,) * 6).rotational
        about_com = tuple(total - part for total, part in zip(inertia.rotational, about_origin))
        radius = np.sqrt(max(about_com[0] + about_com[3] + about_com[5], 0.0) / (2.0 * inertia.mass))
        x, y, z = (float(c + radius * (s - 1.0)) for c, s in zip(com, shift))
        xx, xy, xz, yy, yz, zz = (float(scale_inertia * part) for part in about_com)
        return RigidInertia.from_com(float(scale_mass * inertia.mass), (x, y, z), (xx, xy, xz, yy, yz, zz))

    return replace(model, bodies=tuple(replace(body, inertia=perturbed(body.inertia)) for body in model.bodies))


def with_joint_friction(
    model: Model, *, damping: Mapping[str, float] | None = None, friction: Mapping[str, float] | None = None
) -> Model:
    """The model with other damping (N m s/rad, N s/m) and Coulomb friction (N m, N) of the joints named."""
    damping, friction = damping or {}, friction or {}
    bodies = []
    for body in model.bodies:
        joint = body.joint
        joint = replace(
            joint,
            damping=float(damping.get(joint.name, joint.damping)),
            friction=float(friction.get(joint.name, joint.friction)),
        )
        bodies.append(replace(body, joint=joint))
    return replace(model, bodies=tuple(bodies))
