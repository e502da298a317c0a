# SPDX-License-Identifier: Apache-2.0
"""Joints whose S depends on q: several motions along fixed screws, one after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.model.errors import ModelError
from rbd_dynamics.model.joints.base import Array, JointKind, direction_of
from rbd_dynamics.model.joints.single import Revolute, Screw, unit_twist
from rbd_dynamics.spatial.scalar import Scalar
from rbd_dynamics.spatial.se3 import IDENTITY, ZERO6, Transform, Vec6, ad, add6, scale6, twist_to_child
from rbd_dynamics.spatial.so3 import Vec3, cross


class CoordinateChain(JointKind):
    """T = T_1(q_1) ... T_n(q_n): a chain of joints with one degree of freedom each and nothing between.

    A subclass gives `as_chain`. The velocity is the rate of the coordinates q (rad or m each), and
    limits hold for every one of them. Source: theory.md section 3, product of exponentials.
    """

    def as_chain(self) -> tuple[JointKind, ...]:
        raise NotImplementedError

    @cached_property
    def chain(self) -> tuple[JointKind, ...]:
        return self.as_chain()

    @property
    def nq(self) -> int:
        return len(self.chain)

    @property
    def nv(self) -> int:
        return len(self.chain)

    def transform(self, q: Sequence[Scalar]) -> Transform:
        pose = IDENTITY
        for joint, x in zip(self.chain, q):
            pose = pose @ joint.transform([x])
        return pose

    def columns(self, q: Sequence[Scalar]) -> tuple[Vec6, ...]:
        """S_k = Ad^-1 of the motions behind joint k, applied to its screw."""
        columns: list[Vec6] = []
        behind = IDENTITY  # pose of the moved frame behind joint k
        for joint, x in reversed(list(zip(self.chain, q))):
            columns.insert(0, twist_to_child(behind, joint.columns([x])[0]))
            pose = joint.transform([x]) @ behind
            behind = Transform.of(pose.rotation, pose.p)
        return tuple(columns)

    def columns_rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Vec6, ...]:
        """Sdot_k = -ad_{V_k} S_k with V_k = sum_{j > k} S_j v_j, the twist of all that is behind joint k."""
        rates: list[Vec6] = []
        behind = ZERO6
        for column, speed in reversed(list(zip(self.columns(q), v))):
            rates.insert(0, ad(column, behind))
            behind = add6(behind, scale6(speed, column))
        return tuple(rates)

    def random(self, rng: np.random.Generator, lower: float, upper: float) -> Array:
        return np.concatenate([joint.random(rng, lower, upper) for joint in self.chain])


@dataclass(frozen=True)
class Universal(CoordinateChain):
    """Cardan joint: rotation about `first`, fixed in the joint frame, then about `second`, which turns along.

    Axes are normalised; orthogonal ones make the usual joint, oblique ones are allowed. q in rad.
    Raises ModelError for parallel axes, which are one degree of freedom.
    """

    first: Vec3 = (1.0, 0.0, 0.0)
    second: Vec3 = (0.0, 1.0, 0.0)
    name: ClassVar[str] = "universal"

    def __post_init__(self) -> None:
        first, second = direction_of(self.first, "first axis"), direction_of(self.second, "second axis")
        if math.hypot(*cross(first, second)) < 1e-9:
            raise ModelError(f"the axes {first} and {second} of a universal joint are parallel")
        object.__setattr__(self, "first", first)
        object.__setattr__(self, "second", second)

    def as_chain(self) -> tuple[JointKind, ...]:
        return Revolute(self.first), Revolute(self.second)


@dataclass(frozen=True)
class ProductOfExponentials(CoordinateChain):
    """T = exp(screws[0] q[0]) exp(screws[1] q[1]) ..., with any number (at least one) of screws.

    A screw is a unit twist (w, v) in the joint frame, at q = 0; see `Screw`. S(q) loses rank where
    the screws become dependent; there the joint's mass matrix is singular.
    Raises ModelError for a screw that is not a unit twist.
    """

    screws: tuple[Vec6, ...]
    name: ClassVar[str] = "product_of_exponentials"

    def __post_init__(self) -> None:
        given: Any = self.screws
        if not isinstance(given, Sequence) and not isinstance(given, np.ndarray):
            raise ModelError(f"screws {excerpt(given)} is not a list of twists")
        if len(given) == 0:
            raise ModelError("a product of exponentials needs a screw")
        object.__setattr__(self, "screws", tuple(map(unit_twist, given)))

    def as_chain(self) -> tuple[JointKind, ...]:
        return tuple(map(Screw, self.screws))
