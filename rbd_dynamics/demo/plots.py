# SPDX-License-Identifier: Apache-2.0
"""The demo's pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from rbd_dynamics.demo.motion import ARM
from rbd_dynamics.demo.tracking import Run

Array = NDArray[np.float64]
COLORS = ("#d1495b", "#edae49", "#00798c")  # of the runs, tell apart also without colour vision
STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "savefig.dpi": 100,
}


def short_name(joint: str) -> str:
    return joint.removeprefix("panda_").replace("joint", "joint ")


def plot_tracking(runs: Sequence[Run], path: Path) -> None:
    """Tracking error over time for every joint, and the root mean squares side by side."""
    with rc_context(STYLE):
        figure, panels = _grid("Tracking error of a fast motion, the same PD gains in all runs")
        for k, axis in enumerate(panels[: len(ARM)]):
            for run, color in zip(runs, COLORS):
                axis.plot(run.times, 1e3 * run.error[:, k], color=color, linewidth=1.4, label=run.name)
            axis.axhline(0.0, color="black", linewidth=0.5)
            _time_axis(axis, k, runs[0].times, "mrad")
            axis.set_title(short_name(ARM[k]))
        _rms_bars(panels[-1], runs)
        _finish(figure, panels[0], path)


def plot_torques(run: Run, times: Array, planned: Array, limits: Array, path: Path) -> None:
    """Torques that the plan predicts and that acted, and the limits. planned: (N, joints) at times (N,)."""
    with rc_context(STYLE):
        figure, panels = _grid("Planned and applied torques")
        for k, axis in enumerate(panels[: len(ARM)]):
            axis.plot(run.times, run.applied[:, k], color=COLORS[2], linewidth=1.4, label=f"applied, {run.name}")
            axis.plot(times, planned[:, k], color="black", linewidth=1.0, linestyle=(0, (4, 2)), label="planned")
            _time_axis(axis, k, times, "N m")
            axis.set_title(f"{short_name(ARM[k])}, limit {limits[k]:g} N m")
        axis, places = panels[-1], np.arange(len(ARM))
        axis.bar(
            places - 0.2, 100.0 * np.abs(planned).max(axis=0) / limits, 0.36, color="none", edgecolor="black", ls="--"
        )  # as the lines of the other panels
        axis.bar(places + 0.2, 100.0 * np.abs(run.applied).max(axis=0) / limits, 0.4, color=COLORS[2])
        axis.axhline(100.0, color=COLORS[0], linewidth=1.0)
        axis.set_title("largest share of the limit")
        _joint_axis(axis, "%")
        _finish(figure, panels[0], path)


def plot_pressing(times: Array, path: Array, wanted: Array, force: Array, commanded: float, file: Path) -> None:
    """Path (N, 2) of the tool in m, and force (N,) on the table."""
    with rc_context(STYLE):
        figure = Figure(figsize=(12.0, 4.2), layout="constrained")
        left, middle, right = figure.subplots(1, 3, width_ratios=(1.0, 1.3, 1.3))
        figure.suptitle("A circle on a table, pressed with a desired force", x=0.01, ha="left", fontweight="bold")
        left.plot(*(1e3 * path.T), color=COLORS[2], linewidth=1.4)
        left.plot(*(1e3 * wanted.T), color="black", linewidth=0.8, linestyle=(0, (4, 3)))
        left.set_aspect("equal")
        left.set_title("path, mm; dashed: desired")
        middle.plot(times, 1e3 * np.linalg.norm(path - wanted, axis=1), color=COLORS[2], linewidth=1.2)
        middle.set_title("distance from the desired point, mm")
        right.plot(times, force, color=COLORS[2], linewidth=1.0)
        right.axhline(commanded, color="black", linewidth=0.8, linestyle=(0, (4, 3)))
        right.set_ylim(0.0, 1.5 * commanded)
        right.set_title("normal force, N; dashed: desired")
        for axis in (middle, right):
            axis.set_xlabel("time, s")
            axis.set_xlim(times[0], times[-1])
        figure.savefig(file)


def _grid(title: str) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(12.0, 5.2), layout="constrained")
    axes = figure.subplots(2, 4)
    figure.suptitle(f"{title}\n", x=0.01, ha="left", fontweight="bold", fontsize=12)  # and room for the legend
    return figure, list(axes.flat)


def _time_axis(axis: Axes, k: int, times: Array, unit: str) -> None:
    axis.set_xlim(0.0, times[-1])
    if k % 4 == 0:
        axis.set_ylabel(unit)
    if k >= 4:
        axis.set_xlabel("time, s")


def _joint_axis(axis: Axes, unit: str) -> None:
    axis.set_xticks(np.arange(len(ARM)), [str(k + 1) for k in range(len(ARM))])
    axis.set_xlabel("joint")
    axis.set_ylabel(unit)
    axis.grid(axis="x", visible=False)


def _rms_bars(axis: Axes, runs: Sequence[Run]) -> None:
    width = 0.8 / len(runs)
    places = np.arange(len(ARM))
    for k, (run, color) in enumerate(zip(runs, COLORS)):
        axis.bar(places + (k - 0.5 * (len(runs) - 1)) * width, 1e3 * run.rms, width, color=color)
    axis.set_yscale("log")
    axis.yaxis.set_major_formatter("{x:g}")
    axis.set_title("root mean square, logarithmic")
    _joint_axis(axis, "mrad")


def _finish(figure: Figure, axis: Axes, path: Path) -> None:
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper right", ncol=3, fontsize=10)
    figure.savefig(path)
