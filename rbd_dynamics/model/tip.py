# SPDX-License-Identifier: Apache-2.0
"""Which frame of a robot is meant where none is named: its tip."""

from __future__ import annotations

from rbd_dynamics.model.model import WORLD, Model


def tip_of(model: Model, frame: str | None = None, what: str = "frame") -> str:
    """Name of a frame that moves: that one, or by default the last link of the description that does.

    The last link of all may be fixed to the world, as `base` of many arms. Raises ValueError for a frame that is, and
    for a robot without any other, KeyError for an unknown one. what: it is called so in the message.
    """
    if frame is not None:
        if model.frame(frame).body == WORLD:
            raise ValueError(f"{what} {frame!r} is fixed to the world: it does not move")
        return frame
    moving = [each.name for each in model.frames if each.element == "link" and each.body != WORLD]
    if not moving:
        raise ValueError(f"robot {model.name!r} has no link that moves")
    return moving[-1]
