# SPDX-License-Identifier: Apache-2.0
"""The report as one file of HTML that needs no network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from rbd_dynamics.common.extras import require
from rbd_dynamics.common.page import folded, json_text, number, table, template
from rbd_dynamics.common.whole_files import write_whole
from rbd_dynamics.replay.report import figures
from rbd_dynamics.replay.report.drives import drives_section
from rbd_dynamics.replay.report.motion import DrawnRobot, drawing_note
from rbd_dynamics.replay.report.parts import estimate_cell, script
from rbd_dynamics.replay.torques.series import Series
from rbd_dynamics.scene import page_script

Summary = Mapping[str, Any]


def write_html(
    path: Path, summary: Summary, series: Series, *, robot: DrawnRobot | str = "its shape was not asked for"
) -> None:
    """A page from the contents of summary.json and what was drawn. Needs plotly, whose script it takes along.

    robot: in 3-D, or why it is not there (`drawn_robot`).
    """
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
    shown = robot if isinstance(robot, DrawnRobot) and drawn else None
    page, style = template(__package__, "page.html")
    title = f"{summary['robot']['name']}: {Path(summary['recording']['recording']).name}"
    write_whole(
        path,
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
            identified=_diagnosis(summary.get("diagnosis")) + _identified(summary) + _export(summary.get("export")),
            contacts=_contacts(summary.get("external_torque")),
            energy=_energy(summary.get("energy")),
            settings=_details(summary),
            times=json_text([None if t != t else round(t, 6) for t in series.t.tolist()]),
            figures=json_text(list(drawn.values())),
            darker=json_text(figures.DARK),
            plotly=get_plotlyjs(),
            robot=json_text(shown and shown.scene.content),
            motion=json_text(shown and shown.motion),
            drawing=drawing_note(robot, series) if drawn else "",
            stage="with-robot" if shown else "",
            scene=shown.scripts if shown else "",
            script=page_script() + script("plots.js") + (script("motion.js") if shown else "") + script("tables.js"),
        ),
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
    items = "".join(f"<li>{folded(text)}</li>" for text in warnings)
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


def _diagnosis(found: Mapping[str, Any] | None) -> str:
    """What explains the residual of each joint, the largest part first."""
    if not found:
        return ""
    rows = []
    for joint in found["joints"]:
        causes = [
            f"{escape(cause['name'])} {100 * cause['share']:.0f} %"
            + "".join(f", {escape(part['name'])} {estimate_cell(part)}" for part in cause["estimates"])
            for cause in joint["causes"]
        ]
        left = joint["left"]
        rows.append([
            escape(joint["joint"]), "<br>".join(causes) or ("none" if left is not None else "cannot be told"),
            "–" if left is None else f"{100 * left:.0f} %",
        ])  # fmt: skip
    note = (
        "<p class='note'>Shares of the residual’s mean square, each cause after those above it, on stretches of the "
        "recording that were not fitted.</p>"
    )
    shown = table(["joint", "causes", "unexplained"], rows, "words")
    return f"<section><h2>What explains the residual</h2>{shown}{note}</section>"


def _export(found: Mapping[str, Any] | None) -> str:
    """The three figures of what is exported."""
    if not found or not found["validation"]:
        return ""
    proof = found["validation"]
    rows = [
        [escape(name), *(number(value) for value in values), number(found["offsets"].get(name))]
        for name, *values in zip(
            proof["joints"], proof["before"], proof["base"], proof["exported"], proof["with_offsets"]
        )
    ]
    heads = ["joint", "before", "best fit", "exported", "with offsets.yaml", "offset"]
    said = f"<p>{escape(found['refused'])}</p>" if found["refused"] else ""
    note = f"<p class='note'>RMSE on each of {proof['folds']} stretches by a fit to the others.</p>"
    return f"<section><h2>The corrected description</h2>{said}{table(heads, rows)}{note}</section>"


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
        named = [
            {**joint[name], "name": f"{joint['joint']}: {name}"}
            for joint in friction["joints"]
            for name in ("offset", "coulomb", "viscous")
        ]
        parts += ["<h2>Friction</h2>", table(heads, rows), _findings(named), _INTERVALS]
    if drives := drives_section(summary.get("drives")):
        parts.append(drives)
    if payload := summary.get("payload"):
        rows = [
            [escape(part["name"]), estimate_cell(part)]
            for part in (payload["mass"], *payload["com"], *payload["inertia"])
        ]
        told = _findings((payload["mass"], *payload["com"], *payload["inertia"]))
        low, high = payload["mass"]["lower"], payload["mass"]["upper"]
        none = "<p>None that differs from zero.</p>" if low is not None and low <= 0.0 <= high else ""
        known = "".join(f"<li>{escape(text)}</li>" for text in payload.get("caveats") or ())
        beside = f'<div class="beside"><h3>Before you believe it</h3><ul>{known}</ul></div>' if known else ""
        numbers = f'<div class="pair">{table(["", ""], rows)}{beside}</div>'
        parts += [f"<h2>Load at {escape(payload['frame'])}</h2>", none, numbers, told, _INTERVALS]
    if inertias := summary.get("inertias"):
        rows = [
            [escape(base["name"]), estimate_cell(base), number(prior), number(consistent)]
            for base, prior, consistent in zip(inertias["base"], inertias["prior"], inertias["base_consistent"])
        ]
        heads = ["base parameter", "identified", "in the given model", "in the corrected model"]
        count = sum(base["identifiable"] for base in inertias["base"])
        name = f"{count} of {len(rows)} base parameters identified"
        body = f"{table(heads, rows)}{_findings(inertias['base'])}"
        parts += ["<h2>Inertias</h2>", f"<details><summary>{name}</summary>{body}</details>"]
    return f"<section>{''.join(parts)}</section>" if parts else ""


_INTERVALS = (
    "<p class='note'>± half of the interval of 95 %, for noise and for errors of the description of the size that the "
    "recording shows; – where the motion says nothing, or nothing that can be.</p>"
)


def _findings(parts: Sequence[Mapping[str, Any]]) -> str:
    """Why there are no numbers, where the data had some."""
    said: dict[str, list[str]] = {}
    for part in parts:
        if part.get("finding"):
            said.setdefault(part["finding"], []).append(part["name"])
    items = "".join(f"<li>{escape(', '.join(names))}: {escape(why)}</li>" for why, names in said.items())
    return f"<ul>{items}</ul>" if items else ""


def _contacts(found: Mapping[str, Any] | None) -> str:
    if not found:
        return ""
    rows = [
        [number(event["start"]), number(event["end"]),
         escape(_by_joint(event["peak"]) + (" (stays: a load?)" if event.get("load") else ""))]
        for event in found["events"]
    ]  # fmt: skip
    limits = _by_joint(found["threshold"])
    rate = found.get("false_alarms")
    why = f", for {number(rate)} false alarms an hour of motion" if rate else ""
    note = f"Thresholds{why}: {limits}."
    if held := _by_joint(found.get("breakaway") or {}):
        note += f" Friction may hold so much at rest, below which no push is seen there: {held}."
    doubt = found.get("doubt")
    none = f"No contact can be told: {escape(doubt)}." if doubt else "No contact was found."
    more = f"<p>{found['omitted']} more are not listed.</p>" if found.get("omitted") else ""
    what = table(["from, s", "to, s", "largest external torque"], rows) if rows else f"<p>{none}</p>"
    return f"<section><h2>Contacts</h2>{what}{more}<p class='note'>{escape(note)}</p></section>"


def _by_joint(values: Mapping[str, float | None]) -> str:
    return ", ".join(f"{name} {number(value)}" for name, value in values.items() if value is not None)


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
