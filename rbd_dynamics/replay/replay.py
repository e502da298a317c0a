# SPDX-License-Identifier: Apache-2.0
"""A whole recording compared with a robot."""

from __future__ import annotations

import os
from dataclasses import dataclass

from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading import Recording, RecordingError
from rbd_dynamics.replay.settings import Settings
from rbd_dynamics.replay.signals.segmentation import Progress, Segments, segments
from rbd_dynamics.replay.torques.comparison import Comparison, predict
from rbd_dynamics.robot import Robot


@dataclass(frozen=True)
class Replay:
    """What came out: the comparison, what was noticed on the way, and how it was done."""

    comparison: Comparison
    log: Log
    segments: Segments


def compare(
    recording: Recording | str | os.PathLike[str],
    robot: Robot,
    *,
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> Replay:
    """Compare the efforts of a recording with those of a robot's model.

    Raises RecordingError where the recording cannot be read, does not fit the robot or has no efforts; ValueError for a
    robot that has friction in its equation of motion, since friction is a term of its own here (`Settings.terms`).
    """
    settings = settings or Settings()
    found = checked_segments(settings.opened(recording), robot, settings, progress=progress)
    comparison = Comparison(found.velocity_names, settings.terms)
    for segment in found:
        comparison.add(segment, predict(robot, segment, terms=settings.terms))
    return Replay(comparison, found.log, found)


def checked_segments(
    recording: Recording, robot: Robot, settings: Settings, *, progress: Progress | None = None
) -> Segments:
    """Segments that can be compared with the robot; raises what `compare` does."""
    if robot.friction:
        raise ValueError("robot must be one without friction: Robot(model); add it by settings.terms")
    found = segments(recording, robot.model, settings=settings, progress=progress)
    if not found.measured.any():
        raise RecordingError(f"{recording.path}: no efforts on topic {found.topic.name}, so nothing to compare")
    return found
