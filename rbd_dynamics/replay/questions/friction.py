# SPDX-License-Identifier: Apache-2.0
"""How much friction does each joint have?"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from rbd_dynamics.common.pages.page import number, table
from rbd_dynamics.replay.questions.base import Found, Question, Terminal
from rbd_dynamics.replay.questions.estimates import INTERVALS, estimate_cell, findings
from rbd_dynamics.replay.questions.external_torque import observer

if TYPE_CHECKING:
    from rbd_dynamics.replay.diagnosis import DiagnosisResult
    from rbd_dynamics.replay.identification import FrictionIdentifier, FrictionResult
    from rbd_dynamics.replay.study import Study

THREE = ("offset", "coulomb", "viscous")


class FrictionQuestion(Question):
    name = "friction"

    def add_option(self, add: Callable[..., Any]) -> None:
        add("--friction", action=argparse.BooleanOptionalAction, default=True, help="friction of each joint")

    def identifier(self, study: Study) -> FrictionIdentifier:
        from rbd_dynamics.replay.identification import FrictionIdentifier

        return FrictionIdentifier(study.robot, **study.for_identifiers)

    def answer(self, identifier: FrictionIdentifier, study: Study) -> FrictionResult:
        """Friction; in doubt also whether something touches the robot, with a fit that takes that for no friction."""
        from rbd_dynamics.replay.identification import FrictionIdentifier

        found = identifier.results()
        if not (study.questions.external_torque and identifier.in_doubt(found)):
            return found
        first = observer(study, found, cautious=False)
        for segment, prediction in study.once_more():
            first.add(segment, prediction)
        touched = [(event.start, event.end) for event in first.results().events]
        if not touched:
            return found
        apart = FrictionIdentifier(study.robot, **study.for_identifiers, touched=touched)
        for segment in study.segments_once_more():
            apart.add(segment)
        return apart.results()

    def doubted(self, answer: FrictionResult, why: DiagnosisResult) -> FrictionResult:
        from rbd_dynamics.replay.diagnosis.consequences import doubted_friction

        return doubted_friction(answer, why)

    def columns(self, found: Found | None) -> tuple[Sequence[str], Mapping[str, Sequence[str]]]:
        cells = {
            joint["joint"]: [*(estimate_cell(joint[name]) for name in THREE), number(joint["rmse_after"])]
            for joint in (found or {}).get("joints", ())
        }
        return ("offset", "Coulomb", "viscous", "RMSE with it"), cells

    def tell(self, found: Found, to: Terminal) -> None:
        if found["joints"]:
            to.say(
                "±: half of the interval of 95 %. Where it is wider than the value, the recording does not tell "
                "the value.",
                "dim",
            )

    def section(self, found: Found) -> str:
        heads = ["joint", "offset", "Coulomb", "viscous", "breakaway", "Stribeck speed", "RMSE before", "after"]
        rows = []
        for joint in found["joints"]:
            bend = joint.get("stribeck") or {}
            rows.append([
                escape(joint["joint"]), *(estimate_cell(joint[name]) for name in THREE),
                *(estimate_cell(bend[name]) if name in bend else "–" for name in ("breakaway", "speed")),
                number(joint["rmse_before"]), number(joint["rmse_after"]),
            ])  # fmt: skip
        named = [{**joint[name], "name": f"{joint['joint']}: {name}"} for joint in found["joints"] for name in THREE]
        return f"<h2>Friction</h2>{table(heads, rows)}{findings(named)}{INTERVALS}"
