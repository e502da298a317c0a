# SPDX-License-Identifier: Apache-2.0
"""Ten arms, and one of each that is as no description has it: with friction and rotors, and bodies that are off."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

import rbd_dynamics as rbd
from rbd_dynamics.common.example_robots import robots
from rbd_dynamics.model.errors import ModelWarning
from rbd_dynamics.simulation.perturbation import perturb_inertias, with_joint_friction
from rbd_dynamics.spatial.inertia import RigidInertia

Array = NDArray[np.float64]

TYPICAL = 24  # states, by which sizes of torques and inertias are told
SPEED, ACCELERATION = 0.6, 1.5  # there, rad/s and rad/s^2


@dataclass(frozen=True)
class Arm:
    """description: its name in example-robot-data. joints: those that move. tool: link at which it carries a load."""

    description: str
    joints: tuple[str, ...]
    tool: str


_UR = tuple(f"{name}_joint" for name in ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3"))
ARMS = {
    "ur10": Arm("ur10_robot", _UR, "tool0"),
    "ur5": Arm("ur5_robot", _UR, "tool0"),
    "ur3": Arm("ur3_robot", _UR, "tool0"),
    "panda": Arm("panda", tuple(f"panda_joint{k}" for k in range(1, 8)), "panda_link8"),
    "kinova": Arm("kinova", tuple(f"j2s6s200_joint_{k}" for k in range(1, 7)), "j2s6s200_end_effector"),
    "z1": Arm("z1", tuple(f"joint{k}" for k in range(1, 7)), "link06"),
    "xarm7": Arm("xarm7", tuple(f"joint{k}" for k in range(1, 8)), "link7"),
    "baxter": Arm("baxter", tuple(f"left_{name}" for name in "s0 s1 e0 e1 w0 w1 w2".split()), "left_hand_link"),
    "talos": Arm("talos_left_arm", tuple(f"arm_left_{k}_joint" for k in range(2, 8)), "arm_left_7_link"),
    "so101": Arm(
        "so101", ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll"), "gripper_link"
    ),
}  # fmt: skip


@cache
def described(name: str) -> rbd.Model:
    """The description, without friction and rotors."""
    arm = ARMS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        model = rbd.load_urdf(robots()[arm.description], joints=arm.joints)
    zeros = dict.fromkeys(model.joint_names, 0.0)
    return with_rotors(with_joint_friction(model, damping=zeros, friction=zeros), np.zeros(model.nv))


@cache
def robot_of(model: rbd.Model) -> rbd.Robot:
    return rbd.Robot(model)


def with_rotors(model: rbd.Model, rotors: Array) -> rbd.Model:
    """rotors: kg m^2, in the order of the joints."""
    inertia = dict(zip(model.joint_names, map(float, rotors)))
    bodies = (replace(body, joint=replace(body.joint, armature=inertia[body.joint.name])) for body in model.bodies)
    return replace(model, bodies=tuple(bodies))


def without_centres(model: rbd.Model, links: tuple[int, ...]) -> rbd.Model:
    """A description that has the centres of mass of these links at their frames' origins."""

    def centred(inertia: RigidInertia) -> RigidInertia:
        x, y, z = (float(part / inertia.mass) for part in inertia.moment)
        about = RigidInertia.from_com(inertia.mass, (x, y, z), (0.0,) * 6).rotational
        left = tuple(float(total - part) for total, part in zip(inertia.rotational, about))
        return RigidInertia.from_com(float(inertia.mass), (0.0, 0.0, 0.0), left)

    return replace(
        model,
        bodies=tuple(
            replace(body, inertia=centred(body.inertia)) if k in links and body.inertia.mass > 0.0 else body
            for k, body in enumerate(model.bodies)
        ),
    )


@dataclass(frozen=True)
class Sizes:
    """What is usual of an arm: torque (nv,), N m, and the joints' own inertia (nv,), kg m^2, in motion."""

    torque: Array
    inertia: Array


@cache
def sizes(name: str) -> Sizes:
    model, rng = described(name), np.random.default_rng(0)
    robot = robot_of(model)
    q = np.stack([within(model, rng) for _ in range(TYPICAL)])
    v, a = (size * rng.normal(size=(TYPICAL, model.nv)) for size in (SPEED, ACCELERATION))
    torque = np.sqrt(np.square(robot.inverse_dynamics(q, v, a)).mean(axis=0))
    inertia = np.mean([np.diag(robot.mass_matrix(row)) for row in q], axis=0)
    return Sizes(np.maximum(torque, 0.03 * torque.max()), np.maximum(inertia, 1e-2 * inertia.max()))


def within(model: rbd.Model, rng: np.random.Generator) -> Array:
    """A posture in the middle half of the joints' ranges, or within a radian of zero where these are wide."""
    lower, upper = ranges(model)
    return np.asarray(rng.uniform(0.75 * lower + 0.25 * upper, 0.25 * lower + 0.75 * upper))


def ranges(model: rbd.Model) -> tuple[Array, Array]:
    """Lowest and highest positions that are used (nv,), at most two radians to both sides of the middle."""
    limits = [joint.limits for joint in model.joints]
    both = np.array([(x.lower, x.upper) if np.isfinite(x.upper - x.lower) else (-2.0, 2.0) for x in limits])
    middle = np.where(
        np.abs(both).max(axis=1) > 6.0, np.where(both[:, 0] > 0.0, both.mean(axis=1), 0.0), both.mean(axis=1)
    )
    reach = np.minimum(2.0, 0.5 * (both[:, 1] - both[:, 0]))
    return middle - reach, middle + reach


def real(name: str, rng: np.random.Generator, off: float) -> rbd.Model:
    """The arm as it is: friction of 3 to 12 % of usual torques, rotors, and bodies that are off by up to `off`."""
    model, usual = described(name), sizes(name)
    if off:
        model = perturb_inertias(model, off, seed=int(rng.integers(1 << 30)))
    coulomb = usual.torque * rng.uniform(0.03, 0.12, model.nv)
    viscous = usual.torque * rng.uniform(0.02, 0.15, model.nv)
    damping, friction = (dict(zip(model.joint_names, map(float, row))) for row in (viscous, coulomb))
    rotors = usual.inertia * rng.uniform(0.2, 1.0, model.nv)
    return with_rotors(with_joint_friction(model, damping=damping, friction=friction), rotors)
