# SPDX-License-Identifier: Apache-2.0
"""A Panda with a peg in MuJoCo, beside walls, a hole, or pushed: a plant that shares no code with the controller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import mujoco
import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.common.example_robots import robots
from rigs.mujoco_plant import Plant, bare_description

Array = NDArray[np.float64]
Around = Literal["nothing", "stiff wall", "soft wall", "hole"]

ARM = [f"panda_joint{k}" for k in range(1, 8)]
FRAME = "panda_hand_tcp"
LENGTH, RADIUS = 0.06, 0.01  # of the peg, m
CLEARANCE = 0.001  # of the hole, m: what it is wider than the peg
DEPTH = 0.03  # of the hole, m
SOFTNESS = 5_000.0  # N/m
STEP = 2.5e-4  # s


@dataclass(frozen=True)
class Surroundings:
    """at: middle of the wall's face, or of the hole's mouth, m; its face looks up. friction: Coulomb's, of the peg."""

    kind: Around = "nothing"
    at: tuple[float, float, float] = (0.0, 0.0, 0.0)
    friction: float = 0.2


class CartesianPlant(Plant):
    """Joint torques in; joint states and the force on the peg out."""

    def __init__(self, around: Surroundings) -> None:
        spec = mujoco.MjSpec.from_string(bare_description(robots()["panda"], ARM))
        cylinder, box = mujoco.mjtGeom.mjGEOM_CYLINDER, mujoco.mjtGeom.mjGEOM_BOX
        rubs = {"friction": [around.friction, 0.0, 0.0], "condim": 4}
        spec.body(FRAME).add_geom(
            name="peg", type=cylinder, size=[RADIUS, LENGTH / 2, 0], pos=[0, 0, LENGTH / 2], mass=0.0, **rubs
        )
        x, y, z = around.at
        if around.kind == "hole":
            half, thick = RADIUS + CLEARANCE / 2, 0.03
            for k, (dx, dy) in enumerate(((1, 0), (-1, 0), (0, 1), (0, -1))):
                size = [thick, 2 * thick, DEPTH] if dx else [2 * thick, thick, DEPTH]
                place = [x + dx * (half + thick), y + dy * (half + thick), z - DEPTH]
                spec.worldbody.add_geom(name=f"side{k}", type=box, size=size, pos=place, **rubs)
        elif around.kind != "nothing":
            wall = spec.worldbody.add_body(name="wall", pos=[x, y, z - 0.05])
            if around.kind == "soft wall":
                damping = 2.0 * np.sqrt(SOFTNESS) * 0.2
                wall.add_joint(
                    name="gives", type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[0, 0, 1], stiffness=SOFTNESS, damping=damping
                )
            wall.add_geom(name="wall", type=box, size=[0.3, 0.3, 0.05], **rubs)
            wall.gravcomp, wall.explicitinertial, wall.mass, wall.inertia = 1.0, True, 1.0, [0.1, 0.1, 0.1]
        super().__init__(spec, ARM, STEP)

    @property
    def tip(self) -> Array:
        """Of the peg, m."""
        body = self.data.body(FRAME)
        return np.asarray(body.xpos + body.xmat.reshape(3, 3) @ [0.0, 0.0, LENGTH])

    @property
    def force(self) -> Array:
        """On the peg by what it touches, N, world axes."""
        total, wrench, peg = np.zeros(3), np.zeros(6), self.model.geom("peg").id
        for k in range(self.data.ncon):
            contact = self.data.contact[k]
            mujoco.mj_contactForce(self.model, self.data, k, wrench)
            force = contact.frame.reshape(3, 3).T @ wrench[:3]
            total += force if contact.geom2 == peg else -force
        return total

    def push(self, link: str, force: Array) -> None:
        """A force at a link's frame from now on, N, world axes."""
        body = self.data.body(link)
        body.xfrc_applied[:] = 0.0
        arm = body.xpos - body.xipos
        body.xfrc_applied[:3], body.xfrc_applied[3:] = force, np.cross(arm, force)
