# SPDX-License-Identifier: Apache-2.0
"""Files of named arrays: MATLAB's up to version 7 (SciPy) and 7.3 (h5py), HDF5 (h5py), NumPy's npz and npy."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.common.extras import require
from rbd_dynamics.replay.reading.storage import RecordingError
from rbd_dynamics.replay.reading.tables.arrays_table import ArraysTable

DEEPEST = 8  # structures or groups inside each other
MATLAB, HDF5, ZIP, NPY = b"MATLAB ", b"\x89HDF\r\n\x1a\n", b"PK\x03\x04", b"\x93NUMPY"


def mat_table(path: Path) -> ArraysTable:
    """A .mat file; of version 7.3 it is one of HDF5."""
    with path.open("rb") as file:
        is_new = file.read(10).startswith(MATLAB + b"7.3")
    return hdf5_table(path) if is_new else ArraysTable(path, _matlab, "a MATLAB file")


def hdf5_table(path: Path) -> ArraysTable:
    """A .h5 or .hdf5 file, or a .mat file of version 7.3, which has matrices transposed."""
    require("h5py")
    return ArraysTable(path, _hdf5, "an HDF5 file")


def numpy_table(path: Path) -> ArraysTable:
    """A .npz file, or a .npy file with a structured array."""
    return ArraysTable(path, _numpy, "a NumPy file")


def _matlab(path: Path) -> dict[str, np.ndarray]:
    from scipy.io import loadmat

    try:
        content = {key: value for key, value in loadmat(path).items() if not key.startswith("__")}
        return dict(_structures(content))
    except Exception as error:  # whatever its parser meets in a damaged file
        raise _damaged(path, "not a MATLAB file", error) from None


def _structures(content: Mapping[str, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, np.ndarray]]:
    """Arrays in structures as structure/name."""
    for key, value in content.items():
        if not isinstance(value, np.ndarray):
            continue
        if value.dtype.names and value.size == 1 and depth < DEEPEST:
            inner = {name: value.reshape(-1)[0][name] for name in value.dtype.names}
            yield from _structures(inner, f"{prefix}{key}/", depth + 1)
        elif value.dtype.kind == "O":  # cells of texts
            cells = [np.asarray(cell).reshape(-1) for cell in value.reshape(-1)]
            texts = [str(cell[0]) for cell in cells if cell.size and cell.dtype.kind == "U"]
            if texts:
                yield f"{prefix}{key}", np.array(texts)
        else:
            yield f"{prefix}{key}", value


def _hdf5(path: Path) -> dict[str, np.ndarray]:
    import h5py

    found: dict[str, np.ndarray] = {}

    def visit(name: str, item: Any) -> None:
        if not isinstance(item, h5py.Dataset) or name.startswith("#refs#") or item.ndim > 2 or item.shape is None:
            return
        if h5py.check_ref_dtype(item.dtype) is not None:  # a cell array of MATLAB's: references to texts as numbers
            texts = [file[cell][()] for cell in item[()].reshape(-1)]
            if all(text.dtype == np.uint16 for text in texts):
                found[name] = np.array(["".join(map(chr, text.reshape(-1))) for text in texts])
        elif h5py.check_string_dtype(item.dtype) is not None:
            found[name] = np.array([cell if isinstance(cell, str) else cell.decode(errors="replace")
                                    for cell in np.atleast_1d(item[()]).reshape(-1)])  # fmt: skip
        elif item.dtype.names:
            found.update({f"{name}/{part}": item[part] for part in item.dtype.names})
        else:
            found[name] = item[()]

    try:
        with h5py.File(path, "r") as file:
            file.visititems(visit)
    except (OSError, RuntimeError, KeyError, ValueError) as error:
        raise _damaged(path, "not an HDF5 file", error) from None
    return found


def _numpy(path: Path) -> dict[str, np.ndarray]:
    try:
        content = np.load(path, allow_pickle=False)
        if isinstance(content, np.ndarray):
            names = content.dtype.names
            if not names:
                raise ValueError("a single array without a name: save several with numpy.savez, or a structured one")
            return {name: content[name] for name in names}
        with content:
            return {name: content[name] for name in content.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise _damaged(path, "not a NumPy file", error) from None


def _damaged(path: Path, what: str, error: Exception) -> RecordingError:
    return RecordingError(f"{path} is {what}, or too damaged to read: {excerpt(str(error), 200)}")
