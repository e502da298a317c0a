# SPDX-License-Identifier: Apache-2.0
"""Drives, in words and as a part of the page."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from rbd_dynamics.common.page import number, table
from rbd_dynamics.replay.report.parts import estimate_cell

HEADS = ("joint", "needs", "takes away", "RMSE with friction", "with all")


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


def drives_section(found: Mapping[str, Any] | None) -> str:
    """The page's section on drives; empty where it was not asked."""
    if not found:
        return ""
    rows = [[escape(cell) for cell in row] for row in drive_rows(found)]
    body = table(HEADS, rows) if rows else ""
    return f"<h2>Drives</h2>{body}<p class='note'>{escape(drive_sentence(found))}</p>"


def _part(part: Mapping[str, Any]) -> str:
    turns = f" ({part['motor']})" if part["motor"] else ""
    numbers = [
        estimate_cell(number) if number["name"] == part["name"] else f"{number['name']} {estimate_cell(number)}"
        for number in part["estimates"]
    ]
    note = f"; {part['note']}" if part["note"] else ""
    return f"{part['name']}{turns} {', '.join(numbers)}{note}"
