# SPDX-License-Identifier: Apache-2.0
"""The forms in which results can be written."""

from __future__ import annotations

from collections.abc import Iterable

#: what can be asked for, and what it is
FORMATS = {
    "html": "report.html, an interactive page that needs no network",
    "png": "pictures of torques and residuals",
    "csv": "samples.csv, all signals",
    "parquet": "samples.parquet, the same",
    "bag": "residuals/, a recording of predicted efforts, residuals and external torques",
    "urdf": "corrected.urdf and corrected.yaml, with friction, drives and inertias as found, and offsets.yaml",
}


def check_formats(formats: Iterable[str]) -> tuple[str, ...]:
    """Raises ValueError for an unknown one."""
    chosen = set(formats)
    for name in sorted(chosen - FORMATS.keys()):
        raise ValueError(f"unknown format {name!r}; known: {', '.join(FORMATS)}")
    return tuple(name for name in FORMATS if name in chosen)
