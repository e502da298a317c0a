# SPDX-License-Identifier: Apache-2.0
"""All that one recording says: the comparison, and answers to further questions."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.replay.comparison import Comparison, Prediction, predict
from rbd_dynamics.replay.energy import Energy, EnergyResult
from rbd_dynamics.replay.external_torque import ExternalTorque, ExternalTorqueResult
from rbd_dynamics.replay.identification import (
    FrictionIdentifier,
    FrictionResult,
    InertiaIdentifier,
    InertiaResult,
    PayloadIdentifier,
    PayloadResult,
)
from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.noise import Uncertainty
from rbd_dynamics.replay.reading import Recording
from rbd_dynamics.replay.replay import checked_segments
from rbd_dynamics.replay.segmentation import Progress, Segment, Segments
from rbd_dynamics.replay.series import Series
from rbd_dynamics.replay.settings import Settings
from rbd_dynamics.replay.sinks import Sink
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Questions:
    """What is asked besides the comparison.

    Parameters:
        friction: of each joint.
        payload: the frame where a load is looked for; None: none is.
        inertias: base parameters, and inertias of all bodies that can exist.
        external_torque: by generalised momentum, less the friction that was found, but not its offset, which may
            be what touches the robot; and contacts.
        contact_threshold: N m, one for all joints or {joint: N m}; None: from the recording itself.
        energy: power and work of the joints.
    """

    _: KW_ONLY
    friction: bool = True
    payload: str | None = None
    inertias: bool = False
    external_torque: bool = True
    contact_threshold: float | Mapping[str, float] | None = None
    energy: bool = True


@dataclass(frozen=True)
class Analysis:
    """What came out; None where it was not asked. `duration`: s from the first sample to the last."""

    robot: Robot
    questions: Questions
    segments: Segments
    comparison: Comparison
    log: Log
    uncertainty: Uncertainty
    duration: float
    friction: FrictionResult | None
    payload: PayloadResult | None
    inertias: InertiaResult | None
    external_torque: ExternalTorqueResult | None
    energy: EnergyResult | None
    series: Series | None


def analyse(
    recording: Recording | str | os.PathLike[str],
    robot: Robot,
    *,
    settings: Settings | None = None,
    questions: Questions | None = None,
    sinks: Sequence[Sink] = (),
    series: int = 0,
    progress: Progress | None = None,
) -> Analysis:
    """Compare a recording with a robot, answer the questions, and hand motion and torques to the sinks.

    The recording is read once for all that is identified, and again for what needs the result of that: external
    torques (twice, where the threshold of contact must be found first), sinks, which are left open, and series.

    Parameters:
        series: points to be drawn for each signal; 0: none.

    Raises what `replay.compare` raises, and KeyError or ValueError for a frame of `questions` that does not fit.
    """
    settings, questions = settings or Settings(), questions or Questions()
    if not isinstance(recording, Recording):
        recording = Recording(recording)
    calibrating = questions.external_torque and questions.contact_threshold is None
    again = bool(sinks) or bool(series) or questions.external_torque
    passes = _Passes(1 + calibrating + again, progress)
    found = checked_segments(recording, robot, settings, progress=passes.report)
    names = found.velocity_names
    common: dict[str, Any] = {"low_pass": found.low_pass, "terms": settings.terms}

    comparison = Comparison(names, settings.terms)
    energy = Energy(robot, names, settings.terms) if questions.energy else None
    friction = FrictionIdentifier(robot, **common) if questions.friction else None
    payload = PayloadIdentifier(robot, questions.payload, **common) if questions.payload else None
    inertias = InertiaIdentifier(robot, **common) if questions.inertias else None
    identifiers = [part for part in (friction, payload, inertias) if part is not None]
    last = 0.0
    for segment, prediction in passes.over(found, robot, settings):
        comparison.add(segment, prediction)
        if energy is not None:
            energy.add(segment, prediction)
        for part in identifiers:
            part.add(segment)
        last = max(last, float(segment.t[-1]))
    log, uncertainty = found.log, found.uncertainty()

    rubs = friction.results() if friction is not None else None
    external = None
    if questions.external_torque:
        known = None if rubs is None else (lambda v: rubs.torque(names, v, offset=False))
        external = ExternalTorque(
            robot,
            names,
            settings.terms,
            low_pass=found.low_pass,
            friction=known,
            thresholds=questions.contact_threshold,
        )
        if calibrating:
            for segment, prediction in passes.over(found, robot, settings):
                external.add(segment, prediction)
            external.calibrate()
    drawn = Series(names, found.rate, points=series) if series else None
    for segment, prediction in passes.over(found, robot, settings) if again else ():
        torque = external.add(segment, prediction) if external is not None else None
        for sink in sinks:
            sink.write(segment, prediction, torque)
        if drawn is not None:
            drawn.add(segment.t, segment.number, _signals(segment, prediction, torque))
    return Analysis(
        robot, questions, found, comparison, log, uncertainty, last, rubs,
        payload.results() if payload is not None else None,
        inertias.results() if inertias is not None else None,
        external.results() if external is not None else None,
        energy.results() if energy is not None else None,
        drawn,
    )  # fmt: skip


class _Passes:
    """Goes over a recording several times, with one progress from 0 to 1."""

    def __init__(self, count: int, progress: Progress | None) -> None:
        self._count, self._progress, self._done = count, progress, 0

    def report(self, fraction: float) -> None:
        if self._progress is not None:
            self._progress((self._done + fraction) / self._count)

    def over(self, found: Segments, robot: Robot, settings: Settings) -> Iterator[tuple[Segment, Prediction]]:
        for segment in found:
            yield segment, predict(robot, segment, terms=settings.terms)
        self._done += 1


def _signals(segment: Segment, prediction: Prediction, external: Array | None) -> dict[str, Array]:
    """What is drawn: (N, nv) each."""
    signals = {
        "velocity": segment.v, "measured": segment.tau, "predicted": prediction.tau,
        "residual": segment.tau - prediction.tau, **prediction.by_term,
    }  # fmt: skip
    return signals if external is None else {**signals, "external": external}
