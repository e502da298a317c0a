# SPDX-License-Identifier: Apache-2.0
"""Recordings of arms that their description has wrong, as vendors' files have it: no rotors, centres of mass off."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from helpers.models.robots import FILES
from helpers.recorded.exciting import efforts, stamps_of, swing, with_noise
from rbd_dynamics import load_urdf
from rbd_dynamics.model import Model, ModelWarning
from rbd_dynamics.simulation.perturbation import perturb_inertias, with_joint_friction
from rbd_dynamics.spatial.inertia import RigidInertia

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Arm:
    """An arm and how its drives are.

    Attributes:
        centre: about which it swings, amplitude: by how much, rad. coulomb (N m), viscous (N m s/rad) and rotors
            (kg m^2) of its joints.
    """

    joints: tuple[str, ...]
    centre: tuple[float, ...]
    amplitude: tuple[float, ...]
    coulomb: tuple[float, ...]
    viscous: tuple[float, ...]
    rotors: tuple[float, ...]


ARMS = {
    "ur10_robot": Arm(
        ("shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint", "wrist_1_joint", "wrist_2_joint", "wrist_3_joint"),
        (0.0, -1.57, 0.0, -1.57, 0.0, 0.0), (0.6, 0.1, 0.15, 0.3, 0.05, 0.2),
        (13.3, 14.0, 9.0, 2.5, 2.5, 2.0), (18.0, 18.0, 12.0, 2.0, 2.0, 1.5), (9.5, 9.0, 4.0, 0.8, 0.8, 0.8),
    ),
    "panda": Arm(
        tuple(f"panda_joint{k}" for k in range(1, 8)),
        (0.0, -0.4, 0.0, -2.0, 0.0, 1.7, 0.7), (0.6, 0.3, 0.5, 0.4, 0.6, 0.5, 0.7),
        (0.5, 0.6, 0.4, 0.8, 0.5, 0.3, 0.4), (0.6, 0.5, 0.5, 0.4, 0.3, 0.2, 0.3), (0.6, 0.6, 0.5, 0.5, 0.2, 0.2, 0.2),
    ),
    "kinova": Arm(
        tuple(f"j2s6s200_joint_{k}" for k in range(1, 7)),
        (0.0, 2.9, 1.8, 0.5, 2.0, 0.4), (0.6, 0.3, 0.4, 0.5, 0.4, 0.6),
        (1.5, 2.0, 1.2, 0.5, 0.5, 0.4), (2.0, 2.0, 1.5, 0.4, 0.4, 0.3), (0.9, 0.9, 0.5, 0.1, 0.1, 0.1),
    ),
    "z1": Arm(
        tuple(f"joint{k}" for k in range(1, 7)),
        (0.0, 1.2, -1.2, 0.0, 0.0, 0.0), (0.6, 0.4, 0.4, 0.5, 0.5, 0.8),
        (1.0, 1.0, 0.9, 0.5, 0.4, 0.3), (1.0, 1.0, 0.8, 0.4, 0.3, 0.2), (0.3, 0.3, 0.2, 0.1, 0.1, 0.1),
    ),
}  # fmt: skip


@cache
def described(name: str) -> Model:
    """The description: without friction and rotors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        model = load_urdf(FILES[name], joints=ARMS[name].joints)
    zeros = dict.fromkeys(model.joint_names, 0.0)
    return with_rotors(with_joint_friction(model, damping=zeros, friction=zeros), [0.0] * model.nv)


def with_rotors(model: Model, rotors: Array | list[float]) -> Model:
    inertia = dict(zip(model.joint_names, rotors))
    bodies = (replace(body, joint=replace(body.joint, armature=inertia[body.joint.name])) for body in model.bodies)
    return replace(model, bodies=tuple(bodies))


def without_centres(model: Model, links: tuple[int, ...]) -> Model:
    """A description that has the centres of mass of these links at their frames' origins."""

    def centred(inertia: RigidInertia) -> RigidInertia:
        x, y, z = (float(part / inertia.mass) for part in inertia.moment)
        about = RigidInertia.from_com(inertia.mass, (x, y, z), (0.0,) * 6).rotational
        left = tuple(float(total - part) for total, part in zip(inertia.rotational, about))
        return RigidInertia.from_com(float(inertia.mass), (0.0, 0.0, 0.0), left)

    bodies = list(model.bodies)
    for k in links:
        bodies[k] = replace(bodies[k], inertia=centred(bodies[k].inertia))
    return replace(model, bodies=tuple(bodies))


def recorded(
    name: str,
    *,
    rotors: float = 1.0,
    rubs: tuple[int, ...] | None = None,
    off: float = 0.0,
    seed: int = 1,
    duration: float = 60.0,
    amplitude: float = 1.0,
    load: float = 0.0,
) -> tuple[NDArray[np.int64], Array]:
    """Stamps and numbers (N, 3, nv) of a robot with friction, and rotors times `rotors`.

    rubs: joints that have friction and rotors; None: all. off: share by which the robot's bodies are not as described.
    amplitude: of the swing, times the usual. load: kg, 5 cm from the last joint along its axis.
    """
    arm, model = ARMS[name], described(name)
    having = np.isin(np.arange(model.nv), range(model.nv) if rubs is None else rubs)
    robot = perturb_inertias(model, off, seed=seed) if off else model
    if load:
        last = robot.bodies[-1]
        ball = RigidInertia.from_com(load, (0.02, 0.0, 0.05), (2e-3 * load, 0.0, 0.0, 2e-3 * load, 0.0, 2e-3 * load))
        robot = replace(robot, bodies=(*robot.bodies[:-1], replace(last, inertia=last.inertia + ball)))
    damping, coulomb = (dict(zip(model.joint_names, having * row)) for row in (arm.viscous, arm.coulomb))
    robot = with_rotors(with_joint_friction(robot, damping=damping, friction=coulomb), rotors * having * arm.rotors)
    t = np.arange(int(duration * 100.0)) / 100.0
    q, v, a = swing(model, t, np.array(arm.centre), amplitude * np.array(arm.amplitude), seed)
    return stamps_of(t), with_noise(q, v, efforts(robot, q, v, a), seed)
