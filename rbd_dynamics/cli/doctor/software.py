# SPDX-License-Identifier: Apache-2.0
"""Versions: what must be there, and what may be, with what it is for."""

from __future__ import annotations

import importlib
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from rbd_dynamics import __version__
from rbd_dynamics.cli.doctor.findings import Looked

#: {distribution: module}; imported, to see that they can be
NEEDED = {"numpy": "numpy", "scipy": "scipy", "PyYAML": "yaml", "rich": "rich", "urdf-parser-py": "urdf_parser_py"}
#: {distribution: (module, the extra that has it, what it is for)}
OPTIONAL = {
    "llvmlite": ("llvmlite", "compiled", "machine code: calls take microseconds, not milliseconds"),
    "rosbags": ("rosbags", "replay", "reading recordings"),
    "matplotlib": ("matplotlib", "plots", "pictures"),
    "plotly": ("plotly", "replay", "reports as pages"),
    "trimesh": ("trimesh", "replay", "meshes in reports"),
    "pyarrow": ("pyarrow", "parquet", "Parquet files"),
    "distributed": ("distributed", "fleet", "recordings on many processors"),
    "xacro": ("xacro", "models", "xacro files"),
    "mujoco": ("mujoco", "models", "MJCF files"),
    "coal": ("coal", "collisions", "shapes that touch"),
    "argcomplete": ("argcomplete", "completion", "completion of commands by the tab key"),
}


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
    for name, (module, extra, purpose) in OPTIONAL.items():
        if find_spec(module) is None:
            advice = f"{purpose}: pip install 'rbd_dynamics[{extra}]'"
            yield Looked(name, "not installed", state="note", advice=advice)
        else:
            yield Looked(name, _version(name))


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:  # of ROS or of the system, which install no metadata
        return "installed"
