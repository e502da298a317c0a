# SPDX-License-Identifier: Apache-2.0
"""One fit over many recordings on disk."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass

from rbd_dynamics.common.by_name import unknown
from rbd_dynamics.replay.identification import Load, Recorded, TogetherIdentifier, TogetherResult
from rbd_dynamics.replay.one_thread import one_thread
from rbd_dynamics.replay.replay import checked_segments
from rbd_dynamics.replay.settings import Settings
from rbd_dynamics.robot import Robot


@dataclass(frozen=True)
class Carried:
    """What some recordings carry at a frame: the same in all of them.

    Parameters:
        recordings: their names. mass: kg, with its centre in the frame, m, taken for a point; None: unknown.
    """

    recordings: tuple[str, ...]
    frame: str
    _: KW_ONLY
    mass: float | None = None
    com: tuple[float, float, float] = (0.0, 0.0, 0.0)


@one_thread
def together(
    recordings: Mapping[str, str | os.PathLike[str]],
    robot: Robot,
    *,
    robots: Mapping[str, str] | None = None,
    loads: Sequence[Carried] = (),
    settings: Settings | None = None,
) -> TogetherResult:
    """Identify from recordings {name: path} of robots of one kind.

    Parameters:
        robots: {name of a recording: name of the robot}; those that are not named are of one robot.
        loads: what recordings carry; the others carry nothing.

    Raises what `replay.compare` raises, and ValueError or KeyError for loads that do not fit.
    """
    settings, robots = settings or Settings(), robots or {}
    carried: dict[str, Recorded] = {}
    for load in loads:
        for name in load.recordings:
            if name not in recordings:
                raise ValueError(f"load at {load.frame}: {unknown('recording', name, list(recordings))}")
            if name in carried:
                raise ValueError(f"load at {load.frame}: recording {name!r} carries one already")
            known = None if load.mass is None else Load(load.mass, load.com, (0.0,) * 6)
            carried[name] = Recorded(
                name, robots.get(name, ""), frame=load.frame, load=known, of=", ".join(load.recordings)
            )
    identifier = TogetherIdentifier(robot, terms=settings.terms)
    for name, path in recordings.items():
        found = checked_segments(settings.opened(path), robot, settings)
        what = carried.get(name) or Recorded(name, robots.get(name, ""))
        identifier.add(what, found, low_pass=found.low_pass)
    return identifier.results()
