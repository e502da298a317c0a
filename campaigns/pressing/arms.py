# SPDX-License-Identifier: Apache-2.0
"""Arms that press: descriptions of example-robot-data, with postures around which there is room."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray
from rigs.pressing_cell import ARMS as OF_CELL

import rbd_dynamics as rbd
from rbd_dynamics.common.example_robots import robots
from rbd_dynamics.spatial.inertia import RigidInertia

Array = NDArray[np.float64]

MARGIN = 0.15  # rad, of random postures to the joints' limits
LEAST = 0.08  # singular value of the tool's Jacobian, rad or m a rad, of random postures


@dataclass(frozen=True)
class Arm:
    """description: its name in example-robot-data. axis: of the tool's frame, that points at what it presses on.

    q: a posture with room around it. locked: joints of a gripper.
    """

    description: str
    tool: str
    axis: int
    q: tuple[float, ...]
    locked: tuple[str, ...] = ()

    @property
    def urdf(self) -> str:
        return str(robots()[self.description])


def _of_cell(name: str) -> Arm:
    arm = OF_CELL[name]
    return Arm(arm.description, arm.tool, 2, arm.q, arm.locked)


ARMS = {
    "ur5": _of_cell("ur5"),
    "ur10": _of_cell("ur10"),
    "panda": _of_cell("panda"),
    "kinova": Arm("kinova", "j2s6s200_end_effector", 2, (-1.451, 2.173, 5.123, 1.32, 4.706, -0.042)),
    "z1": Arm("z1", "link06", 0, (0.0, 1.6, -1.35, 0.9, 0.2, 0.0), ("jointGripper",)),
}


@cache
def model_of(name: str, rotors: float = 0.0) -> rbd.Model:
    """As the description has it, with the gripper locked. rotors: kg m^2 for each N m of a joint's effort limit."""
    arm = ARMS[name]
    model = rbd.load_urdf(arm.urdf, locked=dict.fromkeys(arm.locked, 0.0))
    if not rotors:
        return model
    bodies = [
        body if body.joint is None else replace(
            body, joint=replace(body.joint, armature=body.joint.armature + rotors * body.joint.limits.effort)
        )
        for body in model.bodies
    ]  # fmt: skip
    return replace(model, bodies=tuple(bodies))


@cache
def robot_of(name: str) -> rbd.Robot:
    return rbd.Robot(model_of(name))


def heavier(name: str, mass: float, rotors: float) -> rbd.Model:
    """The arm's description with so much more (kg) at its tool. rotors: as for `model_of`."""
    model = model_of(name, rotors)
    frame = model.frame(ARMS[name].tool)
    more = RigidInertia.from_com(mass, frame.placement.p, (1e-3 * mass, 0.0, 0.0, 1e-3 * mass, 0.0, 1e-3 * mass))
    bodies = list(model.bodies)
    bodies[frame.body] = replace(bodies[frame.body], inertia=bodies[frame.body].inertia + more)
    return replace(model, bodies=tuple(bodies))


def random_posture(name: str, rng: np.random.Generator, spread: float) -> tuple[float, ...]:
    """Within `spread` (rad) of the arm's posture, away from limits and singularities."""
    robot, arm = robot_of(name), ARMS[name]
    lower = np.array([joint.limits.lower for joint in robot.model.joints]) + MARGIN
    upper = np.array([joint.limits.upper for joint in robot.model.joints]) - MARGIN
    for _ in range(200):
        q = np.clip(np.array(arm.q) + rng.uniform(-spread, spread, len(arm.q)), lower, upper)
        if np.linalg.svd(robot.jacobian(q, arm.tool), compute_uv=False)[-1] > LEAST:
            return tuple(float(each) for each in q)
    return arm.q
