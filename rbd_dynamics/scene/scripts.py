# SPDX-License-Identifier: Apache-2.0
"""The scripts of a page that shows robots: three.js as the package trimesh brings it, `RobotView`, and a player."""

from __future__ import annotations

import zipfile
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from rbd_dynamics.common.extras import needed

TEMPLATE = ("resources", "templates", "viewer.zip"), "viewer.html.template"
NEEDED = needed("trimesh", note="4.8.3 or newer")
HEAD, LIBRARY, END = "/**\n * @license", ".THREE={}", "\n"


def scene_scripts() -> str:
    """JavaScript for one script element: `THREE`, with its licence, `RobotTree` and `RobotView`.

    Raises ValueError where trimesh is missing.
    """
    viewer = (files(__package__) / "viewer.js").read_text(encoding="utf-8")
    return f"{_three()}\n{viewer}"


def page_script() -> str:
    """JavaScript of pages that show something over time: `timeCursor`, `playerOf`, `unpacked`..."""
    return (files(__package__) / "page_parts.js").read_text(encoding="utf-8")


@cache
def _three() -> str:
    """trimesh has three.js in the template of its own page: one long line after a notice. It is not imported, which
    would take longer than all else about a scene."""
    try:
        spec = find_spec("trimesh")
        if spec is None or spec.origin is None:
            raise OSError("is not installed")
        (*folders, name), inside = TEMPLATE
        with zipfile.ZipFile(Path(spec.origin).parent.joinpath(*folders, name)) as archive:
            page = archive.read(inside).decode("utf-8")
        at = page.index(LIBRARY)
        return page[page.rindex(HEAD, 0, at) : page.index(END, at)]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, ImportError) as error:
        raise ValueError(NEEDED) from error
