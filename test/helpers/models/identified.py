# SPDX-License-Identifier: Apache-2.0
"""Robots whose friction, loads and inertias tests look for."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from helpers.models.robots import FILES
from rbd_dynamics import ModelBuilder, load_urdf
from rbd_dynamics.model import Model, ModelWarning
from rbd_dynamics.model.joints import Revolute
from rbd_dynamics.model.payload import payload_inertia
from rbd_dynamics.simulation.perturbation import with_joint_friction

LOAD = (1.2, (0.02, -0.03, 0.08), (0.004, 0.0005, -0.0003, 0.005, 0.0002, 0.003))


def without_friction(name: str) -> Model:
    joints = None if name == "ur5_robot" else [f"panda_joint{k}" for k in range(1, 8)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        model = load_urdf(FILES[name], joints=joints)
    zeros = dict.fromkeys(model.joint_names, 0.0)
    return with_joint_friction(model, damping=zeros, friction=zeros)


def with_friction(model: Model) -> tuple[Model, np.ndarray]:
    """The model with some friction, and offsets (nv,)."""
    rng = np.random.default_rng(7)
    damping, friction = (dict(zip(model.joint_names, rng.uniform(0.2, 1.0, model.nv).tolist())) for _ in range(2))
    return with_joint_friction(model, damping=damping, friction=friction), 0.3 * rng.normal(size=model.nv)


def loaded(model: Model, frame: str) -> Model:
    mass, com, inertia = LOAD
    carrier, load = payload_inertia(model, frame, mass, com=com, inertia=inertia)
    bodies = list(model.bodies)
    bodies[carrier] = replace(bodies[carrier], inertia=bodies[carrier].inertia + load)
    return replace(model, bodies=tuple(bodies))


def arm(count: int = 3) -> Model:
    builder = ModelBuilder("arm")
    axes = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0))
    for k, axis in enumerate(axes[:count]):
        builder.add_body(
            f"link{k}", f"link{k - 1}" if k else None, Revolute(axis), joint_name=f"j{k}", placement=(0.0, 0.1, 0.3),
            mass=3.0 - k, com=(0.05, 0.02, 0.2), inertia=(0.02, 0, 0, 0.03, 0, 0.02), damping=0.5, friction=0.3,
        )  # fmt: skip
    return builder.build()
