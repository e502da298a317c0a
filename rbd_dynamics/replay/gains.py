# SPDX-License-Identifier: Apache-2.0
"""Drive gains from recordings on disk."""

from __future__ import annotations

import os
from collections.abc import Sequence

from rbd_dynamics.replay.identification import DriveGainIdentifier, DriveGains, Load
from rbd_dynamics.replay.replay import checked_segments
from rbd_dynamics.replay.settings import Settings
from rbd_dynamics.robot import Robot

Path = str | os.PathLike[str]


def drive_gains(
    loaded: Sequence[Path],
    unloaded: Sequence[Path],
    robot: Robot,
    frame: str,
    mass: float,
    com: Sequence[float],
    *,
    settings: Settings | None = None,
) -> DriveGains:
    """Drive gains from recordings with a load of that mass, kg, and centre, m, at a frame, and others without it.

    The load is taken for a point: for others use `DriveGainIdentifier`. All recordings have the rate of the first.
    Raises what `replay.compare` raises, KeyError for an unknown frame.
    """
    settings = settings or Settings()
    x, y, z = com
    load = Load(mass, (x, y, z), (0.0,) * 6)
    identifier: DriveGainIdentifier | None = None
    for path, carries in [*((path, True) for path in loaded), *((path, False) for path in unloaded)]:
        found = checked_segments(settings.opened(path), robot, settings)
        if identifier is None:
            identifier = DriveGainIdentifier(robot, frame, load, low_pass=found.low_pass, terms=settings.terms)
        for segment in found:
            identifier.add(segment, loaded=carries)
    if identifier is None:
        raise ValueError("no recording with the load")
    return identifier.results()
