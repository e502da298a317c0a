# SPDX-License-Identifier: Apache-2.0
"""Random robots with motors, and their twins: trees in which every rotor is a body of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from helpers.models.robots import random_inertia, random_transform, random_unit
from rbd_dynamics import Drive, Mimic, Model, ModelBuilder, joints
from rbd_dynamics.model.assembly import inertial_of


@dataclass
class Driven:
    """A robot with drives, the twin, and of each joint the rotor's gear ratio; elastic ones first."""

    model: Model
    twin: Model
    ratio: dict[str, float]
    elastic: list[str]

    def on_twin(self, links: np.ndarray, motors: np.ndarray, inverse: bool = False) -> np.ndarray:
        """(nv) of the twin from those of joints and motors; torques take the `inverse` of the gear ratios."""
        found = np.zeros(self.twin.nv)
        for joint in self.model.joints:
            found[self.twin.joint(joint.name).v_index] = links[joint.v_index]
        for name, value in zip(self.elastic, motors, strict=True):
            ratio = self.ratio[name]
            found[self.twin.joint(f"{name} rotor").v_index] = value / ratio if inverse else value * ratio
        return found

    def of_twin(self, values: np.ndarray, inverse: bool = False) -> tuple[np.ndarray, np.ndarray]:
        links = np.array([values[self.twin.joint(joint.name).v_index] for joint in self.model.joints])
        ratios = np.array([self.ratio[name] for name in self.elastic])
        motors = np.array([values[self.twin.joint(f"{name} rotor").v_index] for name in self.elastic])
        return links, motors * ratios if inverse else motors / ratios


def driven_tree(seed: int, n: int = 5, rigid: float = 0.0, base: str = "fixed") -> Driven:
    """Random joints, gears, places and axes of rotors; each joint is rigid with the probability `rigid`."""
    rng = np.random.default_rng(seed)
    gravity = rng.normal(scale=6.0, size=3)
    own, twin = ModelBuilder("driven", gravity=gravity), ModelBuilder("twin", gravity=gravity)
    ratio, elastic = {}, []
    if base == "floating":
        for builder in (own, twin):
            builder.add_body("base", None, joints.Floating(), mass=8.0, inertia=[0.4, 0.0, 0.1, 0.5, 0.0, 0.3])
    for k in range(n):
        parent = ("base" if base == "floating" else None) if k == 0 else f"link{rng.integers(max(0, k - 2), k)}"
        axis = random_unit(rng, 3)
        kind = (joints.Revolute, joints.Continuous, joints.Prismatic)[int(rng.integers(3))](tuple(axis))
        placement, load, name = random_transform(rng), inertial_of(random_inertia(rng)), f"joint{k}"
        gear, spin, across = float(rng.uniform(3, 20) * rng.choice([-1, 1])), rng.uniform(0.01, 0.039), 0.02
        ratio[name], is_rigid = gear, rng.uniform() < rigid
        # the rotor: on the parent's link about the joint's axis, or anywhere about any other
        elsewhere = rng.uniform() < 0.5
        carrier = f"link{rng.integers(0, k)}" if elsewhere and k else parent
        if elsewhere and carrier is None:
            elsewhere = False
        place = random_transform(rng) if elsewhere else placement
        e = random_unit(rng, 3) if elsewhere else axis
        soft = {"stiffness": float(rng.uniform(100, 5000)), "damping": float(rng.uniform(0, 9))}
        stiffness = {} if is_rigid else soft
        drive = Drive(
            gear_ratio=gear, **stiffness, rotor_frame=f"stator{k}" if elsewhere else None,
            rotor_axis=tuple(e) if elsewhere else None,
        )  # fmt: skip
        part = {"mass": 0.3, "com": tuple(0.1 * e), "inertia": across * np.eye(3) + (spin - across) * np.outer(e, e)}
        for builder in (own, twin):
            extra = {"armature": gear * gear * spin, "drive": drive} if builder is own else {}
            builder.add_body(
                f"link{k}", parent, kind, joint_name=name, placement=placement, mass=load.mass, com=load.com,
                inertia=load.rotational, **extra,
            )  # fmt: skip
        own.add_fixed(f"stator{k}", carrier, placement=place, **part)
        follows = Mimic(name, multiplier=gear) if is_rigid else None
        twin.add_body(
            f"rotor{k}", carrier, joints.Continuous(tuple(e)), joint_name=f"{name} rotor", placement=place,
            mimic=follows, **part,
        )  # fmt: skip
        elastic += [] if is_rigid else [name]
    return Driven(own.build(), twin.build(), ratio, elastic)
