# SPDX-License-Identifier: Apache-2.0
"""The kernel of a step of inverse kinematics for several frames at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rbd_dynamics.algorithms.inverse_kinematics import inverse_kinematics_step
from rbd_dynamics.compiler.program import Argument, Signature
from rbd_dynamics.kernels.arguments import arguments, sizes_of
from rbd_dynamics.kernels.inputs import Inputs
from rbd_dynamics.model.model import Frame, Model
from rbd_dynamics.spatial.entries import transform_of

INPUTS, OUTPUTS = "q wanted lowest highest posture pull", "q_after turn distance worst cost apart"


def several_frames_step(x: Inputs, frames: Sequence[Frame]) -> list[Any]:
    """Outputs of the step, flat, of inputs whose `wanted` has a pose for each frame."""
    poses = [transform_of(x.wanted[k : k + 16]) for k in range(0, 16 * len(frames), 16)]
    (pull,) = x.pull
    found = inverse_kinematics_step(x.model, x.q, frames, poses, x.lowest, x.highest, x.posture, pull)
    return [found.q, found.turn, found.distance, [found.worst], [found.cost], [found.apart]]


@dataclass(frozen=True)
class SeveralFrames:
    """The step of these frames, by name."""

    frames: tuple[str, ...]

    def __call__(self, x: Inputs) -> list[Any]:
        return several_frames_step(x, [x.model.frame(name) for name in self.frames])

    def signature(self, model: Model) -> Signature:
        """That of one frame, with a pose and both errors for each."""
        many = len(self.frames)
        own = {"wanted": Argument("wanted", (many, 4, 4))}
        own |= {name: Argument(name, (many,)) for name in ("turn", "distance")}
        sizes = sizes_of(model)
        return Signature(arguments(INPUTS, sizes, own), arguments(OUTPUTS, sizes, own))
