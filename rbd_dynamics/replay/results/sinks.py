# SPDX-License-Identifier: Apache-2.0
"""Sinks of the motion and its torques, stretch by stretch: tables and a recording of their own."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.common.extras import require
from rbd_dynamics.common.whole_files import named, whole_file
from rbd_dynamics.model.model import Model
from rbd_dynamics.replay.results.joint_state_bag import JointStateBag
from rbd_dynamics.replay.results.wrench_columns import WrenchColumns
from rbd_dynamics.replay.signals.segmentation import Segment
from rbd_dynamics.replay.torques.comparison import Prediction

Array = NDArray[np.float64]
COLUMNS = ("q", "v", "a", "tau_measured", "tau_predicted", "residual", "external")
TOPICS = {"predicted": "/replay/predicted", "residual": "/replay/residual", "external": "/replay/external_torque"}


class Sink(Protocol):
    """Takes the motion and its torques stretch by stretch; what it wrote is complete when it is closed."""

    def write(self, segment: Segment, prediction: Prediction, external: Array | None) -> None:
        """external: external torques (N, nv), where they were asked for."""

    def close(self) -> None: ...


class _Closing:
    """Used with `with`: what was written is kept where nothing was raised, else there is none."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def close(self) -> None:
        raise NotImplementedError

    def discard(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Any:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error_type is None:
            try:
                self.close()
            except BaseException:
                self.discard()
                raise
        else:
            self.discard()


class _File(_Closing):
    """A file that gets its name when it is complete."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._whole = whole_file(path)
        self._part = self._whole.__enter__()

    def _end(self) -> None:
        """Write what is still in memory."""
        raise NotImplementedError

    def close(self) -> None:
        with named(self._path):
            self._end()
        self._whole.__exit__(None, None, None)

    def discard(self) -> None:
        with suppress(OSError):
            self._end()
        self._whole.__exit__(GeneratorExit, GeneratorExit(), None)


class Columns:
    """Names and numbers of a table: per joint q, v, a and the torques; of joints with one number; then the wrench.

    Attributes:
        joints: their names.
        names: of the columns.
    """

    def __init__(self, model: Model, wrench: WrenchColumns | None = None) -> None:
        found = [joint for joint in model.joints if joint.kind.nq == joint.kind.nv == 1]
        self.joints = [joint.name for joint in found]
        self.names = [f"{name}.{column}" for name in self.joints for column in COLUMNS]
        self._wrench = wrench
        if wrench is not None:
            self.names += wrench.names
        self._q = np.array([joint.q_index for joint in found], dtype=np.intp)
        self._v = np.array([joint.v_index for joint in found], dtype=np.intp)

    def parts(self, segment: Segment, prediction: Prediction, external: Array | None) -> dict[str, Array]:
        """{column: (N, joints)}; NaN where there is no number."""
        measured, predicted = segment.tau[:, self._v], prediction.tau[:, self._v]
        numbers = (
            segment.q[:, self._q], segment.v[:, self._v], segment.a[:, self._v], measured, predicted,
            measured - predicted, np.full_like(measured, np.nan) if external is None else external[:, self._v],
        )  # fmt: skip
        return dict(zip(COLUMNS, numbers))

    def of(self, segment: Segment, prediction: Prediction, external: Array | None) -> Array:
        """(N, columns) in the order of `names`."""
        rows = np.stack(list(self.parts(segment, prediction, external).values()), axis=2).reshape(len(segment), -1)
        return rows if self._wrench is None else np.hstack([rows, self._wrench.of(segment, external)])


class CsvTable(_File):
    """A text file with a head line; empty where there is no number."""

    def __init__(self, path: Path, columns: Columns) -> None:
        super().__init__(path)
        self._columns = columns
        self._file = self._part.open("w", encoding="utf-8", newline="")
        quoted = ['"' + name.replace('"', '""') + '"' if set(name) & set(',"\n') else name for name in columns.names]
        self._file.write(",".join(["t", "stamp", *quoted]) + "\n")

    def write(self, segment: Segment, prediction: Prediction, external: Array | None) -> None:
        rows = self._columns.of(segment, prediction, external)
        lines = []
        for t, stamp, row in zip(segment.t.tolist(), segment.stamps.tolist(), rows.tolist()):
            lines.append(f"{t:.9f},{stamp}," + ",".join("" if x != x else f"{x:.9g}" for x in row))
        with named(self._path):
            self._file.write("\n".join(lines) + "\n")

    def _end(self) -> None:
        self._file.close()


class ParquetTable(_File):
    """A Parquet file; null where there is no number. Needs pyarrow."""

    def __init__(self, path: Path, columns: Columns) -> None:
        require("pyarrow")
        import pyarrow as pa
        import pyarrow.parquet as pq

        super().__init__(path)
        self._columns, self._pa = columns, pa
        fields = [("t", pa.float64()), ("stamp", pa.timestamp("ns"))]
        self._schema = pa.schema([*fields, *((name, pa.float64()) for name in columns.names)])
        self._writer = pq.ParquetWriter(str(self._part), self._schema)

    def write(self, segment: Segment, prediction: Prediction, external: Array | None) -> None:
        rows = self._columns.of(segment, prediction, external)
        numbers = [self._pa.array(column, from_pandas=True) for column in np.ascontiguousarray(rows.T)]
        stamps = self._pa.array(segment.stamps, type=self._pa.timestamp("ns"))
        with named(self._path):
            self._writer.write_table(self._pa.table([segment.t, stamps, *numbers], schema=self._schema))

    def _end(self) -> None:
        self._writer.close()


class ResidualBag(_Closing):
    """A rosbag2 that plays beside the one it was made of: joint states with predicted efforts, residuals, external
    torques, under the stamps of the samples. Needs rosbags.

    Parameters:
        path: a folder; one that is there is replaced.
        storage: "mcap" or "sqlite3".
    """

    def __init__(self, path: Path, columns: Columns, *, storage: str = "mcap") -> None:
        super().__init__(path)
        self._columns = columns
        self._bag = JointStateBag(path, columns.joints, storage=storage)

    def write(self, segment: Segment, prediction: Prediction, external: Array | None) -> None:
        parts = self._columns.parts(segment, prediction, external)
        parts = {name: np.ascontiguousarray(values) for name, values in parts.items()}
        efforts = {"predicted": parts["tau_predicted"], "residual": parts["residual"]}
        if external is not None:
            efforts["external"] = parts["external"]
        for name in sorted(efforts):
            self._bag.add_topic(TOPICS[name])
        for k, stamp in enumerate(segment.stamps.tolist()):
            for name, values in efforts.items():
                self._bag.write(TOPICS[name], stamp, parts["q"][k], parts["v"][k], values[k])

    def close(self) -> None:
        self._bag.close()

    def discard(self) -> None:
        with suppress(Exception):  # whatever it raises that cannot write its end
            self._bag.close()
        shutil.rmtree(self._path, ignore_errors=True)
