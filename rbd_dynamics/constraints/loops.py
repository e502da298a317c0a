# SPDX-License-Identifier: Apache-2.0
"""The loops that came with a model, as constraints."""

from __future__ import annotations

from rbd_dynamics.constraints.frames import FrameConstraint
from rbd_dynamics.model.model import Model


def loop_constraints(model: Model) -> list[FrameConstraint]:
    """One constraint for each of `model.loops`, for a `ConstraintSet`; multipliers as of a `FrameConstraint`."""
    return [
        FrameConstraint(
            loop.name,
            loop.frame,
            loop.reference,
            placement=loop.placement,
            reference_placement=loop.reference_placement,
            directions=loop.directions,
        )
        for loop in model.loops
    ]
