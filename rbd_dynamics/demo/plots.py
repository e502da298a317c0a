"""The demo's pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib
import numpy as np
from numpy.typing import NDArray

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from rbd_dynamics.demo.motion import ARM  # noqa: E402
from rbd_dynamics.demo.tracking import Run  # noqa: E402

Array = NDArray[np.float64]
COLORS = ("#d1495b", "#edae49", "#00798c")  # of the runs, tell apart also without colour vision
GREY = "#6c757d"
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
    "savefig.dpi": 110,
}


def short_name(joint: str) -> str:
    return joint.removeprefix("panda_").replace("joint", "joint ")


def plot_tracking(runs: Sequence[Run], path: Path) -> None:
    """Tracking error over time for every joint, and the root mean squares side by side."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(4, 2, figsize=(10.0, 8.0), sharex=False, layout="constrained")
        panels = list(axes.flat)
        for k, name in enumerate(ARM):
            axis = panels[k]
            for run, color in zip(runs, COLORS):
                axis.plot(run.times, 1e3 * run.error[:, k], color=color, linewidth=1.3, label=run.name)
            axis.axhline(0.0, color="black", linewidth=0.5)
            axis.set_title(short_name(name))
            axis.set_ylabel("error, mrad")
            axis.margins(x=0.0)
            if k >= len(ARM) - 2:
                axis.set_xlabel("time, s")
        _bars(panels[7], runs)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper right", ncols=len(runs), fontsize=10)
        figure.suptitle("Tracking error of a fast motion, same PD gains", x=0.01, ha="left", fontweight="bold")
        figure.savefig(path)
        plt.close(figure)


def _bars(axis: plt.Axes, runs: Sequence[Run]) -> None:
    width = 0.8 / len(runs)
    places = np.arange(len(ARM))
    for k, (run, color) in enumerate(zip(runs, COLORS)):
        axis.bar(places + (k - 0.5 * (len(runs) - 1)) * width, 1e3 * run.rms, width, color=color)
    axis.set_xticks(places, [str(k + 1) for k in range(len(ARM))])
    axis.set_xlabel("joint")
    axis.set_title("root mean square error")
    axis.set_ylabel("mrad")
    axis.set_yscale("log")
    axis.grid(axis="x", visible=False)


def plot_torques(run: Run, times: Array, planned: Array, limits: Array, path: Path) -> None:
    """Torques that the plan predicts and that acted, within the limits. planned: (N, joints) at times (N,)."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(4, 2, figsize=(10.0, 8.0), layout="constrained")
        panels = list(axes.flat)
        for k, name in enumerate(ARM):
            axis = panels[k]
            axis.plot(run.times, run.applied[:, k], color=COLORS[2], linewidth=1.2, label=f"applied ({run.name})")
            axis.plot(times, planned[:, k], color="black", linewidth=1.0, linestyle=(0, (4, 2)), label="planned")
            reach = 1.15 * max(np.abs(run.applied[:, k]).max(), np.abs(planned[:, k]).max())
            if limits[k] < 1.5 * reach:
                for sign in (-1.0, 1.0):
                    axis.axhline(sign * limits[k], color=COLORS[0], linewidth=1.0, label="limit" if sign > 0 else None)
            axis.set_title(f"{short_name(name)}, limit {limits[k]:g} N m")
            axis.set_ylabel("torque, N m")
            axis.margins(x=0.0)
            if k >= len(ARM) - 2:
                axis.set_xlabel("time, s")
        axis = panels[7]
        places = np.arange(len(ARM))
        axis.bar(places - 0.2, np.abs(planned).max(axis=0) / limits, 0.4, color=GREY, label="planned")
        axis.bar(places + 0.2, np.abs(run.applied).max(axis=0) / limits, 0.4, color=COLORS[2], label="applied")
        axis.axhline(1.0, color=COLORS[0], linewidth=1.0)
        axis.set_xticks(places, [str(k + 1) for k in range(len(ARM))])
        axis.set_xlabel("joint")
        axis.set_title("largest share of the limit")
        axis.grid(axis="x", visible=False)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper right", ncols=3, fontsize=10)
        figure.suptitle("Planned and applied torques", x=0.01, ha="left", fontweight="bold")
        figure.savefig(path)
        plt.close(figure)
