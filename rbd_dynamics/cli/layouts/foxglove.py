# SPDX-License-Identifier: Apache-2.0
"""A layout of Foxglove, as "import from file" reads it."""

from __future__ import annotations

import json
from typing import Any

from rbd_dynamics.cli.layouts.views import POSE, Chart, Mark, Views

SCENE, SUMMARY, TABS = "3D!scene", "DiagnosticSummary!state", "Tab!charts"


def foxglove_layout(views: Views) -> str:
    """The JSON: the robot with what is drawn beside it and the diagnostics; charts in tabs, one for each node."""
    panels: dict[str, Any] = {
        SCENE: {
            "followTf": views.root,
            "followMode": "follow-none",
            "layers": {
                "grid": {"layerId": "foxglove.Grid", "visible": True, "size": 4, "divisions": 8},
                "robot": {
                    "layerId": "foxglove.Urdf", "visible": True, "sourceType": "topic", "topic": views.description,
                },
            },
            "topics": {mark.topic: _drawn(mark) for mark in views.marks if mark.kind == POSE},
        },
        SUMMARY: {
            "topicToRender": "/diagnostics", "minLevel": 0, "pinnedIds": [], "hardwareIdFilter": "",
            "sortByLevel": True,
        },
    }  # fmt: skip
    tabs = []
    for name, charts in views.tabs.items():
        ids = [f"Plot!{name}{k}" for k in range(len(charts))]
        panels.update(zip(ids, map(_plot, charts)))
        tabs.append({"title": name, "layout": _column(ids)})
    panels[TABS] = {"activeTabIdx": 0, "tabs": tabs}
    return json.dumps(
        {
            "configById": panels,
            "globalVariables": {},
            "userNodes": {},
            "playbackConfig": {"speed": 1},
            "layout": {
                "direction": "row",
                "first": {"direction": "column", "first": SCENE, "second": SUMMARY, "splitPercentage": 70},
                "second": TABS,
                "splitPercentage": 45,
            },
        },
        indent=2,
    )


def _drawn(mark: Mark) -> dict[str, Any]:
    if mark.is_arrow:
        return {"visible": True, "type": "arrow", "arrowScale": [0.2, 0.02, 0.02], "color": "#ff7f0eff"}
    return {"visible": True, "type": "axis", "axisScale": 0.2}


def _plot(chart: Chart) -> dict[str, Any]:
    return {
        "title": chart.title,
        "paths": [
            {"value": curve.path, "label": curve.label, "enabled": True, "timestampMethod": "receiveTime"}
            for curve in chart.curves
        ],
        "showLegend": True,
        "isSynced": True,
        "showTooltips": True,
        "xAxisVal": "timestamp",
        "followingViewWidth": 10,
    }


def _column(ids: list[str]) -> Any:
    """Panels one below the other, all of one height: a panel, or a split of one and the rest."""
    if len(ids) == 1:
        return ids[0]
    return {
        "direction": "column", "first": ids[0], "second": _column(ids[1:]), "splitPercentage": 100.0 / len(ids),
    }  # fmt: skip
