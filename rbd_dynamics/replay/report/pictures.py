# SPDX-License-Identifier: Apache-2.0
"""Pictures of the report, for papers and for places where no page can be opened."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rbd_dynamics.common.extras import require
from rbd_dynamics.common.pages.picture_style import SMALL, WIDTH
from rbd_dynamics.common.whole_files import whole_file
from rbd_dynamics.replay.report.figures import COLORS, torque_signals
from rbd_dynamics.replay.torques.series import Series


def write_pictures(folder: Path, summary: dict[str, Any], series: Series) -> list[Path]:
    """torque.png, residual.png, and external_torque.png where it was asked for. Needs matplotlib."""
    require("matplotlib")
    from matplotlib.figure import Figure

    signals_of: dict[str, Sequence[str]] = {"torque": torque_signals(series), "residual": ("residual",)}
    if "external" in series.signals:
        signals_of["external_torque"] = ("external",)
    joints = [joint for joint in summary["joints"] if joint["name"] in series.names]
    written = []
    for picture, signals in signals_of.items():
        height = 1.0 + 1.35 * max(1, len(joints))
        figure = Figure(figsize=(WIDTH, height))
        # not the constrained layout, which draws everything several times to measure it
        figure.subplots_adjust(left=0.12, right=0.98, bottom=0.45 / height, top=1.0 - 0.5 / height, hspace=0.35)
        axes = figure.subplots(max(1, len(joints)), 1, sharex=True, squeeze=False)[:, 0]
        for ax, joint in zip(axes, joints):
            column = series.names.index(joint["name"])
            for signal in signals:
                ax.plot(series.t, series.mean(signal)[:, column], color=COLORS[signal], lw=1.0, label=signal)
            if not series.exact:
                low, high = (part(signals[0])[:, column] for part in (series.low, series.high))
                ax.fill_between(series.t, low, high, color=COLORS[signals[0]], alpha=0.25, lw=0)
            if picture == "external_torque":
                _contacts(ax, joint["name"], summary.get("external_torque") or {})
            ax.set_title(f"{joint['name']}, {joint['unit']}", loc="left", y=1.0, fontsize=SMALL)
            ax.grid(alpha=0.3)
        if joints:
            axes[0].legend(loc="lower right", bbox_to_anchor=(1.0, 1.12), ncols=3, frameon=False, fontsize=SMALL)
        axes[-1].set_xlabel("time, s")
        path = folder / f"{picture}.png"
        with whole_file(path) as part:
            figure.savefig(part, dpi=150, format="png", pil_kwargs={"compress_level": 3})
        written.append(path)
    return written


def _contacts(ax: Any, name: str, found: dict[str, Any]) -> None:
    limit = (found.get("threshold") or {}).get(name)
    for level in () if limit is None else (limit, -limit):
        ax.axhline(level, color=COLORS["predicted"], lw=0.8, ls=":")
    for event in found.get("events") or ():
        ax.axvspan(event["start"], event["end"], color=COLORS["predicted"], alpha=0.18, lw=0)
