# SPDX-License-Identifier: Apache-2.0
"""The report as one file of HTML that needs no network."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from rbd_dynamics.replay.packages import require
from rbd_dynamics.replay.report import figures
from rbd_dynamics.replay.report.tables import estimate_cell, number, table, template
from rbd_dynamics.replay.series import Series

Summary = Mapping[str, Any]


def write_html(path: Path, summary: Summary, series: Series) -> None:
    """A page from the contents of summary.json and what was drawn. Needs plotly, whose script it takes along."""
    require("plotly")
    from plotly.offline import get_plotlyjs

    joints = [joint for joint in summary.get("joints") or () if joint["name"] in series.names]
    drawn: dict[str, figures.Figure] = {}
    if joints and series.signals:
        drawn["Torque"] = figures.torque_figure(series, joints)
        drawn["Residual"] = figures.residual_figure(series, joints)
        drawn["Terms of the model"] = figures.terms_figure(series, joints)
        friction = figures.friction_figure(series, joints, summary.get("friction"))
        if friction is not None:
            drawn["Residual over velocity"] = friction
        if "external" in series.signals:
            drawn["External torque"] = figures.external_figure(series, joints, summary.get("external_torque") or {})
    page, style = template(__package__, "page.html")
    title = f"{summary['robot']['name']}: {Path(summary['recording']['recording']).name}"
    path.write_text(
        page.substitute(
            style=style,
            title=escape(title),
            about=_about(summary),
            warnings=_warnings(summary.get("warnings") or ()),
            headline=escape(headline(summary)),
            joints=_joint_table(summary),
            tabs="".join(
                f'<button role="tab" data-figure="{k}">{escape(name)}</button>' for k, name in enumerate(drawn)
            ),
            identified=_identified(summary),
            contacts=_contacts(summary.get("external_torque")),
            energy=_energy(summary.get("energy")),
            settings=_details(summary),
            times=_json([None if t != t else round(t, 6) for t in series.t.tolist()]),
            figures=_json(list(drawn.values())),
            plotly=get_plotlyjs(),
        ),
        encoding="utf-8",
    )


def headline(summary: Summary) -> str:
    """What the page says in one sentence."""
    joints = [joint for joint in summary.get("joints") or () if joint.get("nrmse") is not None]
    if not summary.get("joints"):
        return "No torque was compared."
    if not joints:
        return "The measured torques do not change: there is nothing for the model to explain but their bias."
    explained = [max(0.0, 1.0 - joint["nrmse"] ** 2) for joint in joints]
    worst = max(joints, key=lambda joint: joint["nrmse"])
    median = sorted(explained)[len(explained) // 2]
    return (
        f"The model explains {100 * median:.1f} % of the torque's variance in the median joint; least of all in "
        f"{worst['name']}, {100 * max(0.0, 1.0 - worst['nrmse'] ** 2):.0f} %, where it is off by "
        f"{number(worst['rmse'])} {worst['unit']} RMS."
    )


def _about(summary: Summary) -> str:
    recording, robot = summary["recording"], summary["robot"]
    parts = [
        f"{len(robot['joints'])} joints, {number(robot['mass'])} kg",
        f"{number(recording['duration'])} s",
        f"{recording['messages']} messages on {recording['topic']}",
        f"{number(recording['samples_per_second'])} samples per second",
        f"filtered at {number(recording['cutoff'])} Hz",
        f"rbd_dynamics {summary['rbd_dynamics']}, {summary['created']}",
    ]
    return " · ".join(escape(part) for part in parts)


def _warnings(warnings: Sequence[str]) -> str:
    if not warnings:
        return ""
    items = "".join(f"<li>{escape(text)}</li>" for text in warnings)
    return f'<section class="warnings"><h2>Know first</h2><ul>{items}</ul></section>'


def _joint_table(summary: Summary) -> str:
    fitted = {joint["joint"]: joint["rmse_after"] for joint in (summary.get("friction") or {}).get("joints", ())}
    heads = [
        "joint",
        "RMSE",
        "with friction found",
        "NRMSE",
        "explained",
        "correlation",
        "bias",
        "worst",
        "RMS torque",
        "",
    ]
    rows = []
    for joint in summary.get("joints") or ():
        nrmse = joint["nrmse"]
        share = None if nrmse is None else max(0.0, 1.0 - nrmse**2)
        bar = "" if share is None else f'<meter min="0" max="1" value="{share:.4f}">{100 * share:.0f} %</meter>'
        rows.append([
            escape(joint["name"]), number(joint["rmse"]), number(fitted.get(joint["name"])), number(nrmse), bar,
            number(joint["correlation"]), number(joint["bias"]), number(joint["worst"]), number(joint["measured_rms"]),
            escape(joint["unit"]),
        ])  # fmt: skip
    return table(heads, rows, "sortable")


def _identified(summary: Summary) -> str:
    parts = []
    if friction := summary.get("friction"):
        heads = ["joint", "offset", "Coulomb", "viscous", "breakaway", "Stribeck speed", "RMSE before", "after"]
        rows = []
        for joint in friction["joints"]:
            bend = joint.get("stribeck") or {}
            rows.append([
                escape(joint["joint"]), *(estimate_cell(joint[name]) for name in ("offset", "coulomb", "viscous")),
                *(estimate_cell(bend[name]) if name in bend else "–" for name in ("breakaway", "speed")),
                number(joint["rmse_before"]), number(joint["rmse_after"]),
            ])  # fmt: skip
        parts += ["<h2>Friction</h2>", table(heads, rows), _INTERVALS]
    if payload := summary.get("payload"):
        rows = [
            [escape(part["name"]), estimate_cell(part)]
            for part in (payload["mass"], *payload["com"], *payload["inertia"])
        ]
        low, high = payload["mass"]["lower"], payload["mass"]["upper"]
        none = "<p>None that differs from zero.</p>" if low is not None and low <= 0.0 <= high else ""
        parts += [f"<h2>Load at {escape(payload['frame'])}</h2>", none, table(["", ""], rows), _INTERVALS]
    if inertias := summary.get("inertias"):
        rows = [
            [escape(base["name"]), estimate_cell(base), number(prior), number(consistent)]
            for base, prior, consistent in zip(inertias["base"], inertias["prior"], inertias["base_consistent"])
        ]
        heads = ["base parameter", "identified", "in the given model", "in the corrected model"]
        count = sum(base["identifiable"] for base in inertias["base"])
        name = f"{count} of {len(rows)} base parameters identified"
        parts += ["<h2>Inertias</h2>", f"<details><summary>{name}</summary>{table(heads, rows)}</details>"]
    return f"<section>{''.join(parts)}</section>" if parts else ""


_INTERVALS = "<p class='note'>± half of the interval of 95 %; – where the motion says nothing.</p>"


def _contacts(found: Mapping[str, Any] | None) -> str:
    if not found:
        return ""
    rows = [
        [number(event["start"]), number(event["end"]),
         escape(", ".join(f"{name} {number(peak)}" for name, peak in event["peak"].items()))]
        for event in found["events"]
    ]  # fmt: skip
    limits = ", ".join(f"{name} {number(value)}" for name, value in found["threshold"].items() if value is not None)
    more = f"<p>{found['omitted']} more are not listed.</p>" if found.get("omitted") else ""
    what = table(["from, s", "to, s", "largest external torque"], rows) if rows else "<p>Nothing was touched.</p>"
    return f"<section><h2>Contacts</h2>{what}{more}<p class='note'>Thresholds: {escape(limits)}</p></section>"


def _energy(found: Mapping[str, Any] | None) -> str:
    if not found:
        return ""
    heads = ["joint", "mean power, W", "largest, W", "work in, J", "work out, J", "by the model, J"]
    keys = ("mean_power", "largest_power", "work_in", "work_out", "predicted_work")
    rows = [[escape(joint["name"]), *(number(joint[key]) for key in keys)] for joint in found["joints"]]
    text = f"The energy of the model changed by {number(found['change'])} J"
    if found["work"] is not None:
        text = (
            f"The joints did {number(found['work'])} J of work; the energy of the model changed by "
            f"{number(found['change'])} J; {number(found['lost'])} J were lost to friction, or to the model's errors"
        )
    return f"<section><h2>Energy</h2><p>{text}.</p>{table(heads, rows)}</section>"


def _details(summary: Summary) -> str:
    """What was chosen and noticed, as it stands in summary.json."""

    def rows(content: Mapping[str, Any]) -> list[list[str]]:
        return [[escape(str(key)), escape(_short(value))] for key, value in content.items()]

    signals = [
        [escape(joint["name"]), *(number(joint["uncertainty"].get(key)) for key in ("q", "v", "a", "tau"))]
        for joint in summary.get("joints") or ()
        if joint.get("uncertainty")
    ]
    heads = ["joint", "position", "velocity", "acceleration", "torque"]
    noise = "<p class='note'>Standard deviations, taking what the filter removed for white noise; SI units.</p>"
    left = f"<details><summary>Noise left in the signals</summary>{noise}{table(heads, signals)}</details>"
    parts = {
        "How it was read": summary["recording"],
        "Settings": summary["settings"],
        "Questions": summary.get("questions"),
        "Events": summary["events"],
    }
    return (left if signals else "") + "".join(
        f"<details><summary>{name}</summary>{table(['', ''], rows(content))}</details>"
        for name, content in parts.items()
        if content
    )


def _short(value: Any) -> str:
    if isinstance(value, float):
        return number(value)
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "none"
    return "automatic" if value is None else str(value) if value != {} else "none"


def _json(content: Any) -> str:
    """Inside of a script element, where nothing may look like its end."""
    return json.dumps(content, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
