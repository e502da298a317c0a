# SPDX-License-Identifier: Apache-2.0
"""What the examples share: the command line with --output, and saving the picture."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent


def output_path(name: str, about: str | None) -> Path:
    """The path that --output gives, by default examples/output/<name>.png."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=HERE / "output" / f"{name}.png", help="where the picture goes")
    path: Path = parser.parse_args().output
    return path


def new_figure(width: float, height: float) -> Any:
    """A matplotlib figure that needs no display."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def front_side(axes: Any, points: Any, elevation: float, azimuth: float) -> Any:
    """Points (N, 3) of a curve on a ball, NaN where the ball hides them; turns the axes to that view [degrees]."""
    axes.view_init(elev=elevation, azim=azimuth)
    up, around = np.radians(elevation), np.radians(azimuth)
    eye = np.array([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)])
    return np.where((points @ eye > 0)[:, None], points, np.nan)


def save(figure: Any, path: Path) -> None:
    """Write the picture and say where."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    print(f"picture: {path}")
