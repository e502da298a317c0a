# SPDX-License-Identifier: Apache-2.0
"""The report as one file of HTML that needs no network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from rbd_dynamics.common.extras import require
from rbd_dynamics.common.pages.page import folded, json_text, number, table, template
from rbd_dynamics.common.whole_files import write_whole
from rbd_dynamics.replay.questions import QUESTIONS
from rbd_dynamics.replay.report import figures
from rbd_dynamics.replay.report.motion import DrawnRobot, drawing_note
from rbd_dynamics.replay.torques.series import Series
from rbd_dynamics.scene import page_script, scene_scripts

Summary = Mapping[str, Any]


def write_html(
    path: Path,
    summary: Summary,
    series: Series,
    *,
    wrench: tuple[str, Series] | None = None,
    robot: DrawnRobot | str = "its shape was not asked for",
    scripts: str = "",
) -> None:
    """A page from the contents of summary.json and what was drawn. Needs plotly, whose script it takes along.

    wrench: frame, and what `Analysis.wrench` says of the same times.
    robot: in 3-D, or why it is not there (`drawn_robot`).
    scripts: folder with the scripts of `write_scripts`, seen from the page; "": they stand in the page.
    """
    require("plotly")
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
        if wrench is not None:
            drawn[f"Wrench at {wrench[0]}"] = figures.wrench_figure(wrench[1])
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
            answers=_answers(summary),
            settings=_details(summary),
            times=json_text([None if t != t else round(t, 6) for t in series.t.tolist()]),
            figures=json_text(list(drawn.values())),
            darker=json_text(figures.DARK),
            sources="'self' file:" if scripts else "",
            plotly=_library("plotly", scripts),
            robot=json_text(shown and shown.scene.content),
            motion=json_text(shown and shown.motion),
            drawing=drawing_note(robot, series) if drawn else "",
            stage="with-robot" if shown else "",
            scene=_library("scene", scripts) if shown else "",
            script=page_script() + _script("plots.js") + (_script("motion.js") if shown else "") + _script("tables.js"),
        ),
    )


def write_scripts(folder: Path) -> None:
    """The scripts that are the same for all reports, megabytes, once for many of them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in LIBRARIES:
        with suppress(ValueError):  # a package is missing: reports do without, or say so
            write_whole(folder / _file_of(name), LIBRARIES[name]())


def _plotly() -> str:
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


#: {name: the text of a script}
LIBRARIES: dict[str, Callable[[], str]] = {"plotly": _plotly, "scene": scene_scripts}


@cache
def _file_of(name: str) -> str:
    """Name with a digest: after an update of a package older pages keep what they were made for."""
    return f"{name}-{sha256(LIBRARIES[name]().encode()).hexdigest()[:12]}.js"


def _library(name: str, scripts: str) -> str:
    """Script element with one of `LIBRARIES`, or with a link to it."""
    if not scripts:
        return f"<script>{LIBRARIES[name]()}</script>"
    return f'<script src="{escape(scripts)}/{_file_of(name)}"></script>'


def _script(name: str) -> str:
    """JavaScript of this folder."""
    return (files(__package__) / name).read_text(encoding="utf-8")


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
    return f'<section class="warnings"><h2>Before you trust these numbers</h2><ul>{items}</ul></section>'


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


def _answers(summary: Summary) -> str:
    """What explains the residual; then what was identified, and what of that is exported; then contacts and energy."""
    parts = {"residual": "", "model": "", "motion": ""}
    for question in QUESTIONS:
        if found := summary.get(question.name):
            parts[question.place] += question.section(found)
    identified = f"<section>{parts['model']}</section>" if parts["model"] else ""
    return "\n".join((parts["residual"] + identified + _export(summary.get("export")), parts["motion"]))


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
