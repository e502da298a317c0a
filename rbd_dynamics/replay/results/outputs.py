# SPDX-License-Identifier: Apache-2.0
"""The files that a replay leaves: summary, report, pictures, tables, a recording, and a corrected description."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from rbd_dynamics.common.extras import require
from rbd_dynamics.common.whole_files import write_whole
from rbd_dynamics.model.dictionary import to_yaml
from rbd_dynamics.model.model import Model
from rbd_dynamics.replay.analysis import Analysis
from rbd_dynamics.replay.identification import corrected_urdf
from rbd_dynamics.replay.results.export import export_of
from rbd_dynamics.replay.results.formats import check_formats
from rbd_dynamics.replay.results.sinks import Columns, CsvTable, ParquetTable, ResidualBag, Sink
from rbd_dynamics.replay.results.wrench_columns import WrenchColumns
from rbd_dynamics.scene import MeshFinder

#: which packages formats need
PACKAGES = {"html": "plotly", "png": "matplotlib", "parquet": "pyarrow", "bag": "rosbags"}
CORRECTED = ("corrected.urdf", "corrected.yaml", "offsets.yaml")
POINTS = 1500  # drawn of each signal of a joint
NUMBERS = 12_000  # and of all joints together


class Outputs:
    """Opened before the recording is read, finished with the results.

    Parameters:
        folder: None: nothing is written.
        formats: of `formats.FORMATS`; summary.json is always written.
        model: of the robot. urdf: text that it was made of. meshes: where its meshes are.
        scripts: folder of the report's scripts, seen from this one; "": they stand in the report.
        wrench_frame: where tables tell the external wrench; None: they do not.

    Raises ValueError for an unknown format, and KeyError for an unknown frame.
    """

    def __init__(
        self,
        folder: Path | None,
        formats: Iterable[str],
        model: Model,
        urdf: str | None,
        *,
        meshes: MeshFinder | None = None,
        scripts: str = "",
        wrench_frame: str | None = None,
    ) -> None:
        self.formats = check_formats(formats) if folder is not None else ()
        self._scripts = scripts
        self._folder, self._urdf, self._meshes = folder, urdf, meshes or MeshFinder()
        self._joints = max(1, model.nv)
        self._stack = ExitStack()
        self.sinks: list[Sink] = []
        if folder is None:
            return
        require(*(package for name, package in PACKAGES.items() if name in self.formats))
        folder.mkdir(parents=True, exist_ok=True)

        def columns() -> Columns:
            return Columns(model, None if wrench_frame is None else WrenchColumns(model, wrench_frame))

        with self._stack:  # what was opened is closed again where something cannot be
            if "csv" in self.formats:
                self.sinks.append(self._stack.enter_context(CsvTable(folder / "samples.csv", columns())))
            if "parquet" in self.formats:
                self.sinks.append(self._stack.enter_context(ParquetTable(folder / "samples.parquet", columns())))
            if "bag" in self.formats:
                self.sinks.append(self._stack.enter_context(ResidualBag(folder / "residuals", Columns(model))))
            self._stack = self._stack.pop_all()

    @property
    def points(self) -> int:
        """Number of points of the series that the report draws; fewer where there are many joints."""
        return max(POINTS // 4, min(POINTS, NUMBERS // self._joints)) if {"html", "png"} & set(self.formats) else 0

    def __enter__(self) -> Outputs:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(error_type, error, trace)

    def finish(self, found: Analysis, summary: dict[str, Any]) -> None:
        """Write what needs the results; summary.json last."""
        self._stack.close()
        if self._folder is None:
            return
        if found.series is not None:
            from rbd_dynamics.replay.report import drawn_robot, write_html, write_pictures

            if "html" in self.formats:
                robot = drawn_robot(found, summary, self._urdf, self._meshes)
                wrench = None if found.wrench is None else (str(found.questions.wrench_frame), found.wrench)
                write_html(
                    self._folder / "report.html",
                    summary,
                    found.series,
                    wrench=wrench,
                    robot=robot,
                    scripts=self._scripts,
                )
            if "png" in self.formats:
                write_pictures(self._folder, summary, found.series)
        if "urdf" in self.formats:
            self._correct(found)
        write_whole(self._folder / "summary.json", json.dumps(summary, indent=1, allow_nan=False) + "\n")

    def _correct(self, found: Analysis) -> None:
        """Write the corrected description: inertias if asked for, and friction; nothing where that would be worse."""
        assert self._folder is not None
        export = export_of(found)
        for name in CORRECTED:
            (self._folder / name).unlink(missing_ok=True)
        if export.refused:
            return
        write_whole(self._folder / "corrected.yaml", to_yaml(export.model))
        if export.offsets:
            write_whole(self._folder / "offsets.yaml", export.offsets_yaml())
        if self._urdf is not None and self._urdf.lstrip().startswith("<"):  # there may be a model in YAML only
            text = corrected_urdf(self._urdf, export.model, inertias=export.inertias, drives=export.drives)
            write_whole(self._folder / "corrected.urdf", text)
