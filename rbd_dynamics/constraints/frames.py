# SPDX-License-Identifier: Apache-2.0
"""Frames held together: welds, hinges, any subset of the six directions, and distances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.constraints.base import PairConstraint
from rbd_dynamics.constraints.forms import check_positive
from rbd_dynamics.model.loops import DIRECTIONS
from rbd_dynamics.model.open_kinds import required
from rbd_dynamics.spatial.scalar import Scalar, atan2, cos, less, reciprocal, sin, sqrt, where
from rbd_dynamics.spatial.se3 import Transform
from rbd_dynamics.spatial.so3 import add3, cross, dot3, matmul, rotation_from_quaternion, scale3, transpose

#: arcsin(x) / x by powers of x^2, for x^2 below the limit
SERIES_LIMIT = 0.1
ARCSINE = tuple(math.comb(2 * k, k) / (4.0**k * (2 * k + 1)) for k in range(15))


@dataclass(frozen=True)
class FrameConstraint(PairConstraint):
    """`frame` is held to `reference` in some of the six directions, which are the reference's axes.

    Parameters:
        directions: of "rx", "ry", "rz" (rotations), "x", "y", "z" (the frame's origin); by default all.
        angles: rotations are components of the rotation vector, rad, exact: what people command. By default they are
            what is cheapest to keep at zero.
        near: with `angles`, a rotation vector (3, rad), less than half a turn from which they are told, without a
            jump, also where they are more than half a turn themselves. With the default of zero they are usable up to
            almost half a turn.

    Without `angles` three rotations are twice the vector part of the relative quaternion; two, as of a hinge about
    the third axis, are that axis' coordinates, and one is the sine of an angle between two axes.
    Each row's rate is the angular velocity about that axis where the frames are aligned. Multipliers
    are then the moment (about the axes) and force that act on the frame, in reference axes.
    """

    kind: ClassVar[str] = "frame"
    _: KW_ONLY
    directions: tuple[str, ...] = DIRECTIONS
    angles: bool = False
    near: tuple[float, ...] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        near = tuple(float(x) for x in self.near)
        if len(near) != 3 or not all(map(math.isfinite, near)) or any(near) and not self.angles:
            raise ValueError(
                f"constraint {excerpt(self.name)}: near {excerpt(list(self.near))} must be a rotation vector (3 "
                "numbers, rad) of a constraint with angles"
            )
        object.__setattr__(self, "near", near)
        given = tuple(self.directions)
        bad = [direction for direction in given if direction not in DIRECTIONS]
        if bad or not given or len(set(given)) != len(given):
            raise ValueError(
                f"constraint {excerpt(self.name)}: directions {excerpt(list(given))} must be different ones of "
                f"{', '.join(DIRECTIONS)}"
            )
        object.__setattr__(self, "directions", tuple(d for d in DIRECTIONS if d in given))

    @property
    def row_names(self) -> tuple[str, ...]:
        return self.directions

    @property
    def numbers(self) -> tuple[float, ...]:
        """The quaternion (w, x, y, z) of `near`."""
        if not self.angles:
            return ()
        angle = math.sqrt(sum(x * x for x in self.near))
        share = math.sin(0.5 * angle) / angle if angle else 0.5
        return (math.cos(0.5 * angle), *(share * x for x in self.near))

    def position(self, pose: Transform, parameters: Sequence[Scalar]) -> list[Scalar]:
        held = [k for k in range(3) if DIRECTIONS[k] in self.directions]
        moved = [pose.p[k] for k in range(3) if DIRECTIONS[3 + k] in self.directions]
        if self.angles and held:
            vector = _rotation_vector(pose.rotation, parameters)
            return [*(vector[k] for k in held), *moved]
        return [*_turned(pose.rotation, held), *moved]


def _rotation_vector(R: Sequence[Scalar], near: Sequence[Scalar]) -> list[Scalar]:
    """rad; a smooth formula, for exact derivatives, but at half a turn from a quaternion (w, x, y, z)."""
    a, b = near[0], (near[1], near[2], near[3])
    beside = matmul(transpose(rotation_from_quaternion((*b, a))), tuple(R))
    w = 0.5 * sqrt(1.0 + beside[0] + beside[4] + beside[8])
    x, y, z = (0.5 * x for x in _turned(beside, (0, 1, 2)))  # sin of half the angle, along the axis
    u = (x, y, z)
    n = add3(add3(scale3(a, u), scale3(w, b)), cross(b, u))
    w = a * w - dot3(b, u)
    square = dot3(n, n)
    near_zero = less(square, SERIES_LIMIT)
    low, far = where(near_zero, square, 0.0), sqrt(where(near_zero, SERIES_LIMIT, square))
    series: Scalar = 0.0
    for coefficient in reversed(ARCSINE):
        series = series * low + coefficient
    ratio = where(near_zero, series, atan2(far, w) / far)
    return [2.0 * ratio * x for x in n]


def _turned(R: Sequence[Scalar], held: Sequence[int]) -> list[Scalar]:
    """Zero where the rotations about the held axes are."""
    if len(held) == 3:
        scale = reciprocal(sqrt(1.0 + R[0] + R[4] + R[8]))
        return [scale * (R[7] - R[5]), scale * (R[2] - R[6]), scale * (R[3] - R[1])]
    if len(held) == 2:  # the free axis e stays: (R e) x e
        free = 3 - sum(held)
        return [_component(R, k, free) for k in held]
    # one: the next axis stays normal to the one after
    return [R[3 * ((k + 2) % 3) + (k + 1) % 3] for k in held]


def _component(R: Sequence[Scalar], k: int, free: int) -> Scalar:
    """The k-th component of e_free x R e_free; its rate is w_k where R = 1."""
    other = 3 - k - free
    entry = R[3 * other + free]
    return entry if (free, other, k) in ((0, 1, 2), (1, 2, 0), (2, 0, 1)) else -entry


@dataclass(frozen=True)
class ScrewConstraint(PairConstraint):
    """`frame` slides along the reference's z as it turns about it, as a nut on a spindle.

    Parameters:
        pitch: in m/rad, not 0; positive for a right-handed thread. Along a thread, each turn is where the last one was.

    The first four rows are those of a `FrameConstraint` that holds rx, ry, x and y; "thread" is how far the frame is
    beside its thread, along z. Its multiplier is the force along z on the frame; -pitch times it is the moment about z.
    """

    kind: ClassVar[str] = "screw"
    _: KW_ONLY
    pitch: float = required(1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not math.isfinite(self.pitch) or self.pitch == 0.0:
            raise ValueError(f"constraint {excerpt(self.name)}: pitch {excerpt(self.pitch)}: expected a number, not 0")

    @property
    def row_names(self) -> tuple[str, ...]:
        return ("rx", "ry", "x", "y", "thread")

    @property
    def numbers(self) -> tuple[float, ...]:
        return (self.pitch,)

    def position(self, pose: Transform, parameters: Sequence[Scalar]) -> list[Scalar]:
        R, (x, y, z), pitch = pose.rotation, pose.p, parameters[0]
        turn = z * reciprocal(pitch)
        c, s = cos(turn), sin(turn)
        along, across = R[0] + R[4], R[3] - R[1]  # 2 cos and 2 sin of the angle about z
        beside = atan2(s * along - c * across, c * along + s * across)
        return [*_turned(R, (0, 1)), x, y, pitch * beside]


@dataclass(frozen=True)
class DistanceConstraint(PairConstraint):
    """The origins of two frames keep a distance, as if a massless rod with ball joints held them.

    Parameters:
        distance: in m, positive.

    The multiplier is the force along the rod, positive where it pushes apart.
    """

    kind: ClassVar[str] = "distance"
    _: KW_ONLY
    distance: float = required(1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self.distance, f"constraint {excerpt(self.name)}: distance")

    @property
    def row_names(self) -> tuple[str, ...]:
        return ("distance",)

    @property
    def numbers(self) -> tuple[float, ...]:
        return (self.distance,)

    def position(self, pose: Transform, parameters: Sequence[Scalar]) -> list[Scalar]:
        return [sqrt(dot3(pose.p, pose.p)) - parameters[0]]
