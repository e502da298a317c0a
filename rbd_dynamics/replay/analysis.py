# SPDX-License-Identifier: Apache-2.0
"""All that one recording says: the comparison, and answers to further questions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.model.model import Model
from rbd_dynamics.model.tip import tip_of
from rbd_dynamics.replay.diagnosis import DiagnosisResult
from rbd_dynamics.replay.diagnosis.agreement import agreed
from rbd_dynamics.replay.identification import DriveResult, FrictionResult, InertiaResult, PayloadResult
from rbd_dynamics.replay.log import Log
from rbd_dynamics.replay.questions import QUESTIONS, Questions
from rbd_dynamics.replay.reading import Recording
from rbd_dynamics.replay.replay import checked_segments
from rbd_dynamics.replay.results.sinks import Sink
from rbd_dynamics.replay.results.wrench_columns import AXES, WrenchColumns
from rbd_dynamics.replay.settings import Settings
from rbd_dynamics.replay.signals.noise import Uncertainty
from rbd_dynamics.replay.signals.segmentation import Progress, Segment, Segments
from rbd_dynamics.replay.study import Passes, Study
from rbd_dynamics.replay.torques.comparison import Comparison, Prediction
from rbd_dynamics.replay.torques.energy import EnergyResult
from rbd_dynamics.replay.torques.external_torque import ExternalTorqueResult
from rbd_dynamics.replay.torques.series import POSITION, WITH_FRICTION, Series
from rbd_dynamics.robot import Robot

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Analysis:
    """What came out. `duration`: s from the first sample to the last that were used.

    Attributes:
        answers: {name of a question: its answer}, of those that were asked; the properties below are these, or None.
        series: of the joints, to be drawn. wrench: of the wrench at `questions.wrench_frame`, likewise, with its
            standard deviations.
    """

    robot: Robot
    questions: Questions
    segments: Segments
    comparison: Comparison
    log: Log
    uncertainty: Uncertainty
    duration: float
    answers: Mapping[str, Any]
    series: Series | None
    wrench: Series | None

    @property
    def friction(self) -> FrictionResult | None:
        """Friction of each joint."""
        return self.answers.get("friction")

    @property
    def drives(self) -> DriveResult | None:
        """What the drives need besides."""
        return self.answers.get("drives")

    @property
    def payload(self) -> PayloadResult | None:
        """The load that was looked for."""
        return self.answers.get("payload")

    @property
    def inertias(self) -> InertiaResult | None:
        """Base parameters and inertias."""
        return self.answers.get("inertias")

    @property
    def external_torque(self) -> ExternalTorqueResult | None:
        """External torques and contacts."""
        return self.answers.get("external_torque")

    @property
    def energy(self) -> EnergyResult | None:
        """Power and work."""
        return self.answers.get("energy")

    @property
    def diagnosis(self) -> DiagnosisResult | None:
        """What is wrong with signals, and what explains the residual."""
        return self.answers.get("diagnosis")


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
    if questions.wrench_frame is not None:
        tip_of(robot.model, questions.wrench_frame, "wrench frame")
    recording = settings.opened(recording)
    asked = [question for question in QUESTIONS if question.is_asked(questions)]
    early, late = ([question for question in asked if question.is_late == is_late] for is_late in (False, True))
    again = bool(sinks) or bool(series) or bool(late)
    passes = Passes(1 + again, progress)
    found = checked_segments(recording, robot, settings, progress=passes.report)
    study = Study(robot, questions, found, passes)

    comparison = Comparison(study.names, study.terms)
    first = [(question, question.identifier(study)) for question in early]
    last = 0.0
    for segment, prediction in study.pass_over():
        comparison.add(segment, prediction)
        for question, identifier in first:
            question.feed(identifier, segment, prediction)
        last = max(last, float(segment.t[-1]))
    log, uncertainty = found.log, found.uncertainty()
    for question, identifier in first:
        study.answers[question.name] = question.answer(identifier, study)
    second = [(question, question.identifier(study)) for question in late]  # may go by the answers, in doubt or not

    why = study.answers.get("diagnosis") or DiagnosisResult((), ())
    answers = {question.name: question.doubted(study.answers[question.name], why) for question in early}
    drawn = Series(study.names, found.rate, points=series) if series else None
    columns = WrenchColumns(robot.model, questions.wrench_frame) if series and questions.wrench_frame else None
    wrench = Series(AXES, found.rate, points=series) if columns else None
    for segment, prediction in study.pass_over() if again else ():
        fed = {question.name: question.feed(identifier, segment, prediction) for question, identifier in second}
        external = fed.get("external_torque")
        for sink in sinks:
            sink.write(segment, prediction, external)
        if drawn is not None:
            signals = _signals(robot.model, study.names, segment, prediction, external, answers.get("friction"))
            drawn.add(segment.t, segment.number, signals)
        if columns is not None and wrench is not None:
            numbers, count = columns.of(segment, external), len(AXES)
            parts = {"wrench": numbers[:, :count], "deviation": numbers[:, count:]}
            wrench.add(segment.t, segment.number, parts)
    answers |= {
        question.name: question.doubted(question.answer(identifier, study), why) for question, identifier in second
    }
    answers = agreed(answers)
    duration = max(0.0, last - (settings.start or 0.0))
    return Analysis(robot, questions, found, comparison, log, uncertainty, duration, answers, drawn, wrench)


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
