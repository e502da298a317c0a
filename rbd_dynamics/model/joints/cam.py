# SPDX-License-Identifier: Apache-2.0
"""A cam and its follower: motion along one screw by a function of the cam's angle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.model.errors import ModelError
from rbd_dynamics.model.joints.base import Z_AXIS, JointKind, vector_of
from rbd_dynamics.model.joints.single import Screw, unit_twist
from rbd_dynamics.spatial.jets import moving, rate_of
from rbd_dynamics.spatial.scalar import Scalar, cos, sin
from rbd_dynamics.spatial.se3 import Transform, Vec6, scale6


@dataclass(frozen=True)
class Cam(JointKind):
    """T = exp(twist s(q)): q is the cam's angle in rad, s(q) how far the follower moves along its screw.

    twist: unit twist (w, v) in the joint frame, see `Screw`; s counts rad, or m where w = 0. By default
    the follower slides along z. The profile is

        s(q) = sum_n polynomial[n] q^n + sum_n (cosine[n - 1] cos(n q) + sine[n - 1] sin(n q)),

    or, in its place, `profile`: a smooth function of q over generic scalars (arithmetic and what
    `rbd_dynamics.spatial.scalar` has), which cannot be written to a dictionary or file.

    S = twist s'(q), and tau is the torque on the cam, in N m. Where s'(q) = 0, in a dwell or at a
    turning point, the follower's inertia is not felt: the mass matrix is singular there unless the joint
    has rotor inertia (`armature`: the cam's own). At q = 0 the follower is at s(0), not necessarily 0.

    Raises ModelError for a twist that is not a unit twist and a profile that is missing or no such function.
    """

    twist: Vec6 = (0.0, 0.0, 0.0, *Z_AXIS)
    polynomial: tuple[float, ...] = ()
    cosine: tuple[float, ...] = ()
    sine: tuple[float, ...] = ()
    profile: Callable[[Scalar], Scalar] | None = field(default=None, repr=False)
    name: ClassVar[str] = "cam"

    def __post_init__(self) -> None:
        object.__setattr__(self, "twist", unit_twist(self.twist))
        for what in ("polynomial", "cosine", "sine"):
            object.__setattr__(self, what, _numbers(getattr(self, what), f"cam: {what}"))
        numbers = any((*self.polynomial[1:], *self.cosine, *self.sine))
        if self.profile is None:
            if not numbers:
                raise ModelError("a cam needs a profile that is not constant: polynomial, cosine, sine or profile")
            return
        if any((self.polynomial, self.cosine, self.sine)):
            raise ModelError("a cam has a `profile` or numbers (polynomial, cosine, sine), not both")
        if not callable(self.profile):
            raise ModelError(f"cam: profile {excerpt(self.profile)} is not a function")
        try:
            self.columns([0.5])
        except (TypeError, AttributeError) as error:
            hint = "it may use arithmetic and what rbd_dynamics.spatial.scalar has"
            raise ModelError(f"cam: profile cannot be differentiated: {error}; {hint}") from None

    @property
    def is_angle(self) -> bool:
        return True

    def position(self, q: Scalar) -> Scalar:
        """s(q), rad or m."""
        if self.profile is not None:
            return self.profile(q)
        s: Scalar = 0.0
        for coefficient in reversed(self.polynomial):
            s = s * q + coefficient
        for harmonics, function in ((self.cosine, cos), (self.sine, sin)):
            for n, amplitude in enumerate(harmonics, start=1):
                if amplitude:
                    s = s + amplitude * function(n * q)
        return s

    def transform(self, q: Sequence[Scalar]) -> Transform:
        return Screw(self.twist).transform([self.position(q[0])])

    def columns(self, q: Sequence[Scalar]) -> tuple[Vec6, ...]:
        (angle,) = moving(q[:1], [1.0])
        return (scale6(rate_of(self.position(angle), angle.level), self.twist),)

    def to_dict(self, *, where: str = "") -> dict[str, Any]:
        """The joint as a dictionary, as of every kind. Raises ModelError for a profile that is a function."""
        if self.profile is not None:
            raise ModelError(f"a cam's profile that is a function ({excerpt(self.profile)}) cannot be written down")
        return {key: value for key, value in super().to_dict(where=where).items() if key != "profile" and value != []}


def _numbers(value: Any, what: str) -> tuple[float, ...]:
    if isinstance(value, str) or not isinstance(value, (Sequence, np.ndarray)):
        raise ModelError(f"{what} {excerpt(value)} is not a list of numbers")
    return vector_of(value, len(value), what)
