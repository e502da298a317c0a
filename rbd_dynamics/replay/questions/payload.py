# SPDX-License-Identifier: Apache-2.0
"""What does the robot carry?"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

from rbd_dynamics.common.pages.page import table
from rbd_dynamics.replay.questions.base import Found, Question, Terminal
from rbd_dynamics.replay.questions.estimates import INTERVALS, estimate_cell, findings

if TYPE_CHECKING:
    from rbd_dynamics.replay.diagnosis import DiagnosisResult
    from rbd_dynamics.replay.identification import PayloadIdentifier, PayloadResult
    from rbd_dynamics.replay.study import Study


class PayloadQuestion(Question):
    name = "payload"

    def add_option(self, add: Callable[..., Any]) -> None:
        add("--payload", metavar="FRAME", help="find a load at this link or joint")

    def identifier(self, study: Study) -> PayloadIdentifier:
        from rbd_dynamics.replay.identification import PayloadIdentifier

        assert study.questions.payload is not None
        return PayloadIdentifier(study.robot, study.questions.payload, **study.for_identifiers)

    def doubted(self, answer: PayloadResult, why: DiagnosisResult) -> PayloadResult:
        from rbd_dynamics.replay.diagnosis.consequences import doubted_payload

        return doubted_payload(answer, why)

    def complete(self, summary: dict[str, Any]) -> None:
        from rbd_dynamics.replay.results.caveats import caveats_of_load

        summary["payload"]["caveats"] = caveats_of_load(summary)

    def tell(self, found: Found, to: Terminal) -> None:
        parts = [f"{part['name']} {estimate_cell(part)}" for part in (found["mass"], *found["com"])]
        to.say(f"Load at {found['frame']}: {', '.join(parts)}")
        for why in dict.fromkeys(part["finding"] for part in (found["mass"], *found["com"], *found["inertia"])):
            if why:
                to.say(f"! {why}", "yellow")
        for text in found["caveats"]:
            to.say(f"  - {text}", "yellow")

    def section(self, found: Found) -> str:
        estimates = (found["mass"], *found["com"], *found["inertia"])
        rows = [[escape(part["name"]), estimate_cell(part)] for part in estimates]
        low, high = found["mass"]["lower"], found["mass"]["upper"]
        none = "<p>None that differs from zero.</p>" if low is not None and low <= 0.0 <= high else ""
        known = "".join(f"<li>{escape(text)}</li>" for text in found.get("caveats") or ())
        beside = f'<div class="beside"><h3>Before you believe it</h3><ul>{known}</ul></div>' if known else ""
        numbers = f'<div class="pair">{table(["", ""], rows)}{beside}</div>'
        return f"<h2>Load at {escape(found['frame'])}</h2>{none}{numbers}{findings(estimates)}{INTERVALS}"
