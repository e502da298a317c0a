# SPDX-License-Identifier: Apache-2.0
"""How the answers write estimates, on the terminal and on the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from rbd_dynamics.common.pages.page import number

INTERVALS = (
    "<p class='note'>± half of the interval of 95 %, for noise and for errors of the description of the size that the "
    "recording shows; – where the motion says nothing, or nothing that can be.</p>"
)


def estimate_cell(estimate: Mapping[str, Any]) -> str:
    """A value with half of its interval and its unit."""
    if not estimate["identifiable"]:
        return "–"
    reach = (estimate["upper"] - estimate["lower"]) / 2.0
    return f"{number(estimate['value'])} ± {number(reach)} {estimate['unit']}"


def findings(parts: Sequence[Mapping[str, Any]]) -> str:
    """Why there are no numbers, where the data had some; HTML."""
    said: dict[str, list[str]] = {}
    for part in parts:
        if part.get("finding"):
            said.setdefault(part["finding"], []).append(part["name"])
    items = "".join(f"<li>{escape(', '.join(names))}: {escape(why)}</li>" for why, names in said.items())
    return f"<ul>{items}</ul>" if items else ""


def by_joint(values: Mapping[str, float | None]) -> str:
    """Numbers with their joints, in a line."""
    return ", ".join(f"{name} {number(value)}" for name, value in values.items() if value is not None)
