# SPDX-License-Identifier: Apache-2.0
"""The axes and the point in which the motion of a frame is expressed (theory.md section 3).

A reference is a placement P that goes with the frame's pose T = (R, p): a body twist V becomes X V with X = Ad_P. As P
itself moves, with the body twist U, dX/dt = X ad_U.

| reference | P | U, for the frame's body twist (w, v) | X V |
|---|---|---|---|
| body | the identity | 0 | of the frame's origin, the frame's axes |
| world | T | (w, v) | of the point at the world's origin, the world's axes |
| aligned | (R, 0) | (w, 0) | of the frame's origin, the world's axes |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rbd_dynamics.spatial.se3 import IDENTITY, ZERO6, Transform, Vec6, ad, add6, twist_to_parent
from rbd_dynamics.spatial.so3 import ZERO3


class FrameReference(NamedTuple):
    """placement: P of the pose T. part: of a body twist of the frame what moves P, which is U."""

    placement: Callable[[Transform], Transform]
    part: Callable[[Vec6], Vec6]

    def twists(self, pose: Transform, twists: Sequence[Vec6]) -> list[Vec6]:
        """X V of each."""
        if self is BODY:
            return list(twists)
        placement = self.placement(pose)
        return [twist_to_parent(placement, twist) for twist in twists]

    def rates(self, pose: Transform, moves: Vec6, twists: Sequence[Vec6], rates: Sequence[Vec6]) -> list[Vec6]:
        """d(X V)/dt = X (dV/dt + ad_U V) of each, as the frame moves with the body twist `moves`."""
        if self is BODY:
            return list(rates)
        turned = self.part(moves)
        return self.twists(pose, [add6(rate, ad(turned, twist)) for twist, rate in zip(twists, rates)])


BODY = FrameReference(lambda pose: IDENTITY, lambda twist: ZERO6)
WORLD = FrameReference(lambda pose: pose, lambda twist: twist)
ALIGNED = FrameReference(lambda pose: pose._replace(p=ZERO3), lambda twist: twist[:3] + ZERO3)
REFERENCES: dict[str, FrameReference] = {"body": BODY, "world": WORLD, "aligned": ALIGNED}
