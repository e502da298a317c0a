# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the signals, and what explains what the model does not?"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

from rbd_dynamics.common.pages.page import table
from rbd_dynamics.replay.questions.base import Found, Question
from rbd_dynamics.replay.questions.estimates import estimate_cell

if TYPE_CHECKING:
    from rbd_dynamics.replay.diagnosis import Diagnosis, DiagnosisResult
    from rbd_dynamics.replay.study import Study


class DiagnosisQuestion(Question):
    name = "diagnosis"
    place = "residual"

    def add_option(self, add: Callable[..., Any]) -> None:
        add("--diagnosis", action=argparse.BooleanOptionalAction, default=True,
            help="what is wrong with signals, and what explains what the model does not")  # fmt: skip

    def identifier(self, study: Study) -> Diagnosis:
        from rbd_dynamics.replay.diagnosis import Diagnosis

        base = study.for_identifiers["base"]
        return Diagnosis(study.prepare, study.names, velocities=study.segments.measured_velocities, base=base)

    def answer(self, identifier: Diagnosis, study: Study) -> DiagnosisResult:
        """The diagnosis; contacts are judged beside its fit then."""
        found = identifier.results()
        study.free = identifier.free
        return found

    def section(self, found: Found) -> str:
        """What explains the residual of each joint, the largest part first."""
        rows = []
        for joint in found["joints"]:
            causes = [
                f"{escape(cause['name'])} {100 * cause['share']:.0f} %"
                + "".join(f", {escape(part['name'])} {estimate_cell(part)}" for part in cause["estimates"])
                for cause in joint["causes"]
            ]
            left = joint["left"]
            rows.append([
                escape(joint["joint"]), "<br>".join(causes) or ("none" if left is not None else "cannot be told"),
                "–" if left is None else f"{100 * left:.0f} %",
            ])  # fmt: skip
        note = (
            "<p class='note'>Shares of the residual’s mean square, each cause after those above it, on stretches of "
            "the recording that were not fitted.</p>"
        )
        shown = table(["joint", "causes", "unexplained"], rows, "words")
        return f"<section><h2>What explains the residual</h2>{shown}{note}</section>"
