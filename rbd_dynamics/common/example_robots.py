# SPDX-License-Identifier: Apache-2.0
"""The robot descriptions of the package example-robot-data: where they are, if it is installed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = "example-robot-data"
_SHARE = Path("share", PACKAGE, "robots")


@cache
def robots() -> dict[str, Path]:
    """Path of each URDF by its name without ending, in alphabetical order; empty where there are none."""
    found: dict[str, Path] = {}
    for folder in _folders():
        for path in sorted(folder.glob("*/**/*.urdf")):
            found.setdefault(path.stem, path)
    return dict(sorted(found.items()))


def shares() -> list[Path]:
    """Folders that the package lies in, where its descriptions look for their meshes."""
    return [folder.parents[1] for folder in _folders() if folder.is_dir()]


def _folders() -> Iterator[Path]:
    """Candidate folders: of PyPI (whose wheel keeps a prefix inside site-packages), of ROS, of the system."""
    import importlib.metadata  # slow to import

    try:
        distribution = importlib.metadata.distribution(PACKAGE)
        yield Path(str(distribution.locate_file("cmeel.prefix"))) / _SHARE
    except importlib.metadata.PackageNotFoundError:
        pass
    for prefix in [*os.environ.get("AMENT_PREFIX_PATH", "").split(":"), sys.prefix]:
        if prefix:
            yield Path(prefix) / _SHARE
