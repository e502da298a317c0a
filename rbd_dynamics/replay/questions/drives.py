# SPDX-License-Identifier: Apache-2.0
"""What do the drives need beside friction?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from rbd_dynamics.common.pages.page import number, table
from rbd_dynamics.replay.questions.base import Found, Question, Terminal
from rbd_dynamics.replay.questions.estimates import estimate_cell

if TYPE_CHECKING:
    from rbd_dynamics.replay.diagnosis import DiagnosisResult
    from rbd_dynamics.replay.identification import DriveIdentifier, DriveResult
    from rbd_dynamics.replay.study import Study

HEADS = ("joint", "needs", "takes away", "RMSE with friction", "with all")


class DrivesQuestion(Question):
    name = "drives"

    def add_option(self, add: Callable[..., Any]) -> None:
        add("--drives", action="store_true",
            help="what the drives need besides: rotor inertia, springs, friction by direction and with load, gains, "
            "motors that joints share; decided on held-out data")  # fmt: skip

    def identifier(self, study: Study) -> DriveIdentifier:
        from rbd_dynamics.replay.identification import DriveIdentifier

        return DriveIdentifier(study.robot, **study.for_identifiers)

    def doubted(self, answer: DriveResult, why: DiagnosisResult) -> DriveResult:
        from rbd_dynamics.replay.diagnosis.consequences import doubted_drives

        return doubted_drives(answer, why)

    def tell(self, found: Found, to: Terminal) -> None:
        to.tabulate(HEADS, drive_rows(found))
        to.say(drive_sentence(found))

    def section(self, found: Found) -> str:
        rows = [[escape(cell) for cell in row] for row in drive_rows(found)]
        body = table(HEADS, rows) if rows else ""
        return f"<h2>Drives</h2>{body}<p class='note'>{escape(drive_sentence(found))}</p>"


def drive_rows(found: Mapping[str, Any]) -> list[list[str]]:
    """A row for each part that a joint needs, as plain text; one for each joint that needs none."""
    rows, free = [], found["inertias_free"]
    for joint in found["joints"]:
        errors = [number(joint["rmse_friction"]), number(joint["rmse_after"])]
        for k, part in enumerate(joint["parts"]):
            rows.append([joint["joint"] if k == 0 else "", _part(part), f"{100 * part['share']:.0f} %",
                         *(errors if k == 0 else ["", ""])])  # fmt: skip
        if not joint["parts"]:
            rows.append([joint["joint"], "friction only" + (", other inertias" if free else ""), "", *errors])
    return rows


def drive_sentence(found: Mapping[str, Any]) -> str:
    """What the rows rest on."""
    if found["finding"]:
        return f"The recording is {found['finding']}."
    free = "left free, since that predicts better" if found["inertias_free"] else "taken as they are"
    return (
        "What each part takes away of the squares that are left without it, on stretches that were not fitted; "
        f"the description's inertias are {free}."
    )


def _part(part: Mapping[str, Any]) -> str:
    turns = f" ({part['motor']})" if part["motor"] else ""
    numbers = [
        estimate_cell(number) if number["name"] == part["name"] else f"{number['name']} {estimate_cell(number)}"
        for number in part["estimates"]
    ]
    note = f"; {part['note']}" if part["note"] else ""
    return f"{part['name']}{turns} {', '.join(numbers)}{note}"
