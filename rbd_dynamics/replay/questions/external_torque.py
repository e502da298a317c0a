# SPDX-License-Identifier: Apache-2.0
"""What touched the robot, and when?"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

from rbd_dynamics.common.pages.page import number, table
from rbd_dynamics.replay.questions.base import Found, Question, Terminal
from rbd_dynamics.replay.questions.estimates import by_joint

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rbd_dynamics.replay.diagnosis import DiagnosisResult
    from rbd_dynamics.replay.identification import FrictionResult
    from rbd_dynamics.replay.signals.segmentation import Segment
    from rbd_dynamics.replay.study import Study
    from rbd_dynamics.replay.torques.comparison import Prediction
    from rbd_dynamics.replay.torques.external_torque import ExternalTorque, ExternalTorqueResult, Missing

MOST = 20  # contacts that the terminal lists


def observer(
    study: Study, friction: FrictionResult | None, *, cautious: bool = True, missing: Missing | None = None
) -> ExternalTorque:
    """Observer of external torques less this friction, without its offsets. missing: as of `ExternalTorque`."""
    from rbd_dynamics.replay.torques.external_torque import ExternalTorque, breakaway_of

    robot, names = study.robot, study.names
    return ExternalTorque(
        robot,
        names,
        study.terms,
        low_pass=study.segments.low_pass,
        friction=None if friction is None else (lambda v: friction.torque(names, v, offset=False)),
        breakaway=breakaway_of(robot.model, names, friction, cautious=cautious),
        thresholds=study.questions.contact_threshold,
        false_alarms=study.questions.false_alarms,
        missing=missing,
    )


class ExternalTorqueQuestion(Question):
    name = "external_torque"
    is_late = True
    place = "motion"

    def add_option(self, add: Callable[..., Any]) -> None:
        from rbd_dynamics.replay.command.kinds import threshold

        add("--external-torque", action=argparse.BooleanOptionalAction, default=True,
            help="external torques and contacts")  # fmt: skip
        add("--contact-threshold", metavar="[NAME=]NM", action="append", default=[], type=threshold,
            help="external torque of a contact; may be repeated; default: by --false-alarms")  # fmt: skip
        add("--false-alarms", metavar="N", type=float, default=1.0,
            help="false contacts per hour of motion that thresholds chosen here allow; default: 1")  # fmt: skip
        add("--wrench-frame", metavar="FRAME",
            help="link or joint at which report.html, samples.csv and samples.parquet tell the wrench that the "
            "external torques are taken for, with its standard deviation")  # fmt: skip

    def chosen(self, options: argparse.Namespace) -> dict[str, Any]:
        threshold: float | dict[str, float] | None = None
        for name, value in options.contact_threshold:
            if name and isinstance(threshold, dict | None):
                threshold = {**(threshold or {}), name: value}
            elif name or threshold is not None:
                raise ValueError("--contact-threshold: either one for all joints, or NAME=NM for each that counts")
            else:
                threshold = value
        return {
            "external_torque": options.external_torque,
            "contact_threshold": threshold,
            "false_alarms": options.false_alarms,
            "wrench_frame": options.wrench_frame,
        }

    def identifier(self, study: Study) -> ExternalTorque:
        free = study.free  # whoever gives thresholds goes by the external torques that are told
        by_free_fit = free is not None and study.questions.contact_threshold is None
        return observer(study, study.answers.get("friction"), missing=free.missing if by_free_fit else None)

    def feed(self, identifier: ExternalTorque, segment: Segment, prediction: Prediction) -> NDArray[np.float64]:
        return identifier.add(segment, prediction)

    def doubted(self, answer: ExternalTorqueResult, why: DiagnosisResult) -> ExternalTorqueResult:
        from rbd_dynamics.replay.diagnosis.consequences import doubted_contacts

        return doubted_contacts(answer, why)

    def tell(self, found: Found, to: Terminal) -> None:
        events = found["events"]
        for event in events[:MOST]:
            peaks = ", ".join(f"{name} {number(peak)}" for name, peak in event["peak"].items())
            load = ", which stays: a load?" if event["load"] else ""
            to.say(f"Contact from {number(event['start'])} to {number(event['end'])} s: {peaks}{load}")
        more = len(events) - MOST + found["omitted"]
        if not events:
            doubt = found.get("doubt")
            to.say(f"No contact can be told: {doubt}" if doubt else "No contacts")
        elif more > 0:
            to.say(f"and {more} more contacts")

    def section(self, found: Found) -> str:
        rows = [
            [number(event["start"]), number(event["end"]),
             escape(by_joint(event["peak"]) + (" (stays: a load?)" if event.get("load") else ""))]
            for event in found["events"]
        ]  # fmt: skip
        limits = by_joint(found["threshold"])
        rate = found.get("false_alarms")
        why = f", for {number(rate)} false alarms per hour of motion" if rate else ""
        note = f"Thresholds{why}: {limits}."
        if held := by_joint(found.get("breakaway") or {}):
            note += f" Friction may hold so much at rest, below which no push is seen there: {held}."
        doubt = found.get("doubt")
        none = f"No contact can be told: {escape(doubt)}." if doubt else "No contact was found."
        more = f"<p>{found['omitted']} more are not listed.</p>" if found.get("omitted") else ""
        what = table(["from, s", "to, s", "largest external torque"], rows) if rows else f"<p>{none}</p>"
        return f"<section><h2>Contacts</h2>{what}{more}<p class='note'>{escape(note)}</p></section>"
