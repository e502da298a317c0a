# SPDX-License-Identifier: Apache-2.0
"""All results of a recording as plain data: what summary.json has, and what the report is made of."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime, timezone
from typing import Any

from rbd_dynamics import __version__
from rbd_dynamics.replay.analysis import Analysis
from rbd_dynamics.replay.identification.estimates import plain
from rbd_dynamics.replay.identification.samples import torque_unit
from rbd_dynamics.replay.survey import LONG_AGO, SECOND

POOR = 0.7  # nrmse from which the model explains only half of the variance


def summary_of(found: Analysis, *, source: str = "", robot: str = "") -> dict[str, Any]:
    """For JSON: no NaN, numbers by name, settings and warnings.

    source: of the robot's description. robot: whose recording it is.
    """
    segments, model = found.segments, found.robot.model
    first = segments.survey.first
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
        },
        "settings": segments.settings.to_dict(),
        "questions": asdict(found.questions),
        "warnings": _warnings(found),
        "events": dict(found.log.events),
        "joints": _joints(found),
        **{
            name: None if part is None else part.to_dict()
            for name, part in (
                ("friction", found.friction),
                ("payload", found.payload),
                ("inertias", found.inertias),
                ("external_torque", found.external_torque),
                ("energy", found.energy),
            )
        },
    }


def _joints(found: Analysis) -> list[dict[str, Any]]:
    """Of the joints that were compared."""
    names = found.segments.velocity_names
    joints = []
    for result in found.comparison.results():
        k = names.index(result.name)
        uncertainty = {key: values[k] for key, values in asdict(found.uncertainty).items()}
        unit = torque_unit(found.robot.model, result.name)
        joints.append(plain({**asdict(result), "unit": unit, "uncertainty": uncertainty}))
    return joints


def _warnings(found: Analysis) -> list[str]:
    """What a reader should know first, then what was noticed while reading."""
    first = []
    rubs = {joint.joint: joint for joint in found.friction.joints} if found.friction is not None else {}
    for joint in found.comparison.results():
        if joint.nrmse > POOR:
            share = "nothing" if joint.nrmse > 0.99 else "less than half"
            text = f"{joint.name}: the model explains {share} of the torque (nrmse {joint.nrmse:.2f})"
            if joint.name in rubs and rubs[joint.name].rmse_after < 0.7 * rubs[joint.name].rmse_before:
                after = joint.nrmse * rubs[joint.name].rmse_after / rubs[joint.name].rmse_before
                rest = "friction"
                offset, coulomb = (abs(part.value) for part in (rubs[joint.name].offset, rubs[joint.name].coulomb))
                if offset > 2.0 * coulomb:
                    rest = "an offset: a load, a contact, or the sensor's"
                text += f"; most of the rest is {rest} (nrmse {after:.2f} with friction and offset)"
            first.append(text)
    return [*first, *found.log.warnings]
