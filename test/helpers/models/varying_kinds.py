# SPDX-License-Identifier: Apache-2.0
"""Joint kinds of one's own whose S depends on q, given by their pose alone, and trees that contain them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from helpers.models.mixed_trees import MORE_KINDS, any_kind, random_axis, random_screw
from helpers.models.robots import ALL_KINDS, random_inertia, random_transform
from rbd_dynamics import Model, ModelBuilder, Robot
from rbd_dynamics.model.assembly import inertial_of
from rbd_dynamics.model.joints import Cam, JointKind, Spherical
from rbd_dynamics.model.model import Mimic
from rbd_dynamics.spatial.scalar import Scalar, cos, sin, sqrt
from rbd_dynamics.spatial.se3 import Transform
from rbd_dynamics.spatial.so3 import rotation_about, rotation_from_quaternion

Array = NDArray[np.float64]
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Wobble(JointKind):
    """One number: a rotation about an axis that is coupled to a motion along a curve. `transform` is all."""

    axis: tuple[float, float, float] = (0.6, 0.0, 0.8)
    size: float = 0.4
    name: ClassVar[str] = "test wobble"

    def transform(self, q: Sequence[Scalar]) -> Transform:
        x = q[0]
        turn = rotation_about(self.axis, x + 0.3 * sin(2.0 * x))
        return Transform((turn, rotation_about(Y, 0.5 * x * x)), (self.size * sin(x), 0.2 * x * x, 0.1 * cos(3.0 * x)))


@dataclass(frozen=True)
class OnACurve(JointKind):
    """Two coordinates: the place on a curve, whose tangent the body follows, and a roll that also lifts it."""

    pitch: float = 0.15
    name: ClassVar[str] = "test on a curve"
    nq: ClassVar[int] = 2
    nv: ClassVar[int] = 2

    def transform(self, q: Sequence[Scalar]) -> Transform:
        s, roll = q
        heading = 0.7 * sin(s)
        place = (s + 0.1 * s * s, 0.4 * sin(s), self.pitch * roll * (1.0 + 0.5 * cos(s)))
        return Transform((rotation_about(Z, heading), rotation_about(X, roll + 0.2 * s * roll)), place)


@dataclass(frozen=True)
class SphericalCoordinates(JointKind):
    """Longitude, latitude and distance, with the frame's x axis outwards."""

    name: ClassVar[str] = "test spherical coordinates"
    nq: ClassVar[int] = 3
    nv: ClassVar[int] = 3

    def transform(self, q: Sequence[Scalar]) -> Transform:
        outwards = Transform((rotation_about(Z, q[0]), rotation_about(Y, -q[1])), (0.0, 0.0, 0.0))
        return outwards @ Transform((), (q[2], 0.0, 0.0))


@dataclass(frozen=True)
class Eccentric(JointKind):
    """q = (cos, sin) of an angle whose rate is v: nq is not nv, v is not the rate of q, and S depends on q."""

    throw: float = 0.3
    name: ClassVar[str] = "test eccentric"
    nq: ClassVar[int] = 2

    def transform(self, q: Sequence[Scalar]) -> Transform:
        c, s = q
        lift = self.throw * (c + 0.3 * s * s)
        return Transform(((c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0),), (lift, 0.1 * c * s, 0.0))

    def rates(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Sequence[Scalar], Sequence[Scalar]]:
        (c, s), (w,) = q, v
        return (-s * w, c * w), (-1.0 * c * w * w, -1.0 * s * w * w)

    def neutral(self) -> Array:
        return np.array([1.0, 0.0])

    def random(self, rng: np.random.Generator, lower: float, upper: float) -> Array:
        angle = rng.uniform(-np.pi, np.pi)
        return np.array([np.cos(angle), np.sin(angle)])

    def integrate(self, q: Array, dv: Array) -> Array:
        c, s = np.cos(dv[..., 0]), np.sin(dv[..., 0])
        return np.stack([q[..., 0] * c - q[..., 1] * s, q[..., 1] * c + q[..., 0] * s], axis=-1)

    def difference(self, q0: Array, q1: Array) -> Array:
        angle = np.arctan2(q1[..., 1], q1[..., 0]) - np.arctan2(q0[..., 1], q0[..., 0])
        return np.remainder(angle + np.pi, 2 * np.pi)[..., None] - np.pi


@dataclass(frozen=True)
class LooseBall(Spherical):
    """A ball joint whose centre moves as it turns: a group's velocity, and S depends on q."""

    play: float = 0.3
    name: ClassVar[str] = "test loose ball"
    columns = JointKind.columns

    def transform(self, q: Sequence[Scalar]) -> Transform:
        x, y, z, w = q
        return Transform((rotation_from_quaternion((x, y, z, w)),), (self.play * x * y, self.play * z * w, 0.2 * x))


class PoseOnly(JointKind):
    """Another kind by its pose alone: S and its derivatives follow, and it is no chain."""

    name: ClassVar[str] = "test pose only"

    def __init__(self, kind: JointKind) -> None:
        self.kind = kind
        self.quaternion = kind.quaternion  # type: ignore[misc]

    @property
    def nq(self) -> int:
        return self.kind.nq

    @property
    def nv(self) -> int:
        return self.kind.nv

    def transform(self, q: Sequence[Scalar]) -> Transform:
        return self.kind.transform(q)

    def rates(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Sequence[Scalar], Sequence[Scalar]]:
        return self.kind.rates(q, v)

    def neutral(self) -> Array:
        return self.kind.neutral()

    def random(self, rng: np.random.Generator, lower: float, upper: float) -> Array:
        return self.kind.random(rng, lower, upper)

    def integrate(self, q: Array, dv: Array) -> Array:
        return self.kind.integrate(q, dv)

    def difference(self, q0: Array, q1: Array) -> Array:
        return self.kind.difference(q0, q1)


class NoChain(PoseOnly):
    """Another kind with its own S and Sdot, but no chain."""

    name: ClassVar[str] = "test no chain"

    def columns(self, q: Sequence[Scalar]) -> Any:
        return self.kind.columns(q)

    def columns_rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Any:
        return self.kind.columns_rate(q, v)


def piston(q: Scalar) -> Scalar:
    """Height of the piston over a crank of 0.2 m with a rod of 0.5 m."""
    r, length = 0.2, 0.5
    s = r * sin(q)
    return r * cos(q) + sqrt(length * length - s * s)


VARYING: dict[str, Callable[[np.random.Generator], JointKind]] = {
    "polynomial cam": lambda rng: Cam(random_screw(rng), polynomial=(0.1, *rng.uniform(0.2, 0.5, 3))),
    "harmonic cam": lambda rng: Cam(
        random_screw(rng), (0.0, 0.4), tuple(rng.normal(size=3)), tuple(rng.normal(size=2))
    ),
    "cam of a function": lambda rng: Cam(random_screw(rng), profile=piston),
    "wobble": lambda rng: Wobble(random_axis(rng), float(rng.uniform(0.2, 0.5))),
    "on a curve": lambda rng: OnACurve(float(rng.uniform(0.1, 0.3))),
    "spherical coordinates": lambda rng: SphericalCoordinates(),
    "eccentric": lambda rng: Eccentric(float(rng.uniform(0.1, 0.4))),
    "loose ball": lambda rng: LooseBall(float(rng.uniform(0.1, 0.4))),
}


def kind_of(rng: np.random.Generator, name: str) -> JointKind:
    return VARYING[name](rng) if name in VARYING else any_kind(rng, name)


def varying_tree(
    seed: int,
    names: Sequence[str] = (),
    n: int = 5,
    followers: float = 0.0,
    wrapped: Callable[[JointKind], JointKind] = lambda kind: kind,
) -> Model:
    """A tree of joints of these kinds one after the other, or n of all kinds mixed, mostly with varying S.

    followers: probability that a joint with one degree of freedom is one more of the same kind as an earlier
    one, which it follows. Frames: "link0"... and "tool0"...
    """
    rng = np.random.default_rng(seed)
    builder = ModelBuilder(f"varying{seed}", gravity=rng.normal(scale=6.0, size=3))
    leaders: list[tuple[str, JointKind]] = []
    for k in range(len(names) or n):
        everything = tuple(VARYING) if rng.random() < 0.7 else (*MORE_KINDS, *ALL_KINDS)
        name = names[k] if names else everything[int(rng.integers(len(everything)))]
        kind, mimic = kind_of(rng, name), None
        if leaders and kind.nq == kind.nv == 1 and rng.random() < followers:
            leader, kind = leaders[int(rng.integers(len(leaders)))]
            mimic = Mimic(leader, multiplier=float(rng.uniform(-1.5, 1.5)), offset=float(rng.uniform(-1, 1)))
        elif kind.nv == kind.nq == 1:
            leaders.append((f"joint{k}", kind))
        load = inertial_of(random_inertia(rng))
        builder.add_body(
            f"link{k}",
            None if k == 0 else f"link{rng.integers(max(0, k - 2), k)}",
            wrapped(kind),
            joint_name=f"joint{k}",
            placement=random_transform(rng),
            mass=load.mass,
            com=load.com,
            inertia=load.rotational,
            damping=float(rng.uniform(0, 1)),
            friction=float(rng.uniform(0, 1)),
            armature=float(rng.uniform(0.05, 0.2)),
            mimic=mimic,
        )
        builder.add_frame(f"tool{k}", f"link{k}", placement=random_transform(rng))
    return builder.build()


def under_gravity(*kinds: JointKind, mass: float = 2.0, armature: float = 0.3) -> Robot:
    """A chain of links whose centres of mass are at their joints, with rotors."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    for k, kind in enumerate(kinds):
        builder.add_body(f"link{k}", f"link{k - 1}" if k else None, kind, mass=mass, armature=armature)
    return Robot(builder.build(), backend="reference")
