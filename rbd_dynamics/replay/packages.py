# SPDX-License-Identifier: Apache-2.0
"""Packages that some of a replay needs: asked for before the work begins."""

from __future__ import annotations

from importlib import import_module

#: what they are for
PURPOSES = {
    "rosbags": "recordings need",
    "plotly": "the report needs",
    "matplotlib": "pictures need",
    "pyarrow": "a Parquet file needs",
    "distributed": "a Dask cluster needs",
}


def require(*names: str) -> None:
    """Raises ValueError that says what to install."""
    for name in names:
        try:
            import_module(name)
        except ImportError as error:
            raise ValueError(f"{PURPOSES[name]} the package {name}: pip install {name}") from error
