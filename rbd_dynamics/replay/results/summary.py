# SPDX-License-Identifier: Apache-2.0
"""All results of a recording as plain data: what summary.json has, and what the report is made of."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime, timezone
from typing import Any

from rbd_dynamics import __version__
from rbd_dynamics.replay.analysis import Analysis
from rbd_dynamics.replay.diagnosis.words import inertia_hint, sayings
from rbd_dynamics.replay.identification.estimates import plain
from rbd_dynamics.replay.identification.samples import torque_unit
from rbd_dynamics.replay.questions import QUESTIONS
from rbd_dynamics.replay.results.export import export_of
from rbd_dynamics.replay.signals.conventions import LONG_AGO, SECOND


def summary_of(found: Analysis, *, source: str = "", robot: str = "") -> dict[str, Any]:
    """Summary for JSON: no NaN, numbers by name, settings and warnings.

    source: of the robot's description. robot: whose recording it is.
    """
    summary = _summary_of(found, source, robot)
    for question in QUESTIONS:
        if summary[question.name] is not None:
            question.complete(summary)
    return summary


def _summary_of(found: Analysis, source: str, robot: str) -> dict[str, Any]:
    segments, model = found.segments, found.robot.model
    first = segments.conventions.first
    return {
        "rbd_dynamics": __version__,
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "recording": {
            **segments.summary(),
            "start": first * SECOND if first > LONG_AGO else None,
            "duration": found.duration,
            "messages": found.log.messages,
            "samples": found.log.samples,
        },
        "robot": {
            "name": model.name,
            "id": robot or model.name,
            "source": source,
            "joints": list(model.joint_names),
            "mass": float(model.mass),
            "gravity": list(model.gravity),
        },
        "settings": segments.settings.to_dict(),
        "questions": asdict(found.questions),
        "warnings": _warnings(found),
        "events": dict(found.log.events),
        "joints": _joints(found),
        **{
            question.name: found.answers[question.name].to_dict() if question.name in found.answers else None
            for question in QUESTIONS
        },
        "export": export_of(found).to_dict(),
    }


def _joints(found: Analysis) -> list[dict[str, Any]]:
    """Figures of the joints that were compared."""
    names = found.segments.velocity_names
    joints = []
    for result in found.comparison.results():
        k = names.index(result.name)
        uncertainty = {key: values[k] for key, values in asdict(found.uncertainty).items()}
        unit = torque_unit(found.robot.model, result.name)
        joints.append(plain({**asdict(result), "unit": unit, "uncertainty": uncertainty}))
    return joints


def _warnings(found: Analysis) -> list[str]:
    """What was guessed; then what a reader should know first, and what was noticed while reading."""
    noise = dict(zip(found.segments.velocity_names, found.uncertainty.tau.tolist()))
    first = sayings(found.diagnosis, found.comparison.results(), noise=noise)
    asked = found.questions.inertias or found.questions.payload
    if not asked and not (found.diagnosis and found.diagnosis.signals):
        first += inertia_hint(found.diagnosis, found.comparison.results())
    refused = export_of(found).refused
    return [*found.log.guesses, *first, *([refused] if refused else []), *found.log.noticed]
