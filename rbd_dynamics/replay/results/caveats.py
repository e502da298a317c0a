# SPDX-License-Identifier: Apache-2.0
"""What a reader must know of a load before it is believed: how this recording may have made one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rbd_dynamics.control.terms import GRAVITY
from rbd_dynamics.replay.diagnosis.causes import CAUSES

MAIN = 0.3  # share of a joint's residual from which a cause is named
HELPED = 0.9  # of the RMSE without the load: where more is left the load explains little


def caveats_of_load(summary: Mapping[str, Any]) -> list[str]:
    """Sentences beside the load of a summary; none where there is no load in it."""
    load = summary.get("payload")
    if not load:
        return []
    said = []
    joints = [joint["joint"] for joint in load["joints"]]
    if load["mass"]["identifiable"]:
        said.append(
            "what the description has wrong counts as load: replay the robot without the load as well, and compare"
        )
    helped = [fit["joint"] for fit in load["joints"] if fit["rmse_after"] < HELPED * fit["rmse_before"]]
    if load["mass"]["identifiable"] and not helped:
        said.append("it explains less than a tenth of any joint's residual: something else is wrong")
    if GRAVITY not in load["terms"]:
        said.append("the efforts are without gravity: it is felt by accelerations only")
    by_cause: dict[str, list[str]] = {}
    for joint in (summary.get("diagnosis") or {}).get("joints", ()):
        for cause in joint["causes"]:
            if joint["joint"] in joints and cause["share"] >= MAIN:
                by_cause.setdefault(cause["name"], []).append(joint["joint"])
    for name, words in ((name, words) for cause in CAUSES for name, words in cause.caveats.items()):
        if name in by_cause:
            said.append(f"{words} ({', '.join(by_cause[name])})")
    events = (summary.get("external_torque") or {}).get("events", ())
    pushed = [event for event in events if not event.get("load") and any(name in joints for name in event["peak"])]
    if pushed:
        count = f"{len(pushed)} contacts were" if len(pushed) > 1 else "a contact was"
        said.append(f"{count} found: what pushes while the load is carried counts as load")
    return said
