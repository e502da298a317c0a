# SPDX-License-Identifier: Apache-2.0
"""Figures of the report as plain data for plotly.js: one row a joint, all with the same axis of time.

The page unpacks numbers (`packing`) when it draws them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.terms import TERMS
from rbd_dynamics.replay.identification.friction import friction_curve
from rbd_dynamics.replay.results.wrench_columns import AXES
from rbd_dynamics.replay.torques.series import WITH_FRICTION, Series
from rbd_dynamics.scene.packing import packed

Array = NDArray[np.float64]
Figure = dict[str, Any]

# Okabe and Ito's colours, which the colour-blind can tell apart, darker where they would not show on white
COLORS = {
    "measured": "#0072B2",
    "predicted": "#C75300",
    WITH_FRICTION: "#00875F",
    "residual": "#6E6E6E",
    "external": "#6E6E6E",
    "wrench": "#0072B2",
    "inertia": "#00875F",
    "coriolis": "#B0508A",
    "gravity": "#C75300",
    "spring": "#7D7300",
    "friction": "#0072B2",
}
#: and what they are in the dark
DARK = {
    "#0072B2": "#56B4E9",
    "#C75300": "#E69F00",
    "#00875F": "#2CC295",
    "#6E6E6E": "#B4B4B4",
    "#B0508A": "#E29BC4",
    "#7D7300": "#F0E442",
}
#: rows of the figure of a wrench
WRENCH_ROWS = [{"name": axis, "unit": "N m" if axis.startswith("m") else "N"} for axis in AXES]
TIMES = "times"  # in place of those of the series, which the page has once
ROW = 150  # pixels
GAP = 26  # between rows: the joint's name stands there
HEAD, FOOT = 60, 50
BLURRED = 0.2  # s: means over more than that say nothing of velocity


def torque_figure(series: Series, joints: Sequence[dict[str, Any]]) -> Figure:
    """Measured and predicted torque, also with the friction that was found."""
    return _rows(series, joints, torque_signals(series), band="measured")


def torque_signals(series: Series) -> list[str]:
    """What is drawn with the measured torque."""
    return ["measured", "predicted", *([WITH_FRICTION] if WITH_FRICTION in series.signals else [])]


def residual_figure(series: Series, joints: Sequence[dict[str, Any]]) -> Figure:
    """Measured less predicted torque."""
    return _rows(series, joints, ("residual",), band="residual")


def terms_figure(series: Series, joints: Sequence[dict[str, Any]]) -> Figure:
    """Terms of the model."""
    there = [name for name in TERMS if name in series.signals]
    used = [name for name in there if np.nanmax(np.abs(series.high(name)), initial=0.0) > 0.0]
    return _rows(series, joints, used)


def external_figure(series: Series, joints: Sequence[dict[str, Any]], found: dict[str, Any]) -> Figure:
    """External torque, its thresholds, and the contacts as shaded times."""
    figure = _rows(series, joints, ("external",), band="external")
    shapes = figure["layout"].setdefault("shapes", [])
    for row, joint in enumerate(joints):
        limit = (found.get("threshold") or {}).get(joint["name"])
        for level in () if limit is None else (limit, -limit):
            line = {"color": COLORS["predicted"], "width": 1, "dash": "dot"}
            shapes.append({"type": "line", "xref": "paper", "x0": 0, "x1": 1, "yref": f"y{_axis(row)}",
                           "y0": level, "y1": level, "line": line})  # fmt: skip
    for event in found.get("events") or ():
        fill = {"fillcolor": COLORS["predicted"], "opacity": 0.18, "line": {"width": 0}}
        shapes.append({"type": "rect", "xref": "x", "x0": event["start"], "x1": event["end"], "yref": "paper",
                       "y0": 0, "y1": 1, **fill})  # fmt: skip
    return figure


def wrench_figure(wrench: Series) -> Figure:
    """Moment and force at a frame, and two standard deviations around them."""
    mean, twice = wrench.mean("wrench"), 2.0 * wrench.mean("deviation")
    figure = _rows(wrench, WRENCH_ROWS, ("wrench",), around=(mean - twice, mean + twice))
    for trace in figure["data"]:
        if "name" in trace:
            trace["name"] = "wrench, with two standard deviations"
    return figure


def friction_figure(series: Series, joints: Sequence[dict[str, Any]], friction: dict[str, Any] | None) -> Figure | None:
    """Residual against velocity, with the friction that was found; None for a recording too long to draw."""
    if series.width > BLURRED:
        return None
    columns = min(4, max(1, len(joints)))
    rows = -(-len(joints) // columns)
    found = {joint["joint"]: joint for joint in (friction or {}).get("joints", ())}
    traces: list[dict[str, Any]] = []
    layout: dict[str, Any] = {
        "height": HEAD + FOOT + rows * 220, "showlegend": False, "annotations": [],
        "grid": {"rows": rows, "columns": columns, "pattern": "independent", "ygap": 0.45, "xgap": 0.22},
        "margin": {"t": 40, "b": FOOT, "l": 60, "r": 20},
    }  # fmt: skip
    for k, joint in enumerate(joints):
        column = series.names.index(joint["name"])
        velocity, residual = series.mean("velocity")[:, column], series.mean("residual")[:, column]
        axes = {"xaxis": f"x{_axis(k)}", "yaxis": f"y{_axis(k)}"}
        speed = "velocity, rad/s" if joint["unit"] == "N m" else "velocity, m/s"
        dots = {"color": COLORS["residual"], "size": 3, "opacity": 0.6}
        traces.append({"type": "scatter", "mode": "markers", "x": packed(velocity), "y": packed(residual),
                       "marker": dots, "name": joint["name"], **axes})  # fmt: skip
        curve = _friction_curve(found.get(joint["name"]), velocity)
        if curve is not None:
            traces.append({"type": "scatter", "mode": "lines", "x": packed(curve[0]), "y": packed(curve[1]),
                           "line": {"color": COLORS["predicted"], "width": 2}, "name": "friction", **axes})  # fmt: skip
        _title(layout, f"{joint['name']}, {joint['unit']}", f"x{_axis(k)}", f"y{_axis(k)}")
        layout[f"xaxis{_axis(k)}"] = {
            "title": {"text": speed if k >= len(joints) - columns else ""},
            "zeroline": True,
        }
    return {"data": traces, "layout": layout}


def _friction_curve(joint: dict[str, Any] | None, velocity: Array) -> tuple[Array, Array] | None:
    """Torque over a range of velocities; None where nothing was found."""
    if joint is None:
        return None
    offset, coulomb, viscous = (joint[name]["value"] or 0.0 for name in ("offset", "coulomb", "viscous"))
    bend = joint.get("stribeck") and tuple(joint["stribeck"][name]["value"] for name in ("breakaway", "speed"))
    v = np.linspace(np.nanmin(velocity), np.nanmax(velocity), 201)
    return v, friction_curve(v, offset, coulomb, viscous, stribeck=bend if bend and None not in bend else None)


def _rows(
    series: Series,
    joints: Sequence[dict[str, Any]],
    signals: Sequence[str],
    band: str = "",
    *,
    around: tuple[Array, Array] | None = None,
) -> Figure:
    """Lines of the signals; around `band`, where intervals are wider than samples, what is between its extremes.

    around: what is between these (intervals, joints), in place of that.

    The page makes outlines of `y` and `upTo`, one for each stretch: a line filled to the next is so over gaps, too.
    """
    count = max(1, len(joints))
    height = HEAD + FOOT + count * ROW + (count - 1) * GAP
    inside = height - HEAD - FOOT
    layout: dict[str, Any] = {
        "height": height, "hovermode": "x unified", "annotations": [],
        "margin": {"t": HEAD, "b": FOOT, "l": 60, "r": 20},
        "legend": {"orientation": "h", "x": 0, "y": 1 + 28 / inside, "yanchor": "bottom"},
        "xaxis": {"title": {"text": "time, s"}, "anchor": f"y{_axis(count - 1)}", "showspikes": True},
    }  # fmt: skip
    if around is None and band and not series.exact:
        around = series.low(band), series.high(band)
    traces: list[dict[str, Any]] = []
    for row, joint in enumerate(joints):
        column = series.names.index(joint["name"])
        top = 1.0 - row * (ROW + GAP) / inside
        layout[f"yaxis{_axis(row)}"] = {"domain": [max(0.0, top - ROW / inside), top], "nticks": 5, "zeroline": True}
        _title(layout, f"{joint['name']}, {joint['unit']}", "x", f"y{_axis(row)}", at=top)
        axis = {"yaxis": f"y{_axis(row)}", "xaxis": "x"}
        if around is not None:
            low, high = (packed(values[:, column]) for values in around)
            traces.append({"type": "scatter", "mode": "lines", "x": TIMES, "y": low, "upTo": high, "fill": "toself",
                           "line": {"width": 0}, "fillcolor": COLORS[band or signals[0]] + "44", "hoverinfo": "skip",
                           "showlegend": False, **axis})  # fmt: skip
        for signal in signals:
            traces.append({"type": "scatter", "mode": "lines", "x": TIMES,
                           "y": packed(series.mean(signal)[:, column]),
                           "line": {"color": COLORS[signal], "width": 1.4}, "name": signal, "legendgroup": signal,
                           "showlegend": row == 0, **axis})  # fmt: skip
    return {"data": traces, "layout": layout}


def _title(layout: dict[str, Any], text: str, x: str, y: str, at: float | None = None) -> None:
    """Left above a plot."""
    place = {"yref": f"{y} domain", "y": 1} if at is None else {"yref": "paper", "y": at}
    layout["annotations"].append({"text": _plain(text), "showarrow": False, "xref": f"{x} domain", "x": 0,
                                  "xanchor": "left", "yanchor": "bottom", **place})  # fmt: skip


def _plain(text: str) -> str:
    """plotly takes tags in its texts for markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _axis(row: int) -> str:
    """plotly's name of the first axis has no number."""
    return "" if row == 0 else str(row + 1)
