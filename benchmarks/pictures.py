# SPDX-License-Identifier: Apache-2.0
"""The pictures of docs/benchmarks.md, from its tables; on white, so that they can be read in a dark page as well."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring.results import Figure, Row, Table

COLORS = ("#00798c", "#d1495b", "#edae49", "#6c757d")  # tell apart also without colour vision
STYLE = {
    "font.size": 11, "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 11,
    "axes.titleweight": "bold", "axes.titlelocation": "left", "legend.frameon": False, "savefig.dpi": 150,
}  # fmt: skip
WIDTH = 5.4  # inch: text is of a readable size on a phone's width, too
ROBOTS = ("UR5", "Panda with fingers", "Talos")
ALGORITHMS = ("inverse dynamics", "forward dynamics", "mass matrix")


def draw(tables: Mapping[str, Table], folder: Path) -> None:
    """The pictures of those tables that are there."""
    from matplotlib import rc_context

    for name, (picture, _) in PICTURES.items():
        if name in tables:
            with rc_context(STYLE):
                # no date and no version within: the same figures give the same file
                picture(tables[name]).savefig(folder / f"{name}.png", metadata={"Software": None})


def peers(table: Table) -> Any:
    """How many times as long as ours a call of each other library takes."""
    others = [head.removesuffix(", µs") for head in table.heads[4:-1]]
    groups = []
    for row in _of_arms(table):
        own, *theirs = row.cells[3:-1]
        values = [
            cell.median / own.median if isinstance(cell, Figure) and isinstance(own, Figure) else np.nan
            for cell in theirs
        ]
        groups.append((row, values))
    figure, axes = _bars(groups, others, "Time of a Python call, rbd_dynamics = 1", begin=1.0)
    axes.set_xscale("log")
    axes.axvline(1.0, color="black", linewidth=1.0)
    every = [value for _, values in groups for value in values]
    least, most = min(1.0, 0.7 * np.nanmin(every)), 1.4 * np.nanmax(every)
    ticks = [tick for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200) if least <= tick <= most]
    axes.set_xticks(ticks, [f"{tick:g}×" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlim(least, most)
    return figure


def shares(table: Table) -> Any:
    """Of the peak, of each kernel."""
    groups = [(row, [_median(row.cells[6]), _median(row.cells[4])]) for row in _of_arms(table)]
    figure, axes = _bars(groups, ["in a batch", "one call"], "Operations a second, % of one core's peak")
    axes.set_xlim(0.0, 1.15 * max(values[0] for _, values in groups))
    return figure


def growth(table: Table) -> Any:
    """Time over the number of bodies."""
    figure, axes = _figure(3.6)
    bodies = [int(str(row.cells[0])) for row in table.rows]
    for k, head in enumerate(table.heads[1:], 1):
        name, color = head.removesuffix(", µs"), COLORS[0 if head.startswith("inverse") else 1]
        style = "o--" if name.endswith("batch") else "o-"
        axes.plot(bodies, [_median(row.cells[k]) for row in table.rows], style, color=color, label=name, markersize=4)
    axes.set(xlabel="bodies in a chain", ylabel="time per sample, µs")
    axes.set_title("Cost grows linearly with the robot")
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


def _of_arms(table: Table) -> list[Row]:
    return [row for row in table.rows if row.cells[0] in ROBOTS and row.cells[1] in ALGORITHMS]


def _median(cell: Any) -> float:
    return cell.median if isinstance(cell, Figure) else np.nan


def _bars(groups: list[tuple[Row, list[float]]], names: list[str], title: str, begin: float = 0.0) -> tuple[Any, Any]:
    """Horizontal bars, labelled, a group for each row from above; begin: where bars do."""
    count = len(names)
    figure, axes = _figure(0.8 + 0.28 * (count + 1) * len(groups))
    for k, name in enumerate(names):
        places = [-(row * (count + 1.0) + k) for row in range(len(groups))]
        values = [values[k] for _, values in groups]
        axes.barh(places, [value - begin for value in values], 0.95, begin, color=COLORS[k], label=name)
        for place, value in zip(places, values):
            if np.isfinite(value):
                axes.text(max(value, begin), place, f" {value:#.2g}".rstrip("."), va="center", fontsize=9)
    middles = [-(row * (count + 1.0) + 0.5 * (count - 1)) for row in range(len(groups))]
    axes.set_yticks(
        middles, [f"{str(row.cells[0]).removesuffix(' with fingers')}\n{row.cells[1]}" for row, _ in groups]
    )
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", alpha=0.25)
    axes.set_axisbelow(True)
    legend = figure.legend(loc="outside upper left", ncols=count, title=title, alignment="left", fontsize=10)
    legend.get_title().set_fontweight("bold")
    return figure, axes


def _figure(height: float) -> tuple[Any, Any]:
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(WIDTH, height), layout="constrained", facecolor="white")
    return figure, figure.subplots()


#: table -> its picture, which has the same name, and what that shows in words
PICTURES: dict[str, tuple[Callable[[Table], Any], str]] = {
    "calls": (peers, "how many times as long a Python call of other libraries takes"),
    "shares": (shares, "operations a second of each kernel, as a share of the peak of a core"),
    "growth": (growth, "time over the number of bodies"),
}
