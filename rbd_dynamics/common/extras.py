# SPDX-License-Identifier: Apache-2.0
"""Packages that the library works without: what needs each, and the extra of this package that installs it."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple


class Optional(NamedTuple):
    """package: as pip calls it. extra: of this package, named by use. needs: who, with the verb."""

    package: str
    extra: str
    needs: str


#: {module: ...}; setup.py has the versions
OPTIONAL = {
    "llvmlite": Optional("llvmlite", "compiled", "machine code needs"),
    "rosbags": Optional("rosbags", "replay", "recordings need"),
    "threadpoolctl": Optional("threadpoolctl", "replay", "replay at full speed needs"),
    "matplotlib": Optional("matplotlib", "plots", "pictures need"),
    "plotly": Optional("plotly", "replay", "the report needs"),
    "trimesh": Optional("trimesh", "show", "the view in 3-D needs"),
    "collada": Optional("pycollada", "show", "a mesh in a .dae file needs"),
    "pyarrow": Optional("pyarrow", "parquet", "a Parquet file needs"),
    "h5py": Optional("h5py", "hdf5", "an HDF5 file, or of MATLAB 7.3, needs"),
    "fsspec": Optional("fsspec", "remote", "a recording that lies elsewhere needs"),
    "distributed": Optional("distributed", "fleet", "a Dask cluster needs"),
    "xacro": Optional("xacro", "models", "a xacro needs"),
    "mujoco": Optional("mujoco", "models", "MJCF needs"),
    "coal": Optional("coal", "collisions", "contact between shapes needs"),
    "daqp": Optional("daqp", "streaming", "velocity inverse kinematics needs"),
    "jax": Optional("jax", "jax", "functions of JAX need"),
    "torch": Optional("torch", "torch", "functions of PyTorch need"),
    "casadi": Optional("casadi", "casadi", "functions of CasADi need"),
    "cupy": Optional("cupy-cuda12x", "cuda", "functions on a GPU need"),
    "gymnasium": Optional("gymnasium", "gymnasium", "environments for learning need"),
    "argcomplete": Optional("argcomplete", "completion", "completion by the tab key needs"),
}


def remedy(module: str) -> str:
    """The command that installs an optional module, or ""."""
    found = OPTIONAL.get(module.partition(".")[0])
    return f"pip install 'rbd_dynamics[{found.extra}]'" if found else ""


def needed(module: str, *, note: str = "") -> str:
    """What to say where an optional module is missing: who needs it, and how to get it. note: about the package."""
    found = OPTIONAL[module]
    return f"{found.needs} the package {found.package}{note and f' ({note})'}: {remedy(module)}"


def require(*modules: str) -> None:
    """Raise ValueError where an optional module is missing, before work begins that would end without it."""
    for module in modules:
        try:
            import_module(module)
        except ImportError as error:
            raise ValueError(needed(module)) from error
