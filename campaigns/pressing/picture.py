# SPDX-License-Identifier: Apache-2.0
"""A picture of a run: forces and heights around its first stop."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib import rc_context

from campaigns.pressing.plant import PERIOD
from campaigns.pressing.runs import Record
from rbd_dynamics.common.pages.picture_style import COLORS, GREY, STYLE, new_figure

BEFORE, AFTER = 0.15, 0.25  # s


def draw(record: Record, path: Path) -> None:
    """Write the picture. Raises ValueError for a run that did not stop."""
    if not record.stops:
        raise ValueError("the run did not stop: there is nothing to show")
    stop = record.stops[0].at
    lost = stop - int(np.argmax(record.forces[stop::-1, 0] > 1.0))  # when something was touched last
    rows = slice(max(0, lost - round(BEFORE / PERIOD)), lost + round(AFTER / PERIOD))
    times = 1e3 * PERIOD * (np.arange(len(record.forces))[rows] - lost)
    heights = 1e3 * (record.position - record.position[lost]) @ record.scene.axes[:, 2]
    with rc_context(STYLE):
        figure = new_figure(3.8)
        above, below = figure.subplots(2, 1, sharex=True)
        above.plot(times, record.forces[rows, 0], color=COLORS[2])
        above.set_ylabel("force, N")
        above.set_title("Over an edge")
        below.plot(times, heights[rows], color=COLORS[0])
        below.axhline(-5.0, color=GREY, linestyle="--", linewidth=1.0)
        below.set_ylabel("height, mm")
        below.set_xlabel("ms since contact was lost")
        for axes in (above, below):
            axes.axvline(1e3 * PERIOD * (stop - lost), color=GREY, linewidth=1.0)
        figure.savefig(path)
