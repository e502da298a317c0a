# SPDX-License-Identifier: Apache-2.0
"""The look of all pictures: as wide as a phone can show with text of a readable size, on white, so that a dark page
shows them as well, in colours that the colour-blind tell apart."""

from __future__ import annotations

from typing import Any

WIDTH = 5.4  # inch
SMALL, NORMAL = 9, 10  # pt, the smallest text: 9 pixels where a phone shows the picture 390 pixels wide
COLORS = ("#d1495b", "#edae49", "#00798c")
GREY = "#6c757d"
#: for matplotlib's rc_context
STYLE: dict[str, Any] = {
    "font.size": NORMAL,
    "axes.titlesize": NORMAL,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": SMALL,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "savefig.dpi": 150,
}


def new_figure(height: float) -> Any:
    """A figure that needs no display; height in inch. Within `rc_context(STYLE)`, where the rest is drawn, too."""
    from matplotlib.figure import Figure

    return Figure(figsize=(WIDTH, height), layout="constrained")
