# SPDX-License-Identifier: Apache-2.0
"""What several sections of the report share: its scripts, and how an estimate is written."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from rbd_dynamics.common.page import number


def script(name: str) -> str:
    """JavaScript of the report."""
    return (files(__package__) / name).read_text(encoding="utf-8")


def estimate_cell(estimate: Mapping[str, Any]) -> str:
    """A value with half of its interval and its unit."""
    if not estimate["identifiable"]:
        return "–"
    reach = (estimate["upper"] - estimate["lower"]) / 2.0
    return f"{number(estimate['value'])} ± {number(reach)} {estimate['unit']}"
