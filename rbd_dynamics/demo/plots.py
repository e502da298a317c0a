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

from rbd_dynamics.common.example_robots import robots, shares
from rbd_dynamics.common.pages.picture_style import COLORS, NORMAL, STYLE, new_figure
from rbd_dynamics.demo import panda
from rbd_dynamics.demo.motion import ARM
from rbd_dynamics.demo.tracking import Run
from rbd_dynamics.robot import Robot
from rbd_dynamics.scene import MeshFinder, scene_of
from rbd_dynamics.scene.on_paper import View, draw_robot, triangles_of

Array = NDArray[np.float64]
COLUMNS = 2
EYE = View(azimuth=35.0, elevation=18.0)
POSTURES = (0.20, 0.40)  # of the way of the motion: what is drawn of it, the last one in full
METAL = "#dfe5ec"
DASHED = (0, (4, 3))


def short_name(joint: str) -> str:
    return joint.removeprefix("panda_").replace("joint", "joint ")


def plot_tracking(runs: Sequence[Run], robot: Robot, path: Path) -> None:
    """The robot in the motion, with its tool's path in each run, and the root mean square of each joint's error."""
    with rc_context(STYLE):
        figure = new_figure(3.0)
        left, right = figure.subplots(1, 2, width_ratios=(1.45, 1.0))
        _motion(left, robot, runs)
        _rms_bars(right, runs)
        _finish(figure, left, "A fast motion, the same PD gains in all runs", path)


def plot_tracking_by_joint(runs: Sequence[Run], path: Path) -> None:
    """Tracking error over time for every joint, and the root mean squares side by side."""
    with rc_context(STYLE):
        figure, panels = _grid()
        for k, axis in enumerate(panels[: len(ARM)]):
            for run, color in zip(runs, COLORS):
                axis.plot(run.times, 1e3 * run.error[:, k], color=color, linewidth=1.2, label=run.name)
            axis.axhline(0.0, color="black", linewidth=0.5)
            _time_axis(axis, k, runs[0].times)
            axis.set_title(f"{short_name(ARM[k])}: error, mrad")
        _rms_bars(panels[-1], runs)
        _finish(figure, panels[0], "A fast motion, the same PD gains in all runs", path)


def _motion(axes: Axes, robot: Robot, runs: Sequence[Run]) -> None:
    """The robot in some postures, in the last one in full, and the path of its tool."""
    find = MeshFinder(near=robots()[panda.DESCRIPTION], packages=shares()).find
    triangles = triangles_of(scene_of(robot.model, panda.description(), find=find, prefer="collision"))
    wanted = runs[0].desired
    for share in POSTURES:
        q = wanted[round(share * (len(wanted) - 1))]
        draw_robot(axes, triangles, _poses(robot, q), EYE, color=METAL, pale=0.0 if share == POSTURES[-1] else 0.7)
    for run, color in zip(runs, COLORS):
        axes.plot(*_way(robot, run.measured), color=color, linewidth=1.2, label=run.name)
    axes.plot(*_way(robot, wanted), color="black", linewidth=0.8, linestyle=DASHED, label="wanted")
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.margins(0.01)
    axes.autoscale_view()
    axes.set_title("path of the tool")


def _way(robot: Robot, positions: Array) -> Array:
    """(2, N) of the tool, as the picture shows it."""
    return EYE(np.asarray(robot.pose(positions, panda.TOOL))[:, :3, 3])[:, :2].T


def _poses(robot: Robot, q: Array) -> dict[int, Array]:
    """Poses of the bodies, (4, 4)."""
    poses = {-1: np.eye(4)}
    for frame in robot.model.frames:
        if frame.body not in poses:
            own = np.eye(4)
            own[:3, :3], own[:3, 3] = np.reshape(frame.placement.rotation, (3, 3)), frame.placement.p
            poses[frame.body] = np.asarray(robot.pose(q, frame.name)) @ np.linalg.inv(own)
    return poses


def plot_torques(run: Run, times: Array, planned: Array, limits: Array, path: Path) -> None:
    """Torques that the plan predicts and that acted, and the limits. planned: (N, joints) at times (N,)."""
    with rc_context(STYLE):
        figure, panels = _grid()
        for k, axis in enumerate(panels[: len(ARM)]):
            axis.plot(run.times, run.applied[:, k], color=COLORS[2], linewidth=1.4, label=f"applied, {run.name}")
            axis.plot(times, planned[:, k], color="black", linewidth=1.0, linestyle=DASHED, label="planned")
            _time_axis(axis, k, times)
            axis.set_title(f"{short_name(ARM[k])}, limit {limits[k]:g} N m")
        axis, places = panels[-1], np.arange(len(ARM))
        axis.bar(
            places - 0.2, 100.0 * np.abs(planned).max(axis=0) / limits, 0.36, color="none", edgecolor="black", ls="--"
        )  # as the lines of the other panels
        axis.bar(places + 0.2, 100.0 * np.abs(run.applied).max(axis=0) / limits, 0.4, color=COLORS[2])
        axis.axhline(100.0, color=COLORS[0], linewidth=1.0)
        axis.set_title("largest share of the limit, %")
        _joint_axis(axis)
        _finish(figure, panels[0], "Planned and applied torques, N m", path)


def plot_pressing(times: Array, path: Array, wanted: Array, force: Array, commanded: float, file: Path) -> None:
    """Path (N, 2) of the tool in m, and force (N,) on the table."""
    with rc_context(STYLE):
        figure = new_figure(4.6)
        figure.suptitle("A circle on a table, pressed with a desired force", x=0.01, ha="left", fontweight="bold")
        grid = figure.add_gridspec(3, 2, height_ratios=(1.5, 1.5, 2.0))
        left, middle, right = (figure.add_subplot(place) for place in (grid[:2, 0], grid[:2, 1], grid[2, :]))
        left.plot(*(1e3 * path.T), color=COLORS[2], linewidth=1.4)
        left.plot(*(1e3 * wanted.T), color="black", linewidth=0.8, linestyle=DASHED)
        left.set_aspect("equal")
        left.set_title("path, mm; dashed: desired")
        middle.plot(times, 1e3 * np.linalg.norm(path - wanted, axis=1), color=COLORS[2], linewidth=1.2)
        middle.set_title("distance from it, mm")
        right.plot(times, force, color=COLORS[2], linewidth=1.0)
        right.axhline(commanded, color="black", linewidth=0.8, linestyle=DASHED)
        right.set_ylim(0.0, 1.5 * commanded)
        right.set_title("normal force, N; dashed: desired")
        for axis in (middle, right):
            axis.set_xlabel("time, s")
            axis.set_xlim(times[0], times[-1])
        figure.savefig(file)


def _grid() -> tuple[Figure, list[Axes]]:
    """Two columns with a place for each joint, and one more."""
    figure = new_figure(5.9)
    return figure, list(figure.subplots(4, COLUMNS).flat)


def _time_axis(axis: Axes, k: int, times: Array) -> None:
    axis.set_xlim(0.0, times[-1])
    axis.set_xticks(range(0, int(times[-1]) + 1, 2 if times[-1] > 4.0 else 1))
    if k >= len(ARM) - COLUMNS:
        axis.set_xlabel("time, s")


def _joint_axis(axis: Axes) -> None:
    axis.set_xticks(np.arange(len(ARM)), [str(k + 1) for k in range(len(ARM))])
    axis.set_xlabel("joint")
    axis.grid(axis="x", visible=False)


def _rms_bars(axis: Axes, runs: Sequence[Run]) -> None:
    width = 0.8 / len(runs)
    places = np.arange(len(ARM))
    for k, (run, color) in enumerate(zip(runs, COLORS)):
        axis.bar(places + (k - 0.5 * (len(runs) - 1)) * width, 1e3 * run.rms, width, color=color)
    axis.set_yscale("log")
    axis.yaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_minor_formatter("")
    axis.set_title("error, mrad RMS")
    _joint_axis(axis)


def _finish(figure: Figure, axis: Axes, title: str, path: Path) -> None:
    handles, labels = axis.get_legend_handles_labels()
    legend = figure.legend(
        handles, labels, loc="outside upper left", ncols=len(labels), title=title, alignment="left", columnspacing=1.2
    )
    legend.get_title().set(fontweight="bold", fontsize=NORMAL + 1)
    figure.savefig(path)
