# SPDX-License-Identifier: Apache-2.0
"""Which base parameters, and which inertias that can exist?"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

from rbd_dynamics.common.page import number, table
from rbd_dynamics.replay.questions.base import Found, Question, Terminal
from rbd_dynamics.replay.questions.parts import estimate_cell, findings

if TYPE_CHECKING:
    from rbd_dynamics.replay.diagnosis import DiagnosisResult
    from rbd_dynamics.replay.identification import InertiaIdentifier, InertiaResult
    from rbd_dynamics.replay.study import Study


class InertiasQuestion(Question):
    name = "inertias"

    def add_option(self, add: Callable[..., Any]) -> None:
        add("--inertias", action="store_true", help="base parameters, and inertias that can exist")

    def identifier(self, study: Study) -> InertiaIdentifier:
        from rbd_dynamics.replay.identification import InertiaIdentifier

        return InertiaIdentifier(study.robot, **study.for_identifiers)

    def doubted(self, answer: InertiaResult, why: DiagnosisResult) -> InertiaResult:
        from rbd_dynamics.replay.diagnosis.consequences import doubted_inertias

        return doubted_inertias(answer, why)

    def tell(self, found: Found, to: Terminal) -> None:
        to.say(_count(found))

    def section(self, found: Found) -> str:
        rows = [
            [escape(base["name"]), estimate_cell(base), number(prior), number(consistent)]
            for base, prior, consistent in zip(found["base"], found["prior"], found["base_consistent"])
        ]
        heads = ["base parameter", "identified", "in the given model", "in the corrected model"]
        body = f"{table(heads, rows)}{findings(found['base'])}"
        return f"<h2>Inertias</h2><details><summary>{_count(found)}</summary>{body}</details>"


def _count(found: Found) -> str:
    base = found["base"]
    return f"{sum(part['identifiable'] for part in base)} of {len(base)} base parameters identified"
