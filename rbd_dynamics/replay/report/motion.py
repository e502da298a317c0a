# SPDX-License-Identifier: Apache-2.0
"""The robot of the page as it moved: positions and residuals at the times that are drawn, and what was touched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from rbd_dynamics.common.pages.page import folded
from rbd_dynamics.model.model import Model
from rbd_dynamics.replay.analysis import Analysis
from rbd_dynamics.replay.torques.contact_place import contact_place
from rbd_dynamics.replay.torques.series import POSITION, WITH_FRICTION, Series
from rbd_dynamics.scene import MeshFinder, Scene, scene_of, scene_scripts
from rbd_dynamics.scene.packing import packed
from rbd_dynamics.scene.scene import NOT_FOUND

#: of the residual in a joint's level, from none to twice as much (ColorBrewer's YlOrRd, also for the colour-blind)
SCALE = ("#ffffcc", "#fed976", "#fd8d3c", "#e31a1c", "#800026")
THRESHOLD, WORST = ("contact threshold", "threshold"), ("half of its largest", "half")


@dataclass(frozen=True)
class DrawnRobot:
    """What the page needs to draw the robot: its scene, and its motion as plain data."""

    scene: Scene
    motion: dict[str, Any]


def drawn_robot(found: Analysis, summary: Mapping[str, Any], urdf: str | None, meshes: MeshFinder) -> DrawnRobot | str:
    """The robot of an analysis with a series; where it cannot be drawn, why.

    Collision elements come first: they are a tenth of the size, and mostly there for just this.
    """
    series = found.series
    joints = [joint for joint in summary["joints"] if series is not None and joint["name"] in series.names]
    if series is None or not joints or not series.signals:
        return "no torque was compared"
    try:
        scene_scripts()
    except ValueError as error:
        return str(error)
    model = found.robot.model
    scene = scene_of(model, urdf, find=meshes.find, prefer="collision")
    return DrawnRobot(scene, motion_of(model, series, joints, summary["external_torque"]))


def motion_of(
    model: Model, series: Series, joints: Sequence[Mapping[str, Any]], found: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Motion for the page. joints: of the summary; found: its external torque, None where it was not asked for.

    The residual is that with the friction that was found. It is coloured by the joint's `level`: the threshold of
    contact, which is of torques without friction, too; without thresholds half of the joint's largest residual.
    """
    predicted = series.mean(WITH_FRICTION if WITH_FRICTION in series.signals else "predicted")
    residual = series.mean("measured") - predicted
    thresholds = (found or {}).get("threshold")
    shown = {}
    for joint in joints:
        own = residual[:, series.names.index(joint["name"])]
        level = float(np.nanmax(np.abs(own))) / 2.0 if thresholds is None else thresholds.get(joint["name"])
        shown[joint["name"]] = {"residual": packed(own), "level": level or None, "unit": joint["unit"]}
    single = [joint.name for joint in model.joints if joint.kind.nq == joint.kind.nv == 1]
    return {
        "positions": {name: packed(series.mean(POSITION)[:, series.names.index(name)]) for name in single},
        "joints": shown,
        "level": WORST if thresholds is None else THRESHOLD,
        "scale": SCALE,
        "contacts": [
            {"start": event["start"], "end": event["end"], "load": event.get("load", False), **_place(model, event)}
            for event in (found or {}).get("events") or ()
        ],
    }


def _place(model: Model, event: Mapping[str, Any]) -> dict[str, Any]:
    place = contact_place(model, event["peak"])
    return {"joints": list(event["peak"]), "nearest": place.nearest, "beyond": place.beyond}


def drawing_note(robot: DrawnRobot | str, series: Series) -> str:
    """What is to be known of the drawing; where there is none, why."""
    if isinstance(robot, str):
        return f"<p class='note'>The robot is not drawn: {escape(robot)}.</p>"
    scene, parts = robot.scene, []
    if scene.stand_ins:
        parts.append(f"Drawn as capsules, since their shapes are not at hand: {', '.join(scene.stand_ins)}.")
    if scene.left_out:
        parts.append(f"Left out: {'; '.join(scene.left_out)}.")
        if any(NOT_FOUND in reason for reason in scene.left_out):
            parts.append("Folders with meshes are given by --meshes.")
    if scene.still:
        parts.append(f"Drawn where they start, since they move along no single screw: {', '.join(scene.still)}.")
    if robot.motion["contacts"]:
        parts.append(
            "A force shows only in joints that move what it touches, and not in all of them: so it touched what the "
            "last joint moves in which it shows, or anything beyond, if the model is right."
        )
    if not series.exact:
        parts.append(f"Positions are means over {series.width:.3g} s.")
    return f"<p class='note'>The robot: {folded(' '.join(parts))}</p>" if parts else ""
