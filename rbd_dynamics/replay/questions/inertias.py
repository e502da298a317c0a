# SPDX-License-Identifier: Apache-2.0
"""Which base parameters, and which inertias that can exist?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from rbd_dynamics.common.pages.page import number, table
from rbd_dynamics.replay.questions.base import Found, Question, Terminal
from rbd_dynamics.replay.questions.estimates import estimate_cell, findings

if TYPE_CHECKING:
    from rbd_dynamics.replay.diagnosis import DiagnosisResult
    from rbd_dynamics.replay.identification import InertiaIdentifier, InertiaResult
    from rbd_dynamics.replay.study import Study


KEPT = "other ones predict stretches that were not fitted no better"


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
        if text := _one_body(found):
            to.say(text)

    def section(self, found: Found) -> str:
        rows = [
            [escape(base["name"]), estimate_cell(base), number(prior), number(consistent)]
            for base, prior, consistent in zip(found["base"], found["prior"], found["base_consistent"])
        ]
        heads = ["base parameter", "identified", "in the given model", "in the corrected model"]
        body = f"{table(heads, rows)}{findings(found['base'])}"
        one = f"<p>{escape(text)}.</p>" if (text := _one_body(found)) else ""
        return f"<h2>Inertias</h2>{one}{_bodies(found)}<details><summary>{_count(found)}</summary>{body}</details>"


def _one_body(found: Found) -> str:
    if not found.get("one_body"):
        return ""
    from rbd_dynamics.replay.identification.estimates import Estimate
    from rbd_dynamics.replay.identification.one_body import OneBody

    one = found["one_body"]
    return str(OneBody(one["body"], one["given"], Estimate(**one["mass"]), one["share"]))


def _bodies(found: Found) -> str:
    """Masses and centres of the bodies, before and after."""
    rows = [
        [escape(name), number(before[0]), number(after[0]), _centre(before), _centre(after)]
        for name, before, after in zip(found["bodies"], found.get("given") or (), found["parameters"])
    ]
    if not rows or found["refused"]:
        return ""
    heads = ["body", "kg in the given model", "in the corrected model", "centre of mass, m", "in the corrected model"]
    note = "Of single bodies only what base parameters are made of is known: see the intervals there."
    return f'{table(heads, rows)}<p class="note">{note}</p>'


def _centre(parameters: Sequence[float]) -> str:
    mass, *moment = parameters[:4]
    return ", ".join(f"{round(x / mass, 3) + 0.0:.3f}".replace("-", "−") for x in moment) if mass > 0.0 else "–"


def _count(found: Found) -> str:
    base = found["base"]
    text = f"{sum(part['identifiable'] for part in base)} of {len(base)} base parameters identified"
    return f"{text}; the bodies stay as described: {KEPT}" if found["parameters"] == found.get("given") else text
