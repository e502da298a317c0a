# SPDX-License-Identifier: Apache-2.0
"""A robot with a ball at its tool against a surface, in MuJoCo: a plant that shares no code with the controller."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.constraints import Plane, Sphere

Array = NDArray[np.float64]


class Plant:
    """Joint torques in, joint states out; the joints have neither friction nor damping.

    Parameters:
        spec: the scene. joints: that move, in the order of torques and states. step: of MuJoCo's integration, s.
    """

    def __init__(self, spec: mujoco.MjSpec, joints: Sequence[str], step: float) -> None:
        self.model = spec.compile()
        self.model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC  # a pyramid lifts what slides
        self.model.opt.timestep = step
        self.model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        self.data = mujoco.MjData(self.model)
        self._q = np.array([self.model.joint(name).qposadr[0] for name in joints])
        self._v = np.array([self.model.joint(name).dofadr[0] for name in joints])
        self.model.dof_damping[self._v] = self.model.dof_frictionloss[self._v] = 0.0

    def reset(self, q: Array) -> None:
        """At rest at q, and all else where it begins."""
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[self._q] = q
        mujoco.mj_forward(self.model, self.data)

    @property
    def state(self) -> tuple[Array, Array]:
        """q and v, copies."""
        return self.data.qpos[self._q].copy(), self.data.qvel[self._v].copy()

    def advance(self, tau: Array, seconds: float) -> None:
        """Hold the torque for that long."""
        self.data.qfrc_applied[self._v] = tau
        for _ in range(round(seconds / self.model.opt.timestep)):
            mujoco.mj_step(self.model, self.data)


class MujocoPlant(Plant):
    """Joint torques in; joint states and the contact force of a ball against a surface out.

    Parameters:
        urdf: of the robot. Its collision shapes are left out.
        joints: that move, in the order of torques and states; all others are held at zero.
        tool: link that carries the ball.
        ball: its radius, m.
        surface: `Plane` (at `position`, normal up) or `Sphere` (centre there), fixed to the world.
        friction: Coulomb's coefficient between ball and surface.
        step: of MuJoCo's integration, s.
    """

    def __init__(
        self,
        urdf: Path,
        joints: list[str],
        tool: str,
        ball: float,
        surface: Plane | Sphere,
        position: tuple[float, float, float],
        friction: float = 0.0,
        step: float = 5e-4,
    ) -> None:
        spec = mujoco.MjSpec.from_string(bare_description(urdf, joints))
        sphere, plane = mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_PLANE
        spec.body(tool).add_geom(name="ball", type=sphere, size=[ball, 0, 0], mass=0.0)
        shape = (sphere, [surface.radius, 0, 0]) if isinstance(surface, Sphere) else (plane, [1, 1, 0.1])
        spec.worldbody.add_geom(name="surface", type=shape[0], size=shape[1], pos=position)
        # friction's own slow reference: MuJoCo's convex contact model lifts what slides in proportion to it
        spec.add_pair(
            geomname1="ball", geomname2="surface", condim=3 if friction else 1,
            friction=[friction, friction, 0.005, 0.0001, 0.0001], solreffriction=[1.0, 1.0],
        )  # fmt: skip
        super().__init__(spec, joints, step)

    @property
    def normal_force(self) -> float:
        """Of the surface on the ball, N; zero without contact."""
        total, wrench = 0.0, np.zeros(6)
        for k in range(self.data.ncon):
            mujoco.mj_contactForce(self.model, self.data, k, wrench)
            total += wrench[0]
        return total


def bare_description(urdf: Path, joints: Sequence[str] | None = None) -> str:
    """The description for MuJoCo, without shapes and mimics, with only those joints movable; None: all that are."""
    root = ET.parse(urdf).getroot()
    for link in root.iter("link"):
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(shape)
    for joint in root.iter("joint"):
        for mimic in joint.findall("mimic"):
            joint.remove(mimic)
        if joints is not None and joint.get("name") not in joints:
            joint.set("type", "fixed")
    moved = None if joints is None else _moved_links(root)
    for link in root.findall("link"):
        if moved is not None and link.get("name") not in moved:  # its inertia is nobody's, and in some files none
            for inertial in link.findall("inertial"):
                link.remove(inertial)
    options: Mapping[str, str] = {
        "discardvisual": "true", "fusestatic": "false", "balanceinertia": "false", "angle": "radian",
        "inertiafromgeom": "false",
    }  # fmt: skip
    ET.SubElement(ET.SubElement(root, "mujoco"), "compiler", dict(options))
    return ET.tostring(root, encoding="unicode")


def _moved_links(root: ET.Element) -> set[str]:
    """Names of the links that some joint moves."""
    ends = {}
    for joint in root.findall("joint"):
        parent, child = (str(joint.find(end).get("link")) for end in ("parent", "child"))  # type: ignore[union-attr]
        ends[child] = parent, joint.get("type") != "fixed"
    moved = set()
    for link in ends:
        at, moves = link, False
        while at in ends and not moves:
            at, moves = ends[at]
        if moves:
            moved.add(link)
    return moved
