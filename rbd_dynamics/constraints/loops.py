# SPDX-License-Identifier: Apache-2.0
"""The loops that came with a model, as constraints."""

from __future__ import annotations

from dataclasses import replace

from rbd_dynamics.constraints.frames import FrameConstraint, ScrewConstraint
from rbd_dynamics.model.loops import Loop
from rbd_dynamics.model.model import Model


def loop_constraints(model: Model) -> list[FrameConstraint | ScrewConstraint]:
    """One constraint for each of `model.loops`, for a `ConstraintSet`; multipliers as of such a constraint."""
    return list(map(_constraint, model.loops))


def _constraint(loop: Loop) -> FrameConstraint | ScrewConstraint:
    if loop.pitch is None:
        held: FrameConstraint | ScrewConstraint = FrameConstraint(
            loop.name, loop.frame, loop.reference, directions=loop.directions
        )
    else:
        held = ScrewConstraint(loop.name, loop.frame, loop.reference, pitch=loop.pitch)
    return replace(held, placement=loop.placement, reference_placement=loop.reference_placement)
