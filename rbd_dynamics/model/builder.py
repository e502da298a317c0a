# SPDX-License-Identifier: Apache-2.0
"""Robots in code: a model link by link, without a URDF."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from numpy.typing import ArrayLike

from rbd_dynamics.common.by_name import unknown
from rbd_dynamics.model.assembly import (
    assemble,
    checked_joint,
    checked_name,
    checked_number,
    checked_pose,
    checked_vector,
)
from rbd_dynamics.model.description import Inertial
from rbd_dynamics.model.drives import Drive
from rbd_dynamics.model.errors import Inertias, ModelError
from rbd_dynamics.model.joints import Floating, JointKind
from rbd_dynamics.model.model import WORLD, Body, Frame, Limits, Mimic, Model
from rbd_dynamics.model.passive_forces import PassiveForce
from rbd_dynamics.model.payload import symmetric_matrix
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.se3 import IDENTITY, Transform

Placement = Transform | ArrayLike


class ModelBuilder:
    """Makes a model link by link, a parent before its children.

        builder = rbd.ModelBuilder("pendulum")
        builder.add_body("rod", None, Revolute((0, 1, 0)), mass=1.0, com=(0, 0, -0.5), limits=Limits(effort=10))
        builder.add_fixed("bob", "rod", placement=(0, 0, -1), mass=0.2)
        robot = rbd.Robot(builder.build())

    Units are SI. A placement is a position (3,), a homogeneous matrix (4, 4) or a `Transform`, in
    the parent link's frame. Inertias as in `Robot.set_payload`: com (3,) in the link's frame, m;
    inertia about the centre of mass, in the link's axes, kg m^2, (3, 3) or (ixx, ixy, ixz, iyy, iyz,
    izz), None for a point mass. What is wrong raises ModelError, which names the link or joint.
    """

    def __init__(self, name: str = "robot", *, gravity: Sequence[float] = (0.0, 0.0, -9.81)) -> None:
        self._name = checked_name(name, "model")
        x, y, z = checked_vector(gravity, 3, "gravity")
        self._gravity = (x, y, z)
        self._bodies: list[Body] = []
        self._joint_names: set[str] = set()
        self._frames: list[Frame] = []
        self._places: dict[str, tuple[int, Transform]] = {}  # link or frame -> body and pose in it
        self._links: dict[str, Inertial] = {}
        self._fixed_inertia = RigidInertia()

    def add_body(
        self,
        name: str,
        parent: str | None,
        joint: JointKind,
        *,
        joint_name: str | None = None,
        placement: Placement = IDENTITY,
        mass: float = 0.0,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
        limits: Limits | None = None,
        damping: float = 0.0,
        friction: float = 0.0,
        armature: float = 0.0,
        mimic: Mimic | None = None,
        passive: Sequence[PassiveForce] = (),
        drive: Drive | None = None,
    ) -> None:
        """A link that a joint moves.

        Parameters:
            parent: the link (or frame) that carries the joint; None for the world.
            joint: its kind, as in `Revolute((0, 0, 1))`.
            joint_name: default: the link's with "_joint" after it.
            placement: of the joint frame, where the link's frame is at q = 0.
            limits: position in rad or m, velocity, effort; default: none.
            damping, friction, armature: of each degree of freedom of the joint; N s/m or N m s/rad,
                N or N m, kg or kg m^2 (rotor inertia as seen at the joint).
            mimic: the joint that this one follows, which may come later.
            passive: what else each degree of freedom does by itself, as in `(Spring(100.0, rest=0.2),)`.
            drive: gear and elasticity of what moves it.
        """
        where = f"link {checked_name(name, 'link')!r}"
        joint_name = checked_name(f"{name}_joint" if joint_name is None else joint_name, f"{where}: joint")
        if joint_name in self._joint_names:
            raise ModelError(f"joint {joint_name!r} is defined twice")
        numbers = (damping, friction, armature)
        moving = checked_joint(
            joint_name, joint, limits if limits is not None else Limits(), *numbers, mimic, passive, drive
        )
        carrier, pose = self._place(name, parent, placement)
        load = self._inertia(name, mass, com, inertia)
        self._add_frame(name, len(self._bodies), IDENTITY)
        self._frames.append(Frame(joint_name, len(self._bodies), placement=IDENTITY, element="joint"))
        self._bodies.append(Body(name, carrier, pose, moving, load))
        self._joint_names.add(joint_name)

    def add_fixed(
        self,
        name: str,
        parent: str | None,
        *,
        placement: Placement = IDENTITY,
        mass: float = 0.0,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
    ) -> None:
        """A link that is fixed to another (None: to the world); its mass counts there."""
        checked_name(name, "link")
        carrier, pose = self._place(name, parent, placement)
        load = self._inertia(name, mass, com, inertia).to_parent(pose)
        self._add_frame(name, carrier, pose)
        if carrier == WORLD:
            self._fixed_inertia = self._fixed_inertia + load
        else:
            body = self._bodies[carrier]
            self._bodies[carrier] = replace(body, inertia=body.inertia + load)

    def add_frame(self, name: str, parent: str | None, *, placement: Placement = IDENTITY) -> None:
        """A named frame on a link, as a tool's."""
        checked_name(name, "frame")
        self._add_frame(name, *self._place(name, parent, placement))

    def build(self, *, strict: bool = False, inertias: Inertias = "checked") -> Model:
        """The model, after the same checks as a URDF's (`load_urdf` says what `strict` and `inertias` mean).

        Joints come in the order in which they were added. The builder can go on being used.
        Raises ModelError; a defect that leaves a usable model is a ModelWarning.
        """
        floats = any(body.parent == WORLD and isinstance(body.joint.kind, Floating) for body in self._bodies)
        base: Literal["fixed", "floating"] = "floating" if floats else "fixed"
        return assemble(
            self._name, self._bodies, self._frames, self._gravity, base, self._fixed_inertia, self._links, strict,
            inertias=inertias,
        )  # fmt: skip

    def _place(self, name: str, parent: str | None, placement: Any) -> tuple[int, Transform]:
        """The body that carries a placement on a link, and the pose in it."""
        where = f"link {name!r}"
        if name in self._places:
            raise ModelError(f"{where} is defined twice")
        if parent is not None and (not isinstance(parent, str) or parent not in self._places):
            raise ModelError(f"{where}: {unknown('link', parent, list(self._places))}")
        carrier, pose = (WORLD, IDENTITY) if parent is None else self._places[parent]
        placed = checked_pose(placement, f"{where}: placement")
        if pose is not IDENTITY:
            placed = pose @ placed
            placed = Transform.of(placed.rotation, placed.p)
        return carrier, placed

    def _add_frame(self, name: str, body: int, pose: Transform) -> None:
        self._places[name] = (body, pose)
        self._frames.append(Frame(name, body, placement=pose))

    def _inertia(self, name: str, mass: Any, com: Any, inertia: Any) -> RigidInertia:
        where = f"link {name!r}"
        amount = checked_number(mass, f"{where}: mass")
        x, y, z = checked_vector(com, 3, f"{where}: com")
        xx, xy, xz, yy, yz, zz = symmetric_matrix(inertia, where)[_UPPER].tolist()
        self._links[name] = Inertial(amount, (x, y, z), (xx, xy, xz, yy, yz, zz))
        return self._links[name].inertia


_UPPER = ([0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2])
