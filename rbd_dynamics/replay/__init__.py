# SPDX-License-Identifier: Apache-2.0
"""Replay: what the model gets wrong in a recording, and by how much; without ROS.

    recording = replay.Recording("bag")
    robot = Robot(load_urdf(recording.robot_description() or "robot.urdf"))
    found = replay.segments(recording, robot.model, settings)
    comparison = replay.Comparison(found.velocity_names, settings.terms)
    for segment in found:
        comparison.add(segment, replay.predict(robot, segment, settings.terms))

`replay.compare` is these lines; `replay.analyse` also answers `Questions`: friction, load, inertias, contacts, energy.
Comparisons, and what identifies, can be merged with those of other recordings. All is imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbd_dynamics.common.process.on_demand import on_demand

if TYPE_CHECKING:
    from rbd_dynamics.replay.analysis import Analysis, analyse
    from rbd_dynamics.replay.log import Log
    from rbd_dynamics.replay.questions import Questions
    from rbd_dynamics.replay.reading import Recording, RecordingError
    from rbd_dynamics.replay.replay import Replay, compare
    from rbd_dynamics.replay.settings import Settings
    from rbd_dynamics.replay.signals.noise import Uncertainty
    from rbd_dynamics.replay.signals.segmentation import Segment, Segments, segments
    from rbd_dynamics.replay.torques.comparison import Comparison, JointComparison, Prediction, predict
else:
    __getattr__, __dir__ = on_demand(__name__)

__all__ = [
    "Analysis",
    "Comparison",
    "JointComparison",
    "Log",
    "Prediction",
    "Questions",
    "Recording",
    "RecordingError",
    "Replay",
    "Segment",
    "Segments",
    "Settings",
    "Uncertainty",
    "analyse",
    "compare",
    "predict",
    "segments",
]
