# SPDX-License-Identifier: Apache-2.0
"""All that one recording says: the comparison, and answers to further questions."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.model.model import Model
from rbd_dynamics.replay.diagnosis import Diagnosis, DiagnosisResult
from rbd_dynamics.replay.diagnosis.consequences import (
    doubted_contacts,
    doubted_drives,
    doubted_friction,
    doubted_inertias,
    doubted_payload,
)
from rbd_dynamics.replay.identification import (
    DriveIdentifier,
    DriveResult,
    FrictionIdentifier,
    FrictionResult,
    InertiaIdentifier,
    InertiaResult,
    PayloadIdentifier,
    PayloadResult,
)
from rbd_dynamics.replay.identification.base_errors import BaseErrors
from rbd_dynamics.replay.identification.samples import Preparation
from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.reading import Recording
from rbd_dynamics.replay.replay import checked_segments
from rbd_dynamics.replay.results.sinks import Sink
from rbd_dynamics.replay.settings import Settings
from rbd_dynamics.replay.signals.noise import Uncertainty
from rbd_dynamics.replay.signals.segmentation import Progress, Segment, Segments
from rbd_dynamics.replay.signals.spool import Spool
from rbd_dynamics.replay.torques.comparison import Comparison, Prediction, predict
from rbd_dynamics.replay.torques.energy import Energy, EnergyResult
from rbd_dynamics.replay.torques.external_torque import PER_HOUR, ExternalTorque, ExternalTorqueResult, breakaway_of
from rbd_dynamics.replay.torques.series import POSITION, WITH_FRICTION, Series
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Questions:
    """What is asked besides the comparison.

    Parameters:
        friction: of each joint.
        drives: what each joint's drive needs beside friction: rotor inertia, springs, a shared motor and so on.
        payload: the frame where a load is looked for; None: none is.
        inertias: base parameters, and inertias of all bodies that can exist.
        external_torque: by generalised momentum, less the friction that was found, but not its offset, which may
            be what touches the robot; and contacts.
        contact_threshold: N m, one for all joints or {joint: N m}; None: from the recording itself.
        false_alarms: how many contacts that are none an hour of motion may have, where no threshold is given.
        energy: power and work of the joints.
        diagnosis: what is wrong with signals, and what explains what the model does not.
    """

    _: KW_ONLY
    friction: bool = True
    drives: bool = False
    payload: str | None = None
    inertias: bool = False
    external_torque: bool = True
    contact_threshold: float | Mapping[str, float] | None = None
    false_alarms: float = PER_HOUR
    energy: bool = True
    diagnosis: bool = True


@dataclass(frozen=True)
class Analysis:
    """What came out; None where it was not asked. `duration`: s from the first sample to the last that were used."""

    robot: Robot
    questions: Questions
    segments: Segments
    comparison: Comparison
    log: Log
    uncertainty: Uncertainty
    duration: float
    friction: FrictionResult | None
    drives: DriveResult | None
    payload: PayloadResult | None
    inertias: InertiaResult | None
    external_torque: ExternalTorqueResult | None
    energy: EnergyResult | None
    diagnosis: DiagnosisResult | None
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

    The recording is read once for all that is identified; its segments are gone over again for what needs the result
    of that: external torques, sinks, which are left open, and series. Before that, where the friction of some joint is
    in doubt, to see whether something touches the robot, and if so for a fit that does not take that for friction.

    Parameters:
        series: points to be drawn for each signal; 0: none.

    Raises what `replay.compare` raises, and KeyError or ValueError for a frame of `questions` that does not fit.
    """
    settings, questions = settings or Settings(), questions or Questions()
    if not isinstance(recording, Recording):
        recording = Recording(recording)
    again = bool(sinks) or bool(series) or questions.external_torque
    passes = _Passes(1 + again, progress)
    found = checked_segments(recording, robot, settings, progress=passes.report)
    names = found.velocity_names
    prepare = Preparation(robot, found.low_pass, settings.terms)
    common: dict[str, Any] = {"low_pass": found.low_pass, "terms": settings.terms, "prepare": prepare}
    if questions.friction or questions.drives or questions.payload or questions.inertias:
        common["base"] = BaseErrors(robot)

    comparison = Comparison(names, settings.terms)
    energy = Energy(robot, names, settings.terms) if questions.energy else None
    friction = FrictionIdentifier(robot, **common) if questions.friction else None
    drives = DriveIdentifier(robot, **common) if questions.drives else None
    payload = PayloadIdentifier(robot, questions.payload, **common) if questions.payload else None
    inertias = InertiaIdentifier(robot, **common) if questions.inertias else None
    diagnosis = Diagnosis(prepare, names, velocities=found.measured_velocities) if questions.diagnosis else None
    identifiers = [part for part in (diagnosis, friction, drives, payload, inertias) if part is not None]
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

    def observer(known: FrictionResult | None, *, cautious: bool = True) -> ExternalTorque:
        return ExternalTorque(
            robot,
            names,
            settings.terms,
            low_pass=found.low_pass,
            friction=None if known is None else (lambda v: known.torque(names, v, offset=False)),
            breakaway=breakaway_of(robot.model, names, known, cautious=cautious),
            thresholds=questions.contact_threshold,
            false_alarms=questions.false_alarms,
        )

    if questions.external_torque and friction is not None and rubs is not None and friction.in_doubt(rubs):
        first = observer(rubs, cautious=False)
        passes.one_more()
        for segment, prediction in passes.over(found, robot, settings):
            first.add(segment, prediction)
        touched = [(event.start, event.end) for event in first.results().events]
        if touched:
            apart = FrictionIdentifier(robot, **common, touched=touched)
            passes.one_more()
            for segment in passes.segments(found):
                apart.add(segment)
            rubs = apart.results()
    external = observer(rubs) if questions.external_torque else None
    why = diagnosis.results() if diagnosis is not None else DiagnosisResult((), ())
    believed = doubted_friction(rubs, why) if rubs is not None else None
    drawn = Series(names, found.rate, points=series) if series else None
    for segment, prediction in passes.over(found, robot, settings) if again else ():
        torque = external.add(segment, prediction) if external is not None else None
        for sink in sinks:
            sink.write(segment, prediction, torque)
        if drawn is not None:
            drawn.add(segment.t, segment.number, _signals(robot.model, names, segment, prediction, torque, believed))
    return Analysis(
        robot, questions, found, comparison, log, uncertainty, max(0.0, last - (settings.start or 0.0)),
        believed,
        doubted_drives(drives.results(), why) if drives is not None else None,
        doubted_payload(payload.results(), why) if payload is not None else None,
        doubted_inertias(inertias.results(), why) if inertias is not None else None,
        doubted_contacts(external.results(), why) if external is not None else None,
        energy.results() if energy is not None else None,
        why if diagnosis is not None else None,
        drawn,
    )  # fmt: skip


class _Passes:
    """Goes over a recording several times, with one progress from 0 to 1."""

    def __init__(self, count: int, progress: Progress | None) -> None:
        self._left, self._progress, self._done = count, progress, 0.0
        self._first, self._spool = True, Spool()

    def one_more(self) -> None:
        """Than there were to be; they share the progress that is left."""
        self._left += 1

    def report(self, fraction: float) -> None:
        if self._progress is not None:
            self._progress(self._done + fraction * (1.0 - self._done) / self._left)

    def over(self, found: Segments, robot: Robot, settings: Settings) -> Iterator[tuple[Segment, Prediction]]:
        for segment in self.segments(found):
            yield segment, predict(robot, segment, terms=settings.terms)

    def segments(self, found: Segments) -> Iterator[Segment]:
        if self._spool.complete:
            yield from self._spool.segments(self.report, last=self._left == 1)
        elif self._first and self._left > 1:
            yield from self._spool.passing(found)
        else:
            yield from found
        self._done += (1.0 - self._done) / self._left
        self._left, self._first = self._left - 1, False


def _signals(
    model: Model,
    names: Sequence[str],
    segment: Segment,
    prediction: Prediction,
    external: Array | None,
    friction: FrictionResult | None,
) -> dict[str, Array]:
    """What is drawn: (N, nv) each."""
    signals = {
        POSITION: _positions(model, segment.q), "velocity": segment.v, "measured": segment.tau,
        "predicted": prediction.tau, "residual": segment.tau - prediction.tau, **prediction.by_term,
    }  # fmt: skip
    if friction is not None:
        signals[WITH_FRICTION] = prediction.tau + friction.torque(names, segment.v)
    return signals if external is None else {**signals, "external": external}


def _positions(model: Model, q: Array) -> Array:
    """(N, nv) of (N, nq): of joints with one number; zero for all others."""
    single = [(joint.v_index, joint.q_index) for joint in model.joints if joint.kind.nq == joint.kind.nv == 1]
    positions = np.zeros((len(q), model.nv))
    for v_index, q_index in single:
        positions[:, v_index] = q[:, q_index]
    return positions
