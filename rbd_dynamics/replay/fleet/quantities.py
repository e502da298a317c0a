# SPDX-License-Identifier: Apache-2.0
"""What of a joint is followed from recording to recording: errors of the model, friction, delay of efforts, load."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Quantity:
    """A number of a joint that may change with time.

    Attributes:
        words: what it is called in a sentence.
        is_torque: a change is seen against the joint's torque; else against the number itself.
    """

    words: str
    is_torque: bool


QUANTITIES = {
    "coulomb": Quantity("Coulomb friction", True),
    "viscous": Quantity("viscous friction", False),
    "bias": Quantity("bias of the torque", True),
    "delay": Quantity("delay of the efforts", False),
    "rmse": Quantity("RMSE", True),
    "load": Quantity("load", False),
}
DELAY = "effort delay"  # kind of a diagnosis' finding
OF_THE_ROBOT = ""  # name of the joint of what is no joint's


class Value(NamedTuple):
    """A number with its standard error, NaN where that is not known, and its unit.

    absent: one was looked for, and there is none: the number is NaN.
    """

    value: float
    error: float
    unit: str
    absent: bool = False

    @property
    def for_a_trend(self) -> tuple[float, float]:
        """The number, 0.0 where there is none, and its error, 0.0 where that is not known."""
        return 0.0 if self.absent else self.value, self.error if math.isfinite(self.error) else 0.0


NO_DELAY = Value(math.nan, math.nan, "s", absent=True)


@dataclass(frozen=True)
class Outcome:
    """What one recording says of a joint.

    Parameters:
        robot, joint: which; "" where it is of the whole robot.
        start: of the recording, s since 1970.
        torque: rms of what was measured, N m (N of prismatic joints).
        values: {name of QUANTITIES: Value}.
    """

    robot: str
    joint: str
    start: float
    torque: float
    values: Mapping[str, Value]


def outcomes_of(robot: str, start: float, summary: Mapping[str, Any]) -> list[Outcome]:
    """Outcomes of each joint in one recording, of its summary, and of the load where it was asked for."""
    friction = {each["joint"]: each for each in (summary.get("friction") or {}).get("joints", ())}
    late = _delays(summary)
    found = []
    for joint in summary["joints"]:
        own = friction.get(joint["name"], {})
        told = {name: _told(own.get(name)) for name in ("coulomb", "viscous")}
        told |= {name: Value(joint[name], math.nan, joint["unit"]) for name in ("rmse", "bias")}
        if late is not None:
            told["delay"] = late.get(joint["name"], NO_DELAY)
        found.append(_outcome(robot, joint["name"], start, joint["measured_rms"], told))
    load = _told((summary.get("payload") or {}).get("mass"))
    return found if load is None else [*found, _outcome(robot, OF_THE_ROBOT, start, 0.0, {"load": load})]


def needed(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a summary that `outcomes_of` reads, beside its joints."""
    found: dict[str, Any] = {}
    if summary.get("friction"):
        found["friction"] = {
            "joints": [
                {"joint": each["joint"], "coulomb": _plain(each["coulomb"]), "viscous": _plain(each["viscous"])}
                for each in summary["friction"]["joints"]
            ]
        }
    if summary.get("payload"):
        found["payload"] = {"mass": _plain(summary["payload"]["mass"])}
    if summary.get("diagnosis") is not None:
        signals = summary["diagnosis"]["signals"]
        found["diagnosis"] = {
            "signals": [
                {"kind": each["kind"], "joints": each["joints"], "estimate": _plain(each.get("estimate"))}
                for each in signals
                if each["kind"] == DELAY
            ]
        }
    return found


def _plain(estimate: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if estimate is None else {key: estimate[key] for key in ("value", "error", "unit", "identifiable")}


def _outcome(robot: str, joint: str, start: float, torque: float, told: Mapping[str, Value | None]) -> Outcome:
    values = {name: value for name in QUANTITIES if (value := told.get(name)) is not None}
    return Outcome(robot, joint, start, torque, values)


def _delays(summary: Mapping[str, Any]) -> dict[str, Value] | None:
    """{joint: delay} of efforts that are late; None where nobody has asked."""
    diagnosis = summary.get("diagnosis")
    if diagnosis is None:
        return None
    late: dict[str, Value] = {}
    for finding in diagnosis["signals"]:
        value = _told(finding.get("estimate")) if finding["kind"] == DELAY else None
        late |= {} if value is None else dict.fromkeys(finding["joints"], value)
    return late


def _told(estimate: Mapping[str, Any] | None) -> Value | None:
    """An estimate that the recording tells."""
    if not (estimate and estimate["identifiable"] and _is_number(estimate["value"])):
        return None
    return Value(estimate["value"], estimate["error"] if _is_number(estimate["error"]) else math.nan, estimate["unit"])


def _is_number(value: Any) -> bool:
    return value is not None and math.isfinite(value)
