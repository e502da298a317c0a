# SPDX-License-Identifier: Apache-2.0
"""Versions: what must be there, and what may be, with what it is for."""

from __future__ import annotations

import importlib
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import cache_from_source, find_spec
from pathlib import Path

from rbd_dynamics import __version__
from rbd_dynamics.cli.doctor.findings import Looked
from rbd_dynamics.common.extras import OPTIONAL, needed

#: {distribution: module}; imported, to see that they can be
NEEDED = {"numpy": "numpy", "scipy": "scipy", "PyYAML": "yaml", "rich": "rich"}


def look_at_software() -> Iterator[Looked]:
    yield Looked("rbd_dynamics", __version__)
    yield Looked("Python", f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}")
    for name, module in NEEDED.items():
        try:
            importlib.import_module(module)
        except Exception as error:  # whatever a broken installation raises
            told = f"cannot be imported: {type(error).__name__}: {error}"
            yield Looked(name, told, state="broken", advice=f"pip install {name}")
        else:
            yield Looked(name, _version(name))
    yield _compiled()
    for module, optional in OPTIONAL.items():
        if find_spec(module) is None:
            yield Looked(optional.package, "not installed", state="note", advice=needed(module))
        else:
            yield Looked(optional.package, _version(optional.package))


def _compiled() -> Looked:
    """Whether Python will find compiled what it has imported, or compile it once more at the next start."""
    sources = [spec.origin for module in list(sys.modules.values()) if (spec := getattr(module, "__spec__", None))]
    sources = [source for source in sources if source and source.endswith(".py")]
    missing = sum(not Path(cache_from_source(source)).exists() for source in sources)
    if missing <= len(sources) // 10:
        return Looked("compiled modules", "kept")
    why, advice = "they cannot be written", "set PYTHONPYCACHEPREFIX to a folder that can be written to"
    if sys.dont_write_bytecode:
        why, advice = "PYTHONDONTWRITEBYTECODE is set", "unset it, and set PYTHONPYCACHEPREFIX to a folder for them"
    told = f"{missing} of {len(sources)} are not kept: {why}"
    return Looked("compiled modules", told, state="note", advice=f"programs start seconds earlier: {advice}")


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:  # of ROS or of the system, which install no metadata
        return "installed"
