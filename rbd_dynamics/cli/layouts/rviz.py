# SPDX-License-Identifier: Apache-2.0
"""A configuration of rviz2: displays of its own plugins, in the form in which it saves them."""

from __future__ import annotations

from typing import Any

import yaml

from rbd_dynamics.cli.layouts.views import POSE, Mark, Views

COLOURS = ("31; 119; 180", "255; 127; 14", "148; 103; 189", "23; 190; 207")


def rviz_config(views: Views, *, tf_prefix: str) -> str:
    """The YAML: grid, frames, the robot, and what the nodes tell in poses and wrenches."""
    displays: list[dict[str, Any]] = [
        _display("Grid", "Grid", {"Cell Size": 0.25, "Plane Cell Count": 12, "Reference Frame": "<Fixed Frame>"}),
        _display("TF", "TF", {"Marker Scale": 0.3, "Show Names": False}, enabled=False),
        _display(
            "RobotModel",
            "Robot",
            {
                "Description Source": "Topic",
                "Description Topic": _topic(views.description, durability="Transient Local", depth=1),
                "TF Prefix": tf_prefix[:-1] if tf_prefix.endswith("/") else "",  # rviz puts a slash behind it
                "Alpha": 0.7,
            },
        ),
    ]
    displays += [_mark(mark, COLOURS[k % len(COLOURS)]) for k, mark in enumerate(views.marks)]
    manager = {
        "Class": "",
        "Displays": displays,
        "Enabled": True,
        "Global Options": {"Background Color": "48; 48; 48", "Fixed Frame": views.root, "Frame Rate": 30},
        "Name": "root",
        "Tools": [{"Class": f"rviz_default_plugins/{tool}"} for tool in ("Interact", "MoveCamera", "Select")],
        "Value": True,
        "Views": {
            "Current": {
                "Class": "rviz_default_plugins/Orbit",
                "Distance": 2.5,
                "Focal Point": {"X": 0, "Y": 0, "Z": 0.4},
                "Name": "Current View",
                "Pitch": 0.5,
                "Target Frame": "<Fixed Frame>",
                "Value": "Orbit (rviz)",
                "Yaw": 0.8,
            },
            "Saved": None,
        },
    }
    panels = [{"Class": f"rviz_common/{kind}", "Name": kind} for kind in ("Displays", "Views", "Time")]
    return yaml.safe_dump({"Panels": panels, "Visualization Manager": manager}, sort_keys=False, allow_unicode=True)


def _display(kind: str, name: str, options: dict[str, Any], *, enabled: bool = True) -> dict[str, Any]:
    return {"Class": f"rviz_default_plugins/{kind}", "Name": name, "Enabled": enabled, "Value": enabled, **options}


def _mark(mark: Mark, colour: str) -> dict[str, Any]:
    if mark.kind != POSE:
        options = {"Force Color": colour, "Force Arrow Scale": 0.02, "Torque Arrow Scale": 0.1, "Arrow Width": 0.1}
        # a sensor's wrench is best effort; rviz takes both so
        return _display("Wrench", mark.name, {**options, "Topic": _topic(mark.topic, reliability="Best Effort")})
    shape = (
        {"Shape": "Arrow", "Shaft Length": 0.15, "Shaft Radius": 0.005, "Head Length": 0.04, "Head Radius": 0.012}
        if mark.is_arrow
        else {"Shape": "Axes", "Axes Length": 0.12, "Axes Radius": 0.006}
    )
    return _display("Pose", mark.name, {"Color": colour, **shape, "Topic": _topic(mark.topic)})


def _topic(name: str, *, durability: str = "Volatile", reliability: str = "Reliable", depth: int = 5) -> dict[str, Any]:
    return {
        "Value": name,
        "Depth": depth,
        "History Policy": "Keep Last",
        "Reliability Policy": reliability,
        "Durability Policy": durability,
    }
